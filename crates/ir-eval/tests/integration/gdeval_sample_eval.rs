//! Measures that trec_eval does not have: outputs of gdeval and sample_eval, and reference
//! implementations on random collections.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::common::{qrels, run, vectors};
use ir_core::trec::HeaderLine;
use ir_core::{Grade, Judgments, Qrels, Run, StratifiedQrels};
use ir_eval::{Evaluator, Measure, MissingQueries, Rules, UnjudgedDocuments};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

/// sample_eval of the bioCADDIE pilot on synthetic data.
#[test]
fn every_line_of_sample_eval() {
    let folder = vectors();
    let judgments = qrels(&folder.join("mini_numeric.qrels"), HeaderLine::AsData);
    let results = run(&folder.join("mini_numeric.run"), HeaderLine::AsData);
    let output = fs::read_to_string(folder.join("mini_numeric.sample_eval.expected.txt")).unwrap();
    // The depth is compiled in: 1000 at NIST, 100 in this copy.
    let rules = Rules {
        depth: Some(100),
        ..Rules::SAMPLE_EVAL
    };
    let all = Rules {
        missing: MissingQueries::Zero,
        ..rules
    };
    let value = |name: &str, query: &str| {
        let name = if name == "infAP" { "xinfAP" } else { name };
        let measure: Measure = name.parse().unwrap();
        // Only the total of relevant documents includes queries without results.
        let rules = if name == "inum_rel" { all } else { rules };
        let evaluator = Evaluator::with_rules(&judgments, &[measure], rules).unwrap();
        let report = evaluator.evaluate(&results).unwrap();
        match query {
            "all" => report.summary(measure).unwrap(),
            query => report.value(query, measure).unwrap(),
        }
    };
    let mut lines = 0;
    for line in output.lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [name, query, figure] = fields[..] else {
            panic!("{line}")
        };
        let found = value(name, query);
        let printed = if figure.contains('.') {
            format!("{found:.4}")
        } else {
            found.to_string()
        };
        assert_eq!(printed, figure, "{line}");
        lines += 1;
    }
    assert_eq!(lines, 59);
}

/// Rules of gdeval with `-c`.
const COMPLETE: Rules = Rules {
    missing: MissingQueries::Zero,
    ..Rules::GDEVAL
};

/// gdeval with `-c -k 5`.
#[test]
fn every_line_of_gdeval() {
    let folder = vectors();
    let judgments = qrels(&folder.join("mini_numeric.qrels"), HeaderLine::AsData);
    let results = run(&folder.join("mini_numeric.run"), HeaderLine::AsData);
    let measures = ["nDCG(dcg='exp-log2')@5", "ERR@5"].map(|name| name.parse().unwrap());
    let report = |rules| {
        let evaluator = Evaluator::with_rules(&judgments, &measures, rules).unwrap();
        evaluator.evaluate(&results).unwrap()
    };
    let (shown, counted) = (report(Rules::GDEVAL), report(COMPLETE));
    let mut lines = vec!["runid,topic,ndcg@5,err@5".to_owned()];
    for query in shown.queries() {
        let [ndcg, err] = query.values() else {
            panic!()
        };
        lines.push(format!("mini,{},{ndcg:.5},{err:.5}", query.query()));
    }
    let [ndcg, err] = measures.map(|measure| counted.summary(measure).unwrap());
    lines.push(format!("mini,amean,{ndcg:.5},{err:.5}"));
    let expected =
        fs::read_to_string(folder.join("mini_numeric.gdeval_c_k5.expected.csv")).unwrap();
    assert_eq!(lines.join("\n"), expected.trim_end());
    // Topic 3 has judgments, but no relevant document.
    assert_eq!(shown.value("3", measures[0]), None);
    let skipped = "queries without relevant documents: skipped";
    assert!(COMPLETE.to_string().contains(skipped));
}

