//! TSV files in several layouts: a round trip preserves the documents.
#![no_main]

use ir_data::tsv::{Column, ID_TEXT_TITLE, read_documents, read_queries};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let own = [
        Column::Attribute("url".into()),
        Column::Id,
        Column::Skip,
        Column::Text,
        Column::Title,
    ];
    let layouts: [&[Column]; 5] = [
        &ID_TEXT_TITLE,
        &own,
        &[Column::Id],
        &[Column::Title, Column::Attribute("id".into())],
        &[],
    ];
    for layout in layouts {
        let Ok(docs) = read_documents(bytes, "fuzz", layout) else {
            continue;
        };
        assert!(docs.iter().all(|doc| !doc.id.is_empty()));
        // CR is text after the first line, and so is a byte order mark.
        let mut text = "\n".to_owned();
        for doc in &docs {
            let columns = layout.iter().map(|column| match column {
                Column::Id => doc.id.as_str(),
                Column::Text => &doc.text,
                Column::Title => &doc.title,
                Column::Attribute(name) => doc.attributes.text(name).unwrap_or_default(),
                Column::Skip => "",
            });
            text.push_str(&columns.collect::<Vec<_>>().join("\t"));
            // One `\r` is part of the line end, another one would be text.
            text.push_str("\r\n");
        }
        let again = read_documents(text.as_bytes(), "fuzz", layout).expect("what was written");
        assert_eq!(again, docs);
        let queries = read_queries(bytes, "fuzz", layout).expect("read before");
        assert_eq!(queries.len(), docs.len());
    }
});
