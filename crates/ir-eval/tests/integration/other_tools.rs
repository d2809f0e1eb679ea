//! Equality with other tools on thousands of random queries: pytrec_eval for all its measures,
//! ir_measures for the fraction of judged documents, ndeval for diversity. One Python process
//! computes all expected values. The environment variable `IR_PYTHON` is the path of an interpreter
//! with the packages (`.ci/peers` creates one); without it, the test prints a notice and passes.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests")]

use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::process::{Command, Stdio};

use ir_core::{Grade, Judgments, Qrels, Run, SubtopicQrels};
use ir_eval::{
    Evaluator, Formula, Measure, MissingQueries, Report, Rules, Summary, TieBreak,
    UnjudgedDocuments,
};
use proptest::collection::btree_map;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::json;

const QUERIES: usize = 2500;

/// Cutoffs instead of the default ones.
const MEASURES: [&str; 8] = [
    "P.1,2,3,7",
    "recall.1,2,3,7",
    "ndcg_cut.1,2,3,7",
    "map_cut.1,2,3,7",
    "success.1,2,3,7",
    "relative_P.1,2,3,7",
    "iprec_at_recall.0.05,0.33,0.5,0.66,1",
    "Rprec_mult.0.1,0.5,1,3",
];

const JUDGED: [&str; 4] = ["Judged", "Judged@1", "Judged@5", "Judged@100"];

const DIVERSITY: [&str; 13] = [
    "ERR-IA@5",
    "ERR-IA@20",
    "nERR-IA@1",
    "nERR-IA@10",
    "alpha-DCG@5",
    "alpha-nDCG@1",
    "alpha-nDCG@20",
    "NRBP",
    "nNRBP",
    "MAP-IA",
    "P-IA@10",
    "strec@1",
    "strec@10",
];

#[derive(Debug, Clone)]
struct Case {
    /// Grades by document, and by document and subtopic.
    judged: BTreeMap<String, (Grade, Vec<(u8, Grade)>)>,
    found: BTreeMap<String, f64>,
    /// Whether the query has judgments, and whether it has results.
    there: (bool, bool),
}

fn id() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => (0_u32..40).prop_map(|n| format!("d{n}")),
        1 => prop::sample::select(vec!["é", "É", "e\u{301}", "文書", "𝔇", "z", "Z", "#1", "~", "d"])
            .prop_map(str::to_owned),
    ]
}

fn case() -> impl Strategy<Value = Case> {
    let score = prop_oneof![
        3 => (-3_i32..4).prop_map(f64::from),
        1 => prop::sample::select(vec![0.0, -0.0, 1e-9, 1.000_000_01, 1.0, -1e300, 1e300]),
        2 => -100.0..100.0_f64,
    ];
    // Without any judged document, trec_eval reads uninitialized memory.
    let grade = || prop_oneof![4 => 0_i64..2, 2 => 2_i64..5, 1 => -2_i64..0];
    let subtopics = prop::collection::vec((0_u8..5, 0_i64..3), 0..4);
    let judged = btree_map(id(), (grade(), subtopics), 1..25);
    let judged = judged.prop_filter("judged", |judged| judged.values().any(|g| g.0 >= 0));
    let there =
        prop_oneof![12 => Just((true, true)), 1 => Just((true, false)), 1 => Just((false, true))];
    let found = prop_oneof![20 => btree_map(id(), score, 1..45), 1 => Just(BTreeMap::new())];
    (judged, found, there).prop_map(|(judged, found, there)| Case {
        judged,
        found,
        there,
    })
}

/// Expected values of one block of the output.
struct Expected<'q> {
    qrels: &'q dyn Judgments,
    rules: Rules,
}

