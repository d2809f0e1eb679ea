use std::ops::Range;
use std::time::{Duration, Instant};

use crate::error::SearchError;
use crate::explanation::Explanation;
use crate::reranker::{Candidate, Reranker, check_scores};

/// [`Reranker`] with a time limit for the scores of a query: an error after the limit, so that the
/// caller can return the ranking of the first stage.
///
/// The time is checked before every part of the work of [`Reranker::scores_while`], such as a batch
/// of a model. Explanations and matched words have no limit.
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
/// assert!(matches!(error, SearchError::TimeLimit { candidates: 1, .. }));
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

    /// Returns [`SearchError::TimeLimit`] if the limit is exceeded before the last candidates,
    /// [`SearchError::ScoreCount`] unless there is one score for each candidate, and
    /// [`SearchError::NanRerankerScore`] if a score is NaN.
    fn scores(
        &self,
        query: &R::Query,
        candidates: &[Candidate<'_>],
    ) -> Result<Vec<Option<f32>>, SearchError> {
        let scores = self.scores_while(query, candidates, &|| true)?;
        let scores = scores.ok_or(SearchError::TimeLimit {
            limit: self.limit,
            candidates: candidates.len(),
        })?;
        check_scores(candidates, &scores)?;
        Ok(scores)
    }

    /// Returns `None` after the limit, too.
    fn scores_while(
        &self,
        query: &R::Query,
        candidates: &[Candidate<'_>],
        goes_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<Vec<Option<f32>>>, SearchError> {
        let start = Instant::now();
        let in_time = || start.elapsed() < self.limit && goes_on();
        self.reranker.scores_while(query, candidates, &in_time)
    }

    fn explain(
        &self,
        query: &R::Query,
        candidates: &[Candidate<'_>],
        n: usize,
    ) -> Result<Option<Explanation>, SearchError> {
        self.reranker.explain(query, candidates, n)
    }

    fn matched_words(
        &self,
        query: &R::Query,
        candidate: &Candidate<'_>,
    ) -> Result<Option<Vec<Range<usize>>>, SearchError> {
        self.reranker.matched_words(query, candidate)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Scores candidates by their ids, except for blank ones, and counts them.
    #[derive(Debug, Default)]
    struct Counting(AtomicUsize);

    impl Reranker for Counting {
        type Query = str;

        fn scores(
            &self,
            _: &str,
            candidates: &[Candidate<'_>],
        ) -> Result<Vec<Option<f32>>, SearchError> {
            self.0.fetch_add(candidates.len(), Ordering::Relaxed);
            let scored = candidates.iter().filter(|it| !it.id.is_empty());
            Ok(scored.map(|it| it.id.parse().ok()).collect())
        }
    }

    #[test]
    fn the_time_is_checked_during_the_work() {
        let ids: Vec<String> = (0..20).map(|n| n.to_string()).collect();
        let candidates: Vec<Candidate<'_>> = ids.iter().map(|id| Candidate::new(id, "")).collect();
        let reranker = Counting::default();
        let scored = || reranker.0.swap(0, Ordering::Relaxed);
        let expected = reranker.scores("", &candidates).unwrap();
        assert_eq!(scored(), 20);
        let limited = TimeLimited::new(&reranker, Duration::MAX);
        assert_eq!(limited.scores("", &candidates).unwrap(), expected);
        assert_eq!(scored(), 20);
        for (calls, count) in [(0, 0), (1, 8), (2, 16)] {
            let made = AtomicUsize::new(0);
            let goes_on = || made.fetch_add(1, Ordering::Relaxed) < calls;
            let found = limited.scores_while("", &candidates, &goes_on);
            assert_eq!(found.unwrap(), None, "{calls}");
            assert_eq!(scored(), count, "{calls}");
        }
        let limited = TimeLimited::new(&reranker, Duration::ZERO);
        let error = limited.scores("", &candidates).unwrap_err();
        assert_eq!(
            error.to_string(),
            "reranker: expected scores of 20 candidates within 0ns, found none"
        );
        assert_eq!(scored(), 0);
        assert!(limited.scores("", &[]).unwrap().is_empty());
    }

    #[test]
    fn invalid_scores_are_errors() {
        let limited = TimeLimited::new(Counting::default(), Duration::MAX);
        for (id, expected) in [
            (
                "NaN",
                "document \"NaN\": expected a score of the reranker, found NaN",
            ),
            ("", "reranker: expected 2 scores, found 1"),
        ] {
            let candidates = ["1", id].map(|id| Candidate::new(id, ""));
            let error = limited.scores("", &candidates).unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
    }
}
