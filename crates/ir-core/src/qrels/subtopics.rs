use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Grade, Judgments, Qrels};

/// Subtopic judgments of a diversity task: query id, subtopic, document id, grade.
///
/// A document may be judged for any number of subtopics. Measures without subtopics use the highest
/// grade of each document.
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
    /// Grades by query, document and subtopic.
    subtopics: BTreeMap<String, BTreeMap<String, BTreeMap<String, Grade>>>,
}

impl SubtopicQrels {
    /// Creates an empty set of judgments.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Inserts a judgment and returns the grade that it replaces.
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

    /// Returns the grade of a document for a subtopic.
    #[must_use]
    pub fn grade(&self, query: &str, subtopic: &str, doc: &str) -> Option<Grade> {
        let docs = self.subtopics.get(query)?;
        docs.get(doc)?.get(subtopic).copied()
    }

    /// Returns the highest grade of each document over its subtopics.
    #[must_use]
    pub const fn qrels(&self) -> &Qrels {
        &self.qrels
    }
}

impl Judgments for SubtopicQrels {
    answer_from_qrels!();

    fn subtopics(&self, query: &str) -> Option<Box<dyn Iterator<Item = (&str, &str, Grade)> + '_>> {
        let docs = self.subtopics.get(query).into_iter().flatten();
        Some(Box::new(docs.flat_map(|(doc, grades)| {
            let grades = grades.iter();
            grades.map(move |(subtopic, &grade)| (doc.as_str(), subtopic.as_str(), grade))
        })))
    }
}
