//! Judgments with one more column: the stratum a document was sampled from, or the subtopic it was
//! judged for.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Grade, Judgments, Qrels};

/// Judgments of a sample: query id, document id, stratum, grade.
///
/// The documents of a pool are divided into strata, say by how many systems found them how early,
/// and of each stratum a part is judged. The others are recorded with a negative grade, so that
/// measures such as `xinfAP` can scale up what was found.
///
/// ```
/// use ir_core::{Judgments, StratifiedQrels};
/// let mut qrels = StratifiedQrels::new();
/// qrels.insert("q1", "d1", "top", 2);
/// qrels.insert("q1", "d2", "rest", -1);
/// assert_eq!(qrels.stratum("q1", "d2"), Some("rest"));
/// assert_eq!(qrels.qrels().grade("q1", "d2"), Some(-1));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StratifiedQrels {
    qrels: Qrels,
    strata: BTreeMap<String, BTreeMap<String, String>>,
}

impl StratifiedQrels {
    /// No judgments.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Records a judgment, or that a document was not judged (a negative grade), in place of an
    /// earlier record of the same query and document, whose grade it gives.
    pub fn insert(&mut self, query: &str, doc: &str, stratum: &str, grade: Grade) -> Option<Grade> {
        let strata = match self.strata.get_mut(query) {
            Some(strata) => strata,
            None => self.strata.entry(query.to_owned()).or_default(),
        };
        strata.insert(doc.to_owned(), stratum.to_owned());
        self.qrels.insert(query, doc, grade)
    }

    /// The judgments without their strata.
    #[must_use]
    pub const fn qrels(&self) -> &Qrels {
        &self.qrels
    }

    /// The judgments of one query, by document id: id, stratum, grade.
    pub fn of(&self, query: &str) -> impl Iterator<Item = (&str, &str, Grade)> {
        let strata = self.strata.get(query).into_iter().flatten();
        let grades = self.qrels.get(query).into_iter().flatten();
        strata
            .zip(grades)
            .map(|((doc, stratum), (_, grade))| (doc.as_str(), stratum.as_str(), grade))
    }
}

impl Judgments for StratifiedQrels {
    fn queries(&self) -> Box<dyn Iterator<Item = &str> + '_> {
        self.qrels.queries()
    }

    fn judged(&self, query: &str) -> Box<dyn Iterator<Item = (&str, Grade)> + '_> {
        self.qrels.judged(query)
    }

    fn grade(&self, query: &str, doc: &str) -> Option<Grade> {
        self.qrels.grade(query, doc)
    }

    fn stratum(&self, query: &str, doc: &str) -> Option<&str> {
        self.strata.get(query)?.get(doc).map(String::as_str)
    }
}

/// Judgments of the subtopics of a query, as diversity tasks have them: query id, subtopic, document
/// id, grade. A document can be judged for any number of subtopics.
///
/// Measures that know nothing of subtopics see the highest grade of each document.
///
/// ```
/// use ir_core::SubtopicQrels;
/// let mut qrels = SubtopicQrels::new();
/// qrels.insert("q1", "jaguar the cat", "d1", 0);
/// qrels.insert("q1", "jaguar the car", "d1", 2);
/// assert_eq!(qrels.grade("q1", "jaguar the car", "d1"), Some(2));
/// assert_eq!(qrels.qrels().grade("q1", "d1"), Some(2));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubtopicQrels {
    qrels: Qrels,
    /// By query and document.
    subtopics: BTreeMap<String, BTreeMap<String, BTreeMap<String, Grade>>>,
}

impl SubtopicQrels {
    /// No judgments.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Records a judgment and gives the earlier grade of the same query, subtopic and document,
    /// which it replaces.
    pub fn insert(
        &mut self,
        query: &str,
        subtopic: &str,
        doc: &str,
        grade: Grade,
    ) -> Option<Grade> {
        let docs = match self.subtopics.get_mut(query) {
            Some(docs) => docs,
            None => self.subtopics.entry(query.to_owned()).or_default(),
        };
        let grades = docs.entry(doc.to_owned()).or_default();
        let earlier = grades.insert(subtopic.to_owned(), grade);
        let highest = grades.values().copied().max().unwrap_or(grade);
        self.qrels.insert(query, doc, highest);
        earlier
    }

    /// One judgment.
    #[must_use]
    pub fn grade(&self, query: &str, subtopic: &str, doc: &str) -> Option<Grade> {
        let docs = self.subtopics.get(query)?;
        docs.get(doc)?.get(subtopic).copied()
    }

    /// The highest grade of each document over its subtopics.
    #[must_use]
    pub const fn qrels(&self) -> &Qrels {
        &self.qrels
    }
}

impl Judgments for SubtopicQrels {
    fn queries(&self) -> Box<dyn Iterator<Item = &str> + '_> {
        self.qrels.queries()
    }

    fn judged(&self, query: &str) -> Box<dyn Iterator<Item = (&str, Grade)> + '_> {
        self.qrels.judged(query)
    }

    fn grade(&self, query: &str, doc: &str) -> Option<Grade> {
        self.qrels.grade(query, doc)
    }

    fn subtopics(&self, query: &str) -> Option<Box<dyn Iterator<Item = (&str, &str, Grade)> + '_>> {
        let docs = self.subtopics.get(query).into_iter().flatten();
        Some(Box::new(docs.flat_map(|(doc, grades)| {
            let grades = grades.iter();
            grades.map(move |(subtopic, &grade)| (doc.as_str(), subtopic.as_str(), grade))
        })))
    }
}
