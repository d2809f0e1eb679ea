//! Equality with ndeval on a small synthetic collection (see testdata/diversity.py), and with
//! reference implementations on random ones.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;

use ir_core::trec;
use ir_core::trec::HeaderLine;
use ir_core::{Grade, Judgments, Qrels, Run, SubtopicQrels};
use ir_eval::{EvalError, Evaluator, Measure, Rules, TieBreak};
use proptest::collection::vec;
use proptest::prelude::*;

#[test]
fn every_value_of_ndeval() {
    let qrels = include_str!("../../testdata/diversity.qrels");
    let run = include_str!("../../testdata/diversity.run");
    let qrels = trec::read_subtopic_qrels(qrels.as_bytes(), "qrels", HeaderLine::AsData).unwrap();
    let run = trec::read_run(run.as_bytes(), "run", HeaderLine::AsData).unwrap();
    let mut rows = 0;
    for line in include_str!("../../testdata/diversity.tsv").lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [level, alpha, beta, query, name, value] = fields[..] else {
            panic!("{line}")
        };
        let (base, at) = name.split_once('@').unwrap_or((name, ""));
        let parameters = match base {
            "NRBP" | "nNRBP" => format!("(alpha={alpha},beta={beta})"),
            "MAP-IA" | "P-IA" | "strec" => String::new(),
            _ => format!("(alpha={alpha})"),
        };
        let at = if at.is_empty() {
            String::new()
        } else {
            format!("@{at}")
        };
        let measure: Measure = format!("{base}{parameters}{at}").parse().unwrap();
        let rules = Rules {
            level: level.parse().unwrap(),
            ties: TieBreak::IdAscending,
            ..Rules::NDEVAL
        };
        let evaluator = Evaluator::with_rules(&qrels.data, &[measure], rules).unwrap();
        let report = evaluator.evaluate(&run.data).unwrap();
        let found = report.value(query, measure).unwrap();
        let mut value: f64 = value.parse().unwrap();
        if value.is_nan() {
            // 0/0 if no document is relevant to any subtopic.
            value = 0.0;
        }
        if matches!(name, "ERR-IA@1" | "alpha-DCG@1") {
            // ndeval divides by the maximum from the second rank on.
            let covered = evaluator_subtopics(&qrels.data, query, rules.level);
            value /= covered.max(1.0);
        }
        assert!((found - value).abs() < 1e-12, "{line}: {found}");
        rows += 1;
    }
    assert_eq!(rows, 13 * 27 * 5);
}

/// Number of subtopics with a relevant document.
fn evaluator_subtopics(qrels: &SubtopicQrels, query: &str, level: Grade) -> f64 {
    let relevant = qrels.subtopics(query).unwrap().filter(|row| row.2 >= level);
    relevant.map(|row| row.1).collect::<BTreeSet<_>>().len() as f64
}

/// Judgments (document, subtopic, grade) and results (document, score).
type Case = (Vec<(u8, u8, Grade)>, Vec<(u8, i8)>);

fn case() -> impl Strategy<Value = Case> {
    let judged = vec((0_u8..12, 0_u8..5, -1_i64..3), 1..40);
    (judged, vec((0_u8..16, -2_i8..4), 1..16))
}

/// Subtopics that each document of a list is relevant to.
type List = Vec<BTreeSet<String>>;

/// Σ over the list of discount(rank) · Σ (1 − α)^(times covered above).
fn cumulative_gain(list: &List, alpha: f64, discount: impl Fn(usize) -> f64) -> f64 {
    let mut sum = 0.0;
    for (at, document) in list.iter().enumerate() {
        for subtopic in document {
            let above = list[..at].iter().filter(|other| other.contains(subtopic));
            sum += (1.0 - alpha).powi(above.count() as i32) * discount(at + 1);
        }
    }
    sum
}

/// Greedy ideal ranking: the most novel document at each rank, of several the one with the largest
/// id.
fn ideal(documents: &[(String, BTreeSet<String>)], alpha: f64) -> List {
    let mut left = documents.to_vec();
    left.sort();
    let mut list = List::new();
    while !left.is_empty() {
        let gain = |document: &BTreeSet<String>| {
            let mut longer = list.clone();
            longer.push(document.clone());
            cumulative_gain(&longer, alpha, |_| 1.0) - cumulative_gain(&list, alpha, |_| 1.0)
        };
        let best = (0..left.len())
            .max_by(|&a, &b| {
                let (x, y) = (gain(&left[a].1), gain(&left[b].1));
                if (x - y).abs() < 1e-9 {
                    a.cmp(&b)
                } else {
                    x.total_cmp(&y)
                }
            })
            .unwrap();
        list.push(left.remove(best).1);
    }
    list
}

fn ratio(dividend: f64, divisor: f64) -> f64 {
    if divisor > 0.0 {
        dividend / divisor
    } else {
        0.0
    }
}

