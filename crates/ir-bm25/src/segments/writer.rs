//! Writer of a segmented index.

use std::ops::Range;
use std::path::Path;

use ir_core::segments::{PendingIds, PutOutcome, SegmentFolder};
use ir_core::{DocIds, DocNum, Document, IdError, Progress};

use super::Segment;
use super::error::IndexWriterError;
use crate::indexer::merge_indexes;
use crate::{BuildError, DEFAULT_MEMORY, DuplicateIds, Index, IndexBuilder, IndexConfig};

/// Default of [`IndexWriter::with_merge_factor`].
const MERGE_FACTOR: usize = 8;

/// Writer of a [`SegmentedIndex`](super::SegmentedIndex): adds, replaces and deletes documents by
/// id. An index has one writer at a time, enforced by a lock, and any number of readers, which
/// never wait.
///
/// Changes are buffered, within a memory budget, until [`IndexWriter::commit`] makes them visible
/// and durable. A writer that is dropped or killed before leaves the index at its last commit. The
/// last write of an id counts, also within a commit.
///
/// A commit adds a segment; [`IndexWriter::with_merge_factor`] segments of similar size are merged
/// into one, so that there are O(log n) segments, and a document is rewritten O(log n) times.
/// Segments of fewer than 1,024 documents count as similar: commit several documents together.
///
/// The index exists from its first commit on: a writer that was created and fails before leaves
/// nothing behind.
///
/// [`SegmentedIndex`](super::SegmentedIndex) has an example.
///
/// # Source
/// Log-structured merging of adjacent segments: Büttcher, Clarke and Cormack, "Information
/// Retrieval", 2010, section 7.3; Lucene's `LogMergePolicy`.
#[derive(Debug)]
pub struct IndexWriter {
    // Dropped before the folder, which may remove its files.
    builder: Option<IndexBuilder>,
    folder: SegmentFolder<Index>,
    /// Ids written since the last commit.
    pending: PendingIds,
    memory: usize,
    threads: Option<usize>,
    merge_factor: usize,
    failed: bool,
}

impl IndexWriter {
    /// Creates an index in a folder, which is created if it does not exist. The index exists from
    /// its first commit on.
    ///
    /// # Errors
    /// When the folder contains an index or files named like segments, has another writer or cannot
    /// be written, or the configuration is invalid: the analysis, or [`DuplicateIds::Keep`].
    pub fn create(folder: impl AsRef<Path>, config: IndexConfig) -> Result<Self, IndexWriterError> {
        if config.duplicates == DuplicateIds::Keep {
            return Err(IndexWriterError::DuplicateIds);
        }
        config.analysis.build().map_err(BuildError::from)?;
        let folder = SegmentFolder::create(folder.as_ref(), config)?;
        Ok(Self::new(folder))
    }

    /// Opens the index in a folder at its last commit.
    ///
    /// # Errors
    /// When the index cannot be opened, the folder cannot be written, or the index has another
    /// writer.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, IndexWriterError> {
        let folder = SegmentFolder::open(folder.as_ref())?;
        Ok(Self::new(folder))
    }

    fn new(folder: SegmentFolder<Index>) -> Self {
        Self {
            builder: None,
            folder,
            pending: PendingIds::default(),
            memory: DEFAULT_MEMORY,
            threads: None,
            merge_factor: MERGE_FACTOR,
            failed: false,
        }
    }

    /// Sets the memory budget in bytes, as [`IndexBuilder::with_memory`]. In addition, the writer
    /// holds the ids of the documents written since the last commit. Default: [`DEFAULT_MEMORY`].
    #[must_use]
    pub fn with_memory(mut self, bytes: usize) -> Self {
        self.memory = bytes;
        self
    }

    /// Sets the number of threads that analyze documents, as [`IndexBuilder::with_threads`].
    /// Default: one per core.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    ir_core::segment_writer!(
        IndexWriterError,
        BuildError::Abandoned.into(),
        IndexWriterError::of_merge
    );

    /// The configuration of the index.
    #[must_use]
    pub fn config(&self) -> &IndexConfig {
        self.folder.config()
    }

    /// Adds a document, and deletes the one with the same id if there is one.
    ///
    /// # Errors
    /// Returns the errors of [`IndexBuilder::push`]. If the id is too long, only this document is
    /// skipped. After another error, every call returns [`BuildError::Abandoned`]; the index is at
    /// its last commit.
    pub fn put(&mut self, doc: &Document) -> Result<PutOutcome, IndexWriterError> {
        let pending = self.builder.as_ref().map_or(0, IndexBuilder::len);
        let position = self.folder.documents() + pending;
        if doc.id.len() > DocIds::MAX_LEN && !self.failed {
            let (limit, found) = (DocIds::MAX_LEN, doc.id.len());
            let too_long = IdError::TooLong {
                position,
                limit,
                found,
            };
            return Err(BuildError::from(too_long).into());
        }
        self.guard(|writer| {
            DocNum::try_from(position).map_err(BuildError::from)?;
            let builder = match &mut writer.builder {
                Some(builder) => builder,
                none => {
                    let mut builder = IndexBuilder::new(writer.folder.config().clone())?
                        .with_replaced_documents()
                        .with_memory(writer.memory);
                    if let Some(threads) = writer.threads {
                        builder = builder.with_threads(threads);
                    }
                    none.insert(builder)
                }
            };
            let before = builder.len();
            builder.push(doc)?;
            // Blank documents may be dropped.
            if builder.len() > before {
                return Ok(writer.pending.put(&doc.id));
            }
            let folder = &writer.folder;
            let is_committed = || folder.contains(&doc.id);
            Ok(writer.pending.drop_blank(&doc.id, is_committed))
        })
    }

    /// Commits, unless there are no changes to an index that exists.
    fn commit_changes(&mut self, progress: &mut dyn Progress) -> Result<(), IndexWriterError> {
        if self.folder.has_commit() && self.builder.is_none() && self.pending.is_empty() {
            return Ok(());
        }
        let pending = std::mem::take(&mut self.pending);
        let mut new = Vec::new();
        if let Some(builder) = self.builder.take() {
            let (number, path) = self.folder.next_file()?;
            let index = builder.finish_to(&path, progress)?;
            new.push(Segment::new(number, index));
        }
        Ok(self.folder.commit(&pending, new)?)
    }

    /// Merges a range of segments into one.
    fn merge(
        &mut self,
        range: Range<usize>,
        progress: &mut dyn Progress,
    ) -> Result<(), IndexWriterError> {
        let (number, path) = self.folder.next_file()?;
        let sources: Vec<_> = self.folder.segments()[range.clone()]
            .iter()
            .map(|segment| (&segment.index, &segment.deleted))
            .collect();
        let config = self.folder.config();
        let index = merge_indexes(&sources, config, self.memory, &path, progress)?;
        Ok(self.folder.replace(range, Segment::new(number, index))?)
    }
}