/// The synthetic run on the bioCADDIE judgments: the first hundred judged documents of each topic
/// in file order. The values are those that sample_eval (depth 100) and gdeval print.
#[test]
fn biocaddie_values_of_sample_eval_and_gdeval() {
    let Some((judgments, made)) = crate::common::biocaddie() else {
        return;
    };
    let summary = |name: &str, rules: Rules| {
        let measure: Measure = name.parse().unwrap();
        let evaluator = Evaluator::with_rules(&judgments, &[measure], rules).unwrap();
        evaluator.evaluate(&made).unwrap().summary(measure).unwrap()
    };
    let sampled = [
        ("xinfAP@100", "0.0309"),
        ("infNDCG@100", "0.1892"),
        ("iP10", "0.2733"),
        ("iP50", "0.2507"),
        ("iP100", "0.2280"),
        ("inum_rel_ret", "342.0000"),
        ("inum_rel", "3881.0000"),
    ];
    for (name, figure) in sampled {
        let value = summary(name, Rules::SAMPLE_EVAL);
        assert_eq!(format!("{value:.4}"), figure, "{name}");
    }
    for (name, figure) in [
        ("nDCG(dcg='exp-log2')@10", "0.13953"),
        ("ERR@10", "0.05570"),
    ] {
        assert_eq!(format!("{:.5}", summary(name, COMPLETE)), figure, "{name}");
    }
}

/// Document of a random collection: stratum and grade (negative if not sampled).
type PooledDocument = (u8, Grade);

/// Reference implementation of sample_eval's estimators, after the sets in the paper.
struct Estimate<'a> {
    pool: &'a BTreeMap<String, PooledDocument>,
    list: &'a [String],
    level: Grade,
}

impl Estimate<'_> {
    fn strata(&self) -> BTreeSet<u8> {
        self.pool.values().map(|p| p.0).collect()
    }

    /// Number of documents of a stratum with at least a grade.
    fn count<'d>(
        &self,
        docs: impl IntoIterator<Item = &'d String>,
        stratum: u8,
        grade: Grade,
    ) -> f64 {
        let docs = docs.into_iter().filter_map(|doc| self.pool.get(doc));
        docs.filter(|p| p.0 == stratum && p.1 >= grade).count() as f64
    }

    /// Number of documents that one sampled document of a stratum represents.
    fn weight(&self, stratum: u8) -> f64 {
        let all = self.count(self.pool.keys(), stratum, Grade::MIN);
        let sampled = self.count(self.pool.keys(), stratum, 0);
        if sampled > 0.0 { all / sampled } else { 0.0 }
    }

    fn relevant(&self) -> f64 {
        let strata = self.strata().into_iter();
        strata
            .map(|s| self.weight(s) * self.count(self.pool.keys(), s, self.level))
            .fold(0.0, |a, b| a + b)
    }

    /// Estimated number of relevant documents among the first `k`.
    fn found(&self, k: usize) -> f64 {
        let top = &self.list[..k.min(self.list.len())];
        let strata = self.strata().into_iter();
        strata
            .map(|s| {
                let precision =
                    (self.count(top, s, self.level) + 1e-5) / (self.count(top, s, 0) + 3e-5);
                self.count(top, s, Grade::MIN) * precision
            })
            .fold(0.0, |a, b| a + b)
    }

    fn average_precision(&self) -> f64 {
        let mut sum = 0.0;
        for (above, doc) in self.list.iter().enumerate() {
            if let Some(&(stratum, grade)) = self.pool.get(doc)
                && grade >= self.level
            {
                let precision = (1.0 + self.found(above)) / (above + 1) as f64;
                sum += self.weight(stratum) * precision;
            }
        }
        if self.relevant() > 0.0 {
            sum / self.relevant()
        } else {
            0.0
        }
    }

    fn ndcg(&self) -> f64 {
        let discount = |rank: usize| ((rank + 1) as f64).log2();
        let mut dcg = 0.0;
        for (above, doc) in self.list.iter().enumerate() {
            if let Some(&(stratum, grade)) = self.pool.get(doc)
                && grade > 0
            {
                let all = self.count(self.list, stratum, Grade::MIN);
                let sampled = self.count(self.list, stratum, 0);
                dcg += all / sampled * grade as f64 / discount(above + 1);
            }
        }
        let (mut ideal, mut rank) = (0.0, 0);
        for grade in (1..=9).rev() {
            let strata = self.strata().into_iter();
            let exactly = |s| {
                self.count(self.pool.keys(), s, grade) - self.count(self.pool.keys(), s, grade + 1)
            };
            let estimated: f64 = strata.map(|s| self.weight(s) * exactly(s)).sum();
            for _ in 0..(estimated + 0.5) as usize {
                rank += 1;
                ideal += grade as f64 / discount(rank);
            }
        }
        if ideal > 0.0 { dcg / ideal } else { 0.0 }
    }
}

