//! Evaluation rules one by one, and errors.
#![allow(clippy::unwrap_used, reason = "tests")]

use ir_core::trec;
use ir_core::trec::HeaderLine;
use ir_core::{Qrels, Run};
use ir_eval::measure::Yaap;
use ir_eval::trec_eval::{MeasureSelection, OutputDetail};
use ir_eval::{
    EvalError, Evaluator, JudgmentStatus, Measure, MissingQueries, Report, Rules, ScorePrecision,
    SelfHits, TieBreak, TrecEvalVersion, UnjudgedDocuments,
};

fn qrels(text: &str) -> Qrels {
    trec::read_qrels(text.as_bytes(), "qrels", HeaderLine::AsData)
        .unwrap()
        .data
}

fn run(lists: &[(&str, &[(&str, f64)])]) -> Run {
    let mut run = Run::new("test");
    for (query, list) in lists {
        for (doc, score) in *list {
            run.push(query, *doc, *score);
        }
    }
    run
}

fn evaluate(qrels: &Qrels, run: &Run, measures: &[Measure], rules: Rules) -> Report {
    let evaluator = Evaluator::with_rules(qrels, measures, rules).unwrap();
    evaluator.evaluate(run).unwrap()
}

#[test]
fn ties() {
    let qrels = qrels("q 0 a 1\n");
    let run = run(&[("q", &[("b", 1.0), ("a", 1.0), ("c", 1.0), ("d", 0.5)])]);
    let rules = |ties| Rules {
        ties,
        ..Rules::default()
    };
    for (ties, rank) in [
        (TieBreak::IdAscending, 1.0),
        (TieBreak::RunOrder, 2.0),
        (TieBreak::TrecEval, 3.0),
    ] {
        let report = evaluate(&qrels, &run, &[Measure::RR], rules(ties));
        assert_eq!(report.summary(Measure::RR), Some(1.0 / rank));
    }
    let evaluator = Evaluator::with_rules(&qrels, &[Measure::RR], rules(TieBreak::Reject));
    let error = evaluator.unwrap().evaluate(&run).unwrap_err();
    let expected = r#"query "q": documents "b" and "a" have the same score 1"#;
    assert_eq!(error.to_string(), expected);
}

/// Scores that tie as f32 and differ as f64: releases 9.0.4 and 9.0.8.
#[test]
fn score_precision() {
    let qrels = qrels("q 0 a 1\n");
    let run = run(&[("q", &[("a", 1.000_000_01), ("b", 1.0)])]);
    let ap = |rules| evaluate(&qrels, &run, &[Measure::AP], rules).summary(Measure::AP);
    assert_eq!(ap(Rules::TREC_EVAL_9_0_4), Some(0.5));
    assert_eq!(ap(Rules::TREC_EVAL_9_0_8), Some(1.0));
    assert_eq!(ap(Rules::TREC_EVAL_10), Some(1.0));
    assert_eq!(Rules::TREC_EVAL_9_0_4.scores, ScorePrecision::F32);
}

#[test]
fn levels_depth_unjudged_and_self_hits() {
    let qrels = qrels("q 0 q 2\nq 0 a 1\nq 0 b 2\nq 0 c 0\nq 0 p -1\n");
    let list = [
        ("q", 9.0),
        ("x", 8.0),
        ("p", 7.0),
        ("a", 6.0),
        ("c", 5.0),
        ("b", 4.0),
    ];
    let run = run(&[("q", &list)]);
    let all = [Measure::P.at(3), Measure::NUM_RET, Measure::P.at(3).rel(1)];
    let report = |rules| evaluate(&qrels, &run, &all, rules);
    let values = |rules| report(rules).queries()[0].values().to_vec();
    let plain = Rules::default();
    assert_eq!(values(plain), [1.0 / 3.0, 6.0, 1.0 / 3.0]);
    let removed = Rules {
        unjudged: UnjudgedDocuments::Remove,
        ..plain
    };
    assert_eq!(values(removed), [2.0 / 3.0, 4.0, 2.0 / 3.0]);
    let high = Rules {
        level: 2,
        ..removed
    };
    assert_eq!(values(high), [1.0 / 3.0, 4.0, 2.0 / 3.0]);
    // Lists are cut before unjudged documents are removed.
    let cut = Rules {
        depth: Some(4),
        ..removed
    };
    assert_eq!(values(cut), [2.0 / 3.0, 2.0, 2.0 / 3.0]);
    let dropped = Rules {
        self_hits: SelfHits::Drop,
        ..removed
    };
    assert_eq!(values(dropped), [2.0 / 3.0, 3.0, 2.0 / 3.0]);
}

