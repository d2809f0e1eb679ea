//! TREC runs in compressed files.

use ir_data::DataError;

#[test]
fn unwritable_runs() {
    use ir_core::Run;
    use ir_data::trec::{ScoreFormat, TrecWriteError};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.trec");
    let mut run = Run::new("t");
    run.push("q", "two words", 1.0);
    let error = ir_data::write_run(&path, &run, ScoreFormat::Strict).unwrap_err();
    let DataError::WriteTrec { source, .. } = &error else {
        panic!("{error:?}")
    };
    assert!(matches!(source, TrecWriteError::Id { found, .. } if found == "two words"));
    assert!(!path.exists());
}
