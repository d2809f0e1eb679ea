//! Backward pass of a transformer on the CPU.
//!
//! Blocks of rows pass backwards through all layers between two attentions while they are in the L2
//! cache. The gradients of weights are sums over all tokens; they are added up after every few
//! blocks, while the gradients of these rows are in the cache. Blocks have a fixed number of rows
//! and are added in order, so that sums do not depend on the number of threads.

use rayon::prelude::*;

use super::gradients::ModelGradients;
use crate::activation::Activation;
use crate::kernels::buffers::BufferPool;
use crate::kernels::linear::weight_gradient;
use crate::kernels::matrix::{BLOCK_DEPTH, StridedRows};
use crate::kernels::training;
use crate::transformer::BLOCK_ROWS;
use crate::transformer::cpu_forward::{CpuActivations, LayerActivations, NormActivations, block};
use crate::transformer::cpu_training::{CpuTraining, TrainingLayer, TrainingNorm};
use crate::transformer::dropout::DropoutSite;
use crate::transformer::pass::ForwardPass;

/// Blocks of rows after which the gradients of weights are added up, per four threads.
const BLOCKS: usize = BLOCK_DEPTH / BLOCK_ROWS;

/// Backward pass of a batch without padding tokens.
pub(super) struct CpuBackward<'a> {
    pub(super) pass: &'a ForwardPass<'a>,
    pub(super) cpu: &'a CpuTraining,
}

impl CpuBackward<'_> {
    /// Adds the gradients of all parameters. `d_states`: gradients of the hidden states of the last
    /// layer.
    pub(super) fn run(
        &self,
        saved: CpuActivations,
        d_states: Vec<f32>,
        gradients: &mut ModelGradients,
    ) {
        let (pass, model, buffers) = (self.pass, self.pass.model, &self.cpu.buffers);
        let mut d = d_states;
        for (number, saved) in saved.layers.into_iter().enumerate().rev() {
            let layer = LayerBackward {
                pass,
                cpu: self.cpu,
                layer: &self.cpu.layers[number],
                activation: model.config().activation,
                number,
            };
            d = layer.run(saved, d, gradients);
        }
        let mask = pass.dropout_mask(DropoutSite::Embeddings, buffers);
        training::multiply(&mut d, &mask);
        buffers.give([mask]);
        self.embedding_norm(saved.embedding_norm, &mut d, gradients);
        let batch = pass.batch;
        if let Some(types) = &model.token_type_embeddings {
            let (name, shape) = ("token_type_embeddings", types.dims());
            let types = batch.token_types();
            if types.is_empty() {
                let sums = column_sums(&d, shape[1]);
                gradients.add_row_values(name, shape, [0].into_iter(), &sums);
            } else {
                let rows = types.iter().map(|&it| it as usize);
                gradients.add_row_values(name, shape, rows, &d);
            }
        }
        if let Some(positions) = &model.position_embeddings {
            let rows = batch.position_rows(model.config());
            gradients.add_row_values("position_embeddings", positions.dims(), rows, &d);
        }
        let shape = model.token_embeddings.dims();
        let rows = batch.ids().iter().map(|&id| id as usize);
        gradients.add_row_values("token_embeddings", shape, rows, &d);
        buffers.give([d]);
    }

    fn embedding_norm(
        &self,
        saved: NormActivations,
        d: &mut [f32],
        gradients: &mut ModelGradients,
    ) {
        let norm = &self.cpu.embedding_norm;
        let width = norm.scale.len();
        let blocks = d.par_chunks_mut((BLOCK_ROWS * width).max(1)).enumerate();
        let sums = blocks.map(|(number, d)| {
            let mut sums = vec![0.0; 2 * width];
            norm_backward(norm, d, &saved, number, &mut sums);
            sums
        });
        let mut totals = vec![0.0; 2 * width];
        add_in_order(&mut totals, sums.collect());
        add_norm(gradients, "embedding_norm", &totals);
        // The rows are not from the pool.
        self.cpu.buffers.give([saved.inverses]);
    }
}

/// Backward pass of a layer.
struct LayerBackward<'a> {
    pass: &'a ForwardPass<'a>,
    cpu: &'a CpuTraining,
    layer: &'a TrainingLayer,
    activation: Activation,
    number: usize,
}

/// Sums over rows of a layer: gradients of biases, scales and shifts.
#[derive(Clone, Copy)]
struct LayerSums {
    width: usize,
    inner: usize,
}

impl LayerSums {
    fn len(self) -> usize {
        6 * self.width + self.inner
    }

