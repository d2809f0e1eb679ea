//! Curves and scores by rank, against the evaluator.
#![allow(clippy::unwrap_used)]

use ir_core::{Qrels, Run};
use ir_eval::runs::{
    MeasureCurve, ScoresByRank, at_cutoffs, eleven_point_precision, log_spaced_cutoffs,
};
use ir_eval::{Evaluator, JudgmentStatus, Measure, Rules, SelfHits, TieBreak, UnjudgedDocuments};
use proptest::prelude::*;

/// Example in the appendix "Common evaluation measures" of TREC's proceedings: 20 documents
/// retrieved, 4 relevant, at ranks 1, 2, 4 and 15. Interpolated precision is 1.0 to recall 0.5,
/// 0.75 at 0.6 and 0.7, and 4/15 from 0.8 on.
#[test]
fn trec_appendix_example() {
    let (mut qrels, mut run) = (Qrels::new(), Run::new("example"));
    for rank in 1..=20 {
        let doc = format!("d{rank:02}");
        if [1, 2, 4, 15].contains(&rank) {
            qrels.insert("q", &doc, 1);
        }
        run.push("q", doc, -f64::from(rank));
    }
    // Release 10 rounds 0.6 · 4 down to 2 documents, so that precision at recall 0.6 is 1.
    let rules = Rules::TREC_EVAL_9_0_8;
    let evaluator = Evaluator::with_rules(&qrels, &eleven_point_precision(), rules).unwrap();
    let report = evaluator.evaluate(&run).unwrap();
    let curve = MeasureCurve::precision_recall(&report);
    let expected = [
        1.0,
        1.0,
        1.0,
        1.0,
        1.0,
        1.0,
        0.75,
        0.75,
        4.0 / 15.0,
        4.0 / 15.0,
        4.0 / 15.0,
    ];
    assert_eq!(curve.system, "example");
    assert_eq!(curve.points.len(), 11);
    for (i, (point, expected)) in curve.points.iter().zip(expected).enumerate() {
        assert_eq!(point.0, i as f64 / 10.0);
        assert!((point.1 - expected).abs() < 1e-12, "{point:?}");
    }
}

#[test]
fn cutoffs_ascend_and_end_at_the_depth() {
    for depth in [
        0,
        1,
        2,
        19,
        20,
        21,
        49,
        50,
        51,
        99,
        101,
        1000,
        1001,
        12_345,
        u32::MAX,
    ] {
        let cutoffs = log_spaced_cutoffs(depth);
        assert!(cutoffs.windows(2).all(|pair| pair[0] < pair[1]), "{depth}");
        assert_eq!(cutoffs.last().copied().unwrap_or(0), depth);
        assert!(cutoffs.len() < 350);
    }
    assert!(at_cutoffs(Measure::P, &[0]).is_empty());
    assert!(at_cutoffs(eleven_point_precision()[0], &[5]).is_empty());
}

#[test]
fn curves_select_the_measures_of_one_formula() {
    let (mut qrels, mut run) = (Qrels::new(), Run::new("r"));
    qrels.insert("q", "a", 1);
    run.push("q", "a", 1.0);
    let mut measures = at_cutoffs(Measure::P, &[10, 5]);
    measures.extend([Measure::P.rel(2).at(3), Measure::NDCG.at(4), Measure::AP]);
    let report = Evaluator::new(&qrels, &measures)
        .unwrap()
        .evaluate(&run)
        .unwrap();
    assert_eq!(
        MeasureCurve::over_cutoffs(&report, Measure::P).points,
        [(5.0, 0.2), (10.0, 0.1)]
    );
    assert_eq!(
        MeasureCurve::over_cutoffs(&report, Measure::P.rel(2).at(9)).points,
        [(3.0, 0.0)]
    );
    assert!(
        MeasureCurve::over_cutoffs(&report, Measure::AP)
            .points
            .is_empty()
    );
    assert!(MeasureCurve::precision_recall(&report).points.is_empty());
}

