//! Losses against their formulas in f64, and gradients against finite differences.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeMap;

use ir_dense::burn::tensor::{Bool, Device, Tensor, TensorData};
use ir_dense::train::loss;
use serde::Deserialize;

use crate::common::testdata;

type Rows = Vec<Vec<f64>>;

/// Pseudo-random numbers between -1 and 1.
fn rows(rows: usize, columns: usize, seed: u64) -> Rows {
    let mut random = ir_core::SplitMix64::new(seed, 0);
    let mut next = || random.next_u64() as f64 / 2_f64.powi(63) - 1.0;
    (0..rows)
        .map(|_| (0..columns).map(|_| next() * 0.9).collect())
        .collect()
}

fn device() -> Device {
    crate::common::backend().device().unwrap()
}

fn tensor(rows: &Rows, device: &Device) -> Tensor<2> {
    let shape = [rows.len(), rows[0].len()];
    let values: Vec<f32> = rows.concat().iter().map(|&x| x as f32).collect();
    Tensor::from_data(TensorData::new(values, shape), device)
}

/// Compares value and gradient with those of a formula.
fn check(
    name: &str,
    scores: &Rows,
    ours: impl Fn(Tensor<2>) -> Tensor<1>,
    plain: impl Fn(&Rows) -> f64,
) {
    let leaf = tensor(scores, &device().autodiff()).require_grad();
    let value = ours(leaf.clone());
    let gradients = value.backward();
    let gradient = leaf.grad(&gradients).unwrap().into_data();
    let value: f32 = value.into_scalar();
    let expected = plain(scores);
    assert!(
        (f64::from(value) - expected).abs() < 1e-5 * expected.abs().max(1.0),
        "{name}: {value}, expected {expected}"
    );
    let columns = scores[0].len();
    let mut any = false;
    for (at, &found) in gradient.as_slice::<f32>().unwrap().iter().enumerate() {
        let moved = |by: f64| {
            let mut scores = scores.clone();
            scores[at / columns][at % columns] += by;
            plain(&scores)
        };
        let expected = (moved(1e-6) - moved(-1e-6)) / 2e-6;
        any |= expected.abs() > 1e-3;
        assert!(
            (f64::from(found) - expected).abs() < 1e-4,
            "{name}: gradient {at} is {found}, expected {expected}"
        );
    }
    assert!(any, "{name}: no gradient");
    // Without automatic differentiation.
    let alone: f32 = ours(tensor(scores, &device())).into_scalar();
    assert!((alone - value).abs() < 1e-6, "{name}");
}

const POSITIVES: [usize; 3] = [0, 2, 4];

fn log_softmax(row: &[f64], at: usize) -> f64 {
    row[at] - row.iter().map(|x| x.exp()).sum::<f64>().ln()
}

fn softmax(scores: &Rows) -> f64 {
    let rows = scores.iter().zip(POSITIVES);
    -rows.map(|(row, at)| log_softmax(row, at)).sum::<f64>() / scores.len() as f64
}

fn symmetric(scores: &Rows) -> f64 {
    let back = POSITIVES.iter().enumerate().map(|(query, &at)| {
        let column: Vec<f64> = scores.iter().map(|row| row[at]).collect();
        log_softmax(&column, query)
    });
    (softmax(scores) - back.sum::<f64>() / 3.0) / 2.0
}

fn pointwise(scores: &Rows, share: impl Fn(f64) -> f64) -> f64 {
    let mut sum = 0.0;
    for (row, positive) in scores.iter().zip(POSITIVES) {
        for (at, &score) in row.iter().enumerate() {
            let share = share(score);
            sum -= if at == positive {
                share.ln()
            } else {
                (1.0 - share).ln()
            };
        }
    }
    sum / scores.len() as f64
}

fn margin(scores: &Rows, margin: f64) -> f64 {
    let mut sum = 0.0;
    for (row, positive) in scores.iter().zip(POSITIVES) {
        let others = row.iter().enumerate().filter(|(at, _)| *at != positive);
        sum += others
            .map(|(_, score)| (margin - row[positive] + score).max(0.0))
            .sum::<f64>();
    }
    sum / (scores.len() * (scores[0].len() - 1)) as f64
}

