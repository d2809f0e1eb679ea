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
    /// A stop word that can never match, because tokens are normalized and lowercased first.
    #[error("stop word {word:?} can never match: tokens are normalized first, expected {term:?}")]
    UnmatchableStopWord { word: String, term: String },
    /// The name of an unknown preset.
    #[error("unknown analysis {found:?}: expected one of {expected}")]
    UnknownName { found: String, expected: String },
}
