//! File of a token store.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ir_core::store::{IndexFile, OpenIndexError, SectionBytes, Verify};
use ir_core::{DocIds, DocNum, TokenVectors};

use super::codebook::TokenCodebook;
use super::codec::{DocumentBytes, TokenCodec};
use super::config::TokenStoreConfig;
use super::file::{ENTRY_SIZE, TOKENS, TableEntry, TokenMetadata, section};
use crate::index::file::json;

/// Token store in one file: the token vectors of documents, memory-mapped. Immutable; cheap to
/// clone and to share between threads.
///
/// [`TokenStoreWriter`](crate::TokenStoreWriter) writes it. For documents that are added, replaced
/// and deleted, see [`SegmentedTokenStore`](crate::SegmentedTokenStore), into which a `TokenStore`
/// converts.
///
/// The checksum of a document is verified when the document is first read
/// ([`Verify::FirstUse`]), so that opening and searching a large store read only the documents that
/// are asked for.
///
/// # Examples
/// ```
/// use ir_core::{DocNum, TokenVectors};
/// use ir_knn::{TokenEncoding, TokenStore, TokenStoreConfig, TokenStoreWriter};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("tokens.ir");
/// let config = TokenStoreConfig::new(2).with_encoding(TokenEncoding::F32).with_spans(true);
/// let mut writer = TokenStoreWriter::create(&path, &config)?;
/// let vectors = TokenVectors::new(2, vec![1.0, 0.0, 0.6, 0.8], vec![0..5, 6..9]);
/// writer.push("green-tea", &vectors)?;
/// writer.finish()?;
///
/// let store = TokenStore::open(&path)?;
/// assert_eq!(store.ids().id(DocNum::new(0)), "green-tea");
/// assert_eq!(store.vectors(DocNum::new(0))?, vectors);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct TokenStore {
    inner: Arc<TokenStoreData>,
}

struct TokenStoreData {
    file: IndexFile,
    codec: TokenCodec,
    config: TokenStoreConfig,
    ids: DocIds,
    documents: SectionBytes,
    table: SectionBytes,
    tokens: u64,
    /// A bit per document, set when the checksum was verified. `None` if none is.
    verified: Option<Vec<AtomicU64>>,
}