fn kl_divergence(scores: &Rows, teacher: &Rows) -> f64 {
    let rows = scores.iter().zip(teacher).map(|(scores, teacher)| {
        let each = (0..scores.len()).map(|at| {
            let wanted = log_softmax(teacher, at);
            wanted.exp() * (wanted - log_softmax(scores, at))
        });
        each.sum::<f64>()
    });
    rows.sum::<f64>() / scores.len() as f64
}

fn margin_mse(scores: &Rows, teacher: &Rows) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for (scores, teacher) in scores.iter().zip(teacher) {
        for at in 1..scores.len() {
            sum += ((scores[0] - scores[at]) - (teacher[0] - teacher[at])).powi(2);
            count += 1.0;
        }
    }
    sum / count
}

#[test]
fn values_and_gradients_equal_formulas() {
    let (scores, teacher) = (rows(3, 6, 1), rows(3, 6, 2));
    let device = device();
    check(
        "softmax",
        &scores,
        |s| loss::softmax(s, &POSITIVES),
        softmax,
    );
    check(
        "symmetric",
        &scores,
        |s| loss::symmetric(s, &POSITIVES),
        symmetric,
    );
    let half = |s: &Rows| pointwise(s, |s| (1.0 + s) / 2.0);
    check(
        "pointwise",
        &scores,
        |s| loss::pointwise(s, &POSITIVES, None),
        half,
    );
    let logistic = |s: &Rows| pointwise(s, |s| 1.0 / (1.0 + (-5.0 * s).exp()));
    check(
        "scaled",
        &scores,
        |s| loss::pointwise(s, &POSITIVES, Some(5.0)),
        logistic,
    );
    check(
        "margin",
        &scores,
        |s| loss::margin(s, &POSITIVES, 0.3),
        |s| margin(s, 0.3),
    );
    let t = || tensor(&teacher, &device);
    check(
        "divergence",
        &scores,
        |s| {
            let teacher = tensor(&teacher, &s.device());
            loss::kl_divergence(s, teacher)
        },
        |s| kl_divergence(s, &teacher),
    );
    check(
        "margin mse",
        &scores,
        |s| {
            let teacher = tensor(&teacher, &s.device());
            loss::margin_mse(s, teacher)
        },
        |s| margin_mse(s, &teacher),
    );
    // Equal scores of teacher and student give zero.
    assert!(loss::kl_divergence(t(), t()).into_scalar::<f32>().abs() < 1e-6);
    assert!(loss::margin_mse(t(), t()).into_scalar::<f32>().abs() < 1e-6);
}

#[test]
fn softmax_of_equal_scores_is_ln_n() {
    let scores = Tensor::<2>::full([11, 88], 0.25, &device());
    let positives: Vec<usize> = (0..11).map(|query| 8 * query).collect();
    let value: f32 = loss::softmax(scores, &positives).into_scalar();
    assert!((value - 88_f32.ln()).abs() < 1e-5, "{value}");
}

#[test]
fn masked_candidates_have_no_effect() {
    let scores = rows(3, 6, 3);
    let device = device();
    // Column 5 of every row.
    let excluded: Vec<bool> = (0..18).map(|at| at % 6 == 5).collect();
    let excluded: Tensor<2, Bool> = Tensor::from_data(TensorData::new(excluded, [3, 6]), &device);
    let with = || loss::mask(tensor(&scores, &device), excluded.clone());
    let fewer: Rows = scores.iter().map(|row| row[..5].to_vec()).collect();
    let near = |found: Tensor<1>, expected: f64| {
        let found: f32 = found.into_scalar();
        assert!(
            (f64::from(found) - expected).abs() < 1e-5,
            "{found}, expected {expected}"
        );
    };
    near(loss::softmax(with(), &POSITIVES), softmax(&fewer));
    near(
        loss::pointwise(with(), &POSITIVES, Some(2.0)),
        pointwise(&fewer, |s| 1.0 / (1.0 + (-2.0 * s).exp())),
    );
    near(
        loss::pointwise(with(), &POSITIVES, None),
        pointwise(&fewer, |s| (1.0 + s) / 2.0),
    );
    // The divisor counts masked candidates.
    near(
        loss::margin(with(), &POSITIVES, 0.3),
        margin(&fewer, 0.3) * 4.0 / 5.0,
    );
}

fn binary_cross_entropy(logits: &Rows, labels: &Rows, positive_weight: f64) -> f64 {
    let pairs = logits.concat().into_iter().zip(labels.concat());
    let losses = pairs.map(|(logit, label)| {
        let p = 1.0 / (1.0 + (-logit).exp());
        -positive_weight * label * p.ln() - (1.0 - label) * (1.0 - p).ln()
    });
    losses.sum::<f64>() / logits.concat().len() as f64
}

