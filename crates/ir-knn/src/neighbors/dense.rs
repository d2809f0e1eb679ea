//! Dense matrices: matrix products block by block.

use ir_core::Progress;
use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayView2, Axis, s};
use rayon::prelude::*;

use super::{NearestK, Neighbor, SearchParams, in_groups};

/// Test rows and training rows of a block. Their products fit into the L2 cache.
const TEST_ROWS: usize = 64;
const TRAIN_ROWS: usize = 256;
/// Test rows between two reports of progress.
const REPORTED_ROWS: usize = 1024;

/// Returns the nearest rows. `distance` is [`distance`](super::distance) of one metric.
pub(super) fn nearest(
    train: ArrayView2<'_, f64>,
    test: ArrayView2<'_, f64>,
    SearchParams { k, folds, .. }: SearchParams<'_>,
    progress: &mut dyn Progress,
    distance: impl Fn(f64, f64, f64) -> f64 + Sync,
) -> Option<Vec<Vec<Neighbor>>> {
    let (train_squares, test_squares) = (squared_lengths(train), squared_lengths(test));
    let search_block = |block: &[usize]| {
        let first = block[0];
        let rows = test.slice(s![first..first + block.len(), ..]);
        let count = rows.nrows();
        // One row per training row, so that the products of a training row are contiguous.
        let mut products = Array2::zeros((TRAIN_ROWS, count));
        let mut best: Vec<NearestK> = (0..count).map(|_| NearestK::new(k)).collect();
        for (block, train_rows) in train.axis_chunks_iter(Axis(0), TRAIN_ROWS).enumerate() {
            let before = block * TRAIN_ROWS;
            let mut products = products.slice_mut(s![..train_rows.nrows(), ..]);
            general_mat_mul(1.0, &train_rows, &rows.t(), 0.0, &mut products);
            for (train_row, products) in products.rows().into_iter().enumerate() {
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
    let test_rows: Vec<usize> = (0..test.nrows()).collect();
    let mut neighbors = Vec::with_capacity(test.nrows());
    in_groups(&test_rows, REPORTED_ROWS, progress, |rows| {
        neighbors.par_extend(rows.par_chunks(TEST_ROWS).flat_map_iter(search_block));
    })?;
    Some(neighbors)
}

fn squared_lengths(rows: ArrayView2<'_, f64>) -> Vec<f64> {
    let square = |row| rows.row(row).iter().map(|value| value * value).sum();
    (0..rows.nrows()).into_par_iter().map(square).collect()
}
