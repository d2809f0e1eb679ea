//! Models of the type `rerank`, which may be trained: cross-encoders and late-interaction models.

#[cfg(feature = "dense")]
mod training;
#[cfg(feature = "dense")]
mod with_models;
#[cfg(not(feature = "dense"))]
mod without_models;

#[cfg(feature = "dense")]
pub(super) use training::stages;
#[cfg(feature = "dense")]
pub(super) use with_models::{content, open_model, shared_model};
#[cfg(not(feature = "dense"))]
pub(super) use without_models::{content, open_model, shared_model, stages};
