//! Self-attention on the CPU, head by head, and its backward pass.

use std::cell::RefCell;
use std::ops::Range;

use rayon::prelude::*;

use super::attended_tokens::{AttendedTokens, Span};
use super::cpu_positions::CpuPositions;
use super::relative_position::bucket;
use super::{BLOCK_ROWS, TokenBatch, Transformer};
use crate::kernels::aligned::AlignedBuffer;
use crate::kernels::elementwise;
use crate::kernels::low_precision::{LowPrecisionMatrix, LowPrecisionRows};
use crate::kernels::matrix::{PackedMatrix, StridedColumns, StridedRows};
use crate::kernels::memory::{self, values};
use crate::kernels::team::ParallelRegion;
use crate::model_folder::{AttentionShape, TransformerConfig};
use crate::precision::Precision;

#[derive(Debug)]
pub(crate) struct CpuAttention {
    shape: AttentionShape,
    /// Factor of attention scores, 1/√d in most architectures.
    scale: f32,
    /// If `true`, a token attends to itself and earlier tokens only.
    causal: bool,
    /// If `true`, products of queries, keys, probabilities and values are in bf16.
    bf16: bool,
    /// Relative position bias, `[buckets, heads]`; empty without one.
    relative_position_bias: Vec<f32>,
    relative_position_distance: usize,
}

/// Attention of one layer.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LayerAttention<'a> {
    /// Maximum distance of a token that is attended to.
    pub(crate) window: Option<usize>,
    /// Relative positions of disentangled attention.
    pub(crate) positions: Option<&'a CpuPositions>,
}

/// Dropout mask of the attention probabilities of a text of the batch, of a given length.
pub(crate) type AttentionMask<'a> = &'a (dyn Fn(usize, usize) -> Vec<f32> + Sync);

/// Buffers of one thread.
#[derive(Default)]
struct Scratch {
    keys: PackedMatrix,
    values: PackedMatrix,
    scores: AlignedBuffer,
    /// Relative position bias by offset.
    biases: Vec<f32>,
    bf16: Bf16Scratch,
}

#[derive(Default)]
struct Bf16Scratch {
    keys: LowPrecisionMatrix,
    values: LowPrecisionMatrix,
    rows: LowPrecisionRows,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// Query, key and value in a row of `qkv`.
#[derive(Clone, Copy)]
enum Projection {
    Query,
    Key,
    Value,
}

impl CpuAttention {
    pub(super) fn new(
        config: &TransformerConfig,
        relative_position_bias: Vec<f32>,
        precision: Precision,
    ) -> Self {
        let layer = &config.layer;
        Self {
            shape: config.attention(),
            scale: config.attention_scale(),
            causal: layer.causal,
            bf16: precision == Precision::Bf16 && layer.is_bert(),
            relative_position_bias,
            relative_position_distance: layer.relative_position_distance,
        }
    }

    /// Attention of a model in CPU memory.
    pub(crate) fn from_model(model: &Transformer) -> Self {
        let table = model.relative_position_bias.as_ref();
        let table = table.map(|table| values(&memory::data(table.val())).to_vec());
        Self::new(model.config(), table.unwrap_or_default(), Precision::F32)
    }

    /// Computes the context vector of every token.
    ///
    /// # Shapes
    /// `qkv`: `[tokens, queries + 2 · keys]`; `out`: `[tokens, queries]`.
    pub(super) fn forward(
        &self,
        layer: LayerAttention<'_>,
        qkv: &[f32],
        batch: &TokenBatch,
        out: &mut [f32],
    ) {
        let run = |(length, qkv, out): (AttendedTokens, &[f32], &mut [f32])| {
            SCRATCH.with_borrow_mut(|scratch| {
                let (heads, out) = (0..self.shape.heads, (out, self.shape.queries()));
                self.text(layer, length, heads, qkv, out, scratch, &[], &mut []);
            });
        };
        let texts = self.texts(qkv, batch, out);
        if batch.texts() <= 1 || batch.ids().len() <= BLOCK_ROWS {
            return texts.for_each(run);
        }
        let texts: Vec<(AttendedTokens, &[f32], &mut [f32])> = texts.collect();
        texts.into_par_iter().for_each(run);
    }

