//! Forward pass of a transformer: [`cpu_forward`](super::cpu_forward) on the CPU, burn's operations
//! elsewhere, with automatic differentiation if activations are saved.

use burn::module::{Module, Param};
use burn::nn::{LayerNorm, Linear};
use burn::tensor::activation::softmax;
use burn::tensor::{Int, Tensor, TensorData};

use super::cpu_forward::{CpuActivations, CpuForward};
use super::cpu_training::CpuTraining;
use super::dropout::DropoutSite;
use super::pass::ForwardPass;
use super::relative_position::{relative_position_bias, relative_position_index};
use super::rotary::RotaryTable;
use super::{
    TokenBatch, Transformer, TransformerLayer, concatenate, index_tensor, merge_heads, split_heads,
};
use crate::model_folder::{NormPlacement, Rotary, TransformerConfig};
use crate::precision::Precision;

/// Activations of a pass, for its backward pass.
pub(crate) enum SavedActivations {
    /// Of a batch without padding tokens in CPU memory, with weights that were packed for the pass.
    Cpu(CpuActivations, Option<Box<CpuTraining>>),
    /// Hidden states and the model that they were computed from, both with automatic
    /// differentiation.
    Autodiff(Box<(Tensor<2>, Transformer)>),
}

/// What the attention of a layer needs of a block of texts of equal length.
struct BlockAttention {
    /// Added to scores: padding mask and relative position bias,
    /// `[texts or 1, heads or 1, length or 1, length]`.
    bias: Option<Tensor<4>>,
    /// Mask of layers with global and with local attention, `[1, 1, length, length]`.
    masks: [Option<Tensor<4>>; 2],
    /// Cosines and sines of rotations in layers with global and with local attention,
    /// `[1, 1, length, dim / 2]`.
    rotations: [Option<[Tensor<4>; 2]>; 2],
    /// Index of the relative position of two tokens, `[length · length]`.
    positions: Option<Tensor<1, Int>>,
}

/// Finite, because a fully masked row would have no softmax.
const MASKED: f64 = -1e9;

fn block_attentions(model: &Transformer, batch: &TokenBatch) -> Vec<BlockAttention> {
    let (device, config) = (model.device(), model.config());
    let layer = &config.layer;
    let padding = batch.padding(&device).map(|padding| -> Tensor<4> {
        let [texts, length] = padding.dims();
        let padding = padding.reshape([texts, 1, 1, length]);
        Tensor::zeros([texts, 1, 1, length], &device).mask_fill(padding, MASKED)
    });
    let blocks = batch.blocks().iter().map(|block| {
        let length = block.length;
        let table = model.relative_position_bias.as_ref();
        let distance = layer.relative_position_distance;
        let relative = table.map(|table| relative_position_bias(table.val(), length, distance));
        let mask = |window: Option<usize>| {
            if !layer.causal && window.is_none() {
                return None;
            }
            let window = window.unwrap_or(length);
            let is_masked = |query: usize, key: usize| {
                query.abs_diff(key) > window || (layer.causal && key > query)
            };
            let cells = (0..length * length).map(|at| {
                if is_masked(at / length, at % length) {
                    MASKED as f32
                } else {
                    0.0
                }
            });
            let data = TensorData::new(cells.collect(), [1, 1, length, length]);
            Some(Tensor::from_data(data, &device))
        };
        let rotation = |rotary: Option<Rotary>| {
            let mut table = RotaryTable::default();
            table.prepare(rotary?, length);
            Some(table.values(length).map(|values| {
                let shape = [1, 1, length, values.len() / length.max(1)];
                Tensor::from_data(TensorData::new(values.to_vec(), shape), &device)
            }))
        };
        BlockAttention {
            bias: match (relative, padding.clone()) {
                (Some(relative), Some(padding)) => Some(relative + padding),
                (relative, padding) => relative.or(padding),
            },
            masks: [mask(None), mask(layer.window)],
            rotations: [
                rotation(layer.rotary),
                rotation(layer.local_rotary.or(layer.rotary)),
            ],
            positions: layer.disentangled.map(|it| {
                let index = |at| relative_position_index(at / length, at % length, it) as i64;
                index_tensor((0..length * length).map(index), &device)
            }),
        }
    });
    blocks.collect()
}

