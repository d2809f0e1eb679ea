//! Search for damage in the store.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ir_core::{Flow, Progress};
use rusqlite::{Connection, InterruptHandle, OpenFlags};

use super::damage::{check_pages, damage_of, mark, marked};
use super::vectors::checksum;
use super::{Store, StoreError, sha256};

/// Records and vectors between two reports of progress.
const REPORTED: u64 = 1_000;

/// Numbers of records that a check has read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckedStore {
    /// Records of documents, added and published ones.
    pub records: u64,
    /// Vectors of all encoders.
    pub vectors: u64,
    /// Vectors without a checksum, which older versions stored: only their pages were checked.
    pub vectors_without_checksum: u64,
}

impl Store {
    /// Reads the whole file: the structure of its pages and indexes, and every record and vector
    /// with its checksum. After an error of damage, the next [`Store::open`] checks the pages.
    ///
    /// # Errors
    /// The first damage, also a file that cannot be read; [`StoreError::Canceled`] if `progress`
    /// requests a stop.
    pub fn check(&self, progress: &mut dyn Progress) -> Result<CheckedStore, StoreError> {
        check_file(&self.reader()?, &self.path, progress).map_err(|error| marked(error, &self.path))
    }

    /// A further connection, which only reads and does not keep other threads waiting.
    pub(super) fn reader(&self) -> Result<Connection, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags)?;
        connection.busy_timeout(Duration::from_secs(10))?;
        Ok(connection)
    }
}

/// Checks the pages, the records of the documents and the vectors of a store. Errors name `path`.
pub(super) fn check_file(
    connection: &Connection,
    path: &str,
    progress: &mut dyn Progress,
) -> Result<CheckedStore, StoreError> {
    let mut report =
        |stage: &str, done: u64, total: Option<u64>| match progress.report(stage, done, total) {
            Flow::Stop => Err(StoreError::Canceled),
            Flow::Continue => Ok(()),
        };
    report("checking pages", 0, None)?;
    check_pages(connection, path, "integrity_check")
        .and_then(|()| check_contents(connection, path, &mut report))
        .map_err(|error| damage_of(error, path))
}

/// Checks the records of the documents and the vectors.
fn check_contents(
    connection: &Connection,
    path: &str,
    mut report: impl FnMut(&str, u64, Option<u64>) -> Result<(), StoreError>,
) -> Result<CheckedStore, StoreError> {
    let count = |table: &str| {
        let count = format!("SELECT count(*) FROM {table}");
        connection.query_row(&count, [], |row| row.get::<_, u64>(0))
    };
    let damaged = |found: String| StoreError::DamagedPages {
        path: path.to_owned(),
        found,
    };
    let mut checked = CheckedStore::default();
    let total = count("contents")?;
    let mut select = connection.prepare("SELECT hash, record FROM contents")?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let (hash, record): ([u8; 32], String) = (row.get(0)?, row.get(1)?);
        if sha256(record.as_bytes()) != hash {
            return Err(damaged(owner(connection, &hash)?));
        }
        checked.records += 1;
        if checked.records.is_multiple_of(REPORTED) {
            report("checking records", checked.records, Some(total))?;
        }
    }
    for table in ["documents", "published_documents"] {
        let lost =
            format!("SELECT id FROM {table} WHERE hash NOT IN (SELECT hash FROM contents) LIMIT 1");
        let mut select = connection.prepare(&lost)?;
        if let Some(row) = select.query([])?.next()? {
            let id: String = row.get(0)?;
            return Err(damaged(format!("no record of document {id:?}")));
        }
    }
    let total = count("vectors")?;
    let mut select = connection.prepare("SELECT vector, checksum FROM vectors")?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let (vector, expected): (Vec<u8>, Option<i64>) = (row.get(0)?, row.get(1)?);
        if expected.is_some_and(|expected| expected != checksum(&vector)) {
            return Err(damaged("a vector with another checksum".to_owned()));
        }
        checked.vectors += 1;
        checked.vectors_without_checksum += u64::from(expected.is_none());
        if checked.vectors.is_multiple_of(REPORTED) {
            report("checking vectors", checked.vectors, Some(total))?;
        }
    }
    Ok(checked)
}

/// Names the document of a damaged record.
fn owner(connection: &Connection, hash: &[u8; 32]) -> Result<String, StoreError> {
    let mut select = connection.prepare(
        "SELECT id FROM documents WHERE hash = ?1
         UNION SELECT id FROM published_documents WHERE hash = ?1 LIMIT 1",
    )?;
    let mut rows = select.query([hash])?;
    Ok(match rows.next()? {
        Some(row) => format!("the record of document {:?}", row.get::<_, String>(0)?),
        None => "a record of no document".to_owned(),
    })
}

/// Check of the pages of a store in the background. Dropping it ends the check.
pub(crate) struct BackgroundCheck {
    damage: Arc<OnceLock<String>>,
    is_stopped: Arc<AtomicBool>,
    interrupt: Option<InterruptHandle>,
    thread: Option<JoinHandle<()>>,
}

impl BackgroundCheck {
    /// Starts the check. The time of the start does not depend on the size of the store.
    pub(crate) fn start(store: &Arc<Store>) -> Result<Self, StoreError> {
        let connection = store.reader()?;
        let interrupt = connection.get_interrupt_handle();
        let damage = Arc::new(OnceLock::new());
        let is_stopped = Arc::new(AtomicBool::new(false));
        let (store, found, stopped) = (
            Arc::clone(store),
            Arc::clone(&damage),
            Arc::clone(&is_stopped),
        );
        let thread = thread::spawn(move || {
            let result = check_pages(&connection, &store.path, "quick_check");
            match result {
                Ok(()) => tracing::debug!("the pages of the store are intact"),
                // Damage that was found before the stop is kept for the next start.
                Err(error @ StoreError::DamagedPages { .. }) => {
                    tracing::error!(%error, "the store is damaged");
                    mark(&store.path, &error);
                    let _ = found.set(error.to_string());
                }
                Err(_) if stopped.load(Ordering::Relaxed) => {}
                Err(error) => tracing::error!(%error, "the store was not checked"),
            }
        });
        Ok(Self {
            damage,
            is_stopped,
            interrupt: Some(interrupt),
            thread: Some(thread),
        })
    }

    /// Waits for the end of the check.
    #[cfg(test)]
    pub(crate) fn wait(&self) {
        let is_finished = |thread: &JoinHandle<()>| thread.is_finished();
        crate::app::tests::wait_until(|| self.thread.as_ref().is_none_or(is_finished));
    }

    /// Damage that was found.
    pub(crate) fn damage(&self) -> Option<&str> {
        self.damage.get().map(String::as_str)
    }
}

impl Drop for BackgroundCheck {
    fn drop(&mut self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        let (Some(thread), Some(interrupt)) = (self.thread.take(), self.interrupt.take()) else {
            return;
        };
        // An interrupt before the check starts has no effect.
        while !thread.is_finished() {
            interrupt.interrupt();
            thread::sleep(Duration::from_millis(1));
        }
        let _ = thread.join();
    }
}
