//! Writer of a segmented index.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use ir_core::{DocNum, Document, NoProgress, Progress};

use super::error::IndexWriterError;
use super::manifest::{
    MANIFEST_NAME, Manifest, Segment, has_numbered_files, segment_path, write_deleted,
};
use super::merge_policy::segments_to_merge;
use super::snapshot::SegmentStats;
use crate::indexer::merge_indexes;
use crate::{BuildError, DEFAULT_MEMORY, DuplicateIds, IndexBuilder, IndexConfig};

const LOCK_NAME: &str = "writer.lock";
/// Default of [`IndexWriter::with_merge_factor`].
const MERGE_FACTOR: usize = 8;
/// Cost of looking up an id in a segment, relative to hashing one.
const LOOKUP_COST: usize = 20;

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
///
/// The index exists from its first commit on: a writer that was created and fails before leaves
/// nothing behind.
///
/// # Examples
/// See [`SegmentedIndex`](super::SegmentedIndex).
///
/// # Source
/// Log-structured merging of adjacent segments: Büttcher, Clarke and Cormack, "Information
/// Retrieval", 2010, section 7.3; Lucene's `LogMergePolicy`.
#[derive(Debug)]
pub struct IndexWriter {
    folder: PathBuf,
    /// Locked while the writer exists.
    _lock: File,
    manifest: Manifest,
    segments: Vec<Segment>,
    builder: Option<IndexBuilder>,
    /// Ids written since the last commit.
    pending: HashMap<String, PendingId>,
    memory: usize,
    threads: Option<usize>,
    merge_factor: usize,
    failed: bool,
    /// Whether the index has a commit.
    exists: bool,
    /// Whether the folder was created for the index.
    is_new_folder: bool,
}

/// What [`IndexWriter::put`] did with a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PutOutcome {
    /// Written. A document of an earlier commit with the same id is replaced.
    Written,
    /// Written in place of a document with the same id since the last commit.
    Rewritten,
    /// Skipped because it is blank ([`BlankDocs::Drop`](crate::BlankDocs::Drop)). A document with
    /// the same id is deleted.
    Dropped,
}

/// The documents of an id since the last commit.
#[derive(Debug, Clone, Copy, Default)]
struct PendingId {
    /// Number of its documents in the new segment.
    added: u32,
    /// Whether the last of these is not deleted.
    is_live: bool,
}

impl IndexWriter {
    /// Creates an index in a folder, which is created if it does not exist. The index exists from
    /// its first commit on.
    ///
    /// # Errors
    /// When the folder contains an index or files named like segments, has another writer or cannot
    /// be written, or the configuration is invalid: the analysis, or [`DuplicateIds::Keep`].
    pub fn create(folder: impl AsRef<Path>, config: IndexConfig) -> Result<Self, IndexWriterError> {
        let folder = folder.as_ref();
        if config.duplicates == DuplicateIds::Keep {
            return Err(IndexWriterError::DuplicateIds);
        }
        config.analysis.build().map_err(BuildError::from)?;
        let is_new_folder = !folder.exists();
        fs::create_dir_all(folder).map_err(failed(folder))?;
        // Left by a writer that was killed before its first commit, as are numbered files then.
        let was_locked = folder.join(LOCK_NAME).exists();
        let lock = lock(folder)?;
        if folder.join(MANIFEST_NAME).exists() {
            return Err(IndexWriterError::Exists {
                folder: folder.to_owned(),
            });
        }
        if !was_locked && has_numbered_files(folder).map_err(failed(folder))? {
            return Err(IndexWriterError::ForeignFiles {
                folder: folder.to_owned(),
            });
        }
        let manifest = Manifest::new(config);
        manifest.remove_unreferenced(folder);
        let mut writer = Self::new(folder, lock, manifest, Vec::new());
        writer.exists = false;
        writer.is_new_folder = is_new_folder;
        Ok(writer)
    }

