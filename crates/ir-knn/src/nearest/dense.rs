//! Dense rows: blocks of all products at once.

use nalgebra::{DMatrix, DMatrixView};
use rayon::prelude::*;

use super::{Best, Folds, Neighbour, Side};
use crate::DenseRows;

/// Rows of one block of the test and of the training side: their products stay in the cache.
const TEST: usize = 64;
const TRAIN: usize = 256;

impl Side for DenseRows {
    fn normalize(&mut self) {
        DenseRows::normalize(self);
    }

    fn search(
        train: &Self,
        test: &Self,
        k: usize,
        folds: Option<Folds<'_>>,
        _: f64,
        distance: impl Fn(f64, f64, f64) -> f64 + Sync,
    ) -> Vec<Vec<Neighbour>> {
        blocks(train, test, k, folds, distance)
    }
}

fn blocks(
    train: &DenseRows,
    test: &DenseRows,
    k: usize,
    folds: Option<Folds<'_>>,
    distance: impl Fn(f64, f64, f64) -> f64 + Sync,
) -> Vec<Vec<Neighbour>> {
    let dim = train.dim();
    let (train_squares, test_squares) = (squares(train), squares(test));
    let tested = test.values().par_chunks(TEST * dim).enumerate();
    let search = |(block, rows): (usize, &[f64])| {
        let first = block * TEST;
        let count = rows.len() / dim;
        // Columns of these matrices are rows of ours.
        let rows = DMatrixView::from_slice(rows, dim, count).transpose();
        let mut products = DMatrix::zeros(count, TRAIN);
        let mut best: Vec<Best> = (0..count).map(|_| Best::new(k)).collect();
        for (block, others) in train.values().chunks(TRAIN * dim).enumerate() {
            let before = block * TRAIN;
            let others = DMatrixView::from_slice(others, dim, others.len() / dim);
            let mut products = products.columns_mut(0, others.ncols());
            products.gemm(1.0, &rows, &others, 0.0);
            for (other, products) in products.column_iter().enumerate() {
                let other = before + other;
                let square = train_squares[other];
                let fold = folds.map(|folds| folds.train[other]);
                let pairs = products.iter().zip(&test_squares[first..]).zip(&mut best);
                for (row, ((&product, &own), best)) in pairs.enumerate() {
                    let distance = distance(product, own, square);
                    if distance < best.worst
                        && folds.is_none_or(|folds| Some(folds.test[first + row]) != fold)
                    {
                        best.offer(other, distance);
                    }
                }
            }
        }
        best.into_iter().map(|best| best.kept).collect::<Vec<_>>()
    };
    tested.flat_map_iter(search).collect()
}

fn squares(rows: &DenseRows) -> Vec<f64> {
    let square = |row: &[f64]| row.iter().map(|value| value * value).sum();
    rows.values().par_chunks(rows.dim()).map(square).collect()
}
