//! Judgments by several assessors: values of precision stay between 0 and 1.
#![no_main]

use ir_core::Run;
use ir_eval::assess::JudgmentGroups;
use ir_eval::{Measure, Rules};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(groups) = JudgmentGroups::read(bytes, "fuzz").map(|parsed| parsed.data) else {
        return;
    };
    let mut run = Run::new("fuzz");
    for (n, doc) in ["a", "b", "d1", "d2"].into_iter().enumerate() {
        for query in groups.queries() {
            run.push(query, doc, -(n as f64));
        }
    }
    if let Ok(report) = groups.evaluate(&run, &[Measure::AP], Rules::default()) {
        let mean = report.summary(Measure::AP);
        assert!(mean.is_none_or(|mean| (0.0..=1.0).contains(&mean)));
    }
});
