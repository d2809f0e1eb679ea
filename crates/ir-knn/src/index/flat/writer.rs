//! Streaming writer of flat indexes.
//!
//! Two files exist beside the destination until the index is complete: `NAME.partial`, which
//! becomes the index, and `NAME.partial-ids`, a journal of blocks:
//!
//! | part | bytes | content |
//! |---|---|---|
//! | length | 4 | length of the content |
//! | content | | see below |
//! | checksum | 4 | CRC-32 of the content |
//!
//! The content of the first block is a [`JournalHeader`] as JSON. Every other block contains the
//! number of vectors (4), the CRC-32 of all vectors so far (4), and the ids of the block's vectors,
//! each preceded by its length as a varint.
//!
//! A block is written after its vectors. After an interruption, the index ends before the first
//! block that is truncated, damaged or does not match the checksum of the vectors.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crc32fast::Hasher;
use ir_core::store::{
    AtomicFile, ByteReader, HEADER_LEN, IndexFileWriter, resolve_links, write_sized,
};
use ir_core::{DocIds, IdError, VectorSimilarity};
use serde::{Deserialize, Serialize};

use crate::index::error::VectorError;
use crate::index::file::{FLAT, section, write_ids_and_metadata};
use crate::index::validate::check_vector;
use crate::matrix::MatrixError;

/// Maximum size of a block's vectors in bytes, unless a single vector is larger.
const BLOCK_SIZE: usize = 4 << 20;

/// Writer that appends vectors directly to the file of a [`FlatIndex`](crate::FlatIndex), for more
/// vectors than fit into memory. Holds the ids and a few megabytes of vectors in memory.
///
/// [`FlatIndexWriter::finish`] completes the file, with the same bytes as
/// [`FlatIndex::save`](crate::FlatIndex::save). Until then two files exist beside it,
/// `NAME.partial` and `NAME.partial-ids`. They remain if the writer is dropped or the process is
/// killed, and [`FlatIndexWriter::resume`] continues them: at most the last 4 MiB of vectors are
/// lost (2,730 vectors of 384 dimensions). Vectors are verified by checksum; damaged ones and those
/// after them are discarded.
///
/// # Examples
/// The loop completes the index whether it starts or resumes. If the index is already complete, it
/// is written again: check first whether the file exists.
/// ```
/// use ir_knn::{FlatIndex, FlatIndexWriter, VectorSimilarity};
///
/// # let folder = std::env::temp_dir().join(format!("ir-knn-writer-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let path = folder.join("vectors.ir");
/// let vectors = [("a", [1.0, 0.0]), ("b", [0.6, 0.8]), ("c", [0.0, 1.0])];
/// let mut writer = FlatIndexWriter::resume(&path, 2, VectorSimilarity::InnerProduct)?;
/// for (id, vector) in vectors.iter().skip(writer.len()) {
///     writer.push(id, vector)?;
/// }
/// writer.finish()?;
/// assert_eq!(FlatIndex::open(&path)?.len(), 3);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct FlatIndexWriter {
    destination: PathBuf,
    partial_path: PathBuf,
    journal_path: PathBuf,
    partial: File,
    journal: File,
    header: JournalHeader,
    user_metadata: Option<String>,
    ids: DocIds,
    /// Vectors not yet written, and their ids as the journal stores them.
    pending: Vec<u8>,
    pending_ids: Vec<u8>,
    /// Checksum of the written vectors.
    checksum: Hasher,
    /// Ends of the last complete block in both files.
    partial_end: u64,
    journal_end: u64,
}

/// First block of a journal.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct JournalHeader {
    version: u32,
    similarity: VectorSimilarity,
    dim: usize,
}

impl FlatIndexWriter {
    /// Starts a new index of vectors of `dim` dimensions. Discards the partial files of an earlier
    /// writer.
    ///
    /// # Errors
    /// If `dim` is 0, the files cannot be written, or another writer has locked them.
    pub fn create(
        path: impl AsRef<Path>,
        dim: usize,
        similarity: VectorSimilarity,
    ) -> Result<Self, FlatIndexWriteError> {
        let mut writer = Self::open(path.as_ref(), dim, similarity)?;
        writer.start()?;
        Ok(writer)
    }