#[test]
fn every_value_of_the_other_tools() {
    let Some(python) = std::env::var_os("IR_PYTHON") else {
        eprintln!("SKIPPED: IR_PYTHON is not set");
        return;
    };
    let mut runner = TestRunner::deterministic();
    let (strategy, mut qrels, mut run) = (case(), Qrels::new(), Run::new("random"));
    let mut diverse = SubtopicQrels::new();
    let mut cases = BTreeMap::new();
    let mut results = BTreeMap::new();
    for number in 0..QUERIES {
        let query = if number % 50 == 0 {
            format!("q{number}é文")
        } else {
            format!("q{number}")
        };
        let case = strategy.new_tree(&mut runner).unwrap().current();
        if case.there.0 {
            for (doc, (grade, subtopics)) in &case.judged {
                qrels.insert(&query, doc, *grade);
                for (subtopic, grade) in subtopics {
                    diverse.insert(&query, &subtopic.to_string(), doc, *grade);
                }
            }
        }
        if case.there.1 {
            for (doc, &score) in &case.found {
                run.push(&query, doc.as_str(), score);
            }
            if case.found.is_empty() {
                run.push(&query, "taken out below", 0.0);
            }
            results.insert(query.clone(), case.found.clone());
        }
        cases.insert(query, case);
    }

    for (query, list) in run.iter_mut() {
        if cases[query].found.is_empty() {
            list.clear();
        }
    }

    let level = |level, judged_only: bool| {
        let unjudged = if judged_only {
            UnjudgedDocuments::Remove
        } else {
            UnjudgedDocuments::NonRelevant
        };
        Rules {
            level,
            unjudged,
            missing: MissingQueries::Skip,
            ..Rules::TREC_EVAL_9_0_4
        }
    };
    let ascending = Rules {
        ties: TieBreak::IdAscending,
        ..Rules::default()
    };
    let mut expected: HashMap<String, Expected<'_>> = HashMap::new();
    let mut blocks = Vec::new();
    let none: &[&str] = &[];
    for (at, judged_only, measures) in [
        (1, false, none),
        (2, false, &MEASURES),
        (3, false, none),
        (1, true, &MEASURES),
        (2, true, none),
    ] {
        let name = format!("level {at}, judged only: {judged_only}");
        blocks.push(json!({
            "name": name,
            "level": at,
            "judged_only": u8::from(judged_only),
            "measures": measures,
        }));
        let rules = level(at, judged_only);
        let qrels = &qrels;
        expected.insert(name, Expected { qrels, rules });
    }
    let rules = ascending;
    expected.insert(
        "judged".into(),
        Expected {
            qrels: &qrels,
            rules,
        },
    );
    let qrels_of_subtopics = &diverse;
    expected.insert(
        "diversity".into(),
        Expected {
            qrels: qrels_of_subtopics,
            rules,
        },
    );
    let rows: Vec<_> = diverse
        .queries()
        .flat_map(|query| {
            let rows = diverse.subtopics(query).unwrap();
            rows.map(move |(doc, subtopic, grade)| json!([query, subtopic, doc, grade]))
        })
        .collect();
    let input = json!({
        "qrels": &qrels,
        "run": results,
        "blocks": blocks,
        "judged": JUDGED,
        "subtopics": rows,
        "diversity": DIVERSITY,
    });

    let mut child = Command::new(python)
        .args(["-c", include_str!("../../testdata/peer_live.py")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let feeder = std::thread::spawn(move || stdin.write_all(input.to_string().as_bytes()));
    let output = child.wait_with_output().unwrap();
    feeder.join().unwrap().unwrap();
    assert!(output.status.success(), "the peers failed: see above");
    let output = String::from_utf8(output.stdout).unwrap();

    // Block, query, name and value; all measures of a block are evaluated together.
    let rows: Vec<Vec<&str>> = output.lines().map(|l| l.split('\t').collect()).collect();
    let mut names: BTreeMap<&str, BTreeMap<&str, Measure>> = BTreeMap::new();
    for row in &rows {
        let names = names.entry(row[0]).or_default();
        if !names.contains_key(row[2]) {
            names.insert(row[2], row[2].parse().unwrap());
        }
    }
    assert_eq!(names.len(), expected.len());
    let reports: HashMap<&str, Report> = names
        .iter()
        .map(|(&block, names)| {
            let measures: Vec<Measure> = names.values().copied().collect();
            let Expected { qrels, rules } = expected[block];
            let evaluator = Evaluator::with_rules(qrels, &measures, rules).unwrap();
            (block, evaluator.evaluate(&run).unwrap())
        })
        .collect();
    let mut compared = BTreeMap::new();
    for row in &rows {
        let (block, query, measure) = (row[0], row[1], names[row[0]][row[2]]);
        let mut value: f64 = row[3].parse().unwrap();
        let found = reports[block].value(query, measure);
        let mut found = found.unwrap_or_else(|| panic!("{block}: {query} {measure} is not there"));
        if measure.summary() == Summary::GeometricMean {
            // pytrec_eval returns the logarithm, with a lower bound.
            value = value.exp();
            found = found.max(1e-5);
        }
        if value.is_nan() {
            // Interpolated precision of an empty list; nNRBP without relevant documents.
            let kind = measure.formula();
            let undefined = matches!(
                kind,
                Formula::InterpolatedPrecision(_)
                    | Formula::MeanInterpolatedPrecision(_)
                    | Formula::NormalizedNoveltyRbp(_)
            );
            assert!(undefined, "{block}: {query} {measure}");
            value = 0.0;
        }
        assert!(
            (found - value).abs() < 1e-12,
            "{block}: {query} {measure}: {found} instead of {value} for {:?}",
            cases[query]
        );
        *compared.entry(block).or_insert(0_u64) += 1;
    }
    for (block, count) in &compared {
        eprintln!("{block}: {count} values of {} measures", names[block].len());
        assert!(
            *count > 1500 * names[block].len() as u64,
            "{block}: {count}"
        );
    }
}
