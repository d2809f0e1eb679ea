//! Questions and their answers.

use std::ops::Range;

use ir_core::{Explanation, MatchedText, Predicate};
use ir_qa::Frame;
use serde::Serialize;
use utoipa::ToSchema;

/// Question to the published answers.
#[derive(Debug, Clone, Default)]
pub struct Question {
    /// Text of the question.
    pub text: String,
    /// Maximum number of answers.
    pub limit: usize,
    /// Conditions on the fields of the documents; `doc_id` is one of them.
    pub filters: Vec<Predicate>,
    /// Id of the user or session, for the query log.
    pub user: String,
    /// If `true`, the user chose a suggestion.
    pub is_suggestion: bool,
    /// If `true`, answers have explanations.
    pub explain: bool,
    /// If `true`, explained answers have the words that the reranker matched.
    pub matches: bool,
    /// Positions of the answers that have explanations, from 0. Default: all.
    pub explained: Option<Range<usize>>,
    /// If `true`, the question continues a logged question, such as on the next page of its
    /// answers, and is not logged again.
    pub is_continued: bool,
    /// If `true`, opened answers are logged ([`log_click`](crate::Service::log_click)), as on the
    /// search page.
    pub records_clicks: bool,
}

/// Answers to a question.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct AnswerList {
    /// Number of the query in the log; 0 for a question that continues another.
    pub query: i64,
    /// Answers, the best first.
    pub answers: Vec<ScoredAnswer>,
    /// Questions that resemble the question, the best first.
    pub related: Vec<Suggestion>,
    /// Warnings of fields in the filters that no document has, of values that limits cannot be
    /// compared with, and of a reranking that exceeded its time limit.
    pub warnings: Vec<String>,
}

/// Answer with its score.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ScoredAnswer {
    /// Answer with its context.
    pub frame: Frame,
    /// Score; higher is better. With a reranker, the first answers have scores of the reranker, and
    /// later answers scores of the search before it.
    pub score: f32,
    /// Explanation of the score, if asked for.
    pub explanation: Option<Explanation>,
    /// Words that the reranker matched, if asked for. `None`, too, if the reranker does not compare
    /// words or had no time left.
    pub matched: Option<MatchedText>,
}

/// Suggestion for a typed text, or a question that resembles another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[non_exhaustive]
pub struct Suggestion {
    /// Question, title of a paper, or frequent phrase.
    #[serde(rename = "value")]
    pub text: String,
    /// If `true`, a [`QuestionGenerator`](ir_qa::questions::QuestionGenerator) wrote the question.
    pub generated: bool,
}

impl Suggestion {
    /// Suggestion that is not generated.
    pub(crate) fn new(text: String) -> Self {
        Self {
            text,
            generated: false,
        }
    }
}

impl Question {
    /// Creates a question for at most `limit` answers, without filters.
    #[must_use]
    pub fn new(text: impl Into<String>, limit: usize) -> Self {
        Self {
            text: text.into(),
            limit,
            ..Self::default()
        }
    }

    /// Returns `true` if the answer at a position has an explanation.
    pub(super) fn explains(&self, position: usize) -> bool {
        let explained = self.explained.as_ref();
        self.explain && explained.is_none_or(|explained| explained.contains(&position))
    }
}
