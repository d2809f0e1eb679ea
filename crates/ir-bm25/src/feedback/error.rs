//! Error of feedback: names, parameters, texts that are not stored, scores that are no weights.

use crate::StoredFields;
use crate::error::hint;

/// Error configuring or computing feedback.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum FeedbackError {
    /// There is no feedback model of this name.
    #[error("expected a feedback model ({}), found {found:?}{}", .known.join(", "), hint(*.nearest))]
    UnknownModel {
        known: &'static [&'static str],
        nearest: Option<&'static str>,
        found: String,
    },
    /// The model has no such parameter.
    #[error(
        "expected a parameter of {model} ({}), found {found:?}{}", .known.join(", "), hint(*.nearest)
    )]
    UnknownParameter {
        model: &'static str,
        known: &'static [&'static str],
        nearest: Option<&'static str>,
        found: String,
    },
    /// A parameter occurs twice.
    #[error("expected the parameter {name} of {model} once, found it twice")]
    RepeatedParameter { model: &'static str, name: String },
    /// The text of a model does not have the form `model(parameter=value,...)`, or a value is none.
    #[error("expected {expected}, found {found:?}")]
    Syntax {
        expected: &'static str,
        found: String,
    },
    /// A parameter is out of range.
    #[error("{name}: expected {expected}, found {found}")]
    Parameter {
        name: &'static str,
        expected: &'static str,
        found: f32,
    },
    /// The index does not store the texts of the feedback documents.
    #[error(
        "feedback: expected an index with stored texts, found `StoredFields::{found:?}`: build it with `StoredFields::Everything`"
    )]
    NotStored { found: StoredFields },
    /// The scores of the feedback documents are no weights.
    #[error(
        "rm3: expected scores >= 0 as weights of the feedback documents, found {found}: for log-likelihoods use the estimate `indri`"
    )]
    NegativeScore { found: f32 },
}

pub(super) fn check_count(name: &'static str, count: usize) -> Result<(), FeedbackError> {
    if count > 0 {
        return Ok(());
    }
    Err(FeedbackError::Parameter {
        name,
        expected: "an integer >= 1",
        found: 0.0,
    })
}

pub(super) fn check_weight(name: &'static str, found: f32) -> Result<(), FeedbackError> {
    if found >= 0.0 && found.is_finite() {
        return Ok(());
    }
    Err(FeedbackError::Parameter {
        name,
        expected: "a finite number >= 0",
        found,
    })
}

pub(super) fn check_unit(name: &'static str, found: f32) -> Result<(), FeedbackError> {
    if (0.0..=1.0).contains(&found) {
        return Ok(());
    }
    Err(FeedbackError::Parameter {
        name,
        expected: "a number from 0 to 1",
        found,
    })
}
