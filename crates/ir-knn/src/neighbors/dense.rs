//! Dense matrices: matrix products block by block.

use nalgebra::{DMatrix, DMatrixView};
use rayon::prelude::*;

use super::{NearestK, Neighbor, SearchParams};

/// Test rows and training rows of a block, whose products fit into the L2 cache.
const TEST_ROWS: usize = 64;
const TRAIN_ROWS: usize = 256;

/// Returns the nearest rows of matrices in row-major order. `distance` is that of the metric.
pub(super) fn nearest(
    train: &[f64],
    test: &[f64],
    dim: usize,
    SearchParams { k, folds, .. }: SearchParams<'_>,
    distance: impl Fn(f64, f64, f64) -> f64 + Sync,
) -> Vec<Vec<Neighbor>> {
    let (train_squares, test_squares) = (squared_lengths(train, dim), squared_lengths(test, dim));
    let test_blocks = test.par_chunks(TEST_ROWS * dim).enumerate();
    let search_block = |(block, rows): (usize, &[f64])| {
        let first = block * TEST_ROWS;
        let count = rows.len() / dim;
        // nalgebra is column-major: columns of these matrices are rows.
        let rows = DMatrixView::from_slice(rows, dim, count).transpose();
        let mut products = DMatrix::zeros(count, TRAIN_ROWS);
        let mut best: Vec<NearestK> = (0..count).map(|_| NearestK::new(k)).collect();
        for (block, train_rows) in train.chunks(TRAIN_ROWS * dim).enumerate() {
            let before = block * TRAIN_ROWS;
            let train_rows = DMatrixView::from_slice(train_rows, dim, train_rows.len() / dim);
            let mut products = products.columns_mut(0, train_rows.ncols());
            products.gemm(1.0, &rows, &train_rows, 0.0);
            for (train_row, products) in products.column_iter().enumerate() {
                let train_row = before + train_row;
                let train_square = train_squares[train_row];
                let fold = folds.map(|folds| folds.train[train_row]);
                let pairs = products.iter().zip(&test_squares[first..]).zip(&mut best);
                for (row, ((&product, &test_square), best)) in pairs.enumerate() {
                    let distance = distance(product, test_square, train_square);
                    if distance < best.worst
                        && folds.is_none_or(|folds| Some(folds.test[first + row]) != fold)
                    {
                        best.offer(train_row, distance);
                    }
                }
            }
        }
        let neighbors = best.into_iter().map(|best| best.neighbors);
        neighbors.collect::<Vec<_>>()
    };
    test_blocks.flat_map_iter(search_block).collect()
}

fn squared_lengths(rows: &[f64], dim: usize) -> Vec<f64> {
    let square = |row: &[f64]| row.iter().map(|value| value * value).sum();
    rows.par_chunks(dim).map(square).collect()
}
