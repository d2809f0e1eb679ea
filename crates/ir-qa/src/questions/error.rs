use std::error::Error;

use ir_data::DataError;

/// Error of generating questions.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum QuestionError {
    /// The generator rejects the frame, such as a text that is too long. It may accept others.
    #[error("questions of frame {frame:?}: {source}")]
    Rejected {
        frame: String,
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The generator cannot be reached or used.
    #[error("questions of frame {frame:?}")]
    Generator {
        frame: String,
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The generator returned lists for another number of frames.
    #[error("generator {name:?}: expected questions for {expected} frames, found {found}")]
    Count {
        name: String,
        expected: usize,
        found: usize,
    },
    /// The file of questions cannot be used.
    #[error(transparent)]
    File(#[from] DataError),
    /// The caller's [`Progress`](ir_core::Progress) canceled the operation.
    #[error("canceled")]
    Canceled,
}
