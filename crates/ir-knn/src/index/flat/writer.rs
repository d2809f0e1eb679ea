//! Streaming writer of flat indexes.
//!
//! The header of the journal ([`PartialFile`]) is a [`JournalHeader`]. The entries of a block are
//! the ids of the vectors, each preceded by its length as a varint.

use std::io;
use std::path::{Path, PathBuf};

use ir_core::store::{ByteReader, write_sized};
use ir_core::{DocIds, IdError, VectorSimilarity};
use serde::{Deserialize, Serialize};

use crate::index::error::VectorError;
use crate::index::file::{FLAT, section, write_ids_and_metadata};
use crate::index::partial_file::{BLOCK_SIZE, PartialFile, PartialFileError};
use crate::index::validate::check_vector;
use crate::matrix::MatrixError;

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
    file: PartialFile,
    header: JournalHeader,
    user_metadata: Option<String>,
    ids: DocIds,
    /// Vectors not yet written, and their ids as the journal stores them.
    pending: Vec<u8>,
    pending_ids: Vec<u8>,
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
        writer.file.start(&writer.header)?;
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
        Ok(Self {
            file: PartialFile::open(&FLAT, section::VECTORS, path)?,
            header: JournalHeader {
                version: FLAT.version,
                similarity,
                dim,
            },
            user_metadata: None,
            ids: DocIds::new(),
            pending: Vec::new(),
            pending_ids: Vec::new(),
        })
    }

    /// Finds the complete blocks of the interrupted writer.
    fn recover(&mut self) -> Result<(), FlatIndexWriteError> {
        let (expected, ids) = (&self.header, &mut self.ids);
        let check = |found: JournalHeader, path: &Path| {
            if found.version != expected.version {
                return Err(FlatIndexWriteError::Version {
                    path: path.to_owned(),
                    expected: expected.version,
                    found: found.version,
                });
            }
            if found != *expected {
                return Err(FlatIndexWriteError::Mismatch {
                    path: path.to_owned(),
                    expected: expected.similarity,
                    expected_dim: expected.dim,
                    found: found.similarity,
                    found_dim: found.dim,
                });
            }
            Ok(())
        };
        let add = |block: DocIds, _: &[u8]| {
            block.iter().try_for_each(|id| ids.push(id).map(drop))?;
            Ok(())
        };
        let unit = 4 * expected.dim;
        self.file.recover(expected, unit, check, parse_ids, add)
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
        let header = &self.header;
        self.file.finish(|writer| {
            if let Some(text) = &self.user_metadata {
                writer.section(section::USER_METADATA, text.as_bytes())?;
            }
            let (ids, count) = (self.ids.iter(), self.ids.len());
            write_ids_and_metadata(writer, ids, count, header.similarity, header.dim)
        })?;
        Ok(())
    }

    /// Deletes the partial files. No index is written.
    ///
    /// # Errors
    /// If the files cannot be deleted.
    pub fn discard(mut self) -> Result<(), FlatIndexWriteError> {
        self.pending.clear();
        Ok(self.file.discard()?)
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
        self.file
            .append(count as u32, &self.pending, &self.pending_ids)?;
        self.pending.clear();
        self.pending_ids.clear();
        Ok(())
    }
}

/// Writes pending vectors, for [`FlatIndexWriter::resume`].
impl Drop for FlatIndexWriter {
    fn drop(&mut self) {
        let _ = self.flush();
    }
}

/// Ids of the vectors of a block.
fn parse_ids(count: u32, entries: &[u8]) -> Option<DocIds> {
    let mut reader = ByteReader::new(entries);
    let mut ids = DocIds::new();
    for _ in 0..count {
        ids.push(std::str::from_utf8(reader.sized()?).ok()?).ok()?;
    }
    let is_whole = reader.is_empty();
    is_whole.then_some(ids)
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

impl From<PartialFileError> for FlatIndexWriteError {
    fn from(error: PartialFileError) -> Self {
        match error {
            PartialFileError::Io { path, source } => Self::Io { path, source },
            PartialFileError::Locked { path } => Self::Locked { path },
        }
    }
}
