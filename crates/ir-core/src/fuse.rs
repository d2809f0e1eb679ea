//! Rank fusion: one ranking out of several.
//!
//! A [`Fusion`] is a value: how the scores of each list are normalised, and how a document's
//! scores are combined. [`fuse_runs`] joins runs by the collection's ids, query by query;
//! [`fuse_rankings`] joins rankings over one index by document number.
//!
//! ```
//! use ir_core::Run;
//! use ir_core::fuse::{Fusion, fuse_runs};
//! let (mut a, mut b) = (Run::new("a"), Run::new("b"));
//! for (doc, score) in [("x", 9.0), ("y", 7.0)] { a.push("q1", doc, score); }
//! for (doc, score) in [("y", 0.8), ("z", 0.2)] { b.push("q1", doc, score); }
//! let fused = fuse_runs("rrf", &[a, b], Fusion::rrf())?;
//! let best = fused.get("q1").and_then(|list| list.first()).map(|scored| scored.doc.as_str());
//! assert_eq!(best, Some("y")); // 1/62 + 1/61
//! # Ok::<(), ir_core::fuse::FuseError>(())
//! ```

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{DocNum, Hit, Ranking, Run, Scored, SearchError};

/// How the scores of one list are made comparable with those of another, before they are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Normalise {
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
pub enum Combine {
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

/// Why runs could not be fused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FuseError {
    /// A score that is not a number.
    #[error("run {tag:?}, query {query:?}, document {doc:?}: expected a score, found NaN")]
    NanScore {
        /// The run.
        tag: String,
        /// The query.
        query: String,
        /// The document.
        doc: String,
    },
    /// Infinite scores whose combination is not a number: infinity minus infinity.
    #[error(
        "query {query:?}, document {doc:?}: the fused score is NaN, as infinite scores make it"
    )]
    NanFused {
        /// The query.
        query: String,
        /// The document.
        doc: String,
    },
    /// A k of [`Combine::Rrf`] that is negative or not finite.
    #[error("k of reciprocal rank fusion is {k}, expected {RRF_K}")]
    Rrf {
        /// What was given.
        k: f64,
    },
}

const RRF_K: &str = "a finite number of at least 0";

/// A fusion method as a value: normalisation, then combination.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Fusion {
    /// How each list's scores are made comparable.
    pub normalise: Normalise,
    /// How a document's scores are combined.
    pub combine: Combine,
}

impl Fusion {
    /// Reciprocal rank fusion with k = 60.
    #[must_use]
    pub const fn rrf() -> Self {
        Self {
            normalise: Normalise::None,
            combine: Combine::Rrf { k: 60.0 },
        }
    }

    /// CombSUM over min–max normalised scores.
    #[must_use]
    pub const fn comb_sum() -> Self {
        Self {
            normalise: Normalise::MinMax,
            combine: Combine::Sum,
        }
    }

    /// CombMNZ over min–max normalised scores.
    #[must_use]
    pub const fn comb_mnz() -> Self {
        Self {
            normalise: Normalise::MinMax,
            combine: Combine::Mnz,
        }
    }

    /// Borda count.
    #[must_use]
    pub const fn borda() -> Self {
        Self {
            normalise: Normalise::Borda,
            combine: Combine::Sum,
        }
    }

    /// The k of reciprocal rank fusion when it is out of range.
    fn bad_k(self) -> Option<f64> {
        match self.combine {
            Combine::Rrf { k } if !(k.is_finite() && k >= 0.0) => Some(k),
            _ => None,
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
            let values = match self.combine {
                Combine::Rrf { k } => (1..=list.len())
                    .map(|rank| 1.0 / (k + rank as f64))
                    .collect(),
                _ => normalised(
                    self.normalise,
                    list.iter().map(|(_, score)| *score).collect(),
                    union,
                ),
            };
            for ((key, _), value) in list.iter().zip(values) {
                scores.entry(key).or_default().push(value);
            }
            if self.normalise == Normalise::Borda && !matches!(self.combine, Combine::Rrf { .. }) {
                let absent = (union - list.len() as f64 + 1.0) / 2.0;
                let present: std::collections::BTreeSet<&K> =
                    list.iter().map(|(key, _)| key).collect();
                let lacking = scores.iter_mut().filter(|(key, _)| !present.contains(*key));
                lacking.for_each(|(_, values)| values.push(absent));
            }
        }
        scores
            .into_iter()
            .map(|(key, values)| (key.clone(), self.combine.apply(values)))
            .collect()
    }
}

