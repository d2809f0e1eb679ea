//! What can be wrong with an [`Analysis`](super::Analysis).

use super::{LONGEST_TOKEN, SHORTEST_TOKEN};

/// Why an analysis cannot be built or named.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AnalysisError {
    /// The longest token is outside the allowed range.
    #[error("longest token of {found} units: expected {SHORTEST_TOKEN} to {LONGEST_TOKEN}")]
    TokenLength {
        /// The length that was asked for.
        found: usize,
    },
    /// An empty stop word.
    #[error("empty stop word")]
    EmptyStopWord,
    /// A stop word that no word can equal, because words are lower-cased before.
    #[error("stop word {word:?} can never match: words are lower-cased first, expected {lower:?}")]
    UpperCaseStopWord {
        /// The word.
        word: String,
        /// Its lower-case form.
        lower: String,
    },
    /// No analysis has this name.
    #[error("unknown analysis {found:?}: expected one of {expected}")]
    UnknownName {
        /// The name that was asked for.
        found: String,
        /// The names that exist.
        expected: String,
    },
}
