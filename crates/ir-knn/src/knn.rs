//! Classification by the nearest rows, and its accuracy.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::Rows;
use crate::labels::{FoldsError, Labels, SmallClass};
use crate::nearest::{Folds, Metric, Neighbour, nearest};

/// Classification by the k nearest rows, with one vote each: scikit-learn's
/// `KNeighborsClassifier(k, algorithm="brute")`.
///
/// Every row is compared with every row, in 64 bits. Of rows equally far, those with the lower
/// number count as nearer; of classes with equally many votes, the first in the order of
/// [`Labels`](crate::Labels) wins.
///
/// By Euclidean distance, rows must be zero or of a length from 1e-120 to 1e120: the squares of others
/// leave what 64 bits hold. The cosine takes any length; [`DenseRows::normalize`] and
/// [`SparseRows::normalize`] do so too.
///
/// [`DenseRows::normalize`]: crate::DenseRows::normalize
/// [`SparseRows::normalize`]: crate::SparseRows::normalize
///
/// ```
/// use ir_knn::{DenseRows, Knn, Labels};
/// let rows = DenseRows::of(&[[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])?;
/// let labels = Labels::new(["low", "low", "low", "high", "high", "high"]);
/// let knn = Knn::new(2);
/// let found = knn.classify(&rows, &labels, &DenseRows::of(&[[8.0], [1.0]])?)?;
/// assert_eq!(found.iter().map(|&code| labels.class(code)).collect::<Vec<_>>(), ["high", "low"]);
/// // The quality of an embedding: accuracy over folds.
/// let accuracy = knn.cross_validate(&rows, &labels, 3)?;
/// assert_eq!(accuracy.folds, [1.0, 1.0, 1.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Source
/// Cover and Hart, "Nearest neighbor pattern classification", IEEE Transactions on Information
/// Theory 13(1), 1967. As a benchmark of embeddings: González-Márquez and Kobak, "Learning
/// representations of learning representations", 2024.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Knn {
    /// How many rows vote, from 1. Default 10.
    pub k: usize,
    /// Which rows are near. Default: Euclidean.
    pub metric: Metric,
}

impl Default for Knn {
    /// What the ICLR benchmark uses: 10, Euclidean.
    fn default() -> Self {
        Self {
            k: 10,
            metric: Metric::Euclidean,
        }
    }
}

impl Knn {
    /// The nearest `k` by Euclidean distance.
    #[must_use]
    pub fn new(k: usize) -> Self {
        Self {
            k,
            ..Self::default()
        }
    }

    /// By another distance.
    #[must_use]
    pub fn by(mut self, metric: Metric) -> Self {
        self.metric = metric;
        self
    }

    /// The k rows of `train` nearest to each row of `test`, nearest first.
    ///
    /// # Errors
    /// When dimensions differ, there are fewer than k rows to find, k is 0, a vector of zeros has no
    /// direction that the cosine could compare, or one is too long or short for a Euclidean distance.
    pub fn nearest<'a, 'b>(
        &self,
        train: impl Into<Rows<'a>>,
        test: impl Into<Rows<'b>>,
    ) -> Result<Vec<Vec<Neighbour>>, KnnError> {
        let (train, test) = (train.into(), test.into());
        self.check(train, train.len())?;
        self.check(test, train.len())?;
        let (expected, found) = (train.dim(), test.dim());
        if expected != found {
            return Err(KnnError::Dimensions { expected, found });
        }
        Ok(nearest(train, test, self.k, self.metric, None))
    }

    /// The class of each row of `test`, as a [code](Labels::codes) of the labels of `train`.
    ///
    /// # Errors
    /// When rows and labels differ in number, and as [`Knn::nearest`].
    pub fn classify<'a, 'b>(
        &self,
        train: impl Into<Rows<'a>>,
        labels: &Labels,
        test: impl Into<Rows<'b>>,
    ) -> Result<Vec<u32>, KnnError> {
        let train = train.into();
        fit(train, labels)?;
        let nearest = self.nearest(train, test)?;
        let vote = |near: &Vec<Neighbour>| vote(near, labels);
        Ok(nearest.par_iter().map(vote).collect())
    }

