//! Errors building and saving vector indexes.

use std::io;
use std::path::{Path, PathBuf};

/// Error building a vector index from vectors. Rows and columns count from 0.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the fields are named in the messages")]
pub enum VectorError {
    /// The vectors have dimension 0.
    #[error("expected vectors of at least one dimension, found none")]
    NoDimensions,
    /// Sparse vectors have more columns than an inverted index supports.
    #[error("expected at most {max} columns, found {found}")]
    Columns { max: usize, found: usize },
    /// The number of values is not that of one vector per id.
    #[error("expected {documents} vectors of {dim} values, found {found} values")]
    Values {
        documents: usize,
        dim: usize,
        found: usize,
    },
    /// The numbers of vectors and ids differ.
    #[error("expected a vector for each of {documents} ids, found {found}")]
    Documents { documents: usize, found: usize },
    /// A vector has another dimension than the index.
    #[error("row {row}: expected {expected} dimensions, found {found}")]
    Dimensions {
        row: usize,
        expected: usize,
        found: usize,
    },
    /// A value is NaN or infinite.
    #[error("row {row}, column {column}: expected a finite number, found {found}")]
    NotFinite {
        row: usize,
        column: usize,
        found: f32,
    },
    /// A vector is zero under cosine similarity.
    #[error("row {row}: expected a nonzero vector for cosine similarity, found a zero vector")]
    Zero { row: usize },
}

/// Error saving a vector index. An existing file at the path is unchanged.
#[derive(Debug, thiserror::Error)]
#[error("{}: cannot write the index file", path.display())]
pub struct SaveVectorIndexError {
    /// Path of the index file.
    pub path: PathBuf,
    /// Error of the operating system.
    pub source: io::Error,
}

impl SaveVectorIndexError {
    /// Adds the path to the error of a write.
    pub(super) fn with_path(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self { path, source }
    }
}
