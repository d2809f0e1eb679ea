//! Error of the index writer.

use std::io;
use std::path::PathBuf;

use ir_core::store::OpenIndexError;

use crate::BuildError;

/// Error writing a segmented index.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the fields are named in the messages")]
pub enum IndexWriterError {
    /// Another writer, of this or another process, has opened the index.
    #[error("{}: the index is locked by another writer", folder.display())]
    Locked { folder: PathBuf },
    /// The folder contains an index.
    #[error("{}: contains an index already", folder.display())]
    Exists { folder: PathBuf },
    /// The folder contains files with the names of segments, but no index.
    #[error("{}: expected a folder without files segment-N.ir and deleted-N.ir", folder.display())]
    ForeignFiles { folder: PathBuf },
    /// A segmented index identifies documents by their ids.
    #[error("expected `DuplicateIds::Reject`, found `DuplicateIds::Keep`: ids must be unique")]
    DuplicateIds,
    /// A file of the index cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenIndexError),
    /// A document cannot be indexed, or a segment cannot be written.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A file or folder cannot be written.
    #[error("{}: cannot write the index", path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}
