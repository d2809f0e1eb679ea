//! Inter-assessor agreement and rank correlation: published examples, and values of other tools on
//! random data (`testdata/agreement`, with the script that generates it).
#![allow(clippy::unwrap_used, clippy::float_cmp)]

use std::collections::HashSet;

use ir_core::Qrels;
use ir_eval::assess::{KappaWeights, MeasurementLevel, Ratings};
use ir_eval::runs::{RankBiasedOverlap, kendall_tau_b, tau_ap, tau_ap_b};
use proptest::prelude::*;
use serde_json::Value;

#[track_caller]
fn close(found: Option<f64>, expected: f64, within: f64) {
    let found = found.unwrap();
    assert!((found - expected).abs() < within, "{found} {expected}");
}

fn ratings(rows: &[&str]) -> Ratings {
    let mut ratings = Ratings::new((1..=rows.len()).map(|n| format!("coder {n}")));
    for at in 0..rows[0].len() {
        ratings.push(at.to_string(), rows.iter().map(|row| Some(&row[at..=at])));
    }
    ratings
}

/// Kappa with linear and quadratic weights of a pair of raters.
fn weighted_kappas(ratings: &Ratings, a: usize, b: usize) -> [Option<f64>; 2] {
    [KappaWeights::Linear, KappaWeights::Quadratic]
        .map(|weights| ratings.weighted_cohen_kappa(a, b, weights))
}

fn nominal_alpha(ratings: &Ratings) -> Option<f64> {
    ratings.krippendorff_alpha(MeasurementLevel::Nominal)
}

#[test]
fn two_coders_two_categories() {
    let mut two = Ratings::new(["A", "B"]);
    let cells = [
        ("yes", "yes", 20),
        ("yes", "no", 5),
        ("no", "yes", 10),
        ("no", "no", 15),
    ];
    for (a, b, times) in cells {
        (0..times).for_each(|n| two.push(format!("{a} {b} {n}"), [Some(a), Some(b)]));
    }
    close(two.observed_agreement(), 0.7, 1e-12);
    close(two.cohen_kappa(0, 1), 0.4, 1e-12);
    close(two.davies_fleiss_kappa(), 0.4, 1e-12);
    close(two.fleiss_kappa(), 0.393_939, 5e-7);
    close(nominal_alpha(&two), 0.4, 1e-12);
    // Rows are A's ratings; "no" comes first.
    assert_eq!(two.confusion(0, 1).counts, [[15, 10], [5, 20]]);
}

#[test]
fn three_coders_and_seven_items() {
    let three = ratings(&["1123321", "1122322", "1223311"]);
    close(three.cohen_kappa(0, 1), 0.575_758, 5e-7);
    close(three.cohen_kappa(0, 2), 0.5625, 5e-7);
    close(three.cohen_kappa(1, 2), 0.151_515, 5e-7);
    close(three.mean_cohen_kappa(), 0.429_924, 5e-7);
    close(three.davies_fleiss_kappa(), 0.428_571, 5e-7);
    close(three.fleiss_kappa(), 0.416_667, 5e-7);
    close(nominal_alpha(&three), 0.444_444, 5e-7);
    close(three.observed_agreement(), 0.619_048, 5e-7);
}

#[test]
fn weighted_kappa() {
    let two = ratings(&["00112221", "01122201"]);
    close(two.cohen_kappa(0, 1), 0.428_571, 5e-7);
    let [linear, quadratic] = weighted_kappas(&two, 0, 1);
    close(linear, 0.407_407, 5e-7);
    close(quadratic, 0.384_615, 5e-7);
}

#[test]
fn undefined_coefficients() {
    let same = ratings(&["1111", "1111"]);
    assert_eq!(same.observed_agreement(), Some(1.0));
    let all = [
        same.cohen_kappa(0, 1),
        same.mean_cohen_kappa(),
        same.davies_fleiss_kappa(),
        same.fleiss_kappa(),
        same.weighted_cohen_kappa(0, 1, KappaWeights::Linear),
        same.krippendorff_alpha(MeasurementLevel::Ordinal),
    ];
    assert_eq!(all, [None; 6]);
    let none = Ratings::new(["A", "B"]);
    let all = [
        none.observed_agreement(),
        none.fleiss_kappa(),
        nominal_alpha(&none),
    ];
    assert_eq!(all, [None; 3]);
    // One coder agrees with nobody.
    assert_eq!(ratings(&["121"]).davies_fleiss_kappa(), None);
}