    /// Resumes the index of an interrupted writer, of which [`FlatIndexWriter::len`] vectors
    /// remain. Starts a new index if there are no partial files; a complete index at `path` is
    /// replaced by [`FlatIndexWriter::finish`].
    ///
    /// # Errors
    /// If `dim` is 0, the files cannot be read or written, another writer has locked them, or the
    /// partial index has another similarity, dimension or format version.
    pub fn resume(
        path: impl AsRef<Path>,
        dim: usize,
        similarity: VectorSimilarity,
    ) -> Result<Self, FlatIndexWriteError> {
        let mut writer = Self::open(path.as_ref(), dim, similarity)?;
        writer.recover()?;
        Ok(writer)
    }

    fn open(
        path: &Path,
        dim: usize,
        similarity: VectorSimilarity,
    ) -> Result<Self, FlatIndexWriteError> {
        if dim == 0 {
            return Err(VectorError::from(MatrixError::NoDimensions).into());
        }
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| FlatIndexWriteError::Io { path, source }
        };
        // Creating a temporary file fails unless a file at the path can be replaced.
        drop(AtomicFile::create(path).map_err(failed(path))?);
        let destination = resolve_links(path).map_err(failed(path))?;
        let with_suffix = |suffix: &str| {
            let mut name = destination.file_name().unwrap_or_default().to_owned();
            name.push(suffix);
            destination.with_file_name(name)
        };
        let (partial_path, journal_path) = (with_suffix(".partial"), with_suffix(".partial-ids"));
        let open = |path: &Path| {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false);
            options.open(path).map_err(failed(path))
        };
        let journal = open(&journal_path)?;
        if let Err(TryLockError::WouldBlock) = journal.try_lock() {
            return Err(FlatIndexWriteError::Locked { path: journal_path });
        }
        let partial = open(&partial_path)?;
        Ok(Self {
            destination,
            partial_path,
            journal_path,
            partial,
            journal,
            header: JournalHeader {
                version: FLAT.version,
                similarity,
                dim,
            },
            user_metadata: None,
            ids: DocIds::new(),
            pending: Vec::new(),
            pending_ids: Vec::new(),
            checksum: Hasher::new(),
            partial_end: 0,
            journal_end: 0,
        })
    }

    /// Truncates both files and writes their headers.
    fn start(&mut self) -> Result<(), FlatIndexWriteError> {
        let header = &self.header;
        let start = |partial: &mut File, journal: &mut File| -> io::Result<u64> {
            for file in [&mut *partial, &mut *journal] {
                file.set_len(0)?;
                file.rewind()?;
            }
            let header = journal_block(&serde_json::to_vec(header)?);
            partial.write_all(&FLAT.header())?;
            journal.write_all(&header)?;
            Ok(header.len() as u64)
        };
        let started = start(&mut self.partial, &mut self.journal);
        self.journal_end = started.map_err(|source| self.failed(source))?;
        self.partial_end = HEADER_LEN as u64;
        Ok(())
    }

    /// Finds the complete blocks and truncates both files after them.
    fn recover(&mut self) -> Result<(), FlatIndexWriteError> {
        let mut bytes = Vec::new();
        let read = self.journal.read_to_end(&mut bytes);
        read.map_err(|source| self.failed(source))?;
        // The interrupted writer did not complete even the first block.
        let Some((found, mut blocks)) = split_block(&bytes).and_then(|(header, rest)| {
            let header: JournalHeader = serde_json::from_slice(header).ok()?;
            Some((header, rest))
        }) else {
            return self.start();
        };
        let expected = &self.header;
        if found.version != expected.version {
            return Err(FlatIndexWriteError::Version {
                path: self.journal_path.clone(),
                expected: expected.version,
                found: found.version,
            });
        }
        if found != *expected {
            return Err(FlatIndexWriteError::Mismatch {
                path: self.journal_path.clone(),
                expected: expected.similarity,
                expected_dim: expected.dim,
                found: found.similarity,
                found_dim: found.dim,
            });
        }
        self.journal_end = (bytes.len() - blocks.len()) as u64;
        let mut header = [0; HEADER_LEN];
        let mut partial = BufReader::with_capacity(1 << 16, &self.partial);
        if partial.read_exact(&mut header).is_err() || header != FLAT.header() {
            return self.start();
        }
        self.partial_end = HEADER_LEN as u64;
        let mut values = Vec::new();
        while let Some((content, rest)) = split_block(blocks) {
            let Some((count, expected, ids)) = parse_block(content) else {
                break;
            };
            let size = (count as u64).saturating_mul(self.header.dim as u64 * 4);
            values.clear();
            let read = (&mut partial).take(size).read_to_end(&mut values);
            let mut checksum = self.checksum.clone();
            checksum.update(&values);
            let complete = read.is_ok_and(|read| read as u64 == size);
            if !complete || checksum.clone().finalize() != expected {
                break;
            }
            for id in ids.iter() {
                self.ids.push(id)?;
            }
            self.checksum = checksum;
            self.partial_end += size;
            self.journal_end = (bytes.len() - rest.len()) as u64;
            blocks = rest;
        }
        drop(partial);
        let truncated = self.partial.set_len(self.partial_end);
        truncated
            .and_then(|()| self.journal.set_len(self.journal_end))
            .map_err(|source| self.failed(source))
    }

    /// Appends a vector. Ids may repeat, as in [`FlatIndex::new`](crate::FlatIndex::new).
    ///
    /// # Errors
    /// If the vector has another dimension, is not finite, or is zero under cosine similarity: it
    /// is then not appended, and the writer remains usable. If the file cannot be written.
    pub fn push(&mut self, id: &str, vector: &[f32]) -> Result<(), FlatIndexWriteError> {
        let JournalHeader {
            similarity, dim, ..
        } = self.header;
        check_vector(self.len(), dim, vector, similarity)?;
        if self.pending.len() + 4 * dim > BLOCK_SIZE {
            self.flush()?;
        }
        self.ids.push(id)?;
        for value in vector {
            self.pending.extend(value.to_le_bytes());
        }
        write_sized(&mut self.pending_ids, id.as_bytes());
        Ok(())
    }

    /// Attaches a text of the application, as
    /// [`FlatIndex::with_user_metadata`](crate::FlatIndex::with_user_metadata). It is not part of
    /// the partial files: a resumed writer needs it again.
    #[must_use]
    pub fn with_user_metadata(mut self, text: impl Into<String>) -> Self {
        self.user_metadata = Some(text.into());
        self
    }

    /// Number of vectors, including the vectors of the resumed index.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Returns `true` if the index has no vectors yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Ids of the vectors.
    #[must_use]
    pub fn ids(&self) -> &DocIds {
        &self.ids
    }

    /// Completes the index, syncs it to disk and renames it to its destination.
    ///
    /// # Errors
    /// If the file cannot be written. An existing file at the destination is then unchanged.
    pub fn finish(mut self) -> Result<(), FlatIndexWriteError> {
        self.flush()?;
        let finished = self.complete();
        finished.map_err(|source| self.failed(source))?;
        let _ = fs::remove_file(&self.journal_path);
        // Syncing the directory makes the rename durable; some systems do not support it.
        let folder = self.destination.parent();
        let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
        if let Ok(folder) = File::open(folder.unwrap_or(Path::new("."))) {
            let _ = folder.sync_all();
        }
        Ok(())
    }

    fn complete(&self) -> io::Result<()> {
        (&self.partial).seek(SeekFrom::Start(self.partial_end))?;
        let mut writer = IndexFileWriter::resume(
            BufWriter::with_capacity(1 << 16, &self.partial),
            section::VECTORS,
            self.partial_end - HEADER_LEN as u64,
            self.checksum.clone().finalize(),
        );
        if let Some(text) = &self.user_metadata {
            writer.section(section::USER_METADATA, text.as_bytes())?;
        }
        let header = &self.header;
        let (ids, count) = (self.ids.iter(), self.ids.len());
        write_ids_and_metadata(&mut writer, ids, count, header.similarity, header.dim)?;
        writer.finish()?.flush()?;
        self.partial.sync_all()?;
        fs::rename(&self.partial_path, &self.destination)
    }

    /// Deletes the partial files. No index is written.
    ///
    /// # Errors
    /// If the files cannot be deleted.
    pub fn discard(mut self) -> Result<(), FlatIndexWriteError> {
        self.pending.clear();
        for path in [&self.partial_path, &self.journal_path] {
            fs::remove_file(path).map_err(|source| self.failed(source))?;
        }
        Ok(())
    }

    /// Writes pending vectors, so that they survive the end of the process.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn flush(&mut self) -> Result<(), FlatIndexWriteError> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let count = self.pending.len() / (4 * self.header.dim);
        let mut checksum = self.checksum.clone();
        checksum.update(&self.pending);
        let mut content = (count as u32).to_le_bytes().to_vec();
        content.extend(checksum.clone().finalize().to_le_bytes());
        content.extend_from_slice(&self.pending_ids);
        let block = journal_block(&content);
        // Starts after the last complete block, also if an earlier attempt failed.
        let written = write_at(&mut self.partial, self.partial_end, &self.pending)
            .and_then(|()| write_at(&mut self.journal, self.journal_end, &block));
        written.map_err(|source| self.failed(source))?;
        self.partial_end += self.pending.len() as u64;
        self.journal_end += block.len() as u64;
        self.checksum = checksum;
        self.pending.clear();
        self.pending_ids.clear();
        Ok(())
    }

    fn failed(&self, source: io::Error) -> FlatIndexWriteError {
        FlatIndexWriteError::Io {
            path: self.partial_path.clone(),
            source,
        }
    }
}

