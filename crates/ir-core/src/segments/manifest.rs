//! The manifest of a segmented index: its last commit.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::deleted::read_deleted;
use super::lock::had_commit;
use super::segment::{Segment, SegmentIndex};
use crate::store::{
    AtomicFile, IndexFile, IndexFileWriter, OpenIndexError, Verify, remove_abandoned,
};
use crate::{DocNum, DocSet};

/// Section of the manifest: [`Manifest`] as JSON.
const COMMIT: &str = "commit";

/// File name of the manifest in the folder of an index. It has the checksums of all other files.
pub const MANIFEST_NAME: &str = "manifest.ir";
const SEGMENT_PREFIX: &str = "segment-";
const DELETED_PREFIX: &str = "deleted-";
const SUFFIX: &str = ".ir";

/// A commit: the segments from the oldest to the newest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Manifest<C> {
    pub(super) config: C,
    /// Number of commits and merges so far.
    pub(super) commit: u64,
    /// Number of the next file. Numbers are never reused.
    pub(super) next_file: u64,
    pub(super) segments: Vec<SegmentEntry>,
}

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

impl<C> Manifest<C> {
    pub(super) fn new(config: C) -> Self {
        Self {
            config,
            commit: 0,
            next_file: 0,
            segments: Vec::new(),
        }
    }

    /// Numbers of all files.
    fn numbers(&self) -> impl Iterator<Item = u64> + '_ {
        let files = self.segments.iter();
        let files = files.flat_map(|entry| [Some(entry.index), entry.deleted]);
        files.flatten().map(|file| file.number)
    }

    /// Whether every number belongs to one file and was assigned before.
    fn has_distinct_files(&self) -> bool {
        let mut numbers: Vec<u64> = self.numbers().collect();
        numbers.sort_unstable();
        let is_distinct = numbers.is_sorted_by(|one, other| one < other);
        is_distinct && numbers.last().is_none_or(|&last| last < self.next_file)
    }

    /// Returns whether the manifest refers to a file of this name.
    fn refers_to(&self, name: &str) -> bool {
        self.segments.iter().any(|entry| {
            name == segment_name(entry.index.number)
                || entry
                    .deleted
                    .is_some_and(|file| name == deleted_name(file.number))
        })
    }

    /// Removes the files in the folder that have the names of segments or deleted documents and to
    /// which this manifest does not refer. [`has_numbered_files`] keeps foreign files of such names
    /// out of the folder. Errors are ignored: the next call tries again.
    pub(super) fn remove_unreferenced(&self, folder: &Path) {
        let Ok(entries) = folder.read_dir() else {
            return;
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            if is_numbered(name) && !self.refers_to(name) {
                let _ = std::fs::remove_file(entry.path());
            }
        }
        remove_abandoned(folder, is_index_file);
    }

    /// Opens the index files of all segments and their files of deleted documents.
    pub(super) fn open_segments<I: SegmentIndex<Config = C>>(
        &self,
        folder: &Path,
        verify: Verify,
    ) -> Result<Vec<Segment<I>>, OpenIndexError> {
        let open = |entry: &SegmentEntry| {
            let path = segment_path(folder, entry.index.number);
            let index = I::open(&path, &self.config, verify)?;
            if index.checksum() != entry.index.checksum {
                return Err(another_file(path));
            }
            let deleted = match entry.deleted {
                Some(file) => {
                    let path = deleted_path(folder, file.number);
                    read_deleted(&path, file, index.ids().len())?
                }
                None => DocSet::new(),
            };
            Ok(Segment {
                entry: entry.clone(),
                index,
                deleted,
            })
        };
        let segments: Vec<Segment<I>> = self.segments.iter().map(open).collect::<Result<_, _>>()?;
        if let Some(copy) = find_copy(&segments) {
            return Err(OpenIndexError::Malformed {
                path: segment_path(folder, copy.entry.index.number),
                section: "table".to_owned(),
                expected: "a checksum of its own: this is a copy of another segment",
            });
        }
        let documents: usize = segments
            .iter()
            .map(|segment| segment.index.ids().len())
            .sum();
        if documents > DocNum::LIMIT {
            return Err(OpenIndexError::Malformed {
                path: folder.join(MANIFEST_NAME),
                section: COMMIT.to_owned(),
                expected: "segments of fewer than 2^32 documents",
            });
        }
        Ok(segments)
    }
}

/// The first segment whose file is that of an earlier one. Commits do not contain any: its ids are
/// those of the earlier one, all of whose documents were deleted then.
fn find_copy<I: SegmentIndex>(segments: &[Segment<I>]) -> Option<&Segment<I>> {
    let mut earlier = HashMap::new();
    let mut segments = segments.iter();
    segments.find(|segment| {
        let same = earlier.insert(segment.entry.index.checksum, segment.index.ids());
        same.is_some_and(|ids| ids == segment.index.ids())
    })
}

/// Reads the manifest in a folder.
pub(super) fn read_manifest<I: SegmentIndex>(
    folder: &Path,
) -> Result<Manifest<I::Config>, OpenIndexError> {
    let path = folder.join(MANIFEST_NAME);
    let file = match IndexFile::open(&I::MANIFEST, &path, Verify::AllSections) {
        Err(OpenIndexError::Io { source, .. })
            if source.kind() == ErrorKind::NotFound && has_lost_manifest(folder) =>
        {
            return Err(missing_manifest(folder));
        }
        opened => opened?,
    };
    let content = file.section(COMMIT).unwrap_or_default();
    let manifest: Manifest<I::Config> =
        serde_json::from_slice(content.as_ref()).map_err(|error| file.metadata_error(error))?;
    if !manifest.has_distinct_files() {
        return Err(file.malformed(COMMIT, "a number for every file"));
    }
    Ok(manifest)
}

/// Replaces the manifest in a folder atomically.
pub(super) fn write_manifest<I: SegmentIndex>(
    manifest: &Manifest<I::Config>,
    folder: &Path,
) -> std::io::Result<()> {
    let file = AtomicFile::create(folder.join(MANIFEST_NAME))?;
    let mut writer = IndexFileWriter::new(&I::MANIFEST, file)?;
    writer.section(COMMIT, &serde_json::to_vec(manifest)?)?;
    writer.finish()?.commit()
}

/// Whether a folder without manifest has the files of a commit.
pub(super) fn has_lost_manifest(folder: &Path) -> bool {
    had_commit(folder) && has_numbered_files(folder).unwrap_or(false)
}

pub(super) fn missing_manifest(folder: &Path) -> OpenIndexError {
    OpenIndexError::MissingManifest {
        manifest: folder.join(MANIFEST_NAME),
    }
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

fn segment_name(number: u64) -> String {
    format!("{SEGMENT_PREFIX}{number}{SUFFIX}")
}

fn deleted_name(number: u64) -> String {
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

/// Returns whether a file name is that of a manifest, a segment or deleted documents.
pub(super) fn is_index_file(name: &str) -> bool {
    name == MANIFEST_NAME || is_numbered(name)
}

/// Returns whether a file name is that of a segment or of deleted documents.
fn is_numbered(name: &str) -> bool {
    let number = name
        .strip_prefix(SEGMENT_PREFIX)
        .or_else(|| name.strip_prefix(DELETED_PREFIX))
        .and_then(|rest| rest.strip_suffix(SUFFIX));
    number.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}
