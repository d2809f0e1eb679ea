//! The transformer encoder, as burn tensors.

use burn::module::{Module, Param};
use burn::nn::{LayerNorm, LayerNormConfig, Linear};
use burn::tensor::activation::{gelu, gelu_approximate, relu, softmax};
use burn::tensor::{Device, Int, Tensor, TensorData};

use crate::batch::Block;
use crate::weights::Tensors;
use crate::{Activation, Architecture, Batch, ModelError, TransformerConfig};

/// A BERT-like encoder: embeddings, then blocks of self-attention and feed-forward.
///
/// It is a `burn` module: on a device with gradients it can be trained as it stands.
#[derive(Module, Debug)]
pub struct Transformer {
    /// Token embeddings, `[vocabulary, hidden]`.
    pub words: Param<Tensor<2>>,
    /// Position embeddings, `[positions, hidden]`.
    pub positions: Param<Tensor<2>>,
    /// Token type embeddings, `[token_types, hidden]`; all tokens have type 0.
    pub types: Option<Param<Tensor<2>>>,
    /// Scores added for how far tokens are apart, `[relative_positions, heads]`.
    pub relative: Option<Param<Tensor<2>>>,
    /// After the embeddings are added up.
    pub norm: LayerNorm,
    /// The blocks, first to last.
    pub layers: Vec<Layer>,
    #[module(skip)]
    config: TransformerConfig,
}

/// One block of a [`Transformer`].
#[derive(Module, Debug)]
pub struct Layer {
    /// Queries, keys and values, side by side: `[hidden, 3 · hidden]`.
    pub qkv: Linear,
    /// After the heads: `[hidden, hidden]`.
    pub output: Linear,
    /// After attention.
    pub attention_norm: LayerNorm,
    /// Into the feed-forward block: `[hidden, intermediate]`.
    pub up: Linear,
    /// And out of it: `[intermediate, hidden]`.
    pub down: Linear,
    /// After the feed-forward block.
    pub norm: LayerNorm,
    heads: usize,
    #[module(skip)]
    pub(crate) activation: Activation,
}

impl Transformer {
    /// The shape.
    pub fn config(&self) -> &TransformerConfig {
        &self.config
    }

    /// The device of the weights.
    pub fn device(&self) -> Device {
        self.words.val().device()
    }

    /// The vector of every token of the batch.
    ///
    /// # Shapes
    /// `[tokens, hidden]`, in the order of [`Batch::ids`].
    ///
    /// # Panics
    /// When a token number is not below `vocabulary`, or a text is longer than
    /// [`TransformerConfig::max_tokens`]. What [`crate::Tokens`] gives is never so.
    pub fn forward(&self, batch: &Batch) -> Tensor<2> {
        let mut x = self.embed(batch);
        let masks = Masks::new(self, batch, &self.device());
        for layer in &self.layers {
            x = layer.forward(x, batch, &masks);
        }
        x
    }

    /// What the layers start from: the embeddings of every token, added up and normalised.
    pub(crate) fn embed(&self, batch: &Batch) -> Tensor<2> {
        let device = self.device();
        let first = self.config.first_position;
        let ids = indices(batch.ids().iter().map(|&id| id as i64), &device);
        let places = indices(batch.places().map(|place| (first + place) as i64), &device);
        let mut x = self.words.val().select(0, ids) + self.positions.val().select(0, places);
        if let Some(types) = &self.types {
            x = x + types.val().slice([0..1, 0..self.config.hidden]);
        }
        self.norm.forward(x)
    }

    /// Reads the weights of a folder.
    pub(crate) fn load(
        config: TransformerConfig,
        weights: &dyn Tensors,
        device: &Device,
    ) -> Result<Self, ModelError> {
        let names = Names::new(config.architecture, weights);
        let load = Load {
            weights,
            device,
            norm: names.norm,
        };
        let c = &config;
        let layers = (0..c.layers).map(|layer| {
            let name = |part| names.layer(layer, part);
            Ok(Layer {
                qkv: load.side_by_side(["query", "key", "value"].map(name), c.hidden)?,
                output: load.linear(&name("output"), c.hidden, c.hidden)?,
                attention_norm: load.norm(&name("attention_norm"), c)?,
                up: load.linear(&name("up"), c.hidden, c.intermediate)?,
                down: load.linear(&name("down"), c.intermediate, c.hidden)?,
                norm: load.norm(&name("norm"), c)?,
                heads: c.heads,
                activation: c.activation,
            })
        });
        let table = |part: &str, rows| {
            let name = format!("{}embeddings.{part}_embeddings.weight", names.prefix);
            load.matrix(&name, rows, c.hidden)
        };
        let relative = format!("{}encoder.relative_attention_bias.weight", names.prefix);
        Ok(Self {
            words: table("word", c.vocabulary)?,
            positions: table("position", c.positions)?,
            types: match c.token_types {
                0 => None,
                rows => Some(table("token_type", rows)?),
            },
            relative: match c.relative_positions {
                0 => None,
                rows => Some(load.matrix(&relative, rows, c.heads)?),
            },
            norm: load.norm(&format!("{}embeddings.LayerNorm", names.prefix), c)?,
            layers: layers.collect::<Result<_, ModelError>>()?,
            config,
        })
    }
}

