//! Writer of a segmented vector index.

use std::ops::Range;
use std::path::Path;

use ir_core::segments::{PendingIds, PutOutcome, SegmentFolder};
use ir_core::{DocIds, DocNum, Flow, NoProgress, Progress};

use super::config::VectorIndexConfig;
use super::error::VectorIndexWriterError;
use super::merge::merge_segments;
use super::{Segment, VectorSegment};
use crate::index::flat::FlatIndex;
use crate::index::validate::check_vector;

/// Default of [`VectorIndexWriter::with_merge_factor`].
const MERGE_FACTOR: usize = 8;
/// Default of [`VectorIndexWriter::with_memory`].
const DEFAULT_MEMORY: usize = 256 << 20;

/// Writer of a [`SegmentedVectorIndex`](crate::SegmentedVectorIndex): adds, replaces and deletes
/// vectors by id. An index has one writer at a time, enforced by a lock, and any number of readers,
/// which never wait.
///
/// Changes are buffered, within a memory budget, until [`VectorIndexWriter::commit`] makes them
/// visible and durable. A writer that is dropped or killed before leaves the index at its last
/// commit. The last write of an id counts, also within a commit.
///
/// A commit adds a segment; [`VectorIndexWriter::with_merge_factor`] segments of similar size are
/// merged into one, so that there are O(log n) segments, and a vector is rewritten O(log n) times.
/// Segments of fewer than 1,024 vectors count as similar: commit several vectors together. A
/// segment of which more than a quarter is deleted is rewritten without the deleted vectors.
///
/// The index exists from its first commit on: a writer that was created and fails before leaves
/// nothing behind.
///
/// # Examples
/// [`SegmentedVectorIndex`](crate::SegmentedVectorIndex) has an example of both.
#[derive(Debug)]
pub struct VectorIndexWriter {
    /// Vectors not yet written, row-major, their ids and fingerprints.
    values: Vec<f32>,
    ids: DocIds,
    fingerprints: Vec<u64>,
    // Dropped before the folder, which may remove their files.
    /// Segments written since the last commit.
    flushed: Vec<Segment>,
    folder: SegmentFolder<VectorSegment>,
    /// Ids written since the last commit.
    pending: PendingIds,
    memory: usize,
    merge_factor: usize,
    failed: bool,
}

impl VectorIndexWriter {
    /// Creates an index in a folder, which is created if it does not exist. The index exists from
    /// its first commit on.
    ///
    /// # Errors
    /// When the folder contains an index or files named like segments, has another writer or cannot
    /// be written, or the configuration is invalid: the dimension is 0, or a parameter of the
    /// graphs is out of range.
    pub fn create(
        folder: impl AsRef<Path>,
        config: &VectorIndexConfig,
    ) -> Result<Self, VectorIndexWriterError> {
        config.validate()?;
        let folder = SegmentFolder::create(folder.as_ref(), config.clone())?;
        Ok(Self::new(folder))
    }

