//! Error of a writer of segments.

use std::io;
use std::path::{Path, PathBuf};

use crate::store::OpenIndexError;

/// Error writing the folder of a segmented index.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the fields are named in the messages")]
pub enum SegmentsError {
    /// Another writer, of this or another process, has opened the index.
    #[error("{}: the index is locked by another writer; try again when it has ended", folder.display())]
    Locked { folder: PathBuf },
    /// The folder, or the lock file in it, was removed or replaced while the writer had it open.
    /// What is there now may be another writer's, so the operation changed nothing.
    #[error(
        "{}: expected the lock file of this writer, which was removed or replaced",
        path.display()
    )]
    LostLock { path: PathBuf },
    /// The folder contains an index.
    #[error("{}: contains an index already", folder.display())]
    Exists { folder: PathBuf },
    /// The folder contains files with the names of segments, but no index.
    #[error("{}: expected a folder without files segment-N.ir and deleted-N.ir", folder.display())]
    ForeignFiles { folder: PathBuf },
    /// A file of the index cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenIndexError),
    /// A file or folder cannot be written.
    #[error("{}: cannot write the index", path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// Adds the path to an I/O error.
pub(super) fn failed(path: &Path) -> impl Fn(io::Error) -> SegmentsError + '_ {
    |source| SegmentsError::Io {
        path: path.to_owned(),
        source,
    }
}
