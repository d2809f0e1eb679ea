//! Writer of a segmented token store.

use std::ops::Range;
use std::path::Path;

use ir_core::segments::{PendingIds, PutOutcome, SegmentFolder, SegmentIndex};
use ir_core::store::{AtomicFile, IndexFileWriter, Verify};
use ir_core::{DocNum, Progress, TokenVectors};

use super::codebook::TokenCodebook;
use super::codec::TokenCodec;
use super::config::TokenStoreConfig;
use super::documents::EncodedDocuments;
use super::error::TokenStoreError;
use super::file::TOKENS;
use super::segment::{Segment, codebook_of, merge_segments};
use super::store::TokenStore;
use crate::index::error::SaveVectorIndexError;

/// Default of [`SegmentedTokenStoreWriter::with_merge_factor`].
const MERGE_FACTOR: usize = 8;
/// Default of [`SegmentedTokenStoreWriter::with_memory`].
const DEFAULT_MEMORY: usize = 256 << 20;

/// Writer of a [`SegmentedTokenStore`](crate::SegmentedTokenStore): adds, replaces and deletes
/// documents by id. A store has one writer at a time, enforced by a lock, and any number of
/// readers, which never wait.
///
/// Changes are buffered, within a memory budget, until [`SegmentedTokenStoreWriter::commit`] makes
/// them visible and durable. A writer that is dropped or killed before leaves the store at its last
/// commit. The last write of an id counts, also within a commit. A merge copies encoded documents:
/// a document is encoded once. [`VectorIndexWriter`](crate::VectorIndexWriter) documents when
/// segments are merged.
///
/// # Codebook
/// All segments have the same codebook, which is trained before the first document
/// ([`TokenCodebook::train`]); each file contains it. A writer that opens a store reads it from the
/// first segment. A store without documents has no codebook: set it again
/// ([`SegmentedTokenStoreWriter::set_codebook`]). Vectors that are unlike the sample are encoded
/// with larger errors; if the collection changes, train another codebook and write a new store.
///
/// # Examples
/// [`SegmentedTokenStore`](crate::SegmentedTokenStore) has an example of both.
#[derive(Debug)]
pub struct SegmentedTokenStoreWriter {
    config: TokenStoreConfig,
    /// `None` if residuals have no centroids yet.
    codec: Option<TokenCodec>,
    /// Documents not yet written.
    buffer: EncodedDocuments,
    // Dropped before the folder, which may remove their files.
    /// Segments written since the last commit.
    flushed: Vec<Segment>,
    folder: SegmentFolder<TokenStore>,
    /// Ids written since the last commit.
    pending: PendingIds,
    memory: usize,
    merge_factor: usize,
    failed: bool,
}

impl SegmentedTokenStoreWriter {
    /// Creates a store in a folder, which is created if it does not exist. The store exists from
    /// its first commit on.
    ///
    /// # Errors
    /// If the configuration is invalid ([`TokenStoreError::NoCodebook`] for residuals without
    /// centroids), or the folder contains an index or files named like segments, has another writer
    /// or cannot be written.
    pub fn create(
        folder: impl AsRef<Path>,
        config: &TokenStoreConfig,
    ) -> Result<Self, TokenStoreError> {
        config.validate()?;
        let codec = TokenCodec::new(config)?;
        let folder = SegmentFolder::create(folder.as_ref(), config.clone())?;
        Ok(Self::new(folder, config.clone(), Some(codec)))
    }

