//! Tensor names of each architecture; conversion between weight files and [`Transformer`].

use burn::module::Param;
use burn::nn::{LayerNorm, LayerNormConfig, Linear};
use burn::tensor::{Device, Tensor, TensorData};

use super::{Transformer, TransformerLayer};
use crate::error::ModelError;
use crate::model_folder::{
    Architecture, NamedTensor, TensorSource, TensorValues, TransformerConfig,
};

impl Transformer {
    pub(crate) fn load(
        config: TransformerConfig,
        weights: &dyn TensorSource,
        device: &Device,
    ) -> Result<Self, ModelError> {
        let reader = WeightReader::new(&config, weights);
        let embeddings = reader.embeddings()?;
        let (hidden, epsilon) = (config.hidden_size, config.layer_norm_eps);
        let table = |values: TensorValues| {
            let values = values.into_vec();
            let rows = values.len() / hidden.max(1);
            parameter(values, [rows, hidden], device)
        };
        let norm = |norm: NormWeights| norm.into_module(epsilon, device);
        let layers = (0..config.layers).map(|number| {
            let layer = reader.layer(number)?;
            Ok(TransformerLayer {
                qkv: layer.qkv.into_module(device),
                output: layer.output.into_module(device),
                attention_norm: norm(layer.attention_norm),
                up: layer.up.into_module(device),
                down: layer.down.into_module(device),
                norm: norm(layer.norm),
                heads: config.heads,
                activation: config.activation,
            })
        });
        let heads = config.heads.max(1);
        Ok(Self {
            layers: layers.collect::<Result<_, ModelError>>()?,
            token_embeddings: table(embeddings.tokens),
            position_embeddings: table(embeddings.positions),
            token_type_embeddings: embeddings.types.map(table),
            relative_position_bias: embeddings.relative_position_bias.map(|values| {
                let rows = values.len() / heads;
                parameter(values, [rows, heads], device)
            }),
            embedding_norm: norm(embeddings.norm),
            config,
        })
    }

    /// Returns the weights under the names of the architecture, in PyTorch's layout: matrices as
    /// `[out, in]`, query, key and value projections separate.
    pub(crate) fn named_tensors(&self) -> Vec<NamedTensor> {
        // Names that current versions of transformers write.
        let names = TensorNames::new(self.config.architecture, &[]);
        let mut tensors = Vec::new();
        let mut matrix =
            |name: String, values: Tensor<2>| tensors.push(NamedTensor::new(name, values));
        let embeddings = |part: &str| format!("embeddings.{part}_embeddings.weight");
        matrix(embeddings("word"), self.token_embeddings.val());
        matrix(embeddings("position"), self.position_embeddings.val());
        if let Some(types) = &self.token_type_embeddings {
            matrix(embeddings("token_type"), types.val());
        }
        if let Some(bias) = &self.relative_position_bias {
            matrix("encoder.relative_attention_bias.weight".into(), bias.val());
        }
        let mut vectors: Vec<(String, Option<Tensor<1>>)> = Vec::new();
        let mut norm = |name: String, norm: &LayerNorm| {
            let beta = norm.beta.as_ref().map(Param::val);
            vectors.push((format!("{name}.weight"), Some(norm.gamma.val())));
            vectors.push((format!("{name}.bias"), beta));
        };
        norm("embeddings.LayerNorm".into(), &self.embedding_norm);
        for (number, layer) in self.layers.iter().enumerate() {
            norm(names.layer(number, "attention_norm"), &layer.attention_norm);
            norm(names.layer(number, "norm"), &layer.norm);
        }
        let hidden = self.config.hidden_size;
        for (number, layer) in self.layers.iter().enumerate() {
            for (part, name) in ["query", "key", "value"].into_iter().enumerate() {
                let name = names.layer(number, name);
                let columns = part * hidden..(part + 1) * hidden;
                let weight = layer.qkv.weight.val().slice([0..hidden, columns.clone()]);
                matrix(format!("{name}.weight"), weight.transpose());
                let bias = layer.qkv.bias.as_ref();
                let bias = bias.map(|bias| bias.val().slice([columns]));
                vectors.push((format!("{name}.bias"), bias));
            }
            let others = [
                ("output", &layer.output),
                ("up", &layer.up),
                ("down", &layer.down),
            ];
            for (part, linear) in others {
                let name = names.layer(number, part);
                matrix(format!("{name}.weight"), linear.weight.val().transpose());
                let bias = linear.bias.as_ref().map(Param::val);
                vectors.push((format!("{name}.bias"), bias));
            }
        }
        let vectors = vectors.into_iter();
        tensors.extend(vectors.filter_map(|(name, values)| Some(NamedTensor::new(name, values?))));
        tensors
    }
}

