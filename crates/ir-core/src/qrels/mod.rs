//! Relevance judgments (qrels), per query, stratum or subtopic.
//!
//! Strata and subtopics are not columns of [`Qrels`], because most judgments have none:
//! [`Judgments`] has defaults, which [`StratifiedQrels`] and [`SubtopicQrels`] override.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Methods of [`Judgments`] that the field `qrels` answers.
macro_rules! answer_from_qrels {
    () => {
        fn queries(&self) -> Box<dyn Iterator<Item = &str> + '_> {
            self.qrels.queries()
        }

        fn judged(&self, query: &str) -> Box<dyn Iterator<Item = (&str, Grade)> + '_> {
            self.qrels.judged(query)
        }

        fn grade(&self, query: &str, doc: &str) -> Option<Grade> {
            self.qrels.grade(query, doc)
        }
    };
}

mod judged_docs;
mod stratified;
mod subtopics;

pub use judged_docs::JudgedDocs;
pub use stratified::StratifiedQrels;
pub use subtopics::SubtopicQrels;

/// Relevance grade: 0 is not relevant, higher is more relevant, negative is pooled but not judged.
pub type Grade = i64;

/// Source of relevance judgments: [`Qrels`], a database, an annotation tool.
pub trait Judgments: Send + Sync {
    /// Iterates over the judged queries in ascending byte order.
    fn queries(&self) -> Box<dyn Iterator<Item = &str> + '_>;

    /// Iterates over the judged documents of a query and their grades, in ascending byte order of
    /// the ids.
    fn judged(&self, query: &str) -> Box<dyn Iterator<Item = (&str, Grade)> + '_>;

    /// Returns the grade of a document; `None` if unjudged.
    fn grade(&self, query: &str, doc: &str) -> Option<Grade>;

    /// Returns the stratum from which a document was sampled for judging, for stratified samples
    /// ([`StratifiedQrels`]). Documents without a stratum form one stratum.
    fn stratum(&self, _query: &str, _doc: &str) -> Option<&str> {
        None
    }

    /// Iterates over the subtopic judgments of a query: document, subtopic, grade, in ascending
    /// order of the documents. `None` if judgments are per query, as in all but [`SubtopicQrels`].
    fn subtopics(
        &self,
        _query: &str,
    ) -> Option<Box<dyn Iterator<Item = (&str, &str, Grade)> + '_>> {
        None
    }
}

/// In-memory relevance judgments: query id, document id, grade.
///
/// ```
/// use ir_core::Qrels;
/// let mut qrels = Qrels::new();
/// qrels.insert("q1", "d3", 2);
/// assert_eq!(qrels.grade("q1", "d3"), Some(2));
/// assert_eq!(qrels.grade("q1", "d4"), None);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Qrels {
    queries: BTreeMap<String, JudgedDocs>,
}

impl Qrels {
    /// Creates an empty set of judgments.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    pub(crate) fn from_lists(queries: BTreeMap<String, JudgedDocs>) -> Self {
        Self { queries }
    }

    /// Inserts a judgment and returns the grade that it replaces. Insertion in ascending order of
    /// document ids is the most memory-efficient.
    pub fn insert(&mut self, query: &str, doc: &str, grade: Grade) -> Option<Grade> {
        if !self.queries.contains_key(query) {
            let none = JudgedDocs::default();
            self.queries.insert(query.to_owned(), none);
        }
        self.queries.get_mut(query)?.insert(doc, grade)
    }

    /// Returns the grade of a document; `None` if unjudged.
    #[must_use]
    pub fn grade(&self, query: &str, doc: &str) -> Option<Grade> {
        self.queries.get(query)?.get(doc)
    }

    /// Returns the judgments of a query, by document id.
    #[must_use]
    pub fn get(&self, query: &str) -> Option<&JudgedDocs> {
        self.queries.get(query)
    }

    /// Iterates over all judgments by query id.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &JudgedDocs)> {
        self.queries
            .iter()
            .map(|(query, judged)| (query.as_str(), judged))
    }

    crate::query_count!("judged queries");

    /// Returns the total number of judgments.
    #[must_use]
    pub fn judgments(&self) -> usize {
        self.queries.values().map(JudgedDocs::len).sum()
    }
}

impl Judgments for Qrels {
    fn queries(&self) -> Box<dyn Iterator<Item = &str> + '_> {
        Box::new(self.queries.keys().map(String::as_str))
    }

    fn judged(&self, query: &str) -> Box<dyn Iterator<Item = (&str, Grade)> + '_> {
        match self.queries.get(query) {
            Some(docs) => docs.iter(),
            None => Box::new(std::iter::empty()),
        }
    }

    fn grade(&self, query: &str, doc: &str) -> Option<Grade> {
        self.grade(query, doc)
    }
}
