//! Lock of the one writer of an index.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::Path;

use super::error::{SegmentsError, failed};

/// Name of the file that the writer of an index locks. It remains in the folder when the writer
/// ends.
pub const LOCK_NAME: &str = "writer.lock";

/// Locks the folder of an index until the file is dropped.
pub(super) fn lock(folder: &Path) -> Result<File, SegmentsError> {
    let path = folder.join(LOCK_NAME);
    loop {
        let mut options = OpenOptions::new();
        let options = options.create(true).truncate(false).write(true);
        let file = options.open(&path).map_err(failed(&path))?;
        match file.try_lock() {
            // Another writer may have removed the file before it was locked.
            Ok(()) if is_at(&file, &path) => return Ok(file),
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

/// Whether an open file is the one at a path.
#[cfg(unix)]
pub(super) fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |found: fs::Metadata| (found.dev(), found.ino());
    let found = file.metadata().map(identity);
    found.is_ok_and(|found| fs::metadata(path).map(identity).is_ok_and(|it| it == found))
}

/// Open files cannot be removed on other systems.
#[cfg(not(unix))]
pub(super) fn is_at(_: &File, _: &Path) -> bool {
    true
}