pub(crate) struct TensorNames {
    architecture: Architecture,
    /// Prefix of all names: "bert." in a model that was saved with a head.
    prefix: String,
    /// Suffixes of scale and shift in layer normalization: "gamma" and "beta" in files converted
    /// from TensorFlow.
    norm: [&'static str; 2],
}

impl TensorNames {
    /// Names in a file with these tensors.
    fn new(architecture: Architecture, names: &[String]) -> Self {
        let find = |end: &str| names.iter().find_map(|name| name.strip_suffix(end));
        let from_tensorflow = find("embeddings.LayerNorm.gamma").is_some();
        Self {
            architecture,
            prefix: find("embeddings.word_embeddings.weight")
                .unwrap_or_default()
                .into(),
            norm: if from_tensorflow {
                ["gamma", "beta"]
            } else {
                ["weight", "bias"]
            },
        }
    }

    pub(crate) fn count_layers(architecture: Architecture, weights: &dyn TensorSource) -> usize {
        let all = weights.names();
        let names = Self::new(architecture, &all);
        let before = format!("{}{}.layer.", names.prefix, names.stack());
        let number = |name: &String| {
            let (number, _) = name.strip_prefix(&before)?.split_once('.')?;
            number.parse::<usize>().ok()?.checked_add(1)
        };
        all.iter().filter_map(number).max().unwrap_or(0)
    }

    fn stack(&self) -> &'static str {
        match self.architecture {
            Architecture::DistilBert => "transformer",
            _ => "encoder",
        }
    }

    fn layer(&self, layer: usize, part: &str) -> String {
        let name = match (self.architecture, part) {
            (Architecture::DistilBert, part) => match part {
                "query" => "attention.q_lin",
                "key" => "attention.k_lin",
                "value" => "attention.v_lin",
                "output" => "attention.out_lin",
                "attention_norm" => "sa_layer_norm",
                "up" => "ffn.lin1",
                "down" => "ffn.lin2",
                _ => "output_layer_norm",
            },
            (Architecture::Mpnet, "query") => "attention.attn.q",
            (Architecture::Mpnet, "key") => "attention.attn.k",
            (Architecture::Mpnet, "value") => "attention.attn.v",
            (Architecture::Mpnet, "output") => "attention.attn.o",
            (Architecture::Mpnet, "attention_norm") => "attention.LayerNorm",
            (_, "query") => "attention.self.query",
            (_, "key") => "attention.self.key",
            (_, "value") => "attention.self.value",
            (_, "output") => "attention.output.dense",
            (_, "attention_norm") => "attention.output.LayerNorm",
            (_, "up") => "intermediate.dense",
            (_, "down") => "output.dense",
            (_, _) => "output.LayerNorm",
        };
        format!("{}{}.layer.{layer}.{name}", self.prefix, self.stack())
    }
}

/// Reader of the weights of a transformer, one layer at a time.
pub(crate) struct WeightReader<'a> {
    config: &'a TransformerConfig,
    weights: &'a dyn TensorSource,
    names: TensorNames,
}

/// Embedding tables, row-major `[rows, hidden_size]`.
pub(crate) struct EmbeddingWeights {
    pub(crate) tokens: TensorValues,
    pub(crate) positions: TensorValues,
    pub(crate) types: Option<TensorValues>,
    /// `[relative_position_buckets, heads]`.
    pub(crate) relative_position_bias: Option<Vec<f32>>,
    pub(crate) norm: NormWeights,
}

