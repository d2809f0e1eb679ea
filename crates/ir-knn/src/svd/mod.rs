//! Truncated singular value decomposition of sparse rows.

mod lanczos;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::{DenseRows, RowsError, SparseRows};

/// How a [`Svd`] is computed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct SvdConfig {
    /// How many singular values and vectors, from 1. Default 100.
    pub components: usize,
    /// Where the iteration starts; results agree but for rounding. Default 0.
    pub seed: u64,
    /// How far the square of a singular value may be from true, as a part of the largest square;
    /// from 1e-15 to below 1. Default 1e-12.
    pub tolerance: f64,
}

impl Default for SvdConfig {
    fn default() -> Self {
        Self {
            components: 100,
            seed: 0,
            tolerance: 1e-12,
        }
    }
}

impl SvdConfig {
    /// The default with so many components.
    #[must_use]
    pub fn components(components: usize) -> Self {
        Self {
            components,
            ..Self::default()
        }
    }

    /// Starts elsewhere.
    #[must_use]
    pub fn seeded(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }
}

/// A truncated singular value decomposition: the few directions that explain most of many sparse
/// rows, as scikit-learn's `TruncatedSVD` with ARPACK finds them. Rows are not centred.
///
/// A row becomes its products with the directions, so that the rows it was fitted on become U·Σ.
/// Each direction has its largest entry positive (the first of equal ones), which makes signs the
/// same everywhere.
/// Directions that the rows do not have (singular values below 1e-7 of the largest, which are
/// rounding) are zero. The same rows and seed give the same bytes, whatever the number of threads.
///
/// ```
/// use ir_knn::{SparseRows, Svd, SvdConfig};
/// // (3, 0), (0, 2), (0, 0)
/// let rows = SparseRows::new(2, vec![0, 1, 2, 2], vec![0, 1], vec![3.0, 2.0])?;
/// let svd = Svd::fit(&rows, &SvdConfig::components(1))?;
/// assert!((svd.singular_values()[0] - 3.0).abs() < 1e-12);
/// assert!((svd.transform(&rows)?.row(0)[0] - 3.0).abs() < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Source
/// Deerwester and others, "Indexing by latent semantic analysis", JASIS 41(6), 1990. The
/// eigenvectors of the smaller of XXᵀ and XᵀX come from the Lanczos method with thick restarts (Wu
/// and Simon, SIMAX 22(2), 2000).
///
/// # Complexity
/// For n rows, d columns, k components, the memory is that of 2k + 1 vectors of length min(n, d),
/// and of the rows once more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Saved")]
pub struct Svd {
    config: SvdConfig,
    singular_values: Vec<f64>,
    /// `[components, dim]`
    directions: DenseRows,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Saved {
    config: SvdConfig,
    singular_values: Vec<f64>,
    directions: DenseRows,
}

impl TryFrom<Saved> for Svd {
    type Error = SvdError;

    fn try_from(saved: Saved) -> Result<Self, SvdError> {
        let (expected, found) = (saved.singular_values.len(), saved.directions.len());
        if expected != found {
            return Err(SvdError::Saved { expected, found });
        }
        Ok(Self {
            config: saved.config,
            singular_values: saved.singular_values,
            directions: saved.directions,
        })
    }
}

/// Singular values below this part of the largest are rounding errors: they come from the roots of
/// squares.
const NOISE: f64 = 1e-7;

impl Svd {
    /// Finds the directions of `rows`.
    ///
    /// # Errors
    /// When there are fewer rows or columns than components are wanted, none are wanted, all values
    /// are zero, or the iteration does not come to an end.
    pub fn fit(rows: &SparseRows, config: &SvdConfig) -> Result<Self, SvdError> {
        let (len, dim, wanted) = (rows.len(), rows.dim(), config.components);
        if wanted == 0 || wanted > len.min(dim) {
            return Err(SvdError::Components {
                found: wanted,
                rows: len,
                columns: dim,
            });
        }
        if !(1e-15..1.0).contains(&config.tolerance) {
            let found = config.tolerance;
            return Err(SvdError::Tolerance { found });
        }
        let largest = (0..len)
            .flat_map(|row| rows.parts(row).1)
            .fold(0.0, |most: f64, value| most.max(value.abs()));
        if largest == 0.0 {
            return Err(SvdError::Zero);
        }
        // Squares of squares must neither vanish nor overflow.
        let mut scaled = rows.clone();
        scaled.scale(largest);
        let columns = scaled.transposed();
        let (short, long) = if len <= dim {
            (&scaled, &columns)
        } else {
            (&columns, &scaled)
        };
        let operator = |vector: &[f64]| short.times(&long.times(vector));
        let eigen = lanczos::largest(operator, short.len(), wanted, config.tolerance, config.seed)
            .ok_or(SvdError::NotConverged { components: wanted })?;
        let roots: Vec<f64> = eigen.values.iter().map(|v| v.max(0.0).sqrt()).collect();
        let vectors = eigen.vectors.par_chunks_exact(short.len());
        let directions = vectors.zip(&roots).flat_map_iter(|(vector, &root)| {
            let mut direction = if root <= NOISE * roots[0] {
                vec![0.0; dim]
            } else if len <= dim {
                let mut direction = long.times(vector);
                direction.iter_mut().for_each(|value| *value /= root);
                direction
            } else {
                vector.to_vec()
            };
            turn(&mut direction);
            direction
        });
        let directions = directions.collect();
        let value = |&root: &f64| {
            if root <= NOISE * roots[0] {
                0.0
            } else {
                root * largest
            }
        };
        Ok(Self {
            config: *config,
            singular_values: roots.iter().map(value).collect(),
            directions: DenseRows::trusted(dim, directions),
        })
    }

