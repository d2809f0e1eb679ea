//! Byte equality with trec_eval's output. Needs files in the folder `IR_DATA`.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;

use crate::common::{data, printed, qrels, run, same, vectors};
use ir_core::trec::HeaderLine;
use ir_eval::assess::JudgmentGroups;
use ir_eval::assess::preferences;
use ir_eval::trec_eval::{JudgmentKind, MeasureSelection, OutputDetail, TrecEvalOutput};
use ir_eval::{MissingQueries, Rules, TrecEvalVersion, UnjudgedDocuments, ZScores};

/// Expected output, options `-m`, other options, qrels, run.
const RELEASE_TESTS: &str = "\
out.test | | | qrels.test results.test
out.test | | | qrels.test.with-comments results.test
out.test.a | all_trec | | qrels.test results.test
out.test.aq | all_trec | -q | qrels.test results.test
out.test.aqc | all_trec | -q -c | qrels.test results.trunc
out.test.aqcM | all_trec | -q -c -M100 | qrels.test results.trunc
out.test.aql | all_trec relstring.20 | -q -l2 | qrels.rel_level results.test
out.test.meas_params | iprec_at_recall..10,.20,.25,.75,.50 P.5,7,3 recall.20,2000 \
Rprec_mult.5.0,0.2,0.35 utility.2,-1,0,0 11pt_avg..25,.5,.75 ndcg.1=3,2=9,4=4.5 \
ndcg_cut.10,20,23.4 success.2,5,20 | -q | qrels.test results.test";

/// trec_eval's own regression test, release 10.0.
#[test]
fn trec_eval_release_tests() {
    let Some(folder) = data("trec_eval") else {
        return;
    };
    for case in RELEASE_TESTS.lines() {
        let [expected, measures, options, files] = case.split('|').collect::<Vec<_>>()[..] else {
            panic!("{case}")
        };
        let (expected, has) = (expected.trim(), |option| options.contains(option));
        let rules = Rules {
            missing: if has("-c") {
                MissingQueries::Zero
            } else {
                MissingQueries::Skip
            },
            depth: has("-M100").then_some(100),
            level: if has("-l2") { 2 } else { 1 },
            ..Rules::default()
        };
        let detail = if has("-q") {
            OutputDetail::QueriesAndSummary
        } else {
            OutputDetail::Summary
        };
        let measures: Vec<&str> = measures.split_whitespace().collect();
        let selection = MeasureSelection::parse(&measures).unwrap();
        let (judged, results) = files.trim().split_once(' ').unwrap();
        let qrels = qrels(&folder.join(judged), HeaderLine::AsData);
        let run = run(&folder.join(results), HeaderLine::AsData);
        let found = printed(&selection, rules, detail, &qrels, &run);
        let output = fs::read_to_string(folder.join(expected)).unwrap();
        same(&found, &output, expected);
    }
}

fn text(output: TrecEvalOutput<'_>) -> String {
    let mut out = Vec::new();
    output
        .write(OutputDetail::QueriesAndSummary, &mut out)
        .unwrap();
    String::from_utf8(out).unwrap()
}