    /// Opens the index in a folder at its last commit.
    ///
    /// # Errors
    /// When the index cannot be opened, the folder cannot be written, or the index has another
    /// writer.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, IndexWriterError> {
        let folder = folder.as_ref();
        // Before the lock, whose file would be created in any folder.
        Manifest::read(folder)?;
        let lock = lock(folder)?;
        let manifest = Manifest::read(folder)?;
        let segments = manifest.open_segments(folder)?;
        manifest.remove_unreferenced(folder);
        Ok(Self::new(folder, lock, manifest, segments))
    }

    fn new(folder: &Path, lock: File, manifest: Manifest, segments: Vec<Segment>) -> Self {
        Self {
            folder: folder.to_owned(),
            _lock: lock,
            manifest,
            segments,
            builder: None,
            pending: HashMap::new(),
            memory: DEFAULT_MEMORY,
            threads: None,
            merge_factor: MERGE_FACTOR,
            failed: false,
            exists: true,
            is_new_folder: false,
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

    /// Sets the number of segments of similar size that are merged into one. Fewer make searches
    /// faster and commits slower. Values below 2 count as 2. Default: 8.
    #[must_use]
    pub fn with_merge_factor(mut self, segments: usize) -> Self {
        self.merge_factor = segments.max(2);
        self
    }

    /// The configuration of the index.
    #[must_use]
    pub fn config(&self) -> &IndexConfig {
        &self.manifest.config
    }

    /// Adds a document, and deletes the one with the same id if there is one.
    ///
    /// # Errors
    /// As [`IndexBuilder::push`]. After an error, every call returns
    /// [`BuildError::Abandoned`]; the index is at its last commit.
    pub fn put(&mut self, doc: &Document) -> Result<PutOutcome, IndexWriterError> {
        self.guard(|writer| {
            let segments = writer.segments.iter();
            let committed: usize = segments.map(|segment| segment.index.len()).sum();
            let pending = writer.builder.as_ref().map_or(0, IndexBuilder::len);
            DocNum::try_from(committed + pending).map_err(BuildError::from)?;
            let builder = match &mut writer.builder {
                Some(builder) => builder,
                none => {
                    let config = writer.manifest.config.clone();
                    let config = config.with_duplicates(DuplicateIds::Keep);
                    let mut builder = IndexBuilder::new(config)?.with_memory(writer.memory);
                    if let Some(threads) = writer.threads {
                        builder = builder.with_threads(threads);
                    }
                    none.insert(builder)
                }
            };
            let before = builder.len();
            builder.push(doc)?;
            // Blank documents may be dropped.
            let is_added = builder.len() > before;
            let pending = writer.pending.entry(doc.id.clone()).or_default();
            let outcome = match (is_added, pending.is_live) {
                (false, _) => PutOutcome::Dropped,
                (true, false) => PutOutcome::Written,
                (true, true) => PutOutcome::Rewritten,
            };
            pending.added += u32::from(is_added);
            pending.is_live = is_added;
            Ok(outcome)
        })
    }

    /// Deletes the document with an id. Returns whether there was one.
    ///
    /// # Errors
    /// [`BuildError::Abandoned`] after an error of another call.
    pub fn delete(&mut self, id: &str) -> Result<bool, IndexWriterError> {
        self.guard(|writer| {
            if let Some(pending) = writer.pending.get_mut(id) {
                return Ok(std::mem::take(&mut pending.is_live));
            }
            let mut segments = writer.segments.iter();
            let exists = segments.any(|segment| find(segment, id).is_some());
            if exists {
                writer.pending.insert(id.to_owned(), PendingId::default());
            }
            Ok(exists)
        })
    }

    /// Number of documents, with the changes since the last commit.
    #[must_use]
    pub fn len(&self) -> usize {
        let committed: usize = self.segments.iter().map(Segment::live).sum();
        let is_committed = |id: &String| {
            self.segments
                .iter()
                .any(|segment| find(segment, id).is_some())
        };
        let replaced = self.pending.keys().filter(|id| is_committed(id)).count();
        let added = self
            .pending
            .values()
            .filter(|pending| pending.is_live)
            .count();
        committed - replaced + added
    }

    /// Returns whether the index has no documents, with the changes since the last commit.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The segments of the last commit, from the oldest to the newest.
    pub fn segments(&self) -> impl ExactSizeIterator<Item = SegmentStats> + '_ {
        self.segments.iter().map(SegmentStats::new)
    }

    /// Makes the changes since the last commit visible to readers that are opened from now on, and
    /// durable. Then merges segments if there are many. Without changes, does nothing, but for the
    /// first commit of a new index.
    ///
    /// # Errors
    /// When a document cannot be indexed or a file cannot be written. The index is then at its last
    /// commit, which is this one if merging failed.
    pub fn commit(&mut self) -> Result<(), IndexWriterError> {
        self.commit_with(&mut NoProgress)
    }

    /// [`IndexWriter::commit`] with progress reports.
    ///
    /// # Errors
    /// As [`IndexWriter::commit`], and [`BuildError::Canceled`].
    pub fn commit_with(&mut self, progress: &mut dyn Progress) -> Result<(), IndexWriterError> {
        self.guard(|writer| {
            writer.commit_changes(progress)?;
            while let Some(range) = segments_to_merge(&writer.segments, writer.merge_factor) {
                writer.merge(range, progress)?;
            }
            Ok(())
        })
    }

    /// Commits, and merges all segments into one without deleted documents.
    ///
    /// # Errors
    /// As [`IndexWriter::commit`].
    pub fn compact(&mut self) -> Result<(), IndexWriterError> {
        self.compact_with(&mut NoProgress)
    }

    /// [`IndexWriter::compact`] with progress reports.
    ///
    /// # Errors
    /// As [`IndexWriter::compact`], and [`BuildError::Canceled`].
    pub fn compact_with(&mut self, progress: &mut dyn Progress) -> Result<(), IndexWriterError> {
        self.guard(|writer| {
            writer.commit_changes(progress)?;
            let is_compact = match &*writer.segments {
                [] => true,
                [only] => only.entry.deleted.is_none(),
                _ => false,
            };
            if !is_compact {
                writer.merge(0..writer.segments.len(), progress)?;
            }
            Ok(())
        })
    }

    fn guard<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, IndexWriterError>,
    ) -> Result<T, IndexWriterError> {
        if self.failed {
            return Err(BuildError::Abandoned.into());
        }
        let result = work(self);
        if result.is_err() {
            self.failed = true;
            self.manifest.remove_unreferenced(&self.folder);
        }
        result
    }

    /// Commits, unless there are no changes to an index that exists.
    fn commit_changes(&mut self, progress: &mut dyn Progress) -> Result<(), IndexWriterError> {
        if self.exists && self.builder.is_none() && self.pending.is_empty() {
            return Ok(());
        }
        let pending = std::mem::take(&mut self.pending);
        let mut manifest = self.manifest.clone();
        let mut segments = self.segments.clone();
        for segment in &mut segments {
            let before = segment.live();
            delete_pending(segment, &pending);
            if segment.live() < before {
                self.write_deleted(segment, &mut manifest)?;
            }
        }
        if let Some(builder) = self.builder.take() {
            let mut segment = self.build_segment(builder, &mut manifest, progress)?;
            for (id, pending) in &pending {
                let dead = pending.added - u32::from(pending.is_live);
                delete_first(&mut segment, id, dead);
            }
            if segment.live() < segment.index.len() {
                self.write_deleted(&mut segment, &mut manifest)?;
            }
            segments.push(segment);
        }
        self.install(manifest, segments)
    }

    fn build_segment(
        &self,
        builder: IndexBuilder,
        manifest: &mut Manifest,
        progress: &mut dyn Progress,
    ) -> Result<Segment, IndexWriterError> {
        let number = take_number(manifest);
        let path = segment_path(&self.folder, number);
        let index = builder.finish_to_with(&path, progress)?;
        Ok(Segment::new(number, index))
    }

    fn write_deleted(
        &self,
        segment: &mut Segment,
        manifest: &mut Manifest,
    ) -> Result<(), IndexWriterError> {
        let number = take_number(manifest);
        let written = write_deleted(&self.folder, number, &segment.deleted);
        segment.entry.deleted = Some(written.map_err(failed(&self.folder))?);
        Ok(())
    }

    /// Commits these segments, without those whose documents are all deleted.
    fn install(
        &mut self,
        mut manifest: Manifest,
        mut segments: Vec<Segment>,
    ) -> Result<(), IndexWriterError> {
        segments.retain(|segment| segment.live() > 0);
        manifest.segments = segments
            .iter()
            .map(|segment| segment.entry.clone())
            .collect();
        manifest.commit += 1;
        manifest.write(&self.folder).map_err(failed(&self.folder))?;
        self.exists = true;
        manifest.remove_unreferenced(&self.folder);
        self.manifest = manifest;
        self.segments = segments;
        Ok(())
    }

    /// Merges a range of segments into one.
    fn merge(
        &mut self,
        range: Range<usize>,
        progress: &mut dyn Progress,
    ) -> Result<(), IndexWriterError> {
        let mut manifest = self.manifest.clone();
        let mut segments = self.segments.clone();
        let number = take_number(&mut manifest);
        let sources: Vec<_> = segments[range.clone()]
            .iter()
            .map(|segment| (&segment.index, &segment.deleted))
            .collect();
        let path = segment_path(&self.folder, number);
        let index = merge_indexes(&sources, &manifest.config, self.memory, &path, progress)?;
        segments.splice(range, [Segment::new(number, index)]);
        self.install(manifest, segments)
    }
}