proptest! {
    /// Relevant documents by rank equal the evaluator's, and scores are those of the lists.
    #[test]
    fn ranks_equal_the_evaluator(
        lists in prop::collection::vec(prop::collection::vec((0..12_u8, -2..4_i8), 1..20), 1..6),
        grades in prop::collection::vec((0..6_u8, 0..12_u8, -1..4_i64), 1..60),
        ties in prop::sample::select(vec![TieBreak::TrecEval, TieBreak::IdAscending, TieBreak::RunOrder]),
        remove: bool,
        drop_self: bool,
        depth in prop::option::of(0..12_usize),
    ) {
        let (mut qrels, mut run) = (Qrels::new(), Run::new("r"));
        for (query, doc, grade) in grades {
            qrels.insert(&format!("{query}"), &format!("{doc}"), grade);
        }
        for (query, list) in lists.iter().enumerate() {
            let mut seen = Vec::new();
            for (doc, score) in list {
                if !seen.contains(doc) {
                    seen.push(*doc);
                    run.push(&query.to_string(), doc.to_string(), f64::from(*score));
                }
            }
        }
        let rules = Rules {
            ties,
            depth,
            unjudged: if remove { UnjudgedDocuments::Remove } else { UnjudgedDocuments::NonRelevant },
            self_hits: if drop_self { SelfHits::Drop } else { SelfHits::Keep },
            level: 2,
            ..Rules::default()
        };
        let evaluator = Evaluator::with_rules(&qrels, &[Measure::P.at(1)], rules).unwrap().with_top_judgments(100);
        let Ok(report) = evaluator.evaluate(&run) else { return Ok(()) };
        let scores = ScoresByRank::new(&run, &qrels, rules, 100);
        let answered: Vec<_> = report.queries().iter().filter(|query| query.retrieved()).collect();
        prop_assert_eq!(scores.lists, answered.len());
        for (rank, at) in scores.ranks.iter().enumerate() {
            let here: Vec<&JudgmentStatus> = answered.iter().filter_map(|query| query.top_judgments().get(rank)).collect();
            let relevant = here.iter().filter(|judged| matches!(judged, JudgmentStatus::Grade(grade) if *grade >= 2));
            prop_assert_eq!((at.lists, at.relevant), (here.len(), relevant.count()));
            prop_assert!(at.low <= at.mean + 1e-9 && at.mean <= at.high + 1e-9 || at.lists > 2);
        }
        let longest = answered.iter().map(|query| query.top_judgments().len()).max().unwrap_or(0);
        prop_assert_eq!(scores.ranks.len(), longest);
        for query in answered {
            let mut judged = Qrels::new();
            for (doc, grade) in qrels.get(query.query()).into_iter().flatten() {
                judged.insert(query.query(), doc, grade);
            }
            let one = ScoresByRank::new(&run, &judged, rules, 100);
            let means: Vec<f64> = one.ranks.iter().map(|at| at.mean).collect();
            prop_assert!(means.windows(2).all(|pair| pair[0] >= pair[1]));
            prop_assert_eq!(one.ranks.len(), query.top_judgments().len());
        }
    }
}

#[test]
fn percentile_band() {
    let (mut qrels, mut run) = (Qrels::new(), Run::new("r"));
    for query in 0..11 {
        qrels.insert(&query.to_string(), "d", 1);
        run.push(&query.to_string(), "d", f64::from(query) * f64::from(query));
    }
    run.push("3", "infinite", f64::INFINITY);
    let scores = ScoresByRank::new(&run, &qrels, Rules::default(), 5);
    let first = scores.ranks[0];
    // The infinite score counts as a list only; of 0 1 4 16 25 36 49 64 81 100, the 10th and 90th
    // percentiles are at positions 0.9 and 8.1.
    assert_eq!((first.lists, first.relevant), (11, 10));
    assert!((first.mean - 37.6).abs() < 1e-12);
    assert!((first.low - 0.9).abs() < 1e-12 && (first.high - 82.9).abs() < 1e-9);
}
