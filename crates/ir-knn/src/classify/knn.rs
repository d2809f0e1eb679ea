//! kNN classification and its accuracy over folds.
//!
//! Rows are f64, because scores must equal the scores of scikit-learn, which computes distances in
//! f64: nearly equal distances decide votes.

use ir_core::{NoProgress, Progress, VectorSimilarity};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::classes::{Classes, SmallClass, StratifiedFoldsError};
use crate::matrix::{MatrixError, MatrixView, check_dense};
use crate::neighbors::{FoldFilter, Neighbor, nearest};

/// k-nearest-neighbor classification by majority vote: scikit-learn's
/// `KNeighborsClassifier(k, algorithm="brute")`.
///
/// The search is exact, in `f64`. Ties between equally distant rows are broken by row number, ties
/// between classes by the order of [`Classes`](crate::Classes).
///
/// Under Euclidean distance, rows must be zero or have a length from 1e-120 to 1e120: the squares
/// of others overflow or underflow. Cosine distance accepts any length, as do rows scaled by
/// [`normalize_rows`](crate::normalize_rows).
///
/// ```
/// use ir_knn::{Classes, KnnClassifier};
/// use ndarray::array;
/// let rows = array![[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]];
/// let classes = Classes::new(["low", "low", "low", "high", "high", "high"]);
/// let knn = KnnClassifier::new(2);
/// let predicted = knn.classify(&rows, &classes, &array![[8.0], [1.0]])?;
/// let names: Vec<&str> = predicted.iter().map(|&code| classes.name(code)).collect();
/// assert_eq!(names, ["high", "low"]);
/// // Quality of an embedding: accuracy over folds.
/// let accuracy = knn.cross_validate(&rows, &classes, 3)?;
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
pub struct KnnClassifier {
    /// Number of neighbors. Range: ≥ 1. Default: 10.
    pub k: usize,
    /// Distance between rows: squared Euclidean distance or cosine distance. The inner product is
    /// rejected. Default: Euclidean.
    pub metric: VectorSimilarity,
}

impl Default for KnnClassifier {
    /// Parameters of the ICLR benchmark: 10 neighbors, Euclidean distance.
    fn default() -> Self {
        Self::new(10)
    }
}

impl KnnClassifier {
    /// Creates a classifier with `k` neighbors by Euclidean distance.
    #[must_use]
    pub fn new(k: usize) -> Self {
        Self {
            k,
            metric: VectorSimilarity::Euclidean,
        }
    }

    ir_core::setters! { with_metric: metric, VectorSimilarity; }

    /// Returns the k nearest rows of `train` for each row of `test`, nearest first: scikit-learn's
    /// `kneighbors`.
    ///
    /// # Errors
    /// When the numbers of columns differ, `train` has fewer than k rows, k is 0, a component is
    /// not finite, a row is zero under cosine or out of range under Euclidean distance.
    pub fn neighbors<'a, 'b>(
        &self,
        train: impl Into<MatrixView<'a>>,
        test: impl Into<MatrixView<'b>>,
    ) -> Result<Vec<Vec<Neighbor>>, KnnError> {
        let (train, test) = (train.into(), test.into());
        self.check(train, train.nrows())?;
        self.check(test, train.nrows())?;
        let (expected, found) = (train.ncols(), test.ncols());
        if expected != found {
            return Err(KnnError::Dimensions { expected, found });
        }
        nearest(train, test, self.k, self.metric, None, &mut NoProgress).ok_or(KnnError::Canceled)
    }

    /// Returns the class of each row of `test`, as a [code](Classes::codes) of the classes of
    /// `train`.
    ///
    /// # Errors
    /// When the numbers of rows and classes differ, and as [`KnnClassifier::neighbors`].
    pub fn classify<'a, 'b>(
        &self,
        train: impl Into<MatrixView<'a>>,
        classes: &Classes,
        test: impl Into<MatrixView<'b>>,
    ) -> Result<Vec<u32>, KnnError> {
        let train = train.into();
        check_count(train, classes)?;
        Ok(majorities(&self.neighbors(train, test)?, classes))
    }

    /// Returns the accuracy over [stratified folds](Classes::stratified_folds) without shuffling:
    /// scikit-learn's `cross_validate(KNeighborsClassifier(k), rows, classes, cv=folds)`.
    ///
    /// # Errors
    /// When the numbers of rows and classes differ, the folds are invalid, fewer than k rows are
    /// outside of a fold, a component is not finite, a row is zero under cosine or out of range
    /// under Euclidean distance.
    pub fn cross_validate<'a>(
        &self,
        rows: impl Into<MatrixView<'a>>,
        classes: &Classes,
        folds: usize,
    ) -> Result<KnnAccuracy, KnnError> {
        self.cross_validate_with_progress(rows, classes, folds, &mut NoProgress)
    }

    /// Returns the accuracy as [`KnnClassifier::cross_validate`], and reports the rows compared: of
    /// sparse rows, the pairs of blocks.
    ///
    /// # Errors
    /// Returns the errors of [`KnnClassifier::cross_validate`], and [`KnnError::Canceled`] if
    /// `progress` cancels.
    pub fn cross_validate_with_progress<'a>(
        &self,
        rows: impl Into<MatrixView<'a>>,
        classes: &Classes,
        folds: usize,
        progress: &mut dyn Progress,
    ) -> Result<KnnAccuracy, KnnError> {
        let rows = rows.into();
        check_count(rows, classes)?;
        let folds = classes.stratified_folds(folds)?;
        let (assignment, sizes) = (&folds.assignment, folds.sizes);
        let largest = sizes.iter().copied().max().unwrap_or(0);
        self.check(rows, rows.nrows() - largest)?;
        let filter = FoldFilter {
            test: assignment,
            train: assignment,
        };
        let neighbors = nearest(rows, rows, self.k, self.metric, Some(filter), progress)
            .ok_or(KnnError::Canceled)?;
        let predicted = majorities(&neighbors, classes);
        let mut correct = vec![0_usize; sizes.len()];
        for ((predicted, code), &fold) in predicted.iter().zip(classes.codes()).zip(assignment) {
            correct[fold as usize] += usize::from(predicted == code);
        }
        let fraction = |(&correct, &size): (&usize, &usize)| correct as f64 / size as f64;
        Ok(KnnAccuracy {
            folds: correct.iter().zip(&sizes).map(fraction).collect(),
            sizes,
            small_classes: folds.small_classes,
        })
    }

    /// Checks k against the number of training rows, and all rows against the metric.
    fn check(&self, rows: MatrixView<'_>, train: usize) -> Result<(), KnnError> {
        let k = self.k;
        if k == 0 {
            return Err(KnnError::ZeroK);
        }
        if k > train {
            return Err(KnnError::TooFewRows { k, rows: train });
        }
        if self.metric == VectorSimilarity::InnerProduct {
            return Err(KnnError::InnerProduct);
        }
        let (metric, nrows) = (self.metric, rows.nrows());
        match rows {
            MatrixView::Dense(rows) => {
                check_dense(rows)?;
                check_rows(metric, nrows, |row| rows.row(row).into_iter().copied())
            }
            MatrixView::Sparse(rows) => {
                check_rows(metric, nrows, |row| rows.row(row).map(|(_, value)| value))
            }
        }
    }
}

