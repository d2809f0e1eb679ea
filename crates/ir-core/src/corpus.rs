//! Documents, queries, and the traits of what holds them.

use std::error::Error;

use serde::{Deserialize, Serialize};

use crate::{Attributes, AttributeValue};

/// One document: its id in the collection, title, text and typed metadata.
///
/// ```
/// use ir_core::Document;
/// let doc = Document::new("squad").with_title("SQuAD").with_text("Questions on articles").with("year", 2016_i64);
/// assert_eq!(doc.attributes.year(), Some(2016));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Document {
    /// The collection's id, unique unless the collection says otherwise.
    pub id: String,
    /// The title; empty when there is none.
    #[serde(default)]
    pub title: String,
    /// The body.
    #[serde(default)]
    pub text: String,
    /// Year, repository and whatever else is known.
    #[serde(default, skip_serializing_if = "Attributes::is_empty")]
    pub attributes: Attributes,
}

impl Document {
    /// A document without content.
    #[must_use]
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            ..Self::default()
        }
    }

    /// With this title.
    #[must_use]
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// With this text.
    #[must_use]
    pub fn with_text(mut self, text: impl Into<String>) -> Self {
        self.text = text.into();
        self
    }

    /// With this attribute.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<AttributeValue>) -> Self {
        self.attributes.set(name, value);
        self
    }

    /// Empties all parts and keeps their memory, for the next record.
    pub fn clear(&mut self) {
        self.id.clear();
        self.title.clear();
        self.text.clear();
        self.attributes.clear();
    }
}

/// One query: its id, its text, and typed attributes (year, ...
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Query {
    /// The id that qrels and runs use.
    pub id: String,
    /// What is asked, in words.
    pub text: String,
    /// Whatever else is known.
    #[serde(default, skip_serializing_if = "Attributes::is_empty")]
    pub attributes: Attributes,
}

impl Query {
    /// A query.
    #[must_use]
    pub fn new(id: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            text: text.into(),
            attributes: Attributes::default(),
        }
    }

    /// With this attribute.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<AttributeValue>) -> Self {
        self.attributes.set(name, value);
        self
    }
}

/// Reads documents one after another into a buffer that the caller owns.
pub trait DocReader: Send {
    /// Reads the next document into `doc`, in place of what it held. `false` at the end.
    ///
    /// # Errors
    /// When the source is damaged; the error says where.
    fn read(&mut self, doc: &mut Document) -> Result<bool, CorpusError>;
}

/// A collection of documents that can be read from the start, any number of times.
///
/// ```
/// use ir_core::{Corpus, Document};
/// let corpus = vec![Document::new("a").with_text("tea"), Document::new("b").with_text("milk")];
/// let ids: Result<Vec<String>, _> = corpus.docs()?.map(|doc| doc.map(|doc| doc.id)).collect();
/// assert_eq!(ids?, ["a", "b"]);
/// # Ok::<(), ir_core::CorpusError>(())
/// ```
pub trait Corpus: Send + Sync {
    /// Starts reading.
    ///
    /// # Errors
    /// When the source cannot be opened.
    fn open(&self) -> Result<Box<dyn DocReader + '_>, CorpusError>;

    /// How many documents there are, when that is known beforehand.
    fn len_hint(&self) -> Option<u64> {
        None
    }

    /// The documents as an iterator (allocates for each; [`Corpus::open`] does not).
    ///
    /// # Errors
    /// When the source cannot be opened.
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

impl std::fmt::Debug for CorpusIter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
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
        match read {
            Ok(true) => Some(Ok(doc)),
            Ok(false) => None,
            Err(error) => Some(Err(error)),
        }
    }
}

/// Why a collection could not be read. The source names file, line, expected and found.
#[derive(Debug, thiserror::Error)]
#[error("the collection could not be read")]
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

    /// The reader's own error.
    #[must_use]
    pub fn reason(&self) -> &(dyn Error + Send + Sync + 'static) {
        &*self.source
    }
}

struct SliceReader<'a>(std::slice::Iter<'a, Document>);

impl DocReader for SliceReader<'_> {
    fn read(&mut self, doc: &mut Document) -> Result<bool, CorpusError> {
        let Some(next) = self.0.next() else {
            return Ok(false);
        };
        doc.clone_from(next);
        Ok(true)
    }
}

impl Corpus for [Document] {
    fn open(&self) -> Result<Box<dyn DocReader + '_>, CorpusError> {
        Ok(Box::new(SliceReader(self.iter())))
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
