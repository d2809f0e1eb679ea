//! Errors of an [`Analysis`](super::Analysis).

use super::{LONGEST_TOKEN, SHORTEST_TOKEN};

/// Error validating or parsing an analysis configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum AnalysisError {
    /// The maximum token length is out of range.
    #[error("max_len: expected {SHORTEST_TOKEN} to {LONGEST_TOKEN} UTF-16 units, found {found}")]
    TokenLength { found: usize },
    /// A stop word is empty.
    #[error("stop words: expected words, found an empty string")]
    EmptyStopWord,
    /// A stop word that can never match, because tokens are lowercased first.
    #[error("stop word {word:?} can never match: tokens are lowercased first, expected {term:?}")]
    UnmatchableStopWord { word: String, term: String },
    /// A protected word that can never match: it is several terms, or tokens are lowercased first.
    #[error("protected word {word:?} can never match: expected one term, found {terms:?}")]
    UnmatchableProtectedWord { word: String, terms: String },
    /// Bigrams of characters with a tokenizer that does not tell scripts apart.
    #[error("cjk_bigrams: expected the tokenizer \"unicode\", found \"whitespace\"")]
    BigramTokenizer,
    /// An unknown field, or a value of another type.
    #[error("{field}: {message}")]
    Field { field: String, message: String },
    /// The name of an unknown preset.
    #[error("unknown analysis {found:?}: expected one of {expected}")]
    UnknownName { found: String, expected: String },
}
