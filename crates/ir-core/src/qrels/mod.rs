//! Relevance judgments.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

mod judged_docs;
mod stratified;
mod subtopics;

pub use judged_docs::JudgedDocs;
pub use stratified::StratifiedQrels;
pub use subtopics::SubtopicQrels;

/// A relevance grade: 0 not relevant, higher is more relevant, negative in the pool but not judged.
pub type Grade = i64;

/// Where relevance judgments come from: [`Qrels`], a database, an annotation tool.
pub trait Judgments: Send + Sync {
    /// The queries that have judgments, in ascending byte order.
    fn queries(&self) -> Box<dyn Iterator<Item = &str> + '_>;

    /// The judged documents of a query and their grades, in ascending byte order of the ids.
    fn judged(&self, query: &str) -> Box<dyn Iterator<Item = (&str, Grade)> + '_>;

    /// The grade of one document; `None` when it was not judged.
    fn grade(&self, query: &str, doc: &str) -> Option<Grade>;

    /// The stratum from which a document was sampled for judging, where there are strata
    /// ([`StratifiedQrels`](crate::StratifiedQrels)); the others make up one.
    fn stratum(&self, _query: &str, _doc: &str) -> Option<&str> {
        None
    }

    /// The judgments of the subtopics of a query: document, subtopic, grade, by ascending document.
    /// `None` when judgments are of whole queries, which they are but for
    /// [`SubtopicQrels`](crate::SubtopicQrels).
    fn subtopics(
        &self,
        _query: &str,
    ) -> Option<Box<dyn Iterator<Item = (&str, &str, Grade)> + '_>> {
        None
    }
}

/// Relevance judgments in memory: query id, document id, grade.
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
    /// No judgments.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Judgments that are at hand.
    pub(crate) fn from_lists(queries: BTreeMap<String, JudgedDocs>) -> Self {
        Self { queries }
    }

    /// Records a judgment and gives the earlier one of the same pair, which it replaces. Documents
    /// that come in ascending order of their ids take the least memory.
    pub fn insert(&mut self, query: &str, doc: &str, grade: Grade) -> Option<Grade> {
        if !self.queries.contains_key(query) {
            let none = JudgedDocs::default();
            self.queries.insert(query.to_owned(), none);
        }
        self.queries.get_mut(query)?.insert(doc, grade)
    }

    /// The grade of one document; `None` when it was not judged.
    #[must_use]
    pub fn grade(&self, query: &str, doc: &str) -> Option<Grade> {
        self.queries.get(query)?.get(doc)
    }

    /// The judgments of one query, by document id.
    #[must_use]
    pub fn get(&self, query: &str) -> Option<&JudgedDocs> {
        self.queries.get(query)
    }

    /// All judgments, by query id.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &JudgedDocs)> {
        self.queries
            .iter()
            .map(|(query, judged)| (query.as_str(), judged))
    }

    /// How many queries have judgments.
    #[must_use]
    pub fn len(&self) -> usize {
        self.queries.len()
    }

    /// Whether there are no judgments.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.queries.is_empty()
    }

    /// How many judgments there are in all.
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
        Box::new(self.queries.get(query).into_iter().flatten())
    }

    fn grade(&self, query: &str, doc: &str) -> Option<Grade> {
        self.grade(query, doc)
    }
}
