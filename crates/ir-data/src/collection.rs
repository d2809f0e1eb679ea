use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;

use ir_core::{Corpus, CorpusError, DocReader, Document, Qrels, Query, Skipped};

use crate::error::{DataError, check_count};

/// Queries and judgments of a collection by split, for example of a
/// [BEIR folder](crate::beir::BeirFolder) or [in memory](InMemoryJudgedQueries).
pub trait JudgedQueries: Send + Sync {
    /// Name of the source in errors.
    fn source(&self) -> String;

    /// Names of the splits with judgments, in ascending order.
    fn splits(&self) -> Vec<String>;

    /// Queries of all splits and queries without judgments, in file order.
    ///
    /// # Errors
    /// The queries cannot be read.
    fn all_queries(&self) -> Result<Vec<Query>, DataError>;

    /// Judgments of a split.
    ///
    /// # Errors
    /// There is no such split, or its judgments cannot be read.
    fn qrels(&self, split: &str) -> Result<Qrels, DataError>;

    /// Number of training queries of the files that a split leaves out, because they equal a test
    /// query. Default: 0.
    ///
    /// # Errors
    /// There is no such split, or its judgments cannot be read.
    fn left_out(&self, _split: &str) -> Result<u64, DataError> {
        Ok(0)
    }

    /// Relevant documents of each query of a split, in the order of the file. Default: empty, the
    /// format has no order.
    ///
    /// # Errors
    /// There is no such split, or its judgments cannot be read.
    fn relevant_in_file_order(
        &self,
        _split: &str,
    ) -> Result<HashMap<String, Vec<String>>, DataError> {
        Ok(HashMap::new())
    }
}

/// Test collection: documents, and queries and judgments by split.
///
/// Every call reads the files again; nothing is cached.
///
/// ```
/// use ir_core::Corpus;
/// let collection = ir_data::catalog::open("bundled")?;
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
    judged: Box<dyn JudgedQueries>,
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
    /// Creates a collection of documents, queries and judgments.
    pub fn new(
        name: impl Into<String>,
        corpus: impl Corpus + 'static,
        judged: impl JudgedQueries + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            corpus: Box::new(corpus),
            judged: Box::new(judged),
            notes: Vec::new(),
        }
    }

    /// Adds notes for users; see [`Collection::notes`].
    #[must_use]
    pub fn with_notes(mut self, notes: impl IntoIterator<Item = String>) -> Self {
        self.notes.extend(notes);
        self
    }

    /// Name of the collection.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Documents of the collection.
    #[must_use]
    pub fn corpus(&self) -> &dyn Corpus {
        &*self.corpus
    }

    /// Notes for users: duplicate ids, judged documents that are not in the corpus, ...
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Names of the splits with judgments, in ascending order; possibly none.
    #[must_use]
    pub fn splits(&self) -> Vec<String> {
        self.judged.splits()
    }

    /// Queries with judgments in a split, in file order.
    ///
    /// # Errors
    /// There is no such split, a file is invalid, or a judged query has no text.
    pub fn queries(&self, split: &str) -> Result<Vec<Query>, DataError> {
        let qrels = self.qrels(split)?;
        let mut queries = self.judged.all_queries()?;
        queries.retain(|query| qrels.get(&query.id).is_some());
        if queries.len() < qrels.len() {
            let found: HashSet<&str> = queries.iter().map(|query| query.id.as_str()).collect();
            let mut missing = qrels.iter().filter(|(query, _)| !found.contains(query));
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

    /// Note for users about training queries that a split leaves out, because they equal a test
    /// query; `None` if there are none.
    ///
    /// # Errors
    /// There is no such split, or a file is invalid.
    pub fn left_out_note(&self, split: &str) -> Result<Option<String>, DataError> {
        let count = self.judged.left_out(split)?;
        let queries = if count == 1 { "query" } else { "queries" };
        let note = || format!("{count} {queries} of split {split} left out: equal to a test query");
        Ok((count > 0).then(note))
    }

    /// Relevant documents of each query of a split, in the order of the file. Empty if the format
    /// of the judgments has no order.
    ///
    /// # Errors
    /// There is no such split, or a file is invalid.
    pub fn relevant_in_file_order(
        &self,
        split: &str,
    ) -> Result<HashMap<String, Vec<String>>, DataError> {
        self.judged.relevant_in_file_order(split)
    }

    /// All queries, judged or not, in file order.
    ///
    /// # Errors
    /// A file is invalid.
    pub fn all_queries(&self) -> Result<Vec<Query>, DataError> {
        self.judged.all_queries()
    }

    /// Judgments of a split.
    ///
    /// # Errors
    /// There is no such split, or a file is invalid.
    pub fn qrels(&self, split: &str) -> Result<Qrels, DataError> {
        self.judged.qrels(split).map_err(|error| match error {
            // The judgments may not know the name of the collection.
            DataError::UnknownSplit { split, known, .. } => DataError::UnknownSplit {
                collection: self.name.clone(),
                split,
                known,
            },
            other => other,
        })
    }
}

/// Queries and judgments in memory.
#[derive(Debug, Clone, Default)]
pub struct InMemoryJudgedQueries {
    /// Queries of all splits.
    pub queries: Vec<Query>,
    /// Judgments by name of the split.
    pub qrels: BTreeMap<String, Qrels>,
}

impl JudgedQueries for InMemoryJudgedQueries {
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
        value_of_split(&self.qrels, split, &self.source()).cloned()
    }
}

