//! Encodings of token vectors.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Encoding of the vectors of a token store.
///
/// | encoding | bytes per vector of n dimensions | decoded value |
/// |---|---|---|
/// | `f32` | 4n | the value |
/// | `f16` | 2n | the nearest half-precision value |
/// | `int8` | n + 4 | code × scale, with scale = largest absolute value of the vector / 127 |
/// | `residual4`, `residual2` | ⌈n/2⌉ + 4, ⌈n/4⌉ + 4 | centroid + bucket weights, normalized |
///
/// Decoding is exact: the same bytes give the same values on every CPU.
///
/// # Source
/// Residuals: Santhanam, Khattab, Saad-Falcon, Potts and Zaharia, "ColBERTv2: Effective and
/// Efficient Retrieval via Lightweight Late Interaction", NAACL 2022.
///
/// ```
/// use ir_knn::TokenEncoding;
/// assert_eq!(TokenEncoding::Residual2.vector_bytes(128), 36);
/// assert_eq!(TokenEncoding::Residual2.to_string(), "residual2");
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum TokenEncoding {
    /// Single precision, without loss.
    F32,
    /// Half precision. The default.
    #[default]
    F16,
    /// 8-bit codes with a scale per vector.
    Int8,
    /// Nearest centroid and 4-bit codes of the residual. For vectors of unit length.
    Residual4,
    /// Nearest centroid and 2-bit codes of the residual. For vectors of unit length.
    Residual2,
}

impl TokenEncoding {
    /// All encodings, the most precise first.
    pub const ALL: [Self; 5] = [
        Self::F32,
        Self::F16,
        Self::Int8,
        Self::Residual4,
        Self::Residual2,
    ];

    /// Returns the size in bytes of an encoded vector.
    #[must_use]
    pub const fn vector_bytes(self, dim: usize) -> usize {
        match self {
            Self::F32 => 4 * dim,
            Self::F16 => 2 * dim,
            Self::Int8 => dim + 4,
            Self::Residual4 => dim.div_ceil(2) + 4,
            Self::Residual2 => dim.div_ceil(4) + 4,
        }
    }

    /// Returns `true` if vectors are residuals of centroids, so that a store needs a
    /// [`TokenCodebook`](crate::TokenCodebook).
    #[must_use]
    pub const fn needs_codebook(self) -> bool {
        matches!(self, Self::Residual4 | Self::Residual2)
    }
}

impl fmt::Display for TokenEncoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Int8 => "int8",
            Self::Residual4 => "residual4",
            Self::Residual2 => "residual2",
        })
    }
}
