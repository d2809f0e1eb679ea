//! Answers of a paper with the same words, once.

use std::collections::HashMap;

use ir_core::{DocIds, Ranking, Retriever, Search, SearchError};

use super::{TextRetriever, letters};
use crate::frame::Frame;

/// Retriever of answers with the same id for equal sentences of a paper, so that
/// [`Distinct`](ir_core::Distinct) returns each once.
pub(super) struct SentenceIds {
    answers: TextRetriever,
    ids: DocIds,
}

impl SentenceIds {
    /// `None` if no sentence is repeated. `frames` are the documents of `answers`, in their order.
    pub(super) fn new(answers: &TextRetriever, frames: &[Frame]) -> Option<Self> {
        let mut first: HashMap<(&str, String), &str> = HashMap::new();
        let ids: Vec<&str> = frames
            .iter()
            .map(|frame| {
                let letters: String = letters(&frame.answer).collect();
                // Sentences without letters differ by their punctuation.
                let key = if letters.is_empty() {
                    frame.answer.clone()
                } else {
                    letters
                };
                *first.entry((&frame.paper, key)).or_insert(&frame.id)
            })
            .collect();
        (first.len() < frames.len()).then(|| Self {
            answers: TextRetriever::clone(answers),
            ids: ids.into_iter().collect(),
        })
    }
}

impl Retriever for SentenceIds {
    type Query = str;

    fn ids(&self) -> &DocIds {
        &self.ids
    }

    fn search(&self, query: &str, search: &Search<'_>) -> Result<Ranking, SearchError> {
        self.answers.search(query, search)
    }

    fn search_batch(&self, queries: &[(&str, Search<'_>)]) -> Result<Vec<Ranking>, SearchError> {
        self.answers.search_batch(queries)
    }
}
