//! What can go wrong.

use std::io;
use std::path::PathBuf;

use crate::Similarity;

/// What FAISS said.
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

/// Why there is no index of FAISS.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FaissError {
    /// A description of another kind of index.
    #[error("expected Flat, HNSW... or IVF... without refinement, found {found:?}")]
    Description {
        /// What was given.
        found: String,
    },
    /// FAISS could not build the index: it does not know the description, or the vectors are too few
    /// to train it.
    #[error("{description}: FAISS could not build it from {documents} vectors of {dim} dimensions")]
    Build {
        /// The description.
        description: String,
        /// How many vectors there are.
        documents: usize,
        /// Their length.
        dim: usize,
        /// What it said.
        #[source]
        source: FaissNativeError,
    },
    /// A file could not be written or read.
    #[error("{}: could not be {}", path.display(), if *writing { "written" } else { "read" })]
    Io {
        /// The file.
        path: PathBuf,
        /// Which of both.
        writing: bool,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// FAISS could not write or read a file.
    #[error("{}: FAISS failed", path.display())]
    Native {
        /// The file.
        path: PathBuf,
        /// What it said.
        #[source]
        source: FaissNativeError,
    },
    /// The file of the ids is another, or damaged.
    #[error("{}: expected the ids of an index of FAISS", path.display())]
    Ids {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: serde_json::Error,
    },
    /// Both files do not belong together, or one is damaged.
    #[error("{}: expected {expected} {what}, found {found}", path.display())]
    Mismatch {
        /// The file.
        path: PathBuf,
        /// What differs.
        what: &'static str,
        /// What the file of the ids says.
        expected: u64,
        /// What is there.
        found: u64,
    },
    /// The index is of another similarity.
    #[error("{}: expected an index of {expected} similarity, found {found}", path.display())]
    VectorSimilarity {
        /// The file.
        path: PathBuf,
        /// What was asked for.
        expected: VectorSimilarity,
        /// That of the index.
        found: VectorSimilarity,
    },
}
