use std::fmt;

/// Term of a text, with its offsets and position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token<'a> {
    /// Term as indexed: lowercased, stemmed, ...
    pub term: &'a str,
    /// Start offset in the input, in bytes.
    pub start: usize,
    /// End offset in the input, in bytes (exclusive).
    pub end: usize,
    /// Position before stop-word removal, from 0; a removed stop word leaves a gap.
    pub position: u32,
}

/// Converts text into terms.
///
/// Deterministic and thread-safe.
///
/// ```
/// use ir_core::{Analyzer, Token};
///
/// struct Blanks;
/// impl Analyzer for Blanks {
///     fn analyze(&self, text: &str, emit: &mut dyn FnMut(Token<'_>)) {
///         let mut position = 0;
///         for term in text.split_whitespace() {
///             let start = term.as_ptr() as usize - text.as_ptr() as usize;
///             emit(Token { term, start, end: start + term.len(), position });
///             position += 1;
///         }
///     }
/// }
/// assert_eq!(Blanks.terms("to be"), ["to", "be"]);
/// ```
pub trait Analyzer: Send + Sync {
    /// Calls `emit` for every term of `text`, in order.
    fn analyze(&self, text: &str, emit: &mut dyn FnMut(Token<'_>));

    /// Returns the terms without offsets.
    fn terms(&self, text: &str) -> Vec<String> {
        let mut terms = Vec::new();
        self.analyze(text, &mut |token| terms.push(token.term.to_owned()));
        terms
    }
}

impl fmt::Debug for dyn Analyzer + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Analyzer")
    }
}
