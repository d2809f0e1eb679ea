//! Values that determine an evaluation during training.

use serde_json::Value;

/// Everything that determines the values and steps of evaluations, in the order in which it is
/// compared.
pub(crate) type Evaluation = Vec<(&'static str, Value)>;
