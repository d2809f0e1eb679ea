use std::collections::HashSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::run::ScoredDoc;

/// Order of the documents of a run where ranks matter: pools, overlap, interleaving, comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunOrder {
    /// Score descending, then document id descending, as in trec_eval; the order of the lines is
    /// ignored.
    #[default]
    Score,
    /// Order of the file.
    File,
}

impl fmt::Display for RunOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Score => "score then id descending",
            Self::File => "as the run lists them",
        })
    }
}

impl RunOrder {
    /// Returns the documents of a query in this order. A repeated document is kept at its first
    /// rank only. NaN scores rank last.
    ///
    /// ```
    /// use ir_core::{RunOrder, Run};
    /// let mut run = Run::new("a");
    /// for (doc, score) in [("x", 1.0), ("y", 1.0), ("z", 2.0)] { run.push("q", doc, score); }
    /// let docs = |order: RunOrder| -> String {
    ///     let list = run.get("q").unwrap_or_default();
    ///     order.ranked(list).iter().map(|scored| scored.doc.as_str()).collect()
    /// };
    /// assert_eq!(docs(RunOrder::Score), "zyx");
    /// assert_eq!(docs(RunOrder::File), "xyz");
    /// ```
    #[must_use]
    pub fn ranked(self, list: &[ScoredDoc]) -> Vec<&ScoredDoc> {
        let mut ordered: Vec<&ScoredDoc> = list.iter().collect();
        if self == Self::Score {
            // Adding 0 makes 0 of -0, which `total_cmp` tells apart.
            let key = |scored: &ScoredDoc| match scored.score {
                score if score.is_nan() => (0, 0.0),
                score => (1, score + 0.0),
            };
            ordered.sort_by(|a, b| {
                let ((a_real, a_score), (b_real, b_score)) = (key(a), key(b));
                let by_score = b_real.cmp(&a_real).then(b_score.total_cmp(&a_score));
                by_score.then_with(|| b.doc.cmp(&a.doc))
            });
        }
        let mut seen = HashSet::with_capacity(ordered.len());
        ordered.retain(|scored| seen.insert(scored.doc.as_str()));
        ordered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_zero_and_repeated_documents() {
        let scored = |doc: &str, score| ScoredDoc {
            doc: doc.to_owned(),
            score,
        };
        let list = [
            scored("a", f64::NAN),
            scored("b", -0.0),
            scored("c", 0.0),
            scored("d", f64::NEG_INFINITY),
            scored("c", 7.0),
        ];
        let docs = |order: RunOrder| -> String {
            let ordered = order.ranked(&list);
            ordered.iter().map(|scored| scored.doc.as_str()).collect()
        };
        assert_eq!(docs(RunOrder::Score), "cbda");
        assert_eq!(docs(RunOrder::File), "abcd");
    }
}
