//! Snapshot folder of a model revision: names of files as links to the blobs of the cache.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ir_core::store::AtomicFile;
use ir_fetch::DownloadError;

use super::HubError;

/// Adds named files to the snapshot folder. A new folder appears with all of them.
pub(super) fn create(
    model: &Path,
    folder: &Path,
    files: &[(String, PathBuf)],
) -> Result<(), HubError> {
    if !folder.exists() {
        let new = model.join(format!(".new-{}", std::process::id()));
        let _ = fs::remove_dir_all(&new);
        let made = make_folder(new.clone())
            .and_then(|_| link_all(&new, files))
            .and_then(|()| make_folder(model.join("snapshots")));
        if let Err(error) = made {
            let _ = fs::remove_dir_all(&new);
            return Err(error);
        }
        match fs::rename(&new, folder) {
            Ok(()) => return Ok(()),
            // Another process created the folder meanwhile.
            Err(_) if folder.exists() => {
                let _ = fs::remove_dir_all(&new);
            }
            Err(error) => return Err(write_error(folder, error)),
        }
    }
    link_all(folder, files)
}

fn link_all(folder: &Path, files: &[(String, PathBuf)]) -> Result<(), HubError> {
    for (name, blob) in files {
        let path = folder.join(name);
        let same = |path: &Path| path.canonicalize().ok() == blob.canonicalize().ok();
        let copied = path.is_file() && !path.is_symlink();
        if copied || (path.exists() && same(&path)) {
            continue;
        }
        if let Some(parent) = path.parent() {
            make_folder(parent.into())?;
        }
        if path.is_symlink() {
            fs::remove_file(&path).map_err(|error| write_error(&path, error))?;
        }
        let up = "../".repeat(2 + name.matches('/').count());
        let digits = blob.file_name().unwrap_or_default();
        let target = Path::new(&up).join("blobs").join(digits);
        link_or_copy(&target, blob, &path).map_err(|error| write_error(&path, error))?;
    }
    Ok(())
}

/// Creates a symbolic link, or copies the blob where links are not available.
fn link_or_copy(target: &Path, blob: &Path, path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    let linked = std::os::unix::fs::symlink(target, path);
    #[cfg(windows)]
    let linked = std::os::windows::fs::symlink_file(target, path);
    #[cfg(not(any(unix, windows)))]
    let linked = Err::<(), _>(io::Error::from(io::ErrorKind::Unsupported)).map(|()| target);
    linked.map(drop).or_else(|_| fs::copy(blob, path).map(drop))
}

/// Writes the commit of a branch or tag.
pub(super) fn write_ref(path: &Path, sha: &str) -> Result<(), HubError> {
    if let Some(parent) = path.parent() {
        make_folder(parent.into())?;
    }
    let written = AtomicFile::create(path).and_then(|mut file| {
        file.write_all(sha.as_bytes())?;
        file.commit()
    });
    written.map_err(|error| write_error(path, error))
}

pub(super) fn make_folder(folder: PathBuf) -> Result<PathBuf, HubError> {
    fs::create_dir_all(&folder).map_err(|error| write_error(&folder, error))?;
    Ok(folder)
}

pub(super) fn write_error(path: &Path, source: io::Error) -> HubError {
    let path = path.into();
    HubError::Download(DownloadError::Write { path, source })
}
