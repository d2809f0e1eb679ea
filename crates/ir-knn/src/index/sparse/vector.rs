//! A vector without its zeros.

/// A vector whose zeros are left out: what a [`SparseIndex`](crate::SparseIndex) holds and is asked.
///
/// ```
/// use ir_knn::SparseVector;
/// let vector = SparseVector::new(vec![1, 4], vec![0.5, -2.0])?;
/// assert_eq!(vector, SparseVector::of(&[0.0, 0.5, 0.0, 0.0, -2.0, 0.0])?);
/// assert!(SparseVector::new(vec![4, 1], vec![0.5, -2.0]).is_err());
/// # Ok::<(), ir_knn::SparseVectorError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SparseVector {
    columns: Vec<u32>,
    values: Vec<f32>,
}

impl SparseVector {
    /// A vector of these columns, ascending, and their values. Zeros among them are left out.
    ///
    /// # Errors
    /// When there are not as many columns as values, columns do not ascend, or a value is not finite.
    pub fn new(columns: Vec<u32>, values: Vec<f32>) -> Result<Self, SparseVectorError> {
        if columns.len() != values.len() {
            return Err(SparseVectorError::Pairs {
                columns: columns.len(),
                values: values.len(),
            });
        }
        if let Some(pair) = columns.windows(2).find(|pair| pair[0] >= pair[1]) {
            return Err(SparseVectorError::Order {
                before: pair[0],
                found: pair[1],
            });
        }
        if let Some(at) = values.iter().position(|value| !value.is_finite()) {
            return Err(SparseVectorError::NotFinite {
                column: columns[at],
                found: values[at],
            });
        }
        Ok(Self::trusted(columns, values))
    }

    /// In order and finite.
    pub(super) fn trusted(columns: Vec<u32>, values: Vec<f32>) -> Self {
        if !values.contains(&0.0) {
            return Self { columns, values };
        }
        let pairs = columns.into_iter().zip(values);
        let (columns, values) = pairs.filter(|&(_, value)| value != 0.0).unzip();
        Self { columns, values }
    }

    /// The same from all values, zeros included.
    ///
    /// # Errors
    /// When a value is not finite.
    pub fn of(values: &[f32]) -> Result<Self, SparseVectorError> {
        Self::new((0..values.len() as u32).collect(), values.to_vec())
    }

    /// The columns whose values are not zero, ascending.
    #[must_use]
    pub fn columns(&self) -> &[u32] {
        &self.columns
    }

    /// Their values.
    #[must_use]
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    pub(super) fn parts(&self) -> Parts<'_> {
        Parts {
            columns: &self.columns,
            values: &self.values,
        }
    }
}

/// Why columns and values are not a vector.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SparseVectorError {
    /// Columns and values differ in number.
    #[error("expected one value a column, found {columns} columns and {values} values")]
    Pairs {
        /// How many columns there are.
        columns: usize,
        /// How many values there are.
        values: usize,
    },
    /// A column is not behind the one before it.
    #[error("expected ascending columns, found {found} after {before}")]
    Order {
        /// The column before.
        before: u32,
        /// The column.
        found: u32,
    },
    /// NaN or infinity.
    #[error("column {column}: expected a finite number, found {found}")]
    NotFinite {
        /// The column.
        column: u32,
        /// What stands there.
        found: f32,
    },
}

/// A vector, borrowed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parts<'a> {
    pub(super) columns: &'a [u32],
    pub(super) values: &'a [f32],
}

impl Parts<'_> {
    pub(super) fn iter(self) -> impl Iterator<Item = (u32, f64)> {
        let values = self.values.iter().map(|&value| f64::from(value));
        self.columns.iter().copied().zip(values)
    }
}
