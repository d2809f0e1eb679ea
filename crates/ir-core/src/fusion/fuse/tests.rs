use proptest::prelude::*;

use super::*;

fn lists() -> Vec<Vec<(&'static str, f64)>> {
    vec![
        vec![("a", 4.0), ("b", 3.0), ("c", 2.0), ("d", 0.0)],
        vec![("c", 9.0), ("a", 8.0), ("e", 1.0)],
    ]
}

const fn fusion(normalization: ScoreNormalization, combination: ScoreCombination) -> Fusion {
    Fusion {
        normalization,
        combination,
    }
}

fn fused(normalization: ScoreNormalization, combination: ScoreCombination) -> Vec<f64> {
    let values = fusion(normalization, combination).fuse(&lists(), &[]);
    assert_eq!(values.iter().map(|(k, _)| *k).collect::<String>(), "abcde");
    values.into_iter().map(|(_, value)| value).collect()
}

fn close(found: &[f64], expected: &[f64]) {
    let mut pairs = found.iter().zip(expected);
    let all_close = pairs.all(|(a, b)| (a - b).abs() < 5e-9);
    assert!(all_close, "{found:?} {expected:?}");
}

#[test]
fn reciprocal_rank() {
    // A = a,b,c,d and B = c,a,e with k = 60, worked by hand.
    let expected = [
        0.032_522_47,
        0.016_129_03,
        0.032_266_46,
        0.015_625,
        0.015_873_02,
    ];
    let rrf = ScoreCombination::Rrf { k: 60.0 };
    close(&fused(ScoreNormalization::None, rrf), &expected);
}

#[test]
fn the_comb_family_on_raw_scores() {
    use ScoreCombination::{Anz, Max, Med, Min, Mnz, Sum};
    for (combination, expected) in [
        (Sum, [12.0, 3.0, 11.0, 0.0, 1.0]),
        (Mnz, [24.0, 3.0, 22.0, 0.0, 1.0]),
        (Anz, [6.0, 3.0, 5.5, 0.0, 1.0]),
        (Max, [8.0, 3.0, 9.0, 0.0, 1.0]),
        (Min, [4.0, 3.0, 2.0, 0.0, 1.0]),
        (Med, [6.0, 3.0, 5.5, 0.0, 1.0]),
    ] {
        close(&fused(ScoreNormalization::None, combination), &expected);
    }
}

#[test]
fn score_normalization() {
    use ScoreNormalization::{Borda, MinMax, Sum, ZScore};
    let (sum, max) = (ScoreCombination::Sum, ScoreCombination::Max);
    for (normalization, combination, expected) in [
        (MinMax, sum, [1.875, 0.75, 1.5, 0.0, 0.0]),
        (Sum, max, [7.0 / 15.0, 1.0 / 3.0, 8.0 / 15.0, 0.0, 0.0]),
        // C = 5: A gives 5 4 3 2 and e (5-4+1)/2 = 1; B gives c 5, a 4, e 3 and b, d
        // (5-3+1)/2 = 1.5.
        (Borda, sum, [9.0, 5.5, 8.0, 3.5, 4.0]),
    ] {
        close(&fused(normalization, combination), &expected);
    }
    let z = fused(ZScore, ScoreCombination::Min);
    let squares = [4.0_f64 - 2.25, 0.75, 0.25, 2.25].map(|deviation| deviation * deviation);
    let sd = (squares.iter().sum::<f64>() / 4.0).sqrt();
    assert!((z[1] - 0.75 / sd).abs() < 1e-12);
}

#[test]
fn constant_lists_become_zero() {
    for search in [
        ScoreNormalization::MinMax,
        ScoreNormalization::Sum,
        ScoreNormalization::ZScore,
    ] {
        assert_eq!(normalize(search, vec![3.0, 3.0], 2.0), [0.0, 0.0]);
    }
}

