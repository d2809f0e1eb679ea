//! Preference judgments in both formats of trec_eval: every measure has a value for every query.
#![no_main]

use ir_core::Run;
use ir_eval::Rules;
use ir_eval::assess::preferences::{PreferenceMeasure, read, read_qrels};
use libfuzzer_sys::fuzz_target;

/// Preferences are compared in pairs: larger inputs only take longer.
const MAX_BYTES: usize = 1 << 14;

fuzz_target!(|bytes: &[u8]| {
    if bytes.len() > MAX_BYTES {
        return;
    }
    for read in [read(bytes, "fuzz"), read_qrels(bytes, "fuzz")] {
        let Ok(preferences) = read.map(|parsed| parsed.data) else {
            continue;
        };
        let mut run = Run::new("fuzz");
        for (n, doc) in ["a", "b", "c", "d1", "d2"].into_iter().enumerate() {
            for query in preferences.queries() {
                run.push(query, doc, -(n as f64));
            }
        }
        let report = preferences.evaluate(&run, &PreferenceMeasure::ALL, Rules::default());
        if let Ok(report) = report {
            for query in report.queries() {
                assert_eq!(query.values().len(), PreferenceMeasure::ALL.len());
            }
        }
    }
});
