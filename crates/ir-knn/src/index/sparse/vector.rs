//! Sparse vectors: ascending columns and their nonzero values.

/// Sparse vector: the nonzero values of a vector and their columns.
///
/// ```
/// use ir_knn::SparseVector;
/// let vector = SparseVector::new(vec![1, 4], vec![0.5, -2.0])?;
/// assert_eq!(vector, SparseVector::from_dense(&[0.0, 0.5, 0.0, 0.0, -2.0, 0.0])?);
/// assert!(SparseVector::new(vec![4, 1], vec![0.5, -2.0]).is_err());
/// # Ok::<(), ir_knn::SparseVectorError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SparseVector {
    columns: Vec<u32>,
    values: Vec<f32>,
}

impl SparseVector {
    /// Builds a vector from ascending columns and their values. Zero values are removed.
    ///
    /// # Errors
    /// If the numbers of columns and values differ, columns do not ascend, or a value is not
    /// finite.
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
        Ok(Self::from_valid(columns, values))
    }

    /// Builds a vector from ascending columns and finite values.
    pub(super) fn from_valid(columns: Vec<u32>, values: Vec<f32>) -> Self {
        if !values.contains(&0.0) {
            return Self { columns, values };
        }
        let pairs = columns.into_iter().zip(values);
        let (columns, values) = pairs.filter(|&(_, value)| value != 0.0).unzip();
        Self { columns, values }
    }

    /// Converts a dense vector.
    ///
    /// # Errors
    /// If a value is not finite.
    pub fn from_dense(values: &[f32]) -> Result<Self, SparseVectorError> {
        Self::new((0..values.len() as u32).collect(), values.to_vec())
    }

    /// Columns of the nonzero values, ascending.
    #[must_use]
    pub fn columns(&self) -> &[u32] {
        &self.columns
    }

    /// Nonzero values, in the order of [`columns`](Self::columns).
    #[must_use]
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    pub(super) fn view(&self) -> SparseVectorView<'_> {
        SparseVectorView {
            columns: &self.columns,
            values: &self.values,
        }
    }
}

/// Error building a sparse vector.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the fields are named in the messages")]
pub enum SparseVectorError {
    /// The numbers of columns and values differ.
    #[error("expected one value per column, found {columns} columns and {values} values")]
    Pairs { columns: usize, values: usize },
    /// A column is not greater than the one before it.
    #[error("expected ascending columns, found {found} after {before}")]
    Order { before: u32, found: u32 },
    /// A value is NaN or infinite.
    #[error("column {column}: expected a finite number, found {found}")]
    NotFinite { column: u32, found: f32 },
}

/// Columns and values of a borrowed sparse vector.
#[derive(Debug, Clone, Copy)]
pub(super) struct SparseVectorView<'a> {
    pub(super) columns: &'a [u32],
    pub(super) values: &'a [f32],
}

impl SparseVectorView<'_> {
    pub(super) fn iter(self) -> impl Iterator<Item = (u32, f64)> {
        let values = self.values.iter().map(|&value| f64::from(value));
        self.columns.iter().copied().zip(values)
    }
}
