//! Recall by training frequency of the relevant documents.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use ir_core::{Grade, Judgments, Run, RunOrder};
use serde::{Deserialize, Serialize};

/// Range of training frequencies, bounds included. Parsed and displayed as `6-20`; `501-` has no
/// upper bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FrequencyBucket {
    /// Lowest frequency of the range.
    pub least: u64,
    /// Highest frequency of the range.
    pub most: u64,
}

impl FrequencyBucket {
    /// Buckets of DataFinder's published evaluation (Viswanathan et al., ACL 2023).
    pub const DATAFINDER: [Self; 6] = [
        Self::new(501, 2500),
        Self::new(101, 500),
        Self::new(51, 100),
        Self::new(21, 50),
        Self::new(6, 20),
        Self::new(1, 5),
    ];

    /// Creates the range `least..=most`.
    #[must_use]
    pub const fn new(least: u64, most: u64) -> Self {
        Self { least, most }
    }

    /// Returns `true` if a frequency is in the range.
    #[must_use]
    pub const fn contains(&self, frequency: u64) -> bool {
        self.least <= frequency && frequency <= self.most
    }
}

impl fmt::Display for FrequencyBucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.most {
            u64::MAX => write!(f, "{}-", self.least),
            most => write!(f, "{}-{most}", self.least),
        }
    }
}

/// Error parsing a [`FrequencyBucket`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected a range of counts such as 6-20 or 501-, found {found:?}")]
pub struct ParseFrequencyBucketError {
    /// Text that was parsed.
    pub found: String,
}

impl FromStr for FrequencyBucket {
    type Err = ParseFrequencyBucketError;

    fn from_str(text: &str) -> Result<Self, ParseFrequencyBucketError> {
        let expected = || ParseFrequencyBucketError {
            found: text.to_owned(),
        };
        let (least, most) = text.split_once('-').ok_or_else(expected)?;
        let number = |text: &str| text.trim().parse::<u64>().map_err(|_| expected());
        let least = number(least)?;
        let most = match most.trim() {
            "" => u64::MAX,
            most => number(most)?,
        };
        if least > most {
            return Err(expected());
        }
        Ok(Self { least, most })
    }
}

/// Recall by training frequency: how often a document occurs in the training data.
///
/// For each query and bucket with a relevant document: the fraction of these documents among the
/// top R of the list, where R is the number of *all* relevant documents of the query. The recall of
/// a bucket is the mean over these queries; queries without results count as 0.
///
/// ```
/// use std::collections::BTreeMap;
/// use ir_core::{Qrels, Run};
/// use ir_eval::assess::{FrequencyBucket, RecallByFrequency};
/// let mut qrels = Qrels::new();
/// qrels.insert("q1", "often", 1);
/// qrels.insert("q1", "seldom", 1);
/// let mut run = Run::new("mine");
/// run.push("q1", "often", 2.0);
/// run.push("q1", "other", 1.0);
/// run.push("q1", "seldom", 0.5);
///
/// let counts = BTreeMap::from([("often".to_owned(), 30), ("seldom".to_owned(), 3)]);
/// let recall = RecallByFrequency::default().evaluate(&qrels, &run, &counts);
/// // Two documents are relevant, so the first two of the list count.
/// let at = |bucket: &str| recall.iter().find(|r| r.bucket.to_string() == bucket);
/// assert_eq!(at("21-50").and_then(|r| r.recall), Some(1.0));
/// assert_eq!(at("1-5").and_then(|r| r.recall), Some(0.0));
/// assert_eq!(at("101-500").and_then(|r| r.recall), None);
/// ```
///
/// # Source
/// Viswanathan et al., "DataFinder: Scientific dataset recommendation from natural language
/// descriptions", ACL 2023, and its published script.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RecallByFrequency {
    /// Frequency ranges. Documents outside all ranges count only for R. Default:
    /// [`FrequencyBucket::DATAFINDER`].
    pub buckets: Vec<FrequencyBucket>,
    /// Order of the documents of each list. Default: file order, as DataFinder does.
    pub order: RunOrder,
    /// Minimum grade of a relevant document. Default: 1.
    pub level: Grade,
}

impl Default for RecallByFrequency {
    fn default() -> Self {
        Self {
            buckets: FrequencyBucket::DATAFINDER.to_vec(),
            order: RunOrder::File,
            level: 1,
        }
    }
}

