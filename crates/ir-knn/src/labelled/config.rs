//! What may be chosen.

use serde::{Deserialize, Serialize};

use super::LabelledQueriesError;
use crate::Metric;

/// How labelled queries answer a new one.
///
/// ```
/// use ir_knn::{Aggregate, LabelledQueriesConfig, Metric};
/// let config = LabelledQueriesConfig::default()
///     .with_aggregate(Aggregate::WeightedVote { neighbours: 10 })
///     .by(Metric::Euclidean);
/// let text = serde_json::to_string(&config)?;
/// assert_eq!(serde_json::from_str::<LabelledQueriesConfig>(&text)?, config);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct LabelledQueriesConfig {
    /// How far apart two queries are. Default: cosine; a vector of zeros, that of a text without a
    /// known word, has cosine 0 with every other. Published: Euclidean, squared. There a vector of
    /// zeros is at distance 1 from every unit vector, nearer than all queries with a cosine below
    /// one half, so a few labelled queries without a known word can answer nearly everything.
    pub metric: Metric,
    /// What the queries of an item say about it together. Default: the nearest decides.
    pub aggregate: Aggregate,
    /// What the published program does besides. Default: nothing of it.
    pub oddities: Oddities,
    /// A labelled query without labels. Default: an error.
    pub unlabelled: Missing,
    /// A label that no item carries. Default: an error.
    pub unknown: Missing,
}

impl Default for LabelledQueriesConfig {
    fn default() -> Self {
        Self {
            metric: Metric::Cosine,
            aggregate: Aggregate::default(),
            oddities: Oddities::default(),
            unlabelled: Missing::default(),
            unknown: Missing::default(),
        }
    }
}

impl LabelledQueriesConfig {
    /// With another aggregate.
    #[must_use]
    pub fn with_aggregate(mut self, aggregate: Aggregate) -> Self {
        self.aggregate = aggregate;
        self
    }

    /// By another distance.
    #[must_use]
    pub fn by(mut self, metric: Metric) -> Self {
        self.metric = metric;
        self
    }

    /// With oddities of the published program.
    #[must_use]
    pub fn with_oddities(mut self, oddities: Oddities) -> Self {
        self.oddities = oddities;
        self
    }

    /// Passes over queries without labels;
    /// [`LabelledQueries::unlabelled`](crate::LabelledQueries::unlabelled) counts them.
    #[must_use]
    pub fn skip_unlabelled(mut self) -> Self {
        self.unlabelled = Missing::Skip;
        self
    }

    /// Passes over labels that no item carries;
    /// [`LabelledQueries::unknown`](crate::LabelledQueries::unknown) lists them.
    #[must_use]
    pub fn skip_unknown(mut self) -> Self {
        self.unknown = Missing::Skip;
        self
    }

    pub(super) fn validate(&self) -> Result<(), LabelledQueriesError> {
        let Self {
            aggregate,
            oddities,
            ..
        } = *self;
        if aggregate == (Aggregate::WeightedVote { neighbours: 0 }) {
            return Err(LabelledQueriesError::Nobody);
        }
        let exact = aggregate == Aggregate::ExactTop;
        let vote = matches!(aggregate, Aggregate::WeightedVote { .. });
        for (name, on, fits) in [
            ("reversed_scores", oddities.reversed_scores, exact),
            ("four_results", oddities.four_results, exact || vote),
            ("first_rows", oddities.first_rows, vote),
        ] {
            if on && !fits {
                return Err(LabelledQueriesError::Oddity { name, aggregate });
            }
        }
        Ok(())
    }
}

/// What becomes of something that is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Missing {
    /// An error.
    #[default]
    Refuse,
    /// It is passed over and reported.
    Skip,
}

/// From the distances of labelled queries to the scores of items. A score is a sum of votes, which
/// [`LabelledQueries::explain`](crate::LabelledQueries::explain) lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Aggregate {
    /// The nearest query of an item decides: the score is its distance, negated.
    #[default]
    Nearest,
    /// All queries of an item vote with their similarity: the cosine, or 1 / (1 + d) for a squared
    /// Euclidean distance d. Items with many queries come first easily.
    Sum,
    /// The nearest queries vote with (D − d) / D, where d is a query's distance and D that of the
    /// farthest of them, whose vote is therefore 0 (where D is 0: 1 at distance 0, otherwise −d). An
    /// item that none of them carries has the vote that its nearest query would have, which is that of
    /// the farthest or less: it follows the items with more, and of items with as much, the one with
    /// the lower number comes first.
    ///
    /// The nearest of *all* queries vote, those of items that a filter excludes among them: a
    /// filtered ranking is the whole one without the excluded items, as of every retriever. Items
    /// that few of the voters carry may then rank by their nearest query; more `neighbours` help.
    WeightedVote {
        /// How many queries vote, from 1. Published: 10.
        neighbours: usize,
    },
    /// As published for the nearest neighbour: queries are taken from the nearest on until there
    /// are as many items as are wanted; an item's score is the *sum* of the distances of its queries
    /// among these, negated, so that an item found twice drops. That depends on how many items are
    /// wanted: the best five are not the first five of the best ten. [`Aggregate::Nearest`] is what
    /// was meant.
    ExactTop,
}

/// What the published program of the DataFinder paper (ACL 2023) does besides what it describes.
/// Nothing of it is a default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Oddities {
    /// [`Aggregate::ExactTop`] writes distances for scores, and whoever sorts by score, as trec_eval
    /// does, reads the list backwards. The items are the same, their order is reversed.
    pub reversed_scores: bool,
    /// Four results are looked for however many are wanted. [`Aggregate::ExactTop`] looks at 40
    /// queries at most and stops after the one at which it has four labels, repeated ones counted
    /// (so there may be fewer than four items, or more); [`Aggregate::WeightedVote`] keeps the best
    /// four of the items that got a vote.
    pub four_results: bool,
    /// [`Aggregate::WeightedVote`] gives the vote of its nearest query to the labels of the first
    /// labelled query, that of the second nearest to those of the second, and so on: only the labels
    /// of the first rows can win.
    pub first_rows: bool,
}

impl Oddities {
    /// Those of the published `exact_top`.
    pub const EXACT_TOP: Self = Self {
        reversed_scores: true,
        four_results: true,
        first_rows: false,
    };

    /// Those of the published `weighted`.
    pub const WEIGHTED: Self = Self {
        reversed_scores: false,
        four_results: true,
        first_rows: true,
    };
}