    /// [`CpuAttention::forward`] of a small batch on the threads of a region, which share its
    /// heads.
    pub(super) fn forward_in(
        &self,
        region: &mut ParallelRegion<'_>,
        layer: LayerAttention<'_>,
        qkv: &[f32],
        batch: &TokenBatch,
        out: &mut [f32],
    ) {
        let (width, dim) = (self.shape.queries(), self.shape.head_size);
        for (length, qkv, out) in self.texts(qkv, batch, out) {
            let (shape, out) = ((width, dim), (out, width));
            region.compute_columns(length.queries, shape, out, |columns, out| {
                let heads = columns.start / dim..columns.end / dim;
                SCRATCH.with_borrow_mut(|scratch| {
                    self.text(layer, length, heads, qkv, out, scratch, &[], &mut []);
                });
            });
        }
    }

    /// Length of every text, and its rows of `qkv` and `out`.
    fn texts<'a>(
        &self,
        qkv: &'a [f32],
        batch: &TokenBatch,
        out: &'a mut [f32],
    ) -> impl Iterator<Item = (AttendedTokens, &'a [f32], &'a mut [f32])> {
        let (mut qkv, mut out) = (qkv, out);
        let (qkv_width, width) = (self.shape.qkv(), self.shape.queries());
        let lengths = batch.lengths().zip(batch.unpadded_lengths());
        lengths.map(move |(queries, keys)| {
            let (text_qkv, other_qkv) = qkv.split_at(queries * qkv_width);
            let (text_out, other_out) = std::mem::take(&mut out).split_at_mut(queries * width);
            (qkv, out) = (other_qkv, other_out);
            (AttendedTokens::all(queries, keys), text_qkv, text_out)
        })
    }

    /// Number of attention probabilities of a batch: `[heads, length, length]` of every text.
    pub(super) fn probabilities(&self, batch: &TokenBatch) -> usize {
        let cells = batch
            .lengths()
            .map(|length| self.shape.heads * length * length);
        cells.sum()
    }

    /// [`CpuAttention::forward`] with dropout. Writes the attention probabilities before dropout,
    /// unless `saved` is empty.
    pub(super) fn forward_training(
        &self,
        qkv: &[f32],
        batch: &TokenBatch,
        out: &mut [f32],
        mut saved: &mut [f32],
        mask: Option<AttentionMask<'_>>,
    ) {
        let texts = self.texts(qkv, batch, out).map(|text| {
            let length = text.0.queries;
            let count = (self.shape.heads * length * length).min(saved.len());
            let (of_text, others) = std::mem::take(&mut saved).split_at_mut(count);
            saved = others;
            (text, of_text)
        });
        let texts: Vec<_> = texts.collect();
        let texts = texts.into_par_iter().enumerate();
        texts.for_each(|(text, ((length, qkv, out), saved))| {
            let mask = mask.map_or_else(Vec::new, |mask| mask(text, length.queries));
            SCRATCH.with_borrow_mut(|scratch| {
                let (heads, out) = (0..self.shape.heads, (out, self.shape.queries()));
                let layer = LayerAttention::default();
                self.text(layer, length, heads, qkv, out, scratch, &mask, saved);
            });
        });
    }

