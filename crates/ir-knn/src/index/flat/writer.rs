//! An index that is written vector by vector.
//!
//! Two files stand beside the final one until it is complete: `NAME.partial`, which will be it, and
//! `NAME.partial-ids`, a journal of blocks:
//!
//! | part | bytes | content |
//! |---|---|---|
//! | length | 4 | of the content |
//! | content | | first block: JSON, what the index is; others: how many vectors (4), CRC-32 of all vectors so far (4), their ids, each after its length (4) |
//! | checksum | 4 | CRC-32 of the content |
//!
//! A block is written when its vectors have been. So whatever interrupts the writing, the blocks up
//! to the first that is cut, or whose checksum is not that of the vectors, are whole.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crc32fast::Hasher;
use ir_core::{DocIds, IdError};
use serde::{Deserialize, Serialize};

use super::file::{self, FLAT, HEAD, Writer, section};
use super::{Similarity, VectorError, check_row};

/// Vectors in a block take no more than this, or there is one.
const BLOCK: usize = 4 << 20;

/// Writes a [`FlatIndex`](crate::FlatIndex) vector by vector straight into its file, so that the
/// vectors may be more than the memory holds. What is held are the ids and some megabytes.
///
/// The file appears when [`FlatIndexWriter::finish`] has completed it, with the bytes that
/// [`FlatIndex::save`](crate::FlatIndex::save) would have written. Until then two files stand beside
/// it, `NAME.partial` and `NAME.partial-ids`. They stay when the writer is dropped before, or the
/// program is killed, and [`FlatIndexWriter::resume`] goes on from there: no more than the last 4 MiB
/// of vectors are lost (2,730 of 384 components). Vectors are kept that have their checksum: what
/// is damaged, and what comes behind it, is written again.
///
/// # Examples
/// Whatever happened before, this ends in a complete index. (One that is complete already would be
/// written anew: test first whether the file is there.)
/// ```
/// use ir_knn::{FlatIndex, FlatIndexWriter, Similarity};
///
/// # let folder = std::env::temp_dir().join(format!("ir-knn-writer-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let path = folder.join("vectors.ir");
/// let vectors = [("a", [1.0, 0.0]), ("b", [0.6, 0.8]), ("c", [0.0, 1.0])];
/// let mut writer = FlatIndexWriter::resume(&path, 2, Similarity::InnerProduct)?;
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
    partial: PathBuf,
    journal_path: PathBuf,
    rows: File,
    journal: File,
    dim: usize,
    similarity: Similarity,
    ids: DocIds,
    /// Vectors that are in no block yet, and their ids as the journal has them.
    waiting: Vec<u8>,
    waiting_ids: Vec<u8>,
    waiting_count: u32,
    /// Of all vectors in blocks.
    hasher: Hasher,
    /// Where the blocks end, in both files.
    rows_end: u64,
    journal_end: u64,
    /// Nothing is to be kept any more.
    over: bool,
}

/// The first block of a journal.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct What {
    version: u32,
    similarity: Similarity,
    dim: usize,
}

impl What {
    fn of(similarity: Similarity, dim: usize) -> Self {
        let version = 1;
        Self {
            version,
            similarity,
            dim,
        }
    }
}

impl FlatIndexWriter {
    /// Starts an index of vectors of `dim` components, from nothing: what an earlier writer left
    /// beside `path` is thrown away.
    ///
    /// # Errors
    /// When `dim` is 0, the files cannot be written, or another writer is at work on them.
    pub fn create(
        path: impl AsRef<Path>,
        dim: usize,
        similarity: Similarity,
    ) -> Result<Self, WriteError> {
        let mut writer = Self::open(path.as_ref(), dim, similarity)?;
        writer.start()?;
        Ok(writer)
    }

