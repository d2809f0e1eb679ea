//! What is different between two runs.

use std::collections::{BTreeSet, HashMap};

use ir_core::{ListOrder, Run, Scored};
use serde::{Deserialize, Serialize};

use crate::{RankBiasedOverlap, kendall_tau_b, tau_ap};

/// How two runs are compared.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DiffRules {
    /// The order of each run's documents.
    pub order: ListOrder,
    /// How many documents of each list count. Default all.
    pub depth: Option<usize>,
    /// The persistence of rank-biased overlap, above 0 and below 1. Default .9.
    pub p: f64,
    /// How far two scores of a document may be apart and still count as equal. Default 0; infinite
    /// to compare rankings alone.
    pub tolerance: f64,
}

impl Default for DiffRules {
    fn default() -> Self {
        Self {
            order: ListOrder::Score,
            depth: None,
            p: 0.9,
            tolerance: 0.0,
        }
    }
}

/// Two runs, query by query. The tags are not compared.
///
/// ```
/// use ir_core::Run;
/// use ir_eval::{RunDiff, DiffRules};
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
    /// The rules that were followed.
    pub rules: DiffRules,
    /// The queries of both runs, by id.
    pub queries: Vec<QueryDiff>,
    /// The queries of the first run alone.
    pub only_first: Vec<String>,
    /// The queries of the second run alone.
    pub only_second: Vec<String>,
}

/// One query of two runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct QueryDiff {
    /// The query.
    pub query: String,
    /// How many documents the first run lists, and the second.
    pub retrieved: [usize; 2],
    /// How many documents both list.
    pub common: usize,
    /// Kendall's tau-b of the ranks of the common documents; `None` for fewer than two.
    pub tau: Option<f64>,
    /// AP correlation of the ranks of the common documents, the first run being the truth; `None`
    /// for fewer than two.
    pub tau_ap: Option<f64>,
    /// Rank-biased overlap, extrapolated; it sees documents that only one of them lists.
    pub rbo: Option<f64>,
    /// The first rank with another document.
    pub first_difference: Option<RankDiff>,
    /// The common document whose scores are farthest apart, and farther than the tolerance.
    pub score: Option<ScoreDiff>,
}

/// A rank at which two runs have different documents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RankDiff {
    /// From 1.
    pub rank: usize,
    /// The document of the first run; `None` where its list has ended.
    pub first: Option<String>,
    /// The document of the second run.
    pub second: Option<String>,
}

/// A document with different scores.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ScoreDiff {
    /// The document.
    pub doc: String,
    /// Its score in the first run.
    pub first: f64,
    /// Its score in the second run.
    pub second: f64,
}

impl ScoreDiff {
    /// How far the scores are apart.
    #[must_use]
    pub fn distance(&self) -> f64 {
        distance(self.first, self.second)
    }
}

/// Equal scores, infinite ones too, are 0 apart.
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
    fn new(query: &str, first: &[Scored], second: &[Scored], rules: &DiffRules) -> Self {
        let list = |list| {
            let mut list = rules.order.of(list);
            list.truncate(rules.depth.unwrap_or(usize::MAX));
            list
        };
        let (first, second) = (list(first), list(second));
        let places: HashMap<&str, usize> = second
            .iter()
            .enumerate()
            .map(|(at, scored)| (scored.doc.as_str(), at))
            .collect();
        // Ranks as scores: the higher the better.
        let (mut firsts, mut seconds) = (Vec::new(), Vec::new());
        let mut score: Option<ScoreDiff> = None;
        for (at, scored) in first.iter().enumerate() {
            let Some(&there) = places.get(scored.doc.as_str()) else {
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
        let doc = |list: &[&Scored], at: usize| list.get(at).map(|scored| scored.doc.clone());
        let longest = first.len().max(second.len());
        let differs = |&at: &usize| {
            first.get(at).map(|scored| &scored.doc) != second.get(at).map(|scored| &scored.doc)
        };
        let docs = |list: &[&Scored]| -> Vec<String> {
            list.iter().map(|scored| scored.doc.clone()).collect()
        };
        Self {
            query: query.to_owned(),
            retrieved: [first.len(), second.len()],
            common: firsts.len(),
            tau: kendall_tau_b(&firsts, &seconds),
            tau_ap: tau_ap(&firsts, &seconds),
            rbo: RankBiasedOverlap::new(&docs(&first), &docs(&second), rules.p).map(|rbo| rbo.ext),
            first_difference: (0..longest).find(differs).map(|at| RankDiff {
                rank: at + 1,
                first: doc(&first, at),
                second: doc(&second, at),
            }),
            score,
        }
    }

    /// The share of the longer list that both have.
    #[must_use]
    pub fn overlap(&self) -> f64 {
        let longest = self.retrieved[0].max(self.retrieved[1]);
        if longest == 0 {
            1.0
        } else {
            self.common as f64 / longest as f64
        }
    }

    /// Whether the two lists have the same documents at the same ranks.
    #[must_use]
    pub const fn same_ranking(&self) -> bool {
        self.first_difference.is_none()
    }

    /// Whether nothing differs.
    #[must_use]
    pub const fn identical(&self) -> bool {
        self.first_difference.is_none() && self.score.is_none()
    }
}

impl RunDiff {
    /// Compares two runs.
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

    /// Whether both runs have the same queries, with the same documents at the same ranks, with
    /// scores as equal as the tolerance demands.
    #[must_use]
    pub fn identical(&self) -> bool {
        self.same_rankings() && self.queries.iter().all(QueryDiff::identical)
    }

    /// Whether both runs have the same queries with the same documents at the same ranks.
    #[must_use]
    pub fn same_rankings(&self) -> bool {
        let same = self.queries.iter().all(QueryDiff::same_ranking);
        same && self.only_first.is_empty() && self.only_second.is_empty()
    }

    /// The mean of a figure over the common queries that have it, and how many these are.
    #[must_use]
    pub fn mean(&self, figure: impl Fn(&QueryDiff) -> Option<f64>) -> Option<(f64, usize)> {
        let values: Vec<f64> = self.queries.iter().filter_map(figure).collect();
        let sum: f64 = values.iter().sum();
        (!values.is_empty()).then(|| (sum / values.len() as f64, values.len()))
    }

    /// The query and document whose scores are farthest apart.
    #[must_use]
    pub fn largest_score(&self) -> Option<(&str, &ScoreDiff)> {
        let all = self.queries.iter();
        let scores = all.filter_map(|query| Some((query.query.as_str(), query.score.as_ref()?)));
        // The first of several.
        scores.fold(None, |best: Option<(&str, &ScoreDiff)>, next| match best {
            Some(best) if best.1.distance() >= next.1.distance() => Some(best),
            _ => Some(next),
        })
    }
}
