//! Lookup of cache entries: an entry that is not there is locked while it is computed.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use ir_core::Flow;
use ir_core::store::{OpenIndexError, is_file_at};

use crate::error::SpecError;
use crate::observer::{Observer, StageStatus};

/// Time between two attempts to lock an entry.
const WAIT: Duration = Duration::from_millis(100);

/// Result of a lookup.
#[derive(Debug)]
pub enum Lookup<T> {
    /// The entry is valid.
    Found(T),
    /// There is no valid entry, and no one else computes it until the lock is dropped.
    ToCompute {
        /// Status of the new entry: computed, or rebuilt in place of an invalid one.
        status: StageStatus,
        /// Lock of the entry until it is dropped.
        lock: EntryLock,
    },
}

/// Reads the entry at a path with `read`, which returns `None` if there is none. Locks an entry
/// that is missing or invalid; while another process or thread has locked it, waits for its result.
/// `description` names the entry in the warning.
///
/// # Errors
/// The lock file cannot be created, or the observer requested a stop.
pub fn find_or_lock<T>(
    path: &Path,
    description: &str,
    observer: &mut dyn Observer,
    read: impl Fn() -> Result<Option<T>, OpenIndexError>,
) -> Result<Lookup<T>, SpecError> {
    let (mut status, mut lock) = (StageStatus::Computed, None);
    loop {
        match read() {
            Ok(Some(found)) => return Ok(Lookup::Found(found)),
            Ok(None) => {}
            Err(error) => {
                let reason = reason(&error);
                status = StageStatus::Rebuilt { reason };
            }
        }
        // Another process may have completed the entry before it was locked.
        lock = match lock {
            None => Some(EntryLock::acquire(path, description, observer)?),
            Some(lock) => return Ok(Lookup::ToCompute { status, lock }),
        };
    }
}

/// Why an entry is not valid. An entry of another version is computed again, so the advice to write
/// the file again does not apply.
fn reason(error: &OpenIndexError) -> String {
    match error {
        OpenIndexError::Version {
            path,
            expected,
            found,
        } => format!(
            "{}: expected version {expected} of the file format, found {found}",
            path.display()
        ),
        other => other.to_string(),
    }
}

/// Lock of a cache entry until it is dropped: the file `KEY.lock` beside the entry. On Unix, it is
/// removed then; a killed process leaves it.
#[derive(Debug)]
pub struct EntryLock {
    path: PathBuf,
    file: File,
}

impl EntryLock {
    /// Waits until no other process or thread has locked the entry.
    fn acquire(
        entry: &Path,
        description: &str,
        observer: &mut dyn Observer,
    ) -> Result<Self, SpecError> {
        let path = entry.with_extension("lock");
        let mut options = OpenOptions::new();
        let options = options.create(true).truncate(false).write(true);
        let mut is_waiting = false;
        loop {
            let file = match options.open(&path) {
                Ok(file) => file,
                Err(source) => return Err(SpecError::Write { path, source }),
            };
            // On a file system without locks, an entry may be computed twice.
            while let Err(TryLockError::WouldBlock) = file.try_lock() {
                if !is_waiting {
                    observer.warning(&format!(
                        "{description}: another process computes this entry; waiting for it"
                    ));
                    is_waiting = true;
                }
                if observer.report("waiting", 0, None) == Flow::Stop {
                    return Err(SpecError::Canceled);
                }
                thread::sleep(WAIT);
            }
            // The other process has removed the file before it was locked here.
            if is_file_at(&file, &path) {
                return Ok(Self { path, file });
            }
        }
    }
}

impl Drop for EntryLock {
    fn drop(&mut self) {
        if cfg!(unix) {
            let _ = fs::remove_file(&self.path);
        }
        // Closing does not unlock the file while a process that is being started has it open, too.
        let _ = self.file.unlock();
    }
}

#[cfg(all(test, unix))]
mod tests {
    use ir_core::NoProgress;

    use super::*;

    /// A lock that another start removes while it is waited for is acquired anew.
    #[test]
    fn locks_are_exclusive_and_removed() {
        let folder = tempfile::tempdir().unwrap();
        let entry = folder.path().join("key.ir");
        let lock = || EntryLock::acquire(&entry, "entry", &mut NoProgress).unwrap();
        let first = lock();
        assert!(folder.path().join("key.lock").exists());
        thread::scope(|scope| {
            let threads = [(); 3].map(|()| {
                scope.spawn(|| {
                    let lock = lock();
                    // Nobody else has the file that all others would lock.
                    assert!(is_file_at(&lock.file, &lock.path));
                    let other = File::open(&lock.path).unwrap();
                    assert!(matches!(other.try_lock(), Err(TryLockError::WouldBlock)));
                })
            });
            thread::sleep(WAIT);
            drop(first);
            for thread in threads {
                thread.join().unwrap();
            }
        });
        assert!(!folder.path().join("key.lock").exists());
    }
}
