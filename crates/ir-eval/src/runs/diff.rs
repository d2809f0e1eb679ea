//! Differences between two runs.

use std::collections::{BTreeSet, HashMap};

use ir_core::{Run, RunOrder, ScoredDoc};
use serde::{Deserialize, Serialize};

use super::{RankBiasedOverlap, kendall_tau_b, tau_ap};
use crate::statistics::mean;

/// Options of a [`RunDiff`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DiffRules {
    /// Order of the documents of each list. Default: by score.
    pub order: RunOrder,
    /// Number of top documents to compare. Default: all.
    pub depth: Option<usize>,
    /// Persistence of rank-biased overlap. Range: between 0 and 1. Default: 0.9.
    pub p: f64,
    /// Absolute tolerance for equal scores; infinity compares rankings only. Range: ≥ 0. Default:
    /// 0.
    pub tolerance: f64,
}

impl Default for DiffRules {
    fn default() -> Self {
        Self {
            order: RunOrder::Score,
            depth: None,
            p: 0.9,
            tolerance: 0.0,
        }
    }
}

/// Differences between two runs, per query. Run tags are not compared.
///
/// ```
/// use ir_core::Run;
/// use ir_eval::runs::{RunDiff, DiffRules};
/// let (mut a, mut b) = (Run::new("a"), Run::new("b"));
/// for (doc, score) in [("x", 3.0), ("y", 2.0), ("z", 1.0)] { a.push("q1", doc, score); }
/// for (doc, score) in [("x", 3.0), ("z", 2.0), ("y", 1.0)] { b.push("q1", doc, score); }
/// let diff = RunDiff::new(&a, &b, DiffRules::default());
/// assert!(!diff.identical());
/// let first = diff.queries[0].first_difference.as_ref().unwrap();
/// assert_eq!((first.rank, first.second.as_deref()), (2, Some("z")));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunDiff {
    /// Options of the comparison.
    pub rules: DiffRules,
    /// Queries that both runs contain, by id.
    pub queries: Vec<QueryDiff>,
    /// Queries that only the first run contains.
    pub only_first: Vec<String>,
    /// Queries that only the second run contains.
    pub only_second: Vec<String>,
}

/// Differences between two runs on one query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct QueryDiff {
    /// Id of the query.
    pub query: String,
    /// Number of documents of the first and of the second run.
    pub retrieved: [usize; 2],
    /// Number of documents that both runs retrieve.
    pub common: usize,
    /// Kendall's tau-b of the common documents; `None` for fewer than two.
    pub tau: Option<f64>,
    /// AP correlation of the common documents, with the first run as truth; `None` for fewer than
    /// two.
    pub tau_ap: Option<f64>,
    /// Extrapolated rank-biased overlap of all documents.
    pub rbo: Option<f64>,
    /// First rank with different documents.
    pub first_difference: Option<RankDiff>,
    /// Common document with the largest score difference above the tolerance.
    pub score: Option<ScoreDiff>,
}

/// Rank at which two runs have different documents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RankDiff {
    /// Rank of both documents, from 1.
    pub rank: usize,
    /// Document of the first run; `None` beyond the end of its list.
    pub first: Option<String>,
    /// Document of the second run; `None` beyond the end of its list.
    pub second: Option<String>,
}

/// Document with different scores.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ScoreDiff {
    /// Id of the document.
    pub doc: String,
    /// Score in the first run.
    pub first: f64,
    /// Score in the second run.
    pub second: f64,
}

impl ScoreDiff {
    /// Absolute difference of the scores.
    #[must_use]
    pub fn distance(&self) -> f64 {
        distance(self.first, self.second)
    }
}

/// Absolute difference; 0 for equal infinities and for two NaNs.
fn distance(first: f64, second: f64) -> f64 {
    if first == second || (first.is_nan() && second.is_nan()) {
        return 0.0;
    }
    let distance = (first - second).abs();
    if distance.is_nan() {
        f64::INFINITY
    } else {
        distance
    }
}

