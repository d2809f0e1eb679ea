//! Self-attention on the CPU, head by head.

use rayon::prelude::*;

use super::TokenBatch;
use super::relative_position::bucket;
use crate::TransformerConfig;
use crate::kernels::elementwise;
use crate::kernels::matrix::{PackedMatrix, StridedRows};

#[derive(Debug)]
pub(super) struct CpuAttention {
    heads: usize,
    hidden: usize,
    /// Relative position bias, `[buckets, heads]`; empty without one.
    relative_position_bias: Vec<f32>,
}

/// Buffers of one thread.
#[derive(Default)]
struct Scratch {
    keys: PackedMatrix,
    values: PackedMatrix,
    scores: Vec<f32>,
}

impl CpuAttention {
    pub(super) fn new(config: &TransformerConfig, relative_position_bias: Vec<f32>) -> Self {
        Self {
            heads: config.heads,
            hidden: config.hidden_size,
            relative_position_bias,
        }
    }

    /// Computes the context vector of every token.
    ///
    /// # Shapes
    /// `qkv`: `[tokens, 3 · hidden_size]`; `out`: `[tokens, hidden_size]`.
    pub(super) fn forward(&self, qkv: &[f32], batch: &TokenBatch, out: &mut [f32]) {
        let hidden = self.hidden;
        let lengths = batch.lengths();
        let mut texts = Vec::with_capacity(batch.texts());
        let (mut qkv, mut out) = (qkv, out);
        for length in lengths {
            let (text_qkv, other_qkv) = qkv.split_at(length * 3 * hidden);
            let (text_out, other_out) = out.split_at_mut(length * hidden);
            texts.push((length, text_qkv, text_out));
            (qkv, out) = (other_qkv, other_out);
        }
        texts
            .into_par_iter()
            .for_each_init(Scratch::default, |scratch, (length, qkv, out)| {
                self.text(length, qkv, out, scratch);
            });
    }

    fn text(&self, length: usize, qkv: &[f32], out: &mut [f32], scratch: &mut Scratch) {
        let Scratch {
            keys,
            values,
            scores,
        } = scratch;
        let (hidden, dim) = (self.hidden, self.hidden / self.heads);
        let scale = (dim as f32).sqrt().recip();
        let stride = PackedMatrix::padded(length);
        scores.clear();
        scores.resize(length * stride, 0.0);
        for head in 0..self.heads {
            // 0 is the query of a token, 1 its key, 2 its value.
            let head_vector = |n: usize, token: usize| {
                let at = (3 * token + n) * hidden + head * dim;
                &qkv[at..at + dim]
            };
            keys.fill_by_columns(dim, stride, length, |token| head_vector(1, token));
            values.fill(length, dim, |token, columns, out| {
                out.copy_from_slice(&head_vector(2, token)[columns]);
            });
            let queries = StridedRows {
                values: &qkv[head * dim..],
                stride: 3 * hidden,
                count: length,
            };
            keys.product(queries, None, scores, stride);
            if self.relative_position_bias.is_empty() {
                elementwise::softmax(scores, stride, length, scale);
            } else {
                self.add_position_bias(head, length, scores, stride, scale);
                elementwise::softmax(scores, stride, length, 1.0);
            }
            let probabilities = StridedRows {
                values: scores,
                stride,
                count: length,
            };
            values.product(probabilities, None, &mut out[head * dim..], hidden);
        }
    }

    /// Multiplies scores by `scale` and adds the relative position bias.
    fn add_position_bias(
        &self,
        head: usize,
        length: usize,
        scores: &mut [f32],
        stride: usize,
        scale: f32,
    ) {
        let buckets = self.relative_position_bias.len() / self.heads;
        let bias = |from, to| {
            let row = bucket(from, to, buckets);
            self.relative_position_bias[row * self.heads + head]
        };
        // By offset, from -(length - 1) to length - 1.
        let left = (1..length).rev().map(|offset| bias(offset, 0));
        let right = (0..length).map(|offset| bias(0, offset));
        let biases: Vec<f32> = left.chain(right).collect();
        for (from, row) in scores.chunks_exact_mut(stride).enumerate() {
            let biases = &biases[length - 1 - from..][..length];
            for (score, bias) in row.iter_mut().zip(biases) {
                *score = *score * scale + bias;
            }
        }
    }
}
