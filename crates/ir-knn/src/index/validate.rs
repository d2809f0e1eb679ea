//! Validation of vectors and queries.

use ir_core::{SearchError, VectorSimilarity};

use super::error::VectorError;
use crate::matrix::MatrixError;

/// Validates one vector of an index.
pub(super) fn check_vector(
    row: usize,
    dim: usize,
    values: &[f32],
    similarity: VectorSimilarity,
) -> Result<(), VectorError> {
    if values.len() != dim {
        return Err(dimensions_error(row, dim, values.len()));
    }
    if let Some(column) = values.iter().position(|value| !value.is_finite()) {
        let found = values[column].into();
        return Err(MatrixError::NotFinite { row, column, found }.into());
    }
    if similarity == VectorSimilarity::Cosine && values.iter().all(|&value| value == 0.0) {
        return Err(VectorError::Zero { row });
    }
    Ok(())
}

/// Error of a vector that has another dimension than the index.
pub(super) fn dimensions_error(row: usize, expected: usize, found: usize) -> VectorError {
    VectorError::Matrix(MatrixError::Dimensions {
        row,
        expected,
        found,
    })
}

/// Validates a query. An index without vectors and dimension (`dim` 0) accepts any dimension.
pub(super) fn check_query(
    dim: usize,
    similarity: VectorSimilarity,
    query: &[f32],
) -> Result<(), SearchError> {
    if query.len() != dim && dim > 0 {
        return Err(SearchError::Dimensions {
            expected: dim,
            found: query.len(),
        });
    }
    if let Some(at) = query.iter().position(|value| !value.is_finite()) {
        let value = query[at];
        return Err(SearchError::NotFinite { at, value });
    }
    if similarity == VectorSimilarity::Cosine && query.iter().all(|&value| value == 0.0) {
        return Err(SearchError::ZeroVector);
    }
    Ok(())
}
