//! Truncated singular value decomposition of sparse matrices.
//!
//! Randomized projections need many passes for the last of a hundred close singular values, and no
//! maintained crate has a sparse truncated SVD, hence Lanczos iteration. Block products and small
//! eigenproblems use nalgebra.

mod lanczos;

use ir_core::{Flow, NoProgress, Progress};
use ndarray::Array2;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::matrix::{CsrMatrix, MatrixError};

/// Configuration of a [`TruncatedSvd`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct TruncatedSvdConfig {
    /// Number of components (singular values and vectors). Range: ≥ 1. Default: 100.
    pub components: usize,
    /// Seed of the starting vector; results differ by rounding only. Default: 0.
    pub seed: u64,
    /// Maximum error of a squared singular value, relative to the largest one. Range: 1e-15..1.
    /// Default: 1e-12.
    pub tolerance: f64,
}

impl Default for TruncatedSvdConfig {
    fn default() -> Self {
        Self {
            components: 100,
            seed: 0,
            tolerance: 1e-12,
        }
    }
}

impl TruncatedSvdConfig {
    /// Creates the default configuration with this number of components.
    #[must_use]
    pub fn new(components: usize) -> Self {
        Self {
            components,
            ..Self::default()
        }
    }

    ir_core::setters! { with_seed: seed, u64; }
}

/// Truncated singular value decomposition (SVD) of a sparse matrix, as scikit-learn's
/// `TruncatedSVD` with ARPACK. Rows are not centered.
///
/// [`transform`](TruncatedSvd::transform) projects rows on the right singular vectors, so the rows
/// of the fit become U·Σ. The entry of largest magnitude of each right singular vector (the first
/// of equal ones) is positive, which fixes the signs. Components beyond the rank of the matrix
/// (singular values below 1e-7 of the largest) are zero. The same matrix and seed give the same
/// bytes on any number of threads.
///
/// ```
/// use ir_knn::{CsrMatrix, TruncatedSvd, TruncatedSvdConfig};
/// // (3, 0), (0, 2), (0, 0)
/// let rows = CsrMatrix::new(2, vec![0, 1, 2, 2], vec![0, 1], vec![3.0, 2.0])?;
/// let svd = TruncatedSvd::fit(&rows, &TruncatedSvdConfig::new(1))?;
/// assert!((svd.singular_values()[0] - 3.0).abs() < 1e-12);
/// assert!((svd.transform(&rows)?[[0, 0]] - 3.0).abs() < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Source
/// Deerwester and others, "Indexing by latent semantic analysis", JASIS 41(6), 1990. Eigenvectors
/// of the smaller of XXᵀ and XᵀX by the thick-restart Lanczos method (Wu and Simon, SIMAX 22(2),
/// 2000).
///
/// # Complexity
/// For n rows, d columns and k components: memory of 2k + 1 vectors of length min(n, d) and of two
/// copies of the matrix.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "SavedSvd")]
pub struct TruncatedSvd {
    config: TruncatedSvdConfig,
    singular_values: Vec<f64>,
    /// `[components, dim]`
    #[serde(rename = "directions", with = "crate::matrix::saved")]
    components: Array2<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedSvd {
    config: TruncatedSvdConfig,
    singular_values: Vec<f64>,
    #[serde(with = "crate::matrix::saved")]
    directions: Array2<f64>,
}

impl TryFrom<SavedSvd> for TruncatedSvd {
    type Error = String;

    fn try_from(saved: SavedSvd) -> Result<Self, String> {
        let (values, found) = (saved.singular_values.len(), saved.directions.nrows());
        if values != found {
            return Err(format!(
                "expected {values} singular vectors, one per singular value, found {found}"
            ));
        }
        Ok(Self {
            config: saved.config,
            singular_values: saved.singular_values,
            components: saved.directions,
        })
    }
}

/// Singular values below this fraction of the largest are rounding errors: they are square roots of
/// eigenvalues.
const RELATIVE_NOISE: f64 = 1e-7;

/// Number of Lanczos steps between two reports.
const REPORT_STEPS: u64 = 8;

impl TruncatedSvd {
    /// Decomposes a matrix.
    ///
    /// # Errors
    /// When the number of components is 0 or exceeds the number of rows or columns, the tolerance
    /// is out of range, all values are zero, or the iteration does not converge.
    pub fn fit(rows: &CsrMatrix, config: &TruncatedSvdConfig) -> Result<Self, TruncatedSvdError> {
        Self::fit_with_progress(rows, config, &mut NoProgress)
    }

