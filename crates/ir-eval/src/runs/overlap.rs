//! Which runs retrieve the same documents: the counts of a Venn diagram.

use std::collections::BTreeMap;

use ir_core::{Grade, Judgments, ListOrder, Run};
use serde::{Deserialize, Serialize};

/// How runs are laid over each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OverlapRules {
    /// How many documents of each list count. Default all.
    pub depth: Option<usize>,
    /// The order of each run's documents.
    pub order: ListOrder,
    /// The grade from which on a judged document is relevant. Default 1.
    pub level: Grade,
}

impl Default for OverlapRules {
    fn default() -> Self {
        Self {
            depth: None,
            order: ListOrder::Score,
            level: 1,
        }
    }
}

/// For every set of runs, how many documents exactly these retrieved. The documents of all queries
/// count together: a document that two queries retrieve counts twice.
///
/// ```
/// use ir_core::{Qrels, Run};
/// use ir_eval::{RunOverlap, OverlapRules};
/// let (mut a, mut b) = (Run::new("a"), Run::new("b"));
/// for doc in ["x", "y"] { a.push("q1", doc, 1.0); }
/// for doc in ["y", "z"] { b.push("q1", doc, 1.0); }
/// let mut qrels = Qrels::new();
/// qrels.insert("q1", "x", 1);
/// let overlap = RunOverlap::new(&[a, b], Some(&qrels), OverlapRules::default())?;
/// assert_eq!(overlap.union().documents, 3);
/// assert_eq!(overlap.only(0).documents, 1);
/// assert_eq!(overlap.only(0).relevant, Some(1));
/// # Ok::<(), ir_eval::OverlapError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunOverlap {
    /// The tags of the runs.
    pub runs: Vec<String>,
    /// The rules that were followed.
    pub rules: OverlapRules,
    /// One for each set of runs that has a document, the larger sets first.
    pub regions: Vec<OverlapRegion>,
}

/// The documents that some runs retrieved and no other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OverlapRegion {
    /// The numbers of the runs, from 0, ascending.
    pub runs: Vec<usize>,
    /// What they retrieved.
    #[serde(flatten)]
    pub count: OverlapCounts,
}

/// A number of documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OverlapCounts {
    /// All of them.
    pub documents: u64,
    /// Those that are relevant; `None` without judgments.
    pub relevant: Option<u64>,
    /// Those that were judged, relevant or not; `None` without judgments.
    pub judged: Option<u64>,
}

impl OverlapCounts {
    fn plus(self, other: Self) -> Self {
        let both = |a: Option<u64>, b: Option<u64>| a.map_or(b, |a| Some(a + b.unwrap_or(0)));
        Self {
            documents: self.documents + other.documents,
            relevant: both(self.relevant, other.relevant),
            judged: both(self.judged, other.judged),
        }
    }
}

/// Why runs could not be laid over each other.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OverlapError {
    /// More runs than there are sets to count.
    #[error("expected at most {} runs, found {found}", RunOverlap::MAX_RUNS)]
    TooMany {
        /// How many runs there are.
        found: usize,
    },
}

impl RunOverlap {
    /// The most runs: their sets are 2¹⁶.
    pub const MAX_RUNS: usize = 16;

    /// Counts. With judgments, relevant and judged documents are counted too.
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
                for scored in rules.order.of(list).into_iter().take(depth) {
                    *docs.entry(&scored.doc).or_default() |= 1 << number;
                }
            }
        }
        let mut counts: BTreeMap<u32, OverlapCounts> = BTreeMap::new();
        for (query, docs) in &queries {
            for (doc, &set) in docs {
                let grade = qrels.map(|qrels| qrels.grade(query, doc));
                let one = |yes: Option<bool>| yes.map(u64::from);
                let count = counts.entry(set).or_default();
                *count = count.plus(OverlapCounts {
                    documents: 1,
                    relevant: one(grade.map(|g| g.is_some_and(|g| g >= rules.level.max(0)))),
                    judged: one(grade.map(|g| g.is_some_and(|g| g >= 0))),
                });
            }
        }
        let region = |(set, count): (u32, OverlapCounts)| OverlapRegion {
            runs: (0..runs.len())
                .filter(|&run| set & (1 << run) != 0)
                .collect(),
            count,
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
        let regions = self.regions.iter().filter(|region| counts(region));
        // Nothing found is 0, not unknown, where there are judgments.
        let counted = self.regions.first().map(|region| region.count);
        let zero = OverlapCounts {
            documents: 0,
            relevant: counted.and_then(|count| count.relevant.map(|_| 0)),
            judged: counted.and_then(|count| count.judged.map(|_| 0)),
        };
        regions.fold(zero, |sum, region| sum.plus(region.count))
    }

    /// All documents that any run retrieved: the sum over all regions.
    #[must_use]
    pub fn union(&self) -> OverlapCounts {
        self.sum(|_| true)
    }

    /// What one run, by its number, retrieved.
    #[must_use]
    pub fn run(&self, run: usize) -> OverlapCounts {
        self.sum(|region| region.runs.contains(&run))
    }

    /// What no run but this one retrieved. Its relevant documents are those that a pool would lack
    /// without the run.
    #[must_use]
    pub fn only(&self, run: usize) -> OverlapCounts {
        self.sum(|region| region.runs == [run])
    }

    /// What two runs both retrieved, whoever else did.
    #[must_use]
    pub fn both(&self, first: usize, second: usize) -> OverlapCounts {
        self.sum(|region| region.runs.contains(&first) && region.runs.contains(&second))
    }
}