    /// Computes the context vectors of a text in some heads: `out` has their columns, in rows
    /// `out.1` elements apart. `mask` and `saved` are `[heads, length, length]`, or empty, as they
    /// must be in bf16, in causal attention and with a window. The probabilities of tokens that are
    /// not attended to are saved as 0.
    #[allow(clippy::too_many_arguments)]
    fn text(
        &self,
        layer: LayerAttention<'_>,
        text: AttendedTokens,
        heads: Range<usize>,
        qkv: &[f32],
        (out, out_stride): (&mut [f32], usize),
        scratch: &mut Scratch,
        mask: &[f32],
        saved: &mut [f32],
    ) {
        let Scratch {
            keys,
            values,
            scores,
            biases,
            bf16,
        } = scratch;
        let (dim, length) = (self.shape.head_size, text.queries);
        let text = AttendedTokens {
            causal: self.causal,
            window: layer.window,
            ..text
        };
        let cells = length * length;
        let first = heads.start;
        let spans = |head| text.spans().map(move |span| (head, span));
        for (head, span) in heads.flat_map(spans) {
            let span = &span;
            let count = span.keys.len();
            let out = &mut out[span.queries.start * out_stride + (head - first) * dim..];
            if count == 0 {
                let rows = out.chunks_mut(out_stride).take(span.queries.len());
                rows.for_each(|row| row[..dim].fill(0.0));
                if !saved.is_empty() {
                    saved[head * cells..][..cells].fill(0.0);
                }
                continue;
            }
            let stride = PackedMatrix::padded(count);
            let scores = scores.resize_stale(span.queries.len() * stride);
            let rows = |part: Projection, tokens: &Range<usize>| StridedRows {
                values: &qkv[tokens.start * self.shape.qkv() + self.column(head, part)..],
                stride: self.shape.qkv(),
                count: tokens.len(),
            };
            let queries = rows(Projection::Query, &span.queries);
            if self.bf16 {
                let keys = &mut bf16.keys;
                keys.fill_columns(dim, rows(Projection::Key, &span.keys), &mut bf16.rows);
                keys.product(
                    queries,
                    &[],
                    None,
                    (&mut scores[..], stride),
                    &mut bf16.rows,
                );
            } else {
                let key = |at| self.head_vector(qkv, head, Projection::Key, span.keys.start + at);
                keys.fill_by_columns(dim, stride, count, key);
                keys.product(queries, None, scores, stride);
            }
            if let Some(positions) = layer.positions {
                let keys = rows(Projection::Key, &span.keys);
                positions.add_scores(head, queries, keys, (&mut scores[..], stride));
            }
            let mut scale = self.scale;
            if !self.relative_position_bias.is_empty() {
                let rows = (&mut scores[..], stride);
                self.add_position_bias(head, length, rows, scale, biases);
                scale = 1.0;
            }
            if text.is_masked() {
                Self::mask_scores(span, text, (&mut scores[..], stride));
            }
            if self.bf16 {
                let Bf16Scratch {
                    values, rows: left, ..
                } = bf16;
                left.round_softmax(scores, stride, count, scale);
                values.fill_rows(rows(Projection::Value, &span.keys), dim);
                values.product_of_words(left, length, &[], None, (out, out_stride));
                continue;
            }
            elementwise::softmax(scores, stride, count, scale);
            if text.is_masked() && text.keys < text.queries {
                let rows = scores.chunks_exact_mut(stride).zip(span.queries.clone());
                // The context of a token that attends to no token is 0.
                let rows = rows.filter(|(_, query)| text.attended(*query).is_empty());
                rows.for_each(|(row, _)| row.fill(0.0));
            }
            if !saved.is_empty() {
                let rows = saved[head * cells..].chunks_exact_mut(length);
                for (saved, row) in rows.zip(scores.chunks_exact(stride)) {
                    let (attended, others) = saved.split_at_mut(count);
                    attended.copy_from_slice(&row[..count]);
                    others.fill(0.0);
                }
            }
            if !mask.is_empty() {
                let rows = scores.chunks_exact_mut(stride);
                for (row, mask) in rows.zip(mask[head * cells..].chunks_exact(length)) {
                    row.iter_mut().zip(mask).for_each(|(x, mask)| *x *= mask);
                }
            }
            let probabilities = StridedRows {
                values: scores,
                stride,
                count: span.queries.len(),
            };
            values.fill_rows(rows(Projection::Value, &span.keys), dim);
            values.product(probabilities, None, out, out_stride);
        }
    }

    /// Replaces the scores of tokens that are not attended to by -∞.
    fn mask_scores(span: &Span, text: AttendedTokens, (scores, stride): (&mut [f32], usize)) {
        let rows = scores.chunks_exact_mut(stride);
        for (row, query) in rows.zip(span.queries.clone()) {
            let attended = text.attended(query);
            let before = attended.start.saturating_sub(span.keys.start);
            row[..before].fill(f32::NEG_INFINITY);
            let count = span.keys.len();
            row[attended.end - span.keys.start..count].fill(f32::NEG_INFINITY);
        }
    }

