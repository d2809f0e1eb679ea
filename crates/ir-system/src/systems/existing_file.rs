//! Files, folders and stored texts that a key needs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::SystemError;
use crate::hash::ContentHash;
use crate::source::SourceMap;
use crate::system::{SystemContext, file_hash};

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

/// Hash of the names and contents of the files of a folder of vectors.
pub(super) fn folder_hash(folder: &Path) -> Result<String, SystemError> {
    let hash = || -> io::Result<String> {
        let entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
        let mut files: Vec<_> = entries.collect::<io::Result<_>>()?;
        files.retain(|file| file.is_file());
        files.sort();
        let mut hash = ContentHash::default();
        for file in files {
            hash.text(&file.file_name().unwrap_or_default().to_string_lossy());
            hash.text(&file_hash(&file)?);
        }
        Ok(hash.finish())
    };
    hash().map_err(SystemError::stage("reading vectors"))
}

/// Error of an index without the stored texts that a key needs.
pub(super) fn without_texts(key: &str) -> SystemError {
    let message = "expected an index with stored texts, found none (`ir index --store all`)";
    SystemError::parameter(key, message)
}
