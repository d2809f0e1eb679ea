use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Atomic writer of a file: the destination changes only when the file is complete.
///
/// Data goes to a temporary file in the same directory; [`AtomicFile::commit`] syncs it to disk and
/// renames it. Dropped without a commit (on an error or a panic), it removes the temporary file and
/// leaves the destination unchanged. Symbolic links are followed: the file that they point to is
/// replaced. The new file takes the permissions of the one that it replaces.
///
/// A killed process leaves its temporary file, `.NAME.PROCESS.NUMBER.tmp`. The next
/// [`AtomicFile::create`] with the same destination removes it. The file of a running process is
/// locked ([`File::try_lock`]) and stays.
///
/// ```
/// use std::io::Write;
/// use ir_core::store::AtomicFile;
/// let path = std::env::temp_dir().join(format!("ir-core-doc-{}", std::process::id()));
/// let mut file = AtomicFile::create(&path)?;
/// file.write_all(b"content")?;
/// assert!(!path.exists());
/// file.commit()?;
/// assert_eq!(std::fs::read(&path)?, b"content");
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct AtomicFile {
    destination: PathBuf,
    temporary: PathBuf,
    writer: Option<BufWriter<File>>,
}

/// Number of new temporary files found locked after which creation fails.
const MAX_LOCK_ATTEMPTS: u32 = 100;

/// Paths of the temporary files of this process.
static TEMPORARY_FILES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn temporary_files() -> MutexGuard<'static, Vec<PathBuf>> {
    let files = TEMPORARY_FILES.lock();
    files.unwrap_or_else(PoisonError::into_inner)
}

/// Removes the temporary files of all [`AtomicFile`]s of this process, for a signal handler that is
/// about to exit without unwinding. None of these files can be committed afterwards.
///
/// The list of temporary files is a process-wide static, not a value: a signal handler runs on a
/// thread of its own and receives no arguments, while the files are created deep inside the `save`
/// and `build` methods of every crate, which would all have to take a registry as a parameter.
///
/// ```
/// use ir_core::store::{AtomicFile, remove_temporary_files};
/// let path = std::env::temp_dir().join(format!("ir-core-end-{}", std::process::id()));
/// std::fs::create_dir_all(&path)?;
/// let file = AtomicFile::create(path.join("run.trec"))?;
/// assert_eq!(std::fs::read_dir(&path)?.count(), 1);
/// remove_temporary_files();
/// assert_eq!(std::fs::read_dir(&path)?.count(), 0);
/// assert!(file.commit().is_err());
/// # std::fs::remove_dir_all(&path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn remove_temporary_files() {
    for path in temporary_files().drain(..) {
        let _ = fs::remove_file(path);
    }
}

impl AtomicFile {
    /// Creates the temporary file for the destination `path`.
    ///
    /// # Errors
    /// When `path` is a directory, a device, a pipe or a read-only file, or its directory does not
    /// exist or is not writable.
    pub fn create(path: impl AsRef<Path>) -> io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let path = path.as_ref();
        let expected = |kind, message: &str| Err(io::Error::new(kind, message));
        let permissions = match path.metadata() {
            Ok(found) if found.is_dir() => {
                return expected(
                    ErrorKind::IsADirectory,
                    "expected a file, found a directory",
                );
            }
            // Renaming over a device would replace it.
            Ok(found) if !found.is_file() => {
                let message = "expected a file, found a device or pipe";
                return expected(ErrorKind::InvalidInput, message);
            }
            Ok(found) if found.permissions().readonly() => {
                let message = "expected a writable file, found a read-only one";
                return expected(ErrorKind::PermissionDenied, message);
            }
            Ok(found) => Some(found.permissions()),
            Err(_) => None,
        };
        let path = resolve_links(path)?;
        let Some(name) = path.file_name() else {
            return expected(ErrorKind::InvalidInput, "expected a file name, found none");
        };
        remove_abandoned(&path, name);
        let mut attempts = 0;
        // A killed process with the same id may have left a file of this name.
        let (temporary, file) = loop {
            let unique = COUNT.fetch_add(1, Ordering::Relaxed);
            let mut hidden = std::ffi::OsString::from(".");
            hidden.push(name);
            hidden.push(format!(".{}.{unique}.tmp", std::process::id()));
            let temporary = path.with_file_name(hidden);
            let mut options = OpenOptions::new();
            match options.write(true).create_new(true).open(&temporary) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
                // Until it is locked, another process may take the file for an abandoned one and
                // remove it. On a file system without locks no file is taken for one.
                Ok(file) => match file.try_lock() {
                    Err(error @ TryLockError::WouldBlock) => {
                        let _ = fs::remove_file(&temporary);
                        attempts += 1;
                        if attempts == MAX_LOCK_ATTEMPTS {
                            return Err(error.into());
                        }
                    }
                    _ if temporary.exists() => break (temporary, file),
                    _ => {}
                },
            }
        };
        let created = Self {
            destination: path,
            temporary,
            writer: Some(BufWriter::with_capacity(1 << 16, file)),
        };
        temporary_files().push(created.temporary.clone());
        if let (Some(permissions), Some(writer)) = (permissions, &created.writer) {
            writer.get_ref().set_permissions(permissions)?;
        }
        Ok(created)
    }

    /// Syncs the file to disk and renames it to the destination.
    ///
    /// # Errors
    /// When writing, syncing or renaming fails. The destination is unchanged then.
    pub fn commit(mut self) -> io::Result<()> {
        let Some(writer) = self.writer.take() else {
            return Ok(());
        };
        let synced = writer.into_inner().map_err(io::IntoInnerError::into_error);
        synced
            .and_then(|file| {
                file.sync_all()?;
                // The file stays open, and thereby locked, until it has its name.
                fs::rename(&self.temporary, &self.destination)
            })
            .inspect_err(|_| self.remove())?;
        self.unregister();
        // Syncing the directory makes the rename durable; not every system supports it.
        let folder = self.destination.parent();
        let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
        if let Ok(folder) = File::open(folder.unwrap_or(Path::new("."))) {
            let _ = folder.sync_all();
        }
        Ok(())
    }

    /// Removes the temporary file.
    fn remove(&self) {
        let _ = fs::remove_file(&self.temporary);
        self.unregister();
    }

    /// Removes the temporary file from the list of the process.
    fn unregister(&self) {
        temporary_files().retain(|path| *path != self.temporary);
    }
}

