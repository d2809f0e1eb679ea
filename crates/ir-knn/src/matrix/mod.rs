//! Dense and sparse matrices of row vectors.
//!
//! Dense matrices are [`ndarray`] arrays of `f64`, one vector per row. Sparse ones are
//! [`CsrMatrix`].

mod csr;
pub(crate) mod saved;

use ndarray::{Array2, ArrayView2, Axis};

pub use csr::CsrMatrix;
pub(crate) use csr::transpose;

/// Borrowed dense or sparse matrix, one vector per row.
///
/// ```
/// use ir_knn::MatrixView;
/// use ndarray::array;
/// let rows = array![[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]];
/// let view = MatrixView::from(&rows);
/// assert_eq!((view.nrows(), view.ncols()), (3, 2));
/// ```
#[derive(Debug, Clone, Copy)]
pub enum MatrixView<'a> {
    /// Dense array, shape `[nrows, ncols]`, any memory layout.
    Dense(ArrayView2<'a, f64>),
    /// Matrix in compressed sparse row layout.
    Sparse(&'a CsrMatrix),
}

/// Dense or sparse matrix, one vector per row.
///
/// ```
/// use ir_knn::Matrix;
/// use ndarray::array;
/// let mut rows = Matrix::Dense(array![[3.0, 4.0], [0.0, 2.0]]).select_rows(&[1, 0]);
/// rows.normalize_rows();
/// assert!(matches!(rows, Matrix::Dense(rows) if rows == array![[0.0, 1.0], [0.6, 0.8]]));
/// ```
#[derive(Debug, Clone)]
pub enum Matrix {
    /// Dense array, shape `[nrows, ncols]`.
    Dense(Array2<f64>),
    /// Matrix in compressed sparse row layout.
    Sparse(CsrMatrix),
}

impl Matrix {
    /// Returns a view of all rows.
    #[must_use]
    pub fn view(&self) -> MatrixView<'_> {
        match self {
            Self::Dense(rows) => rows.into(),
            Self::Sparse(rows) => rows.into(),
        }
    }

    /// Returns the matrix of the given rows, in their order.
    ///
    /// # Panics
    /// If a row does not exist.
    #[must_use]
    pub fn select_rows(&self, rows: &[usize]) -> Self {
        match self {
            Self::Dense(all) => Self::Dense(all.select(Axis(0), rows)),
            Self::Sparse(all) => Self::Sparse(all.select_rows(rows)),
        }
    }

    /// Scales each row to unit Euclidean length; zero rows stay zero.
    pub fn normalize_rows(&mut self) {
        match self {
            Self::Dense(rows) => normalize_rows(rows),
            Self::Sparse(rows) => rows.normalize_rows(),
        }
    }
}

impl<'a> From<ArrayView2<'a, f64>> for MatrixView<'a> {
    fn from(rows: ArrayView2<'a, f64>) -> Self {
        Self::Dense(rows)
    }
}

impl<'a> From<&'a Array2<f64>> for MatrixView<'a> {
    fn from(rows: &'a Array2<f64>) -> Self {
        Self::Dense(rows.view())
    }
}

impl<'a> From<&'a CsrMatrix> for MatrixView<'a> {
    fn from(rows: &'a CsrMatrix) -> Self {
        Self::Sparse(rows)
    }
}

impl MatrixView<'_> {
    /// Returns the number of rows.
    #[must_use]
    pub fn nrows(&self) -> usize {
        match self {
            Self::Dense(rows) => rows.nrows(),
            Self::Sparse(rows) => rows.nrows(),
        }
    }

    /// Returns the number of columns.
    #[must_use]
    pub fn ncols(&self) -> usize {
        match self {
            Self::Dense(rows) => rows.ncols(),
            Self::Sparse(rows) => rows.ncols(),
        }
    }

    /// Returns `true` if both views refer to the same memory.
    pub(crate) fn is_same(&self, other: &MatrixView<'_>) -> bool {
        match (self, other) {
            (Self::Dense(one), MatrixView::Dense(other)) => {
                one.as_ptr() == other.as_ptr()
                    && one.dim() == other.dim()
                    && one.strides() == other.strides()
            }
            (Self::Sparse(one), MatrixView::Sparse(other)) => std::ptr::eq(*one, *other),
            _ => false,
        }
    }
}

