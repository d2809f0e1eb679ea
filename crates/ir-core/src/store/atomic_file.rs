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
/// [`AtomicFile::create`] with the same destination removes it, as does [`remove_abandoned`]. The
/// file of a running process is locked ([`File::try_lock`]) and stays.
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
    // Closed before the temporary file is removed.
    writer: BufWriter<File>,
    temporary: Temporary,
}

/// Number of new temporary files found locked after which creation fails.
const MAX_LOCK_ATTEMPTS: u32 = 100;

/// Paths of the temporary files and folders of this process.
static TEMPORARY_FILES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn temporary_files() -> MutexGuard<'static, Vec<PathBuf>> {
    let files = TEMPORARY_FILES.lock();
    files.unwrap_or_else(PoisonError::into_inner)
}

/// Removes the temporary files of all [`AtomicFile`]s and [`AtomicFolder`]s of this process, for a
/// signal handler that is about to exit without unwinding. None of these files can be committed
/// afterwards.
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
        remove(&path);
    }
}

/// Removes a file, or a folder with its contents. Errors are ignored.
fn remove(path: &Path) {
    if fs::remove_file(path).is_err() {
        let _ = fs::remove_dir_all(path);
    }
}

/// A temporary file or folder, `.NAME.PROCESS.NUMBER.tmp`, beside its destination. Removed on drop
/// unless it was renamed.
#[derive(Debug)]
struct Temporary {
    destination: PathBuf,
    path: PathBuf,
    renamed: bool,
}

impl Temporary {
    /// Creates a temporary file or folder with `create_new` and locks it with `lock`. Removes those
    /// that killed processes left for the same destination.
    fn create<T>(
        destination: PathBuf,
        create_new: impl Fn(&Path) -> io::Result<T>,
        lock: impl Fn(&T) -> Result<(), TryLockError>,
    ) -> io::Result<(Self, T)> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let Some(name) = destination.file_name() else {
            let message = "expected a file name, found none";
            return Err(io::Error::new(ErrorKind::InvalidInput, message));
        };
        let shown = name.to_string_lossy();
        remove_abandoned(parent(&destination), |found| found == shown);
        let mut attempts = 0;
        // A killed process with the same id may have left a file of this name.
        loop {
            let unique = COUNT.fetch_add(1, Ordering::Relaxed);
            let mut hidden = std::ffi::OsString::from(".");
            hidden.push(name);
            hidden.push(format!(".{}.{unique}.tmp", std::process::id()));
            let path = destination.with_file_name(hidden);
            let created = match create_new(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                created => created?,
            };
            // Until it is locked, another process may take the file for an abandoned one and
            // remove it. On a file system without locks no file is taken for one.
            match lock(&created) {
                Err(error @ TryLockError::WouldBlock) => {
                    remove(&path);
                    attempts += 1;
                    if attempts == MAX_LOCK_ATTEMPTS {
                        return Err(error.into());
                    }
                }
                _ if path.exists() => {
                    temporary_files().push(path.clone());
                    let renamed = false;
                    let temporary = Self {
                        destination,
                        path,
                        renamed,
                    };
                    return Ok((temporary, created));
                }
                _ => {}
            }
        }
    }

    /// Renames the file or folder to its destination and makes the rename durable.
    fn rename(mut self) -> io::Result<()> {
        fs::rename(&self.path, &self.destination)?;
        self.renamed = true;
        sync_parent(&self.destination).map_err(|error| {
            let message = "renamed, but a power failure may undo it: its folder cannot be synced";
            io::Error::new(error.kind(), format!("{message}: {error}"))
        })
    }
}

/// Makes the creation or the rename of a file or folder durable, on systems that support it.
pub(crate) fn sync_parent(path: &Path) -> io::Result<()> {
    sync_folder(parent(path))
}

/// Makes the names of the files in a folder durable, on systems that support it.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    match File::open(path) {
        Ok(folder) => sync_open_folder(&folder),
        // Such systems cannot open folders.
        Err(_) if cfg!(not(unix)) => Ok(()),
        // A folder in which files may be written, but not listed.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok(()),
        Err(error) => Err(error),
    }
}

/// Creates a folder and its missing parents, and makes them durable.
pub(crate) fn create_folders(path: &Path) -> io::Result<()> {
    let parents = path.ancestors().skip(1);
    let missing = parents.take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists());
    let missing: Vec<&Path> = missing.collect();
    fs::create_dir_all(path)?;
    // The folder itself may have been created just before.
    sync_parent(path)?;
    missing.into_iter().try_for_each(sync_parent)
}

