//! Suggestions for names that are not known.

pub(crate) use ir_experiment::suggest::{closest, did_you_mean, list_or_none};
