//! Errors of searches and encoders.

use std::error::Error;
use std::time::Duration;

use crate::ids::DocNum;

/// Error of a search.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum SearchError {
    /// A score is NaN.
    #[error("document number {}: expected a score, found NaN", doc.get())]
    NanScore { doc: DocNum },
    /// The score of a reranker is NaN.
    #[error("document {id:?}: expected a score of the reranker, found NaN")]
    NanRerankerScore { id: String },
    /// The number of scores of a reranker differs from the number of candidates, or of queries.
    #[error("reranker: expected {expected} scores, found {found}")]
    ScoreCount { expected: usize, found: usize },
    /// A candidate has no text.
    #[error("document {id:?}: expected a text to rerank, found no such document in the texts")]
    MissingText { id: String },
    /// The time limit of a [`TimeLimited`](crate::TimeLimited) reranker is exceeded.
    #[error("reranker: expected scores of {candidates} candidates within {limit:?}, found none")]
    TimeLimit { limit: Duration, candidates: usize },
    /// A ranking contains a document twice.
    #[error("document number {} occurs twice in one ranking", doc.get())]
    RepeatedHit { doc: DocNum },
    /// The query vector has the wrong dimension.
    #[error("query vector: expected {expected} dimensions, found {found}")]
    Dimensions { expected: usize, found: usize },
    /// A component of the query vector is NaN or infinite.
    #[error("query vector, component {at}: expected a finite number, found {value}")]
    NotFinite { at: usize, value: f32 },
    /// The query vector is zero, for which cosine similarity is undefined.
    #[error("query vector: expected a nonzero vector for cosine similarity")]
    ZeroVector,
    /// The query could not be encoded.
    #[error("cannot encode the query")]
    Encode(#[source] EncodeError),
    /// The engine failed: a corrupt file, a remote system, a library.
    #[error("{engine} failed")]
    Engine {
        engine: &'static str,
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
}

/// Error of encoding texts as vectors.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum EncodeError {
    /// The output buffer has the wrong length.
    #[error("output buffer: expected {expected} values, found {found}")]
    Shape { expected: usize, found: usize },
    /// The model behind the encoder failed.
    #[error("encoder {model} failed")]
    Model {
        model: String,
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
}
