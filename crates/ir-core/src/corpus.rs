//! Documents, queries and the [`Corpus`] trait.

use std::error::Error;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::attributes::{AttributeValue, Attributes};

/// Document: id, title, text and typed attributes.
///
/// ```
/// use ir_core::Document;
/// let doc = Document::new("squad").with_title("SQuAD").with("year", 2016_i64);
/// assert_eq!(doc.attributes.year(), Some(2016));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Document {
    /// Collection id; unique unless the collection documents otherwise.
    pub id: String,
    /// Title; may be empty.
    #[serde(default)]
    pub title: String,
    /// Body text; may be empty.
    #[serde(default)]
    pub text: String,
    /// Year, repository and other metadata.
    #[serde(default, skip_serializing_if = "Attributes::is_empty")]
    pub attributes: Attributes,
}

impl Document {
    /// Creates a document without content.
    #[must_use]
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            ..Self::default()
        }
    }

    /// Returns the document with this title.
    #[must_use]
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// Returns the document with this text.
    #[must_use]
    pub fn with_text(mut self, text: impl Into<String>) -> Self {
        self.text = text.into();
        self
    }

    /// Returns the document with this attribute.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<AttributeValue>) -> Self {
        self.attributes.set(name, value);
        self
    }

    /// Clears all fields and keeps their allocations, for reuse as a buffer.
    pub fn clear(&mut self) {
        self.id.clear();
        self.title.clear();
        self.text.clear();
        self.attributes.clear();
    }
}

/// Query: id, text and typed attributes (year, keyphrases, task, modality, ...).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Query {
    /// Query id, as in qrels and runs.
    pub id: String,
    /// Query text, in natural language or keywords.
    pub text: String,
    /// Year, keyphrases and other metadata.
    #[serde(default, skip_serializing_if = "Attributes::is_empty")]
    pub attributes: Attributes,
}

impl Query {
    /// Creates a query without attributes.
    #[must_use]
    pub fn new(id: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            text: text.into(),
            attributes: Attributes::default(),
        }
    }

    /// Returns the query with this attribute.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<AttributeValue>) -> Self {
        self.attributes.set(name, value);
        self
    }
}

/// Sequential reader of documents into a caller-owned buffer.
pub trait DocReader: Send {
    /// Reads the next document into `doc`, replacing its content. Returns `false` at the end.
    ///
    /// # Errors
    /// If the source is malformed; the error names the location.
    fn read(&mut self, doc: &mut Document) -> Result<bool, CorpusError>;
}

/// What a reader of documents has skipped.
///
/// ```
/// use ir_core::Skipped;
/// let first = Skipped { nul_bytes: 2, ..Skipped::default() };
/// let second = Skipped { nul_bytes: 1, repeated_ids: 4, ..Skipped::default() };
/// let total: Skipped = [first, second].into_iter().sum();
/// assert_eq!((total.nul_bytes, total.repeated_ids), (3, 4));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Skipped {
    /// Number of NUL bytes, which old collections in TREC's format have.
    pub nul_bytes: u64,
    /// Number of records with the id of an earlier one, in formats that repeat ids, such as the
    /// table of CORD-19. In others a repeated id is an error.
    pub repeated_ids: u64,
    /// Number of rows of tab-separated tables that may contain the text of other rows: a line in a
    /// quoted cell has as many tabs as the header, as after an unpaired quote.
    pub joined_rows: u64,
    /// Number of documents in comments between the documents of a TREC file.
    pub commented_documents: u64,
}

impl std::iter::Sum for Skipped {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::default(), |sum, part| Self {
            nul_bytes: sum.nul_bytes + part.nul_bytes,
            repeated_ids: sum.repeated_ids + part.repeated_ids,
            joined_rows: sum.joined_rows + part.joined_rows,
            commented_documents: sum.commented_documents + part.commented_documents,
        })
    }
}

/// Collection of documents that can be read from the start any number of times.
///
/// ```
/// use ir_core::{Corpus, Document};
/// let corpus = vec![Document::new("a").with_text("tea"), Document::new("b").with_text("milk")];
/// let ids: Result<Vec<String>, _> = corpus.docs()?.map(|doc| doc.map(|doc| doc.id)).collect();
/// assert_eq!(ids?, ["a", "b"]);
/// # Ok::<(), ir_core::CorpusError>(())
/// ```
pub trait Corpus: Send + Sync {
    /// Opens a reader at the first document.
    ///
    /// # Errors
    /// If the source cannot be opened.
    fn open(&self) -> Result<Box<dyn DocReader + '_>, CorpusError>;

    /// Returns the number of documents, if known without reading them.
    fn len_hint(&self) -> Option<u64> {
        None
    }

    /// Returns what a reader has skipped up to the end of the documents. Default: nothing.
    fn skipped(&self) -> Skipped {
        Skipped::default()
    }

    /// Returns an iterator over the documents. Allocates per document; [`Corpus::open`] does not.
    ///
    /// # Errors
    /// If the source cannot be opened.
    fn docs(&self) -> Result<CorpusIter<'_>, CorpusError> {
        Ok(CorpusIter {
            reader: self.open()?,
            done: false,
        })
    }
}

/// Iterator over the documents of a [`Corpus`]; ends after the first error.
pub struct CorpusIter<'a> {
    reader: Box<dyn DocReader + 'a>,
    done: bool,
}

impl fmt::Debug for CorpusIter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CorpusIter")
            .field("done", &self.done)
            .finish_non_exhaustive()
    }
}

impl Iterator for CorpusIter<'_> {
    type Item = Result<Document, CorpusError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let mut doc = Document::default();
        let read = self.reader.read(&mut doc);
        self.done = !matches!(read, Ok(true));
        read.map(|found| found.then_some(doc)).transpose()
    }
}

/// Error reading a collection. The source names file, line, expected and found.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the collection")]
pub struct CorpusError {
    #[source]
    source: Box<dyn Error + Send + Sync>,
}

impl CorpusError {
    /// Wraps the error of a reader.
    pub fn new(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self {
            source: source.into(),
        }
    }

    /// Returns the wrapped error.
    #[must_use]
    pub fn reason(&self) -> &(dyn Error + Send + Sync + 'static) {
        &*self.source
    }
}

impl DocReader for std::slice::Iter<'_, Document> {
    fn read(&mut self, doc: &mut Document) -> Result<bool, CorpusError> {
        let Some(next) = self.next() else {
            return Ok(false);
        };
        doc.clone_from(next);
        Ok(true)
    }
}

impl Corpus for [Document] {
    fn open(&self) -> Result<Box<dyn DocReader + '_>, CorpusError> {
        Ok(Box::new(self.iter()))
    }

    fn len_hint(&self) -> Option<u64> {
        Some(self.len() as u64)
    }
}

impl Corpus for Vec<Document> {
    fn open(&self) -> Result<Box<dyn DocReader + '_>, CorpusError> {
        self.as_slice().open()
    }

    fn len_hint(&self) -> Option<u64> {
        Some(self.len() as u64)
    }
}