/// Returns an error unless `split` is one of the splits of `judged`.
pub(crate) fn check_split(judged: &dyn JudgedQueries, split: &str) -> Result<(), DataError> {
    let known: BTreeMap<_, _> = judged.splits().into_iter().map(|name| (name, ())).collect();
    value_of_split(&known, split, &judged.source()).copied()
}

/// Returns the value of a split, or an error if the collection has no such split.
pub(crate) fn value_of_split<'a, T>(
    splits: &'a BTreeMap<String, T>,
    split: &str,
    collection: &str,
) -> Result<&'a T, DataError> {
    splits.get(split).ok_or_else(|| DataError::UnknownSplit {
        collection: collection.to_owned(),
        split: split.to_owned(),
        known: splits.keys().cloned().collect(),
    })
}

/// Collects the documents that `read` returns until `false`.
pub(crate) fn collect_documents(
    mut read: impl FnMut(&mut Document) -> Result<bool, DataError>,
) -> Result<Vec<Document>, DataError> {
    let mut docs = Vec::new();
    let mut doc = Document::default();
    while read(&mut doc)? {
        docs.push(std::mem::take(&mut doc));
    }
    Ok(docs)
}

/// Converts a record into a query. A title becomes the attribute `title`.
pub(crate) fn query_from_document(doc: Document) -> Query {
    let mut query = Query::new(doc.id, doc.text);
    query.attributes = doc.attributes;
    if !doc.title.is_empty() {
        query.attributes.set("title", doc.title);
    }
    query
}

/// Corpus with a known number of documents. A reader returns an error at the end if the number
/// differs.
#[derive(Debug, Clone)]
pub struct CountedCorpus<C> {
    corpus: C,
    name: String,
    expected: u64,
}

impl<C: Corpus> CountedCorpus<C> {
    /// Wraps a corpus of `expected` documents; `name` names it in errors.
    pub fn new(corpus: C, name: impl Into<String>, expected: u64) -> Self {
        Self {
            corpus,
            name: name.into(),
            expected,
        }
    }
}

impl<C: Corpus> Corpus for CountedCorpus<C> {
    fn open(&self) -> Result<Box<dyn DocReader + '_>, CorpusError> {
        Ok(Box::new(CountedCorpusReader {
            reader: self.corpus.open()?,
            name: &self.name,
            expected: self.expected,
            found: 0,
        }))
    }

    fn len_hint(&self) -> Option<u64> {
        Some(self.expected)
    }

    fn skipped(&self) -> Skipped {
        self.corpus.skipped()
    }
}

struct CountedCorpusReader<'a> {
    reader: Box<dyn DocReader + 'a>,
    name: &'a str,
    expected: u64,
    found: u64,
}

impl DocReader for CountedCorpusReader<'_> {
    fn read(&mut self, doc: &mut Document) -> Result<bool, CorpusError> {
        if self.reader.read(doc)? {
            self.found += 1;
            return Ok(true);
        }
        check_count(self.name, "documents", self.expected, self.found)?;
        Ok(false)
    }
}
