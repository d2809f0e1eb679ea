//! Hard-negative mining: nonrelevant documents that a retriever ranks high.
//!
//! [`MiningConfig`] determines how many negatives to take, from which ranks, and how far below the
//! positives. [`MiningConfig::mine`] searches with any retriever; [`MiningConfig::select`] uses
//! existing rankings, such as the lists of a run file.
//!
//! ```
//! use ir_core::training::mining::{MiningConfig, MiningQuery};
//! # use ir_core::{DocIds, DocNum, Ranking, Retriever, Search, SearchError, TopK};
//! # struct Letters(DocIds);
//! # impl Retriever for Letters {
//! #     type Query = str;
//! #     fn ids(&self) -> &DocIds { &self.0 }
//! #     fn search(&self, query: &str, search: &Search<'_>) -> Result<Ranking, SearchError> {
//! #         let mut best = TopK::new(search.k());
//! #         for (doc, id) in (0..).map(DocNum::new).zip(self.0.iter()) {
//! #             let shared = query.chars().filter(|&c| id.contains(c)).count();
//! #             if shared > 0 && search.allows(doc) { best.push(doc, shared as f32); }
//! #         }
//! #         best.finish()
//! #     }
//! # }
//! // A retriever that counts the letters that a query shares with an id.
//! let letters = Letters(["tea", "eat", "milk", "at"].into_iter().collect());
//! let mining = MiningConfig { hard: 2, ..MiningConfig::DATAFINDER };
//! let query = MiningQuery { text: "tea", positives: &["tea"], within: None };
//! let mined = mining.mine(&letters, &[query], &|_| None)?;
//! let found: Vec<&str> = mined[0].hard.iter().map(|hit| letters.ids().id(hit.doc)).collect();
//! assert_eq!(found, ["eat", "at"]);
//! # Ok::<(), ir_core::training::mining::MiningError>(())
//! ```

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::error::SearchError;
use crate::filter::DocFilter;
use crate::ids::{DocIds, DocNum, DocSet};
use crate::random::SplitMix64;
use crate::ranking::{Hit, Ranking};
use crate::retriever::Retriever;
use crate::search::Search;

/// Minimum distance of the score of a hard negative below the positives.
///
/// The reference is the lowest score among the positives of the query. If the retriever scores none
/// of them, no hard negative passes an absolute or relative margin.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ScoreMargin {
    /// No margin: scores are not compared.
    #[default]
    None,
    /// Maximum score: reference − margin, such as 0.1 for cosines. Range: ≥ 0.
    Absolute(f32),
    /// Maximum score: reference − margin · |reference|; 0.05 keeps scores up to 95 %. Range: 0..=1.
    /// # Source
    /// Moreira et al., "NV-Retriever: Improving text embedding models with effective hard-negative
    /// mining", 2024: TopK-PercPos.
    Relative(f32),
}

/// Selection among the candidates for hard negatives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NegativeSelection {
    /// Best-ranked candidates of the window.
    #[default]
    Best,
    /// Uniform random sample, in rank order.
    Random,
}

/// Configuration of hard-negative mining.
///
/// Negatives exclude the positives, documents with the id or the text of a positive, and repeated
/// ids. Random choices depend on the seed and the query text alone.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MiningConfig {
    /// Maximum number of hard negatives per query.
    pub hard: usize,
    /// Number of additional random negatives per query, from the whole collection.
    pub random: usize,
    /// First rank of the candidates, counting positives. Range: ≥ 1.
    pub first_rank: usize,
    /// Last rank of the candidates. Range: ≥ `first_rank`.
    pub last_rank: usize,
    /// Selection among the candidates.
    pub selection: NegativeSelection,
    /// Minimum distance below the positives.
    pub margin: ScoreMargin,
    /// Seed of the random negatives.
    pub seed: u64,
}

impl MiningConfig {
    /// Configuration of DataFinder: seven hard negatives, the best-ranked of 500 hits.
    ///
    /// # Source
    /// Viswanathan et al., "DataFinder: Scientific Dataset Recommendation from Natural Language
    /// Descriptions", ACL 2023.
    pub const DATAFINDER: Self = Self {
        hard: 7,
        random: 0,
        first_rank: 1,
        last_rank: 500,
        selection: NegativeSelection::Best,
        margin: ScoreMargin::None,
        seed: 0,
    };

    /// Validates the parameters.
    ///
    /// # Errors
    /// The first parameter outside its range.
    pub fn validate(&self) -> Result<(), MiningError> {
        if self.first_rank == 0 {
            return Err(MiningError::FirstRank);
        }
        if self.last_rank < self.first_rank {
            return Err(MiningError::LastRank {
                first: self.first_rank,
                last: self.last_rank,
            });
        }
        match self.margin {
            ScoreMargin::Absolute(margin) if !(margin >= 0.0 && margin.is_finite()) => {
                Err(MiningError::AbsoluteMargin { margin })
            }
            ScoreMargin::Relative(margin) if !(0.0..=1.0).contains(&margin) => {
                Err(MiningError::RelativeMargin { margin })
            }
            _ => Ok(()),
        }
    }

