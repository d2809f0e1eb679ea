//! Models of the type `rerank`, which may be trained: cross-encoders and late-interaction models.

#[cfg(feature = "dense")]
mod training;
#[cfg(not(feature = "dense"))]
mod without_models;

#[cfg(feature = "dense")]
pub(super) use super::reranker_model::open_model;
#[cfg(feature = "dense")]
pub(super) use training::{content, shared_model, stages};
#[cfg(not(feature = "dense"))]
pub(super) use without_models::{content, open_model, shared_model, stages};
