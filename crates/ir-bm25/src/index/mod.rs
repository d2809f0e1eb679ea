//! The inverted index: immutable, in memory or memory-mapped.

mod lengths;
mod posting_lists;

use std::fmt;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use ir_core::store::{
    AtomicFile, ByteReader, IndexBytes, IndexFile, OpenIndexError, PagedSection, SectionBytes,
    Verify,
};
use ir_core::{Analyzer, Attributes, DocIds, DocNum, DocSet, Document, Predicate, Years};

use crate::codec::{u64_at, unzigzag};
use crate::format::{FORMAT, FieldStats, Metadata, are_possible, section};
use crate::postings::PostingsCursor;
use crate::term_dictionary::TermDictionary;
use crate::{BuildError, IndexConfig, StoredFields, StoredFieldsError, stored_fields};

const EXPECTED_LENGTHS: &str = "a length for every document and field";

/// Inverted index of a collection. Immutable; cheap to clone and to share between threads.
///
/// The index stores term frequencies, not scores: one index serves every
/// [`Bm25`](crate::Bm25) configuration ([`Index::searcher`]).
///
/// ```
/// use ir_bm25::{Bm25, Index, IndexConfig};
/// use ir_core::{Document, NoProgress, Retriever, Search};
///
/// let documents = vec![
///     Document::new("d1").with_title("Tea").with_text("Leaves in hot water."),
///     Document::new("d2").with_title("Coffee").with_text("Beans in hot water, brewed. Hot!"),
/// ];
/// let index = Index::build(&documents, &IndexConfig::default(), &mut NoProgress)?;
/// let searcher = index.searcher(Bm25::ANSERINI)?;
/// let ranking = searcher.search("hot water", &Search::top(10))?;
/// let ids: Vec<&str> = ranking.iter().map(|hit| index.ids().id(hit.doc)).collect();
/// assert_eq!(ids, ["d2", "d1"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Index {
    inner: Arc<IndexData>,
}

#[derive(Clone)]
struct IndexData {
    file: IndexFile,
    meta: Metadata,
    ids: DocIds,
    analyzer: Option<Arc<dyn Analyzer>>,
    terms: TermDictionary,
    postings: PagedSection,
    codes: SectionBytes,
    /// Exact document lengths by field, decoded when first used.
    lengths: OnceLock<Arc<[Vec<u32>]>>,
    years: OnceLock<Years>,
    stored: PagedSection,
    stored_ends: SectionBytes,
}

