//! Copies of data folders.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use ir_core::store::AtomicFolder;
use ir_core::{Flow, Progress};
use rusqlite::{Connection, OpenFlags};

use super::StoreError;
use super::check::{CheckedStore, check_file};
use super::damage::damage_of;
use super::schema::{DATABASE, check_version, migrate};

/// File of a data folder with the questions that an endpoint generated.
pub const QUESTION_FILE: &str = "questions.jsonl";

/// Copies a data folder to a new folder, which appears when the copy is verified
/// ([`Store::check`](super::Store::check)). The copy is a data folder with the state of one moment:
/// documents, vectors, annotations, hashes of keys and query log. A server may use `data`
/// meanwhile; its writes are not delayed, and transactions that are committed after the start of
/// the copy are left out. A data folder of an older version is migrated in the copy.
///
/// # Errors
/// `data` has no store, or another program's; `copy` is neither new nor an empty folder; the store
/// is damaged; the disk is full or fails; [`StoreError::Canceled`] if `progress` requests a stop.
pub fn back_up(
    data: &Path,
    copy: &Path,
    progress: &mut dyn Progress,
) -> Result<CheckedStore, StoreError> {
    let fail = |path: &Path| {
        let path = path.display().to_string();
        |source| StoreError::Open { path, source }
    };
    let database = data.join(DATABASE);
    if !database.is_file() {
        let path = data.display().to_string();
        return Err(StoreError::NoStore { path });
    }
    let folder = AtomicFolder::create(copy).map_err(|error| match error.kind() {
        ErrorKind::DirectoryNotEmpty | ErrorKind::NotADirectory => StoreError::NotEmpty {
            path: copy.display().to_string(),
        },
        _ => fail(copy)(error),
    })?;
    let path = database.display().to_string();
    let target = folder.path().join(DATABASE);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let source = Connection::open_with_flags(&database, flags)?;
    source.busy_timeout(Duration::from_secs(10))?;
    check_version(&source, &path)?;
    if progress.report("copying", 0, None) == Flow::Stop {
        return Err(StoreError::Canceled);
    }
    let Some(target_path) = target.to_str() else {
        return Err(fail(&target)(ErrorKind::InvalidFilename.into()));
    };
    source
        .execute("VACUUM INTO ?", [target_path])
        .map_err(|error| damage_of(error.into(), &path))?;
    drop(source);
    let mut copied = Connection::open(&target)?;
    migrate(&mut copied, &path)?;
    let checked = check_file(&copied, &path, progress)?;
    copied.close().map_err(|(_, error)| error)?;
    sync(&target).map_err(fail(&target))?;
    let questions = data.join(QUESTION_FILE);
    if questions.is_file() {
        let target = folder.path().join(QUESTION_FILE);
        fs::copy(&questions, &target).map_err(fail(&questions))?;
        sync(&target).map_err(fail(&target))?;
    }
    folder.commit().map_err(fail(copy))?;
    Ok(checked)
}

fn sync(path: &Path) -> std::io::Result<()> {
    File::options().write(true).open(path)?.sync_all()
}
