//! What may be chosen.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::FitError;

/// How texts become TF-IDF vectors; the default is scikit-learn's.
///
/// | here | scikit-learn's `TfidfVectorizer` |
/// |---|---|
/// | `tf` | `sublinear_tf`, `binary` |
/// | `idf` | `use_idf`, `smooth_idf` |
/// | `norm` | `norm` |
/// | `min_df`, `max_df` | the same: a count or a share |
/// | `shortest`, `longest` | `ngram_range` |
/// | `stop_words`, `vocabulary`, `max_features` | the same |
///
/// ```
/// use ir_knn::{DocFrequency, Tf, TfIdfConfig};
/// let config = TfIdfConfig::default()
///     .with_tf(Tf::Sublinear)
///     .with_min_df(DocFrequency::Count(2));
/// let text = serde_json::to_string(&config)?;
/// assert_eq!(serde_json::from_str::<TfIdfConfig>(&text)?, config);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct TfIdfConfig {
    /// The weight of a term within its text.
    pub tf: Tf,
    /// The weight of a term in the collection.
    pub idf: Idf,
    /// What every vector is divided by.
    pub norm: Norm,
    /// Terms in fewer texts are left out. Default: one text.
    pub min_df: DocFrequency,
    /// Terms in more texts are left out. Default: all texts.
    pub max_df: DocFrequency,
    /// The fewest words of a term, from 1. Default 1.
    pub shortest: usize,
    /// The most words of a term; several words are joined by a blank. Default 1.
    pub longest: usize,
    /// Words that are dropped before terms are made of several; compared as the analysis gives
    /// them. Default: none.
    pub stop_words: BTreeSet<String>,
    /// The most columns: those of the terms that occur most often in all texts together; of terms
    /// that occur equally often, the first by code point. scikit-learn leaves that open. Default:
    /// no limit.
    pub max_features: Option<usize>,
    /// These terms and no others, one a column in this order; `min_df`, `max_df` and
    /// `max_features` have no effect then. Default: the terms of the texts, by code point.
    pub vocabulary: Option<Vec<String>>,
}

impl Default for TfIdfConfig {
    fn default() -> Self {
        Self {
            tf: Tf::Count,
            idf: Idf::Smooth,
            norm: Norm::L2,
            min_df: DocFrequency::Count(1),
            max_df: DocFrequency::Share(1.0),
            shortest: 1,
            longest: 1,
            stop_words: BTreeSet::new(),
            max_features: None,
            vocabulary: None,
        }
    }
}

/// The weight of a term within its text, from the number of its occurrences there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tf {
    /// The number itself.
    #[default]
    Count,
    /// 1 + ln of it.
    Sublinear,
    /// 1.
    Binary,
}

/// The weight of a term in the collection, from the number n of texts and the number df of texts
/// with the term.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Idf {
    /// ln((1 + n) / (1 + df)) + 1.
    #[default]
    Smooth,
    /// ln(n / df) + 1.
    Plain,
    /// 1.
    None,
}

/// What a vector is divided by. A vector of zeros stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Norm {
    /// Its Euclidean length.
    #[default]
    L2,
    /// The sum of its absolute values.
    L1,
    /// Nothing.
    None,
}

/// A number of texts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DocFrequency {
    /// So many, from 1.
    Count(u64),
    /// So large a part of all, from 0 to 1.
    Share(f64),
}

impl DocFrequency {
    /// The bound for a collection.
    pub(super) fn of(self, documents: usize) -> f64 {
        match self {
            Self::Count(count) => count as f64,
            Self::Share(share) => share * documents as f64,
        }
    }

    fn valid(self) -> bool {
        match self {
            Self::Count(count) => count > 0,
            Self::Share(share) => (0.0..=1.0).contains(&share),
        }
    }
}

impl TfIdfConfig {
    /// With another weight within a text.
    #[must_use]
    pub fn with_tf(mut self, tf: Tf) -> Self {
        self.tf = tf;
        self
    }

    /// With another weight in the collection.
    #[must_use]
    pub fn with_idf(mut self, idf: Idf) -> Self {
        self.idf = idf;
        self
    }

    /// With another length of vectors.
    #[must_use]
    pub fn with_norm(mut self, norm: Norm) -> Self {
        self.norm = norm;
        self
    }

    /// Without terms that fewer texts have.
    #[must_use]
    pub fn with_min_df(mut self, least: DocFrequency) -> Self {
        self.min_df = least;
        self
    }

    /// Without terms that more texts have.
    #[must_use]
    pub fn with_max_df(mut self, most: DocFrequency) -> Self {
        self.max_df = most;
        self
    }

    /// With terms of `shortest` to `longest` words.
    #[must_use]
    pub fn with_words(mut self, shortest: usize, longest: usize) -> Self {
        (self.shortest, self.longest) = (shortest, longest);
        self
    }

    /// Without these words.
    #[must_use]
    pub fn with_stop_words<S: Into<String>>(mut self, words: impl IntoIterator<Item = S>) -> Self {
        self.stop_words = words.into_iter().map(Into::into).collect();
        self
    }

    /// With so many columns at most.
    #[must_use]
    pub fn with_max_features(mut self, most: usize) -> Self {
        self.max_features = Some(most);
        self
    }

    /// With these terms and no others.
    #[must_use]
    pub fn with_vocabulary<S: Into<String>>(mut self, terms: impl IntoIterator<Item = S>) -> Self {
        self.vocabulary = Some(terms.into_iter().map(Into::into).collect());
        self
    }

    pub(super) fn validate(&self) -> Result<(), FitError> {
        for (field, bound) in [("min_df", self.min_df), ("max_df", self.max_df)] {
            if !bound.valid() {
                return Err(FitError::DocFrequency {
                    field,
                    found: bound,
                });
            }
        }
        if self.shortest == 0 || self.longest < self.shortest {
            return Err(FitError::Words {
                shortest: self.shortest,
                longest: self.longest,
            });
        }
        if self.max_features == Some(0) {
            return Err(FitError::MaxFeatures);
        }
        Ok(())
    }
}
