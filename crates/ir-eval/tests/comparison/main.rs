//! Comparisons of runs: scores, significance tests, rank changes, errors; output formats.
#![allow(clippy::unwrap_used, reason = "tests")]

mod formats;

use std::cmp::Ordering;

use ir_core::{Flow, Qrels, Run};
use ir_eval::compare::significance::{
    Alternative, BootstrapResampling, IntervalMethod, MultipleTestingCorrection, PairedTTest,
};
use ir_eval::compare::{
    Bootstrap, CompareError, ComparedPairs, Comparison, ComparisonConfig, HypothesisFamily,
    SignificanceTest,
};
use ir_eval::runs::RankChanges;
use ir_eval::{Evaluator, Measure, MissingQueries, Report, Rules};

/// A run with the relevant document of query i at `ranks[i]`; 0 means no results.
fn run(tag: &str, ranks: &[usize]) -> Run {
    let mut run = Run::new(tag);
    for (query, &rank) in ranks.iter().enumerate() {
        let id = format!("q{query:02}");
        for above in 1..rank {
            run.push(&id, format!("x{above}"), 100.0 - above as f64);
        }
        if rank > 0 {
            run.push(&id, "d", 1.0);
        }
    }
    run
}

fn reports(rules: Rules, measures: &[Measure], runs: &[Run]) -> Vec<Report> {
    let mut qrels = Qrels::new();
    for query in 0..8 {
        qrels.insert(&format!("q{query:02}"), "d", 1);
    }
    let evaluator = Evaluator::with_rules(&qrels, measures, rules).unwrap();
    runs.iter()
        .map(|run| evaluator.evaluate(run).unwrap())
        .collect()
}

/// Comparison of the default configuration.
fn compared(reports: &[Report]) -> Comparison {
    Comparison::new(reports, &ComparisonConfig::default()).unwrap()
}

fn three() -> Vec<Report> {
    let runs = [
        run("low_1", &[4, 5, 3, 4, 9, 4, 7, 4]),
        run("high", &[1, 1, 2, 1, 1, 2, 1, 1]),
        run("none & nil", &[4, 5, 3, 4, 9, 4, 0, 0]),
    ];
    reports(Rules::default(), &[Measure::RR, Measure::P.at(5)], &runs)
}

#[test]
fn scores_differences_and_verdicts() {
    let reports = three();
    let comparison = compared(&reports);
    assert_eq!(comparison.baseline(), Some("low_1"));
    assert_eq!(comparison.pairwise_tests.len(), 4);
    let pairwise = &comparison.pairwise_tests[0];
    assert_eq!(pairwise.system, "high");
    // By hand: means 7/8 and the mean of 1/4 1/5 1/3 1/4 1/9 1/4 1/7 1/4.
    let low = (4.0 / 4.0 + 1.0 / 5.0 + 1.0 / 3.0 + 1.0 / 9.0 + 1.0 / 7.0) / 8.0;
    assert!((pairwise.difference - (7.0 / 8.0 - low)).abs() < 1e-12);
    assert!((pairwise.relative.unwrap() - (7.0 / 8.0 / low - 1.0)).abs() < 1e-12);
    assert!(pairwise.interval.contains(pairwise.difference));
    assert_eq!(pairwise.effect.wins, 8);
    // The same test, from the values alone.
    let values = |name: &str| comparison.score(name, Measure::RR).unwrap().values.clone();
    let differences: Vec<f64> = values("high")
        .iter()
        .zip(values("low_1"))
        .map(|(a, b)| a - b)
        .collect();
    let test = PairedTTest
        .test(&differences, Alternative::TwoSided)
        .unwrap();
    assert_eq!(pairwise.result, test);
    // Two tests of this measure; the other one has the larger p.
    assert_eq!(pairwise.adjusted_p, test.p.map(|p| 2.0 * p));
    let verdict = |a: &str, b: &str| comparison.verdict(a, b, Measure::RR);
    assert_eq!(verdict("high", "low_1"), Some(Ordering::Greater));
    assert_eq!(verdict("low_1", "high"), Some(Ordering::Less));
    assert_eq!(verdict("none & nil", "low_1"), Some(Ordering::Equal));
    assert_eq!(verdict("none & nil", "high"), None);
    assert_eq!(comparison.system("none & nil").unwrap().missing, 2);
}

