//! Dense rows.

use serde::{Deserialize, Serialize};

use super::RowsError;

/// Vectors of one length with every value stored, row by row. Every value is finite.
///
/// # Shapes
/// Row-major `[len, dim]`, in 64 bits: distances of the [kNN protocol](crate::Knn) are defined so.
///
/// ```
/// use ir_knn::DenseRows;
/// let mut rows = DenseRows::new(2, vec![3.0, 4.0, 0.0, 0.0])?;
/// rows.normalize();
/// assert_eq!(rows.row(0), [0.6, 0.8]);
/// assert_eq!(rows.row(1), [0.0, 0.0]);
/// assert!(DenseRows::new(2, vec![1.0, f64::NAN]).is_err());
/// # Ok::<(), ir_knn::RowsError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Raw")]
pub struct DenseRows {
    dim: usize,
    values: Vec<f64>,
}

#[derive(Deserialize)]
struct Raw {
    dim: usize,
    values: Vec<f64>,
}

impl TryFrom<Raw> for DenseRows {
    type Error = RowsError;

    fn try_from(raw: Raw) -> Result<Self, RowsError> {
        Self::new(raw.dim, raw.values)
    }
}

impl DenseRows {
    /// Rows of `dim` values each.
    ///
    /// # Errors
    /// When `dim` is 0, the values do not fill whole rows, or one is not finite.
    pub fn new(dim: usize, values: Vec<f64>) -> Result<Self, RowsError> {
        if dim == 0 {
            return Err(RowsError::NoDimensions);
        }
        if !values.len().is_multiple_of(dim) {
            let found = values.len();
            return Err(RowsError::Length { dim, found });
        }
        if let Some(place) = values.iter().position(|value| !value.is_finite()) {
            return Err(RowsError::NotFinite {
                row: place / dim,
                column: place % dim,
                found: values[place],
            });
        }
        Ok(Self { dim, values })
    }

    /// The same from one slice a row, of `f64` or of anything that widens to it.
    ///
    /// # Errors
    /// When there is no row, or one has another length than the first, and as [`DenseRows::new`].
    pub fn of<R: AsRef<[T]>, T: Copy + Into<f64>>(rows: &[R]) -> Result<Self, RowsError> {
        let dim = rows.first().map_or(0, |row| row.as_ref().len());
        let mut values = Vec::with_capacity(rows.len() * dim);
        for (number, row) in rows.iter().enumerate() {
            let row = row.as_ref();
            if row.len() != dim {
                return Err(RowsError::Dimensions {
                    row: number,
                    expected: dim,
                    found: row.len(),
                });
            }
            values.extend(row.iter().map(|&value| value.into()));
        }
        Self::new(dim, values)
    }

    /// Finite by construction.
    pub(crate) fn trusted(dim: usize, values: Vec<f64>) -> Self {
        debug_assert!(dim > 0 && values.len().is_multiple_of(dim));
        Self { dim, values }
    }

    /// How many rows there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.len() / self.dim
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The length of every row.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// All values, row-major.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// One row.
    ///
    /// # Panics
    /// When there is no such row.
    #[must_use]
    pub fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.dim..][..self.dim]
    }

    /// All rows in order.
    pub fn iter(&self) -> std::slice::ChunksExact<'_, f64> {
        self.values.chunks_exact(self.dim)
    }

    /// These rows, in this order.
    ///
    /// # Panics
    /// When there is no such row.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        let mut values = Vec::with_capacity(rows.len() * self.dim);
        for &row in rows {
            values.extend_from_slice(self.row(row));
        }
        Self::trusted(self.dim, values)
    }

    /// The first columns of every row: a truncated SVD of more components than are wanted. At least
    /// one column, and all when fewer than `columns` are there.
    #[must_use]
    pub fn first_columns(&self, columns: usize) -> Self {
        let dim = columns.clamp(1, self.dim);
        let values = self.iter().flat_map(|row| &row[..dim]).copied().collect();
        Self::trusted(dim, values)
    }

    /// Brings every row to Euclidean length 1. Rows of zeros stay.
    pub fn normalize(&mut self) {
        for row in self.values.chunks_exact_mut(self.dim) {
            unit(row);
        }
    }
}

impl<'a> IntoIterator for &'a DenseRows {
    type Item = &'a [f64];
    type IntoIter = std::slice::ChunksExact<'a, f64>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Scales to Euclidean length 1, unless all is zero. Rows so small or large that their squares are
/// lost are scaled first.
pub(crate) fn unit(row: &mut [f64]) {
    let largest = row
        .iter()
        .fold(0.0, |most: f64, value| most.max(value.abs()));
    if largest == 0.0 {
        return;
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes() {
        assert_eq!(DenseRows::new(0, vec![]), Err(RowsError::NoDimensions));
        let error = DenseRows::new(3, vec![0.0; 4]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "expected a multiple of 3 values, found 4"
        );
        let error = DenseRows::new(2, vec![0.0, 1.0, 2.0, f64::INFINITY]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "row 1, column 1: expected a finite number, found inf"
        );
        let error = DenseRows::of(&[vec![1_f32, 2.0], vec![3.0]]).unwrap_err();
        assert_eq!(error.to_string(), "row 1: expected 2 dimensions, found 1");
        let read = serde_json::from_str::<DenseRows>(r#"{"dim":2,"values":[1]}"#);
        assert!(read.is_err());
    }

    #[test]
    fn parts() -> Result<(), RowsError> {
        let rows = DenseRows::of(&[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])?;
        assert_eq!(rows.select(&[1, 0, 1]).values()[..4], [4.0, 5.0, 6.0, 1.0]);
        assert_eq!(rows.first_columns(2).values(), [1.0, 2.0, 4.0, 5.0]);
        assert_eq!(rows.first_columns(9), rows);
        Ok(())
    }

    #[test]
    fn tiny_and_huge_rows_become_unit_rows() -> Result<(), RowsError> {
        let mut rows = DenseRows::new(2, vec![3e-200, 4e-200, 3e200, 4e200])?;
        rows.normalize();
        for value in rows.values().chunks_exact(2) {
            assert!((value[0] - 0.6).abs() < 1e-15 && (value[1] - 0.8).abs() < 1e-15);
        }
        Ok(())
    }
}
