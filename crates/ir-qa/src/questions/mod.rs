//! Question generation: questions that the answers of frames answer.
//!
//! Generated questions are marked as such and not displayable.
//! [`AnswerIndex`](crate::retrieval::AnswerIndex) encodes them as it encodes the questions of
//! annotators, so that an answer is found by the most similar of its questions.
//!
//! BM25 has the questions of annotators only. Questions of [`RuleQuestions`] have words of their
//! sentence only, so they do not help it: as further text of the sentences of SQuAD (`IR_DATA=...
//! cargo test -p ir-qa --test integration -- --nocapture questions::squad`), 933 questions of 778
//! of 10,253 sentences change the reciprocal rank of the pairs from 67.27 to 66.71 % and R@5 from
//! 77.15 to 76.74 %.
//!
//! ```
//! use ir_core::NoProgress;
//! use ir_qa::questions::{RuleQuestions, add_questions};
//! use ir_qa::{ChunkKind, Frame};
//! let text = "The bridge was finished in 1890.";
//! let mut frames = vec![Frame::new("f", "p", ChunkKind::Content, text, 0, text)?];
//! let added = add_questions(&mut frames, &RuleQuestions::default(), &mut NoProgress)?;
//! assert_eq!(added.questions, 2);
//! assert_eq!(frames[0].questions[0].text, "When was the bridge finished?");
//! assert!(frames[0].questions[0].generated && !frames[0].questions[0].displayable);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(feature = "endpoint")]
mod endpoint;
mod error;
mod file;
mod rules;

use ir_core::Progress;

#[cfg(feature = "endpoint")]
pub use endpoint::{EndpointQuestions, QuestionPrompt};
pub use error::QuestionError;
pub use file::{AddedQuestions, MAX_CONSECUTIVE_FAILURES, QuestionFile};
pub use rules::RuleQuestions;

use crate::frame::Frame;

/// Writer of the questions that a frame answers: rules or a language model.
pub trait QuestionGenerator: Send + Sync {
    /// Generates the questions of each frame, none if there is no good one. The questions of a
    /// frame do not depend on the other frames.
    ///
    /// # Errors
    /// The generator cannot be reached or used, or rejects a frame
    /// ([`QuestionError::Rejected`]; for all frames of the call).
    fn generate(&self, frames: &[&Frame]) -> Result<Vec<Vec<String>>, QuestionError>;

    /// Name and parameters of the generator. Questions of generators with another name are
    /// generated again ([`QuestionFile`]).
    fn name(&self) -> String;

    /// Maximum number of frames of a call. Default: 64.
    fn batch_size(&self) -> usize {
        64
    }
}

/// Adds generated questions to frames, not displayable. Questions that a frame has already, in any
/// case, are left out. Reports the stage "generating questions" in frames.
///
/// # Errors
/// Returns an error if the generator fails, rejects [`MAX_CONSECUTIVE_FAILURES`] calls in a row, or
/// `progress` cancels.
pub fn add_questions(
    frames: &mut [Frame],
    generator: &dyn QuestionGenerator,
    progress: &mut dyn Progress,
) -> Result<AddedQuestions, QuestionError> {
    file::add(frames, generator, None, progress)
}
