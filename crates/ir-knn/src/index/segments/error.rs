//! Error of the writer of a segmented vector index.

use ir_core::IdError;
use ir_core::segments::SegmentsError;
use ir_core::store::OpenIndexError;

use crate::index::error::{SaveVectorIndexError, VectorError};
use crate::index::hnsw::HnswError;

/// Error writing a segmented vector index.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the fields are named in the messages")]
pub enum VectorIndexWriterError {
    /// The folder is locked, contains other files, or a file of it cannot be opened or written.
    #[error(transparent)]
    Segments(#[from] SegmentsError),
    /// The dimension is 0.
    #[error(transparent)]
    Config(VectorError),
    /// A parameter of the graphs is out of range, or a segment has too many vectors for a graph.
    #[error(transparent)]
    Hnsw(HnswError),
    /// A vector is invalid. Rows count the vectors since the last commit, from 0.
    #[error("vector of {id:?}")]
    Vector {
        id: String,
        #[source]
        source: VectorError,
    },
    /// The index has no fingerprints ([`VectorIndexConfig::fingerprints`]).
    ///
    /// [`VectorIndexConfig::fingerprints`]: crate::VectorIndexConfig::fingerprints
    #[error("expected an index with fingerprints, found one without")]
    NoFingerprints,
    /// An id is too long, or there are too many vectors.
    #[error(transparent)]
    Ids(#[from] IdError),
    /// A segment cannot be written.
    #[error(transparent)]
    Save(#[from] SaveVectorIndexError),
    /// The progress callback returned [`Flow::Stop`](ir_core::Flow::Stop).
    #[error("writing the index was canceled")]
    Canceled,
    /// The writer was used after an error.
    #[error("the index writer cannot be used after an error")]
    Abandoned,
    /// The changes were committed, and then segments could not be merged. A later commit or
    /// compaction merges them.
    #[error("the changes are committed, but segments cannot be merged")]
    Merge(#[source] Box<Self>),
}

impl VectorIndexWriterError {
    /// Error of a merge after a commit.
    pub(super) fn from_merge(error: Self) -> Self {
        match error {
            Self::Canceled => error,
            error => Self::Merge(Box::new(error)),
        }
    }
}

impl From<HnswError> for VectorIndexWriterError {
    fn from(error: HnswError) -> Self {
        match error {
            HnswError::Canceled => Self::Canceled,
            error => Self::Hnsw(error),
        }
    }
}

impl From<OpenIndexError> for VectorIndexWriterError {
    fn from(error: OpenIndexError) -> Self {
        SegmentsError::from(error).into()
    }
}
