//! Files and stored texts that a key needs.

use std::fs;
use std::path::PathBuf;

use crate::error::SystemError;
use crate::system::SystemContext;

/// Path of a file that must exist.
pub(super) fn existing_file(
    context: &SystemContext<'_>,
    key: &str,
    path: &str,
) -> Result<PathBuf, SystemError> {
    let resolved = context.resolve(key, path)?;
    match fs::metadata(&resolved) {
        Ok(found) if found.is_file() => Ok(resolved),
        Ok(_) => {
            let message = format!("{}: expected a file", resolved.display());
            Err(SystemError::parameter(key, message))
        }
        Err(error) => {
            let message = format!("{}: cannot be read: {error}", resolved.display());
            Err(SystemError::missing(key, message))
        }
    }
}

/// Error of an index without the stored texts that a key needs.
pub(super) fn without_texts(key: &str) -> SystemError {
    let message = "expected an index with stored texts, found none (`ir index --store all`)";
    SystemError::parameter(key, message)
}
