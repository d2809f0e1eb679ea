//! Errors of kNN over training queries.

use ir_core::EncodeError;

use super::NeighborAggregation;
use crate::vectorize::TfidfFitError;

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
