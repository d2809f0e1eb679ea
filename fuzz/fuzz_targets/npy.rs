//! NumPy arrays: a round trip preserves them.
#![no_main]

use ir_knn::npy::{read, write};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(rows) = read(bytes, "fuzz") {
        let mut out = Vec::new();
        write(rows.view(), &mut out).expect("memory takes everything");
        assert_eq!(read(&out[..], "fuzz").expect("what was written"), rows);
    }
});
