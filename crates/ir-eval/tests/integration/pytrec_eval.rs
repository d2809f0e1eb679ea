//! Equality with pytrec_eval (trec_eval 9 with f32 scores) on a small synthetic collection with
//! ties, near ties, negative grades, unpooled documents and non-ASCII ids. The expected values are
//! computed by testdata/peer.py.
#![allow(clippy::unwrap_used, reason = "tests")]

use ir_core::trec;
use ir_core::trec::HeaderLine;
use ir_eval::{Evaluator, Measure, MissingQueries, Rules};

#[test]
fn every_value_of_pytrec_eval() {
    let qrels = include_str!("../../testdata/peer.qrels");
    let run = include_str!("../../testdata/peer.run");
    let qrels = trec::read_qrels(qrels.as_bytes(), "peer.qrels", HeaderLine::AsData).unwrap();
    let run = trec::read_run(run.as_bytes(), "peer.run", HeaderLine::AsData).unwrap();
    assert!(qrels.warnings.is_empty() && run.warnings.is_empty());
    let expected: Vec<(i64, &str, Measure, f64)> = include_str!("../../testdata/peer.tsv")
        .lines()
        .map(|line| {
            let fields: Vec<&str> = line.split('\t').collect();
            let [level, query, measure, value] = fields[..] else {
                panic!("{line}")
            };
            let measure = measure.parse().unwrap();
            (
                level.parse().unwrap(),
                query,
                measure,
                value.parse().unwrap(),
            )
        })
        .collect();
    let mut measures: Vec<Measure> = expected.iter().map(|row| row.2).collect();
    measures.sort_unstable();
    measures.dedup();
    for level in [1, 2] {
        let rules = Rules {
            level,
            missing: MissingQueries::Skip,
            ..Rules::TREC_EVAL_9_0_4
        };
        let evaluator = Evaluator::with_rules(&qrels.data, &measures, rules).unwrap();
        let report = evaluator.evaluate(&run.data).unwrap();
        assert_eq!(report.missing().collect::<Vec<_>>(), ["q09"]);
        assert_eq!(report.unjudged().collect::<Vec<_>>(), ["q13"]);
        // With f64 scores there would be no tie, and the relevant document would come first.
        assert_eq!(
            report.value("q15", Measure::RR),
            Some([0.5, 0.25][level as usize - 1])
        );
        let rows: Vec<_> = expected.iter().filter(|row| row.0 == level).collect();
        assert_eq!(rows.len(), 13 * 92);
        for &&(_, query, measure, mut value) in &rows {
            if matches!(measure.summary(), ir_eval::Summary::GeometricMean) {
                // pytrec_eval returns the logarithm, with a lower bound.
                value = value.exp();
                let found = report.value(query, measure).unwrap().max(1e-5);
                assert!((found - value).abs() < 1e-12, "-l{level} {query} {measure}");
            } else {
                let found = report.value(query, measure).unwrap();
                assert!(
                    (found - value).abs() < 1e-12,
                    "-l{level} {query} {measure}: {found} instead of {value}"
                );
            }
        }
    }
}