impl ForwardPass<'_> {
    /// Returns the hidden state of every token, `[tokens, hidden_size]`, and the saved
    /// activations if [`ForwardPass::save`] is set.
    pub(crate) fn run(&self) -> (Tensor<2>, Option<SavedActivations>) {
        if !self.batch.has_padding_tokens() {
            let own = match self.cpu {
                Some(_) => None,
                None => CpuTraining::new(self.model, Precision::F32, self.save).map(Box::new),
            };
            let cpu = self.cpu.or(own.as_deref());
            if let Some((cpu, attention)) = cpu.and_then(|cpu| Some((cpu, cpu.attention()?))) {
                let pass = self;
                let forward = CpuForward {
                    pass,
                    cpu,
                    attention,
                };
                let (states, saved) = forward.run();
                return (states, saved.map(|saved| SavedActivations::Cpu(saved, own)));
            }
        }
        if !self.save {
            return (self.hidden_states(self.model), None);
        }
        let model = self.model.clone().train();
        let states = self.hidden_states(&model);
        let saved = SavedActivations::Autodiff(Box::new((states.clone(), model)));
        (states.without_autodiff(), Some(saved))
    }

    /// Hidden states by the weights of `model`, in burn's operations.
    fn hidden_states(&self, model: &Transformer) -> Tensor<2> {
        let config = model.config();
        let norm = |norm: &Option<LayerNorm>, x: Tensor<2>| match norm {
            Some(norm) => normalize(norm, config, x),
            None => x,
        };
        let (tokens, positions, types) = model.embeddings(self.batch);
        let summands = [positions, types].into_iter().flatten();
        let sum = summands.fold(tokens, |sum, it| sum + it);
        let mut x = norm(&model.embedding_norm, sum);
        if let Some(projection) = &model.embedding_projection {
            x = projection.forward(x);
        }
        let mut x = self.drop(x, DropoutSite::Embeddings);
        let embedded = model.convolution.as_ref().map(|_| x.clone());
        let relative = model.relative_positions.as_ref().map(Param::val);
        let relative = relative.map(|it| norm(&model.relative_position_norm, it));
        let blocks = block_attentions(model, self.batch);
        for number in 0..config.layers {
            let layer = &model.layers[model.config.stored_layer(number)];
            let attended = LayerPass {
                pass: self,
                config,
                layer,
                number,
                relative: relative.as_ref(),
            };
            let inner = |x: Tensor<2>| {
                let up = layer.up.forward(x.clone());
                let inner = match &layer.gate {
                    Some(gate) => up * config.activation.apply(gate.forward(x)),
                    None => config.activation.apply(up),
                };
                layer.down.forward(inner)
            };
            let drop = [
                DropoutSite::Attention(number),
                DropoutSite::FeedForward(number),
            ];
            x = if config.layer.norm_placement == NormPlacement::After {
                let output = layer.output.forward(attended.context(&x, &blocks));
                let sum = self.drop(output, drop[0]) + x;
                let attended = norm(&layer.attention_norm, sum);
                let down = self.drop(inner(attended.clone()), drop[1]);
                let sum = adapted(layer, config, down + attended);
                normalize(&layer.norm, config, sum)
            } else {
                let input = norm(&layer.attention_norm, x.clone());
                let output = layer.output.forward(attended.context(&input, &blocks));
                let output = norm(&layer.attention_output_norm, output);
                let attended = self.drop(output, drop[0]) + x;
                let down = inner(normalize(&layer.norm, config, attended.clone()));
                let down = norm(&layer.output_norm, down);
                self.drop(down, drop[1]) + attended
            };
            if let (0, Some(embedded)) = (number, &embedded) {
                x = self.convolved(model, embedded.clone(), x);
            }
        }
        norm(&model.final_norm, x)
    }

    /// Adds the convolution of the input of the first layer to its output, and normalizes.
    fn convolved(&self, model: &Transformer, input: Tensor<2>, output: Tensor<2>) -> Tensor<2> {
        let config = model.config();
        let (Some(layer), Some(described)) = (&model.convolution, config.layer.convolution) else {
            return output;
        };
        let ([tokens, width], size) = (input.dims(), described.kernel_size);
        let device = input.device();
        let input = match self.batch.padding(&device) {
            None => input,
            // Padding is zero, as what precedes and follows a text.
            Some(padding) => input * padding.bool_not().float().reshape([tokens, 1]),
        };
        let blocks = self.batch.blocks().iter().map(|block| {
            let (texts, length) = (block.texts, block.length);
            let rows = input.clone().slice([block.tokens(), 0..width]);
            let zeros = Tensor::zeros([texts, size / 2, width], &device);
            let rows = rows.reshape([texts, length, width]);
            let rows: Tensor<3> = Tensor::cat(vec![zeros.clone(), rows, zeros], 1);
            let taps = (0..size).map(|tap| {
                let columns = [0..texts, tap..tap + length, 0..width];
                rows.clone().slice(columns)
            });
            let taps: Vec<Tensor<3>> = taps.collect();
            Tensor::cat(taps, 2).reshape([texts * length, size * width])
        });
        let neighbors = concatenate(blocks.collect());
        let projected = layer.projection.forward(neighbors);
        let projected = self.drop(projected, DropoutSite::Convolution);
        let sum = output + described.activation.apply(projected);
        normalize(&layer.norm, config, sum)
    }
}