    /// Goes on where an earlier writer of the same index was interrupted; [`FlatIndexWriter::len`]
    /// says how many vectors are there. Starts from nothing when there was none, and also when the index
    /// was finished: that file stays until this one takes its place.
    ///
    /// # Errors
    /// As [`FlatIndexWriter::create`], and when the earlier index is of another similarity or of
    /// vectors of another length.
    pub fn resume(
        path: impl AsRef<Path>,
        dim: usize,
        similarity: Similarity,
    ) -> Result<Self, WriteError> {
        let mut writer = Self::open(path.as_ref(), dim, similarity)?;
        if let Err(error) = writer.take_up() {
            writer.over = true;
            return Err(error);
        }
        Ok(writer)
    }

    fn open(path: &Path, dim: usize, similarity: Similarity) -> Result<Self, WriteError> {
        if dim == 0 {
            return Err(VectorError::NoDimensions.into());
        }
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| WriteError::Io { path, source }
        };
        let refused = match path.metadata() {
            Ok(there) if there.is_dir() => Some(io::ErrorKind::IsADirectory),
            Ok(there) if !there.is_file() => Some(io::ErrorKind::InvalidInput),
            Ok(there) if there.permissions().readonly() => Some(io::ErrorKind::PermissionDenied),
            _ if path.file_name().is_none() => Some(io::ErrorKind::InvalidInput),
            _ => None,
        };
        if let Some(kind) = refused {
            return Err(failed(path)(kind.into()));
        }
        // What a link leads to is replaced, not the link.
        let destination = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let beside = |ending: &str| {
            let mut name = destination.file_name().unwrap_or_default().to_owned();
            name.push(ending);
            destination.with_file_name(name)
        };
        let (partial, journal_path) = (beside(".partial"), beside(".partial-ids"));
        let open = |path: &Path| {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false);
            options.open(path).map_err(failed(path))
        };
        let journal = open(&journal_path)?;
        if let Err(TryLockError::WouldBlock) = journal.try_lock() {
            return Err(WriteError::InUse { path: journal_path });
        }
        let rows = open(&partial)?;
        Ok(Self {
            destination,
            partial,
            journal_path,
            rows,
            journal,
            dim,
            similarity,
            ids: DocIds::new(),
            waiting: Vec::new(),
            waiting_ids: Vec::new(),
            waiting_count: 0,
            hasher: Hasher::new(),
            rows_end: 0,
            journal_end: 0,
            over: false,
        })
    }

    /// Empties both files and writes what they begin with.
    fn start(&mut self) -> Result<(), WriteError> {
        let what = What::of(self.similarity, self.dim);
        let start = |rows: &mut File, journal: &mut File| -> io::Result<u64> {
            for file in [&mut *rows, &mut *journal] {
                file.set_len(0)?;
                file.rewind()?;
            }
            let what = block(&serde_json::to_vec(&what)?);
            rows.write_all(&file::head(&FLAT))?;
            journal.write_all(&what)?;
            Ok(what.len() as u64)
        };
        let started = start(&mut self.rows, &mut self.journal);
        self.journal_end = started.map_err(|source| self.failed(source))?;
        self.rows_end = HEAD as u64;
        Ok(())
    }

    /// Finds the whole blocks and cuts off what is behind them.
    fn take_up(&mut self) -> Result<(), WriteError> {
        let mut bytes = Vec::new();
        let read = self.journal.read_to_end(&mut bytes);
        read.map_err(|source| self.failed(source))?;
        let mut blocks = Blocks(&bytes);
        // Nothing is known when not even the first block is whole.
        let Some(what) = blocks
            .next()
            .and_then(|what| serde_json::from_slice(what).ok())
        else {
            return self.start();
        };
        let (what, expected): (What, What) = (what, What::of(self.similarity, self.dim));
        if what != expected {
            return Err(WriteError::Another {
                path: self.journal_path.clone(),
                expected: self.similarity,
                expected_dim: self.dim,
                found: what.similarity,
                found_dim: what.dim,
            });
        }
        self.journal_end = (bytes.len() - blocks.0.len()) as u64;
        let begins = file::head(&FLAT);
        let mut found = [0; HEAD];
        let mut rows = BufReader::with_capacity(1 << 16, &self.rows);
        if rows.read_exact(&mut found).is_err() || found != begins {
            return self.start();
        }
        self.rows_end = HEAD as u64;
        let mut values = Vec::new();
        while let Some(content) = blocks.next() {
            let Some((count, checksum, ids)) = parts(content) else {
                break;
            };
            let size = (count as u64).saturating_mul(self.dim as u64 * 4);
            values.clear();
            let read = (&mut rows).take(size).read_to_end(&mut values);
            let mut hasher = self.hasher.clone();
            hasher.update(&values);
            let whole = read.is_ok_and(|read| read as u64 == size);
            if !whole || hasher.clone().finalize() != checksum {
                break;
            }
            for id in ids.iter() {
                self.ids.push(id)?;
            }
            self.hasher = hasher;
            self.rows_end += size;
            self.journal_end = (bytes.len() - blocks.0.len()) as u64;
        }
        drop(rows);
        let cut = self.rows.set_len(self.rows_end);
        cut.and_then(|()| self.journal.set_len(self.journal_end))
            .map_err(|source| self.failed(source))
    }

    /// Appends a vector. Ids may repeat, as in [`FlatIndex::new`](crate::FlatIndex::new).
    ///
    /// # Errors
    /// When the vector has another length, is not finite, or is zero under cosine: then it is not
    /// appended, and the next may be. When the file cannot be written.
    pub fn push(&mut self, id: &str, vector: &[f32]) -> Result<(), WriteError> {
        let row = self.len();
        let (expected, found) = (self.dim, vector.len());
        if expected != found {
            return Err(VectorError::Dimensions {
                row,
                expected,
                found,
            }
            .into());
        }
        check_row(row, vector, self.similarity)?;
        if self.waiting.len() + 4 * self.dim > BLOCK {
            self.write_block()?;
        }
        self.ids.push(id)?;
        for value in vector {
            self.waiting.extend(value.to_le_bytes());
        }
        file::push_id(&mut self.waiting_ids, id);
        self.waiting_count += 1;
        Ok(())
    }

    /// Writes what waits, so that it survives the end of the program.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        self.write_block()
    }

    /// How many vectors there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The ids of the vectors.
    #[must_use]
    pub fn ids(&self) -> &DocIds {
        &self.ids
    }

    /// Completes the index, which then appears under its name, on the disk.
    ///
    /// # Errors
    /// When the file cannot be written. Nothing appears then, and what stood there stays.
    pub fn finish(mut self) -> Result<(), WriteError> {
        self.write_block()?;
        let finished = self.complete();
        finished.map_err(|source| self.failed(source))?;
        self.over = true;
        let _ = fs::remove_file(&self.journal_path);
        // The new name reaches the disk with the folder; not every system lets one sync it.
        let folder = self.destination.parent();
        let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
        if let Ok(folder) = File::open(folder.unwrap_or(Path::new("."))) {
            let _ = folder.sync_all();
        }
        Ok(())
    }

    fn complete(&self) -> io::Result<()> {
        let (dim, documents) = (self.dim, self.ids.len());
        (&self.rows).seek(SeekFrom::Start(self.rows_end))?;
        let sink = BufWriter::with_capacity(1 << 16, &self.rows);
        let mut writer = Writer::behind(
            sink,
            (self.similarity, dim, documents),
            (section::ROWS, documents as u64 * dim as u64 * 4),
            self.hasher.clone(),
        )?;
        writer.section(section::IDS, &file::ids_to_bytes(&self.ids))?;
        writer.finish()?.flush()?;
        self.rows.sync_all()?;
        fs::rename(&self.partial, &self.destination)
    }

    /// Removes what has been written so far; no index appears.
    ///
    /// # Errors
    /// When the files cannot be removed.
    pub fn discard(mut self) -> Result<(), WriteError> {
        self.over = true;
        for path in [&self.partial, &self.journal_path] {
            fs::remove_file(path).map_err(|source| self.failed(source))?;
        }
        Ok(())
    }

    /// Writes the vectors that wait, then says so in the journal.
    fn write_block(&mut self) -> Result<(), WriteError> {
        if self.waiting_count == 0 {
            return Ok(());
        }
        let mut hasher = self.hasher.clone();
        hasher.update(&self.waiting);
        let mut content = self.waiting_count.to_le_bytes().to_vec();
        content.extend(hasher.clone().finalize().to_le_bytes());
        content.extend_from_slice(&self.waiting_ids);
        let entry = block(&content);
        // Behind the last whole block, whatever an attempt that failed has left there.
        let written = append(&mut self.rows, self.rows_end, &self.waiting)
            .and_then(|()| append(&mut self.journal, self.journal_end, &entry));
        written.map_err(|source| self.failed(source))?;
        self.rows_end += self.waiting.len() as u64;
        self.journal_end += entry.len() as u64;
        self.hasher = hasher;
        self.waiting.clear();
        self.waiting_ids.clear();
        self.waiting_count = 0;
        Ok(())
    }

    fn failed(&self, source: io::Error) -> WriteError {
        WriteError::Io {
            path: self.partial.clone(),
            source,
        }
    }
}

