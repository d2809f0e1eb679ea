//! Lock of the one writer of an index.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::Path;

use super::error::{SegmentsError, failed};
use crate::store::is_file_at;

/// Name of the file that the writer of an index locks. It remains in the folder when the writer
/// ends.
pub const LOCK_NAME: &str = "writer.lock";

/// Content of the lock file of an index that has a commit. Before, the file is empty.
const COMMITTED: &[u8] = b"committed\n";

/// Lock of a folder until it is dropped.
///
/// Dropping it unlocks the file instead of only closing it: a process that another thread starts
/// has the file open, too, until it executes its program.
#[derive(Debug)]
pub(super) struct FolderLock(File);

/// Returns `true` if the lock file in a folder records that the index has a commit.
pub(super) fn had_commit(folder: &Path) -> bool {
    let file = folder.join(LOCK_NAME).metadata();
    file.is_ok_and(|file| file.len() > 0)
}

impl FolderLock {
    /// Returns `true` if the locked file is the one at a path.
    pub(super) fn is_at(&self, path: &Path) -> bool {
        is_file_at(&self.0, path)
    }

    /// Returns `true` if the lock file records that the index has a commit.
    pub(super) fn has_commit(&self) -> bool {
        self.0.metadata().is_ok_and(|file| file.len() > 0)
    }

    /// Records in the lock file that the index has a commit. Errors are ignored: the next writer
    /// tries again.
    pub(super) fn record_commit(&self) {
        if !self.has_commit() {
            let _ = (&self.0).write_all(COMMITTED);
            let _ = self.0.sync_data();
        }
    }
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        // Closing the file unlocks it as well.
        let _ = self.0.unlock();
    }
}

/// Locks the folder of an index.
pub(super) fn lock(folder: &Path) -> Result<FolderLock, SegmentsError> {
    let path = folder.join(LOCK_NAME);
    loop {
        let mut options = OpenOptions::new();
        let options = options.create(true).truncate(false).write(true);
        let file = options.open(&path).map_err(failed(&path))?;
        match file.try_lock() {
            // Another writer may have removed the file before it was locked.
            Ok(()) if is_file_at(&file, &path) => return Ok(FolderLock(file)),
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(SegmentsError::Locked {
                    folder: folder.to_owned(),
                });
            }
            Err(TryLockError::Error(source)) => return Err(failed(&path)(source)),
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;

    use super::*;

    /// A copy of the open file, as in a process that is being started, does not keep the lock.
    #[test]
    fn dropped_locks_are_free() {
        let folder = std::env::temp_dir().join(format!("ir-core-lock-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let locked = lock(&folder).unwrap();
        let copy = locked.0.try_clone().unwrap();
        assert!(lock(&folder).is_err());
        drop(locked);
        lock(&folder).unwrap();
        drop(copy);
        fs::remove_dir_all(&folder).unwrap();
    }
}
