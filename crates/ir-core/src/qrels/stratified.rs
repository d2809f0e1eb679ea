//! Judgments with one more column: the stratum a document was sampled from, or the subtopic it was
//! judged for.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Grade, Judgments, Qrels};

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
    pub fn get(&self, query: &str) -> impl Iterator<Item = (&str, &str, Grade)> {
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
