//! Tensor names of each architecture; conversion between weight files and [`Transformer`].

use burn::module::Param;
use burn::nn::{LayerNorm, LayerNormConfig, Linear};
use burn::tensor::{Device, Tensor, TensorData};

use super::{Transformer, TransformerLayer};
use crate::model_folder::{NamedTensor, TensorSource};
use crate::{Architecture, ModelError, TransformerConfig};

impl Transformer {
    pub(crate) fn load(
        config: TransformerConfig,
        weights: &dyn TensorSource,
        device: &Device,
    ) -> Result<Self, ModelError> {
        let names = TensorNames::new(config.architecture, &weights.names());
        let load = WeightLoader {
            weights,
            device,
            norm: names.norm,
        };
        let c = &config;
        let layers = (0..c.layers).map(|layer| {
            let name = |part| names.layer(layer, part);
            Ok(TransformerLayer {
                qkv: load.linear(
                    &["query", "key", "value"].map(name),
                    c.hidden_size,
                    c.hidden_size,
                )?,
                output: load.linear(&[name("output")], c.hidden_size, c.hidden_size)?,
                attention_norm: load.norm(&name("attention_norm"), c)?,
                up: load.linear(&[name("up")], c.hidden_size, c.intermediate_size)?,
                down: load.linear(&[name("down")], c.intermediate_size, c.hidden_size)?,
                norm: load.norm(&name("norm"), c)?,
                heads: c.heads,
                activation: c.activation,
            })
        });
        let embeddings = |part: &str, rows| {
            let name = format!("{}embeddings.{part}_embeddings.weight", names.prefix);
            load.tensor(&name, [rows, c.hidden_size])
        };
        let relative = format!("{}encoder.relative_attention_bias.weight", names.prefix);
        Ok(Self {
            token_embeddings: embeddings("word", c.vocab_size)?,
            position_embeddings: embeddings("position", c.max_positions)?,
            token_type_embeddings: match c.token_types {
                0 => None,
                rows => Some(embeddings("token_type", rows)?),
            },
            relative_position_bias: match c.relative_position_buckets {
                0 => None,
                rows => Some(load.tensor(&relative, [rows, c.heads])?),
            },
            embedding_norm: load.norm(&format!("{}embeddings.LayerNorm", names.prefix), c)?,
            layers: layers.collect::<Result<_, ModelError>>()?,
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

/// Converts tensors of a weight file to burn modules.
struct WeightLoader<'a> {
    weights: &'a dyn TensorSource,
    device: &'a Device,
    norm: [&'static str; 2],
}

impl WeightLoader<'_> {
    fn tensor<const D: usize>(
        &self,
        name: &str,
        shape: [usize; D],
    ) -> Result<Param<Tensor<D>>, ModelError> {
        Ok(self.param(self.weights.take(name, &shape)?, shape))
    }

    fn norm(&self, name: &str, config: &TransformerConfig) -> Result<LayerNorm, ModelError> {
        let norm_config =
            LayerNormConfig::new(config.hidden_size).with_epsilon(config.layer_norm_eps);
        let [gamma, beta] = self.norm.map(|part| format!("{name}.{part}"));
        let mut norm = norm_config.init(self.device);
        norm.gamma = self.tensor(&gamma, [config.hidden_size])?;
        norm.beta = Some(self.tensor(&beta, [config.hidden_size])?);
        Ok(norm)
    }

    /// Loads projections of the same shape and concatenates their outputs.
    fn linear(&self, names: &[String], from: usize, to: usize) -> Result<Linear, ModelError> {
        let width = names.len() * to;
        let mut weights = Vec::with_capacity(names.len());
        let mut biases = Vec::with_capacity(width);
        for name in names {
            let weight = self.weights.take(&format!("{name}.weight"), &[to, from])?;
            weights.push(weight);
            biases.extend(self.weights.take(&format!("{name}.bias"), &[to])?);
        }
        Ok(Linear {
            weight: self.param(transposed(&weights, from), [from, width]),
            bias: Some(self.param(biases, [width])),
        })
    }

    fn param<const D: usize>(&self, values: Vec<f32>, shape: [usize; D]) -> Param<Tensor<D>> {
        Param::from_tensor(Tensor::from_data(
            TensorData::new(values, shape),
            self.device,
        ))
    }
}

/// Transposes matrices of `from` columns (PyTorch's layout is `[out, in]`) and concatenates them
/// along the output dimension.
fn transposed(matrices: &[Vec<f32>], from: usize) -> Vec<f32> {
    let rows = || matrices.iter().flat_map(|matrix| matrix.chunks_exact(from));
    let mut out = Vec::with_capacity(matrices.iter().map(Vec::len).sum());
    for column in 0..from {
        out.extend(rows().map(|row| row[column]));
    }
    out
}
