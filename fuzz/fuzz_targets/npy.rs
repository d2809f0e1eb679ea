//! NumPy's arrays: anything is read or refused, and what was read survives a round trip.
#![no_main]

use ir_knn::npy::{Float, read, write};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(rows) = read(bytes, "fuzz") {
        let mut out = Vec::new();
        write(&rows, Float::F64, &mut out).expect("memory takes everything");
        assert_eq!(read(&out[..], "fuzz").expect("what was written"), rows);
    }
});
