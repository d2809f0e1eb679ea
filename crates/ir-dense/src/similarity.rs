//! Similarity function of an encoder.

use serde::{Deserialize, Serialize};

/// Function that scores a query vector against a document vector; `similarity_fn_name` of
/// sentence-transformers.
///
/// ```
/// use ir_dense::{SimilarityFunction, train::TrainingConfig};
/// assert_eq!(TrainingConfig::small_data().similarity, SimilarityFunction::Cosine);
/// assert_eq!(TrainingConfig::datafinder().similarity, SimilarityFunction::Dot);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SimilarityFunction {
    /// Inner product of the vectors.
    Dot,
    /// Cosine of the angle between the vectors.
    Cosine,
}

impl SimilarityFunction {
    /// Name in `config_sentence_transformers.json`.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Dot => "dot",
            Self::Cosine => "cosine",
        }
    }

    /// Parses a name of `config_sentence_transformers.json`; `None` for an unknown name.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        match name {
            // Some files have the name of the Python function.
            "dot" | "dot_score" => Some(Self::Dot),
            "cosine" | "cos_sim" => Some(Self::Cosine),
            _ => None,
        }
    }
}
