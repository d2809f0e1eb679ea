//! Masked-language-model head: hidden states to logits of the vocabulary, and SPLADE's pooling.

use std::path::Path;

use serde_json::{Map, Value};

use crate::activation::Activation;
use crate::error::ModelError;
use crate::kernels::elementwise::add_layer_norm;
use crate::kernels::matrix::{PackedMatrix, StridedRows};
use crate::model_folder::{TensorSource, TransformerConfig, WeightFile, base_folder, read_json};
use crate::transformer::{encoder_prefix, norm_suffixes};

/// Columns of the vocabulary that are computed at once for all tokens of a text.
const BLOCK_COLUMNS: usize = 512;

/// Names of the tensors of a head, without `.weight` and `.bias`.
struct HeadNames {
    dense: &'static str,
    norm: &'static str,
    decoder: &'static str,
    /// Names of the bias of the logits, of which a file has one or two equal ones.
    bias: [&'static str; 2],
    activation: HeadActivation,
}

/// Activation function of a head.
#[derive(Clone, Copy)]
enum HeadActivation {
    /// Activation function of the layers of the transformer.
    Hidden,
    Gelu,
    /// Value of a field of `config.json`; GELU without it.
    Field(&'static str),
}

/// Heads of BERT, DistilBERT, RoBERTa, and ModernBERT, and of what shares their layout.
const HEADS: [HeadNames; 4] = [
    HeadNames {
        dense: "cls.predictions.transform.dense",
        norm: "cls.predictions.transform.LayerNorm",
        decoder: "cls.predictions.decoder",
        bias: ["cls.predictions.bias", "cls.predictions.decoder.bias"],
        activation: HeadActivation::Hidden,
    },
    HeadNames {
        dense: "vocab_transform",
        norm: "vocab_layer_norm",
        decoder: "vocab_projector",
        bias: ["vocab_projector.bias", "vocab_projector.bias"],
        activation: HeadActivation::Hidden,
    },
    HeadNames {
        dense: "lm_head.dense",
        norm: "lm_head.layer_norm",
        decoder: "lm_head.decoder",
        bias: ["lm_head.bias", "lm_head.decoder.bias"],
        activation: HeadActivation::Gelu,
    },
    HeadNames {
        dense: "head.dense",
        norm: "head.norm",
        decoder: "decoder",
        bias: ["decoder.bias", "decoder.bias"],
        activation: HeadActivation::Field("classifier_activation"),
    },
];

/// Weights of a masked-language-model head, packed for the CPU.
#[derive(Debug)]
pub(super) struct MaskedLmHead {
    dense: PackedMatrix,
    dense_bias: Option<Vec<f32>>,
    activation: Activation,
    norm_scale: Vec<f32>,
    norm_shift: Vec<f32>,
    epsilon: f32,
    /// `[hidden, vocabulary]`.
    decoder: PackedMatrix,
    bias: Vec<f32>,
}

/// Pooling of the logits of the tokens of a text, after `ln(1 + max(x, 0))`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct SpladePooling {
    pub(super) sums: bool,
    /// If `true`, the logarithm is applied twice.
    pub(super) twice: bool,
}

impl MaskedLmHead {
    /// Reads the head of a model. The logits are products with the token embeddings, unless
    /// `tie_word_embeddings` is false.
    pub(super) fn load(
        folder: &Path,
        shape: &TransformerConfig,
        weights: &WeightFile,
    ) -> Result<Self, ModelError> {
        let all = weights.names();
        let has = |name: &str| all.iter().any(|it| it == name);
        let has_dense = |names: &&HeadNames| has(&format!("{}.weight", names.dense));
        let Some(names) = HEADS.iter().find(has_dense) else {
            let expected: Vec<&str> = HEADS.iter().map(|names| names.dense).collect();
            let expected = format!(
                "the head of a masked language model, one of the tensors {}.weight",
                expected.join(".weight, ")
            );
            return Err(ModelError::setting(
                weights.path(),
                "tensors",
                expected,
                "none",
            ));
        };
        let (hidden, vocabulary) = (shape.hidden_size, shape.vocab_size);
        let path = base_folder(folder)?.join("config.json");
        let config = read_json::<Map<String, Value>>(&path)?.unwrap_or_default();
        let dense = weights.take(&format!("{}.weight", names.dense), &[hidden, hidden])?;
        let optional = |name: String, size: usize| {
            let values = has(&name).then(|| weights.take(&name, &[size]));
            values.transpose()
        };
        let [scale, shift] = norm_suffixes(shape, weights);
        let norm_shift = optional(format!("{}.{shift}", names.norm), hidden)?;
        let is_tied = config.get("tie_word_embeddings") != Some(&Value::Bool(false));
        let decoder = if is_tied {
            let prefix = encoder_prefix(shape, weights);
            let tokens = shape.architecture.definition().names[0].tokens;
            format!("{prefix}{tokens}.weight")
        } else {
            format!("{}.weight", names.decoder)
        };
        let table = weights.tensor(&decoder, &[vocabulary, hidden])?;
        let decoder = packed_columns(&table, hidden, vocabulary);
        table.release();
        let bias = names.bias.iter().find(|name| has(name));
        let bias = bias.map(|name| weights.take(name, &[vocabulary]));
        Ok(Self {
            dense: packed_columns(&dense, hidden, hidden),
            dense_bias: optional(format!("{}.bias", names.dense), hidden)?,
            activation: names.activation(&path, &config, shape)?,
            norm_scale: weights.take(&format!("{}.{scale}", names.norm), &[hidden])?,
            norm_shift: norm_shift.unwrap_or_else(|| vec![0.0; hidden]),
            epsilon: shape.layer_norm_eps as f32,
            decoder,
            bias: bias.transpose()?.unwrap_or_else(|| vec![0.0; vocabulary]),
        })
    }

