//! Measure names: a measure prints as a text that parses to it, in the syntaxes of ir_measures and
//! trec_eval. Every selection is computed and printed.
#![no_main]

use std::collections::BTreeSet;

use ir_core::{Qrels, Run};
use ir_eval::trec_eval::{JudgmentKind, MeasureSelection, OutputDetail};
use ir_eval::{Measure, Rules, TrecEvalVersion};
use libfuzzer_sys::fuzz_target;

fn check(measure: Measure) {
    assert_eq!(measure.to_string().parse(), Ok(measure));
    if let Some(name) = measure.trec_name() {
        assert_eq!(name.parse(), Ok(measure), "{name}");
    }
}

fuzz_target!(|text: &str| {
    let options: Vec<&str> = text.lines().collect();
    for option in &options {
        if let Ok(measure) = option.parse::<Measure>() {
            check(measure);
            let selection = MeasureSelection::parse(&[measure.to_string()]).expect("a measure");
            assert_eq!(selection.measures(), [measure]);
        }
    }
    for version in [TrecEvalVersion::V9, TrecEvalVersion::V10] {
        let Ok(selection) = MeasureSelection::parse_for(JudgmentKind::Grades, &options, version)
        else {
            continue;
        };
        let measures = selection.measures();
        measures.iter().copied().for_each(check);
        let names: Vec<String> = measures.iter().map(Measure::to_string).collect();
        if !names.is_empty() {
            let by_name = MeasureSelection::parse_for(JudgmentKind::Grades, &names, version)
                .expect("measures");
            // In another order: names that are not trec_eval's go last.
            let by_name: BTreeSet<Measure> = by_name.measures().into_iter().collect();
            assert_eq!(by_name, measures.into_iter().collect());
        }
        let mut qrels = Qrels::new();
        let mut run = Run::new("fuzz");
        for (query, doc, grade) in [("1", "a", 2), ("1", "b", 0), ("1", "c", -1), ("2", "a", 1)] {
            qrels.insert(query, doc, grade);
        }
        for (doc, score) in [("b", 2.0), ("d", 1.5), ("a", 1.0), ("c", 0.5)] {
            run.push("1", doc, score);
        }
        if let Ok(evaluator) = selection.evaluator(&qrels, Rules::default()) {
            let report = evaluator.evaluate(&run).expect("a run");
            let mut out = Vec::new();
            selection
                .write(&report, OutputDetail::QueriesAndSummary, &mut out)
                .expect("memory");
        }
    }
});
