//! Configuration of kNN over training queries, and its errors.

use ir_core::{EncodeError, VectorSimilarity};
use serde::{Deserialize, Serialize};

use crate::vectorize::TfidfFitError;

/// Configuration of a [`TrainingQueryKnn`](crate::TrainingQueryKnn).
///
/// ```
/// use ir_core::VectorSimilarity;
/// use ir_knn::{NeighborAggregation, TrainingQueryKnnConfig};
/// let config = TrainingQueryKnnConfig::default()
///     .with_aggregation(NeighborAggregation::WeightedVote { neighbors: 10 })
///     .with_metric(VectorSimilarity::Euclidean);
/// let text = serde_json::to_string(&config)?;
/// assert_eq!(serde_json::from_str::<TrainingQueryKnnConfig>(&text)?, config);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct TrainingQueryKnnConfig {
    /// Distance between queries: cosine distance or squared Euclidean distance. The inner product
    /// is rejected. Default: cosine. DataFinder's publication uses the squared
    /// Euclidean distance, under which a zero vector (a query without known words) is closer to
    /// every unit vector than all vectors with a cosine below 0.5, so it answers almost every
    /// query.
    pub metric: VectorSimilarity,
    /// Aggregation of the distances of training queries into document scores. Default: nearest.
    pub aggregation: NeighborAggregation,
    /// Order of documents with the same nearest training query, for
    /// [`NeighborAggregation::Nearest`]. Default: document number.
    pub ties: NeighborTies,
    /// Deviations of DataFinder's published program from its description. Default: none.
    pub quirks: DataFinderQuirks,
    /// Policy for training queries without relevant documents. Default: error.
    pub without_relevant: MissingRelevantPolicy,
    /// Policy for relevant documents that are not in the collection. Default: error.
    pub unknown_documents: MissingRelevantPolicy,
}

impl Default for TrainingQueryKnnConfig {
    fn default() -> Self {
        Self {
            metric: VectorSimilarity::Cosine,
            aggregation: NeighborAggregation::default(),
            ties: NeighborTies::default(),
            quirks: DataFinderQuirks::default(),
            without_relevant: MissingRelevantPolicy::default(),
            unknown_documents: MissingRelevantPolicy::default(),
        }
    }
}

impl TrainingQueryKnnConfig {
    ir_core::setters! {
        with_aggregation: aggregation, NeighborAggregation;
        with_metric: metric, VectorSimilarity;
        with_ties: ties, NeighborTies;
        with_quirks: quirks, DataFinderQuirks;
    }

    /// Skips training queries without relevant documents;
    /// [`TrainingQueryKnn::without_relevant`](crate::TrainingQueryKnn::without_relevant) counts
    /// them.
    #[must_use]
    pub fn skip_without_relevant(mut self) -> Self {
        self.without_relevant = MissingRelevantPolicy::Skip;
        self
    }

    /// Skips relevant documents that are not in the collection;
    /// [`TrainingQueryKnn::unknown_documents`](crate::TrainingQueryKnn::unknown_documents) lists
    /// them.
    #[must_use]
    pub fn skip_unknown_documents(mut self) -> Self {
        self.unknown_documents = MissingRelevantPolicy::Skip;
        self
    }

    /// Describes a document score in explanations.
    pub(super) fn describe_score(&self) -> String {
        use NeighborAggregation::{ExactTop, Nearest, Sum, WeightedVote};
        let distance = if self.metric == VectorSimilarity::Cosine {
            "cosine distance"
        } else {
            "squared Euclidean distance"
        };
        let visited = "of the visited training queries";
        match self.aggregation {
            Nearest if self.ties == NeighborTies::TrainingOrder => format!(
                "negated {distance} of the nearest training query, ties in the order of the \
                 training queries"
            ),
            Nearest => format!("negated {distance} of the nearest training query"),
            Sum => "sum of the similarities of all training queries".to_owned(),
            WeightedVote { neighbors } => {
                format!("sum of votes weighted by {distance}, relative to neighbor {neighbors}")
            }
            ExactTop if self.quirks.reversed_scores => format!("sum of the {distance} {visited}"),
            ExactTop => format!("negated sum of the {distance} {visited}"),
        }
    }

    pub(super) fn validate(&self) -> Result<(), TrainingQueryKnnError> {
        let Self {
            aggregation,
            ties,
            quirks,
            ..
        } = *self;
        if self.metric == VectorSimilarity::InnerProduct {
            return Err(TrainingQueryKnnError::InnerProduct);
        }
        if aggregation == (NeighborAggregation::WeightedVote { neighbors: 0 }) {
            return Err(TrainingQueryKnnError::ZeroNeighbors);
        }
        let nearest = aggregation == NeighborAggregation::Nearest;
        if ties == NeighborTies::TrainingOrder && !nearest {
            return Err(TrainingQueryKnnError::Ties { aggregation });
        }
        let exact = aggregation == NeighborAggregation::ExactTop;
        let vote = matches!(aggregation, NeighborAggregation::WeightedVote { .. });
        for (name, enabled, applies) in [
            ("reversed_scores", quirks.reversed_scores, exact),
            ("four_results", quirks.four_results, exact || vote),
            ("first_rows", quirks.first_rows, vote),
        ] {
            if enabled && !applies {
                return Err(TrainingQueryKnnError::Quirk { name, aggregation });
            }
        }
        Ok(())
    }
}

