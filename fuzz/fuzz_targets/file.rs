//! Files of unknown format: kind, documents, queries and judgments are read or are an error.
#![no_main]

use std::fs;

use ir_core::Corpus;
use ir_data::{DocumentFile, FileKind, ReadOptions, read_qrels_any, read_queries};
use libfuzzer_sys::fuzz_target;

fuzz_target!(
    // The reader of Parquet catches panics of its library; the hook must not abort before.
    init: drop(std::panic::take_hook()),
    |bytes: &[u8]| {
        let name = std::process::id();
        for ending in ["json", "data"] {
            let path = std::env::temp_dir().join(format!("ir-fuzz-file-{name}.{ending}"));
            fs::write(&path, bytes).expect("a temporary file");
            let _ = FileKind::detect(&path);
            let options = ReadOptions::default();
            if let Ok(docs) = DocumentFile::open(&path, &options) {
                let _ = docs.format().reason();
                if let Ok(docs) = docs.docs() {
                    docs.take_while(Result::is_ok).for_each(drop);
                }
            }
            if let Ok((queries, _)) = read_queries(&path, &options) {
                assert!(!queries.is_empty());
            }
            let _ = read_qrels_any(&path, Default::default());
        }
    }
);
