//! Training examples: a query with positive and negative texts.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

/// A text that an example says something about: one that answers its query, or one that does not.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TrainingText {
    /// The id of the document, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The text itself, as it is encoded: title and body are one already.
    pub text: String,
    /// The score that a teacher gives it for the query, for distillation; higher is better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f32>,
}

impl TrainingText {
    /// A text without an id and without a score.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// With the id of the document.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// With a teacher's score.
    #[must_use]
    pub const fn with_score(mut self, score: f32) -> Self {
        self.score = Some(score);
        self
    }
}

/// A query with texts that answer it and texts that do not.
///
/// ```
/// use ir_core::training::{InvalidExample, TrainingExample, TrainingText};
/// let example = TrainingExample::new("how is tea brewed")
///     .positive(TrainingText::new("Pour hot water over the leaves.").with_id("d7"))
///     .negative(TrainingText::new("Coffee is roasted.").with_id("d2"));
/// assert_eq!(example.check(), Ok(()));
///
/// let example = example.negative(TrainingText::new("Pour hot water over the leaves."));
/// assert_eq!(example.check(), Err(InvalidExample::PositiveIsNegative { positive: 0, negative: 1 }));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TrainingExample {
    /// The id of the query, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query_id: Option<String>,
    /// The query.
    pub query: String,
    /// Texts that answer it, at least one.
    pub positives: Vec<TrainingText>,
    /// Texts that do not; there may be none.
    #[serde(default)]
    pub negatives: Vec<TrainingText>,
}

impl TrainingExample {
    /// A query about which nothing is said yet.
    pub fn new(query: impl Into<String>) -> Self {
        Self {
            query: query.into(),
            ..Self::default()
        }
    }

    /// With the id of the query.
    #[must_use]
    pub fn with_query_id(mut self, id: impl Into<String>) -> Self {
        self.query_id = Some(id.into());
        self
    }

    /// With one more text that answers the query.
    #[must_use]
    pub fn positive(mut self, text: TrainingText) -> Self {
        self.positives.push(text);
        self
    }

    /// With one more text that does not answer the query.
    #[must_use]
    pub fn negative(mut self, text: TrainingText) -> Self {
        self.negatives.push(text);
        self
    }

    /// Whether one can learn from it: the query is not blank, something answers it that is not
    /// blank either, nothing both answers it and does not (by id, or by text, white space around it
    /// aside), and scores are finite. Texts may be as long as they like.
    ///
    /// # Errors
    /// The first of these that does not hold.
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
        // Most negatives are neither: two sets find that out at once.
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

/// What can be wrong with an example; see [`TrainingExample::check`]. Places count from 0.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidExample {
    /// A query without a visible character.
    #[error("expected a query, found an empty text")]
    EmptyQuery,
    /// Nothing that answers the query.
    #[error("expected at least one positive, found none")]
    NoPositives,
    /// A text that answers the query and has no visible character.
    #[error("expected a text, found positive {positive} empty, counted from 0")]
    EmptyPositive {
        /// Which positive.
        positive: usize,
    },
    /// A text that answers the query and does not.
    #[error(
        "expected other negatives than positives, found positive {positive} again as negative {negative}, counted from 0"
    )]
    PositiveIsNegative {
        /// Which positive.
        positive: usize,
        /// Which negative.
        negative: usize,
    },
    /// A teacher's score that is NaN or infinite.
    #[error("expected a finite score of {field}[{at}], found {found}")]
    Score {
        /// `positives` or `negatives`.
        field: &'static str,
        /// Which of them.
        at: usize,
        /// The score.
        found: f32,
    },
}