/// Weights of a layer; see [`TransformerLayer`].
pub(crate) struct LayerWeights {
    pub(crate) qkv: LinearWeights,
    pub(crate) output: LinearWeights,
    pub(crate) attention_norm: NormWeights,
    pub(crate) up: LinearWeights,
    pub(crate) down: LinearWeights,
    pub(crate) norm: NormWeights,
}

/// Weights of a linear layer.
pub(crate) struct LinearWeights {
    /// Row-major `[from, to]`.
    pub(crate) weight: Vec<f32>,
    /// `[to]`.
    pub(crate) bias: Vec<f32>,
}

/// Weights of layer normalization.
pub(crate) struct NormWeights {
    pub(crate) scale: Vec<f32>,
    pub(crate) shift: Vec<f32>,
}

impl<'a> WeightReader<'a> {
    pub(crate) fn new(config: &'a TransformerConfig, weights: &'a dyn TensorSource) -> Self {
        Self {
            config,
            weights,
            names: TensorNames::new(config.architecture, &weights.names()),
        }
    }

    pub(crate) fn embeddings(&self) -> Result<EmbeddingWeights, ModelError> {
        let c = self.config;
        let table = |part: &str, rows| {
            let name = format!("{}embeddings.{part}_embeddings.weight", self.names.prefix);
            self.weights.tensor(&name, &[rows, c.hidden_size])
        };
        let prefix = &self.names.prefix;
        let relative = format!("{prefix}encoder.relative_attention_bias.weight");
        Ok(EmbeddingWeights {
            tokens: table("word", c.vocab_size)?,
            positions: table("position", c.max_positions)?,
            types: match c.token_types {
                0 => None,
                rows => Some(table("token_type", rows)?),
            },
            relative_position_bias: match c.relative_position_buckets {
                0 => None,
                rows => Some(self.weights.take(&relative, &[rows, c.heads])?),
            },
            norm: self.norm(&format!("{prefix}embeddings.LayerNorm"))?,
        })
    }

    pub(crate) fn layer(&self, number: usize) -> Result<LayerWeights, ModelError> {
        let name = |part| self.names.layer(number, part);
        let (hidden, inner) = (self.config.hidden_size, self.config.intermediate_size);
        Ok(LayerWeights {
            qkv: self.linear(&["query", "key", "value"].map(name), hidden, hidden)?,
            output: self.linear(&[name("output")], hidden, hidden)?,
            attention_norm: self.norm(&name("attention_norm"))?,
            up: self.linear(&[name("up")], hidden, inner)?,
            down: self.linear(&[name("down")], inner, hidden)?,
            norm: self.norm(&name("norm"))?,
        })
    }

    fn norm(&self, name: &str) -> Result<NormWeights, ModelError> {
        let take = |part| {
            let shape = [self.config.hidden_size];
            self.weights.take(&format!("{name}.{part}"), &shape)
        };
        let [scale, shift] = self.names.norm.map(take);
        Ok(NormWeights {
            scale: scale?,
            shift: shift?,
        })
    }

    /// Reads projections of the same shape and concatenates their outputs.
    fn linear(
        &self,
        names: &[String],
        from: usize,
        to: usize,
    ) -> Result<LinearWeights, ModelError> {
        let mut weights = Vec::with_capacity(names.len());
        let mut bias = Vec::with_capacity(names.len() * to);
        for name in names {
            let weight = self
                .weights
                .tensor(&format!("{name}.weight"), &[to, from])?;
            weights.push(weight);
            bias.extend(self.weights.take(&format!("{name}.bias"), &[to])?);
        }
        Ok(LinearWeights {
            weight: transposed(&weights, from),
            bias,
        })
    }
}

impl LinearWeights {
    fn into_module(self, device: &Device) -> Linear {
        let to = self.bias.len();
        let from = self.weight.len() / to.max(1);
        Linear {
            weight: parameter(self.weight, [from, to], device),
            bias: Some(parameter(self.bias, [to], device)),
        }
    }

    /// Copies the weights of a module; `None` without a bias.
    pub(crate) fn from_module(linear: &Linear) -> Option<Self> {
        Some(Self {
            weight: values(&linear.weight)?,
            bias: values(linear.bias.as_ref()?)?,
        })
    }
}

