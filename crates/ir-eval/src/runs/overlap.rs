//! Overlap of the documents that runs retrieve: the counts of a Venn diagram.

use std::collections::BTreeMap;

use ir_core::{Grade, Judgments, Run, RunOrder};
use serde::{Deserialize, Serialize};

/// Options of a [`RunOverlap`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OverlapRules {
    /// Number of top documents of each list. Default: all.
    pub depth: Option<usize>,
    /// Order of the documents of each list. Default: by score.
    pub order: RunOrder,
    /// Minimum grade of a relevant document. Default: 1.
    pub level: Grade,
}

impl Default for OverlapRules {
    fn default() -> Self {
        Self {
            depth: None,
            order: RunOrder::Score,
            level: 1,
        }
    }
}

/// Number of documents that exactly a set of runs retrieves, for every set of runs. Counts are
/// summed over queries: a document that is retrieved for two queries counts twice.
///
/// ```
/// use ir_core::{Qrels, Run};
/// use ir_eval::runs::{RunOverlap, OverlapRules};
/// let (mut a, mut b) = (Run::new("a"), Run::new("b"));
/// for doc in ["x", "y"] { a.push("q1", doc, 1.0); }
/// for doc in ["y", "z"] { b.push("q1", doc, 1.0); }
/// let mut qrels = Qrels::new();
/// qrels.insert("q1", "x", 1);
/// let overlap = RunOverlap::new(&[a, b], Some(&qrels), OverlapRules::default())?;
/// assert_eq!(overlap.union().documents, 3);
/// assert_eq!(overlap.only(0).documents, 1);
/// assert_eq!(overlap.only(0).relevant, Some(1));
/// # Ok::<(), ir_eval::runs::OverlapError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunOverlap {
    /// Tags of the runs.
    pub runs: Vec<String>,
    /// Options of the count.
    pub rules: OverlapRules,
    /// Non-empty regions of the Venn diagram, larger sets of runs first.
    pub regions: Vec<OverlapRegion>,
}

/// Region of the Venn diagram: documents that exactly these runs retrieve.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OverlapRegion {
    /// Indices of the runs, ascending.
    pub runs: Vec<usize>,
    /// Numbers of documents in the region.
    #[serde(flatten)]
    pub count: OverlapCounts,
}

/// Number of retrieved, relevant and judged documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OverlapCounts {
    /// Number of retrieved documents.
    pub documents: u64,
    /// Number of relevant documents; `None` without judgments.
    pub relevant: Option<u64>,
    /// Number of judged documents, relevant or not; `None` without judgments.
    pub judged: Option<u64>,
}

/// Error counting the overlap of runs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OverlapError {
    /// More than [`RunOverlap::MAX_RUNS`] runs.
    #[error("expected at most {} runs, found {found}", RunOverlap::MAX_RUNS)]
    TooMany {
        /// Number of runs that were given.
        found: usize,
    },
}

impl RunOverlap {
    /// Maximum number of runs; there are 2¹⁶ sets of them.
    pub const MAX_RUNS: usize = 16;

    /// Counts the documents of each set of runs; with judgments, also relevant and judged
    /// documents.
    ///
    /// # Errors
    /// When there are more than [`RunOverlap::MAX_RUNS`] runs.
    pub fn new(
        runs: &[Run],
        qrels: Option<&dyn Judgments>,
        rules: OverlapRules,
    ) -> Result<Self, OverlapError> {
        if runs.len() > Self::MAX_RUNS {
            return Err(OverlapError::TooMany { found: runs.len() });
        }
        let mut queries: BTreeMap<&str, BTreeMap<&str, u32>> = BTreeMap::new();
        for (number, run) in runs.iter().enumerate() {
            for (query, list) in run.iter() {
                let docs = queries.entry(query).or_default();
                let depth = rules.depth.unwrap_or(usize::MAX);
                for scored in rules.order.ranked(list).into_iter().take(depth) {
                    *docs.entry(&scored.doc).or_default() |= 1 << number;
                }
            }
        }
        // Numbers of documents, relevant documents and judged documents.
        let mut counts: BTreeMap<u32, [u64; 3]> = BTreeMap::new();
        for (query, docs) in &queries {
            for (doc, &set) in docs {
                let grade = qrels.and_then(|qrels| qrels.grade(query, doc));
                let reaches = |level| u64::from(grade.is_some_and(|grade| grade >= level));
                let [documents, relevant, judged] = counts.entry(set).or_default();
                *documents += 1;
                *relevant += reaches(rules.level.max(0));
                *judged += reaches(0);
            }
        }
        let region = |(set, [documents, relevant, judged]): (u32, [u64; 3])| OverlapRegion {
            runs: (0..runs.len())
                .filter(|&run| set & (1 << run) != 0)
                .collect(),
            count: OverlapCounts {
                documents,
                relevant: qrels.map(|_| relevant),
                judged: qrels.map(|_| judged),
            },
        };
        let mut regions: Vec<OverlapRegion> = counts.into_iter().map(region).collect();
        regions.sort_by(|a, b| {
            let by_size = b.runs.len().cmp(&a.runs.len());
            by_size.then_with(|| a.runs.cmp(&b.runs))
        });
        Ok(Self {
            runs: runs.iter().map(|run| run.tag.clone()).collect(),
            rules,
            regions,
        })
    }

    fn sum(&self, counts: impl Fn(&OverlapRegion) -> bool) -> OverlapCounts {
        // With judgments, the count of an empty set is 0, not unknown.
        let has_judgments = self
            .regions
            .iter()
            .any(|region| region.count.judged.is_some());
        let regions = self.regions.iter().filter(|region| counts(region));
        let sum = |count: fn(OverlapCounts) -> Option<u64>| {
            regions
                .clone()
                .filter_map(|region| count(region.count))
                .sum()
        };
        OverlapCounts {
            documents: sum(|count| Some(count.documents)),
            relevant: has_judgments.then(|| sum(|count| count.relevant)),
            judged: has_judgments.then(|| sum(|count| count.judged)),
        }
    }

    /// Documents that any run retrieves.
    #[must_use]
    pub fn union(&self) -> OverlapCounts {
        self.sum(|_| true)
    }

    /// Documents that one run retrieves, by run index.
    #[must_use]
    pub fn run(&self, run: usize) -> OverlapCounts {
        self.sum(|region| region.runs.contains(&run))
    }

    /// Documents that only this run retrieves. Its relevant documents are those that a pool would
    /// lack without the run.
    #[must_use]
    pub fn only(&self, run: usize) -> OverlapCounts {
        self.sum(|region| region.runs == [run])
    }

    /// Documents that both runs retrieve.
    #[must_use]
    pub fn both(&self, first: usize, second: usize) -> OverlapCounts {
        self.sum(|region| region.runs.contains(&first) && region.runs.contains(&second))
    }
}
