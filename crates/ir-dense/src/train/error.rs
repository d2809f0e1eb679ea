//! Why training cannot begin or go on.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use ir_core::{EncodeError, TrainingError};

use crate::ModelError;

/// Why training cannot begin or go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrainError {
    /// A setting that makes no sense.
    #[error("{field} is {found}, expected {expected}")]
    Setting {
        /// The field of the configuration.
        field: &'static str,
        /// What would do.
        expected: &'static str,
        /// What is there.
        found: String,
    },
    /// There is nothing to learn from.
    #[error("expected training examples, found none")]
    Empty,
    /// There is nothing to learn word pieces from.
    #[error("expected texts with words, found none")]
    NoWords,
    /// An example cannot be had or is of no use.
    #[error(transparent)]
    Data(#[from] TrainingError),
    /// A loss that learns from a teacher met a text without the teacher's score.
    #[error("training example {example}: {field}[{at}] has no score, which distillation needs")]
    NoScore {
        /// Which example, from 0.
        example: usize,
        /// `positives` or `negatives`.
        field: &'static str,
        /// Which of them, from 0.
        at: usize,
    },
    /// A loss over the documents of each query met an example without negatives.
    #[error("training example {example} has no negatives, which distillation needs")]
    NoNegatives {
        /// Which example, from 0.
        example: usize,
    },
    /// Every query would have its own answer alone to choose from, so that nothing can be learnt.
    #[error("every step has one query with one text, expected negatives, or 2 queries or more")]
    OneCandidate,
    /// The model cannot be used.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A text cannot be encoded.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// The loss or a gradient is infinite or no number: the learning rate is too high, or the
    /// weights were odd before.
    #[error(
        "step {step}: the loss is {loss} and the gradient's length {length}, expected finite numbers"
    )]
    NotFinite {
        /// The step, from 0.
        step: u64,
        /// The loss.
        loss: f64,
        /// The length of the gradient.
        length: f64,
    },
    /// The evaluation failed.
    #[error("the evaluation after {step} steps failed")]
    Evaluation {
        /// Steps taken before it.
        step: u64,
        /// What it said.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The evaluation gave no number that can be compared.
    #[error("the evaluation after {step} steps gave {found}, expected a finite number")]
    Measure {
        /// Steps taken before it.
        step: u64,
        /// What it gave.
        found: f64,
    },
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// A file cannot be written; what was there before is there still.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// A file is no checkpoint.
    #[error("{} is not a checkpoint", path.display())]
    NoCheckpoint {
        /// The file.
        path: PathBuf,
        /// What its reader says.
        #[source]
        source: Option<Box<dyn Error + Send + Sync>>,
    },
    /// A checkpoint of another version of this format.
    #[error("{} is a checkpoint of version {found}, expected {expected}", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// What this program writes and reads.
        expected: u32,
        /// What is there.
        found: u32,
    },
    /// A checkpoint with other bytes than were written.
    #[error("{} is damaged: its checksum is {found:08x}, expected {expected:08x}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// As written in it.
        expected: u32,
        /// Of its bytes.
        found: u32,
    },
    /// A checkpoint of training with other data.
    #[error("{} was trained with the data {found:016x}, expected {expected:016x}", path.display())]
    OtherData {
        /// The file.
        path: PathBuf,
        /// The fingerprint of the data at hand.
        expected: u64,
        /// That in the checkpoint.
        found: u64,
    },
    /// A checkpoint of training that began from other weights.
    #[error("{} began with the weights {found:08x}, expected {expected:08x}", path.display())]
    OtherModel {
        /// The file.
        path: PathBuf,
        /// The checksum of the weights at hand.
        expected: u32,
        /// That in the checkpoint.
        found: u32,
    },
    /// A checkpoint of training with another configuration.
    #[error("{}: {field} was {found}, expected {expected}", path.display())]
    OtherConfiguration {
        /// The file.
        path: PathBuf,
        /// The first setting that differs.
        field: String,
        /// At hand.
        expected: String,
        /// In the checkpoint.
        found: String,
    },
    /// Whoever watches asked to stop. What was done so far is in the checkpoint, if there is one.
    #[error("stopped after {step} of {steps} steps")]
    Stopped {
        /// Steps taken.
        step: u64,
        /// All.
        steps: u64,
    },
}