/// Returns an error for the first row that the metric does not accept.
fn check_rows<I: Iterator<Item = f64> + Clone>(
    metric: VectorSimilarity,
    nrows: usize,
    row: impl Fn(usize) -> I + Sync,
) -> Result<(), KnnError> {
    let rejected = |&number: &usize| {
        let mut values = row(number);
        if metric == VectorSimilarity::Cosine {
            values.all(|value| value == 0.0)
        } else {
            // The 32-bit bounds of sparse rows have the narrowest range.
            let square: f64 = values.clone().map(|value| value * value).sum();
            !(1e-240..=1e240).contains(&square) && !values.all(|value| value == 0.0)
        }
    };
    match (0..nrows).into_par_iter().find_first(rejected) {
        None => Ok(()),
        Some(row) if metric == VectorSimilarity::Cosine => Err(KnnError::ZeroVector { row }),
        Some(number) => Err(KnnError::Length {
            row: number,
            // Without squares, which may overflow or underflow.
            found: row(number).fold(0.0, f64::hypot),
        }),
    }
}

/// Returns an error unless there is one class per row.
fn check_count(rows: MatrixView<'_>, classes: &Classes) -> Result<(), KnnError> {
    let (rows, classes) = (rows.nrows(), classes.len());
    if rows == classes {
        Ok(())
    } else {
        Err(KnnError::ClassCount { rows, classes })
    }
}

/// Returns the most frequent class of each list; of several, the first in the order of the classes.
fn majorities(neighbors: &[Vec<Neighbor>], classes: &Classes) -> Vec<u32> {
    let majority = |neighbors: &Vec<Neighbor>| {
        let codes = neighbors.iter();
        let code = |neighbor: &Neighbor| classes.codes()[neighbor.row as usize];
        let mut codes: Vec<u32> = codes.map(code).collect();
        codes.sort_unstable();
        let (mut winner, mut most) = (0, 0);
        for same in codes.chunk_by(|a, b| a == b) {
            if same.len() > most {
                (winner, most) = (same[0], same.len());
            }
        }
        winner
    };
    neighbors.par_iter().map(majority).collect()
}

/// Accuracy of kNN classification over folds.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct KnnAccuracy {
    /// Accuracy of each fold. Range: 0..=1.
    pub folds: Vec<f64>,
    /// Number of test rows of each fold.
    pub sizes: Vec<usize>,
    /// Classes with fewer rows than folds.
    pub small_classes: Vec<SmallClass>,
}

impl KnnAccuracy {
    /// Returns the unweighted mean over the folds.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.folds.iter().sum::<f64>() / self.folds.len() as f64
    }
}

/// Error of a kNN search or classification.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "fields are named in the messages")]
pub enum KnnError {
    /// The number of neighbors is 0.
    #[error("k: expected a number ≥ 1, found 0")]
    ZeroK,
    /// There are fewer than k training rows.
    #[error("expected at least k = {k} training rows, found {rows}")]
    TooFewRows { k: usize, rows: usize },
    /// The number of classes differs from the number of rows.
    #[error("expected one class per row, found {rows} rows and {classes} classes")]
    ClassCount { rows: usize, classes: usize },
    /// The metric is the inner product, which is not a distance.
    #[error("metric: expected euclidean or cosine, found inner-product")]
    InnerProduct,
    /// Training and test rows have different numbers of dimensions.
    #[error("expected vectors of {expected} dimensions, found {found}")]
    Dimensions { expected: usize, found: usize },
    /// A dense matrix has no columns or a component that is not finite.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
    /// A row is zero, so its cosine is undefined.
    #[error("row {row}: expected a non-zero vector for the cosine, found zeros")]
    ZeroVector { row: usize },
    /// A row is too long or too short for a Euclidean distance.
    #[error("row {row}: expected a length of 0 or from 1e-120 to 1e120, found {found:e}")]
    Length { row: usize, found: f64 },
    /// The caller's [`Progress`] canceled the operation.
    #[error("canceled")]
    Canceled,
    /// The stratified folds are invalid.
    #[error(transparent)]
    Folds(#[from] StratifiedFoldsError),
}