    /// Opens the store in a folder at its last commit. Does not verify the checksums of documents:
    /// a merge verifies the segments that it reads.
    ///
    /// # Errors
    /// If the store cannot be opened, the folder cannot be written, or the store has another
    /// writer.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, TokenStoreError> {
        let folder = SegmentFolder::<TokenStore>::open(folder.as_ref())?;
        let mut config = folder.config().clone();
        config.codebook = codebook_of(folder.segments().iter().map(|segment| &segment.index))?;
        let codec = TokenCodec::new(&config).ok();
        Ok(Self::new(folder, config, codec))
    }

    fn new(
        folder: SegmentFolder<TokenStore>,
        config: TokenStoreConfig,
        codec: Option<TokenCodec>,
    ) -> Self {
        Self {
            config,
            codec,
            buffer: EncodedDocuments::default(),
            flushed: Vec::new(),
            folder,
            pending: PendingIds::default(),
            memory: DEFAULT_MEMORY,
            merge_factor: MERGE_FACTOR,
            failed: false,
        }
    }

    /// Sets the memory budget of buffered documents in bytes. Beyond it, they are written as a
    /// segment that the next commit adds. In addition, the writer holds the codebook and the ids
    /// written since the last commit. Default: 256 MiB.
    #[must_use]
    pub fn with_memory(mut self, bytes: usize) -> Self {
        self.memory = bytes;
        self
    }

    ir_core::segment_writer!(
        TokenStoreError,
        TokenStoreError::Abandoned,
        TokenStoreError::from_merge
    );

    /// Sets the codebook of a store without documents.
    ///
    /// # Errors
    /// If the codebook has another dimension than the store, or the store has documents with
    /// another codebook or without one. The writer remains usable.
    pub fn set_codebook(&mut self, codebook: TokenCodebook) -> Result<(), TokenStoreError> {
        let config = TokenStoreConfig {
            codebook: Some(codebook),
            ..self.config.clone()
        };
        config.validate()?;
        if config == self.config {
            return Ok(());
        }
        let segments = self.folder.segments().len() + self.flushed.len();
        if segments > 0 || !self.buffer.ids.is_empty() {
            return Err(TokenStoreError::OtherCodebook);
        }
        self.codec = Some(TokenCodec::new(&config)?);
        self.config = config;
        Ok(())
    }

    /// Returns the configuration of the store, with the codebook.
    #[must_use]
    pub fn config(&self) -> &TokenStoreConfig {
        &self.config
    }

    /// Adds a document, and deletes the one with the same id if there is one. A document without
    /// tokens is valid: every query scores it 0.
    ///
    /// # Errors
    /// If the vectors are invalid ([`TokenStoreWriter::push`](crate::TokenStoreWriter::push)), the
    /// id is too long, or residuals have no codebook: nothing changes then, and the writer remains
    /// usable. If a segment cannot be written: every later call returns
    /// [`TokenStoreError::Abandoned`], and the store is at its last commit.
    pub fn put(&mut self, id: &str, vectors: &TokenVectors) -> Result<PutOutcome, TokenStoreError> {
        self.guard(|_| Ok(()))?;
        let documents = self.flushed.iter().map(|new| new.stats().documents);
        let documents = documents.sum::<usize>() + self.buffer.ids.len();
        DocNum::try_from(self.folder.documents() + documents)?;
        if self.buffer.bytes.len() > self.memory {
            self.guard(Self::flush)?;
        }
        let codec = self.codec.as_ref().ok_or(TokenStoreError::NoCodebook {
            encoding: self.config.encoding,
        })?;
        self.buffer.push(codec, id, vectors)?;
        Ok(self.pending.put(id))
    }

    /// Writes buffered documents as a segment.
    fn flush(&mut self) -> Result<(), TokenStoreError> {
        if self.buffer.ids.is_empty() {
            return Ok(());
        }
        let documents = std::mem::take(&mut self.buffer);
        let (number, path) = self.folder.next_file()?;
        let write = || {
            let mut writer = IndexFileWriter::new(&TOKENS, AtomicFile::create(&path)?)?;
            documents.write(&mut writer, &self.config)?;
            writer.finish()?.commit()
        };
        write().map_err(|source| SaveVectorIndexError {
            path: path.clone(),
            source,
        })?;
        let index = SegmentIndex::open(&path, &self.config, Verify::SmallSections)?;
        self.flushed.push(Segment::new(number, index));
        Ok(())
    }

    /// Commits, unless there are no changes to a store that exists.
    fn commit_changes(&mut self, _: &mut dyn Progress) -> Result<(), TokenStoreError> {
        self.flush()?;
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
    ) -> Result<(), TokenStoreError> {
        let (number, path) = self.folder.next_file()?;
        let sources = &self.folder.segments()[range.clone()];
        let merged = merge_segments(sources, &self.config, &path, progress)?;
        Ok(self.folder.replace(range, Segment::new(number, merged))?)
    }
}