#[test]
fn all_pairs_are_tested_once_two_sided_and_both_ways_one_sided() {
    let reports = three();
    let config = ComparisonConfig {
        pairs: ComparedPairs::AllPairs,
        ..ComparisonConfig::default()
    };
    let two_sided = Comparison::new(&reports, &config).unwrap();
    assert_eq!(two_sided.pairwise_tests.len(), 3 * 2);
    assert_eq!(two_sided.baseline(), None);
    let verdict = |a: &str, b: &str| two_sided.verdict(a, b, Measure::RR);
    assert_eq!(verdict("high", "none & nil"), Some(Ordering::Greater));
    assert_eq!(verdict("none & nil", "high"), Some(Ordering::Less));
    let config = ComparisonConfig {
        alternative: Alternative::Greater,
        correction: MultipleTestingCorrection::None,
        ..config
    };
    let one_sided = Comparison::new(&reports, &config).unwrap();
    assert_eq!(one_sided.pairwise_tests.len(), 6 * 2);
    let verdict = |a: &str, b: &str| one_sided.verdict(a, b, Measure::RR);
    assert_eq!(verdict("high", "none & nil"), Some(Ordering::Greater));
    assert_eq!(verdict("none & nil", "high"), Some(Ordering::Less));
    assert_eq!(verdict("none & nil", "low_1"), Some(Ordering::Equal));
}

#[test]
fn families() {
    let reports = three();
    let config = |family, correction| ComparisonConfig {
        family,
        correction,
        ..ComparisonConfig::default()
    };
    let factor = |config: ComparisonConfig| {
        let comparison = Comparison::new(&reports, &config).unwrap();
        let pairwise = &comparison.pairwise_tests[0];
        pairwise.adjusted_p.unwrap() / pairwise.result.p.unwrap()
    };
    use MultipleTestingCorrection::{Bonferroni, None};
    for (family, correction, expected) in [
        (HypothesisFamily::Measure, Bonferroni, 2.0),
        (HypothesisFamily::All, Bonferroni, 4.0),
        (HypothesisFamily::All, None, 1.0),
    ] {
        assert_eq!(factor(config(family, correction)), expected);
    }
}

#[test]
fn skipped_queries_are_skipped_for_all() {
    let rules = Rules {
        missing: MissingQueries::Skip,
        ..Rules::default()
    };
    let runs = [
        run("one", &[1, 1, 2, 1, 1, 2, 1, 1]),
        run("other", &[0, 5, 3, 4, 9, 4, 0, 4]),
    ];
    let reports = reports(rules, &[Measure::RR], &runs);
    let comparison = compared(&reports);
    assert_eq!(
        comparison.queries,
        ["q01", "q02", "q03", "q04", "q05", "q07"]
    );
    assert_eq!(comparison.left_out, 2);
    let score = comparison.score("one", Measure::RR).unwrap();
    assert_eq!(score.value, 5.0 / 6.0);
    assert!(comparison.to_text().contains("queries: 6 that all systems answered, 2 left out that only some did; judged without results: other 2\n"));
    let config = ComparisonConfig {
        test: SignificanceTest::BootstrapWins(Bootstrap::DATAFINDER),
        alternative: Alternative::Greater,
        ..ComparisonConfig::default()
    };
    Comparison::new(&reports, &config).unwrap();
}

#[test]
fn equal_tags_are_numbered() {
    let runs = [run("x", &[1; 8]), run("x", &[2; 8]), run("", &[1; 8])];
    let reports = reports(Rules::default(), &[Measure::RR], &runs);
    let comparison = compared(&reports);
    let names: Vec<&str> = comparison.systems.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["x", "x (2)", "(no name)"]);
}