fn take_number(manifest: &mut Manifest) -> u64 {
    let number = manifest.next_file;
    manifest.next_file += 1;
    number
}

/// The document with an id that is not deleted. All segments have unique ids but for deleted
/// documents.
fn find(segment: &Segment, id: &str) -> Option<DocNum> {
    let mut docs = segment.index.ids().all(id);
    docs.find(|&doc| segment.is_live(doc))
}

/// Deletes the documents of the pending ids.
fn delete_pending(segment: &mut Segment, pending: &HashMap<String, PendingId>) {
    let docs: Vec<DocNum> = if pending.len().saturating_mul(LOOKUP_COST) < segment.index.len() {
        let found = pending.keys().filter_map(|id| find(segment, id));
        found.collect()
    } else {
        let ids = segment.index.ids().iter().zip((0..).map(DocNum::new));
        let found = ids.filter(|(id, _)| pending.contains_key(*id));
        found.map(|(_, doc)| doc).collect()
    };
    for doc in docs {
        segment.deleted.insert(doc);
    }
}

/// Deletes the first `n` documents with an id.
fn delete_first(segment: &mut Segment, id: &str, n: u32) {
    let docs: Vec<DocNum> = match n {
        0 => Vec::new(),
        n => segment.index.ids().all(id).take(n as usize).collect(),
    };
    for doc in docs {
        segment.deleted.insert(doc);
    }
}