impl Layer {
    fn forward(&self, x: Tensor<2>, batch: &Batch, masks: &Masks) -> Tensor<2> {
        let attended = self.attention(self.qkv.forward(x.clone()), batch, masks);
        let x = self
            .attention_norm
            .forward(self.output.forward(attended) + x);
        let inner = match self.activation {
            Activation::Gelu => gelu(self.up.forward(x.clone())),
            Activation::GeluTanh => gelu_approximate(self.up.forward(x.clone())),
            Activation::Relu => relu(self.up.forward(x.clone())),
        };
        self.norm.forward(self.down.forward(inner) + x)
    }

    /// `qkv`: `[tokens, 3 · hidden]`; result: `[tokens, hidden]`.
    fn attention(&self, qkv: Tensor<2>, batch: &Batch, masks: &Masks) -> Tensor<2> {
        let scale = self.scale();
        let mut out = Vec::with_capacity(batch.blocks().len());
        for (block, mask) in batch.blocks().iter().zip(&masks.of_blocks) {
            let [queries, keys, values] = self.parts(&qkv, *block);
            let scores = queries.matmul(keys.swap_dims(2, 3));
            let shares = match mask {
                None => softmax(scores.mul_scalar(scale), 3),
                Some(mask) => softmax(scores.mul_scalar(scale) + mask.clone(), 3),
            };
            out.push(self.rows(shares.matmul(values), *block));
        }
        match out.len() {
            1 => out.remove(0),
            _ => Tensor::cat(out, 0),
        }
    }

    /// What scores of attention are multiplied by.
    pub(crate) fn scale(&self) -> f32 {
        let [hidden, _] = self.output.weight.val().dims();
        ((hidden / self.heads) as f32).sqrt().recip()
    }

    /// Queries, keys and values of a block, each `[texts, heads, length, dim]`.
    pub(crate) fn parts(&self, qkv: &Tensor<2>, block: Block) -> [Tensor<4>; 3] {
        let [_, width] = qkv.dims();
        let hidden = width / 3;
        [0, 1, 2].map(|n| {
            let columns = n * hidden..(n + 1) * hidden;
            self.heads_of(qkv.clone().slice([block.tokens(), columns]), block)
        })
    }

    /// `[texts · length, hidden]` as `[texts, heads, length, dim]`.
    pub(crate) fn heads_of(&self, rows: Tensor<2>, block: Block) -> Tensor<4> {
        let [_, hidden] = rows.dims();
        let shape = [block.texts, block.length, self.heads, hidden / self.heads];
        rows.reshape(shape).swap_dims(1, 2)
    }

    /// And back.
    pub(crate) fn rows(&self, parts: Tensor<4>, block: Block) -> Tensor<2> {
        let [_, heads, _, dim] = parts.dims();
        let shape = [block.texts * block.length, heads * dim];
        parts.swap_dims(1, 2).reshape(shape)
    }
}

/// What is added to the scores of attention, per block; made once for all layers.
pub(crate) struct Masks {
    /// `[texts or 1, heads or 1, length or 1, length]`.
    pub(crate) of_blocks: Vec<Option<Tensor<4>>>,
}

impl Masks {
    pub(crate) fn new(model: &Transformer, batch: &Batch, device: &Device) -> Self {
        let padding = batch.padding(device).map(|padding| -> Tensor<4> {
            let [texts, length] = padding.dims();
            let padding = padding.reshape([texts, 1, 1, length]);
            // Far below every score, but finite: a row of nothing else would have no softmax.
            Tensor::zeros([texts, 1, 1, length], device).mask_fill(padding, -1e9)
        });
        let of_blocks = batch.blocks().iter().map(|block| {
            let apart = model.relative.as_ref();
            let apart = apart.map(|table| relative(table.val(), block.length));
            match (apart, padding.clone()) {
                (Some(apart), Some(padding)) => Some(apart + padding),
                (apart, padding) => apart.or(padding),
            }
        });
        Self {
            of_blocks: of_blocks.collect(),
        }
    }
}

/// MPNet's scores for the distance between tokens, `[1, heads, length, length]`, from its table
/// `[buckets, heads]`.
pub(crate) fn relative(table: Tensor<2>, length: usize) -> Tensor<4> {
    let [buckets, heads] = table.dims();
    let at = |from: usize| (0..length).map(move |to| bucket(from, to, buckets) as i64);
    let indices = indices((0..length).flat_map(at), &table.device());
    let scores = table.select(0, indices).swap_dims(0, 1);
    scores.reshape([1, heads, length, length])
}

/// The bucket of the distance between two tokens: one bucket per distance while it is small, then
/// one per equal ratio up to 128 (Raffel et al. 2020, section 2.1).
pub(crate) fn bucket(from: usize, to: usize, buckets: usize) -> usize {
    const FARTHEST: f32 = 128.0;
    let half = buckets / 2;
    let side = if to > from { half } else { 0 };
    let apart = from.abs_diff(to);
    let exact = half / 2;
    if apart < exact {
        return side + apart;
    }
    let share = (apart as f32 / exact as f32).ln() / (FARTHEST / exact as f32).ln();
    let beyond = (share * (half - exact) as f32) as usize;
    side + (exact + beyond).min(half - 1)
}