impl Combine {
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

fn normalised(how: Normalise, scores: Vec<f64>, union: f64) -> Vec<f64> {
    let count = scores.len() as f64;
    let min = scores.iter().copied().fold(f64::INFINITY, f64::min);
    let max = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let linear = |offset: f64, scale: f64| scores.iter().map(|s| (s - offset) / scale).collect();
    match how {
        Normalise::None => scores,
        Normalise::MinMax => linear(min, (max - min).max(1e-9)),
        Normalise::ZScore => {
            let mean = scores.iter().sum::<f64>() / count;
            let variance = scores.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / count;
            linear(mean, variance.sqrt().max(1e-9))
        }
        Normalise::Sum => {
            let total: f64 = scores.iter().map(|s| s - min).sum();
            linear(min, total.max(1e-9))
        }
        Normalise::Borda => (0..scores.len()).map(|rank| union - rank as f64).collect(),
    }
}

/// Fuses runs by the collection's ids, query by query. A query that some runs lack is fused from
/// the others. Each list is first put in trec_eval's order (score descending, equal scores by id
/// descending), and so is the result.
///
/// # Errors
/// When a score is NaN, a fused score is (which infinite scores can cause), or the k of
/// [`Combine::Rrf`] is negative or not finite.
pub fn fuse_runs(tag: &str, runs: &[Run], fusion: Fusion) -> Result<Run, FuseError> {
    if let Some(k) = fusion.bad_k() {
        return Err(FuseError::Rrf { k });
    }
    let order =
        |a: &(String, f64), b: &(String, f64)| b.1.total_cmp(&a.1).then_with(|| b.0.cmp(&a.0));
    // Adding 0 makes 0 of -0, which `total_cmp` tells apart.
    let mut queries: BTreeMap<&str, Vec<Vec<(String, f64)>>> = BTreeMap::new();
    for run in runs {
        for (query, list) in run.iter() {
            if let Some(scored) = list.iter().find(|scored| scored.score.is_nan()) {
                return Err(FuseError::NanScore {
                    tag: run.tag.clone(),
                    query: query.to_owned(),
                    doc: scored.doc.clone(),
                });
            }
            let pair = |s: &Scored| (s.doc.clone(), s.score + 0.0);
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
                return Err(FuseError::NanFused {
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
/// When a fused score is NaN, which infinite scores can cause, or the k of [`Combine::Rrf`] is
/// negative or not finite.
pub fn fuse_rankings(rankings: &[Ranking], fusion: Fusion) -> Result<Ranking, SearchError> {
    if let Some(found) = fusion.bad_k() {
        return Err(SearchError::Parameter {
            name: "k of reciprocal rank fusion",
            expected: RRF_K,
            found,
        });
    }
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
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lists() -> Vec<Vec<(&'static str, f64)>> {
        vec![
            vec![("a", 4.0), ("b", 3.0), ("c", 2.0), ("d", 0.0)],
            vec![("c", 9.0), ("a", 8.0), ("e", 1.0)],
        ]
    }

    fn fused(normalise: Normalise, combine: Combine) -> Vec<f64> {
        let values = Fusion { normalise, combine }.fuse(&lists());
        assert_eq!(values.iter().map(|(k, _)| *k).collect::<String>(), "abcde");
        values.into_iter().map(|(_, value)| value).collect()
    }

    fn close(found: &[f64], expected: &[f64]) {
        assert!(
            found
                .iter()
                .zip(expected)
                .all(|(a, b)| (a - b).abs() < 5e-9),
            "{found:?} {expected:?}"
        );
    }

    #[test]
    fn reciprocal_rank() {
        // A = a,b,c,d and B = c,a,e with k = 60, worked by hand.
        let expected = [
            0.032_522_47,
            0.016_129_03,
            0.032_266_46,
            0.015_625,
            0.015_873_02,
        ];
        close(&fused(Normalise::None, Combine::Rrf { k: 60.0 }), &expected);
    }

    #[test]
    fn the_comb_family_on_raw_scores() {
        close(
            &fused(Normalise::None, Combine::Sum),
            &[12.0, 3.0, 11.0, 0.0, 1.0],
        );
        close(
            &fused(Normalise::None, Combine::Mnz),
            &[24.0, 3.0, 22.0, 0.0, 1.0],
        );
        close(
            &fused(Normalise::None, Combine::Anz),
            &[6.0, 3.0, 5.5, 0.0, 1.0],
        );
        close(
            &fused(Normalise::None, Combine::Max),
            &[8.0, 3.0, 9.0, 0.0, 1.0],
        );
        close(
            &fused(Normalise::None, Combine::Min),
            &[4.0, 3.0, 2.0, 0.0, 1.0],
        );
        close(
            &fused(Normalise::None, Combine::Med),
            &[6.0, 3.0, 5.5, 0.0, 1.0],
        );
    }

    #[test]
    fn normalisations() {
        close(
            &fused(Normalise::MinMax, Combine::Sum),
            &[1.875, 0.75, 1.5, 0.0, 0.0],
        );
        close(
            &fused(Normalise::Sum, Combine::Max),
            &[
                4.0 / 9.0 + 7.0 / 15.0 - 4.0 / 9.0,
                1.0 / 3.0,
                8.0 / 15.0,
                0.0,
                0.0,
            ],
        );
        // C = 5: A gives 5 4 3 2 and e (5-4+1)/2 = 1; B gives c 5, a 4, e 3 and b, d (5-3+1)/2 = 1.5.
        close(
            &fused(Normalise::Borda, Combine::Sum),
            &[9.0, 5.5, 8.0, 3.5, 4.0],
        );
        let z = fused(Normalise::ZScore, Combine::Min);
        let sd =
            (((4.0_f64 - 2.25).powi(2) + 0.75_f64.powi(2) + 0.25_f64.powi(2) + 2.25_f64.powi(2))
                / 4.0)
                .sqrt();
        assert!((z[1] - 0.75 / sd).abs() < 1e-12);
    }

    #[test]
    fn constant_lists_become_zero() {
        for how in [Normalise::MinMax, Normalise::Sum, Normalise::ZScore] {
            assert_eq!(normalised(how, vec![3.0, 3.0], 2.0), [0.0, 0.0]);
        }
    }

    #[test]
    fn by_number_and_by_id_agree() {
        let (mut a, mut b) = (Run::new("a"), Run::new("b"));
        for (n, run) in [&mut a, &mut b].into_iter().enumerate() {
            lists()[n]
                .iter()
                .for_each(|(doc, score)| run.push("q", *doc, *score));
        }
        let by_id = fuse_runs("f", &[a, b], Fusion::comb_sum()).unwrap();
        let number = |doc: &str| DocNum::new(u32::from(doc.as_bytes()[0] - b'a'));
        let rankings: Vec<Ranking> = lists()
            .into_iter()
            .map(|list| {
                Ranking::from_hits(
                    list.into_iter()
                        .map(|(d, s)| Hit::new(number(d), s as f32))
                        .collect(),
                )
                .unwrap()
            })
            .collect();
        let by_number = fuse_rankings(&rankings, Fusion::comb_sum()).unwrap();
        let docs: Vec<DocNum> = by_id
            .get("q")
            .unwrap()
            .iter()
            .map(|s| number(&s.doc))
            .collect();
        // d and e are both 0: by id descending in a run, by number ascending in a ranking.
        assert_eq!(
            docs.iter().map(|d| d.get()).collect::<Vec<_>>(),
            [0, 2, 1, 4, 3]
        );
        assert_eq!(
            by_number.iter().map(|h| h.doc.get()).collect::<Vec<_>>(),
            [0, 2, 1, 3, 4]
        );
    }

    fn one(tag: &str, scores: &[f64]) -> Run {
        let mut run = Run::new(tag);
        for (n, &score) in scores.iter().enumerate() {
            run.push("q", format!("d{n}"), score);
        }
        run
    }

    #[test]
    fn what_is_no_number_is_an_error() {
        let (good, bad) = (one("good", &[1.0]), one("bad", &[1.0, f64::NAN]));
        let found = fuse_runs("f", &[good.clone(), bad], Fusion::rrf());
        let (tag, query, doc) = ("bad".into(), "q".into(), "d1".into());
        assert_eq!(found, Err(FuseError::NanScore { tag, query, doc }));
        let raw = Fusion {
            normalise: Normalise::None,
            combine: Combine::Sum,
        };
        let runs = [one("a", &[f64::INFINITY]), one("b", &[f64::NEG_INFINITY])];
        let (query, doc) = ("q".into(), "d0".into());
        let nan = FuseError::NanFused { query, doc };
        assert_eq!(fuse_runs("f", &runs, raw), Err(nan.clone()));
        // Infinity minus infinity inside one list, and a combination that would hide it.
        let largest = Fusion {
            normalise: Normalise::MinMax,
            combine: Combine::Max,
        };
        assert_eq!(fuse_runs("f", &[runs[0].clone(), good], largest), Err(nan));
        for k in [-1.0, f64::NAN, f64::INFINITY] {
            let rrf = Fusion {
                normalise: Normalise::None,
                combine: Combine::Rrf { k },
            };
            assert!(matches!(
                fuse_runs("f", &[], rrf),
                Err(FuseError::Rrf { .. })
            ));
            assert!(fuse_rankings(&[], rrf).is_err());
        }
        let zeros = fuse_runs("f", &[one("z", &[-0.0, 0.0])], raw).unwrap();
        assert_eq!(
            zeros.get("q").unwrap()[0].doc,
            "d1",
            "equal: by id descending"
        );
    }

    fn score() -> impl Strategy<Value = f64> {
        prop_oneof![
            any::<f64>(),
            -2.0..2.0,
            Just(f64::INFINITY),
            Just(f64::NEG_INFINITY),
            Just(f64::NAN),
            Just(0.0),
            Just(-0.0)
        ]
    }

    proptest! {
        #[test]
        fn fused_runs_are_in_order_and_without_nan(
            runs in prop::collection::vec(prop::collection::vec(score(), 0..60), 0..4),
        ) {
            use Combine::{Anz, Max, Med, Min, Mnz, Rrf, Sum};
            let nan = runs.iter().flatten().any(|score| score.is_nan());
            let runs: Vec<Run> = runs.iter().map(|scores| one("r", scores)).collect();
            let normalise = [
                Normalise::None, Normalise::MinMax, Normalise::ZScore, Normalise::Sum, Normalise::Borda,
            ];
            for normalise in normalise {
                for combine in [Rrf { k: 0.0 }, Sum, Mnz, Anz, Max, Min, Med] {
                    let fused = fuse_runs("f", &runs, Fusion { normalise, combine });
                    prop_assert_eq!(matches!(fused, Err(FuseError::NanScore { .. })), nan);
                    let Ok(fused) = fused else { continue };
                    let list = fused.get("q").unwrap_or_default();
                    let before = |a: &Scored, b: &Scored| {
                        a.score > b.score || (a.score == b.score && a.doc > b.doc)
                    };
                    prop_assert!(list.windows(2).all(|pair| before(&pair[0], &pair[1])));
                    prop_assert!(list.iter().all(|scored| !scored.score.is_nan()));
                }
            }
        }
    }
}
