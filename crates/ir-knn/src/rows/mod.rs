//! Vectors of one length, one a row: dense or sparse.

mod dense;
mod sparse;

pub use dense::DenseRows;
pub(crate) use dense::unit;
pub use sparse::SparseRows;

/// Vectors of either kind, borrowed: what the searches take.
///
/// ```
/// use ir_knn::{DenseRows, Rows};
/// let rows = DenseRows::new(2, vec![1.0, 0.0, 0.0, 1.0])?;
/// assert_eq!(Rows::from(&rows).len(), 2);
/// # Ok::<(), ir_knn::RowsError>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub enum Rows<'a> {
    /// Every value is stored.
    Dense(&'a DenseRows),
    /// Zeros are not stored.
    Sparse(&'a SparseRows),
}

impl<'a> From<&'a DenseRows> for Rows<'a> {
    fn from(rows: &'a DenseRows) -> Self {
        Self::Dense(rows)
    }
}

impl<'a> From<&'a SparseRows> for Rows<'a> {
    fn from(rows: &'a SparseRows) -> Self {
        Self::Sparse(rows)
    }
}

impl Rows<'_> {
    /// How many there are.
    #[must_use]
    pub fn len(self) -> usize {
        match self {
            Self::Dense(rows) => rows.len(),
            Self::Sparse(rows) => rows.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The length of every vector.
    #[must_use]
    pub fn dim(self) -> usize {
        match self {
            Self::Dense(rows) => rows.dim(),
            Self::Sparse(rows) => rows.dim(),
        }
    }
}

impl SparseRows {
    /// With the zeros, which may take much memory.
    #[must_use]
    pub fn to_dense(&self) -> DenseRows {
        let dim = self.dim().max(1);
        let mut values = vec![0.0; self.len() * dim];
        for (row, values) in values.chunks_exact_mut(dim).enumerate() {
            for (column, value) in self.row(row) {
                values[column as usize] = value;
            }
        }
        DenseRows::trusted(dim, values)
    }
}

impl DenseRows {
    /// Without the zeros.
    #[must_use]
    pub fn to_sparse(&self) -> SparseRows {
        let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in self {
            for (column, &value) in (0..).zip(row) {
                if value != 0.0 {
                    columns.push(column);
                    values.push(value);
                }
            }
            starts.push(columns.len());
        }
        SparseRows::trusted(self.dim(), starts, columns, values)
    }
}

/// Why numbers are not rows.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RowsError {
    /// Rows of length 0 cannot be counted.
    #[error("expected vectors of at least one dimension, found none")]
    NoDimensions,
    /// The values do not fill whole rows.
    #[error("expected a multiple of {dim} values, found {found}")]
    Length {
        /// The length of a row.
        dim: usize,
        /// How many values there are.
        found: usize,
    },
    /// One vector has another length than the first.
    #[error("row {row}: expected {expected} dimensions, found {found}")]
    Dimensions {
        /// The row, from 0.
        row: usize,
        /// The length of the first.
        expected: usize,
        /// The length of this one.
        found: usize,
    },
    /// NaN or infinity.
    #[error("row {row}, column {column}: expected a finite number, found {found}")]
    NotFinite {
        /// The row, from 0.
        row: usize,
        /// The column, from 0.
        column: usize,
        /// What stands there.
        found: f64,
    },
    /// The beginnings of sparse rows do not go from 0 to the number of values, without going back.
    #[error("expected rows that begin in order between 0 and {values}, found row {row} at {start}")]
    Starts {
        /// The row, from 0.
        row: usize,
        /// Where it is said to begin.
        start: usize,
        /// How many values there are.
        values: usize,
    },
    /// Columns and values of sparse rows differ in number.
    #[error("expected one value a column, found {columns} columns and {values} values")]
    Pairs {
        /// How many columns there are.
        columns: usize,
        /// How many values there are.
        values: usize,
    },
    /// A column that does not exist, or is not behind the one before it.
    #[error("row {row}: expected ascending columns below {dim}, found {found}")]
    Column {
        /// The row, from 0.
        row: usize,
        /// The number of columns.
        dim: usize,
        /// What stands there.
        found: u32,
    },
}
