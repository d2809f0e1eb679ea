//! Distances of one vector to all rows, in sparse or dense form.

use crate::matrix::CsrMatrix;
use ir_core::VectorSimilarity;

/// Row of ascending columns and their values.
#[derive(Debug, Default)]
pub(crate) struct SparseRow {
    pub(crate) columns: Vec<u32>,
    pub(crate) values: Vec<f32>,
}

impl SparseRow {
    /// Returns the first component that is not finite or not below `dim`.
    pub(crate) fn invalid_component(&self, dim: usize) -> Option<(usize, f32)> {
        let mut pairs = self.columns.iter().zip(&self.values);
        pairs
            .find(|(column, value)| **column as usize >= dim || !value.is_finite())
            .map(|(&column, &value)| (column as usize, value))
    }

    fn squared_length(&self) -> f64 {
        self.values
            .iter()
            .map(|&v| f64::from(v) * f64::from(v))
            .sum()
    }
}

/// Exhaustive computation of the distances of all rows to a query.
#[derive(Debug)]
pub(crate) struct DistanceScan {
    dim: usize,
    squared_lengths: Vec<f64>,
    rows: ScanRows,
}

#[derive(Debug)]
enum ScanRows {
    /// `[rows, dim]`
    Dense(Vec<f32>),
    /// Posting lists of the columns, `[dim, rows]`.
    Inverted(CsrMatrix),
}

impl DistanceScan {
    /// Stores rows without [invalid components](SparseRow::invalid_component): as posting lists if
    /// at most a quarter of the components are non-zero, otherwise densely.
    pub(crate) fn new(dim: usize, rows: &[SparseRow]) -> Self {
        let stored: usize = rows.iter().map(|row| row.values.len()).sum();
        let squared_lengths = rows.iter().map(SparseRow::squared_length).collect();
        let rows = if stored > rows.len() * dim / 4 {
            let mut values = vec![0.0; rows.len() * dim];
            for (row, values) in rows.iter().zip(values.chunks_exact_mut(dim.max(1))) {
                for (&column, &value) in row.columns.iter().zip(&row.values) {
                    values[column as usize] = value;
                }
            }
            ScanRows::Dense(values)
        } else {
            let mut starts = vec![0];
            let (mut columns, mut values) =
                (Vec::with_capacity(stored), Vec::with_capacity(stored));
            for row in rows {
                columns.extend_from_slice(&row.columns);
                values.extend(row.values.iter().map(|&value| f64::from(value)));
                starts.push(columns.len());
            }
            ScanRows::Inverted(CsrMatrix::from_valid(dim, starts, columns, values).transpose())
        };
        Self {
            dim,
            squared_lengths,
            rows,
        }
    }

    /// Returns the distance of each row to the query. The cosine with a zero vector is 0. Cosine
    /// distances within rounding error of 0 are 0, so equal vectors have distance 0.
    ///
    /// Callers reject the inner product. Products are summed in `f64` by column: the distance of a
    /// row depends on the two vectors only.
    pub(crate) fn distances(&self, query: &SparseRow, metric: VectorSimilarity) -> Vec<f64> {
        let mut distances = vec![0.0; self.squared_lengths.len()];
        match &self.rows {
            ScanRows::Dense(values) => {
                let rows = values.chunks_exact(self.dim.max(1));
                for (product, row) in distances.iter_mut().zip(rows) {
                    for (&column, &value) in query.columns.iter().zip(&query.values) {
                        *product += f64::from(value) * f64::from(row[column as usize]);
                    }
                }
            }
            ScanRows::Inverted(lists) => {
                for (&column, &value) in query.columns.iter().zip(&query.values) {
                    let (rows, weights) = lists.row_slices(column as usize);
                    for (&row, &weight) in rows.iter().zip(weights) {
                        distances[row as usize] += f64::from(value) * weight;
                    }
                }
            }
        }
        let query_square = query.squared_length();
        let rounding = (query.values.len() + 4) as f64 * f64::EPSILON;
        for (product, &square) in distances.iter_mut().zip(&self.squared_lengths) {
            *product = if metric != VectorSimilarity::Cosine {
                // Rounding may yield a negative number.
                (query_square - 2.0 * *product + square).max(0.0)
            } else if query_square == 0.0 || square == 0.0 {
                1.0
            } else {
                let distance = 1.0 - *product / (query_square.sqrt() * square.sqrt());
                if distance < rounding {
                    0.0
                } else {
                    distance.min(2.0)
                }
            };
        }
        distances
    }
}