/// Removes the temporary files of killed processes for `destination`, whose file name is `name`.
fn remove_abandoned(destination: &Path, name: &OsStr) {
    let folder = destination.parent();
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
    let Ok(entries) = fs::read_dir(folder.unwrap_or(Path::new("."))) else {
        return;
    };
    for entry in entries.flatten() {
        if !is_temporary(&entry.file_name(), name)
            || !entry.file_type().is_ok_and(|kind| kind.is_file())
        {
            continue;
        }
        // A running process holds the lock; the operating system releases that of a killed one.
        let path = entry.path();
        let Ok(file) = OpenOptions::new().write(true).open(&path) else {
            continue;
        };
        if file.try_lock().is_ok() {
            let _ = fs::remove_file(&path);
        }
    }
}

/// Whether `entry` is the name of a temporary file of the destination `name`:
/// `.NAME.PROCESS.NUMBER.tmp`.
fn is_temporary(entry: &OsStr, name: &OsStr) -> bool {
    let entry = entry.as_encoded_bytes().strip_prefix(b".");
    let rest = entry.and_then(|entry| entry.strip_prefix(name.as_encoded_bytes()));
    let numbers = rest.and_then(|rest| rest.strip_prefix(b".")?.strip_suffix(b".tmp"));
    let numbers: Vec<&[u8]> = numbers.map_or(Vec::new(), |all| all.split(|&b| b == b'.').collect());
    let is_number = |part: &&[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    numbers.len() == 2 && numbers.iter().all(is_number)
}

/// Follows every symbolic link of `path`, also to a file that does not exist yet: the path that
/// [`AtomicFile::create`] replaces.
///
/// ```
/// use ir_core::store::resolve_links;
/// assert_eq!(resolve_links("missing.trec".as_ref())?, std::path::Path::new("missing.trec"));
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// When a link is a cycle or cannot be read.
pub fn resolve_links(path: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => match fs::read_link(path) {
            Ok(link) => resolve_links(&path.with_file_name(link)),
            Err(_) => Ok(path.to_owned()),
        },
        resolved => resolved,
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
            self.remove();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropping_without_commit_leaves_the_destination_unchanged() {
        let folder = std::env::temp_dir().join(format!("ir-core-file-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("run.trec");
        fs::write(&path, "old").unwrap();
        let mut file = AtomicFile::create(&path).unwrap();
        file.write_all(b"partial").unwrap();
        drop(file);
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        assert!(AtomicFile::create(&folder).is_err());
        assert!(AtomicFile::create(folder.join("none").join("file")).is_err());
        fs::remove_dir_all(&folder).unwrap();
    }

    fn temporary_folder(name: &str) -> PathBuf {
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
    fn read_only_files_are_not_replaced() {
        let folder = temporary_folder("read-only");
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
    fn stale_temporary_files_do_not_block_new_ones() {
        let folder = temporary_folder("stale");
        // Tests run concurrently and share the counter: 200 names cover the next one.
        for n in 0..200 {
            let stale = format!(".run.trec.{}.{n}.tmp", std::process::id());
            fs::write(folder.join(stale), "stale").unwrap();
        }
        let path = folder.join("run.trec");
        replace(&path, "new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn abandoned_temporary_files_are_removed() {
        let folder = temporary_folder("abandoned");
        let abandoned = [".run.trec.1.0.tmp", ".run.trec.4000000000.17.tmp"];
        // Of a running process, of other destinations, and of the user.
        let kept = [
            ".run.trec.2.0.tmp",
            ".run.trec.gz.1.0.tmp",
            ".run.trec.1.tmp",
            ".run.trec.1.x.tmp",
            "run.trec.1.0.tmp",
        ];
        for name in abandoned.iter().chain(&kept) {
            fs::write(folder.join(name), "partial").unwrap();
        }
        let running = File::open(folder.join(kept[0])).unwrap();
        running.lock().unwrap();
        let path = folder.join("run.trec");
        let file = AtomicFile::create(&path).unwrap();
        for name in abandoned {
            assert!(!folder.join(name).exists(), "{name}");
        }
        for name in kept {
            assert!(folder.join(name).exists(), "{name}");
        }
        // A second writer of the same process or another one leaves this one alone.
        replace(&path, "second").unwrap();
        file.commit().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "");
        drop(running);
        replace(&path, "last").unwrap();
        assert!(!folder.join(kept[0]).exists());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), kept.len());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn permissions_are_kept_and_symbolic_links_followed() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = temporary_folder("links");
        let (path, link, chain) = (folder.join("a"), folder.join("b"), folder.join("c"));
        symlink("a", &link).unwrap();
        symlink(&link, &chain).unwrap();
        // First to a missing file, then to an existing one.
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
        assert!(replace(&chain, "a cycle").is_err());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn devices_are_not_replaced() {
        assert!(AtomicFile::create("/dev/null").is_err());
    }
}
