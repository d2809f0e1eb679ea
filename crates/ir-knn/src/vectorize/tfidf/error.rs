//! Errors of fitting TF-IDF vectorizers.

use super::DocFrequency;

/// Error fitting a [`TfidfVectorizer`](crate::TfidfVectorizer).
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "fields are named in the messages")]
pub enum TfidfFitError {
    /// There are no texts.
    #[error("expected texts to fit on, found none")]
    NoTexts,
    /// No text contains a term: texts are empty, or consist of stop words and dropped tokens.
    #[error("expected texts with terms, found none in {texts} texts")]
    NoTerms { texts: usize },
    /// `min_df` and `max_df` drop every term.
    #[error(
        "expected terms in {min_df} to {max_df} of {texts} texts, found none among {terms} terms"
    )]
    NoTermsLeft {
        terms: usize,
        min_df: f64,
        max_df: f64,
        texts: usize,
    },
    /// `min_df` or `max_df` is out of range.
    #[error("{field}: expected a count ≥ 1 or a fraction from 0 to 1, found {found:?}")]
    DocFrequency {
        field: &'static str,
        found: DocFrequency,
    },
    /// `max_df` is smaller than `min_df`.
    #[error("max_df: expected at least {min_df} texts (min_df), found {max_df}")]
    DocFrequencyRange { min_df: f64, max_df: f64 },
    /// The range of n-gram lengths is empty or starts at 0.
    #[error("expected n-grams of 1 or more words, found {min_n} to {max_n}")]
    Ngrams { min_n: usize, max_n: usize },
    /// `max_features` is 0.
    #[error("max_features: expected a number ≥ 1, found 0")]
    MaxFeatures,
    /// The fixed vocabulary is empty.
    #[error("vocabulary: expected terms, found none")]
    EmptyVocabulary,
    /// The fixed vocabulary contains a term twice.
    #[error("vocabulary: expected every term once, found {term:?} twice")]
    RepeatedTerm { term: String },
    /// A term of the fixed vocabulary occurs in no text, so its unsmoothed idf is infinite.
    #[error(
        "vocabulary: expected terms that occur (idf is not smoothed), found {term:?} in no text"
    )]
    UnseenTerm { term: String },
    /// The caller's [`Progress`](ir_core::Progress) canceled the operation.
    #[error("canceled")]
    Canceled,
}
