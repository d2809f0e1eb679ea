//! t-SNE: maps of vectors in two dimensions.

use bhtsne::{Neighbor, tSNE};
use ndarray::Array2;

use crate::classify::{KnnClassifier, KnnError};
use crate::matrix::{CsrMatrix, MatrixError};
use crate::vectorize::{TruncatedSvd, TruncatedSvdConfig, TruncatedSvdError};

/// Parameters of [`tsne`], with the default values of openTSNE 1.0.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct TsneConfig {
    /// Perplexity: effective number of neighbors. Range: 1 to (rows - 1) / 3. Default: [`None`], 30
    /// or the maximum of the range.
    pub perplexity: Option<f64>,
    /// Number of iterations with early exaggeration. Default: 250.
    pub exaggerated_iterations: usize,
    /// Number of iterations after them. Default: 500.
    pub iterations: usize,
}

impl Default for TsneConfig {
    fn default() -> Self {
        Self {
            perplexity: None,
            exaggerated_iterations: 250,
            iterations: 500,
        }
    }
}

impl TsneConfig {
    /// Default perplexity for many rows.
    const PERPLEXITY: f64 = 30.0;

    /// Sets the perplexity. Range: 1 to (rows - 1) / 3.
    #[must_use]
    pub const fn with_perplexity(mut self, perplexity: f64) -> Self {
        self.perplexity = Some(perplexity);
        self
    }

    /// Perplexity for a number of rows.
    fn checked_perplexity(&self, rows: usize) -> Result<f64, TsneError> {
        if rows < TsneError::MIN_ROWS {
            return Err(TsneError::TooFewRows { found: rows });
        }
        let limit = (rows - 1) as f64 / 3.0;
        let found = self.perplexity.unwrap_or(Self::PERPLEXITY.min(limit));
        if !(1.0..=limit).contains(&found) {
            return Err(TsneError::Perplexity { rows, limit, found });
        }
        Ok(found)
    }
}