/// Adds the output of the adapter of a layer, if it has one, to the sum of output and input of its
/// feed-forward network.
fn adapted(layer: &TransformerLayer, config: &TransformerConfig, sum: Tensor<2>) -> Tensor<2> {
    let (Some(adapter), Some(described)) = (&layer.adapter, &config.layer.adapter) else {
        return sum;
    };
    let input = normalize(&layer.norm, config, sum.clone());
    let inner = described.activation.apply(adapter.down.forward(input));
    sum + adapter.up.forward(inner)
}

/// Attention of a layer.
struct LayerPass<'a> {
    pass: &'a ForwardPass<'a>,
    config: &'a TransformerConfig,
    layer: &'a TransformerLayer,
    number: usize,
    /// Normalized embeddings of relative positions.
    relative: Option<&'a Tensor<2>>,
}

impl LayerPass<'_> {
    /// Returns the context vector of every token, `[tokens, queries]`.
    fn context(&self, x: &Tensor<2>, blocks: &[BlockAttention]) -> Tensor<2> {
        let (config, shape) = (self.config, self.config.attention());
        let qkv = self.layer.qkv.forward(x.clone());
        let local = usize::from(config.window(self.number).is_some());
        let positions = self
            .relative
            .map(|relative| self.position_vectors(relative));
        let mut out = Vec::with_capacity(blocks.len());
        let batch = self.pass.batch.blocks().iter().zip(blocks);
        for ((block, attention), texts) in batch.zip(self.pass.block_texts()) {
            let columns = |first: usize, heads: usize| {
                let columns = first..first + heads * shape.head_size;
                split_heads(qkv.clone().slice([block.tokens(), columns]), *block, heads)
            };
            let rotation = attention.rotations[local].as_ref();
            let turned = |vectors: Tensor<4>, norm: &Option<LayerNorm>| {
                let vectors = match norm {
                    Some(norm) => normalize(norm, config, vectors),
                    None => vectors,
                };
                match rotation {
                    Some(rotation) => rotate(vectors, rotation),
                    None => vectors,
                }
            };
            let group = shape.heads / shape.key_value_heads;
            let queries = turned(columns(0, shape.heads), &self.layer.query_norm);
            let keys = columns(shape.queries(), shape.key_value_heads);
            let keys = repeat_heads(turned(keys, &self.layer.key_norm), group);
            let first = shape.queries() + shape.keys();
            let values = repeat_heads(columns(first, shape.key_value_heads), group);
            let scale = f64::from(config.attention_scale());
            let mut scores = queries.clone().matmul(keys.clone().swap_dims(2, 3));
            if let (Some(vectors), Some(indices)) = (&positions, &attention.positions) {
                for (positions, contents, by_key) in
                    [(&vectors[0], &queries, false), (&vectors[1], &keys, true)]
                {
                    if let Some(positions) = positions {
                        let products = contents.clone().matmul(positions.clone());
                        scores = scores + gather_positions(products, indices, by_key);
                    }
                }
            }
            scores = scores.mul_scalar(scale);
            for added in [&attention.bias, &attention.masks[local]]
                .into_iter()
                .flatten()
            {
                scores = scores + added.clone();
            }
            let probabilities = softmax(scores, 3);
            let probabilities = self
                .pass
                .drop_probabilities(probabilities, &texts, self.number);
            out.push(merge_heads(probabilities.matmul(values), *block));
        }
        concatenate(out)
    }

    /// Keys and queries of relative positions, `[1, heads, head_size, 2 · buckets]`.
    fn position_vectors(&self, relative: &Tensor<2>) -> [Option<Tensor<4>>; 2] {
        let (shape, own) = (self.config.attention(), self.layer.positions.as_ref());
        let Some(disentangled) = self.config.layer.disentangled else {
            return [None, None];
        };
        let shared = disentangled.shared_projections;
        let shared = shared.then(|| self.layer.qkv.forward(relative.clone()));
        let project = |wanted: bool, own: Option<&Linear>, part: usize| {
            let vectors = match (&shared, own) {
                _ if !wanted => return None,
                (Some(all), _) => {
                    let ([rows, _], width) = (all.dims(), shape.queries());
                    all.clone()
                        .slice([0..rows, part * width..(part + 1) * width])
                }
                (None, own) => own?.forward(relative.clone()),
            };
            let [rows, _] = vectors.dims();
            let vectors = vectors.reshape([1, rows, shape.heads, shape.head_size]);
            Some(vectors.swap_dims(1, 2).swap_dims(2, 3))
        };
        let (key, query) = (
            own.and_then(|it| it.key.as_ref()),
            own.and_then(|it| it.query.as_ref()),
        );
        [
            project(disentangled.content_to_position, key, 1),
            project(disentangled.position_to_content, query, 0),
        ]
    }
}

