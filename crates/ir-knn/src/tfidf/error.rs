//! Why a vectoriser could not be fitted.

use super::DocFrequency;

/// Why a vectoriser could not be fitted.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FitError {
    /// No texts at all.
    #[error("expected texts to learn from, found none")]
    NoTexts,
    /// The texts hold no term: they are empty, or of stop words and single letters only.
    #[error("expected texts with terms, found none in {texts} texts")]
    NoTerms {
        /// How many texts there are.
        texts: usize,
    },
    /// Every term is too rare or too frequent.
    #[error("none of {terms} terms is in at least {least} and at most {most} of {texts} texts")]
    NothingLeft {
        /// How many terms there were.
        terms: usize,
        /// The fewest texts.
        least: f64,
        /// The most texts.
        most: f64,
        /// How many texts there are.
        texts: usize,
    },
    /// A bound on the number of texts with a term is out of range.
    #[error("{field}: expected a count from 1 or a share from 0 to 1, found {found:?}")]
    DocFrequency {
        /// `min_df` or `max_df`.
        field: &'static str,
        /// What was given.
        found: DocFrequency,
    },
    /// The two bounds exclude every term.
    #[error("expected max_df to allow at least the {least} texts of min_df, found {most}")]
    Bounds {
        /// The fewest texts.
        least: f64,
        /// The most texts.
        most: f64,
    },
    /// The number of words of a term is out of range.
    #[error("expected terms of 1 or more words, found {shortest} to {longest}")]
    Words {
        /// The fewest words.
        shortest: usize,
        /// The most words.
        longest: usize,
    },
    /// No columns are wanted.
    #[error("max_features: expected a number from 1, found 0")]
    MaxFeatures,
    /// The vocabulary that was given is empty.
    #[error("vocabulary: expected terms, found none")]
    EmptyVocabulary,
    /// A term of the vocabulary that was given stands there twice.
    #[error("vocabulary: expected every term once, found {term:?} twice")]
    RepeatedTerm {
        /// The term.
        term: String,
    },
    /// A term of the vocabulary that was given is in no text, so that its idf is infinite.
    #[error(
        "vocabulary: expected terms that occur (idf is not smoothed), found {term:?} in no text"
    )]
    UnseenTerm {
        /// The term.
        term: String,
    },
}

/// Why something saved is not a fitted vectoriser.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SavedError {
    /// The parts do not fit one another.
    #[error("expected {terms} idf values, one a term, found {idf}")]
    Length {
        /// How many terms there are.
        terms: usize,
        /// How many values there are.
        idf: usize,
    },
    /// No fit has this configuration.
    #[error("the configuration cannot be used")]
    Config(#[from] FitError),
    /// An idf that no fit gives.
    #[error("term {term:?}: expected a positive finite idf, found {found}")]
    Idf {
        /// The term.
        term: String,
        /// What stands there.
        found: f64,
    },
    /// A term stands there twice.
    #[error("expected every term once, found {term:?} twice")]
    RepeatedTerm {
        /// The term.
        term: String,
    },
}
