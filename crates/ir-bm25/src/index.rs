//! The index: immutable data, in memory or mapped.

use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use ir_core::{
    Analyzer, AtomicFile, Attributes, Corpus, DocIds, DocNum, DocSet, Document, Predicate,
    Progress, Years,
};

use crate::build::IndexBuilder;
use crate::codec::{Input, u64_at, unzigzag};
use crate::error::Damaged;
use crate::file::{Bytes, FieldStats, Meta, Part, Sections, Verify, open_bytes, section};
use crate::postings::Cursor;
use crate::search::Searcher;
use crate::stored;
use crate::{Bm25, BuildError, IndexConfig, OpenError, SearcherError, Store, StoreError};

/// An inverted index over a collection of documents. Immutable, and cheap to clone and share between threads.
///
/// It holds counts, not scores, so every BM25 can be searched with one index: [`Index::searcher`].
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
    inner: Arc<Inner>,
}

#[derive(Clone)]
struct Inner {
    sections: Sections,
    meta: Meta,
    ids: Arc<DocIds>,
    analyzer: Option<Arc<dyn Analyzer>>,
    terms: fst::Map<Part>,
    postings: Part,
    lengths: Part,
    codes: Part,
    years: OnceLock<Years>,
    stored: Part,
    stored_ends: Part,
}

impl Index {
    /// Builds an index of a collection, in memory. See [`IndexBuilder`] for memory, threads and pushing documents.
    ///
    /// # Errors
    /// [`BuildError`]: the collection cannot be read, an id is repeated, the caller stopped it, ...
    pub fn build<C: Corpus + ?Sized>(
        corpus: &C,
        config: &IndexConfig,
        progress: &mut dyn Progress,
    ) -> Result<Self, BuildError> {
        let mut builder = IndexBuilder::new(config.clone())?;
        builder.push_all(corpus, progress)?;
        builder.finish_with(progress)
    }

    /// Builds an index of a collection in a file, and opens it. The file appears when it is complete.
    ///
    /// # Errors
    /// As [`Index::build`], and when the file cannot be written.
    pub fn build_to<C: Corpus + ?Sized>(
        path: impl AsRef<Path>,
        corpus: &C,
        config: &IndexConfig,
        progress: &mut dyn Progress,
    ) -> Result<Self, BuildError> {
        let mut builder = IndexBuilder::new(config.clone())?;
        builder.push_all(corpus, progress)?;
        builder.finish_to_with(path, progress)
    }

