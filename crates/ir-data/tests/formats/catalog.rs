//! Incomplete and miscounted collections.

use std::fs;

use ir_core::Document;
use ir_data::{DataError, catalog};

#[test]
fn incomplete_copy_of_a_collection() {
    let folder = tempfile::tempdir().unwrap();
    let here = catalog::Catalog::new(folder.path());
    let entry = here.entry("cranfield").unwrap();
    let error = here.open("cranfield").unwrap_err();
    assert!(
        error.is_missing() && error.to_string().contains("place it there"),
        "{error}"
    );
    fs::create_dir_all(folder.path().join("classic/cranfield")).unwrap();
    for file in &entry.files {
        fs::write(folder.path().join(&file.path), b"cut").unwrap();
    }
    let error = here.open("cranfield").unwrap_err();
    assert!(matches!(error, DataError::Size { found: 3, .. }) && error.is_corrupt());
    for file in &entry.files {
        fs::write(
            folder.path().join(&file.path),
            vec![b'x'; file.bytes as usize],
        )
        .unwrap();
    }
    let error = here
        .verify("cranfield", &mut ir_core::NoProgress)
        .unwrap_err();
    assert!(matches!(error, DataError::Sha256 { .. }), "{error}");
    let stop = &mut |_: &str, _: u64, _: Option<u64>| ir_core::Flow::Stop;
    assert!(matches!(
        here.verify("cranfield", stop),
        Err(DataError::Canceled)
    ));
    assert!(matches!(
        here.open("none"),
        Err(DataError::UnknownCollection { .. })
    ));
    assert!(here.open("bundled").is_ok());
}

#[test]
fn wrong_document_count() {
    use ir_core::Corpus;
    let docs = vec![Document::new("a"), Document::new("b")];
    let all = |expected| {
        let corpus = ir_data::CountedCorpus::new(docs.clone(), "c", expected);
        corpus.docs().unwrap().collect::<Result<Vec<_>, _>>()
    };
    assert_eq!(all(2).unwrap().len(), 2);
    for wrong in [1, 3] {
        let error = all(wrong).unwrap_err();
        let error = error.reason().to_string();
        assert_eq!(error, format!("c: expected {wrong} documents, found 2"));
    }
}
