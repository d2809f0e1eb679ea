//! Sparse matrices in compressed sparse row layout.

use ndarray::{Array2, ArrayView2};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{MatrixError, normalize};

/// Sparse matrix in compressed sparse row (CSR) layout, as SciPy's `csr_matrix`.
///
/// # Shapes
/// `[nrows, ncols]`. Three arrays hold it: `starts` (`indptr` in SciPy), `columns` (`indices`) and
/// `values` (`data`). Row i consists of the columns and values from `starts[i]` to
/// `starts[i + 1]`, exclusive. Column indices ascend within a row, and every value is finite. A
/// stored value takes 12 bytes.
///
/// ```
/// use ir_knn::CsrMatrix;
/// // (0, 2, 0) and (0, 0, 0)
/// let rows = CsrMatrix::new(3, vec![0, 1, 1], vec![1], vec![2.0])?;
/// assert_eq!(rows.row(0).collect::<Vec<_>>(), [(1, 2.0)]);
/// assert_eq!(rows.row(1).count(), 0);
/// # Ok::<(), ir_knn::MatrixError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "SavedCsrMatrix")]
pub struct CsrMatrix {
    #[serde(rename = "dim")]
    ncols: usize,
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
}

#[derive(Deserialize)]
struct SavedCsrMatrix {
    dim: usize,
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
}

impl TryFrom<SavedCsrMatrix> for CsrMatrix {
    type Error = MatrixError;

    fn try_from(saved: SavedCsrMatrix) -> Result<Self, MatrixError> {
        Self::new(saved.dim, saved.starts, saved.columns, saved.values)
    }
}

impl CsrMatrix {
    /// Creates a matrix of `ncols` columns from its three arrays. `starts` has one entry more than
    /// there are rows.
    ///
    /// # Errors
    /// When the lengths of the arrays are inconsistent, column indices do not ascend within a row,
    /// or a value is not finite.
    pub fn new(
        ncols: usize,
        starts: Vec<usize>,
        columns: Vec<u32>,
        values: Vec<f64>,
    ) -> Result<Self, MatrixError> {
        if columns.len() != values.len() {
            return Err(MatrixError::ColumnsAndValues {
                columns: columns.len(),
                values: values.len(),
            });
        }
        let row_offsets_error = |row: usize| MatrixError::RowOffsets {
            row,
            start: starts.get(row).copied().unwrap_or(0),
            values: values.len(),
        };
        if starts.first() != Some(&0) {
            return Err(row_offsets_error(0));
        }
        if let Some(row) = starts.windows(2).position(|pair| pair[0] > pair[1]) {
            return Err(row_offsets_error(row + 1));
        }
        if starts.last() != Some(&values.len()) {
            return Err(row_offsets_error(starts.len() - 1));
        }
        for (row, bounds) in starts.windows(2).enumerate() {
            let mut min_column = 0;
            for at in bounds[0]..bounds[1] {
                let (column, value) = (columns[at], values[at]);
                if (column as usize) < min_column || column as usize >= ncols {
                    return Err(MatrixError::Column {
                        row,
                        dim: ncols,
                        found: column,
                    });
                }
                if !value.is_finite() {
                    return Err(MatrixError::NotFinite {
                        row,
                        column: column as usize,
                        found: value,
                    });
                }
                min_column = column as usize + 1;
            }
        }
        Ok(Self::from_valid(ncols, starts, columns, values))
    }

    /// Matrix from arrays that satisfy the conditions of [`CsrMatrix::new`].
    pub(crate) fn from_valid(
        ncols: usize,
        starts: Vec<usize>,
        columns: Vec<u32>,
        values: Vec<f64>,
    ) -> Self {
        debug_assert_eq!(starts.last(), Some(&columns.len()));
        Self {
            ncols,
            starts,
            columns,
            values,
        }
    }

    /// Creates a matrix of the non-zero components of a dense one.
    #[must_use]
    pub fn from_dense(dense: ArrayView2<'_, f64>) -> Self {
        let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in dense.rows() {
            for (column, &value) in (0..).zip(row) {
                if value != 0.0 {
                    columns.push(column);
                    values.push(value);
                }
            }
            starts.push(columns.len());
        }
        Self::from_valid(dense.ncols(), starts, columns, values)
    }

