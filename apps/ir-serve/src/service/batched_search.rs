//! Searches of concurrent questions in batches.

use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{slice, thread};

use ir_core::fusion::RerankedHits;
use ir_core::{DocSet, Hit, Ranking, Retriever, Search, SearchError};
use ir_qa::retrieval::{RelatedQuestion, RerankedAnswers};
use rayon::ThreadPoolBuilder;

use super::Suggestion;
use crate::batching::BatchQueue;
use crate::error::ServiceError;
use crate::published::{PublishedState, is_displayed};
use crate::request_permit::RequestPermit;

/// Answers and related questions of a question.
pub(super) struct QuestionHits {
    pub(super) answers: AnswerHits,
    /// Why the answers are not reranked.
    pub(super) warning: Option<String>,
    pub(super) related: Vec<Suggestion>,
}

/// Answers to a question. Documents are the frames of the index.
pub(super) enum AnswerHits {
    /// In the order of the index.
    Ranked(Ranking),
    /// The first ones in the order of the reranker.
    Reranked {
        found: RerankedHits,
        /// Time of search and reranking.
        time: Duration,
    },
}

impl AnswerHits {
    /// The answers, the best first.
    pub(super) fn hits(&self) -> &[Hit] {
        match self {
            Self::Ranked(ranking) => ranking.hits(),
            Self::Reranked { found, .. } => found.hits(),
        }
    }
}

/// Search of a question in the state that was published when it was asked.
pub(super) struct QuestionSearch {
    pub(super) state: Arc<PublishedState>,
    pub(super) text: String,
    pub(super) limit: usize,
    pub(super) filter: Option<DocSet>,
    /// If `true`, the reranker of the state, if there is one, ranks the answers, and a repeated
    /// sentence is an answer once. Otherwise all answers have the order of the index.
    pub(super) reranks: bool,
    /// Held until the search has ended, which may wait and run after its request.
    pub(super) _permit: RequestPermit,
}

/// Searches of concurrent questions. With an encoder these form batches: their texts are encoded
/// together, and blocks of vectors are read once for several of them. Without one, every question
/// is searched on its own thread.
pub(super) struct BatchedSearch {
    queue: Option<BatchQueue<QuestionSearch, Result<QuestionHits, ServiceError>>>,
}

/// Maximum number of questions in a batch. Larger ones are hardly more efficient.
const BATCH: usize = 32;

/// Batches of at least this size are searched on the threads of their runner, because threads that
/// wait for each other take CPU time. A smaller one is answered faster on the threads of all.
const OWN_THREADS: usize = 8;

/// Maximum number of related questions.
const RELATED: usize = 3;

/// Candidates of related questions, among which are the question that was asked and equal ones of
/// several answers.
const RELATED_CANDIDATES: usize = 8;

impl BatchedSearch {
    /// `cached`: number of vectors of all batches that run at the same time.
    pub(super) fn new(has_encoder: bool, cached: usize) -> Self {
        let threads = thread::available_parallelism().map_or(2, NonZeroUsize::get);
        let runners = threads.min(cached / BATCH).max(1);
        let runner = |_| {
            let own = ThreadPoolBuilder::new().num_threads((threads / runners).max(1));
            let own = own.build().ok();
            move |searches: &[QuestionSearch]| match &own {
                Some(own) if searches.len() >= OWN_THREADS => own.install(|| run_batch(searches)),
                _ => run_batch(searches),
            }
        };
        Self {
            queue: has_encoder.then(|| BatchQueue::start((0..runners).map(runner), BATCH)),
        }
    }

    /// Number of questions that wait for a batch.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        self.queue.as_ref().map_or(0, BatchQueue::waiting)
    }

    /// Searches answers and related questions. Results do not depend on the batch.
    pub(super) fn search(&self, search: QuestionSearch) -> Result<QuestionHits, ServiceError> {
        match &self.queue {
            None => Ok(search.run()?),
            Some(queue) => queue.run(search).ok_or(ServiceError::Panic)?,
        }
    }

    /// [`Self::search`], which does not block if there is an encoder.
    pub(super) async fn search_async(
        &self,
        search: QuestionSearch,
    ) -> Result<QuestionHits, ServiceError> {
        match &self.queue {
            None => Ok(search.run()?),
            Some(queue) => queue.run_async(search).await.ok_or(ServiceError::Panic)?,
        }
    }
}

