//! Streaming writer of token stores.

use std::path::Path;

use ir_core::store::{ByteReader, write_sized, write_varint};
use ir_core::{DocIds, Fnv1a, TokenVectors};
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use super::codec::TokenCodec;
use super::config::TokenStoreConfig;
use super::documents::EncodedDocuments;
use super::error::TokenStoreError;
use super::file::{TOKENS, section};
use crate::index::partial_file::{BLOCK_SIZE, PartialFile};

/// Writer that appends documents directly to the file of a [`TokenStore`](crate::TokenStore), for
/// more vectors than fit into memory. Holds the ids, 24 bytes per document, the codebook and a few
/// megabytes of documents in memory.
///
/// [`TokenStoreWriter::finish`] completes the file. Until then two files exist beside it,
/// `NAME.partial` and `NAME.partial-ids`. They remain if the writer is dropped or the process is
/// killed, and [`TokenStoreWriter::resume`] continues them: at most the last 4 MiB of documents are
/// lost. The bytes of the file do not depend on interruptions or the number of threads.
///
/// # Examples
/// The loop completes the store whether it starts or resumes.
/// ```
/// use ir_core::TokenVectors;
/// use ir_knn::{TokenStore, TokenStoreConfig, TokenStoreWriter};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("tokens.ir");
/// let config = TokenStoreConfig::new(2);
/// let documents = [("a", vec![1.0, 0.0]), ("b", vec![0.6, 0.8, 0.0, 1.0]), ("c", vec![])];
/// let mut writer = TokenStoreWriter::resume(&path, &config)?;
/// for (id, values) in documents.iter().skip(writer.len()) {
///     let spans = vec![0..0; values.len() / 2];
///     writer.push(id, &TokenVectors::new(2, values.clone(), spans))?;
/// }
/// writer.finish()?;
/// assert_eq!(TokenStore::open(&path)?.tokens(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct TokenStoreWriter {
    file: PartialFile,
    config: TokenStoreConfig,
    codec: TokenCodec,
    header: JournalHeader,
    /// Ids and table of all documents, and the bytes of the pending ones.
    documents: EncodedDocuments,
    /// Hashes of the ids.
    hashes: FxHashSet<u64>,
    /// Journal entries of the pending documents.
    entries: Vec<u8>,
}

/// First block of the journal.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct JournalHeader {
    version: u32,
    config: TokenStoreConfig,
    /// Checksum of the codebook.
    codebook: Option<u32>,
}

impl JournalHeader {
    fn describe(&self) -> String {
        let config = &self.config;
        let codebook = match self.codebook {
            Some(checksum) => format!("codebook {checksum:08x}"),
            None => "no codebook".to_owned(),
        };
        let spans = if config.spans { "spans" } else { "no spans" };
        format!(
            "format version {}, dimension {}, {}, {codebook}, {spans}, encoder {}",
            self.version,
            config.dim,
            config.encoding,
            config.encoder.as_deref().unwrap_or("unknown")
        )
    }
}

/// Document of a journal block.
struct JournalEntry {
    id: String,
    tokens: u32,
    size: usize,
}

impl TokenStoreWriter {
    /// Starts a new store. Discards the partial files of an earlier writer.
    ///
    /// # Errors
    /// If the configuration is invalid ([`TokenStoreError::NoCodebook`] for residuals without
    /// centroids), the files cannot be written, or another writer has locked them.
    pub fn create(
        path: impl AsRef<Path>,
        config: &TokenStoreConfig,
    ) -> Result<Self, TokenStoreError> {
        let mut writer = Self::open(path.as_ref(), config)?;
        writer.file.start(&writer.header)?;
        Ok(writer)
    }

    /// Resumes the store of an interrupted writer, of which [`TokenStoreWriter::len`] documents
    /// remain. Starts a new store if there are no partial files; a complete store at `path` is
    /// replaced by [`TokenStoreWriter::finish`].
    ///
    /// # Errors
    /// Returns the errors of [`TokenStoreWriter::create`], and [`TokenStoreError::Mismatch`] if the
    /// partial store has another configuration, such as another encoder or codebook.
    pub fn resume(
        path: impl AsRef<Path>,
        config: &TokenStoreConfig,
    ) -> Result<Self, TokenStoreError> {
        let mut writer = Self::open(path.as_ref(), config)?;
        writer.recover()?;
        Ok(writer)
    }

    fn open(path: &Path, config: &TokenStoreConfig) -> Result<Self, TokenStoreError> {
        config.validate()?;
        let codec = TokenCodec::new(config)?;
        Ok(Self {
            file: PartialFile::open(&TOKENS, section::DOCUMENTS, path)?,
            codec,
            header: JournalHeader {
                version: TOKENS.version,
                config: TokenStoreConfig {
                    codebook: None,
                    ..config.clone()
                },
                codebook: config.codebook.as_ref().map(|book| book.checksum()),
            },
            config: config.clone(),
            documents: EncodedDocuments::default(),
            hashes: FxHashSet::default(),
            entries: Vec::new(),
        })
    }