#[test]
fn queries_of_one_file_only() {
    let qrels = qrels("a 0 d 1\nb 0 d 1\nc 0 d 0\n");
    let list: &[(&str, f64)] = &[("d", 1.0)];
    let run = run(&["b", "z", "c"].map(|query| (query, list)));
    let report = evaluate(&qrels, &run, &[Measure::AP, Yaap.into()], Rules::default());
    assert_eq!(report.missing().collect::<Vec<_>>(), ["a"]);
    assert_eq!(report.unjudged().collect::<Vec<_>>(), ["z"]);
    // A query without relevant documents counts too.
    assert_eq!(report.summary(Measure::AP), Some(1.0 / 3.0));
    assert_eq!(report.value("z", Measure::AP), None);
    assert!(!report.queries()[0].retrieved());
    let text = report.to_string();
    assert!(
        text.contains("queries: 3 counted; 1 judged without results; 1 with results not judged")
    );
    assert!(text.contains("ties: score then id descending; missing queries: count as 0"));
    assert!(text.contains("AP    0.3333\nYAAP  0.0000\n"), "{text}");
    // Release 9 counts a missing query as 0 even if the formula's value is not 0.
    let nine = evaluate(&qrels, &run, &[Yaap.into()], Rules::TREC_EVAL_9_0_8);
    assert_eq!(nine.queries()[0].values(), [0.0]);
    assert_eq!(report.queries()[0].values()[1], 0.5_f64.ln());
}

#[test]
fn only_negative_judgments() {
    let qrels = qrels("a 0 d -1\na 0 e -1\nb 0 d 1\n");
    let run = run(&[
        ("a", &[("d", 2.0), ("e", 1.0), ("f", 0.0)]),
        ("b", &[("d", 1.0)]),
    ]);
    let texts = "AP nDCG Bpref P@5 Rprec infAP G RBP(p=0.9,gain=graded) YAAP NumRel";
    let all: Vec<Measure> = texts.split(' ').map(|t| t.parse().unwrap()).collect();
    let report = evaluate(&qrels, &run, &all, Rules::default());
    assert_eq!(report.queries()[0].values(), [0.0; 10]);
}

#[test]
fn top_judgments() {
    let qrels = qrels("q 0 a 12\nq 0 b -3\nq 0 c 0\n");
    use JudgmentStatus::{Grade, Unjudged, Unpooled};
    let list = [("a", 4.0), ("b", 3.0), ("x", 2.0), ("c", 1.0), ("y", 0.0)];
    let run = run(&[("q", &list)]);
    let evaluator = Evaluator::new(&qrels, &[Measure::AP]).unwrap();
    let report = evaluator.with_top_judgments(4).evaluate(&run).unwrap();
    let top = report.queries()[0].top_judgments();
    assert_eq!(top, [Grade(12), Unjudged, Unpooled, Grade(0)]);
    let detail = OutputDetail::QueriesAndSummary;
    let out = output(&["relstring.3"], &qrels, &run, detail);
    assert_eq!(out, "relstring_3           \tq\t'>.-'\n");
}

