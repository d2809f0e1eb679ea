//! Pools, overlaps and differences of runs: worked examples, naive implementations, and estimates
//! from samples against full judgments.
#![allow(clippy::unwrap_used, clippy::float_cmp)]

use std::collections::{BTreeMap, BTreeSet};

use ir_core::{Judgments, Qrels, Run, RunOrder};
use ir_eval::assess::{Pool, PoolDesign, PoolDesignError, PoolJudgmentError, StratumSample};
use ir_eval::runs::{DiffRules, OverlapError, OverlapRules, RunDiff, RunOverlap};
use ir_eval::{Evaluator, Measure};
use proptest::prelude::*;

fn run(tag: &str, lists: &[(&str, &str)]) -> Run {
    let mut run = Run::new(tag);
    for (query, docs) in lists {
        for (rank, doc) in docs.split_whitespace().enumerate() {
            run.push(query, doc, -(rank as f64));
        }
    }
    run
}

#[test]
fn pool_worked_example() {
    let runs = [
        run("a", &[("q1", "d1 d2 d3 d4 d5"), ("q2", "x")]),
        run("b", &[("q1", "d6 d2 d7 d1 d8")]),
    ];
    let mut judged = Qrels::new();
    judged.insert("q1", "d2", 1);
    judged.insert("q1", "d9", 0);
    judged.insert("q1", "d3", -1);
    let design = PoolDesign::depth(2)
        .with_stratum(4, StratumSample::Count(1))
        .with_seed(3);
    let mut pool = design.pool(&runs, Some(&judged)).unwrap();
    // Prior judgments: d2, and d9, which no run retrieves. Ranks 1 and 2: d1, d6. Ranks 3 and 4:
    // d3, d4 and d7, of which one is drawn. The best rank of d1 is 1.
    let strata = pool.strata("q1");
    assert_eq!(
        strata,
        BTreeMap::from([("0", (2, 2)), ("1", (2, 0)), ("2", (3, 0))])
    );
    let list: Vec<(&str, &str)> = pool.to_judge().collect();
    assert_eq!(list.len(), 4);
    assert!(list.contains(&("q1", "d1")) && list.contains(&("q1", "d6")) && list[3] == ("q2", "x"));
    let is_drawn = |doc: &&str| list.contains(&("q1", doc));
    let (drawn, others): (Vec<&str>, Vec<&str>) =
        ["d3", "d4", "d7"].into_iter().partition(is_drawn);
    assert_eq!(drawn.len(), 1);
    let (drawn, other) = (drawn[0], others[0]);

    use PoolJudgmentError::{Conflict, Negative, NotDrawn, NotPooled};
    pool.judge("q1", drawn, 2).unwrap();
    pool.judge("q1", drawn, 2).unwrap();
    let mut error = |query, doc, grade| pool.judge(query, doc, grade).unwrap_err();
    let conflict = error("q1", drawn, 0);
    assert!(matches!(
        conflict,
        Conflict {
            before: 2,
            found: 0,
            ..
        }
    ));
    assert!(matches!(error("q1", other, 1), NotDrawn { .. }));
    assert!(matches!(error("q1", "d5", 1), NotPooled { .. }));
    assert!(matches!(error("q3", "d5", 1), NotPooled { .. }));
    assert!(matches!(error("q1", "d1", -1), Negative { .. }));
    assert_eq!(pool.strata("q1")["2"], (3, 1));

    let mut file = Vec::new();
    pool.write(&mut file).unwrap();
    let text = String::from_utf8(file.clone()).unwrap();
    assert!(
        text.contains("q1 0 d1 1 -2\n") && text.contains("q1 0 d2 0 1\n"),
        "{text}"
    );
    assert!(text.contains(&format!("q1 0 {other} 2 -1\n")), "{text}");
    assert_eq!(Pool::read(&file[..], "pool.qrels").unwrap(), pool);
    assert_eq!(pool.qrels().grade("q1", drawn), Some(2));
}

#[test]
fn json_maps_queries_to_documents() {
    let file = "q1 0 d1 0 2\nq1 0 d2 1 -2\nq2 0 d1 2 -1\n";
    let pool = Pool::read(file.as_bytes(), "pool.qrels").unwrap();
    let json = concat!(
        r#"{"q1":{"d1":{"stratum":"0","grade":2},"d2":{"stratum":"1","grade":-2}},"#,
        r#""q2":{"d1":{"stratum":"2","grade":-1}}}"#
    );
    assert_eq!(serde_json::to_string(&pool).unwrap(), json);
    assert_eq!(serde_json::from_str::<Pool>(json).unwrap(), pool);
    assert_eq!(pool.documents(), 3);
    let stratified = r#"{"qrels":{"q1":{"d1":1}},"strata":{"q1":{"d2":"0"}}}"#;
    assert!(serde_json::from_str::<Pool>(stratified).is_err());
}

