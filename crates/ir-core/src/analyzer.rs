//! Text to terms: the seam that lets any crate use any analysis.

/// One term of a text, with the place in the original text that it came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token<'a> {
    /// The term as it is indexed: lower-cased, stemmed, ...
    pub term: &'a str,
    /// Where the term's text begins in the input, in bytes.
    pub start: usize,
    /// Where it ends, in bytes (exclusive).
    pub end: usize,
    /// The position among the tokens before any was removed, from 0: a removed stop word leaves a gap.
    pub position: u32,
}

/// Turns a text into terms. Deterministic, and safe to share between threads.
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
    /// Calls `emit` for every term of `text`, in their order.
    fn analyze(&self, text: &str, emit: &mut dyn FnMut(Token<'_>));

    /// The terms alone.
    fn terms(&self, text: &str) -> Vec<String> {
        let mut terms = Vec::new();
        self.analyze(text, &mut |token| terms.push(token.term.to_owned()));
        terms
    }
}