/// A writer that is dropped before the first commit of a new index removes what it created.
impl Drop for IndexWriter {
    fn drop(&mut self) {
        if !self.exists {
            self.builder = None;
            self.manifest.remove_unreferenced(&self.folder);
            let _ = fs::remove_file(self.folder.join(LOCK_NAME));
            if self.is_new_folder {
                let _ = fs::remove_dir(&self.folder);
            }
        }
    }
}

fn lock(folder: &Path) -> Result<File, IndexWriterError> {
    let path = folder.join(LOCK_NAME);
    loop {
        let mut options = OpenOptions::new();
        let options = options.create(true).truncate(false).write(true);
        let file = options.open(&path).map_err(failed(&path))?;
        match file.try_lock() {
            // Another writer may have removed the file before it was locked.
            Ok(()) if is_at(&file, &path) => return Ok(file),
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(IndexWriterError::Locked {
                    folder: folder.to_owned(),
                });
            }
            Err(TryLockError::Error(source)) => return Err(failed(&path)(source)),
        }
    }
}

/// Whether an open file is the one at a path.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |found: fs::Metadata| (found.dev(), found.ino());
    let found = file.metadata().map(identity);
    found.is_ok_and(|found| fs::metadata(path).map(identity).is_ok_and(|it| it == found))
}

/// Open files cannot be removed on other systems.
#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    true
}

fn failed(path: &Path) -> impl Fn(io::Error) -> IndexWriterError + '_ {
    |source| IndexWriterError::Io {
        path: path.to_owned(),
        source,
    }
}