impl Index {
    /// Opens an index file. The file is memory-mapped with the feature `mmap`, else read into
    /// memory.
    ///
    /// Checksums of postings and stored fields are verified when these are first read
    /// ([`Verify::FirstUse`]), so that the time to open an index depends little on its size.
    /// Ids are decoded when they are first read. [`Index::verify`] verifies all checksums.
    ///
    /// The file must not be changed in place while it is open. Saving another index to the same
    /// path is safe: that makes a new file.
    ///
    /// # Errors
    /// [`OpenIndexError`] names the file, what was expected and what was found.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenIndexError> {
        Self::open_with(path, Verify::FirstUse)
    }

    /// Opens an index file and verifies the chosen checksums. With [`Verify::AllSections`], all
    /// sections are also decoded once, which finds forged ones.
    ///
    /// # Errors
    /// [`OpenIndexError`] names the file, what was expected and what was found.
    pub fn open_with(path: impl AsRef<Path>, verify: Verify) -> Result<Self, OpenIndexError> {
        Self::load(IndexFile::open(&FORMAT, path.as_ref(), verify)?, verify)
    }

    /// Opens an index in memory, from [`Index::as_bytes`] or the content of a file.
    ///
    /// # Errors
    /// Returns the errors of [`Index::open`].
    pub fn from_bytes(
        bytes: impl Into<IndexBytes>,
        verify: Verify,
    ) -> Result<Self, OpenIndexError> {
        Self::load(IndexFile::from_bytes(&FORMAT, bytes, verify)?, verify)
    }

    fn load(file: IndexFile, verify: Verify) -> Result<Self, OpenIndexError> {
        let section = |name| file.section(name).unwrap_or_default();
        let malformed = |name, expected| Err(file.malformed(name, expected));
        let meta: Metadata = serde_json::from_slice(section(section::META).as_ref())
            .map_err(|error| file.metadata_error(error))?;
        let n = meta.documents as usize;
        let names = meta.config.fields.names();
        let found_names = meta.fields.iter().map(|field| &*field.name);
        if !found_names.eq(names.iter().copied()) {
            return malformed(section::META, "the statistics of the fields");
        }
        if meta.fields.iter().any(|field| field.docs > n as u64) {
            return malformed(section::META, "as many documents as its fields have");
        }
        let Some(ids) = DocIds::from_section(section(section::IDS), n) else {
            return malformed(section::IDS, "an id for every document");
        };
        let cells = n.checked_mul(names.len());
        let codes = file.section_with_len(section::CODES, cells, EXPECTED_LENGTHS)?;
        let stored_ends = section(section::STORED_ENDS);
        let stored_documents = match meta.config.store {
            StoredFields::Nothing => 0,
            _ => n,
        };
        if stored_ends.as_ref().len() != stored_documents.saturating_mul(8) {
            return malformed(section::STORED_ENDS, "an end for every document");
        }
        let terms = TermDictionary::new(section(section::TERMS))
            .map_err(|error| file.metadata_error(error))?;
        let analyzer: Option<Arc<dyn Analyzer>> = match &meta.analyzer {
            Some(_) => None,
            None => {
                let built = meta.config.analysis.build();
                Some(Arc::new(built.map_err(|error| file.metadata_error(error))?))
            }
        };
        let postings = file.paged_section(section::POSTINGS)?;
        if !are_possible(&meta.fields, n as u64, postings.len() as u64) {
            return malformed(section::META, "possible statistics of the fields");
        }
        let stored = file.paged_section(section::STORED)?;
        let index = Self {
            inner: Arc::new(IndexData {
                file,
                meta,
                ids,
                analyzer,
                terms,
                postings,
                codes,
                lengths: OnceLock::new(),
                years: OnceLock::new(),
                stored,
                stored_ends,
            }),
        };
        if verify == Verify::AllSections {
            index.decode_small_sections()?;
        }
        Ok(index)
    }

    /// Decodes the sections that are otherwise decoded when they are first used.
    fn decode_small_sections(&self) -> Result<(), OpenIndexError> {
        let IndexData { file, ids, .. } = &*self.inner;
        if !ids.is_intact() {
            return Err(file.malformed(section::IDS, "valid ids"));
        }
        let years = file.section(section::YEARS).unwrap_or_default();
        if read_years(years.as_ref(), self.len()).is_none() {
            return Err(file.malformed(section::YEARS, "a year for every document"));
        }
        let expected: u64 = self.field_stats().iter().map(|stats| stats.terms).sum();
        let (mut terms, mut found) = (self.inner.terms.keys(), 0);
        while terms.next().map_err(|_| self.malformed_terms())?.is_some() {
            found += 1;
            // A forged dictionary of few nodes may have any number of keys.
            if found > expected {
                break;
            }
        }
        if found != expected {
            return Err(self.malformed_terms());
        }
        let mut found = vec![(0, 0, 0); self.field_stats().len()];
        self.for_each_length(|field, length| {
            let (docs, tokens, longest) = &mut found[field];
            *docs += u64::from(length > 0);
            *tokens += u64::from(length);
            *longest = length.max(*longest);
        })?;
        let expected = self.field_stats().iter();
        let expected = expected.map(|stats| (stats.docs, stats.tokens, stats.longest));
        if expected.eq(found) {
            Ok(())
        } else {
            Err(self.malformed_stats())
        }
    }

    /// Verifies the checksums of all sections, as [`Verify::AllSections`] does when an index is
    /// opened.
    ///
    /// # Errors
    /// [`OpenIndexError::Checksum`] names the first damaged section.
    pub fn verify(&self) -> Result<(), OpenIndexError> {
        self.inner.file.verify()
    }

    /// Saves the index to a file. The write is atomic.
    ///
    /// # Errors
    /// [`BuildError::Write`].
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), BuildError> {
        let path = path.as_ref();
        let write = || {
            let mut file = AtomicFile::create(path)?;
            file.write_all(self.as_bytes())?;
            file.commit()
        };
        write().map_err(BuildError::write(path))
    }

    /// Returns the bytes of the index, the same as in its file.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.inner.file.as_bytes()
    }

    /// Sets the custom analyzer of an index that was built with one
    /// ([`IndexBuilder::with_analyzer`](crate::IndexBuilder::with_analyzer)). It must be the same
    /// analyzer.
    #[must_use]
    pub fn with_analyzer(&self, analyzer: Arc<dyn Analyzer>) -> Self {
        let inner = IndexData {
            analyzer: Some(analyzer),
            ..(*self.inner).clone()
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// The ids of the documents.
    #[must_use]
    pub fn ids(&self) -> &DocIds {
        &self.inner.ids
    }

    /// The number of documents.
    #[must_use]
    pub fn len(&self) -> usize {
        self.inner.meta.documents as usize
    }

    /// Returns whether the index has no documents.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The configuration that the index was built with.
    #[must_use]
    pub fn config(&self) -> &IndexConfig {
        &self.inner.meta.config
    }

    /// The analyzer of documents and queries; [`None`] if it is a custom one that was not set again
    /// after opening ([`Index::with_analyzer`]).
    #[must_use]
    pub fn analyzer(&self) -> Option<&dyn Analyzer> {
        self.inner.analyzer.as_deref()
    }

    pub(crate) fn shared_analyzer(&self) -> Option<Arc<dyn Analyzer>> {
        self.inner.analyzer.clone()
    }

    /// Statistics of the index.
    #[must_use]
    pub fn stats(&self) -> IndexStats {
        let meta = &self.inner.meta;
        IndexStats {
            program: meta.program.clone(),
            documents: self.len(),
            blank_dropped: meta.blank_dropped,
            fields: meta.fields.clone(),
            bytes: self.as_bytes().len() as u64,
            sections: self
                .inner
                .file
                .sections()
                .map(|(name, bytes)| (name.to_owned(), bytes as u64))
                .collect(),
        }
    }

    /// Publication years, from the attribute [`YEAR`](ir_core::Attributes::YEAR), for filtering by
    /// time. Every index stores them.
    #[must_use]
    pub fn years(&self) -> &Years {
        self.inner.years.get_or_init(|| {
            let section = self.inner.file.section(section::YEARS).unwrap_or_default();
            let years = read_years(section.as_ref(), self.len());
            years.unwrap_or_default().into_iter().collect()
        })
    }

    /// Returns a stored document. Requires [`StoredFields::Everything`].
    ///
    /// # Errors
    /// [`StoredFieldsError`].
    pub fn document(&self, doc: DocNum) -> Result<Document, StoredFieldsError> {
        self.check_store("documents", |store| store == StoredFields::Everything)?;
        let bytes = self.record(doc)?;
        let id = self.ids().id(doc);
        stored_fields::document(id, bytes).ok_or(StoredFieldsError::Damaged { doc: doc.get() })
    }

    /// Returns the stored attributes of a document. Requires [`StoredFields::Attributes`] or
    /// [`StoredFields::Everything`].
    ///
    /// # Errors
    /// Returns the errors of [`Index::document`].
    pub fn attributes(&self, doc: DocNum) -> Result<Attributes, StoredFieldsError> {
        self.check_store("attributes", |store| store != StoredFields::Nothing)?;
        let bytes = self.record(doc)?;
        let store = self.config().store;
        stored_fields::attributes(store, bytes).ok_or(StoredFieldsError::Damaged { doc: doc.get() })
    }

    /// Selects the documents that satisfy a condition on attributes, as a filter. Scans all
    /// documents.
    ///
    /// # Errors
    /// Returns the errors of [`Index::attributes`].
    pub fn select(&self, condition: &Predicate) -> Result<DocSet, StoredFieldsError> {
        self.check_store("attributes", |store| store != StoredFields::Nothing)?;
        let mut selected = DocSet::new();
        for n in 0..self.inner.meta.documents {
            let doc = DocNum::new(n);
            if condition.matches(&self.attributes(doc)?) {
                selected.insert(doc);
            }
        }
        Ok(selected)
    }

    fn check_store(
        &self,
        what: &'static str,
        enough: impl Fn(StoredFields) -> bool,
    ) -> Result<(), StoredFieldsError> {
        let found = self.config().store;
        if enough(found) {
            Ok(())
        } else {
            Err(StoredFieldsError::NotStored { what, found })
        }
    }

    /// The encoded stored fields of a document of the index ([`crate::stored_fields`]).
    pub(crate) fn stored_record(&self, doc: DocNum) -> Result<&[u8], OpenIndexError> {
        self.record(doc).map_err(|error| match error {
            StoredFieldsError::Read(error) => error,
            _ => (self.inner.file).malformed(section::STORED_ENDS, "an end for every document"),
        })
    }

    fn record(&self, doc: DocNum) -> Result<&[u8], StoredFieldsError> {
        if doc.index() >= self.len() {
            return Err(StoredFieldsError::NoSuchDocument {
                documents: self.len(),
                found: doc.get(),
            });
        }
        let ends = self.inner.stored_ends.as_ref();
        let end = |n: usize| u64_at(ends, n).and_then(|end| usize::try_from(end).ok());
        let start = doc.index().checked_sub(1).map_or(Some(0), end);
        let (start, end) = start
            .zip(end(doc.index()))
            .ok_or(StoredFieldsError::Damaged { doc: doc.get() })?;
        Ok(self.inner.stored.get(start..end)?)
    }

    pub(crate) fn field_stats(&self) -> &[FieldStats] {
        &self.inner.meta.fields
    }

    pub(crate) fn analyzer_name(&self) -> Option<&str> {
        self.inner.meta.analyzer.as_deref()
    }

    /// Document lengths of a field in one-byte encoding.
    pub(crate) fn codes(&self, field: usize) -> &[u8] {
        let n = self.len();
        let codes = self.inner.codes.as_ref();
        codes.get(field * n..(field + 1) * n).unwrap_or_default()
    }

    /// Opens the posting list of a term in a field; [`None`] if no document contains the term.
    pub(crate) fn cursor(
        &self,
        field: usize,
        term: &str,
    ) -> Result<Option<PostingsCursor<'_>>, OpenIndexError> {
        let found = self.inner.terms.get(&key(field, term));
        let offset = found.map_err(|_| self.malformed_terms())?;
        offset.map(|offset| self.open_list(offset)).transpose()
    }

    /// Opens the posting lists of terms, each in a field, in their order; [`None`] if no document
    /// contains the term there. Faster than one by one.
    pub(crate) fn cursors<'t>(
        &self,
        terms: impl Iterator<Item = (usize, &'t str)>,
    ) -> Result<Vec<Option<PostingsCursor<'_>>>, OpenIndexError> {
        let keys: Vec<_> = terms.map(|(field, term)| key(field, term)).collect();
        let found = self.inner.terms.get_all(&keys);
        let offsets = found.map_err(|_| self.malformed_terms())?.into_iter();
        let open = |offset: Option<u64>| offset.map(|offset| self.open_list(offset)).transpose();
        offsets.map(open).collect()
    }

    /// Opens the posting list at an offset of the section.
    fn open_list(&self, offset: u64) -> Result<PostingsCursor<'_>, OpenIndexError> {
        let IndexData { postings, meta, .. } = &*self.inner;
        PostingsCursor::open(postings, offset, meta.documents, meta.config.positions)
    }

    fn malformed_terms(&self) -> OpenIndexError {
        let expected = "the terms of every field";
        self.inner.file.malformed(section::TERMS, expected)
    }

    /// The error for statistics of fields that contradict the document lengths.
    pub(crate) fn malformed_stats(&self) -> OpenIndexError {
        let expected = "the statistics of the document lengths";
        self.inner.file.malformed(section::META, expected)
    }

    /// Checksum that identifies the content of the index.
    pub(crate) fn checksum(&self) -> u32 {
        self.inner.file.checksum()
    }

    /// Statistics of an analyzed term in a field; [`None`] if the term does not occur or the field
    /// does not exist.
    ///
    /// ```
    /// # use ir_bm25::{Index, IndexConfig};
    /// # use ir_core::{Document, NoProgress};
    /// let documents = vec![Document::new("a").with_text("tea for two, tea for three")];
    /// let index = Index::build(&documents, &IndexConfig::default(), &mut NoProgress)?;
    /// let tea = index.term("contents", "tea")?.ok_or("no tea")?;
    /// assert_eq!((tea.docs, tea.occurrences), (1, 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When the posting list is damaged.
    pub fn term(&self, field: &str, term: &str) -> Result<Option<TermStats>, OpenIndexError> {
        let names = self.config().fields.names();
        let Some(field) = names.iter().position(|&name| name == field) else {
            return Ok(None);
        };
        let cursor = self.cursor(field, term)?;
        Ok(cursor.map(|cursor| TermStats {
            docs: u64::from(cursor.df),
            occurrences: cursor.occurrences,
        }))
    }

    /// The path that the index was opened from; [`None`] for an index in memory.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.inner.file.path()
    }
}

