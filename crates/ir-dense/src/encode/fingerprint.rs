//! Fingerprint of an encoder, to be stored with its vectors.
//!
//! Vectors of another model or pooling give plausible rankings, so that a vector file records its
//! encoder. `ir encode` stores the fingerprint as user metadata of the index, and `ir search`
//! compares it. Weights are hashed in memory: a converted file of the same model matches.

use ir_core::Side;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{BiEncoder, PoolingModes, SideConfig, Tower};
use crate::model_folder::safetensors::checksum;
use crate::precision::Precision;
use crate::transformer::InferenceModel;

/// What determines the vectors of one side of a [`BiEncoder`], besides text and backend.
///
/// Stored with document vectors, it identifies at search time an encoder that does not fit them.
/// Query encoder and document encoder fit if `model`, `precision`, `arithmetic`, `pooling` and
/// `normalize` of their document sides are equal.
///
/// ```
/// use ir_dense::EncoderFingerprint;
/// let text = r#"{"model": "1a2b3c4d", "pooling": "mean", "normalize": true, "prefix": "",
///     "max_tokens": 256}"#;
/// let found: EncoderFingerprint = serde_json::from_str(text)?;
/// assert_eq!(found.max_tokens, 256);
/// assert_eq!(found.precision, ir_dense::Precision::F32);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EncoderFingerprint {
    /// CRC-32 of architecture, tokenizer, all weights as f32, modules after pooling, truncation and
    /// `include_prompt`, in hexadecimal. Equal for equal weights in another file format.
    pub model: String,
    /// Number format of the linear layers. Not written if it is f32.
    #[serde(default, skip_serializing_if = "Precision::is_f32")]
    pub precision: Precision,
    /// Version of the arithmetic of [`Precision::Bf16`] and [`Precision::Int8`], which changes with
    /// their vectors. 0 and not written for [`Precision::F32`]; 0 in records of earlier versions.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub arithmetic: u32,
    /// Pooling of token vectors.
    pub pooling: PoolingModes,
    /// If `true`, vectors are L2-normalized.
    pub normalize: bool,
    /// Prefix of every text.
    pub prefix: String,
    /// Maximum sequence length in tokens.
    pub max_tokens: usize,
}

/// Returns `true` for the arithmetic of f32, which files do not record.
pub(crate) fn is_zero(version: &u32) -> bool {
    *version == 0
}

impl BiEncoder {
    /// Returns the fingerprint of a side. On backends other than the CPU, reads all weights.
    pub fn fingerprint(&self, side: Side) -> EncoderFingerprint {
        let (tower, config) = (self.tower(side), self.config().side(side));
        EncoderFingerprint {
            model: format!("{:08x}", self.model_checksum(side)),
            precision: self.config().precision,
            arithmetic: self.config().precision.arithmetic(),
            pooling: tower.pooling.clone(),
            normalize: tower.normalize,
            prefix: tower.prefix(side, config).to_owned(),
            max_tokens: tower.limit(side, config),
        }
    }

    fn model_checksum(&self, side: Side) -> u32 {
        let described = description(self.tower(side));
        model_checksum(self.inference_model(side), &described)
    }
}

/// CRC-32 of a text and all weights as f32.
pub(crate) fn model_checksum(model: &InferenceModel, described: &str) -> u32 {
    match model {
        InferenceModel::Cpu(model) => model.checksum().with_text(described),
        // Tensors in memory cannot fail to be read.
        InferenceModel::Module(model) => {
            checksum(described, &model.parameters()).unwrap_or_default()
        }
    }
}

/// Text that identifies configuration and tokenizer in the checksum of a model.
pub(crate) fn description(tower: &Tower) -> String {
    let config = serde_json::to_string(tower.config()).unwrap_or_default();
    let tokenizer = tower.tokenizer.identity();
    let modules = tower.modules.hash();
    let modules = modules.map_or(String::new(), |hash| format!("modules {hash:016x}"));
    let prompt = if tower.include_prompt {
        ""
    } else {
        "without prompt"
    };
    format!("{config}{tokenizer}{modules}{prompt}")
}

impl Tower {
    /// Returns what determines the vectors of a side besides weights, for checkpoints.
    pub(crate) fn identity(&self, side: Side, config: &SideConfig) -> Value {
        let mut identity = json!({
            "transformer": self.config().identity(),
            "tokenizer": self.tokenizer.identity(),
            "pooling": self.pooling,
            "modules": self.modules.hash().map(|hash| format!("{hash:016x}")),
            "normalize": self.normalize,
            "prompt": self.prefix(side, config),
            "max_tokens": self.limit(side, config),
        });
        if !self.include_prompt {
            identity["include_prompt"] = false.into();
        }
        identity
    }
}