impl QuestionSearch {
    fn parameters(&self) -> Search<'_> {
        let search = Search::top(self.limit);
        match &self.filter {
            None => search,
            Some(filter) => search.within(filter),
        }
    }

    /// The answers that the reranker ranks, if it ranks the answers to this question.
    fn reranked(&self) -> Option<&RerankedAnswers> {
        self.state.reranked().filter(|_| self.reranks)
    }

    /// Answers by the reranker, or in the order of the index if there is none or its time limit is
    /// exceeded; with a warning in the second case.
    fn answers(&self, search: &Search<'_>) -> Result<(AnswerHits, Option<String>), SearchError> {
        let mut warning = None;
        if let Some(reranked) = self.reranked() {
            let start = Instant::now();
            match reranked.search_with_rest(self.text.as_str(), search) {
                Err(SearchError::TimeLimit { limit, .. }) => {
                    let message = format!(
                        "reranking exceeded its time limit, {limit:?}: the answers have the order \
                         and the scores of the search before it"
                    );
                    warning = Some(message);
                }
                found => {
                    let (found, time) = (found?, start.elapsed());
                    return Ok((AnswerHits::Reranked { found, time }, None));
                }
            }
        }
        let index = self.state.index();
        let ranking = if self.reranks {
            index.search(&self.text, search)?
        } else {
            index.search_all(&self.text, search)?
        };
        Ok((AnswerHits::Ranked(ranking), warning))
    }

    fn run(&self) -> Result<QuestionHits, SearchError> {
        let index = self.state.index();
        let search = self.parameters();
        let (answers, warning) = self.answers(&search)?;
        let related = index.related_questions(&self.text, &search.with_k(RELATED_CANDIDATES))?;
        Ok(QuestionHits {
            answers,
            warning,
            related: related_questions(&self.text, related),
        })
    }
}

/// Searches questions; questions of one state together. A question that fails or panics does not
/// fail the others.
fn run_batch(searches: &[QuestionSearch]) -> Vec<Result<QuestionHits, ServiceError>> {
    // Searches change nothing but caches, which are usable after a panic.
    let caught = |searches: &[QuestionSearch]| {
        catch_unwind(AssertUnwindSafe(|| run_together(searches))).ok()
    };
    let alone = |search: &QuestionSearch| {
        let found = caught(slice::from_ref(search)).ok_or(ServiceError::Panic)??;
        found.into_iter().next().ok_or(ServiceError::Panic)
    };
    let of_one_state = searches.chunk_by(|a, b| Arc::ptr_eq(&a.state, &b.state));
    let results = of_one_state.flat_map(|searches| {
        // Each question has its own time for reranking, and the answers of a document are others.
        let is_alone = |it: &QuestionSearch| it.reranked().is_some() || !it.reranks;
        let together = if searches.iter().any(is_alone) {
            None
        } else {
            caught(searches)
        };
        match together {
            Some(Ok(found)) => found.into_iter().map(Ok).collect(),
            _ => searches.iter().map(alone).collect::<Vec<_>>(),
        }
    });
    results.collect()
}

/// Searches questions of one state; several of them without reranking.
fn run_together(searches: &[QuestionSearch]) -> Result<Vec<QuestionHits>, SearchError> {
    let [first, _, ..] = searches else {
        return searches.iter().map(QuestionSearch::run).collect();
    };
    let index = first.state.index();
    let questions = searches
        .iter()
        .map(|search| (&*search.text, search.parameters()));
    let questions: Vec<(&str, Search<'_>)> = questions.collect();
    let answers = index.search_batch(&questions)?;
    let related = questions.iter();
    let related: Vec<(&str, Search<'_>)> = related
        .map(|(text, search)| (*text, search.with_k(RELATED_CANDIDATES)))
        .collect();
    let related = index.related_questions_batch(&related)?;
    let found = answers.into_iter().zip(related).zip(searches);
    let found = found.map(|((answers, related), search)| QuestionHits {
        answers: AnswerHits::Ranked(answers),
        warning: None,
        related: related_questions(&search.text, related),
    });
    Ok(found.collect())
}

/// The best candidates that are not the question that was asked.
fn related_questions(asked: &str, mut candidates: Vec<RelatedQuestion<'_>>) -> Vec<Suggestion> {
    candidates.retain(|related| is_displayed(&related.question.text));
    RelatedQuestion::retain_distinct(&mut candidates, asked, RELATED);
    let questions = candidates.iter().map(|related| related.question);
    let suggestions = questions.map(|question| Suggestion {
        text: question.text.clone(),
        generated: question.generated,
    });
    suggestions.collect()
}