fn rank_net(scores: &Rows) -> f64 {
    let mut losses = Vec::new();
    for (row, positive) in scores.iter().zip(POSITIVES) {
        for (at, score) in row.iter().enumerate() {
            if at != positive {
                losses.push((1.0 + (score - row[positive]).exp()).ln());
            }
        }
    }
    losses.iter().sum::<f64>() / losses.len() as f64
}

#[test]
fn losses_of_cross_encoders_equal_formulas() {
    let scores: Rows = rows(3, 6, 4);
    let labels: Rows = rows(3, 6, 5)
        .iter()
        .map(|row| row.iter().map(|x| x.abs()).collect())
        .collect();
    check(
        "binary cross-entropy",
        &scores,
        |s| {
            let labels = tensor(&labels, &s.device());
            loss::binary_cross_entropy(s, labels, 3.0)
        },
        |s| binary_cross_entropy(s, &labels, 3.0),
    );
    let logistic = |s: &Rows| {
        let score = |x: &f64| 10.0 / (1.0 + (-x).exp());
        softmax(
            &s.iter()
                .map(|row| row.iter().map(score).collect())
                .collect(),
        )
    };
    check(
        "multiple negatives",
        &scores,
        |s| loss::multiple_negatives(s, &POSITIVES, 10.0),
        logistic,
    );
    check(
        "rank net",
        &scores,
        |s| loss::rank_net(s, &POSITIVES),
        rank_net,
    );
}

/// Losses of `testdata/reranking.py`.
#[derive(Deserialize)]
struct GoldenLosses {
    shape: [usize; 2],
    scores: Vec<f64>,
    teacher: Vec<f64>,
    losses: BTreeMap<String, GoldenLoss>,
}

#[derive(Deserialize)]
struct GoldenLoss {
    value: f64,
    gradient: Vec<f64>,
}

#[test]
fn losses_of_cross_encoders_equal_pytorch() {
    let text = std::fs::read_to_string(testdata("reranking.json")).unwrap();
    let mut golden: serde_json::Value = serde_json::from_str(&text).unwrap();
    let golden: GoldenLosses = serde_json::from_value(golden["scores"].take()).unwrap();
    let to_rows = |values: &[f64]| {
        values
            .chunks(golden.shape[1])
            .map(<[f64]>::to_vec)
            .collect()
    };
    let (scores, teacher): (Rows, Rows) = (to_rows(&golden.scores), to_rows(&golden.teacher));
    let first = [0; 3];
    let leaf_device = device().autodiff();
    let teacher = tensor(&teacher, &leaf_device);
    let labels: Rows = vec![vec![1.0, 0.0, 0.0, 0.0, 0.0]; 3];
    assert_eq!(golden.losses.len(), 7);
    for (name, expected) in &golden.losses {
        let leaf = tensor(&scores, &leaf_device).require_grad();
        let (s, t) = (leaf.clone(), teacher.clone());
        let value = match &**name {
            "binary_cross_entropy" => {
                loss::binary_cross_entropy(s, tensor(&labels, &leaf_device), 3.0)
            }
            "soft_labels" => loss::binary_cross_entropy(s, t, 1.0),
            "softmax" => loss::softmax(s.div_scalar(0.5), &first),
            "multiple_negatives" => loss::multiple_negatives(s, &first, 10.0),
            "rank_net" => loss::rank_net(s, &first),
            "margin_mse" => loss::margin_mse(s, t),
            "kl_divergence" => loss::kl_divergence(s.div_scalar(2.0), t.div_scalar(2.0)),
            other => panic!("{other}"),
        };
        let gradients = value.backward();
        let gradient = leaf.grad(&gradients).unwrap().into_data();
        let value: f32 = value.into_scalar();
        let apart = (f64::from(value) - expected.value).abs();
        assert!(apart < 1e-6 * expected.value.max(1.0), "{name}: {value}");
        let gradient = gradient.as_slice::<f32>().unwrap();
        assert_eq!(gradient.len(), expected.gradient.len(), "{name}");
        for (found, expected) in gradient.iter().zip(&expected.gradient) {
            let apart = (f64::from(*found) - expected).abs();
            assert!(apart < 1e-6, "{name}: {found}, expected {expected}");
        }
    }
}
