//! Configuration of TF-IDF vectorizers, and errors of fitting them.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// Configuration of a [`TfidfVectorizer`](crate::TfidfVectorizer), with the defaults of
/// scikit-learn.
///
/// | here | scikit-learn's `TfidfVectorizer` |
/// |---|---|
/// | `tf` | `sublinear_tf`, `binary` |
/// | `idf` | `use_idf`, `smooth_idf` |
/// | `norm` | `norm` |
/// | `min_df`, `max_df` | the same: a count or a fraction |
/// | `min_n`, `max_n` | `ngram_range` |
/// | `stop_words`, `vocabulary`, `max_features` | the same |
///
/// ```
/// use ir_knn::{DocFrequency, TfWeighting, TfidfConfig};
/// let config = TfidfConfig::default()
///     .with_tf(TfWeighting::Sublinear)
///     .with_min_df(DocFrequency::Count(2));
/// let text = serde_json::to_string(&config)?;
/// assert_eq!(serde_json::from_str::<TfidfConfig>(&text)?, config);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct TfidfConfig {
    /// Term-frequency weighting. Default: the raw count.
    pub tf: TfWeighting,
    /// Inverse document frequency. Default: smoothed.
    pub idf: IdfWeighting,
    /// Normalization of each vector. Default: L2.
    pub norm: RowNorm,
    /// Minimum document frequency; rarer terms are dropped. Default: 1 text.
    pub min_df: DocFrequency,
    /// Maximum document frequency; more frequent terms are dropped. Default: all texts.
    pub max_df: DocFrequency,
    /// Minimum n-gram length in words. Range: ≥ 1. Default: 1.
    pub min_n: usize,
    /// Maximum n-gram length in words; the words of an n-gram are joined by a space. Range:
    /// ≥ `min_n`. Default: 1.
    pub max_n: usize,
    /// Stop words, removed before n-grams are formed and compared with the tokens of the analyzer.
    /// Default: none.
    pub stop_words: BTreeSet<String>,
    /// Maximum vocabulary size: the terms with the most occurrences in all texts; ties by code
    /// point, which scikit-learn leaves open. Range: ≥ 1. Default: unlimited.
    pub max_features: Option<usize>,
    /// Fixed vocabulary, one term per column in this order; disables `min_df`, `max_df` and
    /// `max_features`. Default: the terms of the texts, by code point.
    pub vocabulary: Option<Vec<String>>,
}

impl Default for TfidfConfig {
    fn default() -> Self {
        Self {
            tf: TfWeighting::Count,
            idf: IdfWeighting::Smooth,
            norm: RowNorm::L2,
            min_df: DocFrequency::Count(1),
            max_df: DocFrequency::Fraction(1.0),
            min_n: 1,
            max_n: 1,
            stop_words: BTreeSet::new(),
            max_features: None,
            vocabulary: None,
        }
    }
}

/// Term-frequency weighting: a function of the number tf of occurrences of a term in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TfWeighting {
    /// tf, the raw count.
    #[default]
    Count,
    /// 1 + ln tf.
    Sublinear,
    /// 1 for every term that occurs.
    Binary,
}

/// Inverse document frequency: a function of the number n of texts and the document frequency df.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IdfWeighting {
    /// ln((1 + n) / (1 + df)) + 1.
    #[default]
    Smooth,
    /// ln(n / df) + 1.
    Plain,
    /// 1 for every term.
    None,
}

/// Row normalization: L1, L2 or none. Zero vectors are unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowNorm {
    /// Euclidean length of the vector.
    #[default]
    L2,
    /// Sum of absolute values.
    L1,
    /// Vectors are not normalized.
    None,
}

/// Bound on the number of texts that contain a term.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DocFrequency {
    /// Number of texts. Range: ≥ 1.
    Count(u64),
    /// Fraction of all texts. Range: 0..=1.
    Fraction(f64),
}

impl DocFrequency {
    /// Returns the bound for a collection of `texts` texts.
    pub(super) fn bound(self, texts: usize) -> f64 {
        match self {
            Self::Count(count) => count as f64,
            Self::Fraction(fraction) => fraction * texts as f64,
        }
    }

    fn is_valid(self) -> bool {
        match self {
            Self::Count(count) => count > 0,
            Self::Fraction(fraction) => (0.0..=1.0).contains(&fraction),
        }
    }
}

impl TfidfConfig {
    ir_core::setters! {
        with_tf: tf, TfWeighting;
        with_idf: idf, IdfWeighting;
        with_norm: norm, RowNorm;
        with_min_df: min_df, DocFrequency;
        with_max_df: max_df, DocFrequency;
        with_max_features: Some(max_features), usize;
    }

    /// Sets the range of n-gram lengths.
    #[must_use]
    pub fn with_ngrams(mut self, min_n: usize, max_n: usize) -> Self {
        (self.min_n, self.max_n) = (min_n, max_n);
        self
    }

    /// Sets the stop words.
    #[must_use]
    pub fn with_stop_words<S: Into<String>>(mut self, words: impl IntoIterator<Item = S>) -> Self {
        self.stop_words = words.into_iter().map(Into::into).collect();
        self
    }

    /// Fixes the vocabulary, one term per column.
    #[must_use]
    pub fn with_vocabulary<S: Into<String>>(mut self, terms: impl IntoIterator<Item = S>) -> Self {
        self.vocabulary = Some(terms.into_iter().map(Into::into).collect());
        self
    }

    pub(super) fn validate(&self) -> Result<(), TfidfFitError> {
        for (field, found) in [("min_df", self.min_df), ("max_df", self.max_df)] {
            if !found.is_valid() {
                return Err(TfidfFitError::DocFrequency { field, found });
            }
        }
        if self.min_n == 0 || self.max_n < self.min_n {
            return Err(TfidfFitError::Ngrams {
                min_n: self.min_n,
                max_n: self.max_n,
            });
        }
        if self.max_features == Some(0) {
            return Err(TfidfFitError::MaxFeatures);
        }
        Ok(())
    }
}

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
