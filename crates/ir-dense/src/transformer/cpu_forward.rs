//! Forward pass on the CPU with saved activations, for the backward pass of training.
//!
//! As in [`cpu`](super::cpu), blocks of rows pass through all layers between two attentions while
//! they are in the L2 cache.

use std::cell::RefCell;

use burn::tensor::{Tensor, TensorData};
use rayon::prelude::*;

use super::BLOCK_ROWS;
use super::cpu_attention::CpuAttention;
use super::cpu_training::{CpuTraining, TrainingLayer};
use super::dropout::DropoutSite;
use super::pass::ForwardPass;
use crate::activation::Activation;
use crate::kernels::matrix::{PackedMatrix, StridedRows};
use crate::kernels::{memory, training};

/// Activations of a pass.
#[derive(Debug)]
pub(crate) struct CpuActivations {
    pub(crate) embedding_norm: NormActivations,
    pub(crate) layers: Vec<LayerActivations>,
}

/// Activations of layer normalization.
#[derive(Debug)]
pub(crate) struct NormActivations {
    /// Rows with mean 0 and variance 1.
    pub(crate) standardized: Vec<f32>,
    /// Reciprocal standard deviation of every row.
    pub(crate) inverses: Vec<f32>,
}

#[derive(Debug)]
pub(crate) struct LayerActivations {
    pub(crate) input: Vec<f32>,
    pub(crate) qkv: Vec<f32>,
    /// Attention probabilities before dropout: `[heads, length, length]` of every text.
    pub(crate) probabilities: Vec<f32>,
    /// Input of the output projection.
    pub(crate) context: Vec<f32>,
    pub(crate) attention_norm: NormActivations,
    /// Input of the feed-forward network.
    pub(crate) attended: Vec<f32>,
    /// Feed-forward network before the activation function.
    pub(crate) before: Vec<f32>,
    pub(crate) norm: NormActivations,
}

/// Rows of a block of a matrix with rows of `width` elements; empty if the matrix is empty.
pub(crate) fn block(matrix: &[f32], number: usize, width: usize) -> &[f32] {
    let rest = matrix.get(number * BLOCK_ROWS * width..);
    let rest = rest.unwrap_or_default();
    &rest[..rest.len().min(BLOCK_ROWS * width)]
}

/// Forward pass of a batch without padding tokens.
pub(crate) struct CpuForward<'a> {
    pub(crate) pass: &'a ForwardPass<'a>,
    pub(crate) cpu: &'a CpuTraining,
    pub(crate) attention: &'a CpuAttention,
}

