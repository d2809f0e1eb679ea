use std::time::{Duration, Instant};

use crate::error::SearchError;
use crate::explanation::Explanation;
use crate::reranker::{Candidate, Reranker};

/// Number of candidates between two checks of the time.
const CHUNK: usize = 8;

/// [`Reranker`] with a time limit for the scores of a query: an error after the limit, so that the
/// caller can return the ranking of the first stage.
///
/// The time is checked before every 8 candidates. The reranker scores 8 candidates per call, so a
/// model that encodes the query encodes it again for every 8 candidates. It must score each
/// candidate independently of the others, as cross-encoders do. Explanations have no limit.
///
/// ```
/// use std::time::Duration;
///
/// use ir_core::fusion::{DocumentPrior, RetrieverScores};
/// use ir_core::{Candidate, Reranker, SearchError, TimeLimited};
///
/// let prior = RetrieverScores::new(DocumentPrior::new([("a", 1.0)])?)?;
/// let candidates = [Candidate::new("a", "")];
/// let scores = TimeLimited::new(&prior, Duration::MAX).scores("tea", &candidates)?;
/// assert_eq!(scores, [Some(1.0)]);
/// let error = TimeLimited::new(&prior, Duration::ZERO).scores("tea", &candidates).unwrap_err();
/// assert!(matches!(error, SearchError::TimeLimit { scored: 0, .. }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct TimeLimited<R> {
    reranker: R,
    limit: Duration,
}

impl<R: Reranker> TimeLimited<R> {
    /// Limits the time of the scores of each query.
    pub const fn new(reranker: R, limit: Duration) -> Self {
        Self { reranker, limit }
    }
}

impl<R: Reranker> Reranker for TimeLimited<R> {
    type Query = R::Query;

    fn needs_texts(&self) -> bool {
        self.reranker.needs_texts()
    }

    /// Returns [`SearchError::TimeLimit`] if the limit is exceeded before the last candidates.
    fn scores(
        &self,
        query: &R::Query,
        candidates: &[Candidate<'_>],
    ) -> Result<Vec<Option<f32>>, SearchError> {
        let start = Instant::now();
        let mut scores = Vec::with_capacity(candidates.len());
        for chunk in candidates.chunks(CHUNK) {
            if start.elapsed() >= self.limit {
                return Err(SearchError::TimeLimit {
                    limit: self.limit,
                    scored: scores.len(),
                    candidates: candidates.len(),
                });
            }
            scores.extend(self.reranker.scores(query, chunk)?);
        }
        Ok(scores)
    }

    fn explain(
        &self,
        query: &R::Query,
        candidates: &[Candidate<'_>],
        n: usize,
    ) -> Result<Option<Explanation>, SearchError> {
        self.reranker.explain(query, candidates, n)
    }
}