#[test]
fn ids_with_whitespace_are_not_written() {
    for (query, doc, expected) in [
        ("q 1", "d", "query id without white space, found \"q 1\""),
        (
            "#q",
            "d",
            "query id that does not begin with #, found \"#q\"",
        ),
        ("q", "a b", "document id without white space, found \"a b\""),
    ] {
        let mut run = Run::new("r");
        run.push(query, doc, 1.0);
        let pool = PoolDesign::depth(1).pool(&[run], None).unwrap();
        let error = pool.write(&mut Vec::new()).unwrap_err();
        assert_eq!(error.to_string(), format!("expected a {expected}"));
    }
}

#[test]
fn malformed_files() {
    let error = |text: &str| Pool::read(text.as_bytes(), "p").unwrap_err().to_string();
    assert_eq!(error("q1 0 d1 1\n"), "p:1: expected 5 columns, found 4");
    assert_eq!(
        error("\nq1 0 d1 1 x\n"),
        "p:2: expected an integer as grade, found \"x\""
    );
    let twice = "p:2: document \"d1\" of query \"q1\" is already on an earlier line";
    assert_eq!(error("q1 0 d1 1 0\nq1 0 d1 2 0\n"), twice);
}

#[test]
fn invalid_strata() {
    use PoolDesignError::{Depth, EmptySample, Fraction};
    let depth = |after: usize, found: usize| Depth { after, found };
    let second = |depth, sample| PoolDesign::depth(10).with_stratum(depth, sample);
    for (design, expected) in [
        (PoolDesign::depth(0), depth(0, 0)),
        (second(10, StratumSample::All), depth(10, 10)),
        (
            second(20, StratumSample::Fraction(1.5)),
            Fraction { found: 1.5 },
        ),
        (second(20, StratumSample::Count(0)), EmptySample),
    ] {
        assert_eq!(design.pool(&[], None).unwrap_err(), expected);
    }
}

#[test]
fn biocaddie_procedure() {
    // Eight shifted runs of 500 documents, then three submitted ones.
    let shifted = |n: usize| {
        let docs: Vec<String> = (0..500).map(|d| format!("d{:04}", d + 37 * n)).collect();
        run(&n.to_string(), &[("T1", &docs.join(" "))])
    };
    let organizers: Vec<Run> = (0..8).map(shifted).collect();
    let mut pool = PoolDesign::biocaddie_organizers()
        .pool(&organizers, None)
        .unwrap();
    let list: Vec<String> = pool.to_judge().map(|(_, doc)| doc.to_owned()).collect();
    assert_eq!(list.len(), 300 + 7 * 37, "the top 300 of all");
    list.iter()
        .for_each(|doc| pool.judge("T1", doc, 0).unwrap());
    let submitted: Vec<Run> = (14..17).map(shifted).collect();
    let second = PoolDesign::biocaddie_submitted()
        .pool(&submitted, Some(pool.qrels()))
        .unwrap();
    // They retrieve documents 518 to 691; those below 559 are judged. Of the top tens (518 to 527,
    // 555 to 564, 592 to 601) 16 are unjudged, of the others 117, of which 5 % are 6.
    let strata = second.strata("T1");
    assert_eq!(strata["0"], (559, 559));
    assert_eq!((strata["1"].0, strata["2"].0), (16, 117));
    assert_eq!(second.to_judge().count(), 16 + 6);
}

/// One query with 600 documents, relevant ones concentrated at the top of all runs.
fn collection() -> (Vec<Run>, Qrels) {
    let mut random = ir_core::SplitMix64::new(5, 0);
    let mut qrels = Qrels::new();
    let mut docs: Vec<(String, f64)> = Vec::new();
    for n in 0..600 {
        let relevant = random.below(600) > n + 250;
        qrels.insert("q", &format!("d{n}"), i64::from(relevant));
        docs.push((format!("d{n}"), -(n as f64)));
    }
    let runs = (0..4).map(|tag| {
        let mut run = Run::new(tag.to_string());
        for (doc, score) in &docs {
            run.push("q", doc.as_str(), score + random.below(150) as f64 - 75.0);
        }
        run
    });
    (runs.collect(), qrels)
}

