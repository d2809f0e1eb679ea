//! Sparse vectors as JSON lines: any bytes are vectors with finite weights, or an error.
#![no_main]

use ir_data::SparseVectorReader;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut reader = SparseVectorReader::new(bytes, "fuzz");
    while let Ok(Some(record)) = reader.read() {
        let mut weights = record.weights.iter();
        assert!(weights.all(|(_, weight)| weight.is_finite() && *weight >= 0.0));
    }
});