impl QueryDiff {
    fn new(query: &str, first: &[ScoredDoc], second: &[ScoredDoc], rules: &DiffRules) -> Self {
        let list = |list| {
            let mut list = rules.order.ranked(list);
            list.truncate(rules.depth.unwrap_or(usize::MAX));
            list
        };
        let (first, second) = (list(first), list(second));
        fn ids<'r>(list: &[&'r ScoredDoc]) -> Vec<&'r str> {
            list.iter().map(|scored| scored.doc.as_str()).collect()
        }
        let (first_ids, second_ids) = (ids(&first), ids(&second));
        let positions: HashMap<&str, usize> = second_ids.iter().copied().zip(0..).collect();
        // Negative ranks as scores: higher is better.
        let (mut firsts, mut seconds) = (Vec::new(), Vec::new());
        let mut score: Option<ScoreDiff> = None;
        for (at, scored) in first.iter().enumerate() {
            let Some(&there) = positions.get(scored.doc.as_str()) else {
                continue;
            };
            firsts.push(-(at as f64));
            seconds.push(-(there as f64));
            let other = second[there].score;
            let apart = distance(scored.score, other);
            let largest = score.as_ref().map_or(rules.tolerance, ScoreDiff::distance);
            if apart > largest {
                score = Some(ScoreDiff {
                    doc: scored.doc.clone(),
                    first: scored.score,
                    second: other,
                });
            }
        }
        let doc = |ids: &[&str], at: usize| ids.get(at).map(|&doc| doc.to_owned());
        let longest = first.len().max(second.len());
        let differs = |&at: &usize| first_ids.get(at) != second_ids.get(at);
        Self {
            query: query.to_owned(),
            retrieved: [first.len(), second.len()],
            common: firsts.len(),
            tau: kendall_tau_b(&firsts, &seconds),
            tau_ap: tau_ap(&firsts, &seconds),
            rbo: RankBiasedOverlap::new(&first_ids, &second_ids, rules.p).map(|rbo| rbo.ext),
            first_difference: (0..longest).find(differs).map(|at| RankDiff {
                rank: at + 1,
                first: doc(&first_ids, at),
                second: doc(&second_ids, at),
            }),
            score,
        }
    }

    /// Number of common documents divided by the length of the longer list.
    #[must_use]
    pub fn overlap(&self) -> f64 {
        let longest = self.retrieved[0].max(self.retrieved[1]);
        if longest == 0 {
            1.0
        } else {
            self.common as f64 / longest as f64
        }
    }

    /// Returns `true` if both lists have the same documents at the same ranks.
    #[must_use]
    pub const fn same_ranking(&self) -> bool {
        self.first_difference.is_none()
    }

    /// Returns `true` if neither ranks nor scores differ.
    #[must_use]
    pub const fn identical(&self) -> bool {
        self.first_difference.is_none() && self.score.is_none()
    }
}

impl RunDiff {
    /// Compares two runs query by query.
    #[must_use]
    pub fn new(first: &Run, second: &Run, rules: DiffRules) -> Self {
        let ids = |run: &Run| -> BTreeSet<String> {
            run.iter().map(|(query, _)| query.to_owned()).collect()
        };
        let (a, b) = (ids(first), ids(second));
        let both = |query: &String| {
            let (x, y) = (first.get(query)?, second.get(query)?);
            Some(QueryDiff::new(query, x, y, &rules))
        };
        Self {
            rules,
            queries: a.iter().filter_map(both).collect(),
            only_first: a.difference(&b).cloned().collect(),
            only_second: b.difference(&a).cloned().collect(),
        }
    }

    /// Returns `true` if both runs have the same queries with the same documents at the same ranks,
    /// and scores within the tolerance.
    #[must_use]
    pub fn identical(&self) -> bool {
        self.same_rankings() && self.queries.iter().all(QueryDiff::identical)
    }

    /// Returns `true` if both runs have the same queries with the same documents at the same ranks.
    #[must_use]
    pub fn same_rankings(&self) -> bool {
        let same = self.queries.iter().all(QueryDiff::same_ranking);
        same && self.only_first.is_empty() && self.only_second.is_empty()
    }

    /// Mean of a value over the common queries that have it, and the number of these queries.
    #[must_use]
    pub fn mean(&self, value: impl Fn(&QueryDiff) -> Option<f64>) -> Option<(f64, usize)> {
        let values: Vec<f64> = self.queries.iter().filter_map(value).collect();
        (!values.is_empty()).then(|| (mean(&values), values.len()))
    }

    /// Query and document with the largest score difference; the first of equal ones.
    #[must_use]
    pub fn largest_score(&self) -> Option<(&str, &ScoreDiff)> {
        let all = self.queries.iter();
        let scores = all.filter_map(|query| Some((query.query.as_str(), query.score.as_ref()?)));
        scores.reduce(|best, next| {
            if next.1.distance() > best.1.distance() {
                next
            } else {
                best
            }
        })
    }
}
