//! Masked-language-model head: hidden states to logits of the vocabulary, and SPLADE's pooling.

use std::iter::{Copied, StepBy};
use std::path::Path;
use std::slice::Iter;

use serde_json::{Map, Value};

use crate::activation::Activation;
use crate::error::ModelError;
use crate::head_layers::{HeadLayerNorm, HeadLinear, LayerName, named_tensors};
use crate::kernels::elementwise::add_layer_norm;
use crate::kernels::matrix::{PackedMatrix, StridedRows};
use crate::model_folder::{
    NamedTensor, TensorSource, TransformerConfig, WeightFile, base_folder, read_json,
};
use crate::transformer::{ModelWeights, encoder_prefix, norm_suffixes};

/// Columns of the vocabulary that are computed at once for all tokens of a text.
const BLOCK_COLUMNS: usize = 512;

/// Names of the tensors of a head, without `.weight` and `.bias`.
struct HeadNames {
    dense: &'static str,
    norm: &'static str,
    decoder: &'static str,
    /// Names of the bias of the logits: of a decoder with tied weights, and of another one. With
    /// tied weights, a file has one or two equal ones.
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

/// Weights of a masked-language-model head.
#[derive(Debug, Clone)]
pub(crate) struct MaskedLmLayers {
    pub(crate) dense: HeadLinear,
    pub(crate) activation: Activation,
    pub(crate) norm: HeadLayerNorm,
    /// `[vocabulary, hidden_size]`. `None`: the token embeddings of the transformer (tied weights).
    pub(crate) decoder: Option<NamedValues>,
    /// `[vocabulary]`.
    pub(crate) bias: Option<NamedValues>,
}

/// Name and elements of a tensor.
#[derive(Debug, Clone)]
pub(crate) struct NamedValues {
    name: String,
    pub(crate) values: Vec<f32>,
}

/// Masked-language-model head, packed for the CPU.
#[derive(Debug)]
pub(crate) struct MaskedLmHead {
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

/// Logit that the weight of a component depends on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ActiveLogit {
    pub(crate) component: u32,
    /// Position of the token in its text.
    pub(crate) token: u32,
    /// Derivative of the weight with respect to the logit.
    pub(crate) derivative: f32,
}

/// Logits of a component at the tokens of a text.
type TokenLogits<'a> = Copied<StepBy<Iter<'a, f32>>>;

/// Pooling of the logits of the tokens of a text, after `ln(1 + max(x, 0))`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SpladePooling {
    pub(super) sums: bool,
    /// If `true`, the logarithm is applied twice.
    pub(super) twice: bool,
}

impl MaskedLmLayers {
    /// Reads the head of a model. The logits are products with the token embeddings, unless
    /// `tie_word_embeddings` is false.
    pub(crate) fn load(
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
        let [dense, norm] = [names.dense, names.norm].map(LayerName::new);
        let has_bias = has(&format!("{}.bias", names.dense));
        let [scale, shift] = norm_suffixes(shape, weights);
        let shift = format!("{}.{shift}", names.norm);
        let shift = has(&shift).then(|| weights.take(&shift, &[hidden]));
        let is_tied = config.get("tie_word_embeddings") != Some(&Value::Bool(false));
        let decoder = (!is_tied).then(|| {
            let name = format!("{}.weight", names.decoder);
            let values = weights.take(&name, &[vocabulary, hidden])?;
            Ok::<_, ModelError>(NamedValues { name, values })
        });
        let mut biases = names.bias;
        if !is_tied {
            biases.reverse();
        }
        let bias = biases.iter().find(|name| has(name));
        let bias = bias.map(|name| {
            let values = weights.take(name, &[vocabulary])?;
            let name = biases[0].to_owned();
            Ok::<_, ModelError>(NamedValues { name, values })
        });
        Ok(Self {
            dense: HeadLinear::load(weights, dense, "", [hidden, hidden], has_bias)?,
            activation: names.activation(&path, &config, shape)?,
            norm: HeadLayerNorm {
                name: norm,
                scale: weights.take(&format!("{}.{scale}", names.norm), &[hidden])?,
                shift: shift.transpose()?,
                epsilon: shape.layer_norm_eps,
            },
            decoder: decoder.transpose()?,
            bias: bias.transpose()?,
        })
    }

    /// All weights, with the names of transformers.
    pub(crate) fn named_tensors(&self) -> Vec<NamedTensor> {
        let mut weights = self.transform_weights();
        let width = self.dense.inputs;
        if let Some(NamedValues { name, values }) = &self.decoder {
            let rows = values.len() / width.max(1);
            weights.push((name.clone(), vec![rows, width], values));
        }
        if let Some(NamedValues { name, values }) = &self.bias {
            weights.push((name.clone(), vec![values.len()], values));
        }
        named_tensors(weights)
    }

    /// Weights of the layers before the decoder, the first ones of [`Self::named_tensors`].
    pub(crate) fn transform_tensors(&self) -> Vec<NamedTensor> {
        named_tensors(self.transform_weights())
    }

    fn transform_weights(&self) -> Vec<(String, Vec<usize>, &[f32])> {
        let mut weights = Vec::new();
        self.dense.add_weights("", &mut weights);
        self.norm.add_weights("", &mut weights);
        weights
    }

    /// Elements of a tensor of [`Self::named_tensors`]; `None` if there is none of this name.
    pub(crate) fn elements_mut(&mut self, name: &str) -> Option<&mut Vec<f32>> {
        let own = [&mut self.decoder, &mut self.bias].into_iter().flatten();
        let own = own.filter(|it| it.name == name).map(|it| &mut it.values);
        let layers = self.dense.elements_mut(name);
        let layers = layers.or_else(|| self.norm.elements_mut(name));
        own.chain(layers).next()
    }
}