fn graded() -> impl Strategy<Value = (BTreeMap<String, Grade>, Vec<String>)> {
    let id = || (0_u8..30).prop_map(|n| format!("d{n:02}"));
    let judged = btree_map(id(), -1_i64..5, 1..25);
    let list = vec(id(), 0..25).prop_map(|mut list| {
        let mut seen = BTreeSet::new();
        list.retain(|doc| seen.insert(doc.clone()));
        list
    });
    (judged, list)
}

/// Judgments of the query q, and of another one.
fn judgments<'d>(docs: impl Iterator<Item = (&'d String, Grade)>) -> Qrels {
    let mut qrels = Qrels::new();
    qrels.insert("other", "d", 1);
    docs.for_each(|(doc, grade)| {
        qrels.insert("q", doc, grade);
    });
    qrels
}

/// Value of a measure for one query with the given ranking.
fn value(qrels: &impl Judgments, list: &[String], measure: &str, rules: Rules) -> f64 {
    let mut run = Run::new("random");
    run.push("other", "d", 1.0);
    for (rank, doc) in list.iter().enumerate() {
        run.push("q", doc.as_str(), -(rank as f64));
    }
    let measure: Measure = measure.parse().unwrap();
    let evaluator = Evaluator::with_rules(qrels, &[measure], rules).unwrap();
    let report = evaluator.evaluate(&run).unwrap();
    report.value("q", measure).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn estimates_agree_with_the_reference((judged, list) in graded(), strata in vec(0_u8..4, 30), level in 1_i64..3) {
        let mut qrels = StratifiedQrels::new();
        qrels.insert("other", "d", "0", 1);
        let mut pool = BTreeMap::new();
        for ((doc, &grade), &stratum) in judged.iter().zip(&strata) {
            qrels.insert("q", doc, &stratum.to_string(), grade);
            pool.insert(doc.clone(), (stratum, grade));
        }
        let slow = Estimate { pool: &pool, list: &list, level };
        let rows = [
            ("xinfAP", slow.average_precision()),
            ("infNDCG", slow.ndcg()),
            ("infP@5", slow.found(5) / 5.0),
            ("infNumRel", slow.relevant()),
            ("infNumRelRet", slow.found(usize::MAX)),
        ];
        let rules = Rules { level, ..Rules::default() };
        for (name, expected) in rows {
            let found = value(&qrels, &list, name, rules);
            prop_assert!((found - expected).abs() < 1e-9, "{}: {} instead of {}", name, found, expected);
        }
        // A cutoff equals a shorter list.
        let head = &list[..list.len().min(7)];
        prop_assert_eq!(value(&qrels, &list, "xinfAP@7", rules), value(&qrels, head, "xinfAP", rules));
        // If all documents are judged, the estimates are exact.
        let plain = judgments(judged.iter().map(|(doc, &grade)| (doc, grade.max(0))));
        let (inferred, exact) = (value(&plain, &list, "xinfAP", rules), value(&plain, &list, "AP", rules));
        prop_assert!((inferred - exact).abs() < 1e-4, "{} for {}", inferred, exact);
        let (inferred, exact) = (value(&plain, &list, "infNDCG", rules), value(&plain, &list, "nDCG", rules));
        prop_assert!((inferred - exact).abs() < 1e-9, "{} for {}", inferred, exact);
    }

    #[test]
    fn err_and_rbp_agree_with_the_reference((judged, list) in graded(), k in 1_usize..30) {
        let qrels = judgments(judged.iter().map(|(doc, &grade)| (doc, grade)));
        let top: Vec<Option<Grade>> = list.iter().take(k).map(|doc| judged.get(doc).copied()).collect();
        // The user stops at rank i after unsatisfying documents above.
        let stops = |grade: Option<Grade>| (2.0_f64.powi(grade.unwrap_or(0).max(0) as i32) - 1.0) / 16.0;
        let expected: f64 = (0..top.len())
            .map(|at| {
                let in_vain: f64 = top[..at].iter().map(|&g| 1.0 - stops(g)).product();
                in_vain * stops(top[at]) / (at + 1) as f64
            })
            .fold(0.0, |a, b| a + b);
        let found = value(&qrels, &list, &format!("ERR@{k}"), Rules::default());
        prop_assert!((found - expected).abs() < 1e-12);

        let p = 0.8_f64;
        let unjudged = |g: &Option<Grade>| g.is_none_or(|g| g < 0);
        let ranked = || top.iter().zip(0_i32..);
        let sum = |with: &dyn Fn(&Option<Grade>) -> bool| -> f64 {
            ranked().filter(|(g, _)| with(g)).map(|(_, at)| (1.0 - p) * p.powi(at)).fold(0.0, |a, b| a + b)
        };
        let base = sum(&|g| g.is_some_and(|g| g >= 1));
        let below = p.powi(top.len() as i32);
        let residual = below + sum(&unjudged);
        let all = value(&qrels, &list, &format!("RBP@{k}"), Rules::default());
        let full = value(&qrels, &list, &format!("RBPResidual(p=0.8,full=True)@{k}"), Rules::default());
        let trec = value(&qrels, &list, &format!("RBPResidual(p=0.8)@{k}"), Rules::default());
        prop_assert!((all - base).abs() < 1e-12);
        prop_assert!((full - residual).abs() < 1e-12, "{} instead of {}", full, residual);
        let none = !top.iter().any(unjudged);
        let expected = if none { 0.0 } else { residual };
        prop_assert!((trec - expected).abs() < 1e-12);
        // Base, residual and judged non-relevant documents sum to 1.
        let judged_otherwise = sum(&|g| g.is_some_and(|g| g == 0));
        prop_assert!((base + residual + judged_otherwise - 1.0).abs() < 1e-12);
    }

    #[test]
    fn judged_only_equals_a_list_without_unjudged_documents((judged, list) in graded()) {
        let qrels = judgments(judged.iter().map(|(doc, &grade)| (doc, grade)));
        let judged_list: Vec<String> =
            list.iter().filter(|doc| judged.get(*doc).is_some_and(|&g| g >= 0)).cloned().collect();
        let removing = Rules { unjudged: UnjudgedDocuments::Remove, ..Rules::default() };
        for (name, plain) in [
            ("AP(judged_only=True)", "AP"),
            ("P(judged_only=True)@5", "P@5"),
            ("nDCG(judged_only=True)@10", "nDCG@10"),
            ("RR(rel=2,judged_only=True)", "RR(rel=2)"),
            ("SetP(judged_only=True)", "SetP"),
            ("ERR(judged_only=True)@5", "ERR@5"),
        ] {
            let found = value(&qrels, &list, name, Rules::default());
            prop_assert_eq!(found, value(&qrels, &judged_list, plain, Rules::default()), "{}", name);
            prop_assert_eq!(found, value(&qrels, &list, plain, removing), "{}", name);
        }
    }
}

