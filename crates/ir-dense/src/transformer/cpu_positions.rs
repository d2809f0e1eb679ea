//! Relative positions of disentangled attention on the CPU.

use std::cell::RefCell;

use super::relative_position::relative_position_index;
use super::weights::{LayerWeights, LinearWeights};
use crate::kernels::matrix::{PackedMatrix, StridedRows};
use crate::model_folder::{Disentangled, TransformerConfig};

/// Keys and queries of relative positions, which depend on weights alone.
#[derive(Debug)]
pub(crate) struct CpuPositions {
    config: Disentangled,
    /// Per head, `[head_size, 2 · buckets]`; empty if queries are not compared with positions.
    keys: Vec<PackedMatrix>,
    /// Per head, `[head_size, 2 · buckets]`; empty if keys are not compared with positions.
    queries: Vec<PackedMatrix>,
}

thread_local! {
    /// Scores of contents with positions, and indices by offset.
    static SCRATCH: RefCell<(Vec<f32>, Vec<usize>)> = RefCell::default();
}

impl CpuPositions {
    /// Projects the embeddings of relative positions, `[2 · buckets, hidden_size]`.
    pub(super) fn new(
        config: &TransformerConfig,
        disentangled: Disentangled,
        embeddings: &[f32],
        layer: &LayerWeights,
    ) -> Self {
        let shape = config.attention();
        let per_head = |wanted: bool, own: Option<&LinearWeights>, part: usize| {
            if !wanted {
                return Vec::new();
            }
            let shared;
            let linear = match own {
                Some(own) => own,
                None => {
                    let first = part * shape.queries();
                    shared = layer.qkv.columns(first..first + shape.queries());
                    &shared
                }
            };
            let (count, to) = (2 * disentangled.buckets, linear.to);
            let mut rows = vec![0.0; count * to];
            let weight = PackedMatrix::new(&linear.weight, config.hidden_size, to);
            let left = StridedRows::new(embeddings, config.hidden_size);
            weight.product(left, linear.bias.as_deref(), &mut rows, to);
            let heads = (0..shape.heads).map(|head| {
                let mut packed = PackedMatrix::default();
                packed.fill_by_columns(shape.head_size, count, count, |position| {
                    &rows[position * to + head * shape.head_size..][..shape.head_size]
                });
                packed
            });
            heads.collect()
        };
        Self {
            config: disentangled,
            keys: per_head(
                disentangled.content_to_position,
                layer.position_key.as_ref(),
                1,
            ),
            queries: per_head(
                disentangled.position_to_content,
                layer.position_query.as_ref(),
                0,
            ),
        }
    }

    /// Adds the scores of queries with the positions of keys, and of keys with the positions of
    /// queries, of a text.
    pub(super) fn add_scores(
        &self,
        head: usize,
        queries: StridedRows<'_>,
        keys: StridedRows<'_>,
        (scores, stride): (&mut [f32], usize),
    ) {
        let (length, width) = (queries.count, 2 * self.config.buckets);
        SCRATCH.with_borrow_mut(|(products, indices)| {
            indices.clear();
            // By offset of query and key, from -(length - 1) to length - 1.
            let before = (1..length).rev().map(|offset| (0, offset));
            let after = (0..length).map(|offset| (offset, 0));
            let index = |(from, to)| relative_position_index(from, to, self.config);
            indices.extend(before.chain(after).map(index));
            products.resize(length * width, 0.0);
            let mut add = |positions: &PackedMatrix, left, by_key: bool| {
                positions.product(left, None, products, width);
                for (query, row) in scores.chunks_exact_mut(stride).enumerate() {
                    for (key, score) in row[..length].iter_mut().enumerate() {
                        let row = if by_key { key } else { query };
                        *score += products[row * width + indices[query + length - 1 - key]];
                    }
                }
            };
            if let Some(positions) = self.keys.get(head) {
                add(positions, queries, false);
            }
            if let Some(positions) = self.queries.get(head) {
                add(positions, keys, true);
            }
        });
    }
}
