//! Helpers of the tests.
#![allow(
    dead_code,
    unreachable_pub,
    unused_imports,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stderr
)]

mod environment;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use ir_core::Flow;
use ir_core::training::{TrainingExample, TrainingText};
use ir_dense::Backend;
use ir_dense::train::{Trainer, TrainingConfig};
use serde_json::{Map, Value};

pub use environment::{backend, minilm, on_backend, skip};

/// Returns `true` on the default backend. Otherwise prints that a test is skipped.
pub fn on_default_backend() -> bool {
    let default = backend() == Backend::default();
    if !default {
        skip("holds for the default backend alone");
    }
    default
}

/// Path in `testdata`.
pub fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("testdata")
        .join(name)
}

/// Small model with random weights, written by `testdata/golden.py`.
pub fn tiny(name: &str) -> PathBuf {
    testdata("tiny").join(name)
}

/// Temporary copy of a tiny model.
pub fn copy_of(name: &str) -> tempfile::TempDir {
    copy_folder(&tiny(name))
}

/// Temporary copy of the files of a folder.
pub fn copy_folder(folder: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
    }
    copy
}

/// Temporary copy of a folder with its subfolders.
pub fn copy_tree(folder: &Path) -> tempfile::TempDir {
    fn copy_files(from: &Path, to: &Path) {
        for entry in std::fs::read_dir(from).unwrap() {
            let path = entry.unwrap().path();
            let to = to.join(path.file_name().unwrap());
            if path.is_dir() {
                std::fs::create_dir(&to).unwrap();
                copy_files(&path, &to);
            } else {
                std::fs::copy(path, to).unwrap();
            }
        }
    }
    let copy = tempfile::tempdir().unwrap();
    copy_files(folder, copy.path());
    copy
}

/// Copy of a committed folder with changed fields of a file; null removes a field.
pub fn changed(family: &str, file: &str, fields: &Value) -> tempfile::TempDir {
    let copy = copy_tree(&testdata("families").join(family));
    let path = copy.path().join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|_| "{}".to_owned());
    let mut all: Map<String, Value> = serde_json::from_str(&text).unwrap();
    for (name, value) in fields.as_object().unwrap() {
        match value {
            Value::Null => all.remove(name),
            value => all.insert(name.clone(), value.clone()),
        };
    }
    std::fs::write(path, Value::Object(all).to_string()).unwrap();
    copy
}

/// Replaces the first occurrence of `from` in a file of a folder.
pub fn replace(folder: &Path, file: &str, from: &str, to: &str) {
    let text = std::fs::read_to_string(folder.join(file)).unwrap();
    assert!(text.contains(from), "{file} has no {from}");
    std::fs::write(folder.join(file), text.replacen(from, to, 1)).unwrap();
}

/// Maximum absolute difference of two vectors.
pub fn apart(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    // The maximum ignores NaN.
    assert!(a.iter().chain(b).all(|x| x.is_finite()), "{a:?} {b:?}");
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f32::max)
}

/// Examples whose positives share a word with the query.
pub fn examples() -> Vec<TrainingExample> {
    let words = ["ship", "sea", "tea", "radar", "green", "black", "seen"];
    words
        .iter()
        .enumerate()
        .map(|(n, word)| {
            let other = |by: usize| words[(n + by) % words.len()];
            TrainingExample::new(format!("the {word}"))
                .positive(
                    TrainingText::new(format!("{word} and {}", other(1))).with_id(format!("d{n}")),
                )
                .positive(TrainingText::new(format!("{} {word}", other(2))))
                .negative(TrainingText::new(format!("{} at {}", other(3), other(4))))
                .negative(TrainingText::new(format!("a {}", other(5))))
        })
        .collect()
}

/// 9 steps: 3 epochs of 7 examples in batches of 3, with dropout and evaluation.
pub fn config() -> TrainingConfig {
    let mut config = TrainingConfig::small_data();
    config.encoder = on_backend().with_max_tokens(16);
    config.epochs = 3;
    config.batch_size = 3;
    config.hard_negatives = 2;
    config.learning_rate = 5e-3;
    config.evaluate_every = Some(2);
    config.patience = None;
    config
}

/// Folder with a checkpoint after three steps.
pub fn checkpoint() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let trainer = Trainer::open(tiny("bert-pytorch"), &config()).unwrap();
    let trainer = trainer.with_checkpoints(folder.path());
    let mut three =
        |_: &str, done: u64, _: Option<u64>| if done < 3 { Flow::Continue } else { Flow::Stop };
    let error = trainer.train(&examples(), &mut three).unwrap_err();
    assert_eq!(error.to_string(), "stopped after 3 of 9 steps");
    folder
}

/// Python with sentence-transformers: the variable IR_DENSE_PYTHON. Prints that a test is skipped
/// if it is not set.
pub fn python() -> Option<OsString> {
    let python = std::env::var_os("IR_DENSE_PYTHON");
    if python.is_none() {
        skip("IR_DENSE_PYTHON names no Python with sentence-transformers");
    }
    python
}

/// Runs a Python program with a model folder and texts as arguments, offline; returns its output.
pub fn run_python(python: &OsStr, program: &str, model: &Path, texts: &[&str]) -> Vec<u8> {
    let output = Command::new(python)
        .args(["-c", program])
        .arg(model)
        .arg(serde_json::to_string(texts).unwrap())
        .env("HF_HUB_OFFLINE", "1")
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    output.stdout
}