    /// Column of a head's query, key or value in a row of `qkv`.
    fn column(&self, head: usize, part: Projection) -> usize {
        let shape = self.shape;
        // Consecutive query heads share a key and a value.
        let shared = head * shape.key_value_heads / shape.heads * shape.head_size;
        match part {
            Projection::Query => head * shape.head_size,
            Projection::Key => shape.queries() + shared,
            Projection::Value => shape.queries() + shape.keys() + shared,
        }
    }

    /// Vector of a token in a head.
    fn head_vector<'a>(
        &self,
        qkv: &'a [f32],
        head: usize,
        part: Projection,
        token: usize,
    ) -> &'a [f32] {
        let at = token * self.shape.qkv() + self.column(head, part);
        &qkv[at..at + self.shape.head_size]
    }

    /// Multiplies scores by `scale` and adds the relative position bias.
    fn add_position_bias(
        &self,
        head: usize,
        length: usize,
        (scores, stride): (&mut [f32], usize),
        scale: f32,
        biases: &mut Vec<f32>,
    ) {
        let heads = self.shape.heads;
        let buckets = self.relative_position_bias.len() / heads;
        let bias = |from, to| {
            let row = bucket(from, to, buckets, self.relative_position_distance);
            self.relative_position_bias[row * heads + head]
        };
        // By offset, from -(length - 1) to length - 1.
        let left = (1..length).rev().map(|offset| bias(offset, 0));
        let right = (0..length).map(|offset| bias(0, offset));
        biases.clear();
        biases.extend(left.chain(right));
        for (from, row) in scores.chunks_exact_mut(stride).enumerate() {
            let biases = &biases[length - 1 - from..][..length];
            for (score, bias) in row.iter_mut().zip(biases) {
                *score = *score * scale + bias;
            }
        }
    }
}

/// Buffers of one thread in the backward pass.
#[derive(Default)]
struct BackwardScratch {
    values: PackedMatrix,
    rows: PackedMatrix,
    d_scores: Vec<f32>,
    dropped: Vec<f32>,
}

thread_local! {
    static BACKWARD_SCRATCH: RefCell<BackwardScratch> = RefCell::default();
}

/// A text in the backward pass.
struct TextGradient<'a> {
    length: usize,
    qkv: &'a [f32],
    /// `[heads, length, length]`.
    probabilities: &'a [f32],
    /// `[heads, length, length]`, or empty.
    mask: Vec<f32>,
    d_context: &'a [f32],
}

impl CpuAttention {
    /// Backward pass: writes the gradients of `qkv`. Returns the gradients of the relative position
    /// bias (empty without one).
    ///
    /// # Shapes
    /// `qkv`, `d_qkv`: `[tokens, 3 · hidden_size]`; `probabilities`: as
    /// [`CpuAttention::forward_training`] writes them; `d_context`: `[tokens, hidden_size]`.
    pub(crate) fn backward(
        &self,
        (qkv, d_qkv): (&[f32], &mut [f32]),
        batch: &TokenBatch,
        probabilities: &[f32],
        mask: Option<AttentionMask<'_>>,
        d_context: &[f32],
    ) -> Vec<f32> {
        let hidden = self.shape.queries();
        let mut texts = Vec::with_capacity(batch.texts());
        let (mut qkv, mut d_context, mut rest) = (qkv, d_context, d_qkv);
        let mut probabilities = probabilities;
        for length in batch.lengths() {
            let (text_qkv, other_qkv) = qkv.split_at(length * 3 * hidden);
            let (text_context, other_context) = d_context.split_at(length * hidden);
            let (out, others) = rest.split_at_mut(length * 3 * hidden);
            let of_text;
            (of_text, probabilities) = probabilities.split_at(self.shape.heads * length * length);
            texts.push((length, text_qkv, text_context, of_text, out));
            (qkv, d_context, rest) = (other_qkv, other_context, others);
        }
        let texts = texts.into_par_iter().enumerate();
        let d_biases = texts.map(|(text, (length, qkv, d_context, probabilities, out))| {
            let gradient = TextGradient {
                length,
                qkv,
                probabilities,
                mask: mask.map_or_else(Vec::new, |mask| mask(text, length)),
                d_context,
            };
            BACKWARD_SCRATCH.with_borrow_mut(|scratch| self.text_backward(&gradient, out, scratch))
        });
        let d_biases: Vec<Vec<f32>> = d_biases.collect();
        // In the order of the texts.
        let mut d_bias = vec![0.0; self.relative_position_bias.len()];
        for text in d_biases {
            d_bias.iter_mut().zip(text).for_each(|(sum, d)| *sum += d);
        }
        d_bias
    }

