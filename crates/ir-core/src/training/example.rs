use std::collections::HashSet;

use serde::{Deserialize, Serialize};

/// Positive or negative text of a training example.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TrainingText {
    /// Document id, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Text as encoded, including the title.
    pub text: String,
    /// Teacher score for distillation; higher is better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f32>,
}

impl TrainingText {
    /// Creates a text without id and score.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// Sets the document id.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Sets the teacher score.
    #[must_use]
    pub const fn with_score(mut self, score: f32) -> Self {
        self.score = Some(score);
        self
    }
}

/// Query with positive and negative texts.
///
/// ```
/// use ir_core::training::{InvalidExample, TrainingExample, TrainingText};
/// let example = TrainingExample::new("how is tea brewed")
///     .positive(TrainingText::new("Pour hot water over the leaves.").with_id("d7"))
///     .negative(TrainingText::new("Coffee is roasted.").with_id("d2"));
/// assert_eq!(example.check(), Ok(()));
///
/// let example = example.negative(TrainingText::new("Pour hot water over the leaves."));
/// let error = InvalidExample::PositiveIsNegative { positive: 0, negative: 1 };
/// assert_eq!(example.check(), Err(error));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TrainingExample {
    /// Query id, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query_id: Option<String>,
    /// Query text, as encoded.
    pub query: String,
    /// Relevant texts; at least one.
    pub positives: Vec<TrainingText>,
    /// Nonrelevant texts; may be empty.
    #[serde(default)]
    pub negatives: Vec<TrainingText>,
}

impl TrainingExample {
    /// Creates an example without texts.
    pub fn new(query: impl Into<String>) -> Self {
        Self {
            query: query.into(),
            ..Self::default()
        }
    }

    /// Sets the query id.
    #[must_use]
    pub fn with_query_id(mut self, id: impl Into<String>) -> Self {
        self.query_id = Some(id.into());
        self
    }

    /// Adds a relevant text.
    #[must_use]
    pub fn positive(mut self, text: TrainingText) -> Self {
        self.positives.push(text);
        self
    }

    /// Adds a nonrelevant text.
    #[must_use]
    pub fn negative(mut self, text: TrainingText) -> Self {
        self.negatives.push(text);
        self
    }

    /// Validates the example: a non-blank query, at least one positive, non-blank positives, no
    /// text that is both positive and negative (by id, or by trimmed text), finite scores.
    ///
    /// # Errors
    /// The first violation.
    pub fn check(&self) -> Result<(), InvalidExample> {
        if self.query.trim().is_empty() {
            return Err(InvalidExample::EmptyQuery);
        }
        if self.positives.is_empty() {
            return Err(InvalidExample::NoPositives);
        }
        let blank = |p: &TrainingText| p.text.trim().is_empty();
        if let Some(positive) = self.positives.iter().position(blank) {
            return Err(InvalidExample::EmptyPositive { positive });
        }
        for (field, texts) in [
            ("positives", &self.positives),
            ("negatives", &self.negatives),
        ] {
            for (at, text) in texts.iter().enumerate() {
                if let Some(found) = text.score.filter(|score| !score.is_finite()) {
                    return Err(InvalidExample::Score { field, at, found });
                }
            }
        }
        // Set lookups reject the common case, a negative that is no positive.
        let texts: HashSet<&str> = self.positives.iter().map(|p| p.text.trim()).collect();
        let ids: HashSet<&str> = self
            .positives
            .iter()
            .filter_map(|p| p.id.as_deref())
            .collect();
        for (negative, text) in self.negatives.iter().enumerate() {
            let known = text.id.as_deref().is_some_and(|id| ids.contains(id));
            if !known && !texts.contains(text.text.trim()) {
                continue;
            }
            let same = |p: &TrainingText| {
                (p.id.is_some() && p.id == text.id) || p.text.trim() == text.text.trim()
            };
            if let Some(positive) = self.positives.iter().position(same) {
                return Err(InvalidExample::PositiveIsNegative { positive, negative });
            }
        }
        Ok(())
    }
}

/// Invalid training example; see [`TrainingExample::check`]. Texts are numbered from 0.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum InvalidExample {
    /// The query is blank.
    #[error("expected a query, found an empty text")]
    EmptyQuery,
    /// The example has no positive.
    #[error("expected at least one positive, found none")]
    NoPositives,
    /// A positive is blank.
    #[error("expected a text in positives[{positive}], found an empty one")]
    EmptyPositive { positive: usize },
    /// A text is both positive and negative.
    #[error(
        "expected different texts in positives[{positive}] and negatives[{negative}], found equal ones"
    )]
    PositiveIsNegative { positive: usize, negative: usize },
    /// A teacher score is NaN or infinite.
    #[error("expected a finite score in {field}[{at}], found {found}")]
    Score {
        field: &'static str,
        at: usize,
        found: f32,
    },
}