#[test]
fn ratings_from_qrels() {
    let (mut a, mut b) = (Qrels::new(), Qrels::new());
    for (doc, x, y) in [("d1", 2, 2), ("d2", 1, 0), ("d3", 0, 0), ("d4", 0, -1)] {
        a.insert("q", doc, x);
        b.insert("q", doc, y);
    }
    a.insert("q", "d5", 10);
    let both = Ratings::from_qrels([("a", &a), ("b", &b)]);
    assert_eq!((both.len(), both.complete_items()), (5, 3));
    close(both.observed_agreement(), 2.0 / 3.0, 1e-12);
    let labels: Vec<String> = both.categories().map(ToString::to_string).collect();
    assert_eq!(labels, ["0", "1", "2", "10"], "as numbers");
}

fn golden() -> Value {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../testdata/agreement/golden.json"
    );
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn table(value: &Value) -> Ratings {
    let rows = value.as_array().unwrap().iter();
    let rows: Vec<&Vec<Value>> = rows.map(|row| row.as_array().unwrap()).collect();
    let mut ratings = Ratings::new((0..rows.len()).map(|n| n.to_string()));
    for item in 0..rows[0].len() {
        ratings.push(item.to_string(), rows.iter().map(|row| row[item].as_i64()));
    }
    ratings
}

#[test]
fn agreement_equals_nltk_scikit_learn_and_krippendorff() {
    let golden = golden();
    for case in golden["ratings"].as_array().unwrap() {
        let (of, values) = (table(&case["table"]), &case["values"]);
        let number = |name: &str| values[name].as_f64().unwrap();
        close(of.observed_agreement(), number("observed"), 1e-9);
        close(of.mean_cohen_kappa(), number("mean_cohen"), 1e-9);
        close(of.davies_fleiss_kappa(), number("davies_fleiss"), 1e-9);
        close(of.fleiss_kappa(), number("fleiss"), 1e-9);
        close(nominal_alpha(&of), number("nltk_alpha"), 1e-9);
        for (n, (a, b)) in of.pairs().enumerate() {
            let number = |name: &str| values[name][n].as_f64().unwrap();
            close(of.cohen_kappa(a, b), number("cohen"), 1e-9);
            let [linear, quadratic] = weighted_kappas(&of, a, b);
            close(linear, number("linear"), 1e-9);
            close(quadratic, number("quadratic"), 1e-9);
        }
        let counts = serde_json::to_value(of.confusion(0, 1).counts).unwrap();
        assert_eq!(counts, values["confusion"]);
        let missing = table(&case["missing"]);
        for (level, name) in [
            (MeasurementLevel::Nominal, "nominal"),
            (MeasurementLevel::Ordinal, "ordinal"),
            (MeasurementLevel::Interval, "interval"),
        ] {
            for (ratings, alpha) in [(&of, "alpha"), (&missing, "missing_alpha")] {
                let expected = case[alpha][name].as_f64().unwrap();
                close(ratings.krippendorff_alpha(level), expected, 1e-9);
            }
        }
    }
}

fn numbers(value: &Value) -> Vec<f64> {
    let values = value.as_array().unwrap().iter();
    values.map(|value| value.as_f64().unwrap()).collect()
}

#[test]
fn tau_equals_scipy_and_rbo_equals_the_rbo_package() {
    let golden = golden();
    for case in golden["scores"].as_array().unwrap() {
        let tau = kendall_tau_b(&numbers(&case["x"]), &numbers(&case["y"]));
        close(tau, case["tau_b"].as_f64().unwrap(), 1e-9);
    }
    for case in golden["lists"].as_array().unwrap() {
        // Items are integers.
        let list = |name| {
            numbers(&case[name])
                .iter()
                .map(|&v| v as u32)
                .collect::<Vec<_>>()
        };
        let rbo = RankBiasedOverlap::new(&list("a"), &list("b"), case["p"].as_f64().unwrap());
        close(rbo.map(|rbo| rbo.ext), case["ext"].as_f64().unwrap(), 1e-9);
    }
}

