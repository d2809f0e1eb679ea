//! Documents and queries in TSV files.

use ir_core::Document;
use ir_data::tsv;

#[test]
fn tsv_files() {
    let read = |text: &str| tsv::read_documents(text.as_bytes(), "f", &tsv::ID_TEXT_TITLE);
    let docs = read("a\tgreen tea\r\n\nb\t\ttitle\n").unwrap();
    assert_eq!(
        (docs[0].text.as_str(), docs[1].title.as_str()),
        ("green tea", "title")
    );
    let table = r#"a\n => f:1: expected 2 to 3 columns, found 1
a\tb\tc\td\n => f:1: expected 2 to 3 columns, found 4
\tb\n => f:1: expected an id, found "\tb"
a\tb\na\tc\n => f:2: expected a unique id, found "a", which is also on line 1"#;
    super::assert_cases(table, |text| read(text).unwrap_err().to_string());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("docs.tsv");
    let rejected = |doc: Document| {
        let mut writer = tsv::TsvWriter::create(&path, &tsv::ID_TEXT_TITLE[..2]).unwrap();
        writer.document(&doc).unwrap_err().to_string()
    };
    let doc = || Document::new("a");
    assert!(rejected(doc().with_text("b\tc")).ends_with("found \"b\\tc\""));
    assert!(rejected(doc().with_title("t")).contains("no title"));
    assert!(
        rejected(doc().with("year", 2017_i64)).contains("attributes with a column in the layout")
    );
    assert!(rejected(Document::new("")).contains("expected an id"));
    assert!(!path.exists());
}
