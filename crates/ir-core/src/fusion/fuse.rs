//! Rank fusion: one ranking out of several.
//!
//! A [`Fusion`] is a value: how the scores of each list are normalized, and how a document's
//! scores are combined. [`fuse_runs`] joins runs by the collection's ids, query by query;
//! [`fuse_rankings`] joins rankings over one index by document number.
//!
//! ```
//! use ir_core::Run;
//! use ir_core::fusion::{Fusion, fuse_runs};
//! let (mut a, mut b) = (Run::new("a"), Run::new("b"));
//! for (doc, score) in [("x", 9.0), ("y", 7.0)] { a.push("q1", doc, score); }
//! for (doc, score) in [("y", 0.8), ("z", 0.2)] { b.push("q1", doc, score); }
//! let fused = fuse_runs("rrf", &[a, b], Fusion::rrf())?;
//! let best = fused.get("q1").and_then(|list| list.first()).map(|scored| scored.doc.as_str());
//! assert_eq!(best, Some("y")); // 1/62 + 1/61
//! # Ok::<(), ir_core::fusion::FusionError>(())
//! ```

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::FusionError;
use crate::{DocNum, Hit, Ranking, Run, ScoredDoc, SearchError};

/// How the scores of one list are made comparable with those of another, before they are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ScoreNormalization {
    /// The scores as they are.
    #[default]
    None,
    /// (s − min) / max(max − min, 1e-9): between 0 and 1; a constant list becomes all 0.
    MinMax,
    /// (s − mean) / max(sd, 1e-9), with the standard deviation of the population.
    ZScore,
    /// (s − min) / Σ(s − min): the list adds up to 1; a constant list becomes all 0.
    Sum,
    /// Borda points: with C documents in the union of all lists, the document of rank i (from 0)
    /// gets C − i, and one that a list of n lacks gets (C − n + 1) / 2 from it.
    Borda,
}

/// How the scores of one document are combined.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ScoreCombination {
    /// Reciprocal rank fusion: Σ 1 / (k + rank), rank from 1. Scores count only for the order.
    /// # Source
    /// Cormack, Clarke, Büttcher, SIGIR 2009, where k = 60.
    Rrf {
        /// How little the first ranks stand out: finite, at least 0.
        k: f64,
    },
    /// CombSUM: the sum of the scores.
    /// # Source
    /// This and the other Comb methods: Fox and Shaw, "Combination of Multiple Searches", TREC-2, 1994.
    Sum,
    /// CombMNZ: the sum times the number of lists that contain the document, even with score 0.
    Mnz,
    /// CombANZ: the mean over the lists that contain the document.
    Anz,
    /// CombMAX: the largest score.
    Max,
    /// CombMIN: the smallest score.
    Min,
    /// CombMED: the median score; of an even number, the mean of the middle two.
    Med,
}

/// A fusion method as a value: normalisation, then combination.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Fusion {
    /// How each list's scores are made comparable.
    pub normalization: ScoreNormalization,
    /// How a document's scores are combined.
    pub combination: ScoreCombination,
}

impl Fusion {
    /// Reciprocal rank fusion with k = 60.
    #[must_use]
    pub const fn rrf() -> Self {
        Self {
            normalization: ScoreNormalization::None,
            combination: ScoreCombination::Rrf { k: 60.0 },
        }
    }

    /// CombSUM over min–max normalized scores.
    #[must_use]
    pub const fn comb_sum() -> Self {
        Self {
            normalization: ScoreNormalization::MinMax,
            combination: ScoreCombination::Sum,
        }
    }

    /// CombMNZ over min–max normalized scores.
    #[must_use]
    pub const fn comb_mnz() -> Self {
        Self {
            normalization: ScoreNormalization::MinMax,
            combination: ScoreCombination::Mnz,
        }
    }

    /// Borda count.
    #[must_use]
    pub const fn borda() -> Self {
        Self {
            normalization: ScoreNormalization::Borda,
            combination: ScoreCombination::Sum,
        }
    }

    /// Checks the parameters.
    ///
    /// # Errors
    /// [`FusionError::RrfK`] if the k of [`ScoreCombination::Rrf`] is negative or not finite.
    pub fn validate(&self) -> Result<(), FusionError> {
        match self.combination {
            ScoreCombination::Rrf { k } if !(k.is_finite() && k >= 0.0) => {
                Err(FusionError::RrfK { k })
            }
            _ => Ok(()),
        }
    }

    /// Fuses lists that are in rank order, best first. The result is unsorted, by key ascending.
    fn fuse<K: Ord + Clone>(self, lists: &[Vec<(K, f64)>]) -> Vec<(K, f64)> {
        let mut scores: BTreeMap<&K, Vec<f64>> = BTreeMap::new();
        let union = {
            let keys = lists.iter().flatten().map(|(key, _)| key);
            keys.for_each(|key| {
                scores.entry(key).or_default();
            });
            scores.len() as f64
        };
        for list in lists {
            let values = match self.combination {
                ScoreCombination::Rrf { k } => (1..=list.len())
                    .map(|rank| 1.0 / (k + rank as f64))
                    .collect(),
                _ => normalized(
                    self.normalization,
                    list.iter().map(|(_, score)| *score).collect(),
                    union,
                ),
            };
            for ((key, _), value) in list.iter().zip(values) {
                scores.entry(key).or_default().push(value);
            }
            if self.normalization == ScoreNormalization::Borda && !matches!(self.combination, ScoreCombination::Rrf { .. }) {
                let absent = (union - list.len() as f64 + 1.0) / 2.0;
                let present: std::collections::BTreeSet<&K> =
                    list.iter().map(|(key, _)| key).collect();
                let lacking = scores.iter_mut().filter(|(key, _)| !present.contains(*key));
                lacking.for_each(|(_, values)| values.push(absent));
            }
        }
        scores
            .into_iter()
            .map(|(key, values)| (key.clone(), self.combination.apply(values)))
            .collect()
    }
}

