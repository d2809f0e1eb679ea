//! Files and stored texts that a key needs.

use std::path::PathBuf;

use crate::error::SystemError;
use crate::system::SystemContext;

/// Path of a file that must exist.
pub(super) fn existing_file(
    context: &SystemContext<'_>,
    key: &str,
    path: &str,
) -> Result<PathBuf, SystemError> {
    context.source.existing_file(key, path)
}

/// Error of an index without the stored texts that a key needs.
pub(super) fn without_texts(key: &str) -> SystemError {
    let message = "expected an index with stored texts, found none (`ir index --store all`)";
    SystemError::parameter(key, message)
}
