//! The manifest of a segmented index: its last commit.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::deleted::read_deleted;
use super::files::{
    MANIFEST_NAME, SegmentEntry, another_file, deleted_name, deleted_path, has_numbered_files,
    is_index_file, is_numbered, segment_name, segment_path,
};
use super::lock::had_commit;
use super::segment::{Segment, SegmentIndex};
use crate::ids::{DocNum, DocSet};
use crate::store::{
    AtomicFile, IndexFile, IndexFileWriter, OpenIndexError, Verify, remove_abandoned,
};

/// Section of the manifest: [`Manifest`] as JSON.
const COMMIT: &str = "commit";

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

    /// Returns `true` if every number belongs to one file and was assigned before.
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

/// First segment with the file of an earlier segment. Commits contain no such segment: all
/// documents of the earlier one would have been deleted.
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

/// Returns `true` if a folder without manifest contains the files of a commit.
pub(super) fn has_lost_manifest(folder: &Path) -> bool {
    had_commit(folder) && has_numbered_files(folder).unwrap_or(false)
}

pub(super) fn missing_manifest(folder: &Path) -> OpenIndexError {
    OpenIndexError::MissingManifest {
        manifest: folder.join(MANIFEST_NAME),
    }
}
