//! Sparse rows.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::RowsError;

/// Vectors of one length with their zeros left out: compressed sparse rows. Every value is finite,
/// and the columns of a row ascend.
///
/// # Shapes
/// `[len, dim]`; 12 bytes a stored value.
///
/// ```
/// use ir_knn::SparseRows;
/// // (0, 2, 0) and (0, 0, 0)
/// let rows = SparseRows::new(3, vec![0, 1, 1], vec![1], vec![2.0])?;
/// assert_eq!(rows.row(0).collect::<Vec<_>>(), [(1, 2.0)]);
/// assert_eq!(rows.row(1).count(), 0);
/// # Ok::<(), ir_knn::RowsError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Raw")]
pub struct SparseRows {
    dim: usize,
    /// Where each row begins, and the end of the last.
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
}

#[derive(Deserialize)]
struct Raw {
    dim: usize,
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
}

impl TryFrom<Raw> for SparseRows {
    type Error = RowsError;

    fn try_from(raw: Raw) -> Result<Self, RowsError> {
        Self::new(raw.dim, raw.starts, raw.columns, raw.values)
    }
}

impl SparseRows {
    /// Rows of `dim` columns: row i is made of the columns and values from `starts[i]` to
    /// `starts[i + 1]`, exclusive, so that there is one start more than there are rows.
    ///
    /// # Errors
    /// When the parts do not fit one another, columns do not ascend, or a value is not finite.
    pub fn new(
        dim: usize,
        starts: Vec<usize>,
        columns: Vec<u32>,
        values: Vec<f64>,
    ) -> Result<Self, RowsError> {
        if columns.len() != values.len() {
            return Err(RowsError::Pairs {
                columns: columns.len(),
                values: values.len(),
            });
        }
        let wrong = |row: usize| RowsError::Starts {
            row,
            start: starts.get(row).copied().unwrap_or(0),
            values: values.len(),
        };
        if starts.first() != Some(&0) {
            return Err(wrong(0));
        }
        if let Some(row) = starts.windows(2).position(|pair| pair[0] > pair[1]) {
            return Err(wrong(row + 1));
        }
        if starts.last() != Some(&values.len()) {
            return Err(wrong(starts.len() - 1));
        }
        for (row, bounds) in starts.windows(2).enumerate() {
            let mut least = 0;
            for place in bounds[0]..bounds[1] {
                let (column, value) = (columns[place], values[place]);
                if (column as usize) < least || column as usize >= dim {
                    let found = column;
                    return Err(RowsError::Column { row, dim, found });
                }
                if !value.is_finite() {
                    return Err(RowsError::NotFinite {
                        row,
                        column: column as usize,
                        found: value,
                    });
                }
                least = column as usize + 1;
            }
        }
        Ok(Self::trusted(dim, starts, columns, values))
    }

    /// In order by construction.
    pub(crate) fn trusted(
        dim: usize,
        starts: Vec<usize>,
        columns: Vec<u32>,
        values: Vec<f64>,
    ) -> Self {
        debug_assert_eq!(starts.last(), Some(&columns.len()));
        Self {
            dim,
            starts,
            columns,
            values,
        }
    }

    /// How many rows there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The length of every row, zeros counted.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// How many values are stored in all.
    #[must_use]
    pub fn stored(&self) -> usize {
        self.values.len()
    }