#[test]
fn errors() {
    let reports = three();
    let error_of = |reports: &[Report], config: &ComparisonConfig| {
        Comparison::new(reports, config).unwrap_err().to_string()
    };
    let default = ComparisonConfig::default;
    assert_eq!(
        Comparison::new(&reports[..1], &ComparisonConfig::default()),
        Err(CompareError::TooFewSystems { found: 1 })
    );
    let nobody = ComparisonConfig {
        pairs: ComparedPairs::WithBaseline("nobody".to_owned()),
        ..default()
    };
    let level = ComparisonConfig {
        level: 1.0,
        ..default()
    };
    let two_sided = ComparisonConfig {
        test: SignificanceTest::BootstrapWins(Bootstrap::TEXTBOOK),
        ..default()
    };
    for (config, expected) in [
        (
            nobody,
            "the name of a system (low_1, high, none & nil), found \"nobody\"",
        ),
        (level, "a significance level between 0 and 1, found 1"),
        (
            two_sided,
            "a one-sided alternative for the bootstrap test on wins, found a two-sided one",
        ),
    ] {
        assert_eq!(error_of(&reports, &config), format!("expected {expected}"));
    }
    let config = ComparisonConfig {
        test: SignificanceTest::BootstrapWins(Bootstrap {
            samples: 1,
            ..Bootstrap::TEXTBOOK
        }),
        alternative: Alternative::Greater,
        ..ComparisonConfig::default()
    };
    let error = Comparison::new(&reports, &config).unwrap_err();
    assert_eq!(
        error.to_string(),
        "expected at least 20 random samples to reach significance at level 0.05, found 1"
    );
    let interval = |samples, level| ComparisonConfig {
        interval: IntervalMethod::Bootstrap(BootstrapResampling { samples, seed: 1 }),
        level,
        ..ComparisonConfig::default()
    };
    assert_eq!(
        error_of(&reports, &interval(9, 0.1)),
        "expected at least 10 bootstrap samples for an interval at level 0.1, found 9"
    );
    assert!(Comparison::new(&reports, &interval(10, 0.1)).is_ok());
    let mut qrels = Qrels::new();
    qrels.insert("q00", "d", 1);
    qrels.insert("q99", "d", 1);
    let measures = [Measure::RR, Measure::P.at(5)];
    let evaluator = Evaluator::new(&qrels, &measures).unwrap();
    let other = evaluator.evaluate(&run("other", &[1; 8])).unwrap();
    assert_eq!(
        error_of(&[reports[0].clone(), other], &default()),
        "expected reports on the same queries, found \"q01\" in that of \"low_1\" and not in that of \"other\""
    );
}

/// A list of the documents x01 to x30, with other documents at the given ranks.
fn list(replaced: &[(usize, &str)]) -> Run {
    let mut run = Run::new("list");
    for rank in 1..=30 {
        let replaced = replaced.iter().find(|(at, _)| *at == rank);
        let doc = replaced.map_or_else(|| format!("x{rank:02}"), |(_, doc)| (*doc).to_owned());
        run.push("q", doc, -(rank as f64));
    }
    run
}

#[test]
fn rank_changes_are_ordered_by_influence_on_the_measure() {
    let mut qrels = Qrels::new();
    for (doc, grade) in [
        ("deep", 3),
        ("near", 1),
        ("good", 2),
        ("bad", 0),
        ("x04", 0),
    ] {
        qrels.insert("q", doc, grade);
    }
    let old = list(&[(28, "deep"), (5, "near"), (9, "good"), (2, "bad")]);
    let new = list(&[
        (12, "deep"),
        (1, "near"),
        (7, "good"),
        (2, "bad"),
        (3, "x04"),
        (4, "x03"),
    ]);
    let docs = |measure: Option<Measure>| -> Vec<String> {
        let changes = RankChanges::new(&qrels, Rules::default(), &new, &old);
        let changes = match measure {
            Some(measure) => changes.for_measure(measure),
            None => changes,
        };
        let changes = changes.on_query("q").into_iter();
        changes.map(|change| change.doc).collect()
    };
    // By hand, 1 / rank times grade: 1 (1 - 1/5), 3 (1/12 - 1/28), 2 (1/7 - 1/9).
    assert_eq!(docs(None)[..3], ["near", "deep", "good"]);
    // deep and x28 are beyond the cutoff.
    let first_ten = docs(Some(Measure::NDCG.at(10)));
    assert_eq!(first_ten[..3], ["near", "good", "x04"]);
    assert!(!first_ten.contains(&"deep".to_owned()), "{first_ten:?}");
    assert!(
        first_ten.iter().all(|doc| doc != "x28" && doc != "x12"),
        "{first_ten:?}"
    );
    // Only documents that enter or leave the top 20 matter to recall.
    let recall = docs(Some(Measure::R.at(20)));
    assert_eq!(recall[0], "deep", "{recall:?}");
    assert!(!recall.contains(&"near".to_owned()), "{recall:?}");
    // From grade 2 on, "near" is judged and not relevant.
    assert_eq!(docs(Some(Measure::AP.rel(2)))[..2], ["deep", "good"]);
}