    /// Returns the positive weights of a text, in the order of the vocabulary.
    ///
    /// # Shapes
    /// `states`: `[tokens, hidden_size]`.
    pub(super) fn weights(&self, states: &[f32], pooling: SpladePooling) -> Vec<(u32, f32)> {
        let (hidden, vocabulary) = (self.norm_scale.len(), self.bias.len());
        let tokens = states.len() / hidden.max(1);
        if tokens == 0 {
            return Vec::new();
        }
        let mut rows = vec![0.0; states.len()];
        self.dense.columns_of_product(
            StridedRows::new(states, hidden),
            0..hidden,
            self.dense_bias.as_deref(),
            Some(self.activation),
            (&mut rows, hidden),
        );
        add_layer_norm(
            &mut rows,
            &[],
            &self.norm_scale,
            &self.norm_shift,
            self.epsilon,
        );
        let block = PackedMatrix::padded(BLOCK_COLUMNS);
        let mut logits = vec![0.0; tokens * block];
        let mut found = Vec::new();
        for first in (0..vocabulary).step_by(block) {
            let columns = first..vocabulary.min(first + block);
            let width = columns.len();
            self.decoder.columns_of_product(
                StridedRows::new(&rows, hidden),
                columns.clone(),
                Some(&self.bias),
                None,
                (&mut logits, width),
            );
            let logits = &logits[..tokens * width];
            for (at, column) in columns.enumerate() {
                let of_token = logits[at..].iter().step_by(width).copied();
                let weight = pooling.pool(of_token);
                // NaN is kept, and reported.
                if weight != 0.0 {
                    found.push((column as u32, weight));
                }
            }
        }
        found
    }
}

impl HeadNames {
    fn activation(
        &self,
        path: &Path,
        config: &Map<String, Value>,
        shape: &TransformerConfig,
    ) -> Result<Activation, ModelError> {
        let field = match self.activation {
            HeadActivation::Hidden => return Ok(shape.activation),
            HeadActivation::Gelu => return Ok(Activation::Gelu),
            HeadActivation::Field(field) => field,
        };
        match config.get(field) {
            None => Ok(Activation::Gelu),
            Some(found) => {
                let known = found.as_str().and_then(Activation::from_transformers);
                known.ok_or_else(|| ModelError::setting(path, field, Activation::expected(), found))
            }
        }
    }
}

impl SpladePooling {
    /// Weight of a token of the vocabulary by its logits at the tokens of a text.
    fn pool(self, logits: impl Iterator<Item = f32>) -> f32 {
        let log = |x: f32| {
            let once = x.ln_1p();
            if self.twice { once.ln_1p() } else { once }
        };
        if self.sums {
            return logits.map(|x| log(positive(x))).sum();
        }
        // The logarithm is monotone.
        log(logits.fold(0.0, |max, x| if x > max || x.is_nan() { x } else { max }))
    }
}

/// `max(x, 0)`, and NaN of NaN.
fn positive(x: f32) -> f32 {
    if x <= 0.0 { 0.0 } else { x }
}

/// Packs the transpose of `[to, from]`.
fn packed_columns(values: &[f32], from: usize, to: usize) -> PackedMatrix {
    let mut packed = PackedMatrix::default();
    packed.fill_by_columns(from, to, to, |column| &values[column * from..][..from]);
    packed
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ln 3 = 1.0986, 2 ln 2 = 1.3863, ln(1 + ln 2) = .5266.
    #[test]
    fn weights_are_logarithms_of_positive_logits() {
        let pool = |sums, twice, logits: &[f32]| {
            let pooling = SpladePooling { sums, twice };
            let weight = pooling.pool(logits.iter().copied());
            (weight * 1e4).round() / 1e4
        };
        assert_eq!(pool(false, false, &[-3.0, 2.0, 0.5]), 1.0986);
        assert_eq!(pool(true, false, &[-3.0, 1.0, 1.0]), 1.3863);
        assert_eq!(pool(false, true, &[1.0]), 0.5266);
        assert_eq!(pool(true, true, &[1.0, 1.0]), 1.0532);
        for sums in [false, true] {
            assert_eq!(pool(sums, false, &[-1.0, -0.0, 0.0]), 0.0);
            assert!(pool(sums, false, &[1.0, f32::NAN, -1.0]).is_nan());
        }
    }
}
