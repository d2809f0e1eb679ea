use std::ops::Range;

use crate::encoder::Side;
use crate::error::EncodeError;
use crate::macros::forward;

/// Vectors of the tokens of a text, for late interaction.
///
/// ```
/// use ir_core::TokenVectors;
/// let vectors = TokenVectors::new(2, vec![1.0, 0.0, 0.6, 0.8], vec![0..5, 6..9]);
/// assert_eq!(vectors.len(), 2);
/// assert_eq!(vectors.rows().last(), Some(&[0.6, 0.8][..]));
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct TokenVectors {
    /// Dimension of the vectors.
    pub dim: usize,
    /// Row-major `[tokens, dim]`.
    pub values: Vec<f32>,
    /// Range of each token in the text, in bytes; empty for tokens that are not of the text, such
    /// as `[CLS]`.
    pub spans: Vec<Range<usize>>,
}

impl TokenVectors {
    /// Creates vectors from row-major `values` and the range of each token in the text, in bytes.
    ///
    /// # Panics
    /// If `values` does not have `spans.len() * dim` elements.
    #[must_use]
    pub fn new(dim: usize, values: Vec<f32>, spans: Vec<Range<usize>>) -> Self {
        let expected = spans.len() * dim;
        assert_eq!(values.len(), expected, "values of {} tokens", spans.len());
        Self { dim, values, spans }
    }

    /// Returns the number of tokens.
    #[must_use]
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Returns `true` if there are no tokens.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Returns the vector of each token, in order.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[f32]> {
        self.values.chunks_exact(self.dim.max(1))
    }
}

/// Encodes texts as one vector per token: late interaction, as in ColBERT.
///
/// The score of a document is the sum over the query's tokens of the maximum dot product with a
/// token of the document (MaxSim).
///
/// # Examples
/// An encoder with a token of one dimension per byte:
/// ```
/// use ir_core::{EncodeError, Side, TokenEncoder, TokenVectors};
///
/// struct Bytes;
///
/// impl TokenEncoder for Bytes {
///     fn dim(&self) -> usize {
///         1
///     }
///     fn encode_tokens(&self, _: Side, texts: &[&str]) -> Result<Vec<TokenVectors>, EncodeError> {
///         let encode = |text: &&str| {
///             let values: Vec<f32> = text.bytes().map(f32::from).collect();
///             let spans = (0..text.len()).map(|at| at..at + 1);
///             TokenVectors::new(1, values, spans.collect())
///         };
///         Ok(texts.iter().map(encode).collect())
///     }
/// }
///
/// let vectors = Bytes.encode_tokens(Side::Document, &["ab", ""])?;
/// assert_eq!(vectors[0].values, [97.0, 98.0]);
/// assert!(vectors[1].is_empty());
/// # Ok::<(), EncodeError>(())
/// ```
///
/// # Source
/// Khattab and Zaharia, "ColBERT: Efficient and Effective Passage Search via Contextualized Late
/// Interaction over BERT", SIGIR 2020.
pub trait TokenEncoder: Send + Sync {
    /// Returns the dimension of the vectors.
    fn dim(&self) -> usize;

    /// Returns the token vectors of each text, in order. The vectors of a text do not depend on the
    /// other texts.
    ///
    /// # Errors
    /// If a text cannot be encoded.
    fn encode_tokens(&self, side: Side, texts: &[&str]) -> Result<Vec<TokenVectors>, EncodeError>;

    /// Returns a name of the model and its settings: vectors with equal fingerprints are
    /// comparable. Default: `None`, unknown.
    fn fingerprint(&self) -> Option<String> {
        None
    }
}

forward!(TokenEncoder {
    fn dim(&self) -> usize;
    fn encode_tokens(&self, side: Side, texts: &[&str]) -> Result<Vec<TokenVectors>, EncodeError>;
    fn fingerprint(&self) -> Option<String>;
});
