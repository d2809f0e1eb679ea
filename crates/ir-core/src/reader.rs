//! The [`Reader`] trait: the span of a context that answers a question.
//!
//! The trait is here because `ir-qa` has a lexical reader and `ir-dense` a transformer, and neither
//! depends on the other.

use std::error::Error;
use std::ops::Range;

use crate::characters::byte_offset;

/// Reader: finds the span of a context that answers a question.
///
/// Contexts are batches, so that a neural reader can encode several at once.
///
/// ```
/// use ir_core::{AnswerSpan, Reader, ReaderError, ReaderInput};
///
/// /// The first run of digits.
/// struct FirstNumber;
/// impl Reader for FirstNumber {
///     fn read(
///         &self,
///         inputs: &[ReaderInput<'_>],
///         n_best: usize,
///     ) -> Result<Vec<Vec<AnswerSpan>>, ReaderError> {
///         let span = |input: &ReaderInput<'_>| {
///             let is_digit = |c: char| c.is_ascii_digit();
///             let start = input.context.chars().position(is_digit)?;
///             let digits = input.context.chars().skip(start).take_while(|&c| is_digit(c));
///             let characters = start..start + digits.count();
///             Some(AnswerSpan { characters, score: 1.0 })
///         };
///         Ok(inputs.iter().map(|input| span(input).into_iter().take(n_best).collect()).collect())
///     }
/// }
/// let context = "The bridge was built in 1890.";
/// let input = ReaderInput::new("When was the bridge built?", context);
/// let spans = FirstNumber.read(&[input], 1)?;
/// assert_eq!(spans[0][0].text(context), "1890");
/// assert_eq!(spans[0][0].characters, 24..28);
/// # Ok::<(), ReaderError>(())
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
    /// Creates an input. The span may lie anywhere in the context.
    #[must_use]
    pub fn new(question: &'a str, context: &'a str) -> Self {
        Self {
            question,
            context,
            range: None,
        }
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
