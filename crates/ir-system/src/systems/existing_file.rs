//! Files, folders and stored texts that a key needs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::SystemError;
use crate::hash::ContentHash;
use crate::source::SourceMap;
use crate::system::SystemContext;

/// Path of a file that must exist.
pub(super) fn existing_file(
    context: &SystemContext<'_>,
    key: &str,
    path: &str,
) -> Result<PathBuf, SystemError> {
    context.source.existing_file(key, path)
}

/// Path of a file or folder that must exist.
pub(super) fn existing_path(
    source: &SourceMap,
    key: &str,
    path: &str,
) -> Result<PathBuf, SystemError> {
    let resolved = source.resolve(key, path)?;
    if resolved.is_dir() {
        return Ok(resolved);
    }
    source.existing_file(key, path)
}

/// Hash of the names and contents of the files of a folder, such as a segmented index.
pub(super) fn folder_hash(
    context: &SystemContext<'_>,
    folder: &Path,
) -> Result<String, SystemError> {
    let files = || -> io::Result<Vec<PathBuf>> {
        let entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
        let mut files: Vec<PathBuf> = entries.collect::<io::Result<_>>()?;
        files.retain(|file| file.is_file());
        files.sort();
        Ok(files)
    };
    let mut hash = ContentHash::default();
    for file in files().map_err(SystemError::stage("reading a folder"))? {
        hash.text(&file.file_name().unwrap_or_default().to_string_lossy());
        hash.text(&context.file_hash(&file)?);
    }
    Ok(hash.finish())
}

/// Error of an index without the stored texts that a key needs.
pub(super) fn without_texts(key: &str) -> SystemError {
    let message = "expected an index with stored texts, found none (`ir index --store all`)";
    SystemError::parameter(key, message)
}
