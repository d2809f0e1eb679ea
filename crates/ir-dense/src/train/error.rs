//! Errors of training and checkpoints.

use std::error::Error;
use std::ops::Range;
use std::path::PathBuf;

use ir_core::EncodeError;
use ir_core::training::TrainingSetError;

use crate::error::ModelError;

/// Error starting or running a training.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum TrainError {
    /// A configuration value is out of range.
    #[error("{field} is {found}, expected {expected}")]
    Setting {
        field: &'static str,
        expected: &'static str,
        found: String,
    },
    /// The training set is empty.
    #[error("expected training examples, found none")]
    Empty,
    /// An example cannot be read or is invalid.
    #[error(transparent)]
    Data(#[from] TrainingSetError),
    /// A text lacks the teacher score that a distillation loss needs. `at` is the index in `field`.
    #[error("training example {example}: {field}[{at}] has no score, which distillation needs")]
    NoScore {
        example: usize,
        field: &'static str,
        at: usize,
    },
    /// A teacher score that is a label is not a probability. `at` is the index in `field`.
    #[error(
        "training example {example}: the score of {field}[{at}] is {found}, expected a label \
         between 0 and 1"
    )]
    Label {
        example: usize,
        field: &'static str,
        at: usize,
        found: f32,
    },
    /// An example lacks the hard negatives that the loss needs.
    #[error("training example {example} has no negatives, which the loss needs")]
    NoNegatives { example: usize },
    /// The answer of a reader's example is empty or not in its context. Offsets are in characters.
    #[error(
        "training example {example}: the answer is at {}..{}, expected a span that is not empty in \
         the {length} characters of its context", span.start, span.end
    )]
    AnswerSpan {
        example: usize,
        span: Range<usize>,
        length: usize,
    },
    /// Every query has its positive as the only candidate, which the loss compares with nothing.
    #[error("every step has one query with one text, expected negatives, or 2 queries or more")]
    OneCandidate,
    /// The model cannot be read, or a model or checkpoint cannot be written.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A text cannot be encoded.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// The loss or the gradient norm is not finite: the learning rate is too high, or the initial
    /// weights are invalid.
    #[error(
        "step {step}: the loss is {loss} and the gradient norm {norm}, expected finite numbers"
    )]
    NotFinite { step: u64, loss: f64, norm: f64 },
    /// The evaluation function returned an error or a metric that is not finite.
    #[error("the evaluation after {step} steps failed")]
    Evaluation {
        step: u64,
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The function that receives the history returned an error.
    #[error("the history of {step} steps cannot be recorded")]
    Callback {
        step: u64,
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// A file is not a checkpoint.
    #[error("{} is not a checkpoint", path.display())]
    NoCheckpoint {
        path: PathBuf,
        #[source]
        source: Option<Box<dyn Error + Send + Sync>>,
    },
    /// A checkpoint has another version of the format.
    #[error("{} is a checkpoint of version {found}, expected {expected}", path.display())]
    Version {
        path: PathBuf,
        expected: u32,
        found: u32,
    },
    /// The checksum of a checkpoint does not match.
    #[error("{} is damaged: its checksum is {found:08x}, expected {expected:08x}", path.display())]
    Damaged {
        path: PathBuf,
        expected: u32,
        found: u32,
    },
    /// A checkpoint belongs to another configuration or model; `field` is the first difference. The
    /// fingerprints of the `training_data` and of the initial `weights` are part of the
    /// configuration. Fields that start with `model` are read from the model folder: tokenizer,
    /// pooling, modules, prompts, maximum lengths, shape of the transformer.
    #[error("{}: {field} was {found}, expected {expected}", path.display())]
    OtherConfiguration {
        path: PathBuf,
        field: String,
        expected: String,
        found: String,
    },
    /// Progress reporting requested a stop. The checkpoint, if enabled, has all steps so far.
    #[error("stopped after {step} of {steps} steps")]
    Stopped { step: u64, steps: u64 },
}