/// Example in the README of the R package ircor (2019), by the authors of the paper on ties in AP
/// correlation. R rounds halves to even.
#[test]
fn ap_correlation_as_in_ircor() {
    let x = [0.06, 0.2, 0.27, 0.37, 0.57, 0.63, 0.66, 0.9, 0.91, 0.94];
    let y = [0.37, 0.06, 0.2, 0.27, 0.57, 0.66, 0.63, 0.91, 0.9, 0.94];
    close(kendall_tau_b(&x, &y), 0.777_777_8, 5e-8);
    close(tau_ap(&x, &y), 0.749_118_2, 5e-8);
    let ties = |v: &[f64]| -> Vec<f64> {
        v.iter()
            .map(|v| (v * 5.0).round_ties_even() / 5.0)
            .collect()
    };
    close(tau_ap(&x, &ties(&y)), 0.607_451_5, 5e-8);
    close(kendall_tau_b(&ties(&x), &ties(&y)), 0.75, 1e-12);
    close(tau_ap_b(&ties(&x), &ties(&y)), 0.626_984_1, 5e-8);
}

/// Expected values in the tests of pyircor, the Python version of ircor.
#[test]
fn ap_correlation_as_in_pyircor() {
    let x = [
        0.266, 0.573, 0.202, 0.945, 0.629, 0.206, 0.687, 0.77, 0.718, 0.38,
    ];
    let y = [
        0.263, 0.843, 0.728, 0.928, 0.08, 0.114, 0.467, 0.641, 0.973, 0.644,
    ];
    let x_ties = [0.3, 0.6, 0.2, 0.9, 0.6, 0.2, 0.7, 0.8, 0.7, 0.4];
    let y_ties = [0.3, 0.8, 0.7, 0.9, 0.1, 0.1, 0.5, 0.6, 1.0, 0.6];
    close(tau_ap(&x, &y), 0.2504, 5e-5);
    close(tau_ap(&x, &y_ties), 0.2692, 5e-5);
    close(tau_ap_b(&x, &y), 0.2880, 5e-5);
    close(tau_ap_b(&x_ties, &y_ties), 0.297, 5e-5);
    close(tau_ap_b(&y_ties, &x_ties), 0.297, 5e-5);
    assert_eq!(tau_ap_b(&x, &[0.0; 10]), None);
    assert_eq!(kendall_tau_b(&x, &[0.0; 10]), None);
    close(tau_ap(&x, &[0.0; 10]), 0.0, 1e-12);
}

#[test]
fn rbo_weights_as_in_the_paper() {
    // "With p = .9 the first 10 ranks have 86 % of the weight": the lower bound of equal lists.
    let list: Vec<u32> = (0..10).collect();
    let rbo = RankBiasedOverlap::new(&list, &list, 0.9).unwrap();
    close(Some(rbo.min), 0.86, 0.005);
    close(Some(rbo.ext), 1.0, 1e-12);
    close(Some(rbo.max()), 1.0, 1e-12);
    assert_eq!(RankBiasedOverlap::new::<u8>(&[], &[], 0.9), None);
    assert_eq!(RankBiasedOverlap::new(&[1], &[1], 1.0), None);
    let empty = RankBiasedOverlap::new(&[], &[1, 2], 0.9).unwrap();
    assert_eq!((empty.min, empty.ext), (0.0, 0.0));
}

fn tied_scores() -> impl Strategy<Value = Vec<(u8, u8)>> {
    prop::collection::vec((0..4_u8, 0..6_u8), 2..7)
}

/// All total orders that are consistent with the scores.
fn orders(left: &[usize], scores: &[f64]) -> Vec<Vec<usize>> {
    let Some(best) = left.iter().map(|&i| scores[i]).reduce(f64::max) else {
        return vec![Vec::new()];
    };
    let mut all = Vec::new();
    for &first in left.iter().filter(|&&i| scores[i] == best) {
        let rest: Vec<usize> = left.iter().copied().filter(|&i| i != first).collect();
        for mut order in orders(&rest, scores) {
            order.insert(0, first);
            all.push(order);
        }
    }
    all
}

/// AP correlation by the definition of Yilmaz et al.
fn naive_tau_ap(truth: &[f64], order: &[usize]) -> f64 {
    let fraction = |i: usize| {
        let right = order[..i]
            .iter()
            .filter(|&&above| truth[above] > truth[order[i]]);
        right.count() as f64 / i as f64
    };
    let n = order.len();
    2.0 * (1..n).map(fraction).sum::<f64>() / (n - 1) as f64 - 1.0
}