    /// Mines negatives for each query, in order. `text` returns the text of a document, if known,
    /// to exclude duplicates of positives.
    ///
    /// # Errors
    /// If a parameter is outside its range or the retriever fails.
    pub fn mine<'t, R: Retriever<Query = str> + ?Sized>(
        &self,
        retriever: &R,
        queries: &[MiningQuery<'_>],
        text: &dyn Fn(DocNum) -> Option<&'t str>,
    ) -> Result<Vec<MinedNegatives>, MiningError> {
        self.validate()?;
        let ids = retriever.ids();
        let batch: Vec<(&str, Search<'_>)> = queries
            .iter()
            .map(|query| {
                let search = Search::top(if self.hard == 0 { 0 } else { self.last_rank });
                let search = query.within.map_or(search, |filter| search.within(filter));
                (query.text, search)
            })
            .collect();
        let rankings = retriever.search_batch(&batch)?;
        // Scores of the positives, at any rank.
        let positives: Vec<DocSet> = match self.margin {
            ScoreMargin::None => Vec::new(),
            _ => queries.iter().map(|q| q.positive_docs(ids)).collect(),
        };
        let batch: Vec<(&str, Search<'_>)> = queries
            .iter()
            .zip(&positives)
            .map(|(query, docs)| {
                let search = Search::top(docs.count().unwrap_or_default()).within(docs);
                (query.text, search)
            })
            .collect();
        let judged = retriever.search_batch(&batch)?;
        let none = Ranking::default();
        let mined = queries.iter().zip(&rankings).enumerate();
        Ok(mined
            .map(|(n, (query, ranking))| {
                self.select(ids, query, ranking, judged.get(n).unwrap_or(&none), text)
            })
            .collect())
    }

    /// Selects the negatives of one query from a ranking. `judged` contains the scores of its
    /// positives, used by margins only; pass `ranking` if it contains them.
    pub fn select<'t>(
        &self,
        ids: &DocIds,
        query: &MiningQuery<'_>,
        ranking: &Ranking,
        judged: &Ranking,
        text: &dyn Fn(DocNum) -> Option<&'t str>,
    ) -> MinedNegatives {
        let positives: HashSet<&str> = query.positives.iter().copied().collect();
        let texts: HashSet<&str> = query.positive_docs(ids).iter().filter_map(text).collect();
        let scored = judged.iter();
        let limit = self.limit(scored.filter(|hit| positives.contains(ids.id(hit.doc))));
        let duplicate = |doc: DocNum| text(doc).is_some_and(|text| texts.contains(text));
        let mut excluded = positives.clone();
        let ranks = self.first_rank - 1..self.last_rank.min(ranking.len()).max(self.first_rank - 1);
        let window = ranking.hits().get(ranks).unwrap_or_default();
        let mut hard: Vec<Hit> = window
            .iter()
            .filter(|hit| {
                hit.score <= limit && !duplicate(hit.doc) && excluded.insert(ids.id(hit.doc))
            })
            .copied()
            .collect();
        let mut random = SplitMix64::from_name(self.seed, query.text);
        if self.selection == NegativeSelection::Random {
            random.partial_shuffle(&mut hard, self.hard);
        }
        hard.truncate(self.hard);
        hard.sort_unstable_by(Hit::order);
        // Candidates that were not selected may still be sampled at random.
        let mut excluded = positives;
        excluded.extend(hard.iter().map(|hit| ids.id(hit.doc)));
        let mut eligible = |doc: &DocNum| {
            query.within.is_none_or(|filter| filter.contains(*doc))
                && !duplicate(*doc)
                && excluded.insert(ids.id(*doc))
        };
        let mut drawn = Vec::new();
        let wanted = self.random.min(ids.len());
        // Rejection sampling while most documents are eligible; otherwise all are listed.
        for _ in 0..wanted.saturating_mul(8) {
            if drawn.len() == wanted {
                break;
            }
            let doc = DocNum::new(random.below(ids.len()) as u32);
            if eligible(&doc) {
                drawn.push(doc);
            }
        }
        if drawn.len() < wanted {
            let all = (0..ids.len() as u32).map(DocNum::new);
            let mut rest: Vec<DocNum> = all.filter(eligible).collect();
            let missing = wanted - drawn.len();
            random.partial_shuffle(&mut rest, missing);
            drawn.extend(rest.into_iter().take(missing));
        }
        MinedNegatives {
            hard,
            random: drawn,
        }
    }

    /// Maximum score of a hard negative.
    fn limit<'a>(&self, positives: impl Iterator<Item = &'a Hit>) -> f32 {
        let least = || positives.map(|hit| hit.score).reduce(f32::min);
        let limit = match self.margin {
            ScoreMargin::None => return f32::INFINITY,
            ScoreMargin::Absolute(margin) => least().map(|least| least - margin),
            ScoreMargin::Relative(margin) => least().map(|least| least - least.abs() * margin),
        };
        limit.unwrap_or(f32::NEG_INFINITY)
    }
}

