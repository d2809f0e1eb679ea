//! Completion of typed questions.

use serde::Serialize;
use utoipa::ToSchema;

use super::Service;
use crate::error::ServiceError;

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

impl Service {
    /// Completes a typed text: at most `limit` suggestions. Among those that match equally well,
    /// the ones that users have asked come first, and other generated questions last.
    ///
    /// # Errors
    /// A limit is exceeded, or nothing is published yet.
    pub fn complete(&self, typed: &str, limit: usize) -> Result<Vec<Suggestion>, ServiceError> {
        self.check_query(typed, limit)?;
        let state = self.published()?;
        let completions = state.suggester().complete(typed, limit);
        let suggestions = completions.iter().map(|completion| Suggestion {
            text: completion.text.to_owned(),
            generated: state.is_generated(completion.text),
        });
        Ok(suggestions.collect())
    }
}