    /// The columns and values of one row, by column.
    ///
    /// # Panics
    /// When there is no such row.
    pub fn row(&self, row: usize) -> impl ExactSizeIterator<Item = (u32, f64)> + '_ {
        let (columns, values) = self.parts(row);
        columns.iter().copied().zip(values.iter().copied())
    }

    /// Columns and values of one row as two slices of one length.
    ///
    /// # Panics
    /// When there is no such row.
    #[must_use]
    pub fn parts(&self, row: usize) -> (&[u32], &[f64]) {
        let range = self.starts[row]..self.starts[row + 1];
        (&self.columns[range.clone()], &self.values[range])
    }

    /// The columns of all rows, one row behind the other.
    pub(crate) fn columns(&self) -> &[u32] {
        &self.columns
    }

    /// The values of all rows, one row behind the other.
    pub(crate) fn values(&self) -> &[f64] {
        &self.values
    }

    /// These rows, in this order.
    ///
    /// # Panics
    /// When there is no such row.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        let mut selected = Self::trusted(self.dim, vec![0], Vec::new(), Vec::new());
        for &row in rows {
            let (columns, values) = self.parts(row);
            selected.columns.extend_from_slice(columns);
            selected.values.extend_from_slice(values);
            selected.starts.push(selected.columns.len());
        }
        selected
    }

    /// Brings every row to Euclidean length 1. Rows without values stay.
    pub fn normalize(&mut self) {
        for bounds in self.starts.windows(2) {
            super::dense::unit(&mut self.values[bounds[0]..bounds[1]]);
        }
    }

    /// Rows and columns exchanged.
    #[must_use]
    pub fn transposed(&self) -> Self {
        let mut starts = vec![0; self.dim + 1];
        for &column in &self.columns {
            starts[column as usize + 1] += 1;
        }
        for column in 0..self.dim {
            starts[column + 1] += starts[column];
        }
        let mut next = starts.clone();
        let mut columns = vec![0; self.columns.len()];
        let mut values = vec![0.0; self.values.len()];
        for row in 0..self.len() {
            for (column, value) in self.row(row) {
                let place = &mut next[column as usize];
                columns[*place] = row as u32;
                values[*place] = value;
                *place += 1;
            }
        }
        Self::trusted(self.len(), starts, columns, values)
    }

    /// Divides every value.
    pub(crate) fn scale(&mut self, by: f64) {
        self.values.iter_mut().for_each(|value| *value /= by);
    }

    /// The product with a vector of `dim` values: one value a row.
    pub(crate) fn times(&self, vector: &[f64]) -> Vec<f64> {
        (0..self.len())
            .into_par_iter()
            .with_min_len(256)
            .map(|row| self.row_times(row, vector))
            .collect()
    }

    pub(crate) fn row_times(&self, row: usize, vector: &[f64]) -> f64 {
        self.row(row)
            .map(|(column, value)| value * vector[column as usize])
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> SparseRows {
        SparseRows::new(3, vec![0, 2, 2, 3], vec![0, 2, 1], vec![3.0, 4.0, 5.0]).unwrap()
    }

    #[test]
    fn what_does_not_fit() {
        let new = |starts: &[usize], columns: &[u32], values: &[f64]| {
            SparseRows::new(3, starts.to_vec(), columns.to_vec(), values.to_vec())
                .unwrap_err()
                .to_string()
        };
        let text = "expected one value a column, found 1 columns and 0 values";
        assert_eq!(new(&[0, 1], &[0], &[]), text);
        let text = "expected rows that begin in order between 0 and 1, found row";
        assert_eq!(new(&[], &[0], &[1.0]), format!("{text} 0 at 0"));
        assert_eq!(new(&[1, 1], &[0], &[1.0]), format!("{text} 0 at 1"));
        assert_eq!(new(&[0, 2, 1], &[0], &[1.0]), format!("{text} 2 at 1"));
        assert_eq!(new(&[0, 0], &[0], &[1.0]), format!("{text} 1 at 0"));
        let text = "row 0: expected ascending columns below 3, found";
        assert_eq!(new(&[0, 1], &[3], &[1.0]), format!("{text} 3"));
        assert_eq!(new(&[0, 2], &[1, 1], &[1.0, 1.0]), format!("{text} 1"));
        let text = "row 0, column 1: expected a finite number, found NaN";
        assert_eq!(new(&[0, 1], &[1], &[f64::NAN]), text);
    }

    #[test]
    fn transposed_twice_is_the_same() {
        let rows = rows();
        let columns = rows.transposed();
        assert_eq!((columns.len(), columns.dim()), (3, 3));
        assert_eq!(columns.row(2).collect::<Vec<_>>(), [(0, 4.0)]);
        assert_eq!(columns.transposed(), rows);
    }

    #[test]
    fn products_parts_and_lengths() {
        let mut rows = rows();
        assert_eq!(rows.times(&[1.0, 10.0, 100.0]), [403.0, 0.0, 50.0]);
        let picked = rows.select(&[2, 1, 0]);
        assert_eq!(picked.parts(0), (&[1][..], &[5.0][..]));
        assert_eq!(picked.row(2).len(), 2);
        rows.normalize();
        assert_eq!(rows.parts(0).1, [0.6, 0.8]);
        let text = serde_json::to_string(&rows).unwrap();
        assert_eq!(serde_json::from_str::<SparseRows>(&text).unwrap(), rows);
    }
}