    /// Returns the same matrix as a dense array, which may take much more memory.
    #[must_use]
    pub fn to_dense(&self) -> Array2<f64> {
        let mut dense = Array2::zeros((self.nrows(), self.ncols));
        for (row, mut values) in dense.rows_mut().into_iter().enumerate() {
            for (column, value) in self.row(row) {
                values[column as usize] = value;
            }
        }
        dense
    }

    /// Returns the number of rows.
    #[must_use]
    pub fn nrows(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns the number of columns.
    #[must_use]
    pub fn ncols(&self) -> usize {
        self.ncols
    }

    /// Returns the number of stored values.
    #[must_use]
    pub fn nnz(&self) -> usize {
        self.values.len()
    }

    /// Returns the columns and values of a row, by ascending column.
    ///
    /// # Panics
    /// When there is no such row.
    pub fn row(&self, row: usize) -> impl ExactSizeIterator<Item = (u32, f64)> + Clone + '_ {
        let (columns, values) = self.row_slices(row);
        columns.iter().copied().zip(values.iter().copied())
    }

    /// Returns the columns and the values of a row as two slices of equal length.
    ///
    /// # Panics
    /// When there is no such row.
    #[must_use]
    pub fn row_slices(&self, row: usize) -> (&[u32], &[f64]) {
        let range = self.starts[row]..self.starts[row + 1];
        (&self.columns[range.clone()], &self.values[range])
    }

    /// Column indices of all rows.
    pub(crate) fn columns(&self) -> &[u32] {
        &self.columns
    }

    /// Values of all rows.
    pub(crate) fn values(&self) -> &[f64] {
        &self.values
    }

    /// Returns a matrix of these rows, in this order.
    ///
    /// # Panics
    /// When there is no such row.
    #[must_use]
    pub fn select_rows(&self, rows: &[usize]) -> Self {
        let mut selected = Self::from_valid(self.ncols, vec![0], Vec::new(), Vec::new());
        for &row in rows {
            let (columns, values) = self.row_slices(row);
            selected.columns.extend_from_slice(columns);
            selected.values.extend_from_slice(values);
            selected.starts.push(selected.columns.len());
        }
        selected
    }

    /// Scales every row to Euclidean length 1. Empty rows are unchanged.
    pub fn normalize_rows(&mut self) {
        for bounds in self.starts.windows(2) {
            normalize(&mut self.values[bounds[0]..bounds[1]]);
        }
    }

    /// Returns the transposed matrix.
    #[must_use]
    pub fn transpose(&self) -> Self {
        let (starts, columns, values) =
            transpose(self.ncols, &self.starts, &self.columns, &self.values);
        Self::from_valid(self.nrows(), starts, columns, values)
    }

    /// Divides every value by a divisor.
    #[cfg(feature = "lsi")]
    pub(crate) fn divide(&mut self, divisor: f64) {
        self.values.iter_mut().for_each(|value| *value /= divisor);
    }

    /// Returns the weighted sum of the dense vectors of the columns of each row, shape
    /// `[nrows, dim]`. `vectors` has the shape `[ncols, dim]`; `weight` maps a column and its value
    /// to a weight; `finish` completes each sum.
    pub(crate) fn weighted_sums(
        &self,
        vectors: &Array2<f64>,
        weight: impl Fn(usize, f64) -> f64 + Sync,
        finish: impl Fn(&mut [f64]) + Sync,
    ) -> Array2<f64> {
        let dim = vectors.ncols();
        let vectors = vectors.as_standard_layout();
        let vectors = vectors.as_slice().unwrap_or_default();
        let mut sums = Array2::zeros((self.nrows(), dim));
        let rows = sums.as_slice_mut().unwrap_or_default();
        let rows = rows.par_chunks_exact_mut(dim.max(1)).enumerate();
        rows.for_each(|(row, sum)| {
            for (column, value) in self.row(row) {
                let weight = weight(column as usize, value);
                for (sum, value) in sum.iter_mut().zip(&vectors[column as usize * dim..][..dim]) {
                    *sum += weight * value;
                }
            }
            finish(sum);
        });
        sums
    }

