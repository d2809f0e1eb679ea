//! Error of the index writer.

use ir_core::segments::SegmentsError;

use crate::BuildError;

/// Error writing a segmented index.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IndexWriterError {
    /// The folder is locked, contains other files, or a file of it cannot be opened or written.
    #[error(transparent)]
    Segments(#[from] SegmentsError),
    /// A segmented index identifies documents by their ids.
    #[error("expected `DuplicateIds::Reject`, found `DuplicateIds::Keep`: ids must be unique")]
    DuplicateIds,
    /// A document cannot be indexed, or a segment cannot be written.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The changes were committed, and then segments could not be merged. A later commit or
    /// compaction merges them.
    #[error("the changes are committed, but segments cannot be merged")]
    Merge(#[source] Box<Self>),
}

impl IndexWriterError {
    /// Error of a merge after a commit.
    pub(super) fn of_merge(error: Self) -> Self {
        match error {
            Self::Build(BuildError::Canceled) => error,
            error => Self::Merge(Box::new(error)),
        }
    }
}
