//! The k nearest rows, by comparing with every row.

mod block;
mod by_fold;
mod dense;
mod sparse;

use serde::{Deserialize, Serialize};

use crate::Rows;

/// How far apart two vectors are. Smaller is nearer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Metric {
    /// The square of the Euclidean distance, from 0, computed as ‖x‖² − 2x·y + ‖y‖² as
    /// scikit-learn does: distances that are equal on paper may differ in their last bits.
    #[default]
    Euclidean,
    /// 1 − cosine, from 0 to 2.
    Cosine,
}

/// One near row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Neighbour {
    /// Its number, from 0.
    pub row: u32,
    /// How far away it is, in the unit of the [`Metric`].
    pub distance: f64,
}

/// Which rows each row is compared with.
#[derive(Clone, Copy)]
pub(crate) struct Folds<'a> {
    /// The fold of each row that is searched for.
    pub(crate) test: &'a [u32],
    /// The fold of each row that is searched in; one of the same fold is passed over.
    pub(crate) train: &'a [u32],
}

/// For each row of `test`, the `k` nearest of `train`, nearest first; of rows equally far, those
/// with the lower number. There must be that many, and under cosine no row may be zero.
pub(crate) fn nearest(
    train: Rows<'_>,
    test: Rows<'_>,
    k: usize,
    metric: Metric,
    folds: Option<Folds<'_>>,
) -> Vec<Vec<Neighbour>> {
    match (train, test) {
        (Rows::Dense(train), Rows::Dense(test)) => by(train, test, k, metric, folds),
        (Rows::Sparse(train), Rows::Sparse(test)) => by(train, test, k, metric, folds),
        (Rows::Dense(train), Rows::Sparse(test)) => by(train, &test.to_dense(), k, metric, folds),
        (Rows::Sparse(train), Rows::Dense(test)) => by(train, &test.to_sparse(), k, metric, folds),
    }
}

/// Rows that can be compared with rows of their kind.
trait Side: Clone {
    /// Gives every row the length 1.
    fn normalize(&mut self);

    /// The nearest by a distance of the product of two rows, the square of the one searched for and
    /// that of the other. A distance of 1 is `unit` as a square of the Euclidean distance.
    fn search(
        train: &Self,
        test: &Self,
        k: usize,
        folds: Option<Folds<'_>>,
        unit: f64,
        distance: impl Fn(f64, f64, f64) -> f64 + Sync,
    ) -> Vec<Vec<Neighbour>>;
}

fn by<S: Side>(
    train: &S,
    test: &S,
    k: usize,
    metric: Metric,
    folds: Option<Folds<'_>>,
) -> Vec<Vec<Neighbour>> {
    match metric {
        Metric::Cosine => {
            let same = std::ptr::eq(train, test);
            let normalized = |rows: &S| {
                let mut rows = rows.clone();
                rows.normalize();
                rows
            };
            let train = normalized(train);
            let own = (!same).then(|| normalized(test));
            let test = own.as_ref().unwrap_or(&train);
            S::search(&train, test, k, folds, 2.0, |product, _, _| {
                (1.0 - product).clamp(0.0, 2.0)
            })
        }
        Metric::Euclidean => S::search(train, test, k, folds, 1.0, |product, one, other| {
            // Rounding may lead below zero.
            (one - 2.0 * product + other).max(0.0)
        }),
    }
}

/// The best k so far of one row.
struct Best {
    k: usize,
    /// Nearest first.
    kept: Vec<Neighbour>,
    /// What has to be beaten.
    worst: f64,
}

impl Best {
    fn new(k: usize) -> Self {
        Self {
            k,
            kept: Vec::with_capacity(k),
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
            self.insert(Neighbour {
                row: row as u32,
                distance,
            });
        }
    }

    /// Of rows equally far, the one with the lower number is nearer.
    #[cold]
    fn insert(&mut self, new: Neighbour) {
        let nearer = |old: &Neighbour| (old.distance, old.row) < (new.distance, new.row);
        let at = self.kept.partition_point(nearer);
        if at == self.k {
            return;
        }
        self.kept.truncate(self.k - 1);
        self.kept.insert(at, new);
        if self.kept.len() == self.k {
            self.worst = self.kept.last().map_or(f64::INFINITY, |last| last.distance);
        }
    }
}
