//! Errors building and saving vector indexes.

use std::io;
use std::path::PathBuf;

use crate::matrix::MatrixError;

/// Error building a vector index from vectors. Rows and columns count from 0.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the fields are named in the messages")]
pub enum VectorError {
    /// The vectors have dimension 0, a vector has another dimension than the index, or a value is
    /// NaN or infinite.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
    /// Sparse vectors have more columns than an inverted index supports.
    #[error("expected at most {max} columns, found {found}")]
    Columns { max: usize, found: usize },
    /// The number of values is not the number of ids times the dimension.
    #[error("expected {documents} vectors of {dim} values, found {found} values")]
    Values {
        documents: usize,
        dim: usize,
        found: usize,
    },
    /// The numbers of vectors and ids differ.
    #[error("expected a vector for each of {documents} ids, found {found}")]
    Documents { documents: usize, found: usize },
    /// The numbers of fingerprints and vectors differ.
    #[error("expected a fingerprint for each of {documents} vectors, found {found}")]
    Fingerprints { documents: usize, found: usize },
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