pub(crate) fn indices(values: impl Iterator<Item = i64>, device: &Device) -> Tensor<1, Int> {
    let values: Vec<i64> = values.collect();
    let length = values.len();
    Tensor::from_data(TensorData::new(values, [length]), device)
}

/// What the parts are called in a file of weights.
pub(crate) struct Names {
    architecture: Architecture,
    /// Before all names: "bert." in a model that was saved with a head.
    prefix: String,
    /// Of scale and shift in layer normalisation: "gamma" and "beta" in files from TensorFlow.
    norm: [&'static str; 2],
}

impl Names {
    fn new(architecture: Architecture, weights: &dyn Tensors) -> Self {
        let names = weights.names();
        let find = |end: &str| names.iter().find_map(|name| name.strip_suffix(end));
        let old = find("embeddings.LayerNorm.gamma").is_some();
        Self {
            architecture,
            prefix: find("embeddings.word_embeddings.weight")
                .unwrap_or_default()
                .into(),
            norm: if old {
                ["gamma", "beta"]
            } else {
                ["weight", "bias"]
            },
        }
    }

    /// The names that a family writes today.
    pub(crate) fn plain(architecture: Architecture) -> Self {
        Self {
            architecture,
            prefix: String::new(),
            norm: ["weight", "bias"],
        }
    }

    /// How many layers a file of weights has.
    pub(crate) fn count_layers(architecture: Architecture, weights: &dyn Tensors) -> usize {
        let names = Self::new(architecture, weights);
        let before = format!("{}{}.layer.", names.prefix, names.stack());
        let number = |name: &String| {
            let (number, _) = name.strip_prefix(&before)?.split_once('.')?;
            number.parse::<usize>().ok()?.checked_add(1)
        };
        weights.names().iter().filter_map(number).max().unwrap_or(0)
    }

    fn stack(&self) -> &'static str {
        match self.architecture {
            Architecture::DistilBert => "transformer",
            _ => "encoder",
        }
    }

    pub(crate) fn layer(&self, layer: usize, part: &str) -> String {
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

/// Makes parts of tensors.
struct Load<'a> {
    weights: &'a dyn Tensors,
    device: &'a Device,
    norm: [&'static str; 2],
}

impl Load<'_> {
    fn vector(&self, name: &str, length: usize) -> Result<Param<Tensor<1>>, ModelError> {
        let values = self.weights.take(name, &[length])?;
        Ok(self.param(values, [length]))
    }

    fn matrix(
        &self,
        name: &str,
        rows: usize,
        columns: usize,
    ) -> Result<Param<Tensor<2>>, ModelError> {
        let values = self.weights.take(name, &[rows, columns])?;
        Ok(self.param(values, [rows, columns]))
    }

    fn norm(&self, name: &str, config: &TransformerConfig) -> Result<LayerNorm, ModelError> {
        let config_of = LayerNormConfig::new(config.hidden).with_epsilon(config.layer_norm_eps);
        let [gamma, beta] = self.norm.map(|part| format!("{name}.{part}"));
        let mut norm = config_of.init(self.device);
        norm.gamma = self.vector(&gamma, config.hidden)?;
        norm.beta = Some(self.vector(&beta, config.hidden)?);
        Ok(norm)
    }

    fn linear(&self, name: &str, from: usize, to: usize) -> Result<Linear, ModelError> {
        let weight = self.weights.take(&format!("{name}.weight"), &[to, from])?;
        Ok(Linear {
            weight: self.param(transposed(&[weight], from), [from, to]),
            bias: Some(self.vector(&format!("{name}.bias"), to)?),
        })
    }

    /// Three square products with one matrix.
    fn side_by_side(&self, names: [String; 3], width: usize) -> Result<Linear, ModelError> {
        let mut weights = Vec::with_capacity(3);
        let mut biases = Vec::with_capacity(3 * width);
        for name in names {
            weights.push(
                self.weights
                    .take(&format!("{name}.weight"), &[width, width])?,
            );
            biases.extend(self.weights.take(&format!("{name}.bias"), &[width])?);
        }
        Ok(Linear {
            weight: self.param(transposed(&weights, width), [width, 3 * width]),
            bias: Some(self.param(biases, [3 * width])),
        })
    }

    fn param<const D: usize>(&self, values: Vec<f32>, shape: [usize; D]) -> Param<Tensor<D>> {
        Param::from_tensor(Tensor::from_data(
            TensorData::new(values, shape),
            self.device,
        ))
    }
}

/// Matrices of `from` columns, transposed and put side by side. PyTorch keeps `[to, from]`.
fn transposed(matrices: &[Vec<f32>], from: usize) -> Vec<f32> {
    let rows = || matrices.iter().flat_map(|matrix| matrix.chunks_exact(from));
    let mut out = Vec::with_capacity(matrices.iter().map(Vec::len).sum());
    for column in 0..from {
        out.extend(rows().map(|row| row[column]));
    }
    out
}