impl NormWeights {
    fn into_module(self, epsilon: f64, device: &Device) -> LayerNorm {
        let width = self.scale.len();
        let config = LayerNormConfig::new(width).with_epsilon(epsilon);
        let mut norm = config.init(device);
        norm.gamma = parameter(self.scale, [width], device);
        norm.beta = Some(parameter(self.shift, [width], device));
        norm
    }

    /// Copies the weights of a module; `None` without a shift.
    pub(crate) fn from_module(norm: &LayerNorm) -> Option<Self> {
        Some(Self {
            scale: values(&norm.gamma)?,
            shift: values(norm.beta.as_ref()?)?,
        })
    }
}

impl EmbeddingWeights {
    /// Copies the embedding tables of a model.
    pub(crate) fn from_model(model: &Transformer) -> Option<Self> {
        let table = |table: &Option<Param<Tensor<2>>>| match table {
            None => Some(None),
            Some(table) => values(table).map(Some),
        };
        let types = table(&model.token_type_embeddings)?;
        Some(Self {
            tokens: TensorValues::InMemory(values(&model.token_embeddings)?),
            positions: TensorValues::InMemory(values(&model.position_embeddings)?),
            types: types.map(TensorValues::InMemory),
            relative_position_bias: table(&model.relative_position_bias)?,
            norm: NormWeights::from_module(&model.embedding_norm)?,
        })
    }
}

impl LayerWeights {
    /// Copies the weights of a layer; `None` if a linear layer or normalization has no bias.
    pub(crate) fn from_layer(layer: &TransformerLayer) -> Option<Self> {
        Some(Self {
            qkv: LinearWeights::from_module(&layer.qkv)?,
            output: LinearWeights::from_module(&layer.output)?,
            attention_norm: NormWeights::from_module(&layer.attention_norm)?,
            up: LinearWeights::from_module(&layer.up)?,
            down: LinearWeights::from_module(&layer.down)?,
            norm: NormWeights::from_module(&layer.norm)?,
        })
    }
}

fn values<const D: usize>(parameter: &Param<Tensor<D>>) -> Option<Vec<f32>> {
    parameter.val().try_into_vec_as::<f32>().ok()
}

fn parameter<const D: usize>(
    values: Vec<f32>,
    shape: [usize; D],
    device: &Device,
) -> Param<Tensor<D>> {
    Param::from_tensor(Tensor::from_data(TensorData::new(values, shape), device))
}

/// Rows that are transposed together: they and a row of the result are in the L1 cache.
const TRANSPOSED_ROWS: usize = 8;

/// Transposes matrices of `from` columns (PyTorch's layout is `[out, in]`) and concatenates them
/// along the output dimension. Removes matrices of a mapped file from resident memory.
fn transposed(matrices: &[TensorValues], from: usize) -> Vec<f32> {
    let from = from.max(1);
    let to: usize = matrices.iter().map(|matrix| matrix.len() / from).sum();
    let mut out = vec![0.0; from * to];
    let mut first = 0;
    for matrix in matrices {
        for rows in matrix.chunks(TRANSPOSED_ROWS * from) {
            let count = rows.len() / from;
            for (column, out) in out.chunks_exact_mut(to.max(1)).enumerate() {
                let cells = out[first..][..count].iter_mut();
                for (cell, value) in cells.zip(rows[column..].iter().step_by(from)) {
                    *cell = *value;
                }
            }
            first += count;
        }
        matrix.release();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrices_of_any_shape_are_transposed_and_concatenated() {
        for (shapes, from) in [([3, 8, 21], 5), ([16, 1, 1], 33), ([2, 2, 2], 1)] {
            let matrix = |rows: usize, number: usize| {
                let values = (0..rows * from).map(|at| (1000 * number + at) as f32);
                TensorValues::InMemory(values.collect())
            };
            let all = [0, 1, 2].map(|number| matrix(shapes[number], number));
            let to: usize = shapes.iter().sum();
            let found = transposed(&all, from);
            assert_eq!(found.len(), from * to);
            let rows: Vec<&[f32]> = all.iter().flat_map(|all| all.chunks(from)).collect();
            for (at, value) in found.iter().enumerate() {
                assert_eq!(*value, rows[at % to][at / to], "{shapes:?}");
            }
        }
    }
}
