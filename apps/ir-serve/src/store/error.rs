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
    #[error("{path}: expected a data folder, found no store")]
    NoStore { path: String },
    #[error("{path}: expected a new or an empty folder, found a file or a folder with files")]
    NotEmpty { path: String },
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
    #[error(
        "annotation {id}: expected a pending or accepted annotation of the same document to merge it into, found {target}"
    )]
    NoMerge { id: i64, target: i64 },
    #[error("annotation {id}: not found")]
    NoAnnotation { id: i64 },
    #[error("tags of a paper: expected at most {limit}, found {found}")]
    Tags { limit: usize, found: usize },
    #[error("canceled")]
    Canceled,
    #[error("store: {}{}", .0, advice(.0))]
    Database(rusqlite::Error),
    /// The operating system failed to read or write a file of the store.
    #[error("store: {database}: {system}")]
    File {
        database: rusqlite::Error,
        system: io::Error,
    },
}

impl From<rusqlite::Error> for StoreError {
    /// Converts an error at once: the cause of an error of a file is the last error of the
    /// operating system on this thread.
    fn from(error: rusqlite::Error) -> Self {
        let system = io::Error::last_os_error();
        Self::from_system(error, system)
    }
}

/// What to do about an error of the database.
fn advice(error: &rusqlite::Error) -> &'static str {
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::DatabaseCorrupt) => "; restore it from a copy",
        _ => "",
    }
}

impl StoreError {
    /// Error of the database, with the error of the operating system when it occurred.
    pub(crate) fn from_system(database: rusqlite::Error, system: io::Error) -> Self {
        match database.sqlite_error_code() {
            Some(rusqlite::ErrorCode::SystemIoFailure) => Self::File { database, system },
            _ => Self::Database(database),
        }
    }

    /// Returns `true` if a write failed because the disk is full, or a quota or a limit on the size
    /// of files is reached.
    #[must_use]
    pub fn is_full(&self) -> bool {
        match self {
            Self::Database(error) => {
                error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull)
            }
            // SQLite has a code for a full disk, but none for a quota or a limit.
            Self::File { system, .. } => matches!(
                system.kind(),
                io::ErrorKind::StorageFull
                    | io::ErrorKind::QuotaExceeded
                    | io::ErrorKind::FileTooLarge
            ),
            _ => false,
        }
    }

    /// Returns `true` if a file could not be read or written for another reason than a full disk,
    /// such as an error of the device.
    #[must_use]
    pub fn is_file_error(&self) -> bool {
        matches!(self, Self::File { .. }) && !self.is_full()
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    #[test]
    fn full_disks_are_no_errors_of_files() {
        let error = |code: i32, system: io::ErrorKind| {
            let database = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            let error = StoreError::from_system(database, system.into());
            (error.is_full(), error.is_file_error())
        };
        let (full, failed, neither) = ((true, false), (false, true), (false, false));
        for (code, system, expected) in [
            (ffi::SQLITE_FULL, io::ErrorKind::NotFound, full),
            (ffi::SQLITE_IOERR_WRITE, io::ErrorKind::FileTooLarge, full),
            (ffi::SQLITE_IOERR_WRITE, io::ErrorKind::QuotaExceeded, full),
            (ffi::SQLITE_IOERR_SHMSIZE, io::ErrorKind::StorageFull, full),
            (ffi::SQLITE_IOERR_WRITE, io::ErrorKind::Other, failed),
            (ffi::SQLITE_IOERR_FSYNC, io::ErrorKind::Other, failed),
            (ffi::SQLITE_BUSY, io::ErrorKind::StorageFull, neither),
        ] {
            assert_eq!(error(code, system), expected, "{code} {system}");
        }
    }
}