/// Error mining hard negatives.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum MiningError {
    /// [`MiningConfig::first_rank`] is 0.
    #[error("first rank: expected a number >= 1, found 0")]
    FirstRank,
    /// [`MiningConfig::last_rank`] is below the first rank.
    #[error("last rank: expected a number >= the first rank {first}, found {last}")]
    LastRank { first: usize, last: usize },
    /// The margin of [`ScoreMargin::Absolute`] is negative or not finite.
    #[error("absolute margin: expected a finite number >= 0, found {margin}")]
    AbsoluteMargin { margin: f32 },
    /// The margin of [`ScoreMargin::Relative`] is outside 0..=1.
    #[error("relative margin: expected a number in 0..=1, found {margin}")]
    RelativeMargin { margin: f32 },
    /// The search for candidates failed.
    #[error(transparent)]
    Search(#[from] SearchError),
}

/// Query to mine negatives for.
#[derive(Debug, Clone, Copy)]
pub struct MiningQuery<'a> {
    /// Query text to search with.
    pub text: &'a str,
    /// Ids of the relevant documents.
    pub positives: &'a [&'a str],
    /// Filter on negatives. Excludes trivial negatives, such as documents newer than the query.
    pub within: Option<&'a dyn DocFilter>,
}

impl MiningQuery<'_> {
    /// Returns all records of the positives.
    fn positive_docs(&self, ids: &DocIds) -> DocSet {
        let order = ids.order();
        let records = self.positives.iter().flat_map(|id| {
            let from = order.partition_point(|&n| ids.id(DocNum::new(n)) < *id);
            let rest = order[from..].iter().copied().map(DocNum::new);
            rest.take_while(|&doc| ids.id(doc) == *id)
        });
        records.collect()
    }
}

/// Negatives of one query.
#[derive(Debug, Clone, PartialEq, Default)]
#[must_use]
pub struct MinedNegatives {
    /// Hard negatives and their scores, best first; at most [`MiningConfig::hard`].
    pub hard: Vec<Hit>,
    /// Random negatives, in sampling order.
    pub random: Vec<DocNum>,
}