impl ScoreCombination {
    fn apply(self, mut values: Vec<f64>) -> f64 {
        // The largest or middle of some numbers would hide it.
        if values.iter().any(|value| value.is_nan()) {
            return f64::NAN;
        }
        let sum: f64 = values.iter().sum();
        let count = values.len() as f64;
        match self {
            Self::Rrf { .. } | Self::Sum => sum,
            Self::Mnz => sum * count,
            Self::Anz => sum / count,
            Self::Max => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            Self::Min => values.iter().copied().fold(f64::INFINITY, f64::min),
            Self::Med => {
                values.sort_by(f64::total_cmp);
                let (low, high) = ((values.len() - 1) / 2, values.len() / 2);
                (values[low] + values[high]) / 2.0
            }
        }
    }
}

fn normalized(how: ScoreNormalization, scores: Vec<f64>, union: f64) -> Vec<f64> {
    let count = scores.len() as f64;
    let min = scores.iter().copied().fold(f64::INFINITY, f64::min);
    let max = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let linear = |offset: f64, scale: f64| scores.iter().map(|s| (s - offset) / scale).collect();
    match how {
        ScoreNormalization::None => scores,
        ScoreNormalization::MinMax => linear(min, (max - min).max(1e-9)),
        ScoreNormalization::ZScore => {
            let mean = scores.iter().sum::<f64>() / count;
            let variance = scores.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / count;
            linear(mean, variance.sqrt().max(1e-9))
        }
        ScoreNormalization::Sum => {
            let total: f64 = scores.iter().map(|s| s - min).sum();
            linear(min, total.max(1e-9))
        }
        ScoreNormalization::Borda => (0..scores.len()).map(|rank| union - rank as f64).collect(),
    }
}

/// Fuses runs by the collection's ids, query by query. A query that some runs lack is fused from
/// the others. Each list is first put in trec_eval's order (score descending, equal scores by id
/// descending), and so is the result.
///
/// # Errors
/// When a score is NaN, a fused score is (which infinite scores can cause), or the k of
/// [`ScoreCombination::Rrf`] is negative or not finite.
pub fn fuse_runs(tag: &str, runs: &[Run], fusion: Fusion) -> Result<Run, FusionError> {
    fusion.validate()?;
    let order =
        |a: &(String, f64), b: &(String, f64)| b.1.total_cmp(&a.1).then_with(|| b.0.cmp(&a.0));
    // Adding 0 makes 0 of -0, which `total_cmp` tells apart.
    let mut queries: BTreeMap<&str, Vec<Vec<(String, f64)>>> = BTreeMap::new();
    for run in runs {
        for (query, list) in run.iter() {
            if let Some(scored) = list.iter().find(|scored| scored.score.is_nan()) {
                return Err(FusionError::NanScore {
                    tag: run.tag.clone(),
                    query: query.to_owned(),
                    doc: scored.doc.clone(),
                });
            }
            let pair = |s: &ScoredDoc| (s.doc.clone(), s.score + 0.0);
            let mut list: Vec<_> = list.iter().map(pair).collect();
            list.sort_by(order);
            queries.entry(query).or_default().push(list);
        }
    }
    let mut fused = Run::new(tag);
    for (query, lists) in queries {
        let mut list = fusion.fuse(&lists);
        for (doc, score) in &mut list {
            if score.is_nan() {
                return Err(FusionError::NanFused {
                    query: query.to_owned(),
                    doc: doc.clone(),
                });
            }
            *score += 0.0;
        }
        list.sort_by(order);
        list.into_iter()
            .for_each(|(doc, score)| fused.push(query, doc, score));
    }
    Ok(fused)
}

/// Fuses rankings over one index by document number; equal scores by document number ascending,
/// as in every [`Ranking`].
///
/// # Errors
/// When a fused score is NaN, which infinite scores can cause, or the k of [`ScoreCombination::Rrf`] is
/// negative or not finite.
pub(super) fn fuse_rankings(rankings: &[Ranking], fusion: Fusion) -> Result<Ranking, SearchError> {
    let lists: Vec<Vec<(DocNum, f64)>> = rankings
        .iter()
        .map(|ranking| {
            ranking
                .iter()
                .map(|hit| (hit.doc, f64::from(hit.score)))
                .collect()
        })
        .collect();
    let hits = fusion.fuse(&lists).into_iter();
    Ranking::from_hits(
        hits.map(|(doc, score)| Hit::new(doc, score as f32))
            .collect(),
    )
}

#[cfg(test)]
mod tests;