#[test]
fn fusion_by_number_agrees_with_fusion_by_id() {
    let (mut a, mut b) = (Run::new("a"), Run::new("b"));
    for (n, run) in [&mut a, &mut b].into_iter().enumerate() {
        for (doc, score) in &lists()[n] {
            run.push("q", *doc, *score);
        }
    }
    let by_id = fuse_runs("f", &[a, b], Fusion::COMB_SUM).unwrap();
    let number = |doc: &str| DocNum::new(u32::from(doc.as_bytes()[0] - b'a'));
    let ranking = |list: Vec<(&str, f64)>| {
        let hits = list.into_iter().map(|(d, s)| Hit::new(number(d), s as f32));
        Ranking::from_hits(hits.collect()).unwrap()
    };
    let rankings: Vec<Ranking> = lists().into_iter().map(ranking).collect();
    let by_number = fuse_rankings(&rankings, Fusion::COMB_SUM).unwrap();
    // d and e are both 0: by id descending in a run, by number ascending in a ranking.
    let by_id = by_id.get("q").unwrap().iter().map(|s| number(&s.doc).get());
    assert_eq!(by_id.collect::<Vec<_>>(), [0, 2, 1, 4, 3]);
    let by_number = by_number.iter().map(|hit| hit.doc.get());
    assert_eq!(by_number.collect::<Vec<_>>(), [0, 2, 1, 3, 4]);
}

fn one(tag: &str, scores: &[f64]) -> Run {
    let mut run = Run::new(tag);
    for (n, &score) in scores.iter().enumerate() {
        run.push("q", format!("d{n}"), score);
    }
    run
}

#[test]
fn progress_counts_results_and_can_cancel() {
    let mut long = Run::new("long");
    for n in 0..3 * REPORTED_RESULTS {
        long.push(&format!("q{}", n % 4), format!("d{n}"), 1.0);
    }
    let runs = [long, one("short", &[1.0])];
    let total = 3 * REPORTED_RESULTS + 1;
    let mut reports = Vec::new();
    let mut progress = |stage: &str, done: u64, all: Option<u64>| {
        assert_eq!((stage, all), ("fusing", Some(total)));
        reports.push(done);
        Flow::Continue
    };
    let weights = [1.0, 1.0];
    let expected = fuse_weighted_runs("f", &runs, &weights, Fusion::RRF, &mut NoProgress);
    let found = fuse_weighted_runs("f", &runs, &weights, Fusion::RRF, &mut progress);
    assert_eq!(found, expected);
    assert!((2..=4).contains(&reports.len()), "{reports:?}");
    let mut stop = |_: &str, _: u64, _: Option<u64>| Flow::Stop;
    let found = fuse_weighted_runs("f", &runs, &weights, Fusion::RRF, &mut stop);
    assert_eq!(found, Err(FusionError::Canceled));
}

const RAW: Fusion = fusion(ScoreNormalization::None, ScoreCombination::Sum);

#[test]
fn nan_is_an_error() {
    let (good, bad) = (one("good", &[1.0]), one("bad", &[1.0, f64::NAN]));
    let found = fuse_runs("f", &[good.clone(), bad], Fusion::RRF);
    let (tag, query, doc) = ("bad".into(), "q".into(), "d1".into());
    assert_eq!(found, Err(FusionError::NanScore { tag, query, doc }));
    let runs = [one("a", &[f64::INFINITY]), one("b", &[f64::NEG_INFINITY])];
    let (query, doc) = ("q".into(), "d0".into());
    let nan = FusionError::NanFused { query, doc };
    assert_eq!(fuse_runs("f", &runs, RAW), Err(nan.clone()));
    // Infinity minus infinity inside one list, and a combination that would hide it.
    let largest = fusion(ScoreNormalization::MinMax, ScoreCombination::Max);
    assert_eq!(fuse_runs("f", &[runs[0].clone(), good], largest), Err(nan));
    for k in [-1.0, f64::NAN, f64::INFINITY] {
        let rrf = fusion(ScoreNormalization::None, ScoreCombination::Rrf { k });
        let error = fuse_runs("f", &[], rrf).unwrap_err();
        assert!(matches!(error, FusionError::RrfK { .. }));
        assert!(rrf.validate().is_err());
    }
    let zeros = fuse_runs("f", &[one("z", &[-0.0, 0.0])], RAW).unwrap();
    // Equal scores: by id descending.
    assert_eq!(zeros.get("q").unwrap()[0].doc, "d1");
}

