//! The manifest of a segmented index: its last commit.

use std::io::Write;
use std::path::{Path, PathBuf};

use ir_core::store::{
    AtomicFile, ByteReader, IndexFile, IndexFileWriter, IndexFormat, OpenIndexError, Verify,
    write_varint,
};
use ir_core::{DocFilter, DocNum, DocSet};
use serde::{Deserialize, Serialize};

use crate::{Index, IndexConfig};

static MANIFEST: IndexFormat = IndexFormat {
    magic: *b"ir-segs\n",
    version: 1,
    name: "the manifest of a segmented index",
    large_sections: &[],
};
static DELETED: IndexFormat = IndexFormat {
    magic: *b"ir-dels\n",
    version: 1,
    name: "a file of deleted documents",
    large_sections: &[],
};
/// Section of the manifest: [`Manifest`] as JSON.
const COMMIT: &str = "commit";
/// Section of a file of deleted documents: the gaps between their ascending numbers, as varints.
const DOCS: &str = "docs";

/// File name of the manifest in the folder of an index.
pub(super) const MANIFEST_NAME: &str = "manifest.ir";
const SEGMENT_PREFIX: &str = "segment-";
const DELETED_PREFIX: &str = "deleted-";
const SUFFIX: &str = ".ir";

/// A commit: the segments from the oldest to the newest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Manifest {
    pub(super) config: IndexConfig,
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

/// A segment and its deleted documents.
#[derive(Debug, Clone)]
pub(super) struct Segment {
    pub(super) entry: SegmentEntry,
    pub(super) index: Index,
    pub(super) deleted: DocSet,
}

impl Segment {
    /// A segment without deleted documents, in the file with this number.
    pub(super) fn new(number: u64, index: Index) -> Self {
        let checksum = index.checksum();
        let index_file = FileEntry { number, checksum };
        Self {
            entry: SegmentEntry {
                index: index_file,
                deleted: None,
            },
            index,
            deleted: DocSet::new(),
        }
    }

    /// Number of documents that are not deleted.
    pub(super) fn live(&self) -> usize {
        self.index.len() - self.deleted.count().unwrap_or(0)
    }

    pub(super) fn is_live(&self, doc: DocNum) -> bool {
        !self.deleted.contains(doc)
    }
}

impl Manifest {
    pub(super) fn new(config: IndexConfig) -> Self {
        Self {
            config,
            commit: 0,
            next_file: 0,
            segments: Vec::new(),
        }
    }

    pub(super) fn read(folder: &Path) -> Result<Self, OpenIndexError> {
        let path = folder.join(MANIFEST_NAME);
        let file = IndexFile::open(&MANIFEST, &path, Verify::AllSections)?;
        let content = file.section(COMMIT).unwrap_or_default();
        serde_json::from_slice(content.as_ref()).map_err(|error| file.metadata_error(error))
    }

    /// Replaces the manifest atomically.
    pub(super) fn write(&self, folder: &Path) -> std::io::Result<()> {
        let file = AtomicFile::create(folder.join(MANIFEST_NAME))?;
        let mut writer = IndexFileWriter::new(&MANIFEST, file)?;
        writer.section(COMMIT, &serde_json::to_vec(self)?)?;
        writer.finish()?.commit()
    }

    /// Opens the index files of all segments and their files of deleted documents.
    pub(super) fn open_segments(&self, folder: &Path) -> Result<Vec<Segment>, OpenIndexError> {
        let open = |entry: &SegmentEntry| {
            let path = segment_path(folder, entry.index.number);
            let index = Index::open(&path)?;
            if index.checksum() != entry.index.checksum {
                return Err(another_file(path));
            }
            let deleted = match entry.deleted {
                Some(file) => read_deleted(&deleted_path(folder, file.number), file, index.len())?,
                None => DocSet::new(),
            };
            Ok(Segment {
                entry: entry.clone(),
                index,
                deleted,
            })
        };
        self.segments.iter().map(open).collect()
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
        ir_core::store::remove_abandoned(folder, is_index_file);
    }
}

/// Writes the file of the deleted documents of a segment.
pub(super) fn write_deleted(
    folder: &Path,
    number: u64,
    deleted: &DocSet,
) -> std::io::Result<FileEntry> {
    let mut gaps = Vec::new();
    let mut next = 0;
    for doc in deleted.iter() {
        write_varint(&mut gaps, u64::from(doc.get()) - next);
        next = u64::from(doc.get()) + 1;
    }
    let mut file = IndexFileWriter::new(&DELETED, Vec::new())?;
    file.section(DOCS, &gaps)?;
    let bytes = file.finish()?;
    let checksum = IndexFile::from_bytes(&DELETED, bytes.clone(), Verify::SmallSections)
        .map_err(std::io::Error::other)?
        .checksum();
    let mut file = AtomicFile::create(deleted_path(folder, number))?;
    file.write_all(&bytes)?;
    file.commit()?;
    Ok(FileEntry { number, checksum })
}

fn read_deleted(path: &Path, entry: FileEntry, documents: usize) -> Result<DocSet, OpenIndexError> {
    let file = IndexFile::open(&DELETED, path, Verify::AllSections)?;
    if file.checksum() != entry.checksum {
        return Err(another_file(path.to_owned()));
    }
    let gaps = file.section(DOCS).unwrap_or_default();
    let mut reader = ByteReader::new(gaps.as_ref());
    let mut deleted = DocSet::new();
    let mut next = 0_u64;
    while !reader.is_empty() {
        let doc = reader.varint().and_then(|gap| next.checked_add(gap));
        let Some(doc) = doc.filter(|&doc| doc < documents as u64) else {
            return Err(file.malformed(DOCS, "numbers of documents of the segment"));
        };
        deleted.insert(DocNum::new(doc as u32));
        next = doc + 1;
    }
    Ok(deleted)
}

fn another_file(path: PathBuf) -> OpenIndexError {
    OpenIndexError::Malformed {
        path,
        section: "table".to_owned(),
        expected: "the checksum recorded in the manifest: this is another file",
    }
}

pub(super) fn segment_path(folder: &Path, number: u64) -> PathBuf {
    folder.join(segment_name(number))
}

fn deleted_path(folder: &Path, number: u64) -> PathBuf {
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
