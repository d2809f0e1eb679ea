//! Names of the files of a segmented index, and their entries in the manifest.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::store::OpenIndexError;

/// File name of the manifest in the folder of an index. It has the checksums of all other files.
pub const MANIFEST_NAME: &str = "manifest.ir";
const SEGMENT_PREFIX: &str = "segment-";
const DELETED_PREFIX: &str = "deleted-";
const SUFFIX: &str = ".ir";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SegmentEntry {
    pub(super) index: FileEntry,
    /// The file of its deleted documents, if there are any.
    pub(super) deleted: Option<FileEntry>,
}

/// A file by its number; the checksum of its section table identifies its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileEntry {
    pub(super) number: u64,
    pub(super) checksum: u32,
}

pub(super) fn another_file(path: PathBuf) -> OpenIndexError {
    OpenIndexError::Malformed {
        path,
        section: "table".to_owned(),
        expected: "the checksum recorded in the manifest: this is another file",
    }
}

pub(super) fn segment_path(folder: &Path, number: u64) -> PathBuf {
    folder.join(segment_name(number))
}

pub(super) fn deleted_path(folder: &Path, number: u64) -> PathBuf {
    folder.join(deleted_name(number))
}

pub(super) fn segment_name(number: u64) -> String {
    format!("{SEGMENT_PREFIX}{number}{SUFFIX}")
}

pub(super) fn deleted_name(number: u64) -> String {
    format!("{DELETED_PREFIX}{number}{SUFFIX}")
}

/// Returns whether a folder has files with the names of segments or of deleted documents.
pub(super) fn has_numbered_files(folder: &Path) -> std::io::Result<bool> {
    for entry in folder.read_dir()? {
        if entry?.file_name().to_str().is_some_and(is_numbered) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns `true` if a file name names a manifest, a segment or deleted documents.
pub(super) fn is_index_file(name: &str) -> bool {
    name == MANIFEST_NAME || is_numbered(name)
}

/// Returns `true` if a file name names a segment or deleted documents.
pub(super) fn is_numbered(name: &str) -> bool {
    let number = name
        .strip_prefix(SEGMENT_PREFIX)
        .or_else(|| name.strip_prefix(DELETED_PREFIX))
        .and_then(|rest| rest.strip_suffix(SUFFIX));
    number.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}
