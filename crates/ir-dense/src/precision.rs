//! Number format of the linear layers.
//!
//! In int8, the inputs of queries, keys and values have 12 bits. Rounding to 8 bits is the largest
//! error of a vector, and the rounding of these inputs, the outputs of a normalization, is its
//! largest part. 12 bits are two 8-bit products with the kernels and weights of the others.
//! Channels with outliers are f32 for the same reason.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Number format of the factors of a transformer's matrix products in inference on the CPU: of the
/// linear layers and, in [`Precision::Bf16`] with the layers of BERT, RoBERTa, DistilBERT and
/// MPNet, of attention. Embeddings, softmax, activation functions, normalization and pooling are
/// f32 in every precision.
///
/// Vectors of every precision have the same bytes in any batch and on any number of threads.
/// `docs/encoding.md` has rates and differences to f32.
///
/// ```
/// use ir_dense::{Precision, UnknownPrecision};
/// assert_eq!("int8".parse::<Precision>()?, Precision::Int8);
/// assert_eq!(Precision::default().to_string(), "f32");
/// # Ok::<(), UnknownPrecision>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Precision {
    /// Single precision, IEEE 754 binary32.
    #[default]
    F32,
    /// bfloat16: 8 bits of precision, with the range of f32; sums are f32. `vdpbf16ps` computes
    /// it on CPUs that have it (`avx512_bf16`); others compute the same bits without it, slower
    /// than f32.
    Bf16,
    /// 8-bit integers with integer sums. Weights are quantized symmetrically per output channel
    /// when the model is opened, inputs asymmetrically per token. Inputs of the query, key and
    /// value projections have 12 bits (8 if there are more than 4,096 inputs). No calibration data
    /// is needed.
    ///
    /// Output channels with weights that do not fit 8 bits are f32
    /// ([`BiEncoder::outlier_channels`](crate::BiEncoder::outlier_channels)). `vpdpbusd` computes
    /// it on CPUs that have it (`avx512_vnni`, `avx_vnni`); others compute the same sums without
    /// it.
    Int8,
}

impl Precision {
    /// Every precision, the most exact one first.
    pub const ALL: [Self; 3] = [Self::F32, Self::Bf16, Self::Int8];

    /// Name in files and options.
    pub const fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::Bf16 => "bf16",
            Self::Int8 => "int8",
        }
    }

    /// Version of the arithmetic, to be increased with every change of the bytes of vectors; see
    /// [`EncoderFingerprint::arithmetic`](crate::EncoderFingerprint::arithmetic).
    pub(crate) const fn arithmetic(self) -> u32 {
        match self {
            Self::F32 => 0,
            // 1: GELU by a rational function; inputs of 12 bits in int8.
            Self::Bf16 | Self::Int8 => 1,
        }
    }

    /// Returns `true` for [`Precision::F32`], which files do not record.
    pub(crate) fn is_f32(&self) -> bool {
        *self == Self::F32
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Precision {
    type Err = UnknownPrecision;

    fn from_str(text: &str) -> Result<Self, UnknownPrecision> {
        let found = Self::ALL.into_iter().find(|it| it.name() == text);
        found.ok_or_else(|| UnknownPrecision { found: text.into() })
    }
}

/// No precision has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown precision {found:?}: expected f32, bf16 or int8")]
pub struct UnknownPrecision {
    /// Name that no precision has.
    pub found: String,
}

/// Output channels of a linear layer that are f32 in an encoder of precision [`Precision::Int8`]:
/// the largest of their weights is more than 16 times the root mean square, or so small that its
/// scale is subnormal.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutlierChannels {
    /// Name of the linear layer, such as `layers.3.down`; see
    /// [`TransformerLayer`](crate::TransformerLayer).
    pub layer: String,
    /// The output channels, in ascending order.
    pub channels: Vec<usize>,
    /// Number of output channels of the linear layer.
    pub total: usize,
}