    /// Product with a vector of `ncols` components.
    #[cfg(any(feature = "lsi", test))]
    pub(crate) fn dot(&self, vector: &[f64]) -> Vec<f64> {
        (0..self.nrows())
            .into_par_iter()
            .with_min_len(256)
            .map(|row| self.row_dot(row, vector))
            .collect()
    }

    /// Inner product of a row with a vector of `ncols` components.
    pub(crate) fn row_dot(&self, row: usize, vector: &[f64]) -> f64 {
        self.row(row)
            .map(|(column, value)| value * vector[column as usize])
            .sum()
    }
}

/// Row offsets, column indices and values of the transpose of a matrix with `ncols` columns.
pub(crate) fn transpose<T: Copy + Default>(
    ncols: usize,
    starts: &[usize],
    columns: &[u32],
    values: &[T],
) -> (Vec<usize>, Vec<u32>, Vec<T>) {
    let mut transposed_starts = vec![0; ncols + 1];
    for &column in columns {
        transposed_starts[column as usize + 1] += 1;
    }
    for column in 0..ncols {
        transposed_starts[column + 1] += transposed_starts[column];
    }
    let mut next = transposed_starts.clone();
    let mut rows = vec![0; columns.len()];
    let mut transposed = vec![T::default(); values.len()];
    for (row, bounds) in starts.windows(2).enumerate() {
        for entry in bounds[0]..bounds[1] {
            let at = &mut next[columns[entry] as usize];
            rows[*at] = row as u32;
            transposed[*at] = values[entry];
            *at += 1;
        }
    }
    (transposed_starts, rows, transposed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix() -> CsrMatrix {
        CsrMatrix::new(3, vec![0, 2, 2, 3], vec![0, 2, 1], vec![3.0, 4.0, 5.0]).unwrap()
    }

    #[test]
    fn inconsistent_arrays_are_rejected() {
        let new = |starts: &[usize], columns: &[u32], values: &[f64]| {
            CsrMatrix::new(3, starts.to_vec(), columns.to_vec(), values.to_vec())
                .unwrap_err()
                .to_string()
        };
        let text = "expected one value per column index, found 1 column indices and 0 values";
        assert_eq!(new(&[0, 1], &[0], &[]), text);
        let text = "expected ascending row offsets from 0 to 1, found";
        assert_eq!(new(&[], &[0], &[1.0]), format!("row 0: {text} 0"));
        assert_eq!(new(&[1, 1], &[0], &[1.0]), format!("row 0: {text} 1"));
        assert_eq!(new(&[0, 2, 1], &[0], &[1.0]), format!("row 2: {text} 1"));
        assert_eq!(new(&[0, 0], &[0], &[1.0]), format!("row 1: {text} 0"));
        let text = "row 0: expected ascending column indices below 3, found";
        assert_eq!(new(&[0, 1], &[3], &[1.0]), format!("{text} 3"));
        assert_eq!(new(&[0, 2], &[1, 1], &[1.0, 1.0]), format!("{text} 1"));
        let text = "row 0, column 1: expected a finite number, found NaN";
        assert_eq!(new(&[0, 1], &[1], &[f64::NAN]), text);
    }

    #[test]
    fn transposing_twice_returns_the_matrix() {
        let matrix = matrix();
        let transposed = matrix.transpose();
        assert_eq!((transposed.nrows(), transposed.ncols()), (3, 3));
        assert_eq!(transposed.row(2).collect::<Vec<_>>(), [(0, 4.0)]);
        assert_eq!(transposed.transpose(), matrix);
        assert_eq!(CsrMatrix::from_dense(matrix.to_dense().view()), matrix);
    }

    #[test]
    fn products_selections_and_lengths() {
        let mut matrix = matrix();
        assert_eq!(matrix.dot(&[1.0, 10.0, 100.0]), [403.0, 0.0, 50.0]);
        let selected = matrix.select_rows(&[2, 1, 0]);
        assert_eq!(selected.row_slices(0), (&[1][..], &[5.0][..]));
        assert_eq!(selected.row(2).len(), 2);
        matrix.normalize_rows();
        assert_eq!(matrix.row_slices(0).1, [0.6, 0.8]);
        let text = serde_json::to_string(&matrix).unwrap();
        assert_eq!(serde_json::from_str::<CsrMatrix>(&text).unwrap(), matrix);
    }
}