/// Recall of one [`FrequencyBucket`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FrequencyBucketRecall {
    /// Training frequencies of the bucket.
    pub bucket: FrequencyBucket,
    /// Number of queries with a relevant document in the range.
    pub queries: usize,
    /// Number of these documents, over all queries.
    pub relevant: usize,
    /// Number of retrieved documents among them.
    pub found: usize,
    /// Mean recall over the queries; `None` without queries.
    pub recall: Option<f64>,
}

impl RecallByFrequency {
    /// Computes the recall of each bucket, in order. `counts` maps documents to training
    /// frequencies; absent documents have frequency 0.
    #[must_use]
    pub fn evaluate(
        &self,
        qrels: &dyn Judgments,
        run: &Run,
        counts: &BTreeMap<String, u64>,
    ) -> Vec<FrequencyBucketRecall> {
        let empty = |&bucket: &FrequencyBucket| FrequencyBucketRecall {
            bucket,
            queries: 0,
            relevant: 0,
            found: 0,
            recall: None,
        };
        let mut recalls: Vec<FrequencyBucketRecall> = self.buckets.iter().map(empty).collect();
        let mut sums = vec![0.0; recalls.len()];
        for query in qrels.queries() {
            let relevant = qrels
                .judged(query)
                .filter(|&(_, grade)| grade >= self.level);
            let relevant: Vec<&str> = relevant.map(|(doc, _)| doc).collect();
            let list = self.order.ranked(run.get(query).unwrap_or_default());
            let top = list.into_iter().take(relevant.len());
            let top: BTreeSet<&str> = top.map(|scored| scored.doc.as_str()).collect();
            for (recall, sum) in recalls.iter_mut().zip(&mut sums) {
                let mut here = relevant.clone();
                here.retain(|&doc| {
                    let count = counts.get(doc).copied().unwrap_or(0);
                    recall.bucket.contains(count)
                });
                if here.is_empty() {
                    continue;
                }
                let found = here.iter().filter(|doc| top.contains(*doc)).count();
                recall.queries += 1;
                recall.relevant += here.len();
                recall.found += found;
                *sum += found as f64 / here.len() as f64;
            }
        }
        for (recall, sum) in recalls.iter_mut().zip(sums) {
            recall.recall = (recall.queries > 0).then(|| sum / recall.queries as f64);
        }
        recalls
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ir_core::Qrels;

    #[test]
    fn parses_and_prints_ranges() {
        for text in ["6-20", "501-", "0-0"] {
            assert_eq!(text.parse::<FrequencyBucket>().unwrap().to_string(), text);
        }
        for text in ["", "6", "20-6", "a-b", "-5", "1-2-3"] {
            let error = text.parse::<FrequencyBucket>().unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("expected a range of counts such as 6-20 or 501-, found {text:?}")
            );
        }
    }

    #[test]
    fn order_depth_and_queries_without_results() {
        let mut qrels = Qrels::new();
        for doc in ["a", "b", "unseen"] {
            qrels.insert("q1", doc, 1);
        }
        qrels.insert("q1", "c", 0);
        qrels.insert("q2", "a", 2);
        let mut run = Run::new("mine");
        // File order is the reverse of score order.
        for (doc, score) in [("x", 1.0), ("b", 2.0), ("y", 3.0), ("a", 4.0)] {
            run.push("q1", doc, score);
        }
        let counts = [("a", 9), ("b", 2), ("c", 9)].map(|(doc, n)| (doc.to_owned(), n));
        let counts = BTreeMap::from(counts);
        let buckets = vec![
            FrequencyBucket::new(6, u64::MAX),
            FrequencyBucket::new(1, 5),
            FrequencyBucket::new(0, 0),
        ];
        let config = |order, level| RecallByFrequency {
            buckets: buckets.clone(),
            order,
            level,
        };
        let recall = |config: RecallByFrequency| -> Vec<Option<f64>> {
            let recalls = config.evaluate(&qrels, &run, &counts);
            recalls.iter().map(|recall| recall.recall).collect()
        };
        // R = 3 for q1: x, b, y. Nothing for q2.
        let file = recall(config(RunOrder::File, 1));
        assert_eq!(file, [Some(0.0), Some(1.0), Some(0.0)]);
        // a, y, b; q2 counts 0.
        let score = recall(config(RunOrder::Score, 1));
        assert_eq!(score, [Some(0.5), Some(1.0), Some(0.0)]);
        // Only q2 has a document of grade 2.
        let strict = recall(config(RunOrder::Score, 2));
        assert_eq!(strict, [Some(0.0), None, None]);
    }
}