    /// Finds the complete blocks of the interrupted writer.
    fn recover(&mut self) -> Result<(), TokenStoreError> {
        let expected = &self.header;
        let check = |found: JournalHeader, path: &Path| {
            if found == *expected {
                return Ok(());
            }
            Err(TokenStoreError::Mismatch {
                path: path.to_owned(),
                expected: expected.describe(),
                found: found.describe(),
            })
        };
        let (documents, hashes) = (&mut self.documents, &mut self.hashes);
        let add = |entries: Vec<JournalEntry>, data: &[u8]| {
            let mut rest = data;
            for JournalEntry { id, tokens, size } in entries {
                let (bytes, after) = rest.split_at(size);
                documents.ids.push(&id)?;
                hashes.insert(Fnv1a::hash(id.as_bytes()));
                documents.table.push(tokens, bytes);
                rest = after;
            }
            Ok(())
        };
        self.file.recover(expected, 1, check, parse_entries, add)
    }

    /// Appends a document. A document without tokens is valid: every query scores it 0.
    ///
    /// # Errors
    /// If the id occurred before, or the vectors are invalid: of another dimension, not finite, too
    /// large for the encoding, or without unit length for residuals. The document is then not
    /// appended, and the writer remains usable. If the file cannot be written.
    pub fn push(&mut self, id: &str, vectors: &TokenVectors) -> Result<(), TokenStoreError> {
        let hash = Fnv1a::hash(id.as_bytes());
        if self.hashes.contains(&hash) && self.documents.ids.iter().any(|other| other == id) {
            return Err(TokenStoreError::Duplicate { id: id.to_owned() });
        }
        if self.documents.bytes.len() >= BLOCK_SIZE {
            self.flush()?;
        }
        let start = self.documents.bytes.len();
        self.documents.push(&self.codec, id, vectors)?;
        self.hashes.insert(hash);
        let size = self.documents.bytes.len() - start;
        write_sized(&mut self.entries, id.as_bytes());
        write_varint(&mut self.entries, vectors.len() as u64);
        write_varint(&mut self.entries, size as u64);
        Ok(())
    }

    /// Returns the number of documents, including the documents of the resumed store.
    #[must_use]
    pub fn len(&self) -> usize {
        self.documents.table.len()
    }

    /// Returns `true` if the store has no documents yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the ids of the documents.
    #[must_use]
    pub fn ids(&self) -> &DocIds {
        &self.documents.ids
    }

    /// Writes pending documents, so that they survive the end of the process.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn flush(&mut self) -> Result<(), TokenStoreError> {
        if self.entries.is_empty() {
            return Ok(());
        }
        let bytes = &self.documents.bytes;
        self.file.append(bytes.len() as u32, bytes, &self.entries)?;
        self.documents.bytes.clear();
        self.entries.clear();
        Ok(())
    }

    /// Completes the store, syncs it to disk and renames it to its destination.
    ///
    /// # Errors
    /// If the file cannot be written. An existing file at the destination is then unchanged.
    pub fn finish(mut self) -> Result<(), TokenStoreError> {
        self.flush()?;
        let (table, config) = (&self.documents.table, &self.config);
        let ids = &self.documents.ids;
        let finished = self
            .file
            .finish(|writer| table.write(writer, config, ids.iter()));
        Ok(finished?)
    }

    /// Deletes the partial files. No store is written.
    ///
    /// # Errors
    /// If the files cannot be deleted.
    pub fn discard(mut self) -> Result<(), TokenStoreError> {
        self.documents.bytes.clear();
        self.entries.clear();
        Ok(self.file.discard()?)
    }
}

/// Writes pending documents, for [`TokenStoreWriter::resume`].
impl Drop for TokenStoreWriter {
    fn drop(&mut self) {
        let _ = self.flush();
    }
}

/// Documents of a block of `size` bytes.
fn parse_entries(size: u32, entries: &[u8]) -> Option<Vec<JournalEntry>> {
    let mut reader = ByteReader::new(entries);
    let (mut parsed, mut sum) = (Vec::new(), 0_usize);
    while !reader.is_empty() {
        let id = std::str::from_utf8(reader.sized()?).ok()?.to_owned();
        let tokens = reader.varint32()?;
        let size = reader.varint32()? as usize;
        sum = sum.checked_add(size)?;
        parsed.push(JournalEntry { id, tokens, size });
    }
    (sum == size as usize).then_some(parsed)
}