/// Writes pending vectors, for [`FlatIndexWriter::resume`].
impl Drop for FlatIndexWriter {
    fn drop(&mut self) {
        let _ = self.flush();
    }
}

fn write_at(file: &mut File, offset: u64, bytes: &[u8]) -> io::Result<()> {
    file.seek(SeekFrom::Start(offset))?;
    file.write_all(bytes)
}

fn journal_block(content: &[u8]) -> Vec<u8> {
    let mut bytes = (content.len() as u32).to_le_bytes().to_vec();
    bytes.extend(content);
    bytes.extend(crc32fast::hash(content).to_le_bytes());
    bytes
}

/// Content of the first block of a journal, and the bytes after it. [`None`] if the block is
/// truncated or damaged.
fn split_block(journal: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = journal.split_first_chunk()?;
    let (content, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    let (checksum, rest) = rest.split_first_chunk()?;
    (crc32fast::hash(content) == u32::from_le_bytes(*checksum)).then_some((content, rest))
}

/// Number of vectors of a block, checksum of all vectors up to its end, and their ids.
fn parse_block(content: &[u8]) -> Option<(usize, u32, DocIds)> {
    let (count, rest) = content.split_first_chunk()?;
    let (checksum, ids) = rest.split_first_chunk()?;
    let count = u32::from_le_bytes(*count) as usize;
    let mut reader = ByteReader::new(ids);
    let mut ids = DocIds::new();
    for _ in 0..count {
        ids.push(std::str::from_utf8(reader.sized()?).ok()?).ok()?;
    }
    let is_whole = reader.is_empty();
    is_whole.then_some((count, u32::from_le_bytes(*checksum), ids))
}

/// Error writing a flat index.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the fields are named in the messages")]
pub enum FlatIndexWriteError {
    /// A vector is invalid.
    #[error(transparent)]
    Vector(#[from] VectorError),
    /// There are too many documents.
    #[error(transparent)]
    Ids(#[from] IdError),
    /// A file cannot be written or read.
    #[error("{}: cannot write the index file", path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// Another writer, of this or another process, writes the same index.
    #[error("{}: locked by another writer", path.display())]
    Locked { path: PathBuf },
    /// The interrupted index has another format version.
    #[error(
        "{}: expected version {expected} of the format to resume, found {found}; delete the file to start again",
        path.display()
    )]
    Version {
        path: PathBuf,
        expected: u32,
        found: u32,
    },
    /// The interrupted index has another similarity or dimension.
    #[error(
        "{}: expected {expected} similarity and dimension {expected_dim} to resume, found {found} and {found_dim}",
        path.display()
    )]
    Mismatch {
        path: PathBuf,
        expected: VectorSimilarity,
        expected_dim: usize,
        found: VectorSimilarity,
        found_dim: usize,
    },
}
