//! Documents, jobs, keys, vectors, annotations and the query log in a SQLite file.
//!
//! A write is durable when its method returns: every commit is synchronized to the disk
//! (write-ahead log, `synchronous = FULL`).
//!
//! SQLite, although it is C: annotations and jobs need transactions, queries by column and
//! migrations, and other programs can read the file. One transaction per change leaves the old or
//! the new state after a crash.

mod annotations;
mod backup;
mod check;
mod damage;
mod dataset_annotations;
mod documents;
mod error;
mod files;
mod jobs;
mod keys;
mod query_log;
mod schema;
mod tags;
mod vectors;

use std::fs::{self, File, TryLockError};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, Params, Row, Transaction};
use serde::Serialize;
use sha2::{Digest, Sha256};

pub(crate) use annotations::AnnotationPosition;
pub use annotations::{Annotation, AnnotationStatus, NewAnnotation, Verdict};
pub use backup::{QUESTION_FILE, back_up};
pub(crate) use check::BackgroundCheck;
pub use check::CheckedStore;
pub use dataset_annotations::{DatasetAnnotation, NewDatasetAnnotation};
pub(crate) use documents::Publication;
pub use documents::{AddedDocuments, DocumentState, Origin, PublishedQuestion, StoredDocument};
pub use error::StoreError;
pub(crate) use files::ReadDocument;
pub use files::{FileProblem, FileStatus, FolderReading};
pub(crate) use jobs::MAX_ATTEMPTS;
pub use jobs::{Job, JobStatus};
pub use keys::KeyRole;
pub(crate) use keys::{random_hex, role_of};
pub(crate) use query_log::{LoggedClick, OpenedAnswer};
pub use query_log::{LoggedQuery, QueryRecord};

/// Store of a data folder. One process at a time opens it.
#[derive(Debug)]
pub struct Store {
    path: String,
    connection: Mutex<Connection>,
    /// Locked while the store is open.
    lock: File,
}

impl Drop for Store {
    /// Unlocks the file instead of only closing it: a process that another thread starts has the
    /// file open, too, until it executes its program.
    fn drop(&mut self) {
        let _ = self.lock.unlock();
    }
}

/// Sets up a connection, and creates or migrates the tables.
fn prepare(connection: &mut Connection, path: &str) -> Result<(), StoreError> {
    connection.busy_timeout(Duration::from_secs(10))?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "journal_size_limit", 64 << 20)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    schema::migrate(connection, path)
}

impl Store {
    /// Opens the store of a data folder, or creates folder and store. Reads a few pages only;
    /// [`Store::check`] reads all.
    ///
    /// # Errors
    /// Another process has it open; the file is not a store, or a later version wrote it; damage
    /// was found before, and is still there.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        let fail = |path: &Path| {
            let path = path.display().to_string();
            |source| StoreError::Open { path, source }
        };
        if folder.is_file() {
            return Err(StoreError::NotAFolder {
                path: folder.display().to_string(),
            });
        }
        fs::create_dir_all(folder).map_err(fail(folder))?;
        let lock_path = folder.join("lock");
        let lock = File::create(&lock_path).map_err(fail(&lock_path))?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => StoreError::InUse {
                path: folder.display().to_string(),
            },
            TryLockError::Error(source) => fail(&lock_path)(source),
        })?;
        let file = folder.join(schema::DATABASE);
        let path = file.display().to_string();
        let mut connection = Connection::open(&file)?;
        prepare(&mut connection, &path).map_err(|error| damage::marked(error, &path))?;
        damage::check_if_marked(&connection, &path)?;
        Ok(Self {
            path,
            connection: Mutex::new(connection),
            lock,
        })
    }

    /// Executes SQL that makes later writes fail.
    #[cfg(test)]
    pub(crate) fn execute(&self, sql: &str) {
        self.connection().execute_batch(sql).unwrap();
    }

    /// The connection. A panic of another thread in a transaction has rolled it back, so that a
    /// poisoned lock is usable.
    pub(crate) fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something in a transaction, and commits it if that succeeds.
    fn write<T>(
        &self,
        write: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut connection = self.connection();
        let transaction = connection.transaction()?;
        let written = write(&transaction)?;
        transaction.commit()?;
        Ok(written)
    }
}

/// Returns the rows of a query.
fn select<T, C: FromIterator<T>>(
    connection: &Connection,
    query: &str,
    params: impl Params,
    row: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<C, StoreError> {
    let mut select = connection.prepare_cached(query)?;
    let rows = select.query_map(params, row)?;
    Ok(rows.collect::<rusqlite::Result<C>>()?)
}

/// Value of a column in JSON.
fn json(value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| {
        StoreError::Database(rusqlite::Error::ToSqlConversionFailure(error.into()))
    })
}

/// Rejects an edit of a revision that is not the stored one.
fn check_revision(id: i64, found: i64, expected: i64) -> Result<(), StoreError> {
    if found == expected {
        Ok(())
    } else {
        Err(StoreError::Conflict {
            id,
            expected,
            found,
        })
    }
}

/// Digest by which records, texts and keys are stored.
pub(crate) fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// Unix time in milliseconds. Records are ordered by their numbers, never by time, because clocks
/// go back.
pub(crate) fn now() -> i64 {
    let elapsed = system_time().duration_since(UNIX_EPOCH);
    elapsed.map_or(0, |elapsed| {
        i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX)
    })
}

#[cfg(not(test))]
fn system_time() -> SystemTime {
    SystemTime::now()
}

/// The clock, less the seconds by which a test sets it back.
#[cfg(test)]
fn system_time() -> SystemTime {
    let seconds = CLOCK_SET_BACK.load(std::sync::atomic::Ordering::Relaxed);
    SystemTime::now() - Duration::from_secs(seconds)
}

#[cfg(test)]
pub(crate) static CLOCK_SET_BACK: std::sync::atomic::AtomicU64 =
    std::sync::atomic::AtomicU64::new(0);

#[cfg(test)]
mod fault_tests;
#[cfg(test)]
mod tests;
