//! Damage of the pages of a store, and the file that remembers it until the next start.

use std::ffi::c_int;
use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode, ffi};

use super::StoreError;

/// File of a data folder in which damage was found. The store is then checked before it is opened.
const MARKER: &str = "damaged";

/// Checks the pages of a store in which damage was found before, such as one that was restored from
/// a copy since.
pub(super) fn check_if_marked(connection: &Connection, path: &str) -> Result<(), StoreError> {
    let marker = marker(path);
    if marker.exists() {
        check_pages(connection, path, "integrity_check")?;
        // Otherwise the next start checks again.
        let _ = fs::remove_file(marker);
    }
    Ok(())
}

fn marker(path: &str) -> PathBuf {
    Path::new(path).with_file_name(MARKER)
}

/// [`damage_of`] an error, with the file [`MARKER`] for the next start if it is damage.
pub(super) fn marked(error: StoreError, path: &str) -> StoreError {
    let error = damage_of(error, path);
    if let StoreError::DamagedPages { .. } = &error {
        mark(path, &error);
    }
    error
}

/// Writes the file [`MARKER`] with an error.
pub(super) fn mark(path: &str, error: &StoreError) {
    let marker = marker(path);
    if let Err(error) = fs::write(&marker, format!("{error}\n")) {
        let marker = marker.display();
        tracing::error!(%error, %marker, "not written: the next start does not check the store");
    }
}

/// Rejects a file with damaged pages. `pragma` is `quick_check`, or `integrity_check`, which also
/// compares indexes with their tables.
pub(super) fn check_pages(
    connection: &Connection,
    path: &str,
    pragma: &str,
) -> Result<(), StoreError> {
    let check = format!("PRAGMA {pragma}(1)");
    let found = connection.query_row(&check, [], |row| row.get::<_, String>(0));
    match found {
        Ok(found) if found == "ok" => Ok(()),
        Ok(found) => Err(StoreError::DamagedPages {
            path: path.to_owned(),
            found: found.replace('\n', " "),
        }),
        Err(error) => Err(damage_of(error.into(), path)),
    }
}

/// Extended codes of errors of reading a file.
const READ_ERRORS: [c_int; 5] = [
    ffi::SQLITE_IOERR,
    ffi::SQLITE_IOERR_READ,
    ffi::SQLITE_IOERR_SHORT_READ,
    ffi::SQLITE_IOERR_CORRUPTFS,
    ffi::SQLITE_IOERR_DATA,
];

/// The error of a damaged file, where the database could not be read further.
pub(super) fn damage_of(error: StoreError, path: &str) -> StoreError {
    let (StoreError::Database(database) | StoreError::File { database, .. }) = &error else {
        return error;
    };
    let is_unreadable = database
        .sqlite_error()
        .is_some_and(|error| READ_ERRORS.contains(&error.extended_code));
    let found = match database.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => database.to_string(),
        _ if is_unreadable => format!("the file cannot be read: {database}"),
        _ => return error,
    };
    StoreError::DamagedPages {
        path: path.to_owned(),
        found,
    }
}
