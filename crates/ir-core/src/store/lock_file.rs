//! Identity of lock files.
//!
//! Temporary files and folders are locked because a killed process leaves one, and the next writer
//! of the same destination removes it unless it is locked. Process ids are reused, and containers
//! share folders but not ids; the operating system releases the lock of a killed process.

use std::fs::File;
use std::path::Path;

/// Returns `true` if an open file is the one at a path. The holder of a lock file may remove it
/// between opening and locking it, so that others lock another file. Always `true` on systems other
/// than Unix, which do not remove open files.
///
/// ```
/// use std::fs::{self, File};
/// let path = std::env::temp_dir().join(format!("is-file-at-{}", std::process::id()));
/// let file = File::create(&path)?;
/// assert!(ir_core::store::is_file_at(&file, &path));
/// # if cfg!(unix) {
/// fs::remove_file(&path)?;
/// assert!(!ir_core::store::is_file_at(&file, &path));
/// # }
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use]
pub fn is_file_at(file: &File, path: &Path) -> bool {
    is_at(file, path)
}

#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::fs::{self, Metadata};
    use std::os::unix::fs::MetadataExt;
    let identity = |found: Metadata| (found.dev(), found.ino());
    let found = file.metadata().map(identity);
    found.is_ok_and(|found| fs::metadata(path).map(identity).is_ok_and(|it| it == found))
}

#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    true
}
