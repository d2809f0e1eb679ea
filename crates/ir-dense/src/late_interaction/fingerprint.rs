//! Fingerprint of a multi-vector encoder, to be stored with its vectors.

use ir_core::{Fnv1a, Side};
use serde::{Deserialize, Serialize};

use super::MultiVectorEncoder;
use crate::encode::fingerprint::{description, is_zero, model_checksum};
use crate::precision::Precision;

/// What determines the document vectors of a [`MultiVectorEncoder`], besides text and backend.
///
/// Stored with document vectors, it identifies at search time an encoder that does not fit them.
/// Queries fit if `model`, `precision` and `arithmetic` are equal.
///
/// ```
/// use ir_dense::MultiVectorFingerprint;
/// let text = r#"{"model": "1a2b3c4d", "prefix": "[D] ", "max_tokens": 300, "mask": "0"}"#;
/// let found: MultiVectorFingerprint = serde_json::from_str(text)?;
/// assert_eq!(found.max_tokens, 300);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MultiVectorFingerprint {
    /// CRC-32 of architecture, tokenizer, all weights as f32, projections, truncation and
    /// normalization, in hexadecimal. Equal for equal weights in another file format.
    pub model: String,
    /// Number format of the linear layers. Not written if it is f32.
    #[serde(default, skip_serializing_if = "Precision::is_f32")]
    pub precision: Precision,
    /// Version of the arithmetic of [`Precision::Bf16`] and [`Precision::Int8`], which changes with
    /// their vectors. 0 and not written for [`Precision::F32`].
    #[serde(default, skip_serializing_if = "is_zero")]
    pub arithmetic: u32,
    /// Prefix of every document.
    pub prefix: String,
    /// Maximum sequence length of documents in tokens.
    pub max_tokens: usize,
    /// Hash of the ids of document tokens without a vector, in hexadecimal; 0 if all tokens have
    /// one.
    pub mask: String,
}

impl MultiVectorEncoder {
    /// Returns the fingerprint of document vectors. On backends other than the CPU, reads all
    /// weights.
    #[must_use]
    pub fn document_fingerprint(&self) -> MultiVectorFingerprint {
        let (tower, side) = (self.tower(), Side::Document);
        let described = description(tower);
        let described = format!("{described}tokens normalize {}", tower.normalize);
        let precision = self.config().precision;
        MultiVectorFingerprint {
            model: format!("{:08x}", model_checksum(self.inference_model(), &described)),
            precision,
            arithmetic: precision.arithmetic(),
            prefix: tower.prefix(side, self.config().side(side)).to_owned(),
            max_tokens: self.max_tokens(side),
            mask: self.mask_hash(),
        }
    }

    fn mask_hash(&self) -> String {
        let mask = &self.rules().mask;
        let (skipped, kept) = (mask.skipped(Side::Document), mask.kept());
        if skipped.is_empty() && kept.is_empty() {
            return "0".to_owned();
        }
        let mut hash = Fnv1a::new();
        hash.write(format!("{skipped:?}{kept:?}").as_bytes());
        format!("{:016x}", hash.finish())
    }
}