impl CpuForward<'_> {
    /// Returns the hidden state of every token, `[tokens, hidden_size]`, and the saved activations
    /// if [`ForwardPass::save`] is set.
    pub(crate) fn run(&self) -> (Tensor<2>, Option<CpuActivations>) {
        let (pass, model) = (self.pass, self.pass.model);
        let shape = [pass.batch.ids().len(), model.config().hidden_size];
        let (tokens, positions, types) = model.embeddings(pass.batch);
        let mut sum = memory::into_vec(tokens);
        if let Some(positions) = positions {
            training::add(&mut sum, &memory::into_vec(positions));
        }
        if let Some(types) = types.map(memory::into_vec) {
            let rows = sum.par_chunks_mut(types.len().max(1));
            rows.for_each(|rows| training::add(rows, &types));
        }
        let (embedding_norm, mut x) = self.embedding_norm(sum);
        let mask = pass.dropout_mask(DropoutSite::Embeddings, &self.cpu.buffers);
        training::multiply(&mut x, &mask);
        self.cpu.buffers.give([mask]);
        let mut layers = Vec::new();
        for number in 0..self.cpu.layers.len() {
            let saved;
            (x, saved) = self.layer(number, x);
            if pass.save {
                layers.push(saved);
            } else {
                self.cpu.buffers.give(saved.into_buffers());
            }
        }
        let saved = if pass.save {
            Some(CpuActivations {
                embedding_norm,
                layers,
            })
        } else {
            let NormActivations {
                standardized,
                inverses,
            } = embedding_norm;
            // In place of the hidden states, which leave the pool.
            self.cpu.buffers.give([standardized, inverses]);
            None
        };
        let x = Tensor::from_data(TensorData::new(x, shape), &model.device());
        (x, saved)
    }

    fn embedding_norm(&self, mut x: Vec<f32>) -> (NormActivations, Vec<f32>) {
        let buffers = &self.cpu.buffers;
        let norm = &self.cpu.embedding_norm;
        let width = norm.scale.len();
        let mut y = buffers.take(x.len());
        let mut inverses = buffers.take(x.len() / width.max(1));
        let chunk = BLOCK_ROWS * width.max(1);
        let blocks = x.par_chunks_mut(chunk).zip(y.par_chunks_mut(chunk));
        let blocks = blocks.zip(inverses.par_chunks_mut(BLOCK_ROWS));
        blocks.for_each(|((x, y), inverses)| norm.forward(x, &[], y, inverses));
        let saved = NormActivations {
            standardized: x,
            inverses,
        };
        (saved, y)
    }

    /// Returns the output of a layer and its activations.
    fn layer(&self, number: usize, input: Vec<f32>) -> (Vec<f32>, LayerActivations) {
        let (pass, layer, buffers) = (self.pass, &self.cpu.layers[number], &self.cpu.buffers);
        let width = layer.norm.scale.len().max(1);
        let inner = layer.up.width().max(1);
        let activation = pass.model.config().activation;
        let (len, tokens) = (input.len(), input.len() / width);
        let chunk = BLOCK_ROWS * width;
        let mut qkv = buffers.take(3 * len);
        let blocks = qkv.par_chunks_mut(3 * chunk).zip(input.par_chunks(chunk));
        blocks.for_each(|(qkv, x)| {
            layer
                .qkv
                .forward(StridedRows::new(x, width), (qkv, 3 * width));
        });
        let mut context = buffers.take(len);
        let cells = if pass.save {
            self.attention.probabilities(pass.batch)
        } else {
            0
        };
        let mut probabilities = buffers.take(cells);
        pass.with_attention_mask(number, |mask| {
            let (context, probabilities) = (&mut context[..], &mut probabilities[..]);
            self.attention
                .forward_training(&qkv, pass.batch, context, probabilities, mask);
        });

        let masks = [
            DropoutSite::Attention(number),
            DropoutSite::FeedForward(number),
        ];
        let masks = masks.map(|site| pass.dropout_mask(site, buffers));
        let norms = || NormActivations {
            standardized: buffers.take(len),
            inverses: buffers.take(tokens),
        };
        let (mut attention_norm, mut norm) = (norms(), norms());
        let mut attended = buffers.take(len);
        let mut before = buffers.take(tokens * inner);
        let mut y = buffers.take(len);
        let blocks = attention_norm.standardized.par_chunks_mut(chunk);
        let blocks = blocks.zip(attention_norm.inverses.par_chunks_mut(BLOCK_ROWS));
        let blocks = blocks.zip(norm.standardized.par_chunks_mut(chunk));
        let blocks = blocks.zip(norm.inverses.par_chunks_mut(BLOCK_ROWS));
        let blocks = blocks.zip(attended.par_chunks_mut(chunk));
        let blocks = blocks.zip(before.par_chunks_mut(BLOCK_ROWS * inner));
        let blocks = blocks.zip(y.par_chunks_mut(chunk));
        let blocks = blocks.enumerate();
        blocks.for_each(|(number, block)| {
            let ((((((attended_sum, inverse), sum), inverses), attended), before), y) = block;
            FeedForwardBlock {
                layer,
                activation,
                masks: masks
                    .each_ref()
                    .map(|mask| self::block(mask, number, width)),
                attention_norm: (attended_sum, inverse),
                norm: (sum, inverses),
                attended,
                before,
                y,
            }
            .run(
                self::block(&context, number, width),
                self::block(&input, number, width),
            );
        });
        buffers.give(masks);
        let saved = LayerActivations {
            input,
            qkv,
            probabilities,
            context,
            attention_norm,
            attended,
            before,
            norm,
        };
        (y, saved)
    }
}

/// Output projection and feed-forward network of a block of rows.
struct FeedForwardBlock<'a> {
    layer: &'a TrainingLayer,
    activation: Activation,
    /// Dropout masks; empty without dropout.
    masks: [&'a [f32]; 2],
    /// Standardized rows and reciprocal standard deviations.
    attention_norm: (&'a mut [f32], &'a mut [f32]),
    norm: (&'a mut [f32], &'a mut [f32]),
    attended: &'a mut [f32],
    before: &'a mut [f32],
    y: &'a mut [f32],
}

thread_local! {
    static SCRATCH: RefCell<Vec<f32>> = RefCell::default();
}

impl FeedForwardBlock<'_> {
    fn run(self, context: &[f32], input: &[f32]) {
        let Self {
            layer, attended, ..
        } = self;
        let width = layer.norm.scale.len();
        let inner = layer.up.width();
        let (sum, inverses) = self.attention_norm;
        layer
            .output
            .forward(StridedRows::new(context, width), (sum, width));
        training::multiply(sum, self.masks[0]);
        layer.attention_norm.forward(sum, input, attended, inverses);
        let rows = StridedRows::new(attended, width);
        layer.up.forward(rows, (self.before, inner));
        let (sum, inverses) = self.norm;
        SCRATCH.with_borrow_mut(|after| {
            let stride = PackedMatrix::row_stride(inner);
            if after.len() < rows.count * stride {
                after.resize(rows.count * stride, 0.0);
            }
            training::activate(self.activation, self.before, inner, (after, stride));
            let rows = StridedRows {
                values: after,
                stride,
                count: rows.count,
            };
            layer.down.forward(rows, (sum, width));
        });
        training::multiply(sum, self.masks[1]);
        layer.norm.forward(sum, attended, self.y, inverses);
    }
}

impl LayerActivations {
    /// Buffers, to be used again.
    pub(crate) fn into_buffers(self) -> [Vec<f32>; 10] {
        [
            self.input,
            self.qkv,
            self.probabilities,
            self.context,
            self.attention_norm.standardized,
            self.attention_norm.inverses,
            self.attended,
            self.before,
            self.norm.standardized,
            self.norm.inverses,
        ]
    }
}
