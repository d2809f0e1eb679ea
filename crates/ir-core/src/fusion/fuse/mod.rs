use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::FusionError;
use crate::error::SearchError;
use crate::explanation::Explanation;
use crate::ids::DocNum;
use crate::progress::{Flow, NoProgress, Progress};
use crate::ranking::{Hit, Ranking};
use crate::run::{Run, ScoredDoc};

/// Normalization of the scores of each list before they are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ScoreNormalization {
    /// Raw scores, not normalized.
    #[default]
    None,
    /// (s − min) / max(max − min, 1e-9), in 0..=1. A constant list becomes all 0.
    MinMax,
    /// (s − mean) / max(sd, 1e-9), with the population standard deviation.
    ZScore,
    /// (s − min) / Σ(s − min): scores sum to 1. A constant list becomes all 0.
    Sum,
    /// Borda points: with C documents in the union of all lists, rank i (from 0) gets C − i points,
    /// and a document missing from a list of length n gets (C − n + 1) / 2 points.
    Borda,
}

/// Combination of the normalized scores of a document.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ScoreCombination {
    /// Reciprocal rank fusion: Σ 1 / (k + rank), ranks from 1. Scores only determine the order.
    ///
    /// # Source
    /// Cormack, Clarke, Büttcher, SIGIR 2009, where k = 60.
    Rrf {
        /// Damping constant; larger values flatten the weight of the top ranks. Range: finite, ≥ 0.
        k: f64,
    },
    /// CombSUM: sum of the scores.
    /// # Source
    /// All Comb methods: Fox and Shaw, "Combination of Multiple Searches", TREC-2, 1994.
    Sum,
    /// CombMNZ: sum times the number of lists that contain the document.
    Mnz,
    /// CombANZ: mean over the lists that contain the document.
    Anz,
    /// CombMAX: maximum of the scores.
    Max,
    /// CombMIN: minimum of the scores.
    Min,
    /// CombMED: median score; the mean of the two middle scores for even counts.
    Med,
}

/// Fusion method: score normalization, then combination.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Fusion {
    /// Normalization of the scores of each list.
    pub normalization: ScoreNormalization,
    /// Combination of the scores of each document.
    pub combination: ScoreCombination,
}

impl Fusion {
    /// Reciprocal rank fusion with k = 60.
    pub const RRF: Self = Self {
        normalization: ScoreNormalization::None,
        combination: ScoreCombination::Rrf { k: 60.0 },
    };

    /// CombSUM of min-max normalized scores.
    pub const COMB_SUM: Self = Self {
        normalization: ScoreNormalization::MinMax,
        combination: ScoreCombination::Sum,
    };

    /// CombMNZ of min-max normalized scores.
    pub const COMB_MNZ: Self = Self {
        normalization: ScoreNormalization::MinMax,
        combination: ScoreCombination::Mnz,
    };

    /// Borda count over all lists.
    pub const BORDA: Self = Self {
        normalization: ScoreNormalization::Borda,
        combination: ScoreCombination::Sum,
    };

    /// Validates the parameters.
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

    /// Fuses lists in rank order, best first. Multiplies the normalized scores of a list by its
    /// weight, 1 if it has none. Returns documents in ascending order of the key.
    fn fuse<K: Ord + Clone>(self, lists: &[Vec<(K, f64)>], weights: &[f64]) -> Vec<(K, f64)> {
        let values = self.values(lists, weights).into_iter();
        values
            .map(|(key, values)| (key.clone(), self.combination.apply(values)))
            .collect()
    }

    /// Returns the values of every document that are combined, in the order of the lists. A list
    /// without the document has a value only if [`Self::counts_absent`].
    fn values<'a, K: Ord>(
        self,
        lists: &'a [Vec<(K, f64)>],
        weights: &[f64],
    ) -> BTreeMap<&'a K, Vec<f64>> {
        let mut scores: BTreeMap<&K, Vec<f64>> = BTreeMap::new();
        let union = {
            let keys = lists.iter().flatten().map(|(key, _)| key);
            keys.for_each(|key| {
                scores.entry(key).or_default();
            });
            scores.len() as f64
        };
        let weights = weights.iter().copied().chain(std::iter::repeat(1.0));
        for (list, weight) in lists.iter().zip(weights) {
            let values: Vec<f64> = match self.combination {
                ScoreCombination::Rrf { k } => (1..=list.len())
                    .map(|rank| 1.0 / (k + rank as f64))
                    .collect(),
                _ => normalize(
                    self.normalization,
                    list.iter().map(|(_, score)| *score).collect(),
                    union,
                ),
            };
            for ((key, _), value) in list.iter().zip(values) {
                scores.entry(key).or_default().push(weight * value);
            }
            if self.counts_absent() {
                let absent = (union - list.len() as f64 + 1.0) / 2.0;
                let present: std::collections::BTreeSet<&K> =
                    list.iter().map(|(key, _)| key).collect();
                let lacking = scores.iter_mut().filter(|(key, _)| !present.contains(*key));
                lacking.for_each(|(_, values)| values.push(weight * absent));
            }
        }
        scores
    }

    /// Returns `true` if a list gives points to the documents that it lacks.
    fn counts_absent(self) -> bool {
        self.normalization == ScoreNormalization::Borda
            && !matches!(self.combination, ScoreCombination::Rrf { .. })
    }

    /// Describes the value of a list of rankings.
    fn describe_value(self) -> &'static str {
        match (self.combination, self.normalization) {
            (ScoreCombination::Rrf { .. }, _) => "1 / (k + rank)",
            (_, ScoreNormalization::None) => "score",
            (_, ScoreNormalization::MinMax) => {
                "(score - min) / (max - min), of the scores of the list"
            }
            (_, ScoreNormalization::ZScore) => {
                "(score - mean) / standard deviation, of the scores of the list"
            }
            (_, ScoreNormalization::Sum) => "(score - min) / sum of these differences in the list",
            (_, ScoreNormalization::Borda) => "Borda points",
        }
    }
}

