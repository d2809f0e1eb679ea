//! Tables with a header line: documents, written as CSV, are read again as they were.
#![no_main]

use ir_core::Document;
use ir_data::csv::CsvReader;
use libfuzzer_sys::fuzz_target;

fn read(bytes: &[u8]) -> Option<Vec<Document>> {
    let mut reader = CsvReader::new(bytes, "fuzz").ok()?;
    let mut docs = Vec::new();
    let mut doc = Document::default();
    while reader.read_into(&mut doc).ok()? {
        docs.push(std::mem::take(&mut doc));
    }
    Some(docs)
}

fuzz_target!(|bytes: &[u8]| {
    let Some(docs) = read(bytes) else {
        return;
    };
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let mut text = "id,title,text\n".to_owned();
    for doc in &docs {
        assert!(!doc.id.is_empty());
        let cells = [&doc.id, &doc.title, &doc.text].map(|cell| quoted(cell));
        text.push_str(&cells.join(","));
        text.push('\n');
    }
    let again = read(text.as_bytes()).expect("what was written");
    assert_eq!(again.len(), docs.len());
    for (again, doc) in again.iter().zip(&docs) {
        // A carriage return before a line end is a part of the line end.
        assert_eq!(again.id.replace('\r', ""), doc.id.replace('\r', ""));
        assert_eq!(again.text.replace('\r', ""), doc.text.replace('\r', ""));
    }
});
