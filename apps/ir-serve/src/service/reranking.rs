//! Texts and answers that are ranked by the reranker.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ir_core::{Candidate, Reranker, SearchError, TimeLimited};
use ir_qa::retrieval::{AnswerIndex, AnswerIndexError, RerankedAnswers};

use super::Service;
use crate::config::ServiceReranker;
use crate::error::ServiceError;

/// Text of a request with its score.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct RerankedText {
    /// Position in the request, from 0.
    pub index: usize,
    /// Score of the reranker; higher is better.
    pub score: f32,
}

impl ServiceReranker {
    fn limited(&self, time: Duration) -> TimeLimited<Arc<dyn Reranker<Query = str>>> {
        TimeLimited::new(Arc::clone(&self.reranker), time)
    }

    /// Counts a reranking that exceeded its time limit.
    pub(super) fn count_timeout(&self) {
        self.timeouts.fetch_add(1, Ordering::Relaxed);
    }

    /// The answers of an index, ranked within the time limit.
    pub(crate) fn rerank(
        &self,
        index: &Arc<AnswerIndex>,
    ) -> Result<RerankedAnswers, AnswerIndexError> {
        self.answers
            .rerank(index, Arc::new(self.limited(self.time)))
    }
}

impl Service {
    /// Returns the number of texts that exceeded the sequence length of the reranker, so that they
    /// were truncated or split into windows.
    #[must_use]
    pub fn long_reranked_texts(&self) -> u64 {
        self.reranker.as_ref().map_or(0, |it| (it.long_texts)())
    }

    /// Returns the number of rerankings that exceeded their time limit.
    #[must_use]
    pub fn reranking_timeouts(&self) -> u64 {
        let timeouts = self.reranker.as_ref().map(|it| &it.timeouts);
        timeouts.map_or(0, |count| count.load(Ordering::Relaxed))
    }

    /// Ranks texts by the reranker: the `limit` best ones, by score, then position. A text is a
    /// pair of an id, which errors name, and the text.
    ///
    /// # Errors
    /// Returns [`ServiceError::NoReranker`] without a reranker, [`ServiceError::Limit`] for a long
    /// query or many texts, and [`ServiceError::Search`] if the reranker fails or exceeds the time
    /// limit of a request.
    pub fn rerank(
        &self,
        query: &str,
        texts: &[(String, String)],
        limit: usize,
    ) -> Result<Vec<RerankedText>, ServiceError> {
        let reranker = self.reranker.as_ref().ok_or(ServiceError::NoReranker)?;
        self.check_query(query, 0)?;
        if texts.len() > self.limits.results {
            return Err(ServiceError::Limit {
                what: "documents",
                limit: self.limits.results,
                found: texts.len(),
            });
        }
        let candidates = texts.iter().map(|(id, text)| Candidate::new(id, text));
        let candidates: Vec<Candidate<'_>> = candidates.collect();
        let scores = reranker.limited(self.limits.time);
        let scores = scores.scores(query, &candidates);
        if let Err(SearchError::TimeLimit { .. }) = scores {
            reranker.count_timeout();
        }
        let scores = scores?;
        let scored = scores.into_iter().enumerate();
        let scored = scored.filter_map(|(index, score)| {
            Some(RerankedText {
                index,
                score: score?,
            })
        });
        let mut ranked: Vec<RerankedText> = scored.collect();
        ranked.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.index.cmp(&b.index)));
        ranked.truncate(limit);
        Ok(ranked)
    }
}