fn list() -> impl Strategy<Value = Vec<u8>> {
    Just((0..12_u8).collect::<Vec<_>>())
        .prop_shuffle()
        .prop_flat_map(|all| (0..12_usize).prop_map(move |n| all[..n].to_vec()))
}

/// Rank-biased overlap by definition: Σ (1 − p) p^(d−1) X_d / d.
fn naive_rbo(a: &[u32], b: &[u32], p: f64) -> f64 {
    (1..=a.len()).fold(0.0, |sum, d| {
        let (x, y): (HashSet<_>, HashSet<_>) = (a[..d].iter().collect(), b[..d].iter().collect());
        sum + (1.0 - p) * p.powi(d as i32 - 1) * x.intersection(&y).count() as f64 / d as f64
    })
}

proptest! {
    #[test]
    fn ties_are_averaged_over_their_orders(items in tied_scores()) {
        let estimate: Vec<f64> = items.iter().map(|i| f64::from(i.0)).collect();
        // A truth without ties.
        let truth: Vec<f64> = items.iter().enumerate().map(|(n, i)| f64::from(i.1) * 100.0 + n as f64).collect();
        let all: Vec<usize> = (0..items.len()).collect();
        let orders = orders(&all, &estimate);
        let sum: f64 = orders.iter().map(|order| naive_tau_ap(&truth, order)).sum();
        let found = tau_ap(&truth, &estimate).unwrap();
        prop_assert!((found - sum / orders.len() as f64).abs() < 1e-9);
        // tau-b by enumeration of all pairs.
        let (mut c, mut d, mut x, mut y) = (0.0, 0.0, 0.0_f64, 0.0_f64);
        let other: Vec<f64> = items.iter().map(|i| f64::from(i.1)).collect();
        for i in 0..items.len() {
            for j in 0..i {
                let sign = (estimate[i] - estimate[j]) * (other[i] - other[j]);
                c += f64::from(u8::from(sign > 0.0));
                d += f64::from(u8::from(sign < 0.0));
                x += f64::from(u8::from(estimate[i] != estimate[j]));
                y += f64::from(u8::from(other[i] != other[j]));
            }
        }
        match kendall_tau_b(&estimate, &other) {
            Some(tau) => prop_assert!((tau - (c - d) / (x * y).sqrt()).abs() < 1e-9),
            None => prop_assert!(x * y == 0.0),
        }
    }

    #[test]
    fn rbo_bounds(a in list(), b in list()) {
        let p = 0.7;
        let Some(rbo) = RankBiasedOverlap::new(&a, &b, p) else {
            prop_assert!(a.is_empty() && b.is_empty());
            return Ok(());
        };
        prop_assert_eq!(RankBiasedOverlap::new(&b, &a, p), Some(rbo));
        let wide = |list: &[u8]| -> Vec<u32> { list.iter().map(|&i| u32::from(i)).collect() };
        let (a, b) = (wide(&a), wide(&b));
        // Lower bound: no common items below.
        let fill = |list: &[u32], from: u32| -> Vec<u32> {
            list.iter().copied().chain(from..).take(120).collect()
        };
        let min = naive_rbo(&fill(&a, 1000), &fill(&b, 5000), p);
        prop_assert!((rbo.min - min).abs() < 1e-9, "{} {min}", rbo.min);
        // Upper bound: the next item is one that the other list contains already, or else new to
        // both.
        let (mut x, mut y) = (a.clone(), b.clone());
        for depth in 0..120 {
            let new = |mine: &[u32], other: &[u32]| {
                other[..other.len().min(depth + 1)].iter().copied().find(|i| !mine.contains(i))
            };
            if x.len() == depth {
                x.push(new(&x, &y).unwrap_or(1000 + depth as u32));
            }
            if y.len() == depth {
                y.push(new(&y, &x).unwrap_or(1000 + depth as u32));
            }
        }
        let max = naive_rbo(&x, &y, p);
        prop_assert!((rbo.max() - max).abs() < 1e-9, "{} {max}", rbo.max());
        prop_assert!(rbo.min <= rbo.ext + 1e-12 && rbo.ext <= rbo.max() + 1e-12);
    }
}
