//! Fine-tuning of bi-encoders, cross-encoders, late-interaction models, learned sparse encoders and
//! readers.
//!
//! [`Trainer`] takes the folder of a model, a [`TrainingConfig`] and any
//! [`ir_core::training::TrainingSet`], and returns an encoder, which [`crate::BiEncoder::save`]
//! writes as a folder for Rust and Python. [`loss`] has the losses as functions of score matrices.
//! [`CrossEncoderTrainer`] trains a cross-encoder on the same examples, [`MultiVectorTrainer`] a
//! multi-vector encoder for late interaction, [`SparseEncoderTrainer`] a learned sparse encoder,
//! and [`ReaderTrainer`] an extractive reader on questions with answer spans.
//!
//! | training data | setting |
//! |---|---|
//! | ten thousand queries with hard negatives, SciBERT | [`TrainingConfig::datafinder`] |
//! | some hundreds of queries, a sentence encoder | [`TrainingConfig::small_data`] |
//! | pairs without hard negatives | either, with a large `batch_size`: negatives are in-batch |
//! | batches that do not fit into memory | `mini_batch_size` (GradCache) |
//! | scores of a teacher model | [`Loss::MarginMse`] or [`Loss::KlDivergence`] |
//! | any of these, for one vector per token | [`TrainingConfig::late_interaction`] |
//! | any of these, for weights of tokens (SPLADE) | [`TrainingConfig::sparse_encoder`] |
//! | documents relevant to several queries | `skip_known_positives` |
//!
//! # Determinism
//! The order of examples, the choice of their positives and negatives, and dropout masks are
//! functions of seed and step; sums are added in an order that depends on the batch alone. Weights
//! therefore have the same bytes on any number of threads, and after any number of interruptions
//! ([`Trainer::with_checkpoints`]). Another CPU architecture may differ in the last bits.

mod backward;
mod checkpoint;
mod classification_head;
mod config;
mod cpu_backward;
mod cross_encoder;
mod cross_encoder_config;
mod error;
mod gradcache;
mod gradients;
mod headed;
mod history;
pub mod loss;
mod masked_lm;
mod max_sim;
mod multi_vector;
mod multi_vector_step;
mod optimizer;
mod plot;
mod projection;
mod reader;
mod reader_config;
mod run;
mod sampler;
mod sparse_encoder;
mod sparsity;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::float_cmp)]
mod tests;
mod trainer;

pub use config::{AdamWConfig, LearningRateDecay, LearningRateSchedule, Loss, TrainingConfig};
pub use cross_encoder::{CrossEncoderTrainer, CrossEncoderTrainingResult};
pub use cross_encoder_config::{CrossEncoderLoss, CrossEncoderTrainingConfig};
pub use error::TrainError;
pub use history::{EvaluationPoint, TrainingHistory, TrainingStep};
pub use multi_vector::{MultiVectorTrainer, MultiVectorTrainingResult};
pub use reader::{ReaderExample, ReaderTrainer, ReaderTrainingResult};
pub use reader_config::ReaderTrainingConfig;
pub use run::{EvaluateFn, HistoryCallback};
pub use sparse_encoder::{SparseEncoderTrainer, SparseEncoderTrainingResult};
pub use sparsity::{Regularizer, RegularizerKind, SparsityConfig};
pub use trainer::{Trainer, TrainingResult};
