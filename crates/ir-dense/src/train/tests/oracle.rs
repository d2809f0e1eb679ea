//! Reference BERT in f64, one element at a time.

use std::collections::BTreeMap;

use crate::model_folder::TransformerConfig;

/// Weights by parameter name, row-major.
pub(super) type Weights = BTreeMap<String, Vec<f64>>;

type Rows = Vec<Vec<f64>>;

/// Hidden state of every token of a text.
pub(super) fn forward(weights: &Weights, config: &TransformerConfig, ids: &[u32]) -> Rows {
    let hidden = config.hidden_size;
    let row = |table: &str, n: usize| weights[table][n * hidden..(n + 1) * hidden].to_vec();
    let mut x: Rows = Vec::new();
    for (place, &id) in ids.iter().enumerate() {
        let (word, position) = (
            row("token_embeddings", id as usize),
            row("position_embeddings", place),
        );
        let kind = row("token_type_embeddings", 0);
        x.push(
            (0..hidden)
                .map(|i| word[i] + position[i] + kind[i])
                .collect(),
        );
    }
    let mut x = norm(weights, "embedding_norm", config, &x);
    for layer in 0..config.layers {
        let name = |part: &str| format!("layers.{layer}.{part}");
        let qkv = linear(weights, &name("qkv"), &x);
        let seen = attention(&qkv, hidden, config.heads);
        let attended = add(&linear(weights, &name("output"), &seen), &x);
        let middle = norm(weights, &name("attention_norm"), config, &attended);
        let mut inner = linear(weights, &name("up"), &middle);
        for value in inner.iter_mut().flatten() {
            *value *= normal(*value);
        }
        let down = add(&linear(weights, &name("down"), &inner), &middle);
        x = norm(weights, &name("norm"), config, &down);
    }
    x
}

fn attention(qkv: &Rows, hidden: usize, heads: usize) -> Rows {
    let dim = hidden / heads;
    let mut seen = vec![vec![0.0; hidden]; qkv.len()];
    for head in 0..heads {
        let part = |row: &Vec<f64>, n: usize| row[n * hidden + head * dim..][..dim].to_vec();
        for (query, out) in qkv.iter().zip(&mut seen) {
            let query = part(query, 0);
            let scores: Vec<f64> = qkv
                .iter()
                .map(|key| {
                    let key = part(key, 1);
                    let product: f64 = query.iter().zip(&key).map(|(a, b)| a * b).sum();
                    (product / (dim as f64).sqrt()).exp()
                })
                .collect();
            let whole: f64 = scores.iter().sum();
            for (score, value) in scores.iter().zip(qkv) {
                for (i, value) in part(value, 2).iter().enumerate() {
                    out[head * dim + i] += score / whole * value;
                }
            }
        }
    }
    seen
}

fn linear(weights: &Weights, name: &str, x: &Rows) -> Rows {
    let (weight, bias) = (
        &weights[&format!("{name}.weight")],
        &weights[&format!("{name}.bias")],
    );
    let to = bias.len();
    let one = |row: &Vec<f64>| {
        (0..to)
            .map(|j| {
                let sum: f64 = row
                    .iter()
                    .enumerate()
                    .map(|(i, x)| x * weight[i * to + j])
                    .sum();
                sum + bias[j]
            })
            .collect()
    };
    x.iter().map(one).collect()
}

fn norm(weights: &Weights, name: &str, config: &TransformerConfig, x: &Rows) -> Rows {
    let (gamma, beta) = (
        &weights[&format!("{name}.gamma")],
        &weights[&format!("{name}.beta")],
    );
    let one = |row: &Vec<f64>| {
        let n = row.len() as f64;
        let mean = row.iter().sum::<f64>() / n;
        let variance = row.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n;
        let root = (variance + config.layer_norm_eps).sqrt();
        let scaled = row.iter().map(|x| (x - mean) / root);
        scaled
            .zip(gamma)
            .zip(beta)
            .map(|((x, gamma), beta)| x * gamma + beta)
            .collect()
    };
    x.iter().map(one).collect()
}

fn add(a: &Rows, b: &Rows) -> Rows {
    let rows = a.iter().zip(b);
    rows.map(|(a, b)| a.iter().zip(b).map(|(a, b)| a + b).collect())
        .collect()
}

/// Normal distribution function by its series about 0 (Abramowitz and Stegun 26.2.11).
fn normal(x: f64) -> f64 {
    let (mut term, mut sum, mut n) = (x, x, 1.0);
    while term.abs() > 1e-17 * sum.abs() && n < 400.0 {
        term *= x * x / (2.0 * n + 1.0);
        sum += term;
        n += 1.0;
    }
    0.5 + sum * (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

/// Softmax cross-entropy of the positives, from query vectors and document vectors.
pub(super) fn softmax(queries: &[Vec<f64>], documents: &[Vec<f64>], positives: &[usize]) -> f64 {
    let of = |query: &Vec<f64>, positive: usize| {
        let scores: Vec<f64> = documents
            .iter()
            .map(|document| query.iter().zip(document).map(|(a, b)| a * b).sum())
            .collect();
        let whole: f64 = scores.iter().map(|score: &f64| score.exp()).sum();
        whole.ln() - scores[positive]
    };
    let losses = queries
        .iter()
        .zip(positives)
        .map(|(query, &positive)| of(query, positive));
    losses.sum::<f64>() / queries.len() as f64
}
