//! Answers to a question within one document.

use std::sync::Arc;
use std::time::Instant;

use ir_core::{DocSet, Retriever};
use ir_qa::Frame;

use super::batched_search::QuestionSearch;
use super::{Question, Service, check_user};
use crate::error::ServiceError;
use crate::published::PublishedState;
use crate::request_permit::RequestPermit;

/// Maximum number of answers.
pub(crate) const DOCUMENT_ANSWERS: usize = 100;

/// Fraction of the score of the best answer that others have at least, unless they have a word of
/// the question.
const MIN_SCORE: f32 = 0.5;

/// Answers to a question in one document.
#[derive(Debug, Default)]
pub(crate) struct DocumentAnswers {
    /// Frames of the answers, the best first; at most [`DOCUMENT_ANSWERS`].
    pub(crate) frames: Vec<String>,
    /// Number of answers in the document.
    pub(crate) total: usize,
}

impl Service {
    /// Finds all answers to a question in a document of a state: hits for which `has_word` returns
    /// true, and hits with at least half the score of the best, such as sentences with the words in
    /// their contexts. Other hits have a word in a context, or a positive cosine only. Logs the
    /// question unless it continues another. Filters and limit of the question are ignored, and the
    /// answers are not reranked.
    ///
    /// # Errors
    /// A limit is exceeded, or the encoder fails.
    pub(crate) fn ask_in_document(
        &self,
        state: &Arc<PublishedState>,
        id: &str,
        question: &Question,
        has_word: impl Fn(&Frame) -> bool,
    ) -> Result<DocumentAnswers, ServiceError> {
        let start = Instant::now();
        self.check_query(&question.text, 0)?;
        check_user(&question.user)?;
        let index = state.index();
        let document = state.document(id);
        let answers = document.map_or(&[][..], |document| &document.answers);
        let numbers = answers.iter().map(|answer| index.ids().get(&answer.frame));
        let filter: DocSet = numbers.flatten().collect();
        let found = self.searches.search(QuestionSearch {
            text: question.text.clone(),
            limit: answers.len(),
            filter: Some(filter),
            // Scores of a reranker may be negative, and a document has many sentences. Those that
            // it repeats are marked, too.
            reranks: false,
            state: Arc::clone(state),
            _permit: RequestPermit::current(),
        })?;
        let hits = found.answers.hits();
        let best = hits.first().map_or(0.0, |hit| hit.score);
        let (mut frames, mut total) = (Vec::new(), 0);
        for hit in hits.iter().take_while(|hit| hit.score > 0.0) {
            let frame = &index.frames()[hit.doc.index()];
            if hit.score >= best * MIN_SCORE || has_word(frame) {
                total += 1;
                if frames.len() < DOCUMENT_ANSWERS {
                    frames.push(frame.id.clone());
                }
            }
        }
        self.log_question(question, total, start);
        Ok(DocumentAnswers { frames, total })
    }
}