impl MinedNegatives {
    /// Iterates over all negatives, the hard ones first.
    pub fn docs(&self) -> impl Iterator<Item = DocNum> + '_ {
        let hard = self.hard.iter().map(|hit| hit.doc);
        hard.chain(self.random.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tests::ConstantScores;

    /// Ten documents with the scores 10 to 1; the last two share an id, and d3 has the text of d1.
    fn ten_documents() -> ConstantScores {
        let ids = ["d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7", "d8", "d8"];
        ConstantScores {
            ids: ids.into_iter().collect(),
            scores: (0..10).map(|n| Some((10 - n) as f32)).collect(),
        }
    }

    fn mined(mining: MiningConfig, positives: &[&str], within: Option<&dyn DocFilter>) -> Vec<u32> {
        let query = MiningQuery {
            text: "q",
            positives,
            within,
        };
        let text = |doc: DocNum| matches!(doc.get(), 1 | 3).then_some("duplicate");
        let mined = mining.mine(&ten_documents(), &[query], &text).unwrap();
        mined[0].docs().map(DocNum::get).collect()
    }

    #[test]
    fn best_ranked_negatives_exclude_positives() {
        let best = MiningConfig {
            hard: 4,
            ..MiningConfig::DATAFINDER
        };
        assert_eq!(mined(best, &["d0"], None), [1, 2, 3, 4]);
        // Excludes the positive and the document with the same text.
        assert_eq!(mined(best, &["d1", "unknown"], None), [0, 2, 4, 5]);
        // The two records of one id: excluded as positives, returned as negatives.
        assert_eq!(
            mined(
                MiningConfig {
                    first_rank: 8,
                    ..best
                },
                &["d8"],
                None
            ),
            [7]
        );
        assert_eq!(
            mined(
                MiningConfig {
                    first_rank: 8,
                    ..best
                },
                &["d0"],
                None
            ),
            [7, 8]
        );
        let odd = |doc: DocNum| doc.get() % 2 == 1;
        assert_eq!(mined(best, &["d5"], Some(&odd)), [1, 3, 7, 9]);
        // Ranks 3 and 4, of which one is a positive.
        let window = MiningConfig {
            first_rank: 3,
            last_rank: 4,
            ..best
        };
        assert_eq!(mined(window, &["d2"], None), [3]);
        assert!(
            mined(
                MiningConfig {
                    first_rank: 40,
                    ..best
                },
                &["d2"],
                None
            )
            .is_empty()
        );
    }

    #[test]
    fn margins() {
        let with = |margin| MiningConfig {
            hard: 3,
            margin,
            ..MiningConfig::DATAFINDER
        };
        // The positive has 8; 8 - 2.5 = 5.5 leaves 5, which is document 5.
        assert_eq!(
            mined(with(ScoreMargin::Absolute(2.5)), &["d2"], None),
            [5, 6, 7]
        );
        assert_eq!(
            mined(with(ScoreMargin::Absolute(0.0)), &["d2"], None),
            [3, 4, 5]
        );
        // A quarter below 8 is 6; the lowest of several positives counts.
        assert_eq!(
            mined(with(ScoreMargin::Relative(0.25)), &["d2"], None),
            [4, 5, 6]
        );
        assert_eq!(
            mined(with(ScoreMargin::Relative(0.25)), &["d0", "d2"], None),
            [4, 5, 6]
        );
        // No positive has a score.
        assert!(mined(with(ScoreMargin::Absolute(0.0)), &["unknown"], None).is_empty());
        let query = MiningQuery {
            text: "",
            positives: &[],
            within: None,
        };
        for wrong in [
            with(ScoreMargin::Absolute(-1.0)),
            with(ScoreMargin::Relative(f32::NAN)),
            with(ScoreMargin::Relative(1.1)),
            MiningConfig {
                first_rank: 0,
                ..with(ScoreMargin::None)
            },
            MiningConfig {
                last_rank: 0,
                ..with(ScoreMargin::None)
            },
        ] {
            let error = wrong
                .mine(&ten_documents(), &[query], &|_| None)
                .unwrap_err();
            assert!(
                matches!(
                    error,
                    MiningError::AbsoluteMargin { .. }
                        | MiningError::RelativeMargin { .. }
                        | MiningError::FirstRank
                        | MiningError::LastRank { .. }
                ),
                "{error}"
            );
        }
    }

    proptest! {
        #[test]
        fn negatives_are_distinct_and_exclude_positives(
            seed in 0_u64..50, hard in 0_usize..8, random in 0_usize..12, first_rank in 1_usize..12,
            selection in prop::sample::select(vec![NegativeSelection::Best, NegativeSelection::Random]),
            positives in prop::sample::subsequence(vec!["d0", "d1", "d4", "d8", "x"], 0..4),
        ) {
            let mining = MiningConfig { hard, random, first_rank, last_rank: 11, selection, margin: ScoreMargin::None, seed };
            let even = |doc: DocNum| doc.get().is_multiple_of(2) || doc.get() == 3;
            let found = mined(mining, &positives, Some(&even));
            prop_assert_eq!(&found, &mined(mining, &positives, Some(&even)));
            let ids = ten_documents().ids;
            let mut names: Vec<&str> = found.iter().map(|&n| ids.id(DocNum::new(n))).collect();
            prop_assert!(names.iter().all(|name| !positives.contains(name)));
            prop_assert!(found.iter().all(|&n| even(DocNum::new(n))));
            prop_assert!(!(positives.contains(&"d1") && found.contains(&3)));
            names.sort_unstable();
            names.dedup();
            prop_assert_eq!(names.len(), found.len());
            // All eligible documents are drawn: 6 documents pass the filter.
            let excluded = ["d0", "d4", "d8"].iter().filter(|id| positives.contains(id)).count()
                + usize::from(positives.contains(&"d1"));
            if random >= 6 {
                prop_assert_eq!(found.len(), 6 - excluded);
            }
        }
    }

    #[test]
    fn random_draws_are_uniform_and_keep_rank_order() {
        let mut counts = [0; 10];
        for seed in 0..2000 {
            let mining = MiningConfig {
                hard: 2,
                selection: NegativeSelection::Random,
                seed,
                ..MiningConfig::DATAFINDER
            };
            let found = mined(mining, &["d0"], None);
            assert!(found[0] < found[1]);
            found.iter().for_each(|&n| counts[n as usize] += 1);
        }
        // 4000 draws among 8 ids: 500 expected of each; five standard deviations are 97.
        assert_eq!((counts[0], counts[9]), (0, 0));
        let fair = |&n: &i32| (n - 500).abs() < 97;
        assert!(counts[1..9].iter().all(fair), "{counts:?}");
    }
}