    /// Sums of `norm`, `attention_norm`, `output.bias`, `down.bias`, `up.bias`.
    fn split(self, sums: &mut [f32]) -> [&mut [f32]; 5] {
        let (norm, rest) = sums.split_at_mut(2 * self.width);
        let (attention_norm, rest) = rest.split_at_mut(2 * self.width);
        let (output, rest) = rest.split_at_mut(self.width);
        let (down, up) = rest.split_at_mut(self.width);
        [norm, attention_norm, output, down, up]
    }
}

impl LayerBackward<'_> {
    fn name(&self, part: &str) -> String {
        format!("layers.{}.{part}", self.number)
    }

    /// Adds the gradients of the parameters. Returns the gradients of the input of the layer.
    fn run(
        &self,
        mut saved: LayerActivations,
        mut d: Vec<f32>,
        gradients: &mut ModelGradients,
    ) -> Vec<f32> {
        let buffers = &self.cpu.buffers;
        let len = d.len();
        // Of the sum of input and attention, and of the context vectors.
        let (mut d_sum, mut d_context) = (buffers.take(len), buffers.take(len));
        self.feed_forward(&mut saved, &mut d, (&mut d_sum, &mut d_context), gradients);
        let mut d_qkv = buffers.take(3 * len);
        if let Some(attention) = self.cpu.attention() {
            let d_bias = self.pass.with_attention_mask(self.number, |mask| {
                let qkv = (&saved.qkv[..], &mut d_qkv[..]);
                let batch = self.pass.batch;
                attention.backward(qkv, batch, &saved.probabilities, mask, &d_context)
            });
            if !d_bias.is_empty() {
                gradients.add_values("relative_position_bias".into(), &d_bias);
            }
        }
        self.qkv(&saved.input, &d_qkv, &d_sum, &mut d, gradients);
        buffers.give([d_sum, d_context, d_qkv]);
        buffers.give(saved.into_buffers());
        d
    }

    /// Rows of a superblock: whole blocks for all threads. Sums do not depend on it.
    fn superblock() -> usize {
        BLOCK_DEPTH * rayon::current_num_threads().div_ceil(BLOCKS)
    }

    /// Maps the gradients of the output of the layer to the gradients of the sum of its input and
    /// attention, and to the gradients of the context vectors. Overwrites `d`.
    fn feed_forward(
        &self,
        saved: &mut LayerActivations,
        d: &mut [f32],
        (d_sum, d_context): (&mut [f32], &mut [f32]),
        gradients: &mut ModelGradients,
    ) {
        let (pass, layer, buffers) = (self.pass, self.layer, &self.cpu.buffers);
        let (width, inner) = (layer.norm.scale.len().max(1), layer.up.width().max(1));
        let masks = [
            DropoutSite::Attention(self.number),
            DropoutSite::FeedForward(self.number),
        ];
        let masks = masks.map(|site| pass.dropout_mask(site, buffers));
        let rows = Self::superblock();
        let most = rows.min(d.len() / width);
        let mut d_inner = buffers.take(most * inner);
        let dropped = if masks[0].is_empty() { 0 } else { most * width };
        let [mut d_down, mut d_output] = [0, 1].map(|_| buffers.take(dropped));
        let parts = LayerSums { width, inner };
        let mut totals = vec![0.0; parts.len()];
        let weights = [("down", inner), ("up", inner), ("output", width)];
        let mut weights = weights.map(|(part, other)| {
            let name = self.name(&format!("{part}.weight"));
            WeightGradient::new(name, width * other, gradients, buffers)
        });
        let superblocks = d
            .chunks_mut(rows * width)
            .zip(d_sum.chunks_mut(rows * width));
        let superblocks = superblocks.zip(saved.before.chunks_mut(rows * inner));
        let superblocks = superblocks.zip(d_context.chunks_mut(rows * width));
        for (number, (((d, d_sum), before), d_context)) in superblocks.enumerate() {
            let count = d.len() / width;
            let first = number * rows / BLOCK_ROWS;
            let chunk = BLOCK_ROWS * width;
            let blocks = d.par_chunks_mut(chunk).zip(d_sum.par_chunks_mut(chunk));
            let blocks = blocks.zip(before.par_chunks_mut(BLOCK_ROWS * inner));
            let blocks = blocks.zip(d_inner.par_chunks_mut(BLOCK_ROWS * inner));
            let blocks = blocks.zip(d_context.par_chunks_mut(chunk));
            // One chunk of each per block, empty without dropout.
            let blocks = blocks.zip(chunks_or_empty(&mut d_down, chunk, count));
            let blocks = blocks.zip(chunks_or_empty(&mut d_output, chunk, count));
            let (attention_norm, norm) = (&saved.attention_norm, &saved.norm);
            let sums = blocks.enumerate().map(|(at, block)| {
                let ((((((d, d_sum), before), d_inner), d_context), d_down), d_output) = block;
                let mut sums = vec![0.0; parts.len()];
                let block = FeedForwardBlock {
                    layer,
                    activation: self.activation,
                    number: first + at,
                    masks: masks
                        .each_ref()
                        .map(|mask| self::block(mask, first + at, width)),
                    norms: [attention_norm, norm],
                    d_inner: &mut d_inner[..before.len()],
                    before,
                    d_sum,
                    d_context,
                    dropped: [d_output, d_down],
                };
                block.run(d, parts.split(&mut sums));
                sums
            });
            add_in_order(&mut totals, sums.collect());
            let [d_output, d_down] = match dropped {
                0 => [&*d_sum, &*d],
                _ => [&d_output[..count * width], &d_down[..count * width]],
            };
            let part =
                |values| &<[f32]>::split_at(values, number * rows * width).1[..count * width];
            let (attended, context) = (part(&saved.attended), part(&saved.context));
            let products = [
                ((&*before, inner), (d_down, width)),
                ((attended, width), (&d_inner[..count * inner], inner)),
                ((context, width), (d_output, width)),
            ];
            for (weight, (x, dy)) in weights.iter_mut().zip(products) {
                weight.add(self.cpu, x, dy);
            }
        }
        for weight in weights {
            weight.finish(gradients);
        }
        let [norm, attention_norm, output, down, up] = parts.split(&mut totals);
        add_norm(gradients, &self.name("norm"), norm);
        add_norm(gradients, &self.name("attention_norm"), attention_norm);
        for (part, sums) in [("output", output), ("down", down), ("up", up)] {
            gradients.add_values(self.name(&format!("{part}.bias")), sums);
        }
        buffers.give(masks);
        buffers.give([d_inner, d_down, d_output]);
    }

    /// Maps the gradients of queries, keys and values to the gradients of the input of the layer,
    /// adds `d_sum` and writes the sum to `d`.
    fn qkv(
        &self,
        input: &[f32],
        d_qkv: &[f32],
        d_sum: &[f32],
        d: &mut [f32],
        gradients: &mut ModelGradients,
    ) {
        let qkv = &self.layer.qkv;
        let width = self.layer.norm.scale.len().max(1);
        let rows = Self::superblock();
        let mut totals = vec![0.0; 3 * width];
        let (name, len) = (self.name("qkv.weight"), 3 * width * width);
        let mut weight = WeightGradient::new(name, len, gradients, &self.cpu.buffers);
        let superblocks = d
            .chunks_mut(rows * width)
            .zip(d_qkv.chunks(3 * rows * width));
        let superblocks = superblocks.zip(d_sum.chunks(rows * width));
        let superblocks = superblocks.zip(input.chunks(rows * width));
        for (((d, d_qkv), d_sum), input) in superblocks {
            let chunk = BLOCK_ROWS * width;
            let blocks = d.par_chunks_mut(chunk).zip(d_qkv.par_chunks(3 * chunk));
            let blocks = blocks.zip(d_sum.par_chunks(chunk));
            let sums = blocks.map(|((d, d_qkv), d_sum)| {
                let rows = StridedRows::new(d_qkv, 3 * width);
                qkv.transposed.product(rows, None, (d, width));
                training::add(d, d_sum);
                column_sums(d_qkv, 3 * width)
            });
            add_in_order(&mut totals, sums.collect());
            weight.add(self.cpu, (input, width), (d_qkv, 3 * width));
        }
        weight.finish(gradients);
        gradients.add_values(self.name("qkv.bias"), &totals);
    }
}