/// Policy for missing relevant documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MissingRelevantPolicy {
    /// Return an error for the first one.
    #[default]
    Reject,
    /// Skip missing documents and record them.
    Skip,
}

/// Aggregation of the distances of training queries into document scores. A score is a sum of
/// votes, which [`Retriever::explain`](ir_core::Retriever::explain) lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum NeighborAggregation {
    /// Negated distance of the nearest training query of a document.
    #[default]
    Nearest,
    /// Sum of the similarities of all training queries of a document: the cosine, or 1 / (1 + d)
    /// for a squared Euclidean distance d. Favors documents with many training queries.
    Sum,
    /// Vote of the nearest training queries with weights (D − d) / D, where d is the distance of a
    /// query and D the distance of the farthest voter. (For D = 0: 1 if d = 0, otherwise −d.) A
    /// document without votes gets the weight of its nearest query, which is at most the weight of
    /// the farthest voter. Ties are broken by document number.
    ///
    /// Queries of documents that a filter excludes vote too, so a filtered ranking is the
    /// unfiltered one without the excluded documents. With narrow filters, more `neighbors` help.
    WeightedVote {
        /// Number of voting queries. Range: ≥ 1. DataFinder's publication uses 10.
        neighbors: usize,
    },
    /// DataFinder's published nearest-neighbor procedure: training queries are visited by distance
    /// until k documents are found, and the score of a document is the negated *sum* of the
    /// distances of its visited queries, so a document found twice is ranked lower. Scores depend
    /// on k and on the filter. [`NeighborAggregation::Nearest`] is the procedure without that
    /// defect.
    ExactTop,
}

/// Order of documents with equal distances to their nearest training queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum NeighborTies {
    /// Ascending document number, as in all retrievers.
    #[default]
    DocumentNumber,
    /// Order of the training queries, then of the relevant documents of a query
    /// ([`TrainingQuery::relevant`](crate::TrainingQuery::relevant)), as in DataFinder's published
    /// program. A score that is not below the score before it is replaced by the next smaller f32.
    TrainingOrder,
}

/// Deviations of the published program of the DataFinder paper (ACL 2023) from its description.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DataFinderQuirks {
    /// [`NeighborAggregation::ExactTop`] returns distances as scores, so sorting by score, as in
    /// trec_eval, reverses the ranking. Default: false.
    pub reversed_scores: bool,
    /// Returns four results regardless of k. [`NeighborAggregation::ExactTop`] visits at most 40
    /// queries and stops after the one at which four relevant documents were counted, repetitions
    /// included. [`NeighborAggregation::WeightedVote`] returns the best four documents with votes.
    /// Default: false.
    pub four_results: bool,
    /// [`NeighborAggregation::WeightedVote`] adds the weight of the i-th nearest query to the
    /// documents of the i-th training query, so only documents of the first training queries are
    /// found. Default: false.
    pub first_rows: bool,
}

impl DataFinderQuirks {
    /// Quirks of the published `exact_top`.
    pub const EXACT_TOP: Self = Self {
        reversed_scores: true,
        four_results: true,
        first_rows: false,
    };

    /// Quirks of the published `weighted`.
    pub const WEIGHTED: Self = Self {
        reversed_scores: false,
        four_results: true,
        first_rows: true,
    };
}

/// Error building a [`TrainingQueryKnn`](crate::TrainingQueryKnn).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "fields are named in the messages")]
pub enum TrainingQueryKnnError {
    /// No query has a known relevant document.
    #[error("expected training queries with relevant documents, found none among {found}")]
    Empty { found: usize },
    /// A query has no relevant documents.
    #[error("training query {query:?}: expected at least one relevant document, found none")]
    NoRelevant { query: String },
    /// A relevant document is not in the collection.
    #[error("training query {query:?}: relevant document {document:?} is not in the collection")]
    UnknownDocument { query: String, document: String },
    /// The metric is the inner product, which is not a distance.
    #[error("metric: expected euclidean or cosine, found inner-product")]
    InnerProduct,
    /// The number of voting neighbors is 0.
    #[error("neighbors: expected a number ≥ 1, found 0")]
    ZeroNeighbors,
    /// The aggregation does not rank documents by one training query.
    #[error(
        "ties: expected document-number with the aggregation {aggregation:?}, found training-order"
    )]
    Ties { aggregation: NeighborAggregation },
    /// A quirk does not apply to the aggregation.
    #[error("{name} does not apply to {aggregation:?}")]
    Quirk {
        name: &'static str,
        aggregation: NeighborAggregation,
    },
    /// A component of a query vector is not finite or out of range.
    #[error(
        "training query {query:?}: component {component}: expected a finite number in range, found {found}"
    )]
    Vector {
        query: String,
        component: usize,
        found: f32,
    },
    /// The training queries cannot be encoded.
    #[error("the training queries cannot be encoded")]
    Encode(#[from] EncodeError),
    /// TF-IDF cannot be fitted on the training queries.
    #[error("TF-IDF cannot be fitted on the training queries")]
    Fit(#[from] TfidfFitError),
}