impl MaskedLmHead {
    /// Packs a head, with the token embeddings of a model if it ties them.
    pub(super) fn load(layers: &MaskedLmLayers, model: &ModelWeights) -> Result<Self, ModelError> {
        let ModelWeights::File { file, config, .. } = model else {
            return Ok(Self::new(layers, &model.transformer()?.token_table()));
        };
        if layers.decoder.is_some() {
            return Ok(Self::new(layers, &[]));
        }
        let prefix = encoder_prefix(config, &**file);
        let tokens = config.architecture.definition().names[0].tokens;
        let name = format!("{prefix}{tokens}.weight");
        let table = file.tensor(&name, &[config.vocab_size, config.hidden_size])?;
        let head = Self::new(layers, &table);
        table.release();
        Ok(head)
    }

    /// Packs a head. `table`: the token embeddings of the transformer, for tied weights.
    pub(crate) fn new(layers: &MaskedLmLayers, table: &[f32]) -> Self {
        let hidden = layers.dense.inputs;
        let decoder = layers.decoder.as_ref().map_or(table, |it| &it.values);
        let vocabulary = decoder.len() / hidden.max(1);
        let bias = layers.bias.as_ref().map(|it| it.values.clone());
        let shift = layers.norm.shift.clone();
        Self {
            dense: packed_columns(&layers.dense.weight, hidden, hidden),
            dense_bias: layers.dense.bias.clone(),
            activation: layers.activation,
            norm_scale: layers.norm.scale.clone(),
            norm_shift: shift.unwrap_or_else(|| vec![0.0; hidden]),
            epsilon: layers.norm.epsilon as f32,
            decoder: packed_columns(decoder, hidden, vocabulary),
            bias: bias.unwrap_or_else(|| vec![0.0; vocabulary]),
        }
    }

    /// Returns the positive weights of a text, in the order of the vocabulary.
    ///
    /// # Shapes
    /// `states`: `[tokens, hidden_size]`.
    pub(super) fn weights(&self, states: &[f32], pooling: SpladePooling) -> Vec<(u32, f32)> {
        let mut found = Vec::new();
        self.for_each_component(&self.transform(states), |component, logits| {
            let weight = pooling.pool(logits);
            // NaN is kept, and reported.
            if weight != 0.0 {
                found.push((component, weight));
            }
        });
        found
    }

    /// Writes the weights of a text to `weights`, which are 0, and returns the logits that they
    /// depend on, in the order of the vocabulary.
    ///
    /// # Shapes
    /// `rows`: `[tokens, hidden_size]`, of [`Self::transform`]; `weights`: `[vocabulary]`.
    pub(crate) fn active_logits(
        &self,
        rows: &[f32],
        pooling: SpladePooling,
        weights: &mut [f32],
    ) -> Vec<ActiveLogit> {
        let mut active = Vec::new();
        self.for_each_component(rows, |component, logits| {
            let weight = pooling.pool(logits.clone());
            if weight == 0.0 {
                return;
            }
            weights[component as usize] = weight;
            active.extend(
                pooling
                    .active(logits)
                    .map(|(token, derivative)| ActiveLogit {
                        component,
                        token: token as u32,
                        derivative,
                    }),
            );
        });
        active
    }

    /// Inputs of the decoder: linear layer, activation function and normalization.
    ///
    /// # Shapes
    /// `states` and result: `[tokens, hidden_size]`.
    pub(crate) fn transform(&self, states: &[f32]) -> Vec<f32> {
        let hidden = self.norm_scale.len();
        let mut rows = vec![0.0; states.len()];
        if states.is_empty() {
            return rows;
        }
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
        rows
    }

    /// Calls `visit` with every component of the vocabulary and its logits at the tokens of a text,
    /// by the result of [`Self::transform`]. Without tokens, there are no calls.
    fn for_each_component(&self, rows: &[f32], mut visit: impl FnMut(u32, TokenLogits<'_>)) {
        let (hidden, vocabulary) = (self.norm_scale.len(), self.bias.len());
        let tokens = rows.len() / hidden.max(1);
        if tokens == 0 {
            return;
        }
        let block = PackedMatrix::padded(BLOCK_COLUMNS);
        let mut logits = vec![0.0; tokens * block];
        for first in (0..vocabulary).step_by(block) {
            let columns = first..vocabulary.min(first + block);
            let width = columns.len();
            self.decoder.columns_of_product(
                StridedRows::new(rows, hidden),
                columns.clone(),
                Some(&self.bias),
                None,
                (&mut logits, width),
            );
            let logits = &logits[..tokens * width];
            for (at, column) in columns.enumerate() {
                visit(column as u32, logits[at..].iter().step_by(width).copied());
            }
        }
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
    /// Text that identifies the function, for checkpoints.
    pub(crate) fn identity(self) -> String {
        format!("{self:?}")
    }

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

    /// Logits that a weight depends on: the first maximum, or all that are summed, if they are
    /// above 0. Pairs of the position in the text and the derivative of the weight.
    fn active(
        self,
        logits: impl Iterator<Item = f32> + Clone,
    ) -> impl Iterator<Item = (usize, f32)> {
        let max = (!self.sums).then(|| logits.clone().fold(0.0, f32::max));
        let mut found = false;
        let chosen = logits.enumerate().filter(move |(_, x)| {
            let chosen = *x > 0.0 && (max.is_none() || max == Some(*x) && !found);
            found |= chosen;
            chosen
        });
        let derivative = move |x: f32| {
            let outer = if self.twice { 1.0 + x.ln_1p() } else { 1.0 };
            1.0 / ((1.0 + x) * outer)
        };
        chosen.map(move |(token, x)| (token, derivative(x)))
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