/// Feed-forward network and output projection of a block of rows.
struct FeedForwardBlock<'a> {
    layer: &'a TrainingLayer,
    activation: Activation,
    number: usize,
    /// Dropout masks after attention and after the feed-forward network; empty without dropout.
    masks: [&'a [f32]; 2],
    /// After attention and after the feed-forward network.
    norms: [&'a NormActivations; 2],
    /// Before the activation function, replaced by its values.
    before: &'a mut [f32],
    d_inner: &'a mut [f32],
    d_sum: &'a mut [f32],
    d_context: &'a mut [f32],
    /// Gradients before dropout, of the output projection and of `down`; empty without dropout.
    dropped: [&'a mut [f32]; 2],
}

impl FeedForwardBlock<'_> {
    fn run(self, d: &mut [f32], sums: [&mut [f32]; 5]) {
        let Self { layer, number, .. } = self;
        let (width, inner) = (layer.norm.scale.len(), layer.up.width());
        let [norm_sums, attention_sums, output_bias, down_bias, up_bias] = sums;
        let [d_output, d_down] = self.dropped;
        norm_backward(&layer.norm, d, self.norms[1], number, norm_sums);
        let d_down = before_dropout(d, self.masks[1], d_down);
        training::add_column_sums(d_down, down_bias);
        let rows = StridedRows::new(d_down, width);
        layer
            .down
            .transposed
            .product(rows, None, (self.d_inner, inner));
        training::activation_backward(self.activation, self.d_inner, self.before);
        training::add_column_sums(self.d_inner, up_bias);
        let rows = StridedRows::new(self.d_inner, inner);
        layer.up.transposed.product(rows, None, (self.d_sum, width));
        training::add(self.d_sum, d);
        let norm = &layer.attention_norm;
        norm_backward(norm, self.d_sum, self.norms[0], number, attention_sums);
        let d_output = before_dropout(self.d_sum, self.masks[0], d_output);
        training::add_column_sums(d_output, output_bias);
        let rows = StridedRows::new(d_output, width);
        layer
            .output
            .transposed
            .product(rows, None, (self.d_context, width));
    }
}

/// Gradients before dropout: `d` without it, otherwise `d` times the mask, in `out`.
fn before_dropout<'a>(d: &'a [f32], mask: &[f32], out: &'a mut [f32]) -> &'a [f32] {
    if mask.is_empty() {
        return d;
    }
    let out = &mut out[..d.len()];
    out.copy_from_slice(d);
    training::multiply(out, mask);
    out
}

/// Chunks of a buffer for `count` rows, or as many empty slices if it is empty.
fn chunks_or_empty(
    buffer: &mut [f32],
    chunk: usize,
    count: usize,
) -> rayon::vec::IntoIter<&mut [f32]> {
    let blocks = count.div_ceil(BLOCK_ROWS);
    let mut chunks: Vec<&mut [f32]> = buffer.chunks_mut(chunk).take(blocks).collect();
    chunks.resize_with(blocks, Default::default);
    chunks.into_par_iter()
}

/// Gradient of a weight during a backward pass.
struct WeightGradient {
    name: String,
    values: Vec<f32>,
    /// If `true`, there are gradients to add to.
    accumulate: bool,
}

impl WeightGradient {
    fn new(name: String, len: usize, gradients: &mut ModelGradients, buffers: &BufferPool) -> Self {
        let values = gradients.take_values(&name);
        Self {
            accumulate: values.is_some(),
            values: values.unwrap_or_else(|| buffers.take(len)),
            name,
        }
    }

    /// Adds xᵀ·dy for rows of `x` and `dy`, each given with its width.
    fn add(&mut self, cpu: &CpuTraining, x: (&[f32], usize), dy: (&[f32], usize)) {
        let rows = |(values, width)| (StridedRows::new(values, width), width);
        cpu.with_right_matrix(|right| {
            let (x, dy) = (rows(x), rows(dy));
            weight_gradient(x, dy, cpu.bf16, &mut self.values, self.accumulate, right);
        });
        self.accumulate = true;
    }

    fn finish(self, gradients: &mut ModelGradients) {
        if self.accumulate {
            gradients.set_values(self.name, self.values);
        }
    }
}

/// Backward pass of layer normalization of a block of rows; adds the sums of scale and shift.
fn norm_backward(
    norm: &TrainingNorm,
    d: &mut [f32],
    saved: &NormActivations,
    number: usize,
    sums: &mut [f32],
) {
    let standardized = block(&saved.standardized, number, norm.scale.len());
    let inverses = block(&saved.inverses, number, 1);
    training::layer_norm_backward(d, standardized, inverses, &norm.scale, sums);
}

/// Adds the gradients of scale γ and shift β of a normalization.
fn add_norm(gradients: &mut ModelGradients, name: &str, sums: &[f32]) {
    let (gamma, beta) = sums.split_at(sums.len() / 2);
    gradients.add_values(format!("{name}.gamma"), gamma);
    gradients.add_values(format!("{name}.beta"), beta);
}

fn column_sums(rows: &[f32], width: usize) -> Vec<f32> {
    let mut sums = vec![0.0; width];
    training::add_column_sums(rows, &mut sums);
    sums
}

/// Adds the sums of blocks to `totals`, in order.
fn add_in_order(totals: &mut [f32], blocks: Vec<Vec<f32>>) {
    for block in blocks {
        training::add(totals, &block);
    }
}