#[test]
fn grades_above_the_scale_of_err_are_rejected() {
    let mut qrels = Qrels::new();
    qrels.insert("q1", "d1", 4);
    qrels.insert("q1", "d2", 5);
    let make = |name: &str| {
        let measure: Measure = name.parse().unwrap();
        Evaluator::new(&qrels, &[Measure::AP, measure]).map(|_| ())
    };
    assert_eq!(
        make("ERR@20").unwrap_err().to_string(),
        "query \"q1\", document \"d2\": expected a grade of at most 4 for ERR@20, found 5"
    );
    assert_eq!(make("ERR(max_rel=5)@20"), Ok(()));
    assert_eq!(make("nDCG(dcg='exp-log2')@20"), Ok(()));
}

#[test]
fn queries_without_relevant_documents() {
    let mut qrels = Qrels::new();
    qrels.insert("q1", "d1", 1);
    qrels.insert("q2", "d1", 0);
    qrels.insert("q3", "d1", -1);
    let mut run = Run::new("mine");
    for query in ["q1", "q2", "q3"] {
        run.push(query, "d1", 1.0);
    }
    let report = |rules| {
        let evaluator = Evaluator::with_rules(&qrels, &[Measure::AP], rules).unwrap();
        evaluator.evaluate(&run)
    };
    let mean = |rules| report(rules).unwrap().summary(Measure::AP).unwrap();
    assert_eq!(mean(Rules::default()), 1.0 / 3.0);
    assert_eq!(mean(Rules::GDEVAL), 1.0);
    let strict = Rules {
        level: 2,
        ..Rules::GDEVAL
    };
    assert_eq!(
        report(strict).unwrap_err().to_string(),
        "expected a query with a document of grade 2 or higher, found none \
         (3 queries have both judgments and results)"
    );
}