/// trec_eval's own regression test: preferences, judgment groups, z-scores.
#[test]
fn trec_eval_release_tests_of_other_judgments() {
    let Some(folder) = data("trec_eval") else {
        return;
    };
    let plain = Rules {
        missing: MissingQueries::Skip,
        ..Rules::default()
    };
    let bytes = |name: &str| fs::read(folder.join(name)).unwrap();
    let expected = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    let results = |name: &str| run(&folder.join(name), HeaderLine::AsData);

    let all = ["all_prefs"];
    let selection =
        MeasureSelection::parse_for(JudgmentKind::Preferences, &all, TrecEvalVersion::V10).unwrap();
    for (name, judged, found, is_qrels) in [
        ("out.test.prefs", "prefs.test", "prefs.results.test", false),
        (
            "out.test.prefs",
            "prefs.comment.test",
            "prefs.results.test",
            false,
        ),
        ("out.test.qrels_prefs", "qrels.test", "results.test", true),
    ] {
        let read = if is_qrels {
            preferences::read_qrels(&bytes(judged)[..], judged)
        } else {
            preferences::read(&bytes(judged)[..], judged)
        };
        let report = read
            .unwrap()
            .data
            .evaluate(&results(found), &selection.preference_measures(), plain)
            .unwrap();
        same(
            &text(selection.preference_output(&report)),
            &expected(name),
            judged,
        );
    }

    let groups: [&str; 0] = [];
    let selection =
        MeasureSelection::parse_for(JudgmentKind::Groups, &groups, TrecEvalVersion::V10).unwrap();
    for judged in ["qrels.123", "qrels.comments.123"] {
        let groups = JudgmentGroups::read(&bytes(judged)[..], judged)
            .unwrap()
            .data;
        let report = groups.evaluate(&results("results.test"), &selection.measures(), plain);
        let found = text(selection.output(&report.unwrap()));
        same(&found, &expected("out.test.qrels_jg"), judged);
    }

    let selection = MeasureSelection::parse(&["all_trec"]).unwrap();
    let judged = qrels(&folder.join("qrels.test"), HeaderLine::AsData);
    let evaluator = selection.evaluator(&judged, plain).unwrap();
    let report = evaluator.evaluate(&results("results.test")).unwrap();
    let reference = ZScores::read(&bytes("zscores_file")[..], "zscores_file")
        .unwrap()
        .data;
    let found = text(selection.output(&report).standardized(&reference));
    same(&found, &expected("out.test.aqZ"), "out.test.aqZ");
}

/// Measures of the test vectors, one per line.
const MINI: &str = include_str!("mini_measures.txt");

/// Outputs of releases 9.0.8 and 10.0 with all measures.
#[test]
fn vectors_of_both_releases() {
    let folder = vectors();
    let qrels = qrels(&folder.join("mini.qrels"), HeaderLine::AsData);
    let run = run(&folder.join("mini.run"), HeaderLine::AsData);
    let mut compared = 0;
    for (release, generation) in [
        ("9.0.8", TrecEvalVersion::V9),
        ("10.0", TrecEvalVersion::V10),
    ] {
        for options in [
            "", ".-c", ".-J", ".-c-J", ".-M3", ".-c-M3", ".-l2", ".-c-l2",
        ] {
            let path = folder.join(format!("mini.{release}{options}.expected.txt"));
            let Ok(expected) = fs::read_to_string(&path) else {
                continue;
            };
            let rules = Rules {
                trec_eval_version: generation,
                missing: if options.contains("-c") {
                    MissingQueries::Zero
                } else {
                    MissingQueries::Skip
                },
                unjudged: if options.contains("-J") {
                    UnjudgedDocuments::Remove
                } else {
                    UnjudgedDocuments::NonRelevant
                },
                depth: options.contains("-M3").then_some(3),
                level: if options.contains("-l2") { 2 } else { 1 },
                ..Rules::default()
            };
            let mut chosen: Vec<&str> = MINI.lines().collect();
            if generation == TrecEvalVersion::V10 {
                chosen.push("unj.5,10");
            }
            let selection =
                MeasureSelection::parse_for(JudgmentKind::Grades, &chosen, generation).unwrap();
            let found = printed(
                &selection,
                rules,
                OutputDetail::QueriesAndSummary,
                &qrels,
                &run,
            );
            same(&found, &expected, &path.to_string_lossy());
            compared += 1;
        }
    }
    assert_eq!(compared, 10);
}

/// Rounding of the number of relevant documents at a recall in both releases.
#[test]
fn recall_point_vectors() {
    let folder = vectors();
    let qrels = qrels(&folder.join("iprec.qrels"), HeaderLine::AsData);
    let run = run(&folder.join("iprec.run"), HeaderLine::AsData);
    for (release, generation) in [
        ("9.0.8", TrecEvalVersion::V9),
        ("10.0", TrecEvalVersion::V10),
    ] {
        let rules = Rules {
            trec_eval_version: generation,
            ..Rules::default()
        };
        let selection = MeasureSelection::parse(&["iprec_at_recall", "11pt_avg"]).unwrap();
        let found = printed(&selection, rules, OutputDetail::Summary, &qrels, &run);
        let path = folder.join(format!("iprec.{release}.expected.txt"));
        same(&found, &fs::read_to_string(&path).unwrap(), release);
    }
}