    /// Opens the index in a folder at its last commit. Does not verify the checksums of vectors: a
    /// merge verifies the segments that it reads.
    ///
    /// # Errors
    /// When the index cannot be opened, the folder cannot be written, or the index has another
    /// writer.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, VectorIndexWriterError> {
        let folder = SegmentFolder::open(folder.as_ref())?;
        Ok(Self::new(folder))
    }

    fn new(folder: SegmentFolder<VectorSegment>) -> Self {
        Self {
            values: Vec::new(),
            ids: DocIds::new(),
            fingerprints: Vec::new(),
            flushed: Vec::new(),
            folder,
            pending: PendingIds::default(),
            memory: DEFAULT_MEMORY,
            merge_factor: MERGE_FACTOR,
            failed: false,
        }
    }

    /// Sets the memory budget of buffered vectors in bytes. Beyond it, they are written as a
    /// segment that the next commit adds. In addition, the writer holds the ids written since the
    /// last commit, codes or a graph while a segment is written, and all vectors of a graph that is
    /// merged. Default: 256 MiB.
    #[must_use]
    pub fn with_memory(mut self, bytes: usize) -> Self {
        self.memory = bytes;
        self
    }

    ir_core::segment_writer!(
        VectorIndexWriterError,
        VectorIndexWriterError::Abandoned,
        VectorIndexWriterError::from_merge
    );

    /// Configuration of the index.
    #[must_use]
    pub fn config(&self) -> &VectorIndexConfig {
        self.folder.config()
    }

    /// Adds a vector, and deletes the one with the same id if there is one. In an index with
    /// fingerprints, the vector has fingerprint 0.
    ///
    /// # Errors
    /// If the vector has another dimension, is not finite, or is zero under cosine similarity, or
    /// the id is too long: nothing changes then, and the writer remains usable. If a segment cannot
    /// be written: every later call returns [`VectorIndexWriterError::Abandoned`], and the index is
    /// at its last commit.
    pub fn put(&mut self, id: &str, vector: &[f32]) -> Result<PutOutcome, VectorIndexWriterError> {
        self.put_row(id, vector, 0)
    }

    /// Adds a vector with a fingerprint, such as a hash of the encoded text.
    ///
    /// # Errors
    /// Returns the errors of [`VectorIndexWriter::put`], and
    /// [`VectorIndexWriterError::NoFingerprints`] if the index has no fingerprints.
    pub fn put_with_fingerprint(
        &mut self,
        id: &str,
        vector: &[f32],
        fingerprint: u64,
    ) -> Result<PutOutcome, VectorIndexWriterError> {
        if !self.config().fingerprints {
            return Err(VectorIndexWriterError::NoFingerprints);
        }
        self.put_row(id, vector, fingerprint)
    }

    fn put_row(
        &mut self,
        id: &str,
        vector: &[f32],
        fingerprint: u64,
    ) -> Result<PutOutcome, VectorIndexWriterError> {
        self.guard(|_| Ok(()))?;
        let VectorIndexConfig {
            dim, similarity, ..
        } = *self.folder.config();
        let flushed: usize = self.flushed.iter().map(|new| new.stats().documents).sum();
        let row = flushed + self.ids.len();
        check_vector(row, dim, vector, similarity).map_err(|source| {
            let id = id.to_owned();
            VectorIndexWriterError::Vector { id, source }
        })?;
        DocNum::try_from(self.folder.documents() + row)?;
        if size_of_val(&*self.values) + size_of_val(vector) > self.memory {
            self.guard(|writer| writer.flush(&mut NoProgress))?;
        }
        self.ids.push(id)?;
        self.values.extend_from_slice(vector);
        self.fingerprints.push(fingerprint);
        Ok(self.pending.put(id))
    }

    /// Fingerprint of the vector with an id in the last commit; [`None`] if the last commit has no
    /// such vector, or the index has no fingerprints.
    #[must_use]
    pub fn committed_fingerprint(&self, id: &str) -> Option<u64> {
        let segments = self.folder.segments().iter();
        let mut found = segments.filter_map(|segment| Some((segment, segment.find(id)?)));
        let (segment, row) = found.next()?;
        segment.index.flat().fingerprint(row)
    }

    /// Writes buffered vectors as a segment.
    fn flush(&mut self, progress: &mut dyn Progress) -> Result<(), VectorIndexWriterError> {
        if self.ids.is_empty() {
            return Ok(());
        }
        let (ids, values) = (
            std::mem::take(&mut self.ids),
            std::mem::take(&mut self.values),
        );
        let fingerprints = std::mem::take(&mut self.fingerprints);
        let (number, path) = self.folder.next_file()?;
        let config = self.folder.config();
        let flat = FlatIndex::from_row_major(ids, config.dim, values, config.similarity);
        let mut flat = flat.map_err(VectorIndexWriterError::Config)?;
        if config.fingerprints {
            let with = flat.with_fingerprints(&fingerprints);
            flat = with.map_err(VectorIndexWriterError::Config)?;
        }
        let index = VectorSegment::write(flat, config, &path, progress)?;
        self.flushed.push(Segment::new(number, index));
        Ok(())
    }

    /// Commits, unless there are no changes to an index that exists. `progress` cannot cancel,
    /// because the changes would be lost.
    fn commit_changes(
        &mut self,
        progress: &mut dyn Progress,
    ) -> Result<(), VectorIndexWriterError> {
        self.flush(&mut |stage: &str, done: u64, total: Option<u64>| {
            let _ = progress.report(stage, done, total);
            Flow::Continue
        })?;
        if self.folder.has_commit() && self.flushed.is_empty() && self.pending.is_empty() {
            return Ok(());
        }
        let pending = std::mem::take(&mut self.pending);
        let new = std::mem::take(&mut self.flushed);
        Ok(self.folder.commit(&pending, new)?)
    }

    /// Merges a range of segments into one.
    fn merge(
        &mut self,
        range: Range<usize>,
        progress: &mut dyn Progress,
    ) -> Result<(), VectorIndexWriterError> {
        let (number, path) = self.folder.next_file()?;
        let sources = &self.folder.segments()[range.clone()];
        let index = merge_segments(sources, self.folder.config(), &path, progress)?;
        Ok(self.folder.replace(range, Segment::new(number, index))?)
    }
}
