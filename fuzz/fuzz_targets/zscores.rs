//! Reference files of z-scores.
#![no_main]

use ir_eval::ZScores;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(reference) = ZScores::read(bytes, "fuzz").map(|parsed| parsed.data) else {
        return;
    };
    let text = String::from_utf8_lossy(bytes);
    for line in text.lines() {
        let mut columns = line.split_ascii_whitespace();
        if let (Some(query), Some(measure)) = (columns.next(), columns.next()) {
            let _ = reference.zscore(query, measure, 0.5);
        }
    }
});
