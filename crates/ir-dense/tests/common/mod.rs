//! What the tests share.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stderr
)]

use std::path::{Path, PathBuf};

use ir_core::Flow;
use ir_core::training::{TrainingExample, TrainingText};
use ir_dense::train::{Trainer, TrainingConfig};
use ir_dense::{Backend, EncoderConfig};

/// What the tests compute on: the variable IR_BACKEND (`tch`, say), or the default.
pub fn backend() -> Backend {
    match std::env::var("IR_BACKEND") {
        Ok(name) => name.parse().expect("IR_BACKEND names no backend"),
        Err(_) => Backend::default(),
    }
}

/// Encoders on that backend, else as they are by default.
pub fn on_backend() -> EncoderConfig {
    EncoderConfig::default().with_backend(backend())
}

/// Whether the tests run on the default backend; says that a test holds for it alone when not.
pub fn on_default_backend() -> bool {
    let default = backend() == Backend::default();
    if !default {
        eprintln!("skipped: holds for the default backend alone");
    }
    default
}

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

/// Examples whose right answers share a word with the query.
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

/// 7 examples in batches of 3: 9 steps in 3 epochs, with everything on.
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

/// A checkpoint after three steps.
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