    /// How often the class of a row is that of its neighbours in the other folds.
    ///
    /// The folds are [stratified](Labels::stratified_folds) and not shuffled: scikit-learn's
    /// `cross_validate(KNeighborsClassifier(k), rows, labels, cv=folds)`.
    ///
    /// # Errors
    /// When rows and labels differ in number, the folds cannot be made, the rows outside of a fold
    /// are fewer than k, a row is zero under cosine, or too long or short for a Euclidean distance.
    pub fn cross_validate<'a>(
        &self,
        rows: impl Into<Rows<'a>>,
        labels: &Labels,
        folds: usize,
    ) -> Result<Accuracy, KnnError> {
        let rows = rows.into();
        fit(rows, labels)?;
        let folds = labels.stratified_folds(folds)?;
        let sizes = folds.sizes();
        let largest = sizes.iter().copied().max().unwrap_or(0);
        self.check(rows, rows.len() - largest)?;
        let of_items = folds.of_items();
        let both = Folds {
            test: of_items,
            train: of_items,
        };
        let nearest = nearest(rows, rows, self.k, self.metric, Some(both));
        let votes: Vec<u32> = nearest.par_iter().map(|near| vote(near, labels)).collect();
        let mut right = vec![0_usize; folds.count()];
        for ((vote, code), &fold) in votes.iter().zip(labels.codes()).zip(of_items) {
            right[fold as usize] += usize::from(vote == code);
        }
        let share = |(&right, &size): (&usize, &usize)| right as f64 / size as f64;
        Ok(Accuracy {
            folds: right.iter().zip(&sizes).map(share).collect(),
            sizes,
            small: folds.small().to_vec(),
        })
    }

    fn check(&self, rows: Rows<'_>, train: usize) -> Result<(), KnnError> {
        let k = self.k;
        if k == 0 {
            return Err(KnnError::Nobody);
        }
        if k > train {
            return Err(KnnError::TooFew { k, rows: train });
        }
        let wrong = |values: &[f64]| match self.metric {
            Metric::Cosine => values.iter().all(|&value| value == 0.0),
            Metric::Euclidean => !measurable(values),
        };
        let of = |row: usize| match rows {
            Rows::Dense(rows) => rows.row(row),
            Rows::Sparse(rows) => rows.parts(row).1,
        };
        match (0..rows.len())
            .into_par_iter()
            .find_first(|&row| wrong(of(row)))
        {
            None => Ok(()),
            Some(row) if self.metric == Metric::Cosine => Err(KnnError::ZeroVector { row }),
            Some(row) => Err(KnnError::Length {
                row,
                found: length(of(row)),
            }),
        }
    }
}

/// Whether the square of a row's length, and what is computed of two of them, keeps its digits. The
/// bounds of sparse rows, in 32 bits, are the narrowest.
fn measurable(values: &[f64]) -> bool {
    let square: f64 = values.iter().map(|value| value * value).sum();
    (1e-240..=1e240).contains(&square) || values.iter().all(|&value| value == 0.0)
}

/// The length, also where squares are lost.
fn length(values: &[f64]) -> f64 {
    values
        .iter()
        .fold(0.0, |length: f64, &value| length.hypot(value))
}

/// Rows and labels must be as many.
fn fit(rows: Rows<'_>, labels: &Labels) -> Result<(), KnnError> {
    let (rows, labels) = (rows.len(), labels.len());
    if rows == labels {
        Ok(())
    } else {
        Err(KnnError::Labels { rows, labels })
    }
}

/// The class with the most votes, of several the first.
fn vote(near: &[Neighbour], labels: &Labels) -> u32 {
    let mut codes: Vec<u32> = near
        .iter()
        .map(|neighbour| labels.codes()[neighbour.row as usize])
        .collect();
    codes.sort_unstable();
    let (mut winner, mut most) = (0, 0);
    for same in codes.chunk_by(|a, b| a == b) {
        if same.len() > most {
            (winner, most) = (same[0], same.len());
        }
    }
    winner
}

/// The outcome of [`Knn::cross_validate`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Accuracy {
    /// The share of rows classified rightly, fold by fold, from 0 to 1.
    pub folds: Vec<f64>,
    /// How many rows each fold tests.
    pub sizes: Vec<usize>,
    /// Classes with fewer rows than there are folds.
    pub small: Vec<SmallClass>,
}

impl Accuracy {
    /// The mean of the folds, each counted alike however many rows it has.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.folds.iter().sum::<f64>() / self.folds.len() as f64
    }

    /// The standard deviation of the folds (divided by their number), a rough measure of how much
    /// the mean owes to chance: folds share most of their training rows.
    #[must_use]
    pub fn deviation(&self) -> f64 {
        let mean = self.mean();
        let squares = self.folds.iter().map(|fold| (fold - mean).powi(2));
        (squares.sum::<f64>() / self.folds.len() as f64).sqrt()
    }
}

/// Why rows could not be classified.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum KnnError {
    /// Nobody votes.
    #[error("k: expected a number from 1, found 0")]
    Nobody,
    /// There are not enough rows to vote.
    #[error("expected at least k = {k} rows to search in, found {rows}")]
    TooFew {
        /// How many vote.
        k: usize,
        /// How many there are.
        rows: usize,
    },
    /// Not one label a row.
    #[error("expected one label a row, found {rows} rows and {labels} labels")]
    Labels {
        /// How many rows there are.
        rows: usize,
        /// How many labels there are.
        labels: usize,
    },
    /// Vectors of different lengths.
    #[error("expected vectors of {expected} dimensions, found {found}")]
    Dimensions {
        /// The length of those searched in.
        expected: usize,
        /// The length of those searched for.
        found: usize,
    },
    /// A vector without direction.
    #[error("row {row}: expected a vector with a direction for the cosine, found zeros")]
    ZeroVector {
        /// The row, from 0.
        row: usize,
    },
    /// A vector too long or too short for a Euclidean distance.
    #[error("row {row}: expected a length of 0 or from 1e-120 to 1e120, found {found:e}")]
    Length {
        /// The row, from 0.
        row: usize,
        /// Its length.
        found: f64,
    },
    /// The folds cannot be made.
    #[error(transparent)]
    Folds(#[from] FoldsError),
}
