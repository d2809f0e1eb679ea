use crate::ids::IdError;

/// Error fusing runs, or configuring a fused retriever.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum FusionError {
    /// A run contains a NaN score.
    #[error("run {tag:?}, query {query:?}, document {doc:?}: expected a score, found NaN")]
    NanScore {
        tag: String,
        query: String,
        doc: String,
    },
    /// Infinite scores combine to NaN, as in infinity minus infinity.
    #[error("query {query:?}, document {doc:?}: fused score of infinite scores is NaN")]
    NanFused { query: String, doc: String },
    /// An infinite score remains infinite, or the sum of large scores is.
    #[error("query {query:?}, document {doc:?}: expected a finite fused score, found infinity")]
    InfiniteFused { query: String, doc: String },
    /// The numbers of weights and runs differ.
    #[error("expected one weight for each of {expected} runs, found {found}")]
    WeightCount { expected: usize, found: usize },
    /// The weight of a run is negative or not finite.
    #[error("weight of run {tag:?}: expected a finite number >= 0, found {weight}")]
    RunWeight { tag: String, weight: f64 },
    /// The `k` of reciprocal rank fusion is negative or not finite.
    #[error("k of reciprocal rank fusion: expected a finite number >= 0, found {k}")]
    RrfK { k: f64 },
    /// A weight of [`WeightedSum`](super::WeightedSum) is negative or not finite.
    #[error("weight of retriever {retriever}: expected a finite number >= 0, found {weight}")]
    Weight { retriever: usize, weight: f32 },
    /// A score of [`DocumentPrior`](super::DocumentPrior) is not finite.
    #[error("prior of document {doc:?}: expected a finite number, found {score}")]
    Prior { doc: String, score: f32 },
    /// A probability of [`RepositoryPriors`](super::RepositoryPriors) is out of range.
    #[error(
        "prior of repository {repository:?}: expected a number above 0, at most 1, found {prior}"
    )]
    RepositoryPrior { repository: String, prior: f64 },
    /// The priors do not cover a repository; an empty name stands for documents without one.
    #[error("expected a prior for every repository, found none for {repository:?}")]
    Uncovered { repository: String },
    /// The repositories and the retriever have different numbers of documents.
    #[error("expected the repository of each of {expected} documents, found {found}")]
    RepositoryCount { expected: usize, found: usize },
    /// The smoothing of a prior is out of range.
    #[error("smoothing of a prior: expected a finite number above 0, found {epsilon}")]
    Smoothing { epsilon: f64 },
    /// The number of documents of [`PriorEstimate::Feedback`](super::PriorEstimate) is 0.
    #[error("documents of a prior by feedback: expected at least 1, found 0")]
    PriorDocs,
    /// The weight of a prior is negative or not finite.
    #[error("weight of the prior: expected a finite number >= 0, found {weight}")]
    PriorWeight { weight: f64 },
    /// The score of a hit is negative, so that its product with a prior ranks the wrong way.
    #[error(
        "document {doc:?}: expected scores >= 0 for products with a prior, found {score} (sums with \
         the logarithm of the prior allow negative scores)"
    )]
    NegativeScore { doc: String, score: f32 },
    /// The progress receiver requested a stop.
    #[error("canceled")]
    Canceled,
    /// The reranker reads the texts of the candidates.
    #[error("the reranker reads texts: expected a source of the texts of candidates, found none")]
    RerankerTexts,
    /// The retrievers hold more documents than a [`DocNum`](crate::DocNum) can number.
    #[error(transparent)]
    Ids(#[from] IdError),
}