impl ScoreCombination {
    fn apply(self, mut values: Vec<f64>) -> f64 {
        // Max, min and median would hide NaN.
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

impl ScoreCombination {
    fn describe(self, values: usize) -> String {
        match self {
            Self::Rrf { k } => format!("sum, in double precision, with k = {k}, of"),
            Self::Sum => "sum, in double precision, of".to_owned(),
            Self::Mnz => format!("{values} lists × sum, in double precision, of"),
            Self::Anz => "mean, in double precision, of".to_owned(),
            Self::Max => "maximum of".to_owned(),
            Self::Min => "minimum of".to_owned(),
            Self::Med => "median of".to_owned(),
        }
    }
}

fn normalize(normalization: ScoreNormalization, scores: Vec<f64>, union: f64) -> Vec<f64> {
    let count = scores.len() as f64;
    let min = scores.iter().copied().fold(f64::INFINITY, f64::min);
    let max = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let linear = |offset: f64, scale: f64| scores.iter().map(|s| (s - offset) / scale).collect();
    match normalization {
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

/// Fuses runs query by query. A query that is missing from some runs is fused from the others. Each
/// list is sorted in trec_eval's order first (score descending, ties by document id descending),
/// and so is the result.
///
/// ```
/// use ir_core::Run;
/// use ir_core::fusion::{Fusion, fuse_runs};
/// let (mut a, mut b) = (Run::new("a"), Run::new("b"));
/// for (doc, score) in [("x", 9.0), ("y", 7.0)] { a.push("q1", doc, score); }
/// for (doc, score) in [("y", 0.8), ("z", 0.2)] { b.push("q1", doc, score); }
/// let fused = fuse_runs("rrf", &[a, b], Fusion::RRF)?;
/// let best = fused.get("q1").and_then(|list| list.first()).map(|scored| scored.doc.as_str());
/// assert_eq!(best, Some("y")); // 1/62 + 1/61
/// # Ok::<(), ir_core::fusion::FusionError>(())
/// ```
///
/// # Errors
/// If a score is NaN, a fused score is NaN (infinity minus infinity) or infinite, or the k of
/// [`ScoreCombination::Rrf`] is negative or not finite.
pub fn fuse_runs(tag: &str, runs: &[Run], fusion: Fusion) -> Result<Run, FusionError> {
    fuse_weighted_runs(tag, runs, &vec![1.0; runs.len()], fusion, &mut NoProgress)
}

/// Results fused between two progress reports.
const REPORTED_RESULTS: u64 = 1 << 16;

/// [`fuse_runs`] with a weight per run: the normalized scores of a run, or its reciprocal ranks,
/// are multiplied by its weight before they are combined. Reports the stage `fusing`, in results of
/// the runs.
///
/// ```
/// use ir_core::fusion::{Fusion, fuse_weighted_runs};
/// use ir_core::{NoProgress, Run};
/// let (mut a, mut b) = (Run::new("a"), Run::new("b"));
/// a.push("q1", "x", 9.0);
/// b.push("q1", "y", 0.8);
/// let fused = fuse_weighted_runs("rrf", &[a, b], &[1.0, 2.0], Fusion::RRF, &mut NoProgress)?;
/// let best = fused.get("q1").and_then(|list| list.first()).map(|scored| scored.doc.as_str());
/// assert_eq!(best, Some("y")); // 2/61, and 1/61 for x
/// # Ok::<(), ir_core::fusion::FusionError>(())
/// ```
///
/// # Errors
/// Returns the errors of [`fuse_runs`], and an error if the numbers of weights and runs differ, a
/// weight is negative or not finite, or `progress` cancels.
pub fn fuse_weighted_runs(
    tag: &str,
    runs: &[Run],
    weights: &[f64],
    fusion: Fusion,
    progress: &mut dyn Progress,
) -> Result<Run, FusionError> {
    fusion.validate()?;
    if weights.len() != runs.len() {
        let (expected, found) = (runs.len(), weights.len());
        return Err(FusionError::WeightCount { expected, found });
    }
    let invalid = |weight: &f64| !(weight.is_finite() && *weight >= 0.0);
    if let Some(run) = weights.iter().position(invalid) {
        return Err(FusionError::RunWeight {
            tag: runs[run].tag.clone(),
            weight: weights[run],
        });
    }
    let order =
        |a: &(String, f64), b: &(String, f64)| b.1.total_cmp(&a.1).then_with(|| b.0.cmp(&a.0));
    let lists = || runs.iter().flat_map(Run::iter);
    let queries: BTreeSet<&str> = lists().map(|(query, _)| query).collect();
    let total = lists().map(|(_, list)| list.len() as u64).sum();
    let (mut done, mut reported) = (0, 0);
    let mut fused = Run::new(tag);
    for query in queries {
        let (mut lists, mut list_weights) = (Vec::new(), Vec::new());
        for (run, &weight) in runs.iter().zip(weights) {
            let Some(list) = run.get(query) else { continue };
            if let Some(scored) = list.iter().find(|scored| scored.score.is_nan()) {
                return Err(FusionError::NanScore {
                    tag: run.tag.clone(),
                    query: query.to_owned(),
                    doc: scored.doc.clone(),
                });
            }
            done += list.len() as u64;
            // Adding 0 turns -0 into 0, which `total_cmp` distinguishes.
            let pair = |s: &ScoredDoc| (s.doc.clone(), s.score + 0.0);
            let mut list: Vec<_> = list.iter().map(pair).collect();
            list.sort_by(order);
            lists.push(list);
            list_weights.push(weight);
        }
        if reported == 0 || done - reported >= REPORTED_RESULTS {
            reported = done;
            if progress.report("fusing", done, Some(total)) == Flow::Stop {
                return Err(FusionError::Canceled);
            }
        }
        let mut list = fusion.fuse(&lists, &list_weights);
        for (doc, score) in &mut list {
            if !score.is_finite() {
                let (query, doc) = (query.to_owned(), doc.clone());
                return Err(if score.is_nan() {
                    FusionError::NanFused { query, doc }
                } else {
                    FusionError::InfiniteFused { query, doc }
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

fn lists_of(rankings: &[Ranking]) -> Vec<Vec<(DocNum, f64)>> {
    let list = |ranking: &Ranking| {
        let hits = ranking.iter();
        hits.map(|hit| (hit.doc, f64::from(hit.score))).collect()
    };
    rankings.iter().map(list).collect()
}

/// Fuses rankings by document number; ties by document number ascending.
pub(super) fn fuse_rankings(rankings: &[Ranking], fusion: Fusion) -> Result<Ranking, SearchError> {
    let hits = fusion.fuse(&lists_of(rankings), &[]).into_iter();
    Ranking::from_hits(
        hits.map(|(doc, score)| Hit::new(doc, score as f32))
            .collect(),
    )
}

/// Explains the score of a document in [`fuse_rankings`]; `None` if no list has it. `explain` gets
/// the number of a list and the score of the document there.
pub(super) fn explain_fusion(
    rankings: &[Ranking],
    fusion: Fusion,
    doc: DocNum,
    explain: &mut dyn FnMut(usize, f32) -> Result<Explanation, SearchError>,
) -> Result<Option<Explanation>, SearchError> {
    let lists = lists_of(rankings);
    let Some(values) = fusion.values(&lists, &[]).remove(&doc) else {
        return Ok(None);
    };
    let (mut details, mut unused) = (Vec::new(), values.iter());
    for (n, ranking) in rankings.iter().enumerate() {
        let retriever = n + 1;
        let Some(rank) = ranking.iter().position(|hit| hit.doc == doc) else {
            if fusion.counts_absent()
                && let Some(&value) = unused.next()
            {
                let description = format!("retriever {retriever}, not in the list: Borda points");
                details.push(Explanation::new(value, description));
            }
            continue;
        };
        let Some(&value) = unused.next() else { break };
        let score = ranking.hits()[rank].score;
        let what = fusion.describe_value();
        let description = format!("retriever {retriever}, rank {}: {what}", rank + 1);
        details.push(Explanation::new(value, description).with_detail(explain(n, score)?));
    }
    let description = fusion.combination.describe(values.len());
    let score = fusion.combination.apply(values) as f32;
    Ok(Some(Explanation {
        details,
        ..Explanation::new(score, description)
    }))
}

#[cfg(test)]
mod tests;
