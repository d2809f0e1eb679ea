//! Segments and their indexes.

use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::files::{FileEntry, SegmentEntry};
use crate::filter::DocFilter;
use crate::ids::{DocIds, DocNum, DocSet};
use crate::store::{IndexFormat, OpenIndexError, Verify};

/// Immutable index in one file, of which a segmented index has several.
pub trait SegmentIndex: Clone {
    /// Configuration that all segments share. The manifest stores it as JSON.
    type Config: Clone + Serialize + DeserializeOwned;

    /// Format of the manifest, which identifies the type of index.
    const MANIFEST: IndexFormat;

    /// Opens an index file.
    ///
    /// # Errors
    /// If the file cannot be opened, or does not have the configuration.
    fn open(path: &Path, config: &Self::Config, verify: Verify) -> Result<Self, OpenIndexError>;

    /// Ids of the documents.
    fn ids(&self) -> &DocIds;

    /// Checksum of the section table ([`IndexFile::checksum`](crate::store::IndexFile::checksum)),
    /// which identifies the file.
    fn checksum(&self) -> u32;

    /// Size of the file in bytes.
    fn file_size(&self) -> u64;
}

/// Segment: an index and its deleted documents.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Segment<I> {
    /// Index of all documents of the segment, deleted ones included.
    pub index: I,
    /// Documents that were deleted or replaced after the index was written.
    pub deleted: DocSet,
    pub(super) entry: SegmentEntry,
}

impl<I: SegmentIndex> Segment<I> {
    /// Segment without deleted documents, in the file with the number of
    /// [`SegmentFolder::next_file`](super::SegmentFolder::next_file).
    pub fn new(number: u64, index: I) -> Self {
        let checksum = index.checksum();
        let index_file = FileEntry { number, checksum };
        Self {
            index,
            deleted: DocSet::new(),
            entry: SegmentEntry {
                index: index_file,
                deleted: None,
            },
        }
    }

    /// Number of documents that are not deleted.
    pub fn live(&self) -> usize {
        self.index.ids().len() - self.deleted.count().unwrap_or(0)
    }

    /// Returns whether a document is not deleted.
    pub fn is_live(&self, doc: DocNum) -> bool {
        !self.deleted.contains(doc)
    }

    /// Returns the document with an id that is not deleted. There is at most one.
    pub fn find(&self, id: &str) -> Option<DocNum> {
        let mut docs = self.index.ids().all(id);
        docs.find(|&doc| self.is_live(doc))
    }

    /// Size of the segment.
    pub fn stats(&self) -> SegmentStats {
        SegmentStats {
            documents: self.index.ids().len(),
            deleted: self.index.ids().len() - self.live(),
            bytes: self.index.file_size(),
        }
    }
}

/// Size of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SegmentStats {
    /// Number of documents, deleted ones included.
    pub documents: usize,
    /// Number of deleted documents.
    pub deleted: usize,
    /// Size of the index file in bytes.
    pub bytes: u64,
}