/// Error of [`tsne`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum TsneError {
    /// A perplexity of 1 needs four rows.
    #[error("t-SNE: expected at least {} rows, found {found}", Self::MIN_ROWS)]
    TooFewRows { found: usize },
    /// The perplexity is out of range for the number of rows.
    #[error("perplexity: expected 1 to {limit} for {rows} rows, found {found}")]
    Perplexity { rows: usize, limit: f64, found: f64 },
    /// All rows are equal.
    #[error("t-SNE: expected rows that differ, found {rows} equal ones")]
    Equal { rows: usize },
    /// The nearest neighbors cannot be computed.
    #[error(transparent)]
    Neighbors(#[from] KnnError),
    /// The principal components cannot be computed.
    #[error(transparent)]
    PrincipalComponents(#[from] TruncatedSvdError),
    /// The rows are not valid.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
    /// The thread of the computation cannot be started.
    #[error("thread of t-SNE")]
    Thread(#[from] rayon::ThreadPoolBuildError),
}

impl TsneError {
    /// Minimum number of rows.
    const MIN_ROWS: usize = 4;
}

/// Maps rows to two dimensions by t-SNE: exact nearest neighbors, initialization by the first two
/// principal components, interpolated forces. The rows are dense, with at least two columns; reduce
/// others by [`TruncatedSvd`] first.
///
/// Deterministic: one thread sums the forces. Other programs find other maps; compare the kNN
/// accuracy of maps.
///
/// ```
/// use ir_knn::{TsneConfig, TsneError, tsne};
/// use ndarray::Array2;
/// // Two groups of ten rows.
/// let rows = Array2::from_shape_fn((20, 2), |(row, column)| {
///     let group = if row < 10 { 0.0 } else { 100.0 };
///     group + (row * (column + 1) % 7) as f64
/// });
/// let map = tsne(&rows, &TsneConfig::default())?;
/// assert_eq!(map.dim(), (20, 2));
/// let two = Array2::from_shape_vec((2, 1), vec![0.0, 1.0]).unwrap();
/// let error = tsne(&two, &TsneConfig::default()).unwrap_err();
/// assert!(matches!(error, TsneError::TooFewRows { found: 2 }));
/// # Ok::<(), TsneError>(())
/// ```
///
/// # Errors
/// There are fewer than four rows, all rows are equal, the perplexity is out of range, or a
/// component is not finite.
///
/// # Source
/// van der Maaten and Hinton, "Visualizing Data using t-SNE", JMLR 2008; interpolated forces:
/// Linderman et al., "Fast interpolation-based t-SNE for improved visualization of single-cell
/// RNA-seq data", Nature Methods 2019.
pub fn tsne(rows: &Array2<f64>, config: &TsneConfig) -> Result<Array2<f64>, TsneError> {
    let perplexity = config.checked_perplexity(rows.nrows())?;
    if rows.rows().into_iter().all(|row| row == rows.row(0)) {
        return Err(TsneError::Equal { rows: rows.nrows() });
    }
    // Three times the perplexity, and the row itself.
    let nearest = KnnClassifier::new((3.0 * perplexity) as usize + 1).neighbors(rows, rows)?;
    let nearest = nearest.iter().enumerate().map(|(row, near)| {
        let others = near.iter().filter(|near| near.row as usize != row);
        let other = others.map(|near| Neighbor {
            index: near.row as usize,
            distance: near.distance,
        });
        other.take(near.len() - 1).collect()
    });
    let nearest: Vec<Vec<Neighbor<f64>>> = nearest.collect();
    let start = principal_axes(rows)?;
    let points: Vec<Vec<f64>> = rows.rows().into_iter().map(|row| row.to_vec()).collect();
    let points: Vec<&[f64]> = points.iter().map(Vec::as_slice).collect();
    let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    let map = one_thread.install(|| {
        tSNE::<f64, &[f64], 2>::new(&points)
            .perplexity(perplexity)
            .epochs(config.exaggerated_iterations + config.iterations)
            .stop_lying_epoch(config.exaggerated_iterations)
            .initial_embedding(start)
            .fit_sne_with_neighbors(&nearest)
            .embedding()
    });
    let mut coordinates = map.into_iter();
    Ok(Array2::from_shape_simple_fn((rows.nrows(), 2), || {
        coordinates.next().unwrap_or_default()
    }))
}

/// Projection on the first two principal components, scaled to small values.
fn principal_axes(rows: &Array2<f64>) -> Result<Vec<f64>, TsneError> {
    let (len, dim) = rows.dim();
    let mut mean = vec![0.0; dim];
    for row in rows.rows() {
        mean.iter_mut()
            .zip(row)
            .for_each(|(mean, value)| *mean += value / len as f64);
    }
    let centered = rows.rows().into_iter().flat_map(|row| {
        let centered = row.into_iter().zip(&mean).map(|(value, mean)| value - mean);
        centered.collect::<Vec<_>>()
    });
    let starts = (0..=len).map(|row| row * dim).collect();
    let columns = (0..len).flat_map(|_| 0..dim as u32).collect();
    let centered = CsrMatrix::new(dim, starts, columns, centered.collect())?;
    let svd = TruncatedSvd::fit(&centered, &TruncatedSvdConfig::new(2))?;
    // Standard deviation 0.0001 along the first component.
    let deviation = svd.singular_values()[0] / (len as f64).sqrt();
    let axes = svd.transform(&centered)?;
    Ok(axes.iter().map(|value| value / deviation * 1e-4).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Groups that are far apart stay apart, for any number of threads.
    #[test]
    fn groups_stay_apart() {
        let rows = Array2::from_shape_fn((40, 3), |(row, column)| {
            let group = if row % 2 == 0 { 0.0 } else { 50.0 };
            group + ((row * (column + 3)) % 11) as f64
        });
        let map = tsne(&rows, &TsneConfig::default()).unwrap();
        for (row, near) in KnnClassifier::new(6)
            .neighbors(&map, &map)
            .unwrap()
            .iter()
            .enumerate()
        {
            assert!(
                near.iter().all(|near| near.row as usize % 2 == row % 2),
                "{row}"
            );
        }
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(3)
            .build()
            .unwrap();
        let again = pool.install(|| tsne(&rows, &TsneConfig::default()).unwrap());
        assert_eq!(map, again);
    }

    #[test]
    fn ranges() {
        let rows = |len: usize| {
            Array2::from_shape_fn((len, 2), |(row, column)| (row * row + column) as f64)
        };
        let message =
            |rows: &Array2<f64>, config: TsneConfig| tsne(rows, &config).unwrap_err().to_string();
        let default = TsneConfig::default();
        for few in [0, 2, 3] {
            let expected = format!("t-SNE: expected at least 4 rows, found {few}");
            assert_eq!(message(&rows(few), default), expected);
        }
        let wide = message(&rows(10), default.with_perplexity(4.0));
        assert_eq!(wide, "perplexity: expected 1 to 3 for 10 rows, found 4");
        assert!(message(&rows(10), default.with_perplexity(f64::NAN)).starts_with("perplexity"));
        let equal = message(&Array2::ones((9, 4)), default);
        assert_eq!(
            equal,
            "t-SNE: expected rows that differ, found 9 equal ones"
        );
        let mut infinite = rows(9);
        infinite[(3, 1)] = f64::INFINITY;
        assert!(!message(&infinite, default).is_empty());
    }
}
