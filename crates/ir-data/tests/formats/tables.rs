//! Tables.

use ir_core::Document;
use ir_data::tsv;

#[test]
fn tab_separated() {
    let read = |text: &str| tsv::read_documents(text.as_bytes(), "f", &tsv::ID_TEXT_TITLE);
    let docs = read("a\tgreen tea\r\n\nb\t\ttitle\n").unwrap();
    assert_eq!(
        (docs[0].text.as_str(), docs[1].title.as_str()),
        ("green tea", "title")
    );
    for (text, expected) in [
        ("a\n", "f:1: expected 2 to 3 columns, found 1"),
        ("a\tb\tc\td\n", "f:1: expected 2 to 3 columns, found 4"),
        ("\tb\n", "f:1: expected an id, found \"\\tb\""),
        (
            "a\tb\na\tc\n",
            "f:2: expected a new id, found \"a\", which is that of line 1",
        ),
    ] {
        assert_eq!(read(text).unwrap_err().to_string(), expected);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("docs.tsv");
    let refused = |doc: Document| {
        let mut writer = tsv::TsvWriter::create(&path, &tsv::ID_TEXT_TITLE[..2]).unwrap();
        writer.document(&doc).unwrap_err().to_string()
    };
    let doc = || Document::new("a");
    assert!(refused(doc().with_text("b\tc")).ends_with("found \"b\\tc\""));
    assert!(refused(doc().with_title("t")).contains("no title"));
    assert!(refused(doc().with("year", 2017_i64)).contains("attributes that have a column"));
    assert!(refused(Document::new("")).contains("expected an id"));
    assert!(!path.exists());
}
