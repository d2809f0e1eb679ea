//! Sparse rows: products term by term, through lists of the rows that have a column.

use rayon::prelude::*;

use super::{Best, Folds, Metric, Neighbour};
use crate::SparseRows;

pub(super) fn nearest(
    train: &SparseRows,
    test: &SparseRows,
    k: usize,
    metric: Metric,
    folds: Option<Folds<'_>>,
) -> Vec<Vec<Neighbour>> {
    if metric == Metric::Cosine {
        let (mut train, mut test) = (train.clone(), test.clone());
        train.normalize();
        test.normalize();
        return rows(&train, &test, k, folds, |product, _, _| {
            (1.0 - product).clamp(0.0, 2.0)
        });
    }
    rows(train, test, k, folds, |product, one, other| {
        // Rounding may lead below zero.
        (one - 2.0 * product + other).max(0.0)
    })
}

fn rows(
    train: &SparseRows,
    test: &SparseRows,
    k: usize,
    folds: Option<Folds<'_>>,
    distance: impl Fn(f64, f64, f64) -> f64 + Sync,
) -> Vec<Vec<Neighbour>> {
    let lists = train.transposed();
    let squares: Vec<f64> = (0..train.len()).map(|row| square(train, row)).collect();
    let search = |products: &mut Vec<f64>, row: usize| {
        products.clear();
        products.resize(train.len(), 0.0);
        for (column, value) in test.row(row) {
            let (others, values) = lists.parts(column as usize);
            for (&other, &weight) in others.iter().zip(values) {
                products[other as usize] += value * weight;
            }
        }
        let own = square(test, row);
        let fold = folds.map(|folds| folds.test[row]);
        let mut best = Best::new(k);
        for (other, (&product, &square)) in products.iter().zip(&squares).enumerate() {
            let distance = distance(product, own, square);
            if distance < best.worst && folds.is_none_or(|folds| Some(folds.train[other]) != fold) {
                best.offer(other, distance);
            }
        }
        best.kept
    };
    (0..test.len())
        .into_par_iter()
        .with_min_len(16)
        .map_init(Vec::new, search)
        .collect()
}

fn square(rows: &SparseRows, row: usize) -> f64 {
    rows.parts(row).1.iter().map(|value| value * value).sum()
}