/// trec_eval's output of the selected measures.
fn output(options: &[&str], qrels: &Qrels, run: &Run, detail: OutputDetail) -> String {
    let selection = MeasureSelection::parse(options).unwrap();
    let evaluator = selection.evaluator(qrels, Rules::default()).unwrap();
    let report = evaluator.evaluate(run).unwrap();
    let mut out = Vec::new();
    selection.write(&report, detail, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn errors() {
    let qrels = qrels("q 0 a 1\nhigh 0 a 2000\n");
    let evaluator = Evaluator::new(&qrels, &[Measure::AP]).unwrap();
    let error = |run: &Run| evaluator.evaluate(run).unwrap_err().to_string();
    let common = |run: &str| {
        format!(
            "expected a query that has both judgments and results, found none (the qrels have 2 \
             queries, such as \"high\", the run has {run})"
        )
    };
    let nan = r#"query "q", document "b": expected a score, found NaN"#.to_owned();
    let twice = r#"query "q": document "a" is listed twice"#.to_owned();
    for (run, expected) in [
        (run(&[("q", &[("a", 1.0), ("b", f64::NAN)])]), nan),
        (run(&[("q", &[("a", 1.0), ("b", 0.5), ("a", 0.0)])]), twice),
        (run(&[("Q", &[("a", 1.0)])]), common("1, such as \"Q\"")),
        (Run::new("empty"), common("0")),
    ] {
        assert_eq!(error(&run), expected);
    }
    let level = Rules {
        level: -1,
        ..Rules::default()
    };
    let error = Evaluator::with_rules(&qrels, &[Measure::AP], level).unwrap_err();
    assert_eq!(error, EvalError::Level { found: -1 });
    assert!(Evaluator::new(&qrels, &[Measure::P.at(5).rel(-1)]).is_err());
    let error = Evaluator::new(&qrels, &[Measure::NDCG_EXP.at(10)]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "query \"high\", document \"a\": expected a grade of at most 512 for \
         nDCG(dcg='exp-log2')@10, found 2000"
    );
    // Linear gains have no highest grade.
    let high = run(&[("high", &[("a", 1.0)])]);
    let big = evaluate(&qrels, &high, &[Measure::NDCG], Rules::default());
    assert_eq!(big.value("high", Measure::NDCG), Some(1.0));
}

#[test]
fn missing_queries_are_not_in_common() {
    // Every query of the qrels counts, but the run contains none.
    let qrels = qrels("a 0 d 1\n");
    let other = run(&[("b", &[("d", 1.0)])]);
    for missing in [MissingQueries::Zero, MissingQueries::Skip] {
        let rules = Rules {
            missing,
            ..Rules::default()
        };
        let evaluator = Evaluator::with_rules(&qrels, &[Measure::AP], rules).unwrap();
        let error = evaluator.evaluate(&other).unwrap_err();
        assert!(matches!(
            error,
            EvalError::NothingInCommon {
                qrels: 1,
                run: 1,
                ..
            }
        ));
    }
}

#[test]
fn serialized_reports_round_trip() {
    let rules: Rules = serde_json::from_str(r#"{"ties":"run-order","generation":"9"}"#).unwrap();
    assert_eq!(
        rules,
        Rules {
            ties: TieBreak::RunOrder,
            trec_eval_version: TrecEvalVersion::V9,
            ..Rules::default()
        }
    );
    assert!(serde_json::from_str::<Rules>(r#"{"tie":"run-order"}"#).is_err());
    let qrels = qrels("a 0 d 1\nb 0 d 1\n");
    let run = run(&[("b", &[("d", 1.0)])]);
    let report = evaluate(&qrels, &run, &[Measure::NDCG.at(10)], Rules::default());
    let json = serde_json::to_string(&report).unwrap();
    assert!(json.contains(r#""measures":["nDCG@10"]"#), "{json}");
    assert_eq!(serde_json::from_str::<Report>(&json).unwrap(), report);
}

/// Options that trec_eval does not have, and the order of options.
#[test]
fn selections() {
    let qrels = qrels("a 0 d 1\n");
    let run = run(&[("a", &[("d", 1.0)])]);
    let names = |options: &[&str]| -> Vec<String> {
        let text = output(options, &qrels, &run, OutputDetail::Summary);
        text.lines()
            .map(|line| line.split('\t').next().unwrap().trim_end().to_owned())
            .collect()
    };
    let mixed = names(&["nDCG@10", "P_10", "AP", "map", "P.5", "num_q"]);
    assert_eq!(mixed, ["num_q", "map", "P_5", "P_10", "nDCG@10", "AP"]);
    assert_eq!(names(&["P.10", "P.5", "P"]), ["P_5", "P_10"]);
    assert_eq!(names(&["ndcg_cut"]).len(), 9);
    assert_eq!(names(&["set"]).len(), 11);
    assert_eq!(names(&[]).len(), 30);
    assert_eq!(names(&["official", "P.5"]).len(), 22);
    assert_eq!(names(&["runid", "relstring"]), ["runid"]);
    for bad in "P.0 ndgc official.3 P. relstring.x iprec_at_recall.2".split(' ') {
        assert!(MeasureSelection::parse(&[bad]).is_err(), "{bad}");
    }
}

#[test]
fn parallel_preparation_equals_sequential() {
    let (mut qrels, mut run) = (Qrels::new(), Run::new("mine"));
    for query in 0..5000 {
        let id = format!("q{query:04}");
        qrels.insert(&id, "d", query % 3);
        qrels.insert(&id, "e", 1);
        run.push(&id, "e", 2.0);
        run.push(&id, "d", 1.0);
    }
    let measures = [Measure::NDCG.at(10), Measure::AP];
    let evaluator = Evaluator::new(&qrels, &measures).unwrap();
    let all = evaluator.evaluate(&run).unwrap();
    assert_eq!(all.queries().len(), 5000);
    for values in all.queries().iter().step_by(97) {
        let (mut judged, mut list) = (Qrels::new(), Run::new("mine"));
        for (doc, grade) in qrels.get(values.query()).unwrap() {
            judged.insert(values.query(), doc, grade);
        }
        for scored in run.get(values.query()).unwrap() {
            list.push(values.query(), &*scored.doc, scored.score);
        }
        let one = Evaluator::new(&judged, &measures).unwrap();
        let one = one.evaluate(&list).unwrap();
        assert_eq!(one.queries(), std::slice::from_ref(values));
    }
    drop(evaluator);
    // Of several errors, that of the first query is returned.
    qrels.insert("q4500", "d", 70);
    qrels.insert("q2500", "d", 80);
    let measure: Measure = "ERR@10".parse().unwrap();
    let error = Evaluator::new(&qrels, &[measure]).err().unwrap();
    assert!(error.to_string().contains("q2500"), "{error}");
}
