//! TREC runs and qrels: a round trip preserves them.
#![no_main]

use ir_core::trec::{HeaderLine, ScoreFormat, read_qrels, read_run, write_qrels, write_run};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(run) = read_run(bytes, "fuzz", HeaderLine::AsData) {
        let mut out = Vec::new();
        if write_run(&run.data, ScoreFormat::Exact, &mut out).is_ok() {
            let again = read_run(&out[..], "fuzz", HeaderLine::AsData).expect("what was written");
            assert!(run.data.iter().eq(again.data.iter()));
        }
    }
    if let Ok(qrels) = read_qrels(bytes, "fuzz", HeaderLine::Skip) {
        let mut out = Vec::new();
        if write_qrels(&qrels.data, &mut out).is_ok() {
            let again = read_qrels(&out[..], "fuzz", HeaderLine::AsData).expect("what was written");
            assert_eq!(qrels.data, again.data);
        }
    }
});