    /// Decomposes a matrix as [`TruncatedSvd::fit`], and reports the Lanczos steps; their total is
    /// unknown.
    ///
    /// # Errors
    /// Returns the errors of [`TruncatedSvd::fit`], and [`TruncatedSvdError::Canceled`] if
    /// `progress` cancels.
    pub fn fit_with_progress(
        rows: &CsrMatrix,
        config: &TruncatedSvdConfig,
        progress: &mut dyn Progress,
    ) -> Result<Self, TruncatedSvdError> {
        let (len, dim, wanted) = (rows.nrows(), rows.ncols(), config.components);
        if wanted == 0 || wanted > len.min(dim) {
            return Err(TruncatedSvdError::Components {
                found: wanted,
                rows: len,
                columns: dim,
            });
        }
        if !(1e-15..1.0).contains(&config.tolerance) {
            let found = config.tolerance;
            return Err(TruncatedSvdError::Tolerance { found });
        }
        let values = rows.values().iter();
        let largest = values.fold(0.0, |max_abs: f64, value| max_abs.max(value.abs()));
        if largest == 0.0 {
            return Err(TruncatedSvdError::Zero);
        }
        // Scaling keeps fourth powers of the values in range.
        let mut scaled = rows.clone();
        scaled.divide(largest);
        let columns = scaled.transpose();
        let (short, long) = if len <= dim {
            (&scaled, &columns)
        } else {
            (&columns, &scaled)
        };
        let (mut steps, mut flow) = (0_u64, Flow::Continue);
        let operator = |vector: &[f64]| {
            if steps.is_multiple_of(REPORT_STEPS) {
                flow = progress.report("decomposing", steps, None);
            }
            steps += 1;
            (flow == Flow::Continue).then(|| short.dot(&long.dot(vector)))
        };
        let size = short.nrows();
        let found = lanczos::largest(operator, size, wanted, config.tolerance, config.seed);
        let (values, vectors) = found.ok_or(match flow {
            Flow::Stop => TruncatedSvdError::Canceled,
            Flow::Continue => TruncatedSvdError::NotConverged { components: wanted },
        })?;
        let roots: Vec<f64> = values.iter().map(|v| v.max(0.0).sqrt()).collect();
        let is_noise = |root: f64| root <= RELATIVE_NOISE * roots[0];
        let mut components = Array2::zeros((wanted, dim));
        let rows = components.as_slice_mut().unwrap_or_default();
        let rows = rows.par_chunks_exact_mut(dim);
        let vectors = vectors.par_chunks_exact(size).zip(&roots);
        rows.zip(vectors).for_each(|(component, (vector, &root))| {
            if is_noise(root) {
                return;
            }
            if len <= dim {
                for (component, product) in component.iter_mut().zip(long.dot(vector)) {
                    *component = product / root;
                }
            } else {
                component.copy_from_slice(vector);
            }
            fix_sign(component);
        });
        let value = |&root: &f64| if is_noise(root) { 0.0 } else { root * largest };
        Ok(Self {
            config: *config,
            singular_values: roots.iter().map(value).collect(),
            components,
        })
    }

    /// Projects rows on the right singular vectors: X·V, shape `[rows, components]`.
    ///
    /// # Errors
    /// If the number of columns differs from the rows of the fit.
    pub fn transform(&self, rows: &CsrMatrix) -> Result<Array2<f64>, MatrixError> {
        MatrixError::check_dimensions(self.components.ncols(), rows.ncols())?;
        Ok(self.project(rows))
    }

    /// Projects rows with the number of columns of the fit.
    pub(super) fn project(&self, rows: &CsrMatrix) -> Array2<f64> {
        // Transposed, so that the weights of one column of X lie in adjacent memory.
        let vectors = self.components.t().as_standard_layout().into_owned();
        rows.weighted_sums(&vectors, |_, value| value, |_| ())
    }

    /// Configuration of the decomposition.
    #[must_use]
    pub fn config(&self) -> &TruncatedSvdConfig {
        &self.config
    }

    /// Singular values in descending order.
    #[must_use]
    pub fn singular_values(&self) -> &[f64] {
        &self.singular_values
    }

    /// Right singular vectors, shape `[components, columns]`: scikit-learn's `components_`.
    #[must_use]
    pub fn components(&self) -> &Array2<f64> {
        &self.components
    }
}

/// Flips the sign of a vector unless its entry of largest magnitude is positive.
fn fix_sign(component: &mut [f64]) {
    let largest = component.iter().fold(0.0, |best: f64, &value| {
        if value.abs() > best.abs() {
            value
        } else {
            best
        }
    });
    if largest < 0.0 {
        component.iter_mut().for_each(|value| *value = -*value);
    }
}

/// Error computing a [`TruncatedSvd`].
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "fields are named in the messages")]
pub enum TruncatedSvdError {
    /// The number of components is 0 or exceeds the number of rows or columns.
    #[error("expected 1 to {} components for {rows} rows of {columns} columns, found {found}", rows.min(columns))]
    Components {
        found: usize,
        rows: usize,
        columns: usize,
    },
    /// The tolerance is out of range.
    #[error("tolerance: expected a number from 1e-15 to below 1, found {found}")]
    Tolerance { found: f64 },
    /// All values of the matrix are zero.
    #[error("expected a matrix with non-zero values, found zeros only")]
    Zero,
    /// The iteration did not reach its tolerance.
    #[error("the iteration for {components} components did not converge")]
    NotConverged { components: usize },
    /// The caller's [`Progress`] canceled the operation.
    #[error("canceled")]
    Canceled,
}
