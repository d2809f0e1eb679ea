//! Exact k-nearest-neighbor search in dense and sparse matrices.

mod block;
mod dense;
mod fold_order;
mod scan;
mod sparse;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

pub(crate) use self::scan::{DistanceScan, SparseRow};
use crate::matrix::{CsrMatrix, MatrixView};

/// Distance between two vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum DistanceMetric {
    /// Squared Euclidean distance, computed as ‖x‖² − 2x·y + ‖y‖² as in scikit-learn: distances
    /// that are equal in exact arithmetic may differ in their last bits. Range: ≥ 0.
    #[default]
    Euclidean,
    /// Cosine distance, 1 − cosine. Range: 0..=2.
    Cosine,
}

/// Neighbor of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Neighbor {
    /// Row number in the training matrix, from 0.
    pub row: u32,
    /// Distance by the [`DistanceMetric`].
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
/// no row is zero under cosine.
pub(crate) fn nearest(
    train: MatrixView<'_>,
    test: MatrixView<'_>,
    k: usize,
    metric: DistanceMetric,
    folds: Option<FoldFilter<'_>>,
) -> Vec<Vec<Neighbor>> {
    let same = train.is_same(&test);
    match train {
        MatrixView::Dense(train) => {
            let converted;
            let test = match test {
                MatrixView::Dense(test) => test,
                MatrixView::Sparse(test) => {
                    converted = test.to_dense();
                    converted.view()
                }
            };
            let test = (!same).then(|| test.as_standard_layout());
            search(train.as_standard_layout(), test, metric, k, folds)
        }
        MatrixView::Sparse(train) => {
            let test = match test {
                _ if same => None,
                MatrixView::Dense(test) => Some(Cow::Owned(CsrMatrix::from_dense(test))),
                MatrixView::Sparse(test) => Some(Cow::Borrowed(test)),
            };
            search(Cow::Borrowed(train), test, metric, k, folds)
        }
    }
}

/// Parameters of a search.
#[derive(Clone, Copy)]
struct SearchParams<'a> {
    k: usize,
    folds: Option<FoldFilter<'a>>,
    /// Squared Euclidean distance of two rows at distance 1.
    unit: f64,
}

/// Matrix whose rows can be searched.
trait SearchMatrix {
    /// Scales every row to Euclidean length 1.
    fn normalize_rows(&mut self);

    /// Returns the nearest rows. `distance` maps the inner product of two rows and the squared
    /// lengths of the test row and the training row to their distance. Without `test`, the training
    /// rows are the test rows.
    fn search(
        train: &Self,
        test: Option<&Self>,
        params: SearchParams<'_>,
        distance: impl Fn(f64, f64, f64) -> f64 + Sync,
    ) -> Vec<Vec<Neighbor>>;
}

fn search<M: SearchMatrix>(
    mut train: M,
    mut test: Option<M>,
    metric: DistanceMetric,
    k: usize,
    folds: Option<FoldFilter<'_>>,
) -> Vec<Vec<Neighbor>> {
    let params = |unit| SearchParams { k, folds, unit };
    match metric {
        DistanceMetric::Cosine => {
            train.normalize_rows();
            if let Some(test) = &mut test {
                test.normalize_rows();
            }
            M::search(&train, test.as_ref(), params(2.0), |product, _, _| {
                (1.0 - product).clamp(0.0, 2.0)
            })
        }
        DistanceMetric::Euclidean => {
            M::search(&train, test.as_ref(), params(1.0), |product, one, other| {
                // Rounding may yield a negative number.
                (one - 2.0 * product + other).max(0.0)
            })
        }
    }
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