impl fmt::Debug for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Index")
            .field("documents", &self.len())
            .field("config", self.config())
            .finish_non_exhaustive()
    }
}

/// Statistics of an index.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct IndexStats {
    /// The crate that wrote the index, and its version.
    pub program: String,
    /// Number of indexed documents.
    pub documents: usize,
    /// Number of documents skipped by [`BlankDocs::Drop`](crate::BlankDocs::Drop).
    pub blank_dropped: u64,
    /// Statistics of every field.
    pub fields: Vec<FieldStats>,
    /// File size in bytes.
    pub bytes: u64,
    /// Names and sizes in bytes of the sections, in file order.
    pub sections: Vec<(String, u64)>,
}

/// Statistics of a term in a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TermStats {
    /// Document frequency: number of documents with the term.
    pub docs: u64,
    /// Collection frequency: total number of occurrences.
    pub occurrences: u64,
}

/// The key of a term in the term dictionary.
fn key(field: usize, term: &str) -> Vec<u8> {
    let mut key = Vec::with_capacity(term.len() + 1);
    key.push(field as u8);
    key.extend(term.as_bytes());
    key
}

/// Decodes the years; [`None`] if damaged, empty if no document has a year.
fn read_years(bytes: &[u8], n: usize) -> Option<Vec<Option<i64>>> {
    if bytes.is_empty() {
        return Some(Vec::new());
    }
    let mut reader = ByteReader::new(bytes);
    let mut years = Vec::new();
    for _ in 0..n {
        years.push(match reader.varint()? {
            0 => None,
            1 => Some(unzigzag(reader.varint()?)),
            _ => return None,
        });
    }
    reader.is_empty().then_some(years)
}
