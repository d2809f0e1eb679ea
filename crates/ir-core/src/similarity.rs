//! Similarity of two vectors: cosine, inner product, Euclidean.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Similarity of two vectors: the score of a vector index. Higher is more similar.
///
/// The kNN methods of `ir-knn` rank by the corresponding distance: 1 − cosine, or the squared
/// Euclidean distance.
///
/// ```
/// use ir_core::VectorSimilarity;
/// let name = serde_json::to_string(&VectorSimilarity::InnerProduct)?;
/// assert_eq!(name, "\"inner-product\"");
/// assert_eq!(VectorSimilarity::default(), VectorSimilarity::InnerProduct);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VectorSimilarity {
    /// Inner product. Range: any number.
    #[default]
    InnerProduct,
    /// Cosine of the angle between the vectors. Range: −1 to 1. Undefined for zero vectors, which
    /// indexes reject.
    Cosine,
    /// Negative squared Euclidean distance. Range: ≤ 0.
    Euclidean,
}

impl fmt::Display for VectorSimilarity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InnerProduct => "inner product",
            Self::Cosine => "cosine",
            Self::Euclidean => "Euclidean",
        })
    }
}