    /// The rows in terms of the directions: X·V.
    ///
    /// # Errors
    /// When they have another number of columns than those it was fitted on.
    pub fn transform(&self, rows: &SparseRows) -> Result<DenseRows, RowsError> {
        let (expected, found) = (self.directions.dim(), rows.dim());
        if expected != found {
            return Err(RowsError::Dimensions {
                row: 0,
                expected,
                found,
            });
        }
        let components = self.directions.len();
        // By column, so that the values of one column of V lie side by side.
        let mut by_column = vec![0.0; components * expected];
        for (component, direction) in self.directions.iter().enumerate() {
            for (column, &value) in direction.iter().enumerate() {
                by_column[column * components + component] = value;
            }
        }
        let mut values = vec![0.0; rows.len() * components];
        let outputs = values.par_chunks_exact_mut(components).enumerate();
        outputs.for_each(|(row, output)| {
            for (column, value) in rows.row(row) {
                let weights = &by_column[column as usize * components..][..components];
                for (sum, weight) in output.iter_mut().zip(weights) {
                    *sum += value * weight;
                }
            }
        });
        Ok(DenseRows::trusted(components, values))
    }

    /// What was chosen.
    #[must_use]
    pub fn config(&self) -> &SvdConfig {
        &self.config
    }

    /// The singular values, from the largest.
    #[must_use]
    pub fn singular_values(&self) -> &[f64] {
        &self.singular_values
    }

    /// The directions, one a row: scikit-learn's `components_`.
    #[must_use]
    pub fn directions(&self) -> &DenseRows {
        &self.directions
    }
}

/// Makes the entry of largest magnitude positive.
fn turn(direction: &mut [f64]) {
    let largest = direction.iter().fold(0.0, |best: f64, &value| {
        if value.abs() > best.abs() {
            value
        } else {
            best
        }
    });
    if largest < 0.0 {
        direction.iter_mut().for_each(|value| *value = -*value);
    }
}

/// Why there is no decomposition.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SvdError {
    /// More directions than rows or columns, or none.
    #[error("expected 1 to {} components for {rows} rows of {columns} columns, found {found}", rows.min(columns))]
    Components {
        /// How many were wanted.
        found: usize,
        /// How many rows there are.
        rows: usize,
        /// How many columns there are.
        columns: usize,
    },
    /// A tolerance that cannot be met, or that means nothing.
    #[error("tolerance: expected a number from 1e-15 to below 1, found {found}")]
    Tolerance {
        /// What was given.
        found: f64,
    },
    /// Nothing to decompose.
    #[error("expected rows with values, found zeros only")]
    Zero,
    /// The iteration did not reach its tolerance.
    #[error("the iteration for {components} components did not reach its tolerance")]
    NotConverged {
        /// How many were wanted.
        components: usize,
    },
    /// The parts of something saved do not fit one another.
    #[error("expected {expected} directions, one a singular value, found {found}")]
    Saved {
        /// How many singular values there are.
        expected: usize,
        /// How many directions there are.
        found: usize,
    },
}
