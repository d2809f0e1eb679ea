use ir_core::SearchError;

/// Checks a query vector.
pub(crate) fn check_query(
    query: &[f32],
    dim: usize,
    must_be_nonzero: bool,
) -> Result<(), SearchError> {
    if query.len() != dim {
        let (expected, found) = (dim, query.len());
        return Err(SearchError::Dimensions { expected, found });
    }
    if let Some(at) = query.iter().position(|value| !value.is_finite()) {
        let value = query[at];
        return Err(SearchError::NotFinite { at, value });
    }
    if must_be_nonzero && query.iter().all(|&value| value == 0.0) {
        return Err(SearchError::ZeroVector);
    }
    Ok(())
}

/// Writes finite numbers with the fewest digits that are read as the same f32.
pub(crate) fn write_vector(text: &mut String, vector: &[f32]) {
    // Faster than formatting each number.
    text.push_str(&serde_json::to_string(vector).unwrap_or_default());
}

/// Writes vectors as an array.
#[cfg(feature = "milvus")]
pub(crate) fn write_vectors<'v>(text: &mut String, vectors: impl IntoIterator<Item = &'v [f32]>) {
    let start = text.len();
    for vector in vectors {
        text.push(if text.len() == start { '[' } else { ',' });
        write_vector(text, vector);
    }
    text.push_str(if text.len() == start { "[]" } else { "]" });
}
