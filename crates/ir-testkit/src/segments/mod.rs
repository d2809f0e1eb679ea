//! Test suite of segmented indexes ([`ir_core::segments`]): any history of writes equals an index
//! built once, readers keep their commit, there is one writer, and a killed writer loses no commit.
//!
//! An index type implements [`SegmentedIndexTest`] and calls the functions in its tests.

mod history;
mod kills;
mod readers;
mod writers;

use std::error::Error;
use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};

use ir_core::DocIds;
use ir_core::segments::SegmentStats;

pub use history::{Step, check_history, steps};
pub use kills::check_killed_writers;
pub use readers::{check_readers_during_commits, check_readers_keep_their_commit};
pub use writers::{
    check_abandoned_writers, check_lost_manifest, check_one_writer, check_replaced_folder,
};

/// Writer and reader of a segmented index under test. Methods without a `Result` panic on errors.
pub trait SegmentedIndexTest: Sync {
    /// Content of a document, without its id.
    type Content: Clone + Debug;
    /// Writer of the index.
    type Writer;
    /// Reader of a commit.
    type Reader;
    /// Error of the writer.
    type Error: Error;

    /// Creates an index. It exists from its first commit on.
    ///
    /// # Errors
    /// If the folder contains an index or foreign files, or has another writer.
    fn create(&self, folder: &Path) -> Result<Self::Writer, Self::Error>;

    /// Opens a writer of an index.
    ///
    /// # Errors
    /// If the folder contains no index, or has another writer.
    fn open(&self, folder: &Path) -> Result<Self::Writer, Self::Error>;

    /// Adds a document, or replaces the one with the same id.
    fn put(&self, writer: &mut Self::Writer, id: &str, content: &Self::Content);

    /// Deletes a document. Returns whether there was one.
    fn delete(&self, writer: &mut Self::Writer, id: &str) -> bool;

    /// Makes all changes visible and durable.
    fn commit(&self, writer: &mut Self::Writer);

    /// Commits, and merges all segments into one without deleted documents.
    fn compact(&self, writer: &mut Self::Writer);

    /// Number of documents, with the changes since the last commit.
    fn len(&self, writer: &Self::Writer) -> usize;

    /// Opens the last commit.
    fn read(&self, folder: &Path) -> Self::Reader;

    /// Ids of the documents of a commit.
    fn ids<'r>(&self, reader: &'r Self::Reader) -> &'r DocIds;

    /// Segments of a commit.
    fn segments(&self, reader: &Self::Reader) -> Vec<SegmentStats>;

    /// Asserts that a commit equals an index built once from these documents, in the order of
    /// their last writes, and that its files are not damaged.
    fn check(&self, reader: &Self::Reader, documents: &[(String, Self::Content)]);

    /// Bytes of the file of an index built once from these documents.
    fn saved(&self, documents: &[(String, Self::Content)]) -> Vec<u8>;
}

/// Documents that are left after a history of writes, in the order of their last writes.
#[derive(Debug, Clone)]
pub struct Model<C>(pub Vec<(String, C)>);

impl<C> Default for Model<C> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<C> Model<C> {
    /// Adds a document, or replaces the one with the same id.
    pub fn put(&mut self, id: impl Into<String>, content: C) {
        let id = id.into();
        self.delete(&id);
        self.0.push((id, content));
    }

    /// Deletes a document. Returns whether there was one.
    pub fn delete(&mut self, id: &str) -> bool {
        let before = self.0.len();
        self.0.retain(|(other, _)| other != id);
        self.0.len() < before
    }
}

/// Paths of the index files of the segments in a folder, ascending.
#[must_use]
pub fn segment_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let mut paths: Vec<PathBuf> = entries
        .filter(|entry| entry.file_name().to_str().unwrap().starts_with("segment-"))
        .map(|entry| entry.path())
        .collect();
    paths.sort();
    paths
}

/// Asserts that a folder has the files of a commit and the lock, and no others.
///
/// # Panics
/// If it does not.
pub fn check_files<T: SegmentedIndexTest>(test: &T, folder: &Path) {
    let segments = test.segments(&test.read(folder));
    let with_deleted = segments.iter().filter(|segment| segment.deleted > 0);
    let expected = 2 + segments.len() + with_deleted.count();
    assert_eq!(fs::read_dir(folder).unwrap().count(), expected);
}
