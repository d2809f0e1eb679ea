//! Judgment groups and z-scores of trec_eval.
#![allow(clippy::unwrap_used, reason = "tests")]

use ir_core::{Qrels, Run};
use ir_eval::assess::JudgmentGroups;
use ir_eval::trec_eval::{JudgmentKind, MeasureSelection, OutputDetail, OutputValue};
use ir_eval::{Evaluator, Measure, MissingQueries, Rules, TrecEvalVersion, ZScores};
use proptest::collection::vec;
use proptest::prelude::*;

fn run(list: &[(&str, &[&str])]) -> Run {
    let mut run = Run::new("r");
    for (query, docs) in list {
        for (rank, doc) in docs.iter().enumerate() {
            run.push(query, *doc, -(rank as f64));
        }
    }
    run
}

fn groups(file: &str) -> JudgmentGroups {
    JudgmentGroups::read(file.as_bytes(), "qrels").unwrap().data
}

#[test]
fn groups_have_equal_weight() {
    // q1: a is relevant to ann, b to bob, nothing to cy. q2: judged by ann only.
    let groups = groups("q1 ann a 1\nq1 bob b 1\nq1 cy c 0\nq2 ann a 1\nq3 ann a 1\n");
    let run = run(&[("q1", &["a", "b"]), ("q2", &["b", "a"])]);
    let report = groups
        .evaluate(&run, &[Measure::AP, Measure::P.at(2)], Rules::default())
        .unwrap();
    assert_eq!(
        report.value("q1", Measure::AP),
        Some((1.0 + 0.5 + 0.0) / 3.0)
    );
    assert_eq!(
        report.value("q1", Measure::P.at(2)),
        Some((0.5 + 0.5 + 0.0) / 3.0)
    );
    assert_eq!(report.value("q2", Measure::AP), Some(0.5));
    assert_eq!(report.value("q3", Measure::AP), Some(0.0));
    assert_eq!(report.missing().collect::<Vec<_>>(), ["q3"]);
    assert_eq!((groups.len(), groups.is_empty()), (3, false));
}

#[test]
fn errors_and_warnings() {
    let read = |file: &str| {
        let read = JudgmentGroups::read(file.as_bytes(), "qrels");
        read.unwrap_err().to_string()
    };
    assert_eq!(
        read("q u a 1\nq v a 1\nq u a 0\n"),
        "qrels:3: document \"a\" of query \"q\" is already in line 1"
    );
    assert_eq!(read("q u a\n"), "qrels:1: expected 4 columns, found 3");
    let apart =
        groups("q9 u a 1\n").evaluate(&run(&[("q1", &["a"])]), &[Measure::AP], Rules::default());
    assert!(apart.unwrap_err().to_string().contains("found none"));
    let parse = |judgments: JudgmentKind, option: &str| {
        let parsed = MeasureSelection::parse_for(judgments, &[option], TrecEvalVersion::V10);
        parsed.map(|selection| selection.measures().len())
    };
    assert_eq!(parse(JudgmentKind::Groups, "P_avgjg.7,3"), Ok(2));
    assert_eq!(parse(JudgmentKind::Groups, "P_avgjg_5"), Ok(1));
    for (judgments, option, needs) in [
        (JudgmentKind::Groups, "map", "grades (-R qrels)"),
        (JudgmentKind::Groups, "nDCG@10", "grades (-R qrels)"),
        (
            JudgmentKind::Groups,
            "prefs_simp",
            "preferences (-R prefs or qrels_prefs)",
        ),
        (JudgmentKind::Preferences, "all_trec", "grades (-R qrels)"),
        (
            JudgmentKind::Preferences,
            "map_avgjg",
            "judgment groups (-R qrels_jg)",
        ),
        (
            JudgmentKind::Grades,
            "P_avgjg.5",
            "judgment groups (-R qrels_jg)",
        ),
        (
            JudgmentKind::Grades,
            "all_prefs",
            "preferences (-R prefs or qrels_prefs)",
        ),
    ] {
        let error = parse(judgments, option).unwrap_err().to_string();
        assert!(
            error.ends_with(&format!("found one for {needs}")),
            "{error}"
        );
    }
    assert!(parse(JudgmentKind::Preferences, "prefs_simp.5").is_err());
    assert!(parse(JudgmentKind::Preferences, "nonsense").is_err());
}

