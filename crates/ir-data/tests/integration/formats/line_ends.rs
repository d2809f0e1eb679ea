//! Files with CR as the end of lines, which are one line for every reader: errors. CR within a text
//! is part of it.

use ir_core::Document;
use ir_core::trec::HeaderLine;
use ir_data::csv::CsvReader;
use ir_data::{DocumentFile, ReadOptions, parse_qrels_any, read_queries_from, tsv};

const FOUND: &str = "f:1: expected lines ended by LF or CRLF, found CR";

#[test]
fn documents() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    for text in [
        "a\ttea\rb\tmilk\r",
        "a\ttea\rb\tmilk\rc\twater",
        "id,text\ra,tea\rb,milk\r",
        "id,text,title\ra,tea,Tea\r",
        "id\ttext\ra\ttea\r",
    ] {
        std::fs::write(&path, text).unwrap();
        let error = DocumentFile::open(&path, &ReadOptions::default()).unwrap_err();
        let error = error.to_string();
        assert!(error.ends_with(FOUND), "{text}: {error}");
    }
    let layout = &tsv::ID_TEXT_TITLE;
    let docs = tsv::read_documents("a\tgreen\rtea\nb\tmilk\rc\t\n".as_bytes(), "f", layout);
    assert_eq!(docs.unwrap()[0].text, "green\rtea");
    let late = tsv::read_documents("a\ttea\nb\tmilk\rc\td\te\n".as_bytes(), "f", layout);
    assert_eq!(late.unwrap_err().to_string(), FOUND.replace(":1:", ":2:"));
    let quoted = "\"a\rb\",id,text\nx,1,tea\n";
    let mut docs = CsvReader::new(quoted.as_bytes(), "f").unwrap();
    let mut doc = Document::default();
    assert!(docs.read_into(&mut doc).unwrap());
    assert_eq!(doc, Document::new("1").with_text("tea").with("a\rb", "x"));
}

#[test]
fn queries() {
    for text in [
        "1\ttea\r2\tmilk\r",
        "qid,query\r1,tea\r",
        "qid,query,lang\r1,tea,en\r",
    ] {
        let read = read_queries_from(text.as_bytes(), "f", &ReadOptions::default());
        assert_eq!(read.unwrap_err().to_string(), FOUND, "{text}");
    }
}

#[test]
fn judgments() {
    for text in [
        "q 0 d 1\rq 0 e 1\r",
        "q d\rq e\r",
        "q d\rq e\rq f\r",
        "# pool\rq 0 d 1\r",
        "query-id\tcorpus-id\tscore\rq\td\t1\r",
        "qid,docno,rel,note\rq,d,1,x\r",
        "qid,docno,rel\rq,d,1\r",
    ] {
        let read = parse_qrels_any(text.as_bytes(), "f", HeaderLine::AsData);
        assert_eq!(read.unwrap_err().to_string(), FOUND, "{text}");
    }
    let json = "{\r\"q\": {\"d\": 1}\r}\r";
    let read = parse_qrels_any(json.as_bytes(), "f", HeaderLine::AsData).unwrap();
    assert_eq!(read.data.grade("q", "d"), Some(1));
}
