//! Errors of FAISS indexes.

use std::io;
use std::path::PathBuf;

use ir_core::store::OpenIndexError;

/// Error reported by the FAISS library.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FaissNativeError(pub(super) String);

impl From<faiss::error::Error> for FaissNativeError {
    fn from(error: faiss::error::Error) -> Self {
        match error {
            faiss::error::Error::Native(error) => Self(error.msg().to_owned()),
            other => Self(other.to_string()),
        }
    }
}

/// Error building, saving or opening a FAISS index.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the fields are named in the messages")]
pub enum FaissError {
    /// The factory description is of an unsupported family.
    #[error("expected Flat, HNSW... or IVF... without refinement, found {found:?}")]
    Description { found: String },
    /// The file from which the flat index was opened is damaged.
    #[error(transparent)]
    Vectors(OpenIndexError),
    /// FAISS rejects the description, or the vectors are too few for training.
    #[error(
        "{description}: FAISS cannot build the index from {documents} vectors of {dim} dimensions"
    )]
    Build {
        description: String,
        documents: usize,
        dim: usize,
        #[source]
        source: FaissNativeError,
    },
    /// A file cannot be written.
    #[error("{}: cannot write the index file", path.display())]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// A file cannot be read.
    #[error("{}: cannot read the index file", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// FAISS cannot write or read the file.
    #[error("{}: FAISS failed", path.display())]
    Native {
        path: PathBuf,
        #[source]
        source: FaissNativeError,
    },
    /// The file of the ids is damaged or of another format.
    #[error("{}: expected the ids of a FAISS index", path.display())]
    Ids {
        path: PathBuf,
        #[source]
        source: serde_json::Error,
    },
    /// The two files do not belong together, or one is damaged.
    #[error("{}: expected {property} {expected}, found {found}", path.display())]
    Mismatch {
        path: PathBuf,
        property: &'static str,
        expected: u64,
        found: u64,
    },
}