fn sync_open_folder(folder: &File) -> io::Result<()> {
    #[cfg(test)]
    if tests::SYNC_FAILS.get() {
        return Err(ErrorKind::StorageFull.into());
    }
    folder.sync_all().or_else(|error| match error.kind() {
        // Not every file system can sync a folder.
        ErrorKind::InvalidInput | ErrorKind::Unsupported => Ok(()),
        _ => Err(error),
    })
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // A process of another container may have taken the name of a renamed file.
        if !self.renamed {
            remove(&self.path);
        }
        temporary_files().retain(|path| *path != self.path);
    }
}

/// Folder of a file.
fn parent(path: &Path) -> &Path {
    let folder = path.parent();
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

impl AtomicFile {
    /// Creates the temporary file for the destination `path`.
    ///
    /// # Errors
    /// When `path` is a directory, a device, a pipe or a read-only file, or its directory does not
    /// exist or is not writable.
    pub fn create(path: impl AsRef<Path>) -> io::Result<Self> {
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
        let new_file = |path: &Path| OpenOptions::new().write(true).create_new(true).open(path);
        let (temporary, file) = Temporary::create(resolve_links(path)?, new_file, File::try_lock)?;
        if let Some(permissions) = permissions {
            file.set_permissions(permissions)?;
        }
        Ok(Self {
            writer: BufWriter::with_capacity(1 << 16, file),
            temporary,
        })
    }

    /// Syncs the file to disk and renames it to the destination.
    ///
    /// # Errors
    /// When writing, syncing or renaming fails. The destination is unchanged then, unless only the
    /// folder of the renamed file cannot be synced: a power failure may then undo the renaming.
    pub fn commit(self) -> io::Result<()> {
        let file = self.writer.into_inner();
        let file = file.map_err(io::IntoInnerError::into_error)?;
        file.sync_all()?;
        // The file stays open, and thereby locked, until it has its name.
        self.temporary.rename()
    }
}

/// Atomic writer of a folder: the destination appears only when the folder is complete.
///
/// Files are written to a temporary folder beside the destination; [`AtomicFolder::commit`] renames
/// it. Dropped without a commit, it removes the temporary folder. Links, killed processes and
/// [`remove_temporary_files`] are treated as for an [`AtomicFile`].
///
/// ```
/// use ir_core::store::AtomicFolder;
/// let path = std::env::temp_dir().join(format!("ir-core-folder-{}", std::process::id()));
/// let folder = AtomicFolder::create(&path)?;
/// std::fs::write(folder.path().join("config.json"), "{}")?;
/// assert!(!path.exists());
/// folder.commit()?;
/// assert_eq!(std::fs::read(path.join("config.json"))?, b"{}");
/// # std::fs::remove_dir_all(&path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct AtomicFolder {
    /// The open temporary folder, which holds its lock; `None` on systems that cannot open folders.
    folder: Option<File>,
    temporary: Temporary,
}

impl AtomicFolder {
    /// Creates the temporary folder for the destination `path`, and the parents of both.
    ///
    /// # Errors
    /// When `path` exists and is not an empty folder, or its parent is not writable.
    pub fn create(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = resolve_links(path.as_ref())?;
        match fs::read_dir(&path).map(|mut entries| entries.next().is_some()) {
            Ok(true) => return Err(ErrorKind::DirectoryNotEmpty.into()),
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        create_folders(parent(&path))?;
        let new_folder = |path: &Path| fs::create_dir(path).map(|()| File::open(path).ok());
        let lock = |folder: &Option<File>| folder.as_ref().map_or(Ok(()), File::try_lock);
        let (temporary, folder) = Temporary::create(path, new_folder, lock)?;
        Ok(Self { folder, temporary })
    }

    /// Path of the temporary folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.temporary.path
    }

    /// Renames the folder to the destination. Its files must have been synced
    /// ([`AtomicFile::commit`]).
    ///
    /// # Errors
    /// When syncing or renaming fails. The destination does not exist or is an empty folder then,
    /// unless only the folder that contains it cannot be synced, as in [`AtomicFile::commit`].
    pub fn commit(self) -> io::Result<()> {
        if let Some(folder) = &self.folder {
            sync_open_folder(folder)?;
        }
        // Not every system replaces an empty folder by renaming.
        let _ = fs::remove_dir(&self.temporary.destination);
        self.temporary.rename()
    }
}