proptest! {
    /// One group is equal to qrels; a duplicated group does not change values.
    #[test]
    fn identical_groups_change_nothing(
        judged in vec((0..3_u8, 0..9_u8, 0..3_i64), 1..20),
        found in vec((0..4_u8, 0..9_u8), 1..20)
    ) {
        let (mut qrels, mut once, mut twice) =
            (Qrels::new(), JudgmentGroups::new(), JudgmentGroups::new());
        for (query, doc, grade) in judged {
            let (query, doc) = (query.to_string(), doc.to_string());
            qrels.insert(&query, &doc, grade);
            once.insert(&query, "u", &doc, grade);
            twice.insert(&query, "u", &doc, grade);
            twice.insert(&query, "v", &doc, grade);
        }
        let mut run = Run::new("r");
        let mut seen = std::collections::HashSet::new();
        for (rank, (query, doc)) in found.into_iter().filter(|pair| seen.insert(*pair)).enumerate() {
            run.push(&query.to_string(), doc.to_string(), -(rank as f64));
        }
        let measures = [Measure::AP, Measure::P.at(5), Measure::RPREC, Measure::NDCG];
        let plain = Evaluator::new(&qrels, &measures).unwrap().evaluate(&run);
        let once = once.evaluate(&run, &measures, Rules::default());
        prop_assert_eq!(&plain, &once);
        let twice = twice.evaluate(&run, &measures, Rules::default());
        prop_assert_eq!(
            plain.map(|report| report.queries().to_vec()),
            twice.map(|report| report.queries().to_vec())
        );
    }
}

/// Z-scores and their totals, by hand.
#[test]
fn zscores_and_their_totals() {
    let mut qrels = Qrels::new();
    for query in ["q1", "q2", "q3"] {
        qrels.insert(query, "a", 1);
    }
    let run = run(&[("q1", &["a"]), ("q2", &["b", "a"])]);
    let file = "# mean, deviation\nq1 map 0.5 0.25\nq2 map 0.5 0\nq3 map 0.5 0.5\n\
                q1 num_ret 2 1\nq2 num_ret 1 1\nq3 num_ret 1 1\n";
    let reference = ZScores::read(file.as_bytes(), "z").unwrap().data;
    let selection =
        MeasureSelection::parse(&["num_q", "num_ret", "num_rel", "map", "gm_map"]).unwrap();
    let totals = |rules: Rules| -> Vec<f64> {
        let report = selection
            .evaluator(&qrels, rules)
            .unwrap()
            .evaluate(&run)
            .unwrap();
        let sheet = selection.output(&report).standardized(&reference);
        let lines: Vec<_> = sheet.lines(OutputDetail::Summary).collect();
        assert!(lines.iter().all(|line| line.zscore));
        let value = |cell: &OutputValue| match cell {
            OutputValue::Number(number) => *number,
            other => panic!("{other:?}"),
        };
        lines.iter().map(|line| value(&line.value)).collect()
    };
    let skip = Rules {
        missing: MissingQueries::Skip,
        ..Rules::default()
    };
    // num_ret: (1 - 2)/1 + (2 - 1)/1; num_rel: no reference; map: (1 - .5)/.25, and the mean with
    // standard deviation 0; gm_map: exp(-1e6).
    let missing = ZScores::MISSING;
    assert_eq!(totals(skip), [2.0, 0.0, 2.0 * missing, 1.0, 0.0]);
    // With q3: num_ret -1, map -1; num_rel is counted again.
    assert_eq!(
        totals(Rules::default()),
        [3.0, -1.0, 3.0, (2.0 + 0.0 - 1.0) / 3.0, 0.0]
    );
    // Release 9 adds 0 for it.
    assert_eq!(
        totals(Rules::TREC_EVAL_9_0_8),
        [3.0, 0.0, 3.0, 2.0 / 3.0, 0.0]
    );

    assert_eq!(reference.zscore("q2", "map", 0.25), None);
    let odd = ZScores::read("q map x 1\nq map 1 1\n".as_bytes(), "z").unwrap();
    let odd: Vec<String> = odd.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        odd,
        [
            "z:1: the mean \"x\" was read as 0",
            "z:2: map of query \"q\" is repeated; the last line counts"
        ]
    );
    let short = ZScores::read("q map 1\n".as_bytes(), "z").unwrap_err();
    assert_eq!(short.to_string(), "z:1: expected 4 columns, found 3");
}