    /// Returns the gradient of the relative position bias.
    fn text_backward(
        &self,
        text: &TextGradient<'_>,
        d_qkv: &mut [f32],
        scratch: &mut BackwardScratch,
    ) -> Vec<f32> {
        let BackwardScratch {
            values,
            rows,
            d_scores,
            dropped,
        } = scratch;
        let (hidden, length) = (self.shape.queries(), text.length);
        let (dim, scale) = (self.shape.head_size, self.scale);
        let stride = PackedMatrix::padded(length);
        let cells = length * length;
        d_scores.resize(length * stride, 0.0);
        let mut d_bias = vec![0.0; self.relative_position_bias.len()];
        if length == 0 {
            return d_bias;
        }
        for head in 0..self.shape.heads {
            let probabilities = &text.probabilities[head * cells..][..cells];
            let mask = text.mask.get(head * cells..).unwrap_or_default();
            let vector = |part, token| self.head_vector(text.qkv, head, part, token);
            let projection = |part: Projection| StridedRows {
                values: &text.qkv[part as usize * hidden + head * dim..],
                stride: 3 * hidden,
                count: length,
            };
            let d_context = StridedRows {
                values: &text.d_context[head * dim..],
                stride: hidden,
                count: length,
            };
            // Of the values: the transposed probabilities after dropout, times the gradients.
            rows.fill_rows(d_context, dim);
            let mut after_dropout = probabilities;
            if !mask.is_empty() {
                dropped.clear();
                dropped.extend(probabilities.iter().zip(mask).map(|(x, mask)| x * mask));
                after_dropout = dropped;
            }
            let transposed = |values, stride| StridedColumns {
                values,
                stride,
                count: length,
            };
            let out = |part: Projection| part as usize * hidden + head * dim;
            let left = transposed(after_dropout, length);
            let d_values = &mut d_qkv[out(Projection::Value)..];
            rows.product_of_columns(left, false, d_values, 3 * hidden);
            // Of the scores.
            values.fill_by_columns(dim, stride, length, |token| {
                vector(Projection::Value, token)
            });
            values.product(d_context, None, d_scores, stride);
            elementwise::softmax_backward(d_scores, stride, probabilities, mask, length, scale);
            self.add_bias_gradient(head, d_scores, stride, scale, &mut d_bias);
            // Of queries and keys.
            rows.fill_rows(projection(Projection::Key), dim);
            let left = StridedRows {
                values: d_scores,
                stride,
                count: length,
            };
            rows.product(left, None, &mut d_qkv[out(Projection::Query)..], 3 * hidden);
            rows.fill_rows(projection(Projection::Query), dim);
            let left = transposed(d_scores, stride);
            let d_keys = &mut d_qkv[out(Projection::Key)..];
            rows.product_of_columns(left, false, d_keys, 3 * hidden);
        }
        d_bias
    }

    fn add_bias_gradient(
        &self,
        head: usize,
        d_scores: &[f32],
        stride: usize,
        scale: f32,
        d_bias: &mut [f32],
    ) {
        let buckets = d_bias.len() / self.shape.heads;
        if buckets == 0 {
            return;
        }
        // By offset, from -(length - 1) to length - 1.
        let last = d_scores.len() / stride - 1;
        let mut sums = vec![0.0; 2 * last + 1];
        for (from, row) in d_scores.chunks_exact(stride).enumerate() {
            let sums = sums[last - from..].iter_mut().take(last + 1);
            sums.zip(row).for_each(|(sum, d)| *sum += d);
        }
        for (at, sum) in sums.into_iter().enumerate() {
            let (from, to) = (last.saturating_sub(at), at.saturating_sub(last));
            let row = bucket(from, to, buckets, self.relative_position_distance);
            d_bias[row * self.shape.heads + head] += sum / scale;
        }
    }
}