/// Keeps what was pushed, for [`FlatIndexWriter::resume`].
impl Drop for FlatIndexWriter {
    fn drop(&mut self) {
        if !self.over {
            let _ = self.write_block();
        }
    }
}

fn append(file: &mut File, at: u64, bytes: &[u8]) -> io::Result<()> {
    file.seek(SeekFrom::Start(at))?;
    file.write_all(bytes)
}

/// A block of the journal.
fn block(content: &[u8]) -> Vec<u8> {
    let mut bytes = (content.len() as u32).to_le_bytes().to_vec();
    bytes.extend(content);
    bytes.extend(crc32fast::hash(content).to_le_bytes());
    bytes
}

/// The whole blocks of a journal; what is left is behind them.
struct Blocks<'a>(&'a [u8]);

impl<'a> Iterator for Blocks<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let (length, rest) = self.0.split_first_chunk()?;
        let (content, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        let (checksum, rest) = rest.split_first_chunk()?;
        if crc32fast::hash(content) != u32::from_le_bytes(*checksum) {
            return None;
        }
        self.0 = rest;
        Some(content)
    }
}

/// How many vectors a block has, the checksum of all up to its end, and their ids.
fn parts(content: &[u8]) -> Option<(usize, u32, DocIds)> {
    let (count, rest) = content.split_first_chunk()?;
    let (checksum, ids) = rest.split_first_chunk()?;
    let count = u32::from_le_bytes(*count) as usize;
    let ids = file::ids_from_bytes(ids, count)?;
    Some((count, u32::from_le_bytes(*checksum), ids))
}

/// Why an index could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// A vector that an index cannot hold.
    #[error(transparent)]
    Vector(#[from] VectorError),
    /// Too many documents.
    #[error(transparent)]
    Ids(#[from] IdError),
    /// The system could not write or read a file.
    #[error("{}: could not be written", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Another writer, of this program or another, is at work on the same index.
    #[error("{}: expected to be the only writer, found another at work", path.display())]
    InUse {
        /// The file that both would write.
        path: PathBuf,
    },
    /// What was interrupted is another index.
    #[error(
        "{}: expected to go on with {expected} similarity in {expected_dim} dimensions, found {found} in {found_dim}",
        path.display()
    )]
    Another {
        /// The file.
        path: PathBuf,
        /// What was asked for.
        expected: Similarity,
        /// What was asked for.
        expected_dim: usize,
        /// That of the interrupted index.
        found: Similarity,
        /// Those of the interrupted index.
        found_dim: usize,
    },
}
