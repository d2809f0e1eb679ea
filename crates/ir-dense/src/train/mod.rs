//! Fine-tuning a bi-encoder on queries whose answers are known.
//!
//! [`Trainer`] takes a model's folder, a [`TrainingConfig`] and anything that is an
//! [`ir_core::TrainingSet`], and gives an encoder that [`crate::BiEncoder::save`] writes as a folder
//! for Rust and Python. [`loss`] has what is made small, as functions of scores.
//!
//! | your data looks like this | set |
//! |---|---|
//! | ten thousand queries with hard negatives, SciBERT | [`TrainingConfig::datafinder`] |
//! | some hundreds of queries, a model that embeds sentences | [`TrainingConfig::small_data`] |
//! | pairs without negatives | either, with a `batch` as large as patience allows; the other queries' documents are the negatives |
//! | batches that do not fit into memory | `block`: texts that are encoded at once |
//! | a teacher's scores | [`Loss::MarginMse`] or [`Loss::KlDivergence`] |
//! | answers of one query among the negatives of another | `skip_known_positives` |
//!
//! # What is certain
//! The order of examples, which of their texts are taken and what dropout drops are functions of
//! seed and step; sums are added in an order that depends on the batch alone. So weights have the
//! same bytes on any number of threads, and after any number of stops ([`Trainer::with_checkpoints`]).
//! As with encoding, another kind of processor may differ in the last bits.

mod adamw;
mod checkpoint;
mod config;
mod curves;
mod dropout;
mod error;
mod gradients;
mod history;
mod kernels;
pub mod loss;
mod sampler;
mod step;
mod tape;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::float_cmp)]
mod tests;
mod trainer;

pub use crate::Similarity;
pub use config::{AdamW, Decay, Loss, Schedule, TrainingConfig};
pub use error::TrainError;
pub use history::{Evaluated, History, StepRow};
pub use trainer::{Evaluate, Trained, Trainer};
