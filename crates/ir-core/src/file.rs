//! Files that are written whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A file that appears under its name only when it is complete.
///
/// Data goes to a file beside the destination; [`AtomicFile::commit`] flushes it to the disk and
/// renames it. Dropped without a commit (an error on the way, a panic), it leaves nothing behind,
/// and what stood at the destination before stays. A symbolic link is followed: what it leads to
/// is replaced. The new file has the permissions of the one it replaces.
///
/// ```
/// use std::io::Write;
/// let path = std::env::temp_dir().join(format!("ir-core-doc-{}", std::process::id()));
/// let mut file = ir_core::AtomicFile::create(&path)?;
/// file.write_all(b"whole")?;
/// assert!(!path.exists());
/// file.commit()?;
/// assert_eq!(std::fs::read(&path)?, b"whole");
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct AtomicFile {
    destination: PathBuf,
    temporary: PathBuf,
    writer: Option<BufWriter<File>>,
}

/// The temporary files of this process that are neither complete nor removed.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes what every [`AtomicFile`] of this process has written so far: for a handler of signals
/// that is about to end the process without unwinding. None of them can be completed then.
///
/// ```
/// let path = std::env::temp_dir().join(format!("ir-core-end-{}", std::process::id()));
/// std::fs::create_dir_all(&path)?;
/// let file = ir_core::AtomicFile::create(path.join("run.trec"))?;
/// assert_eq!(std::fs::read_dir(&path)?.count(), 1);
/// ir_core::remove_unfinished();
/// assert_eq!(std::fs::read_dir(&path)?.count(), 0);
/// assert!(file.commit().is_err());
/// # std::fs::remove_dir_all(&path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn remove_unfinished() {
    for path in unfinished().drain(..) {
        let _ = fs::remove_file(path);
    }
}

impl AtomicFile {
    /// Starts a file that will be called `path`.
    ///
    /// # Errors
    /// When `path` is a directory, a device, a pipe or a file that is read-only, or its folder does
    /// not exist or cannot be written.
    pub fn create(path: impl AsRef<Path>) -> io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let path = path.as_ref();
        if path.is_dir() {
            return Err(io::Error::new(
                io::ErrorKind::IsADirectory,
                "expected a file, found a directory",
            ));
        }
        // Renaming over a device would replace it.
        if path.metadata().is_ok_and(|there| !there.is_file()) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "expected a file, found a device or pipe",
            ));
        }
        let path = followed(path)?;
        let permissions = match fs::metadata(&path) {
            Ok(there) if there.permissions().readonly() => {
                return Err(io::Error::new(
                    io::ErrorKind::PermissionDenied,
                    "expected a file that may be replaced, found a read-only one",
                ));
            }
            Ok(there) => Some(there.permissions()),
            Err(_) => None,
        };
        let name = path.file_name().ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::InvalidInput,
                "expected a file name, found none",
            )
        })?;
        // A process that was killed may have left the name that this one would take.
        let (temporary, file) = loop {
            let unique = COUNT.fetch_add(1, Ordering::Relaxed);
            let mut hidden = std::ffi::OsString::from(".");
            hidden.push(name);
            hidden.push(format!(".{}.{unique}.tmp", std::process::id()));
            let temporary = path.with_file_name(hidden);
            let mut options = OpenOptions::new();
            match options.write(true).create_new(true).open(&temporary) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                opened => break (temporary, opened?),
            }
        };
        let created = Self {
            destination: path,
            temporary,
            writer: Some(BufWriter::with_capacity(1 << 16, file)),
        };
        unfinished().push(created.temporary.clone());
        if let (Some(permissions), Some(writer)) = (permissions, &created.writer) {
            writer.get_ref().set_permissions(permissions)?;
        }
        Ok(created)
    }

    /// Makes the file appear under its name, complete and on the disk.
    ///
    /// # Errors
    /// When the data cannot be written; then nothing appears.
    pub fn commit(mut self) -> io::Result<()> {
        let Some(writer) = self.writer.take() else {
            return Ok(());
        };
        let finish = |writer: BufWriter<File>| -> io::Result<()> {
            let file = writer
                .into_inner()
                .map_err(io::IntoInnerError::into_error)?;
            file.sync_all()?;
            drop(file);
            fs::rename(&self.temporary, &self.destination)
        };
        let finished = finish(writer).inspect_err(|_| {
            let _ = fs::remove_file(&self.temporary);
        });
        self.forget();
        finished?;
        // The rename itself reaches the disk with the folder; not every system lets one sync it.
        let folder = self
            .destination
            .parent()
            .filter(|p| !p.as_os_str().is_empty());
        if let Ok(folder) = File::open(folder.unwrap_or(Path::new("."))) {
            let _ = folder.sync_all();
        }
        Ok(())
    }
}

/// Where `path` leads when every symbolic link is followed, even to a file that is not there yet.
fn followed(path: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => match fs::read_link(path) {
            Ok(link) => followed(&path.with_file_name(link)),
            Err(_) => Ok(path.to_owned()),
        },
        found => found,
    }
}

impl AtomicFile {
    /// The temporary file is gone.
    fn forget(&self) {
        unfinished().retain(|path| *path != self.temporary);
    }
}

impl Write for AtomicFile {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.writer
            .as_mut()
            .map_or(Ok(0), |writer| writer.write(data))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if self.writer.take().is_some() {
            let _ = fs::remove_file(&self.temporary);
            self.forget();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_remains_of_an_abandoned_file() {
        let folder = std::env::temp_dir().join(format!("ir-core-file-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("run.trec");
        fs::write(&path, "old").unwrap();
        let mut file = AtomicFile::create(&path).unwrap();
        file.write_all(b"half").unwrap();
        drop(file);
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        assert!(AtomicFile::create(&folder).is_err());
        assert!(AtomicFile::create(folder.join("none").join("file")).is_err());
        fs::remove_dir_all(&folder).unwrap();
    }

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("ir-core-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn replace(path: &Path, text: &str) -> io::Result<()> {
        let mut file = AtomicFile::create(path)?;
        file.write_all(text.as_bytes())?;
        file.commit()
    }

    #[test]
    fn a_read_only_file_stays() {
        let folder = folder("read-only");
        let path = folder.join("run.trec");
        fs::write(&path, "old").unwrap();
        let before = fs::metadata(&path).unwrap().permissions();
        let mut locked = before.clone();
        locked.set_readonly(true);
        fs::set_permissions(&path, locked).unwrap();
        let error = replace(&path, "new").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::set_permissions(&path, before).unwrap();
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn files_that_a_killed_process_left_do_not_block() {
        let folder = folder("stale");
        // Other tests of this process count on: names far enough ahead are met by some file.
        for n in 0..200 {
            let stale = format!(".run.trec.{}.{n}.tmp", std::process::id());
            fs::write(folder.join(stale), "stale").unwrap();
        }
        let path = folder.join("run.trec");
        replace(&path, "new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn permissions_are_kept_and_links_are_followed() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = folder("links");
        let (path, link, chain) = (folder.join("a"), folder.join("b"), folder.join("c"));
        symlink("a", &link).unwrap();
        symlink(&link, &chain).unwrap();
        // To a file that is not there yet, then to one that is.
        replace(&chain, "first").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "first");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        replace(&chain, "second").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "second");
        for link in [&link, &chain] {
            assert!(fs::symlink_metadata(link).unwrap().is_symlink());
        }
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
        fs::remove_file(&path).unwrap();
        symlink("c", &path).unwrap();
        assert!(replace(&chain, "a circle").is_err());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn devices_are_not_replaced() {
        assert!(AtomicFile::create("/dev/null").is_err());
    }
}
