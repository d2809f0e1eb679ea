//! What the score of a query and a document is.

use serde::{Deserialize, Serialize};

/// The score of a query and a document.
///
/// ```
/// use ir_dense::{Similarity, train::TrainingConfig};
/// assert_eq!(TrainingConfig::small_data().similarity, Similarity::Cosine);
/// assert_eq!(TrainingConfig::datafinder().similarity, Similarity::Dot);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Similarity {
    /// The inner product of the vectors.
    Dot,
    /// The cosine of the angle between them.
    Cosine,
}

impl Similarity {
    /// What sentence-transformers calls it, `similarity_fn_name`.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Dot => "dot",
            Self::Cosine => "cosine",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            // The second is what its function is called, which some files have.
            "dot" | "dot_score" => Some(Self::Dot),
            "cosine" | "cos_sim" => Some(Self::Cosine),
            _ => None,
        }
    }
}