impl TokenStore {
    /// Opens a store by mapping it into memory. Checksums of documents are verified on first use.
    ///
    /// The file must not be modified in place while it is open. Replacing it by another is safe.
    ///
    /// # Errors
    /// Returns [`OpenIndexError`] if the file cannot be read, is of another format or version, or
    /// is damaged: it names the file and the section, such as `centroids` if residuals have none.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenIndexError> {
        Self::open_with(path, Verify::FirstUse)
    }

    /// Opens a store and verifies the given checksums.
    ///
    /// # Errors
    /// Returns the errors of [`TokenStore::open`].
    pub fn open_with(path: impl AsRef<Path>, verify: Verify) -> Result<Self, OpenIndexError> {
        let file = IndexFile::open(&TOKENS, path.as_ref(), verify)?;
        let metadata: TokenMetadata = json(&file, section::METADATA)?;
        let mut config = TokenStoreConfig {
            dim: metadata.dim,
            encoding: metadata.encoding,
            encoder: metadata.encoder,
            spans: metadata.spans,
            codebook: None,
        };
        if config.validate().is_err() {
            return Err(file.malformed(section::METADATA, "a dimension of 1 to 65536"));
        }
        config.codebook = TokenCodebook::open(&file, config.dim)?;
        let Ok(codec) = TokenCodec::new(&config) else {
            return Err(file.malformed(section::CENTROIDS, "the centroids of the residuals"));
        };
        let count = metadata.documents;
        let ids = file.section(section::IDS);
        let ids = ids
            .and_then(|ids| DocIds::from_section(ids, count))
            .filter(|ids| verify != Verify::AllSections || ids.is_intact())
            .ok_or_else(|| file.malformed(section::IDS, "an id for every document"))?;
        let size = count.checked_mul(ENTRY_SIZE);
        let table = file.section_with_len(section::TABLE, size, "an entry for every document")?;
        let documents = file.section(section::DOCUMENTS).unwrap_or_default();
        let tokens = check_table(&codec, table.as_ref(), documents.as_ref().len())
            .ok_or_else(|| file.malformed(section::TABLE, "ascending ends of the documents"))?;
        documents.advise_random();
        let words = || (0..count.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        Ok(Self {
            inner: Arc::new(TokenStoreData {
                verified: (verify == Verify::FirstUse).then(words),
                file,
                codec,
                config,
                ids,
                documents,
                table,
                tokens,
            }),
        })
    }

    /// Returns the configuration, with the codebook of the file.
    #[must_use]
    pub fn config(&self) -> &TokenStoreConfig {
        &self.inner.config
    }

    /// Returns the ids of the documents.
    #[must_use]
    pub fn ids(&self) -> &DocIds {
        &self.inner.ids
    }

    /// Returns the number of documents.
    #[must_use]
    pub fn len(&self) -> usize {
        self.inner.ids.len()
    }

    /// Returns `true` if there are no documents.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.inner.ids.is_empty()
    }

    /// Returns the number of tokens of all documents.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.inner.tokens
    }

    /// Returns the decoded token vectors of a document, with their ranges in the text. Ranges are
    /// empty in a store without spans.
    ///
    /// # Errors
    /// Returns [`OpenIndexError::Checksum`] if the bytes of the document are damaged.
    ///
    /// # Panics
    /// If `doc` is not a document of this store.
    pub fn vectors(&self, doc: DocNum) -> Result<TokenVectors, OpenIndexError> {
        let document = self.document(doc)?;
        let mut values = Vec::new();
        self.codec().decode(&document, &mut values);
        let spans = self.codec().spans(&document);
        Ok(TokenVectors::new(self.config().dim, values, spans))
    }

    /// Verifies the checksums of all sections.
    ///
    /// # Errors
    /// Returns [`OpenIndexError::Checksum`], which names the first damaged section.
    pub fn verify(&self) -> Result<(), OpenIndexError> {
        self.inner.file.verify()
    }

    pub(super) fn codec(&self) -> &TokenCodec {
        &self.inner.codec
    }

    pub(super) fn file(&self) -> &IndexFile {
        &self.inner.file
    }

    fn entry(&self, doc: usize) -> TableEntry {
        let (entries, _) = self.inner.table.as_ref().as_chunks();
        TableEntry::from_bytes(&entries[doc])
    }

    /// Bytes of a document and the number of tokens, not verified.
    pub(super) fn raw(&self, doc: DocNum) -> (&[u8], TableEntry) {
        let start = match doc.index() {
            0 => 0,
            after => self.entry(after - 1).end,
        };
        let entry = self.entry(doc.index());
        let range = start as usize..entry.end as usize;
        (&self.inner.documents.as_ref()[range], entry)
    }

    /// Parts of a document, verified on first use.
    pub(super) fn document(&self, doc: DocNum) -> Result<DocumentBytes<'_>, OpenIndexError> {
        let (bytes, entry) = self.raw(doc);
        if let Some(verified) = &self.inner.verified {
            let (word, bit) = (&verified[doc.index() / 64], 1 << (doc.index() % 64));
            if word.load(Ordering::Relaxed) & bit == 0 {
                self.check(doc, bytes, entry)?;
                word.fetch_or(bit, Ordering::Relaxed);
            }
        }
        let split = self.codec().split(bytes, entry.tokens as usize);
        split.ok_or_else(|| {
            let file = &self.inner.file;
            file.malformed(section::TABLE, "the number of tokens of a document")
        })
    }

    /// Verifies the checksum of a document.
    fn check(&self, doc: DocNum, bytes: &[u8], entry: TableEntry) -> Result<(), OpenIndexError> {
        let found = crc32fast::hash(bytes);
        if found == entry.checksum {
            return Ok(());
        }
        let path = self.inner.file.path().unwrap_or(Path::new("(memory)"));
        Err(OpenIndexError::Checksum {
            path: path.to_owned(),
            section: format!("{}, {:?}", section::DOCUMENTS, self.ids().id(doc)),
            expected: entry.checksum,
            found,
        })
    }
}

impl fmt::Debug for TokenStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let config = self.config();
        write!(
            f,
            "TokenStore({} documents, {} × {}, {})",
            self.len(),
            self.tokens(),
            config.dim,
            config.encoding
        )
    }
}

/// Returns the number of all tokens. `None` if the entries do not divide the bytes of all documents
/// into parts of sufficient length.
fn check_table(codec: &TokenCodec, table: &[u8], length: usize) -> Option<u64> {
    let (mut start, mut tokens) = (0_u64, 0);
    for entry in table.as_chunks().0 {
        let entry = TableEntry::from_bytes(entry);
        let size = usize::try_from(entry.end.checked_sub(start)?).ok()?;
        if size < codec.min_length(entry.tokens as usize)? {
            return None;
        }
        start = entry.end;
        tokens += u64::from(entry.tokens);
    }
    (start == length as u64).then_some(tokens)
}
