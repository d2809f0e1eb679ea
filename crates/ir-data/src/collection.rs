//! A test collection: documents, queries by split, judgments by split.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use ir_core::{Corpus, CorpusError, DocReader, Document, Qrels, Query};

use crate::DataError;

/// Where the queries and judgments of a collection come from: a BEIR folder, a catalogue entry,
/// memory ([`JudgedInMemory`]).
pub trait Judged: Send + Sync {
    /// What to call it in errors.
    fn source(&self) -> String;

    /// The names of the splits that have judgments, in ascending order.
    fn splits(&self) -> Vec<String>;

    /// The queries of all splits, and those without judgments, in the order of the file.
    ///
    /// # Errors
    /// When they cannot be read.
    fn all_queries(&self) -> Result<Vec<Query>, DataError>;

    /// The judgments of a split.
    ///
    /// # Errors
    /// When there is no such split, or it cannot be read.
    fn qrels(&self, split: &str) -> Result<Qrels, DataError>;
}

/// A test collection.
///
/// Documents are read anew each time they are asked for; queries and judgments likewise, split by
/// split.
///
/// ```
/// use ir_core::Corpus;
/// let collection = ir_data::catalogue::open("bundled")?;
/// let queries = collection.queries("test")?;
/// let qrels = collection.qrels("test")?;
/// assert_eq!(queries.len(), qrels.len());
/// let first = collection.corpus().docs()?.next().transpose()?;
/// assert!(first.is_some_and(|doc| !doc.text.is_empty()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Collection {
    name: String,
    corpus: Box<dyn Corpus>,
    judged: Box<dyn Judged>,
    notes: Vec<String>,
}

impl fmt::Debug for Collection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Collection")
            .field("name", &self.name)
            .field("splits", &self.splits())
            .field("notes", &self.notes)
            .finish_non_exhaustive()
    }
}

impl Collection {
    /// A collection of these documents, queries and judgments.
    pub fn new(
        name: impl Into<String>,
        corpus: impl Corpus + 'static,
        judged: impl Judged + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            corpus: Box::new(corpus),
            judged: Box::new(judged),
            notes: Vec::new(),
        }
    }

    /// With remarks that a user should know of.
    #[must_use]
    pub fn with_notes(mut self, notes: impl IntoIterator<Item = String>) -> Self {
        self.notes.extend(notes);
        self
    }

    /// What the collection is called.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The documents.
    #[must_use]
    pub fn corpus(&self) -> &dyn Corpus {
        &*self.corpus
    }

    /// What a user should know: repeated ids, judged documents that are not there, ...
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The names of the splits that have judgments, in ascending order. There may be none.
    #[must_use]
    pub fn splits(&self) -> Vec<String> {
        self.judged.splits()
    }

    /// The queries that are judged in a split, in the order of the file.
    ///
    /// # Errors
    /// When there is no such split, a file is not as it should be, or a judged query has no text.
    pub fn queries(&self, split: &str) -> Result<Vec<Query>, DataError> {
        let qrels = self.judged.qrels(split)?;
        let mut queries = self.judged.all_queries()?;
        queries.retain(|query| qrels.get(&query.id).is_some());
        if queries.len() < qrels.len() {
            let there: HashSet<&str> = queries.iter().map(|query| query.id.as_str()).collect();
            let mut missing = qrels.iter().filter(|(query, _)| !there.contains(query));
            if let Some((query, _)) = missing.next() {
                return Err(DataError::JudgedQueryMissing {
                    path: self.judged.source(),
                    missing: 1 + missing.count() as u64,
                    query: query.to_owned(),
                });
            }
        }
        Ok(queries)
    }

    /// All queries, judged or not, in the order of the file.
    ///
    /// # Errors
    /// When a file is not as it should be.
    pub fn all_queries(&self) -> Result<Vec<Query>, DataError> {
        self.judged.all_queries()
    }

    /// The judgments of a split.
    ///
    /// # Errors
    /// When there is no such split, or a file is not as it should be.
    pub fn qrels(&self, split: &str) -> Result<Qrels, DataError> {
        self.judged.qrels(split)
    }
}

/// Queries and judgments in memory.
#[derive(Debug, Clone, Default)]
pub struct JudgedInMemory {
    /// The queries of all splits.
    pub queries: Vec<Query>,
    /// The judgments, by the name of the split.
    pub qrels: BTreeMap<String, Qrels>,
}

impl Judged for JudgedInMemory {
    fn source(&self) -> String {
        "memory".to_owned()
    }

    fn splits(&self) -> Vec<String> {
        self.qrels.keys().cloned().collect()
    }

    fn all_queries(&self) -> Result<Vec<Query>, DataError> {
        Ok(self.queries.clone())
    }

    fn qrels(&self, split: &str) -> Result<Qrels, DataError> {
        self.qrels
            .get(split)
            .cloned()
            .ok_or_else(|| DataError::UnknownSplit {
                collection: self.source(),
                split: split.to_owned(),
                known: self.splits(),
            })
    }
}

/// A corpus of which it is known how many documents it has: reading another number of them is an
/// error at the end.
#[derive(Debug, Clone)]
pub struct Counted<C> {
    corpus: C,
    name: String,
    expected: u64,
}

impl<C: Corpus> Counted<C> {
    /// `corpus`, called `name` in errors, of `expected` documents.
    pub fn new(corpus: C, name: impl Into<String>, expected: u64) -> Self {
        Self {
            corpus,
            name: name.into(),
            expected,
        }
    }
}

impl<C: Corpus> Corpus for Counted<C> {
    fn open(&self) -> Result<Box<dyn DocReader + '_>, CorpusError> {
        Ok(Box::new(CountedReader {
            reader: self.corpus.open()?,
            name: &self.name,
            expected: self.expected,
            found: 0,
        }))
    }

    fn len_hint(&self) -> Option<u64> {
        Some(self.expected)
    }
}

struct CountedReader<'a> {
    reader: Box<dyn DocReader + 'a>,
    name: &'a str,
    expected: u64,
    found: u64,
}

impl DocReader for CountedReader<'_> {
    fn read(&mut self, doc: &mut Document) -> Result<bool, CorpusError> {
        if self.reader.read(doc)? {
            self.found += 1;
            return Ok(true);
        }
        if self.found == self.expected {
            return Ok(false);
        }
        Err(DataError::Count {
            path: self.name.to_owned(),
            what: "documents",
            expected: self.expected,
            found: self.found,
        }
        .into())
    }
}
