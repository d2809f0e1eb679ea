//! Fingerprint of a cross-encoder, for caches of its scores.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{CrossEncoder, Windows};
use crate::activation::Activation;
use crate::encode::fingerprint::model_checksum;
use crate::precision::Precision;

/// What determines the scores of a [`CrossEncoder`], besides texts and backend.
///
/// ```
/// use ir_dense::{CrossEncoderFingerprint, Windows};
/// let text = r#"{"model": "1a2b3c4d", "prompt": "", "max_tokens": 512, "windows": "first",
///     "activation": "sigmoid"}"#;
/// let found: CrossEncoderFingerprint = serde_json::from_str(text)?;
/// assert_eq!((found.windows, found.stride), (Windows::First, None));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CrossEncoderFingerprint {
    /// CRC-32 of architecture, tokenizer, form of the pairs, head, and all weights as f32, in
    /// hexadecimal. Equal for equal weights in another file format.
    pub model: String,
    /// Number format of the linear layers. Not written if it is f32.
    #[serde(default, skip_serializing_if = "Precision::is_f32")]
    pub precision: Precision,
    /// Version of the arithmetic of [`Precision::Bf16`] and [`Precision::Int8`]; 0 for f32.
    #[serde(default)]
    pub arithmetic: u32,
    /// Prompt, which precedes every query.
    pub prompt: String,
    /// Maximum sequence length in tokens.
    pub max_tokens: usize,
    /// Windows of long documents.
    pub windows: Windows,
    /// Number of tokens that windows share; `None` for a third of the window.
    pub stride: Option<usize>,
    /// Activation function of the scores.
    pub activation: Activation,
}

impl CrossEncoder {
    /// Returns the fingerprint. On backends other than the CPU, reads all weights.
    pub fn fingerprint(&self) -> CrossEncoderFingerprint {
        let precision = self.config.precision;
        CrossEncoderFingerprint {
            model: format!("{:08x}", self.checksum()),
            precision,
            arithmetic: precision.arithmetic(),
            prompt: self.prompt().to_owned(),
            max_tokens: self.max_tokens(),
            windows: self.pairs.windows,
            stride: self
                .pairs
                .stride
                .filter(|_| self.pairs.windows != Windows::First),
            activation: self.activation,
        }
    }

    fn checksum(&self) -> u32 {
        let described = json!({
            "transformer": self.weights.config().identity(),
            "tokenizer": self.tokenizer.identity(),
            "pairs": self.pairs.identity(),
            "head": format!("{:016x}", self.head.hash()),
        });
        let described = described.to_string();
        let model = self.inference.as_deref();
        model.map_or(0, |model| model_checksum(model, &described))
    }
}
