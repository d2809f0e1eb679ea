//! Models of the type `rerank`: cross-encoders, which may be trained, and late-interaction models.

#[cfg(feature = "dense")]
mod with_models;
#[cfg(not(feature = "dense"))]
mod without_models;

#[cfg(feature = "dense")]
pub(super) use with_models::{content, open_model, shared_model, stages};
#[cfg(not(feature = "dense"))]
pub(super) use without_models::{content, open_model, shared_model, stages};
