use ir_core::{Flow, Progress};
use ir_qa::questions::QuestionError;
use ir_qa::retrieval::AnswerIndexError;

use crate::error::with_causes;
use crate::store::{MAX_ATTEMPTS, StoreError};

/// Error of building a published state.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum PublishError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Index(#[from] AnswerIndexError),
    #[error("{}", with_causes(.0))]
    Questions(QuestionError),
    #[error(
        "vector of {text:?}: expected finite values that are not all 0, found another vector of the encoder"
    )]
    Vector { text: String },
    #[error(
        "the process ended {} times while texts were encoded, such as for lack of memory",
        MAX_ATTEMPTS
    )]
    GivenUp,
    #[error("aborted")]
    Aborted,
    #[error("internal error; the log has the cause")]
    Panic,
}

/// Reports progress. A requested stop is [`PublishError::Aborted`].
pub(super) fn report(
    progress: &mut dyn Progress,
    stage: &str,
    done: u64,
    total: u64,
) -> Result<(), PublishError> {
    match progress.report(stage, done, Some(total)) {
        Flow::Stop => Err(PublishError::Aborted),
        Flow::Continue => Ok(()),
    }
}