#[test]
fn weights_multiply_normalized_scores() {
    let weighted = |normalization, combination| {
        let values = fusion(normalization, combination).fuse(&lists(), &[0.5, 2.0]);
        values.into_iter().map(|(_, v)| v).collect::<Vec<f64>>()
    };
    // min-max: 1, 3/4, 1/2, 0 and 1, 7/8, 0.
    let sums = weighted(ScoreNormalization::MinMax, ScoreCombination::Sum);
    close(&sums, &[0.5 + 1.75, 0.375, 0.25 + 2.0, 0.0, 0.0]);
    let rrf = ScoreCombination::Rrf { k: 60.0 };
    let expected = [
        0.5 / 61.0 + 2.0 / 62.0,
        0.5 / 62.0,
        0.5 / 63.0 + 2.0 / 61.0,
        0.5 / 64.0,
        2.0 / 63.0,
    ];
    close(&weighted(ScoreNormalization::None, rrf), &expected);

    let runs = [one("a", &[2.0]), one("b", &[1.0])];
    let fuse = |weights: &[f64]| {
        fuse_weighted_runs("f", &runs, weights, Fusion::COMB_SUM, &mut NoProgress)
    };
    assert_eq!(fuse(&[1.0, 1.0]), fuse_runs("f", &runs, Fusion::COMB_SUM));
    let (expected, found) = (2, 1);
    let error = FusionError::WeightCount { expected, found };
    assert_eq!(fuse(&[1.0]), Err(error));
    for weight in [-1.0, f64::NAN, f64::INFINITY] {
        let error = fuse(&[1.0, weight]).unwrap_err();
        assert!(matches!(error, FusionError::RunWeight { tag, .. } if tag == "b"));
    }
}

#[test]
fn infinite_fused_scores_are_errors() {
    let (query, doc) = ("q".to_owned(), "d0".to_owned());
    let error = Err(FusionError::InfiniteFused { query, doc });
    let infinite = one("a", &[f64::INFINITY]);
    let large = [one("a", &[f64::MAX]), one("b", &[f64::MAX])];
    assert_eq!(fuse_runs("f", std::slice::from_ref(&infinite), RAW), error);
    assert_eq!(fuse_runs("f", &large, RAW), error);
    // Ranks are finite, whatever the scores.
    let mut expected = Run::new("f");
    expected.push("q", "d0", 1.0 / 61.0);
    assert_eq!(fuse_runs("f", &[infinite], Fusion::RRF), Ok(expected));
}

fn score() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>(),
        -2.0..2.0,
        Just(f64::INFINITY),
        Just(f64::NEG_INFINITY),
        Just(f64::NAN),
        Just(0.0),
        Just(-0.0)
    ]
}

proptest! {
    #[test]
    fn fused_runs_are_in_order_and_finite(
        runs in prop::collection::vec(prop::collection::vec(score(), 0..60), 0..4),
    ) {
        use ScoreCombination::{Anz, Max, Med, Min, Mnz, Rrf, Sum};
        let nan = runs.iter().flatten().any(|score| score.is_nan());
        let runs: Vec<Run> = runs.iter().map(|scores| one("r", scores)).collect();
        let normalization = [
            ScoreNormalization::None, ScoreNormalization::MinMax, ScoreNormalization::ZScore, ScoreNormalization::Sum, ScoreNormalization::Borda,
        ];
        for normalization in normalization {
            for combination in [Rrf { k: 0.0 }, Sum, Mnz, Anz, Max, Min, Med] {
                let fused = fuse_runs("f", &runs, Fusion { normalization, combination });
                prop_assert_eq!(matches!(fused, Err(FusionError::NanScore { .. })), nan);
                let Ok(fused) = fused else { continue };
                let list = fused.get("q").unwrap_or_default();
                let before = |a: &ScoredDoc, b: &ScoredDoc| {
                    a.score > b.score || (a.score == b.score && a.doc > b.doc)
                };
                prop_assert!(list.windows(2).all(|pair| before(&pair[0], &pair[1])));
                prop_assert!(list.iter().all(|scored| scored.score.is_finite()));
            }
        }
    }
}
