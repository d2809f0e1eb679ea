//! Teacher of a distillation: the system or the model with the scores that a reranker learns.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::SystemError;

/// Key of the system that is a teacher, in a system that is trained.
pub(crate) const TEACHER_SYSTEM: &str = "training.teacher.system";
/// Key of the model that is a teacher.
pub(crate) const TEACHER_MODEL: &str = "training.teacher.model";

/// Teacher of a distillation. Its scores of the positives and negatives of all examples are
/// computed once and cached. Scores of a cross-encoder are logits, without its activation function.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TeacherEntry {
    /// Name of the system that scores the documents. The model of the type `rerank` scores all of
    /// them, with the template and the lengths of that system. Another system scores the documents
    /// that it finds; the others are left out with a note. Filters of the system do not apply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// Cross-encoder or late-interaction model that scores the documents, in place of `system`:
    /// model folder, or the name of a downloaded model, as in the type `rerank`. It reads the texts
    /// of the examples, in its own maximum length.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl TeacherEntry {
    pub(crate) fn check(&self) -> Result<(), SystemError> {
        match (&self.system, &self.model) {
            (Some(_), Some(_)) => Err(SystemError::conflict(
                TEACHER_SYSTEM,
                TEACHER_MODEL,
                "both score the documents",
            )),
            (None, None) => {
                let message = "expected the key system or model, found neither";
                Err(SystemError::parameter("training.teacher", message))
            }
            _ => Ok(()),
        }
    }
}