/// Removes the temporary files and folders that killed processes left in `folder`, for all
/// destinations that `is_destination` selects by name. Running processes lock theirs, which stay.
///
/// [`AtomicFile::create`] and [`AtomicFolder::create`] do so for their destination.
///
/// ```
/// use ir_core::store::remove_abandoned;
/// let folder = std::env::temp_dir().join(format!("ir-core-abandoned-{}", std::process::id()));
/// std::fs::create_dir_all(&folder)?;
/// std::fs::write(folder.join(".step-7.4194999.0.tmp"), "incomplete")?;
/// remove_abandoned(&folder, |name| name.starts_with("step-"));
/// assert_eq!(std::fs::read_dir(&folder)?.count(), 0);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn remove_abandoned(folder: &Path, is_destination: impl Fn(&str) -> bool) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        if !destination_name(&name.to_string_lossy()).is_some_and(&is_destination) {
            continue;
        }
        // A running process holds the lock; the operating system releases it if the process dies.
        let opened = match entry.file_type() {
            Ok(kind) if kind.is_file() => OpenOptions::new().write(true).open(&path),
            Ok(kind) if kind.is_dir() => File::open(&path),
            _ => continue,
        };
        // The lock is held until the removal: a writer that gets it finds its file gone.
        if let Ok(file) = opened
            && file.try_lock().is_ok()
        {
            remove(&path);
        }
    }
}

/// Name of the destination of a temporary file, `.NAME.PROCESS.NUMBER.tmp`; `None` for other names.
fn destination_name(temporary: &str) -> Option<&str> {
    let rest = temporary.strip_prefix('.')?.strip_suffix(".tmp")?;
    let (rest, number) = rest.rsplit_once('.')?;
    let (name, process) = rest.rsplit_once('.')?;
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    (is_number(number) && is_number(process)).then_some(name)
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
        self.writer.write(data)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::cell::Cell;

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

    thread_local! {
        /// `true` if folders cannot be synced, on this thread.
        pub(crate) static SYNC_FAILS: Cell<bool> = const { Cell::new(false) };
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

    /// What was renamed is at its destination, and the caller knows that it may not be durable.
    #[test]
    fn errors_of_syncing_a_folder_are_reported() {
        let folder = temporary_folder("sync");
        let path = folder.join("run.trec");
        replace(&path, "old").unwrap();
        let new_folder = AtomicFolder::create(folder.join("index")).unwrap();
        SYNC_FAILS.set(true);
        let error = replace(&path, "new").unwrap_err();
        let error_of_folder = new_folder.commit().unwrap_err();
        SYNC_FAILS.set(false);
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert!(error.to_string().contains("power failure"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(error_of_folder.kind(), io::ErrorKind::StorageFull);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
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
    fn writers_of_one_destination_leave_each_other_alone() {
        let folder = temporary_folder("writers");
        let path = folder.join("run.trec");
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..200).for_each(|_| replace(&path, "whole").unwrap()));
            }
        });
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
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

    #[test]
    fn folders_appear_when_they_are_complete() {
        let parent = temporary_folder("folders");
        let path = parent.join("new").join("model");
        for name in [".model.1.0.tmp", ".model.4000000000.1.tmp"] {
            fs::create_dir_all(parent.join("new").join(name)).unwrap();
            fs::write(parent.join("new").join(name).join("config.json"), "half").unwrap();
        }
        let names = || fs::read_dir(parent.join("new")).unwrap().count();
        let folder = AtomicFolder::create(&path).unwrap();
        fs::write(folder.path().join("config.json"), "{}").unwrap();
        assert_eq!(names(), 1, "those of killed processes are removed");
        // A second writer leaves the folder of the first alone.
        drop(AtomicFolder::create(&path).unwrap());
        remove_abandoned(&parent.join("new"), |_| true);
        assert!(!path.exists() && names() == 1);
        folder.commit().unwrap();
        assert_eq!(fs::read(path.join("config.json")).unwrap(), b"{}");
        assert_eq!(names(), 1);
        let error = AtomicFolder::create(&path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DirectoryNotEmpty);
        assert!(AtomicFolder::create(path.join("config.json")).is_err());
        fs::remove_dir_all(&parent).unwrap();
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
        let error = AtomicFile::create("/dev/null").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert_eq!(error.to_string(), "expected a file, found a device or pipe");
    }
}