/// Scores of pairs of tokens from scores of tokens and relative positions,
/// `[texts, heads, length, positions]`. `by_key`: rows of `products` are keys.
fn gather_positions(products: Tensor<4>, indices: &Tensor<1, Int>, by_key: bool) -> Tensor<4> {
    let [texts, heads, length, _] = products.dims();
    let indices: Tensor<4, Int> = indices.clone().reshape([1, 1, length, length]);
    if !by_key {
        return products.gather(3, indices.expand([texts, heads, length, length]));
    }
    let indices = indices
        .swap_dims(2, 3)
        .expand([texts, heads, length, length]);
    products.gather(3, indices).swap_dims(2, 3)
}

/// Normalizes the last dimension.
fn normalize<const D: usize>(
    norm: &LayerNorm,
    config: &TransformerConfig,
    x: Tensor<D>,
) -> Tensor<D> {
    let kind = config.layer.norm;
    if !kind.is_rms() {
        return norm.forward(x);
    }
    let mean = x.clone().powf_scalar(2.0).mean_dim(D - 1);
    let inverse = mean.add_scalar(config.layer_norm_eps).sqrt().recip();
    let scale = norm.gamma.val().add_scalar(kind.scale_offset());
    x * inverse * scale.unsqueeze()
}

/// Rotates vectors `[texts, heads, length, dim]` by their positions.
fn rotate(x: Tensor<4>, [cosines, sines]: &[Tensor<4>; 2]) -> Tensor<4> {
    let [texts, heads, length, dim] = x.dims();
    let [left, right] = [0..dim / 2, dim / 2..dim]
        .map(|columns| x.clone().slice([0..texts, 0..heads, 0..length, columns]));
    let turned = vec![
        left.clone() * cosines.clone() - right.clone() * sines.clone(),
        right * cosines.clone() + left * sines.clone(),
    ];
    Tensor::cat(turned, 3)
}

/// Repeats every head `times` times.
fn repeat_heads(x: Tensor<4>, times: usize) -> Tensor<4> {
    if times == 1 {
        return x;
    }
    let [texts, heads, length, dim] = x.dims();
    let x: Tensor<5> = x.reshape([texts, heads, 1, length, dim]);
    x.repeat_dim(2, times)
        .reshape([texts, heads * times, length, dim])
}