/// Scales every row to Euclidean length 1. Rows of zeros stay zeros.
///
/// Components may have any magnitude: squares neither overflow nor underflow.
///
/// ```
/// use ndarray::array;
/// let mut rows = array![[3.0, 4.0], [0.0, 0.0], [3e200, 4e200]];
/// ir_knn::normalize_rows(&mut rows);
/// assert_eq!(rows, array![[0.6, 0.8], [0.0, 0.0], [0.6, 0.8]]);
/// ```
pub fn normalize_rows(rows: &mut Array2<f64>) {
    for mut row in rows.rows_mut() {
        match row.as_slice_mut() {
            Some(row) => normalize(row),
            None => {
                let mut copy = row.to_vec();
                normalize(&mut copy);
                row.iter_mut().zip(copy).for_each(|(to, from)| *to = from);
            }
        }
    }
}

/// Scales a vector to Euclidean length 1, unless it is zero.
pub(crate) fn normalize(row: &mut [f64]) {
    let largest = row
        .iter()
        .fold(0.0, |max_abs: f64, value| max_abs.max(value.abs()));
    if largest == 0.0 {
        return;
    }
    // The squares of such components would overflow or underflow.
    if !(1e-140..1e140).contains(&largest) {
        for value in row.iter_mut() {
            *value /= largest;
        }
    }
    let length = row.iter().map(|value| value * value).sum::<f64>().sqrt();
    for value in row {
        *value /= length;
    }
}

/// Returns an error if the matrix has no columns or a component is NaN or infinite.
pub(crate) fn check_dense(rows: ArrayView2<'_, f64>) -> Result<(), MatrixError> {
    if rows.ncols() == 0 {
        return Err(MatrixError::NoDimensions);
    }
    let mut entries = rows.indexed_iter();
    match entries.find(|(_, value)| !value.is_finite()) {
        None => Ok(()),
        Some(((row, column), &found)) => Err(MatrixError::NotFinite { row, column, found }),
    }
}

/// Error in the shape or the components of a matrix.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "fields are named in the messages")]
pub enum MatrixError {
    /// The matrix has no columns.
    #[error("expected vectors of at least one dimension, found none")]
    NoDimensions,
    /// The number of values is not a multiple of the number of columns.
    #[error("expected a multiple of {dim} values, found {found}")]
    Length { dim: usize, found: usize },
    /// The number of columns differs from the expected one.
    #[error("row {row}: expected {expected} dimensions, found {found}")]
    Dimensions {
        row: usize,
        expected: usize,
        found: usize,
    },
    /// A component is NaN or infinite.
    #[error("row {row}, column {column}: expected a finite number, found {found}")]
    NotFinite {
        row: usize,
        column: usize,
        found: f64,
    },
    /// The row offsets of a sparse matrix are not non-decreasing from 0 to the number of values.
    #[error("row {row}: expected ascending row offsets from 0 to {values}, found {start}")]
    RowOffsets {
        row: usize,
        start: usize,
        values: usize,
    },
    /// A sparse matrix has different numbers of column indices and values.
    #[error(
        "expected one value per column index, found {columns} column indices and {values} values"
    )]
    ColumnsAndValues { columns: usize, values: usize },
    /// A column index is out of range or not larger than the one before it.
    #[error("row {row}: expected ascending column indices below {dim}, found {found}")]
    Column { row: usize, dim: usize, found: u32 },
}

impl MatrixError {
    /// Returns an error if two numbers of columns differ.
    pub(crate) fn check_dimensions(expected: usize, found: usize) -> Result<(), Self> {
        let row = 0;
        if expected == found {
            return Ok(());
        }
        Err(Self::Dimensions {
            row,
            expected,
            found,
        })
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn rows_of_any_layout_are_normalized() {
        let mut rows = array![[3.0, 0.0, 5.0], [4.0, 0.0, 12.0]].reversed_axes();
        normalize_rows(&mut rows);
        let unit = 5.0 / 13.0;
        assert_eq!(rows, array![[0.6, 0.8], [0.0, 0.0], [unit, 12.0 / 13.0]]);
    }

    #[test]
    fn tiny_and_huge_rows_become_unit_rows() {
        let mut rows = array![[3e-200, 4e-200], [3e200, 4e200]];
        normalize_rows(&mut rows);
        for row in rows.rows() {
            assert!((row[0] - 0.6).abs() < 1e-15 && (row[1] - 0.8).abs() < 1e-15);
        }
    }

    #[test]
    fn dense_matrices_without_columns_or_with_nan_are_rejected() {
        let check = |rows: Array2<f64>| check_dense(rows.view()).unwrap_err().to_string();
        assert_eq!(
            check(Array2::zeros((2, 0))),
            "expected vectors of at least one dimension, found none"
        );
        assert_eq!(
            check(array![[0.0, 1.0], [2.0, f64::INFINITY]]),
            "row 1, column 1: expected a finite number, found inf"
        );
    }
}