    /// Opens an index file by mapping it into memory (with the feature `mmap`; else it is read). Every byte is
    /// checked against its checksum first; [`Index::open_with`] can leave out the large parts.
    ///
    /// The file must not be changed in place while it is open. Writing an index to the same path is safe: that
    /// makes a new file.
    ///
    /// # Errors
    /// [`OpenError`] says which file, what was expected and what was found.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        Self::open_with(path, Verify::Everything)
    }

    /// Opens an index file, and checks as much of it as is asked for.
    ///
    /// # Errors
    /// As [`Index::open`].
    pub fn open_with(path: impl AsRef<Path>, verify: Verify) -> Result<Self, OpenError> {
        let path = path.as_ref();
        Self::load(open_bytes(path)?, path, verify)
    }

    /// An index whose bytes are in memory already: those of a file, or of [`Index::as_bytes`].
    ///
    /// # Errors
    /// As [`Index::open`].
    pub fn from_bytes(bytes: impl Into<Bytes>, verify: Verify) -> Result<Self, OpenError> {
        Self::load(bytes.into(), Path::new("(memory)"), verify)
    }

    fn load(bytes: Bytes, path: &Path, verify: Verify) -> Result<Self, OpenError> {
        let sections = Sections::open(bytes, path, verify)?;
        let description =
            |source: Box<dyn std::error::Error + Send + Sync>| OpenError::Description {
                path: path.to_owned(),
                source,
            };
        let meta: Meta = serde_json::from_slice(sections.part(section::META).as_ref())
            .map_err(|error| description(error.into()))?;
        let n = meta.documents as usize;
        let wrong = |name, expected| Err(sections.malformed(name, expected));
        let names = meta.config.fields.names();
        if !meta
            .fields
            .iter()
            .map(|field| &*field.name)
            .eq(names.iter().copied())
        {
            return wrong(section::META, "the statistics of the fields");
        }
        if meta.fields.iter().any(|field| field.docs > n as u64) {
            return wrong(section::META, "as many documents as its fields have");
        }
        let Some(ids) = read_ids(sections.part(section::IDS).as_ref(), n) else {
            return wrong(section::IDS, "an id for every document");
        };
        let cells = n.saturating_mul(names.len());
        let (lengths, codes) = (
            sections.part(section::LENGTHS),
            sections.part(section::CODES),
        );
        if lengths.as_ref().len() != cells.saturating_mul(4) {
            return wrong(section::LENGTHS, "a length for every document and field");
        }
        if codes.as_ref().len() != cells {
            return wrong(section::CODES, "a length for every document and field");
        }
        let stored = sections.part(section::STORED);
        let stored_ends = sections.part(section::STORED_ENDS);
        let expected = if meta.config.store == Store::Nothing {
            0
        } else {
            n
        };
        if stored_ends.as_ref().len() != expected.saturating_mul(8) {
            return wrong(section::STORED_ENDS, "an end for every document");
        }
        let years = sections.part(section::YEARS);
        if read_years(years.as_ref(), n).is_none() {
            return wrong(section::YEARS, "a year for every document");
        }
        let terms = fst::Map::new(sections.part(section::TERMS))
            .map_err(|error| description(error.into()))?;
        let analyzer: Option<Arc<dyn Analyzer>> = match &meta.analyzer {
            Some(_) => None,
            None => {
                let built = meta.config.analysis.build();
                Some(Arc::new(built.map_err(|error| description(error.into()))?))
            }
        };
        let postings = sections.part(section::POSTINGS);
        Ok(Self {
            inner: Arc::new(Inner {
                sections,
                meta,
                ids: Arc::new(ids),
                analyzer,
                terms,
                postings,
                lengths,
                codes,
                years: OnceLock::new(),
                stored,
                stored_ends,
            }),
        })
    }

    /// Checks every byte against the checksums, as [`Index::open`] does and [`Verify::Tables`] does not.
    ///
    /// # Errors
    /// [`OpenError::Checksum`] names the first section that is damaged.
    pub fn verify(&self) -> Result<(), OpenError> {
        self.inner.sections.verify(|_| true)
    }

    /// Writes the index to a file, which appears when it is complete.
    ///
    /// # Errors
    /// [`BuildError::Write`] when it cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), BuildError> {
        let path = path.as_ref();
        let write = || {
            let mut file = AtomicFile::create(path)?;
            file.write_all(self.as_bytes())?;
            file.commit()
        };
        write().map_err(|source| BuildError::Write {
            path: path.to_owned(),
            source,
        })
    }

    /// The bytes of the index: the same as of its file.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.inner.sections.bytes()
    }

    /// The same index with an analyzer of the caller's own, which must be the one that it was built with:
    /// see [`IndexBuilder::with_analyzer`].
    #[must_use]
    pub fn with_analyzer(&self, analyzer: Arc<dyn Analyzer>) -> Self {
        let inner = Inner {
            analyzer: Some(analyzer),
            ..(*self.inner).clone()
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// A searcher with these parameters. Cheap: many can be made, one for each k1 and b of a sweep.
    ///
    /// # Errors
    /// When a parameter is out of its range, or the index needs an analyzer of the caller's own.
    pub fn searcher(&self, bm25: Bm25) -> Result<Searcher, SearcherError> {
        Searcher::new(self.clone(), bm25)
    }

    /// The ids of the documents.
    #[must_use]
    pub fn ids(&self) -> &DocIds {
        &self.inner.ids
    }

    /// How many documents there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.inner.meta.documents as usize
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What the index was built with.
    #[must_use]
    pub fn config(&self) -> &IndexConfig {
        &self.inner.meta.config
    }

    /// The analyzer of documents and queries; `None` when it was the caller's own and was not given again.
    #[must_use]
    pub fn analyzer(&self) -> Option<&dyn Analyzer> {
        self.inner.analyzer.as_deref()
    }

    /// Counts and sizes.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let meta = &self.inner.meta;
        Stats {
            program: meta.program.clone(),
            documents: self.len(),
            blank_dropped: meta.blank_dropped,
            fields: meta.fields.clone(),
            bytes: self.as_bytes().len() as u64,
            sections: self
                .inner
                .sections
                .sizes()
                .map(|(name, bytes)| (name.to_owned(), bytes as u64))
                .collect(),
        }
    }

    /// The years of the documents, from their attribute [`YEAR`](ir_core::name::YEAR), for the time filter.
    /// They are in every index, whatever is stored.
    #[must_use]
    pub fn years(&self) -> &Years {
        self.inner.years.get_or_init(|| {
            let part = self.inner.sections.part(section::YEARS);
            let years = read_years(part.as_ref(), self.len());
            years.unwrap_or_default().into_iter().collect()
        })
    }

    /// A document as it was indexed, with [`Store::Everything`].
    ///
    /// # Errors
    /// When the index does not store documents, has no such number, or is damaged there.
    pub fn document(&self, doc: DocNum) -> Result<Document, StoreError> {
        self.check_store("documents", |store| store == Store::Everything)?;
        let bytes = self.record(doc)?;
        let id = self.ids().id(doc);
        stored::document(id, bytes).ok_or(StoreError::Damaged { doc: doc.get() })
    }

    /// The attributes of a document, with [`Store::Attributes`] or [`Store::Everything`].
    ///
    /// # Errors
    /// As [`Index::document`].
    pub fn attributes(&self, doc: DocNum) -> Result<Attributes, StoreError> {
        self.check_store("attributes", |store| store != Store::Nothing)?;
        let bytes = self.record(doc)?;
        let store = self.config().store;
        stored::attributes(store, bytes).ok_or(StoreError::Damaged { doc: doc.get() })
    }

    /// The documents whose attributes meet a condition, as a filter. Looks at every document.
    ///
    /// # Errors
    /// As [`Index::attributes`].
    pub fn select(&self, condition: &Predicate) -> Result<DocSet, StoreError> {
        self.check_store("attributes", |store| store != Store::Nothing)?;
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
        enough: impl Fn(Store) -> bool,
    ) -> Result<(), StoreError> {
        let found = self.config().store;
        if enough(found) {
            Ok(())
        } else {
            Err(StoreError::NotStored { what, found })
        }
    }

    fn record(&self, doc: DocNum) -> Result<&[u8], StoreError> {
        if doc.index() >= self.len() {
            return Err(StoreError::NoSuchDocument {
                documents: self.len(),
                found: doc.get(),
            });
        }
        let ends = self.inner.stored_ends.as_ref();
        let end = |n: usize| u64_at(ends, n).and_then(|end| usize::try_from(end).ok());
        let start = doc.index().checked_sub(1).map_or(Some(0), end);
        let range = start.zip(end(doc.index()));
        range
            .and_then(|(start, end)| self.inner.stored.as_ref().get(start..end))
            .ok_or(StoreError::Damaged { doc: doc.get() })
    }

    pub(crate) fn field_stats(&self) -> &[FieldStats] {
        &self.inner.meta.fields
    }

    pub(crate) fn analyzer_name(&self) -> Option<&str> {
        self.inner.meta.analyzer.as_deref()
    }

    /// One byte a document.
    pub(crate) fn codes(&self, field: usize) -> &[u8] {
        let n = self.len();
        let codes = self.inner.codes.as_ref();
        codes.get(field * n..(field + 1) * n).unwrap_or_default()
    }

    /// Four bytes a document.
    pub(crate) fn lengths(&self, field: usize) -> &[u8] {
        let n = 4 * self.len();
        let lengths = self.inner.lengths.as_ref();
        lengths.get(field * n..(field + 1) * n).unwrap_or_default()
    }

    /// The list of a term of a field; `None` when no document has it.
    pub(crate) fn cursor(&self, field: usize, term: &str) -> Result<Option<Cursor<'_>>, Damaged> {
        let mut key = Vec::with_capacity(term.len() + 1);
        key.push(field as u8);
        key.extend(term.as_bytes());
        let Some(offset) = self.inner.terms.get(&key) else {
            return Ok(None);
        };
        let postings = self.inner.postings.as_ref();
        Cursor::open(postings, offset, self.inner.meta.documents).map(Some)
    }

    /// How often a term, as the analyzer makes it, occurs in a field; `None` when it does not, when there is no such
    /// field, or when the index is damaged there.
    ///
    /// ```
    /// # use ir_bm25::{Index, IndexConfig};
    /// # use ir_core::{Document, NoProgress};
    /// let documents = vec![Document::new("a").with_text("tea for two, tea for three")];
    /// let index = Index::build(&documents, &IndexConfig::default(), &mut NoProgress)?;
    /// let tea = index.term("contents", "tea").ok_or("no tea")?;
    /// assert_eq!((tea.docs, tea.occurrences), (1, 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn term(&self, field: &str, term: &str) -> Option<TermStats> {
        let names = self.config().fields.names();
        let field = names.iter().position(|&name| name == field)?;
        let cursor = self.cursor(field, term).ok()??;
        Some(TermStats {
            docs: u64::from(cursor.df()),
            occurrences: cursor.occurrences(),
        })
    }

    /// The file that the index was opened from.
    #[must_use]
    pub fn path(&self) -> Option<PathBuf> {
        let path = &self.inner.sections.path;
        (path != Path::new("(memory)")).then(|| path.clone())
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

/// Counts and sizes of an index.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Stats {
    /// The crate that wrote it, and its version.
    pub program: String,
    /// How many documents it holds.
    pub documents: usize,
    /// Documents that were left out because of [`Blank::Drop`](crate::Blank::Drop).
    pub blank_dropped: u64,
    /// Terms, tokens and lengths of every field.
    pub fields: Vec<FieldStats>,
    /// Size of the file.
    pub bytes: u64,
    /// Sizes of its sections, in their order.
    pub sections: Vec<(String, u64)>,
}

/// How often a term occurs in a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TermStats {
    /// In how many documents.
    pub docs: u64,
    /// How often in all.
    pub occurrences: u64,
}

fn read_ids(bytes: &[u8], n: usize) -> Option<DocIds> {
    let mut input = Input::new(bytes);
    let mut ids = DocIds::new();
    for _ in 0..n {
        ids.push(std::str::from_utf8(input.sized()?).ok()?).ok()?;
    }
    input.is_empty().then_some(ids)
}

/// `None` when damaged; empty when no document has a year.
fn read_years(bytes: &[u8], n: usize) -> Option<Vec<Option<i64>>> {
    if bytes.is_empty() {
        return Some(Vec::new());
    }
    let mut input = Input::new(bytes);
    let mut years = Vec::new();
    for _ in 0..n {
        years.push(match input.varint()? {
            0 => None,
            1 => Some(unzigzag(input.varint()?)),
            _ => return None,
        });
    }
    input.is_empty().then_some(years)
}
