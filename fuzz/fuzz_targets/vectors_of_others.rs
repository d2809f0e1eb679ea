//! Files of vectors of other encoders: any bytes are vectors with an id each, or rejected.
//!
//! The first byte selects the name; for arrays, the number of ids in the file beside it.
#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use ir_core::store::Verify;
use ir_system::saved_vectors::open_vectors;
use libfuzzer_sys::fuzz_target;

const NAMES: [&str; 4] = ["x.fvecs", "x.npy", "x.jsonl", "x.parquet"];

fn folder() -> &'static PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = std::env::temp_dir().join(format!("ir-fuzz-others-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        folder
    })
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&first, rest)) = bytes.split_first() else {
        return;
    };
    let path = folder().join(NAMES[first as usize % NAMES.len()]);
    let ids: String = (0..first / 4).map(|n| format!("d{n}\n")).collect();
    fs::write(folder().join("x.ids"), ids).expect("a file of ids");
    fs::write(&path, rest).expect("a file of vectors");
    if let Ok(vectors) = open_vectors("vectors", &path, Verify::AllSections) {
        assert!(vectors.len() == 0 || vectors.dim() > 0);
    }
});
