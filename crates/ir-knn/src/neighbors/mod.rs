//! Exact k-nearest-neighbor search in dense and sparse matrices.

mod block;
mod dense;
mod fold_order;
mod scan;
mod sparse;

use std::borrow::Cow;

use ir_core::{Flow, Progress, VectorSimilarity};

pub(crate) use self::scan::{DistanceScan, SparseRow};
use crate::matrix::{CsrMatrix, MatrixView, normalize};

/// Distance of two rows, from their inner product and squared lengths; rows have length 1 under the
/// cosine. Callers reject the inner product.
#[inline]
fn distance(metric: VectorSimilarity, product: f64, one: f64, other: f64) -> f64 {
    if metric == VectorSimilarity::Cosine {
        (1.0 - product).clamp(0.0, 2.0)
    } else {
        // ‖x‖² − 2x·y + ‖y‖² as in scikit-learn. Rounding may yield a negative number.
        (one - 2.0 * product + other).max(0.0)
    }
}

/// Squared Euclidean distance of two rows at distance 1.
fn unit(metric: VectorSimilarity) -> f64 {
    if metric == VectorSimilarity::Cosine {
        2.0
    } else {
        1.0
    }
}

/// Neighbor of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Neighbor {
    /// Row number in the training matrix, from 0.
    pub row: u32,
    /// Cosine distance, 1 − cosine, from 0 to 2; or squared Euclidean distance, computed as
    /// ‖x‖² − 2x·y + ‖y‖² as in scikit-learn: distances that are equal in exact arithmetic may
    /// differ in their last bits.
    pub distance: f64,
}

/// Folds of rows: rows of the same fold are not neighbors.
#[derive(Clone, Copy)]
pub(crate) struct FoldFilter<'a> {
    /// Fold of each test row.
    pub(crate) test: &'a [u32],
    /// Fold of each training row.
    pub(crate) train: &'a [u32],
}

/// Returns the `k` nearest training rows of each test row, nearest first; ties by row number.
///
/// The caller ensures that there are `k` training rows, that dense matrices have columns, and that
/// no row is zero under cosine. Returns `None` if `progress` cancels.
pub(crate) fn nearest(
    train: MatrixView<'_>,
    test: MatrixView<'_>,
    k: usize,
    metric: VectorSimilarity,
    folds: Option<FoldFilter<'_>>,
    progress: &mut dyn Progress,
) -> Option<Vec<Vec<Neighbor>>> {
    let same = train.is_same(&test);
    let params = SearchParams { k, metric, folds };
    let is_cosine = metric == VectorSimilarity::Cosine;
    match train {
        MatrixView::Dense(train) => {
            let dim = train.ncols();
            let converted;
            let test = match test {
                MatrixView::Dense(test) => test,
                MatrixView::Sparse(test) => {
                    converted = test.to_dense();
                    converted.view()
                }
            };
            let mut train = train.as_standard_layout();
            let mut test = (!same).then(|| test.as_standard_layout());
            if is_cosine {
                for rows in [Some(&mut train), test.as_mut()].into_iter().flatten() {
                    let values = rows.view_mut().into_slice().unwrap_or_default();
                    values.chunks_exact_mut(dim).for_each(normalize);
                }
            }
            let test = test.as_ref().unwrap_or(&train).view();
            let train = train.view();
            // Compiled per metric: in few dimensions, a branch per pair takes time.
            if is_cosine {
                dense::nearest(train, test, params, progress, |p, a, b| {
                    distance(VectorSimilarity::Cosine, p, a, b)
                })
            } else {
                dense::nearest(train, test, params, progress, |p, a, b| {
                    distance(VectorSimilarity::Euclidean, p, a, b)
                })
            }
        }
        MatrixView::Sparse(train) => {
            let mut train = Cow::Borrowed(train);
            let mut test = match test {
                _ if same => None,
                MatrixView::Dense(test) => Some(Cow::Owned(CsrMatrix::from_dense(test))),
                MatrixView::Sparse(test) => Some(Cow::Borrowed(test)),
            };
            if is_cosine {
                train.to_mut().normalize_rows();
                test.iter_mut()
                    .for_each(|test| test.to_mut().normalize_rows());
            }
            sparse::nearest(&train, test.as_deref(), params, progress)
        }
    }
}

/// Calls `each` for groups of `items` and reports progress after each group. Returns `None` if
/// `progress` cancels.
fn in_groups<T>(
    items: &[T],
    size: usize,
    progress: &mut dyn Progress,
    mut each: impl FnMut(&[T]),
) -> Option<()> {
    let total = Some(items.len() as u64);
    let mut done = 0;
    for group in items.chunks(size) {
        if progress.report("comparing", done, total) == Flow::Stop {
            return None;
        }
        each(group);
        done += group.len() as u64;
    }
    Some(())
}

/// Parameters of a search.
#[derive(Clone, Copy)]
struct SearchParams<'a> {
    k: usize,
    metric: VectorSimilarity,
    folds: Option<FoldFilter<'a>>,
}

/// The nearest rows found so far of one row.
struct NearestK {
    k: usize,
    /// Neighbors in ascending order of distance.
    neighbors: Vec<Neighbor>,
    /// Distance of the last of `k` neighbors; infinite while there are fewer.
    worst: f64,
}

impl NearestK {
    fn new(k: usize) -> Self {
        Self {
            k,
            neighbors: Vec::with_capacity(k),
            worst: if k == 0 {
                f64::NEG_INFINITY
            } else {
                f64::INFINITY
            },
        }
    }

    #[inline]
    fn offer(&mut self, row: usize, distance: f64) {
        if distance <= self.worst {
            self.insert(Neighbor {
                row: row as u32,
                distance,
            });
        }
    }

    /// Inserts a neighbor by distance; ties by row number.
    #[cold]
    fn insert(&mut self, new: Neighbor) {
        let nearer = |old: &Neighbor| (old.distance, old.row) < (new.distance, new.row);
        let at = self.neighbors.partition_point(nearer);
        if at == self.k {
            return;
        }
        self.neighbors.truncate(self.k - 1);
        self.neighbors.insert(at, new);
        if self.neighbors.len() == self.k {
            self.worst = self
                .neighbors
                .last()
                .map_or(f64::INFINITY, |last| last.distance);
        }
    }
}
