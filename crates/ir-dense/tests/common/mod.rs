//! What the tests share.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stderr
)]

use std::path::{Path, PathBuf};

/// A folder beside the tests.
pub fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("testdata")
        .join(name)
}

/// A small model with random weights, made by `testdata/golden.py`.
pub fn tiny(name: &str) -> PathBuf {
    testdata("tiny").join(name)
}

/// The folder of all-MiniLM-L6-v2: the variable IR_MODEL, or where `.ci/model` puts it. Says so
/// when there is none.
pub fn minilm() -> Option<PathBuf> {
    let folder = match std::env::var_os("IR_MODEL") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/model/all-MiniLM-L6-v2"),
    };
    if folder.join("model.safetensors").exists() {
        return Some(folder);
    }
    eprintln!(
        "skipped: no model in {} (.ci/model fetches it, IR_MODEL names it)",
        folder.display()
    );
    None
}

/// A copy of a tiny model, to be spoilt.
pub fn copy_of(name: &str) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(tiny(name)).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
    }
    copy
}

/// The largest difference of two lists of equal length.
pub fn apart(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f32::max)
}
