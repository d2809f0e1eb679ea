//! Parquet and Arrow files: an error, or papers of the ICLR dataset, documents, judgments and
//! vectors.
//!
//! Odd first byte: the rest is the file. Even: the rest overwrites bytes of a valid file.
#![no_main]

use std::fs;

use ir_core::Corpus;
use ir_data::iclr::read;
use ir_data::{DocumentFile, ReadOptions, columnar};
use libfuzzer_sys::fuzz_target;

const VALID: [&[u8]; 4] = [
    include_bytes!("../../crates/ir-data/testdata/iclr/papers.parquet"),
    include_bytes!("../../crates/ir-data/testdata/parquet/corpus-snappy.parquet"),
    include_bytes!("../../crates/ir-data/testdata/arrow/corpus-lz4.arrow"),
    include_bytes!("../../crates/ir-data/testdata/arrow/corpus-stream.arrow"),
];

fuzz_target!(
    // The reader catches panics of the libraries; the hook must not abort before.
    init: drop(std::panic::take_hook()),
    |input: &[u8]| {
        let Some((&kind, rest)) = input.split_first() else {
            return;
        };
        let mut bytes = rest.to_vec();
        if kind % 2 == 0 {
            bytes = VALID[usize::from(kind / 2 % 4)].to_vec();
            for change in rest.chunks_exact(3) {
                let at = usize::from(u16::from_le_bytes([change[0], change[1]])) % bytes.len();
                bytes[at] = change[2];
            }
        }
        let path = std::env::temp_dir().join(format!("ir-fuzz-{}.parquet", std::process::id()));
        fs::write(&path, bytes).expect("a temporary file");
        if let Ok(papers) = read(&path) {
            let _ = papers.len();
        }
        if let Ok(docs) = DocumentFile::open(&path, &ReadOptions::default())
            && let Ok(docs) = docs.docs()
        {
            docs.take_while(Result::is_ok).for_each(drop);
        }
        let _ = columnar::read_qrels(&[&path]);
        if let Ok(vectors) = columnar::read_vectors(&path) {
            assert_eq!(vectors.values.len(), vectors.ids.len() * vectors.dimension);
        }
    }
);