#[test]
fn estimates_from_samples_match_full_judgments() {
    let (runs, truth) = collection();
    let full_pool = PoolDesign::depth(200).pool(&runs, None).unwrap();
    let relevant = full_pool
        .to_judge()
        .filter(|(q, d)| truth.grade(q, d) == Some(1))
        .count() as f64;
    // Reference: judgments of the whole pool.
    let mut full = Qrels::new();
    full_pool.to_judge().for_each(|(q, d)| {
        full.insert(q, d, truth.grade(q, d).unwrap());
    });
    let measures: [Measure; 3] = ["AP", "infAP", "xinfAP"].map(|name| name.parse().unwrap());
    let top = |run: &Run| {
        let mut run = run.clone();
        run.iter_mut()
            .for_each(|(_, list)| list.sort_by(|a, b| b.score.total_cmp(&a.score)));
        run.truncate(200);
        run
    };
    let first = top(&runs[0]);
    let report = |judgments: &dyn Judgments| {
        let evaluator = Evaluator::new(judgments, &measures).unwrap();
        evaluator.evaluate(&first).unwrap()
    };
    let exact = report(&full);

    let (mut estimates, mut inferred, mut stratified) = (Vec::new(), Vec::new(), Vec::new());
    for seed in 0..300 {
        // Two strata: R is estimated by scaling up each stratum.
        let design = PoolDesign::depth(20)
            .with_stratum(200, StratumSample::Fraction(0.2))
            .with_seed(seed);
        let mut pool = design.pool(&runs, None).unwrap();
        judge(&mut pool, &truth);
        let strata = pool.strata("q");
        let found = |name: &str| {
            pool.iter()
                .filter(|&(_, _, stratum, grade)| stratum == name && grade > 0)
                .count() as f64
        };
        let up = |name: &str| found(name) * strata[name].0 as f64 / strata[name].1 as f64;
        assert_eq!(strata["1"].0, strata["1"].1);
        estimates.push(up("1") + up("2"));
        stratified.push(report(&*pool).summary(measures[2]).unwrap());
        // infAP: one stratum.
        let mut pool = PoolDesign::depth(200).with_seed(seed);
        pool.strata[0].sample = StratumSample::Fraction(0.3);
        let mut pool = pool.pool(&runs, None).unwrap();
        judge(&mut pool, &truth);
        inferred.push(report(&*pool).summary(measures[1]).unwrap());
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let spread = |values: &[f64]| {
        let mean = mean(values);
        let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
        (squares / values.len() as f64).sqrt()
    };
    // Tolerance: five standard errors of the mean.
    let within = 5.0 * spread(&estimates) / 300_f64.sqrt();
    assert!(
        (mean(&estimates) - relevant).abs() < within,
        "{} {relevant} {within}",
        mean(&estimates)
    );
    assert!(spread(&estimates) > 1.0, "it is a sample");
    // infAP has a small bias from its ε and its ratio, far below the error of a single sample.
    let ap = exact.summary(Measure::AP).unwrap();
    for estimates in [&inferred, &stratified] {
        let mean = mean(estimates);
        assert!((mean - ap).abs() < 0.01, "{mean} {ap}");
    }
    assert!(spread(&inferred) > 0.01);
}

fn judge(pool: &mut Pool, truth: &Qrels) {
    let list = pool.to_judge().map(|(q, d)| (q.to_owned(), d.to_owned()));
    let list: Vec<(String, String)> = list.collect();
    list.iter()
        .for_each(|(q, d)| pool.judge(q, d, truth.grade(q, d).unwrap()).unwrap());
}

#[test]
fn documents_are_drawn_uniformly() {
    let docs: Vec<String> = (0..20).map(|n| format!("d{n:02}")).collect();
    let runs = [run("a", &[("q", &docs.join(" "))])];
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    for seed in 0..2000 {
        let mut design = PoolDesign::depth(20).with_seed(seed);
        design.strata[0].sample = StratumSample::Count(5);
        let pool = design.pool(&runs, None).unwrap();
        pool.to_judge()
            .for_each(|(_, d)| *counts.entry(d.to_owned()).or_default() += 1);
    }
    // Expected: 500 draws each; five standard deviations are 97.
    assert_eq!(counts.len(), 20);
    assert!(counts.values().all(|n| n.abs_diff(500) < 97), "{counts:?}");
}

fn lists() -> impl Strategy<Value = Vec<Run>> {
    let scores = prop::collection::btree_map((0..3_u8, 0..40_u8), -4..4_i8, 0..60);
    prop::collection::vec(scores, 1..5).prop_map(|runs| {
        let run = |(n, lines): (usize, BTreeMap<(u8, u8), i8>)| {
            let mut run = Run::new(n.to_string());
            for ((query, doc), score) in lines {
                run.push(&format!("q{query}"), format!("d{doc}"), f64::from(score));
            }
            run
        };
        runs.into_iter().enumerate().map(run).collect()
    })
}

/// Top `depth` documents in trec_eval's order.
fn top(run: &Run, query: &str, depth: usize) -> Vec<String> {
    let mut list: Vec<(f64, String)> = run
        .get(query)
        .unwrap_or_default()
        .iter()
        .map(|s| (s.score, s.doc.clone()))
        .collect();
    list.sort_by(|a, b| b.partial_cmp(a).unwrap());
    list.into_iter().map(|(_, doc)| doc).take(depth).collect()
}

proptest! {
    #[test]
    fn pools_are_unions_and_independent_of_run_order_and_other_queries(
        runs in lists(), a in 1_usize..5, b in 5_usize..20, fraction in 0.01..1.0_f64, seed: u64,
    ) {
        let design = PoolDesign::depth(a).with_stratum(b, StratumSample::Fraction(fraction)).with_seed(seed);
        let pool = design.pool(&runs, None).unwrap();
        for query in ["q0", "q1", "q2"] {
            let union = |depth: usize| -> BTreeSet<String> {
                runs.iter().flat_map(|run| top(run, query, depth)).collect()
            };
            let there: BTreeSet<String> = pool.iter().filter(|line| line.0 == query)
                .map(|(_, doc, ..)| doc.to_owned()).collect();
            prop_assert_eq!(&there, &union(b));
            let list: BTreeSet<String> = pool.to_judge().filter(|(q, _)| *q == query)
                .map(|(_, doc)| doc.to_owned()).collect();
            prop_assert!(list.is_superset(&union(a)));
            let rest = union(b).len() - union(a).len();
            let drawn = ((rest as f64 * fraction).round() as usize).max(usize::from(rest > 0));
            prop_assert_eq!(list.len(), union(a).len() + drawn);
        }
        // Independent of the order of runs, and of other queries.
        let mut turned = runs.clone();
        turned.reverse();
        prop_assert_eq!(&design.pool(&turned, None).unwrap(), &pool);
        let alone: Vec<Run> = runs.iter().map(|run| {
            let mut one = Run::new("one");
            for scored in run.get("q1").unwrap_or_default() {
                one.push("q1", scored.doc.as_str(), scored.score);
            }
            one
        }).collect();
        let alone = design.pool(&alone, None).unwrap();
        prop_assert!(alone.iter().eq(pool.iter().filter(|line| line.0 == "q1")));
        // The shuffled list is a permutation within each query.
        let mut shuffled = pool.shuffled(seed);
        prop_assert!(shuffled.is_sorted_by_key(|line| line.0));
        shuffled.sort_unstable();
        prop_assert!(shuffled.into_iter().eq(pool.to_judge()));
    }

    #[test]
    fn overlaps_add_up(runs in lists(), depth in 1_usize..30) {
        let mut qrels = Qrels::new();
        (0..40).step_by(3).for_each(|d| { qrels.insert("q1", &format!("d{d}"), d % 2); });
        let rules = OverlapRules { depth: Some(depth), ..OverlapRules::default() };
        let overlap = RunOverlap::new(&runs, Some(&qrels), rules).unwrap();
        let set = |run: &Run| -> BTreeSet<(String, String)> {
            let queries = ["q0", "q1", "q2"].into_iter();
            queries.flat_map(|q| top(run, q, depth).into_iter().map(move |d| (q.to_owned(), d))).collect()
        };
        let sets: Vec<_> = runs.iter().map(set).collect();
        let union: BTreeSet<_> = sets.iter().flatten().cloned().collect();
        prop_assert_eq!(overlap.union().documents as usize, union.len());
        let sum: u64 = overlap.regions.iter().map(|region| region.count.documents).sum();
        prop_assert_eq!(sum as usize, union.len());
        let relevant = |pairs: &BTreeSet<(String, String)>| {
            pairs.iter().filter(|(q, d)| qrels.grade(q, d).is_some_and(|g| g >= 1)).count()
        };
        if !union.is_empty() {
            prop_assert_eq!(overlap.union().relevant.unwrap() as usize, relevant(&union));
        }
        for (n, retrieved) in sets.iter().enumerate() {
            prop_assert_eq!(overlap.run(n).documents as usize, retrieved.len());
            let others = sets.iter().enumerate().filter(|(m, _)| *m != n).flat_map(|(_, s)| s);
            let others: BTreeSet<_> = others.cloned().collect();
            let only: BTreeSet<_> = retrieved.difference(&others).cloned().collect();
            prop_assert_eq!(overlap.only(n).documents as usize, only.len());
            prop_assert_eq!(overlap.only(n).relevant.unwrap_or(0) as usize, relevant(&only));
            prop_assert_eq!(overlap.both(0, n).documents as usize, sets[0].intersection(retrieved).count());
        }
    }

    #[test]
    fn only_the_same_run_is_identical(runs in lists()) {
        for run in &runs {
            let mut renamed = run.clone();
            renamed.tag = "other".to_owned();
            let diff = RunDiff::new(run, &renamed, DiffRules::default());
            prop_assert!(diff.identical() && diff.largest_score().is_none());
            for query in &diff.queries {
                prop_assert!((query.rbo.unwrap() - 1.0).abs() < 1e-9);
                prop_assert!(query.tau.is_none_or(|tau| tau == 1.0));
            }
        }
        let (first, last) = (&runs[0], &runs[runs.len() - 1]);
        let (there, back) = (RunDiff::new(first, last, DiffRules::default()), RunDiff::new(last, first, DiffRules::default()));
        prop_assert_eq!(there.identical(), back.identical());
        prop_assert_eq!(&there.only_first, &back.only_second);
        let same = ["q0", "q1", "q2"].iter().all(|q| top(first, q, 99) == top(last, q, 99));
        prop_assert_eq!(there.same_rankings(), same);
    }
}

#[test]
fn too_many_runs() {
    let runs = vec![Run::new("x"); 17];
    let found = RunOverlap::new(&runs, None, OverlapRules::default());
    assert_eq!(found, Err(OverlapError::TooMany { found: 17 }));
}

#[test]
fn difference_worked_example() {
    let a = run("a", &[("q1", "x y z w"), ("q2", "x"), ("q3", "p q")]);
    let mut b = run("b", &[("q1", "x z y v"), ("q3", "p q"), ("q4", "x")]);
    let diff = RunDiff::new(&a, &b, DiffRules::default());
    assert_eq!(
        (diff.only_first.as_slice(), diff.only_second.as_slice()),
        (&["q2".to_owned()][..], &["q4".to_owned()][..])
    );
    let q1 = &diff.queries[0];
    assert_eq!((q1.common, q1.overlap()), (3, 0.75));
    // One of three pairs is discordant; of the two ranks below the first, one is half correct.
    assert!((q1.tau.unwrap() - 1.0 / 3.0).abs() < 1e-12);
    assert!((q1.tau_ap.unwrap() - 0.5).abs() < 1e-12);
    let first = q1.first_difference.as_ref().unwrap();
    assert_eq!(
        (first.rank, first.first.as_deref(), first.second.as_deref()),
        (2, Some("y"), Some("z"))
    );
    let (query, score) = diff.largest_score().unwrap();
    assert_eq!(
        (query, score.doc.as_str(), score.distance()),
        ("q1", "y", 1.0)
    );
    assert!(diff.queries[1].identical());
    let (tau, counted) = diff.mean(|query| query.tau).unwrap();
    assert!(counted == 2 && (tau - 2.0 / 3.0).abs() < 1e-12);

    // The same ranking with other scores; at depth 1 nothing else differs.
    let a = run("a", &[("q1", "x y z w")]);
    b = run("b", &[("q1", "x y w z")]);
    b.iter_mut().for_each(|(_, list)| list[0].score = 5.0);
    let top = DiffRules {
        depth: Some(1),
        ..DiffRules::default()
    };
    let diff = RunDiff::new(&a, &b, top);
    assert!(diff.same_rankings() && !diff.identical());
    let rankings = DiffRules {
        tolerance: f64::INFINITY,
        ..top
    };
    assert!(RunDiff::new(&a, &b, rankings).identical());
    // Lists that trec_eval ranks equally can differ in file order.
    let (mut a, mut b) = (Run::new("a"), Run::new("b"));
    for (first, second) in [("x", "y"), ("y", "x")] {
        a.push("q", first, 1.0);
        b.push("q", second, 1.0);
    }
    assert!(RunDiff::new(&a, &b, DiffRules::default()).identical());
    let file = DiffRules {
        order: RunOrder::File,
        ..DiffRules::default()
    };
    assert!(!RunDiff::new(&a, &b, file).identical());
}
