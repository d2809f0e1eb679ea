//! Readers: the span of a context that answers a question.
//!
//! A [`Reader`] gets pairs of a question and a context, and returns spans of the context with
//! scores. [`LexicalReader`] needs no model. [`exact_match`] and [`token_f1`] are the measures of
//! SQuAD.
//!
//! Measured on the 10,570 questions of SQuAD's development set (`IR_DATA=... cargo test -p ir-qa
//! --test reader -- --nocapture squad` prints them), in percent:
//!
//! | reader | context | exact match | F1 |
//! |---|---|---|---|
//! | `LexicalReader` | paragraph | 20.8 | 30.4 |
//! | `LexicalReader` | sentence with the answer | 24.9 | 38.0 |

mod lexical;
mod measures;

use std::error::Error;
use std::ops::Range;

pub use lexical::LexicalReader;
pub use measures::{exact_match, normalized_answer, token_f1};

use crate::characters::byte_offset;
use crate::frame::Frame;

/// Reader: finds the span of a context that answers a question.
///
/// Contexts are batches, so that a neural reader can encode several at once.
///
/// ```
/// use ir_qa::reader::{LexicalReader, Reader, ReaderInput};
/// let context = "The bridge was built in 1890. It is made of steel.";
/// let input = ReaderInput::new("When was the bridge built?", context);
/// let spans = LexicalReader::default().read(&[input], 1)?;
/// assert_eq!(spans[0][0].text(context), "1890");
/// assert_eq!(spans[0][0].characters, 24..28);
/// # Ok::<(), ir_qa::reader::ReaderError>(())
/// ```
pub trait Reader: Send + Sync {
    /// Returns the best spans of each input, at most `n_best`, by descending score. Spans are not
    /// empty, and lie in the range of the input; there is none if nothing answers the question.
    ///
    /// # Errors
    /// The reader cannot be used, such as a model that fails.
    fn read(
        &self,
        inputs: &[ReaderInput<'_>],
        n_best: usize,
    ) -> Result<Vec<Vec<AnswerSpan>>, ReaderError>;
}

/// Question with a context.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReaderInput<'a> {
    /// Question, as the user typed it.
    pub question: &'a str,
    /// Text around the answer.
    pub context: &'a str,
    /// Range of the context, in characters, in which the span lies, such as a sentence. `None`: all
    /// of the context.
    pub range: Option<Range<usize>>,
}

impl<'a> ReaderInput<'a> {
    /// Creates an input whose span may lie anywhere in the context.
    #[must_use]
    pub fn new(question: &'a str, context: &'a str) -> Self {
        Self {
            question,
            context,
            range: None,
        }
    }

    /// Creates an input whose span lies in the answer sentence of a frame.
    #[must_use]
    pub fn of_frame(question: &'a str, frame: &'a Frame) -> Self {
        Self::new(question, &frame.context).within(frame.answer_characters())
    }

    /// Restricts the span to a range of the context, in characters.
    #[must_use]
    pub fn within(mut self, range: Range<usize>) -> Self {
        self.range = Some(range);
        self
    }

    /// The range in bytes; beyond the end of the context it is cut.
    #[must_use]
    pub fn bytes(&self) -> Range<usize> {
        let length = self.context.len();
        let Some(range) = &self.range else {
            return 0..length;
        };
        let start = byte_offset(self.context, range.start).unwrap_or(length);
        let end = byte_offset(self.context, range.end).unwrap_or(length);
        start..end.max(start)
    }
}

/// Span of a context.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerSpan {
    /// Range in the context, in characters.
    pub characters: Range<usize>,
    /// Score; higher is better. Scores of different readers are not comparable.
    pub score: f32,
}

impl AnswerSpan {
    /// Text of the span. Empty if the context is too short.
    #[must_use]
    pub fn text<'c>(&self, context: &'c str) -> &'c str {
        let start = byte_offset(context, self.characters.start);
        let end = byte_offset(context, self.characters.end);
        match (start, end) {
            (Some(start), Some(end)) if start <= end => &context[start..end],
            _ => "",
        }
    }
}

/// Error of a reader.
#[derive(Debug, thiserror::Error)]
#[error("reader: {0}")]
pub struct ReaderError(#[source] pub Box<dyn Error + Send + Sync>);
