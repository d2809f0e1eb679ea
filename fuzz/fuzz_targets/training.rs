//! Training examples: every example of a valid file is valid, and a round trip preserves the
//! fingerprint.
#![no_main]

use std::fs;

use ir_core::training::TrainingSet;
use ir_data::training::{OnInvalidExample, TrainingFile, TrainingFormat, write_example};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let path = std::env::temp_dir().join(format!("ir-fuzz-{}.jsonl", std::process::id()));
    fs::write(&path, bytes).expect("a temporary file");
    for unusable in [OnInvalidExample::Reject, OnInvalidExample::Skip] {
        let form = TrainingFormat::default().on_invalid_example(unusable);
        let Ok(file) = TrainingFile::open_with(&path, form) else {
            continue;
        };
        let mut lines = Vec::new();
        for index in 0..file.len() {
            let example = file.get(index).expect("it was checked when it was opened");
            assert_eq!(example.check(), Ok(()));
            write_example(&mut lines, &example, "memory", 0).expect("memory takes everything");
        }
        if !file.is_empty() {
            let again = path.with_extension("again.jsonl");
            fs::write(&again, &lines).expect("a temporary file");
            let written = TrainingFile::open(&again).expect("our own form");
            assert_eq!(written.fingerprint(), file.fingerprint());
        }
    }
});
