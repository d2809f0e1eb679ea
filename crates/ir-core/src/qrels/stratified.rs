use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Grade, Judgments, Qrels};

/// Judgments of a stratified sample: query id, document id, stratum, grade.
///
/// The pool is divided into strata, for example by the number of systems that retrieved a document,
/// and a fraction of each stratum is judged. Unjudged documents are listed with a negative grade,
/// so that measures such as `xinfAP` can extrapolate.
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
    /// Creates an empty set of judgments.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Inserts a judgment, or an unjudged document (negative grade). Returns the grade that it
    /// replaces.
    pub fn insert(&mut self, query: &str, doc: &str, stratum: &str, grade: Grade) -> Option<Grade> {
        let strata = match self.strata.get_mut(query) {
            Some(strata) => strata,
            None => self.strata.entry(query.to_owned()).or_default(),
        };
        strata.insert(doc.to_owned(), stratum.to_owned());
        self.qrels.insert(query, doc, grade)
    }

    /// Returns the judgments without strata.
    #[must_use]
    pub const fn qrels(&self) -> &Qrels {
        &self.qrels
    }

    /// Iterates over the judgments of a query by document id: id, stratum, grade.
    pub fn get(&self, query: &str) -> impl Iterator<Item = (&str, &str, Grade)> {
        let strata = self.strata.get(query).into_iter().flatten();
        let grades = self.qrels.get(query).into_iter().flatten();
        strata
            .zip(grades)
            .map(|((doc, stratum), (_, grade))| (doc.as_str(), stratum.as_str(), grade))
    }
}

impl Judgments for StratifiedQrels {
    answer_from_qrels!();

    fn stratum(&self, query: &str, doc: &str) -> Option<&str> {
        self.strata.get(query)?.get(doc).map(String::as_str)
    }
}