#[test]
fn differences_per_query_are_in_descending_order() {
    let mut qrels = Qrels::new();
    let (mut old, mut new) = (Run::new("old"), Run::new("new"));
    for query in ["q1", "q2", "q3"] {
        qrels.insert(query, "d", 1);
        old.push(query, if query == "q2" { "e" } else { "d" }, 1.0);
        new.push(query, if query == "q3" { "e" } else { "d" }, 1.0);
    }
    let evaluator = Evaluator::new(&qrels, &[Measure::RR]).unwrap();
    let reports = [&old, &new].map(|run| evaluator.evaluate(run).unwrap());
    let comparison = compared(&reports);
    let differences = |against: &str| comparison.query_differences("new", against, Measure::RR);
    let found = differences("old").unwrap();
    let queries: Vec<(&str, f64)> = found
        .iter()
        .map(|d| (d.query.as_str(), d.difference))
        .collect();
    assert_eq!(queries, [("q2", 1.0), ("q1", 0.0), ("q3", -1.0)]);
    assert_eq!(differences("other"), None);
}

#[test]
fn resampling_reports_progress_and_can_be_canceled() {
    let reports = three();
    let resampling = |samples| BootstrapResampling { samples, seed: 1 };
    let wins = Bootstrap {
        samples: 8192,
        ..Bootstrap::TEXTBOOK
    };
    for (test, alternative) in [
        (
            SignificanceTest::Bootstrap(resampling(8192)),
            Alternative::TwoSided,
        ),
        (SignificanceTest::BootstrapWins(wins), Alternative::Greater),
    ] {
        let config = ComparisonConfig {
            test,
            alternative,
            interval: IntervalMethod::Bootstrap(resampling(4096)),
            ..ComparisonConfig::default()
        };
        let mut seen = Vec::new();
        let mut watch = |stage: &str, done: u64, total: Option<u64>| {
            assert_eq!(stage, "resampling");
            seen.push((done, total));
            Flow::Continue
        };
        let watched = Comparison::with_progress(&reports, &config, &mut watch).unwrap();
        assert_eq!(Comparison::new(&reports, &config).unwrap(), watched);
        // Two measures; two tests, and intervals of three systems and two differences.
        let total = 2 * (2 * 8192 + 5 * 4096);
        assert_eq!(seen.last(), Some(&(total, Some(total))));
        assert_eq!(seen.len() as u64, total / 4096);

        for last in [1, 4, seen.len()] {
            let mut reported = 0;
            let mut cancel = |_: &str, _: u64, _: Option<u64>| {
                reported += 1;
                if reported == last {
                    Flow::Stop
                } else {
                    Flow::Continue
                }
            };
            let canceled = Comparison::with_progress(&reports, &config, &mut cancel);
            assert_eq!(canceled.unwrap_err(), CompareError::Canceled);
            assert_eq!(reported, last);
        }
    }
    // Tests without samples report nothing.
    let mut watch = |_: &str, _: u64, _: Option<u64>| -> Flow { unreachable!() };
    let config = ComparisonConfig::default();
    assert!(Comparison::with_progress(&reports, &config, &mut watch).is_ok());
}
