//! Self-attention, head by head.

use rayon::prelude::*;

use super::functions;
use super::matrix::{Panels, Rows};
use crate::transformer::bucket;
use crate::{Batch, TransformerConfig};

/// The shape of attention.
#[derive(Debug)]
pub(super) struct Attention {
    heads: usize,
    hidden: usize,
    /// Scores for how far tokens are apart, `[buckets, heads]`; empty when there are none.
    relative: Vec<f32>,
}

/// What one text needs on the way.
#[derive(Default)]
struct Scratch {
    keys: Panels,
    values: Panels,
    scores: Vec<f32>,
}

impl Attention {
    pub(super) fn new(config: &TransformerConfig, relative: Vec<f32>) -> Self {
        Self {
            heads: config.heads,
            hidden: config.hidden,
            relative,
        }
    }

    /// What every token sees of the others of its text.
    ///
    /// # Shapes
    /// `qkv`: `[tokens, 3 · hidden]`; `out`: `[tokens, hidden]`.
    pub(super) fn forward(&self, qkv: &[f32], batch: &Batch, out: &mut [f32]) {
        let hidden = self.hidden;
        let lengths = batch.lengths();
        let mut texts = Vec::with_capacity(batch.texts());
        let (mut qkv, mut out) = (qkv, out);
        for length in lengths {
            let (this, rest) = qkv.split_at(length * 3 * hidden);
            let (place, places) = out.split_at_mut(length * hidden);
            texts.push((length, this, place));
            (qkv, out) = (rest, places);
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
        let stride = Panels::padded(length);
        scores.clear();
        scores.resize(length * stride, 0.0);
        for head in 0..self.heads {
            // The part of a token: 0 for its query, 1 for its key, 2 for its value.
            let part = |n: usize, token: usize| {
                let at = (3 * token + n) * hidden + head * dim;
                &qkv[at..at + dim]
            };
            keys.fill_by_columns(dim, stride, length, |token| part(1, token));
            values.fill(length, dim, |token, columns, out| {
                out.copy_from_slice(&part(2, token)[columns]);
            });
            let queries = Rows {
                values: &qkv[head * dim..],
                stride: 3 * hidden,
                count: length,
            };
            keys.product(queries, None, scores, stride);
            if self.relative.is_empty() {
                functions::softmax(scores, stride, length, scale);
            } else {
                self.add_distances(head, length, scores, stride, scale);
                functions::softmax(scores, stride, length, 1.0);
            }
            let shares = Rows {
                values: scores,
                stride,
                count: length,
            };
            values.product(shares, None, &mut out[head * dim..], hidden);
        }
    }

    /// Scores times `scale`, plus those for the distance.
    fn add_distances(
        &self,
        head: usize,
        length: usize,
        scores: &mut [f32],
        stride: usize,
        scale: f32,
    ) {
        let buckets = self.relative.len() / self.heads;
        let score = |from, to| self.relative[bucket(from, to, buckets) * self.heads + head];
        // From -(length - 1) to length - 1.
        let before = (1..length).rev().map(|apart| score(apart, 0));
        let behind = (0..length).map(|apart| score(0, apart));
        let distances: Vec<f32> = before.chain(behind).collect();
        for (from, row) in scores.chunks_exact_mut(stride).enumerate() {
            let distances = &distances[length - 1 - from..][..length];
            for (score, distance) in row.iter_mut().zip(distances) {
                *score = *score * scale + distance;
            }
        }
    }
}
