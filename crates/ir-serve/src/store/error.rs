use std::io;

/// Error of the store of a data folder.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum StoreError {
    #[error("{path}: cannot be opened")]
    Open {
        path: String,
        #[source]
        source: io::Error,
    },
    #[error("{path}: expected a folder, found a file")]
    NotAFolder { path: String },
    #[error("{path}: in use by another server")]
    InUse { path: String },
    #[error("{path}: expected a store of ir-serve, found another database")]
    NotAStore { path: String },
    #[error("{path}: expected a store of version {expected} or below, found version {found}")]
    Version {
        path: String,
        expected: usize,
        found: usize,
    },
    #[error("{path}: expected an intact database, found damage ({found}); restore it from a copy")]
    DamagedPages { path: String, found: String },
    #[error("{path}: document {document:?}: damaged record")]
    Damaged { path: String, document: String },
    #[error(
        "annotation {id}: expected revision {expected}, found {found}: it was edited meanwhile"
    )]
    Conflict { id: i64, expected: i64, found: i64 },
    #[error("annotation {id}: cannot be merged into {target}")]
    NoMerge { id: i64, target: i64 },
    #[error("annotation {id}: not found")]
    NoAnnotation { id: i64 },
    #[error("canceled")]
    Canceled,
    #[error("store: {}{}", .0, advice(.0))]
    Database(#[from] rusqlite::Error),
}

/// What to do about an error of the database.
fn advice(error: &rusqlite::Error) -> &'static str {
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::DatabaseCorrupt) => "; restore it from a copy",
        _ => "",
    }
}

impl StoreError {
    /// Whether a write failed, most often because the disk is full, or because a quota or a limit
    /// on the size of files is reached. SQLite distinguishes a full disk from other errors of
    /// writing, but not a quota or a limit from an error of the device.
    #[must_use]
    pub fn is_full(&self) -> bool {
        let Self::Database(rusqlite::Error::SqliteFailure(error, _)) = self else {
            return false;
        };
        error.code == rusqlite::ErrorCode::DiskFull
            || error.extended_code == rusqlite::ffi::SQLITE_IOERR_WRITE
    }
}