/// Reference implementation of the formulas in the papers.
fn textbook(name: &str, alpha: f64, beta: f64, k: usize, list: &List, ideal: &List) -> f64 {
    let subtopics: BTreeSet<&String> = ideal.iter().flatten().collect();
    let count = subtopics.len() as f64;
    let all: BTreeSet<String> = subtopics.iter().map(|&s| s.clone()).collect();
    let perfect: List = vec![all; k];
    let top: List = list.iter().take(k).cloned().collect();
    let best: List = ideal.iter().take(k).cloned().collect();
    let reciprocal = |rank: usize| 1.0 / rank as f64;
    let logarithmic = |rank: usize| 1.0 / ((rank + 1) as f64).log2();
    let geometric = |rank: usize| beta.powi(rank as i32 - 1);
    let mean = |value: &dyn Fn(&String) -> f64| {
        ratio(
            subtopics.iter().map(|&s| value(s)).fold(0.0, |a, b| a + b),
            count,
        )
    };
    match name {
        "ERR_IA" => ratio(
            cumulative_gain(&top, alpha, reciprocal),
            cumulative_gain(&perfect, alpha, reciprocal),
        ),
        "nERR_IA" => ratio(
            cumulative_gain(&top, alpha, reciprocal),
            cumulative_gain(&best, alpha, reciprocal),
        ),
        "alpha_DCG" => ratio(
            cumulative_gain(&top, alpha, logarithmic),
            cumulative_gain(&perfect, alpha, logarithmic),
        ),
        "alpha_nDCG" => ratio(
            cumulative_gain(&top, alpha, logarithmic),
            cumulative_gain(&best, alpha, logarithmic),
        ),
        "NRBP" => {
            let scale = 1.0 - (1.0 - alpha) * beta;
            ratio(cumulative_gain(list, alpha, geometric) * scale, count)
        }
        "nNRBP" => ratio(
            cumulative_gain(list, alpha, geometric),
            cumulative_gain(ideal, alpha, geometric),
        ),
        "P_IA" => mean(&|s| top.iter().filter(|d| d.contains(s)).count() as f64 / k as f64),
        "StRecall" => mean(&|s| f64::from(u8::from(top.iter().any(|d| d.contains(s))))),
        "AP_IA" => mean(&|s| {
            let hits = |k: usize| list.iter().take(k).filter(|d| d.contains(s)).count() as f64;
            let found = (1..=list.len()).filter(|&i| list[i - 1].contains(s));
            let relevant = ideal.iter().filter(|d| d.contains(s)).count() as f64;
            found.map(|i| hits(i) / i as f64).fold(0.0, |a, b| a + b) / relevant
        }),
        other => panic!("{other}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn agrees_with_the_reference((judged, found) in case(), level in 1_i64..3, k in 1_usize..20) {
        // Powers of 1/2, so that sums are exact and equal novelties compare equal.
        let (alpha, beta) = (0.5, 0.75);
        let (mut qrels, mut run) = (SubtopicQrels::new(), Run::new("random"));
        for (doc, subtopic, grade) in judged {
            qrels.insert("q", &format!("s{subtopic}"), &format!("d{doc:02}"), grade);
        }
        let mut scores = std::collections::BTreeMap::new();
        for (doc, score) in found {
            scores.insert(format!("d{doc:02}"), f64::from(score));
        }
        for (doc, &score) in &scores {
            run.push("q", doc.as_str(), score);
        }
        let subtopics = |doc: &str| -> BTreeSet<String> {
            let rows = qrels.subtopics("q").unwrap();
            rows.filter(|row| row.0 == doc && row.2 >= level).map(|row| row.1.to_owned()).collect()
        };
        let mut order: Vec<(f64, String)> = scores.into_iter().map(|(doc, s)| (s, doc)).collect();
        order.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
        let list: List = order.iter().map(|(_, doc)| subtopics(doc)).collect();
        let documents: Vec<(String, BTreeSet<String>)> =
            qrels.judged("q").map(|(doc, _)| (doc.to_owned(), subtopics(doc))).collect();
        let ideal = ideal(&documents, alpha);
        for name in ["ERR_IA", "nERR_IA", "alpha_DCG", "alpha_nDCG", "NRBP", "nNRBP", "P_IA", "StRecall", "AP_IA"] {
            let text = match name {
                "NRBP" | "nNRBP" => format!("{name}(beta=0.75,rel={level})"),
                "AP_IA" => format!("{name}(rel={level})"),
                _ => format!("{name}(rel={level})@{k}"),
            };
            let measure: Measure = text.parse().unwrap();
            let report = Evaluator::new(&qrels, &[measure]).unwrap().evaluate(&run).unwrap();
            let value = report.value("q", measure).unwrap();
            let expected = textbook(name, alpha, beta, k, &list, &ideal);
            prop_assert!((value - expected).abs() < 1e-12, "{}: {} instead of {}", measure, value, expected);
        }
    }
}

#[test]
fn other_measures_use_the_highest_grade_of_a_document() {
    let mut qrels = SubtopicQrels::new();
    qrels.insert("q", "1", "a", 0);
    qrels.insert("q", "2", "a", 2);
    qrels.insert("q", "1", "b", 1);
    let mut run = Run::new("mine");
    run.push("q", "b", 2.0);
    run.push("q", "a", 1.0);
    let ap2 = Measure::AP.rel(2);
    let evaluator = Evaluator::new(&qrels, &[Measure::AP, ap2]).unwrap();
    let report = evaluator.evaluate(&run).unwrap();
    assert_eq!(report.value("q", Measure::AP), Some(1.0));
    assert_eq!(report.value("q", ap2), Some(0.5));
}

#[test]
fn plain_judgments_are_rejected() {
    let mut qrels = Qrels::new();
    qrels.insert("q", "a", 1);
    let measure: Measure = "alpha_nDCG@20".parse().unwrap();
    let error = Evaluator::new(&qrels, &[Measure::AP, measure]).unwrap_err();
    let boxed = Box::new(measure);
    assert_eq!(error, EvalError::NoSubtopics { measure: boxed });
    assert_eq!(
        error.to_string(),
        "alpha_nDCG@20: expected subtopic judgments, found judgments without subtopics"
    );
}
