//! Relative positions: bias of attention scores, and indices of disentangled attention.

use burn::tensor::Tensor;

use super::index_tensor;
use crate::model_folder::Disentangled;

/// Attention bias for the distance between tokens, `[1, heads, length, length]`, from the learned
/// bias per bucket and head, `[buckets, heads]`.
pub(crate) fn relative_position_bias(
    table: Tensor<2>,
    length: usize,
    max_distance: usize,
) -> Tensor<4> {
    let [buckets, heads] = table.dims();
    let at =
        |from: usize| (0..length).map(move |to| bucket(from, to, buckets, max_distance) as i64);
    let indices = index_tensor((0..length).flat_map(at), &table.device());
    let scores = table.select(0, indices).swap_dims(0, 1);
    scores.reshape([1, heads, length, length])
}

/// Bucket of the distance between two positions: one bucket per distance for small distances,
/// then logarithmically spaced buckets up to `max_distance`.
///
/// # Source
/// Raffel et al., "Exploring the Limits of Transfer Learning with a Unified Text-to-Text
/// Transformer", JMLR 2020, section 2.1.
pub(super) fn bucket(from: usize, to: usize, buckets: usize, max_distance: usize) -> usize {
    let max_distance = max_distance as f32;
    let half = buckets / 2;
    let first = if to > from { half } else { 0 };
    let distance = from.abs_diff(to);
    let exact = half / 2;
    if distance < exact {
        return first + distance;
    }
    let ratio = (distance as f32 / exact as f32).ln() / (max_distance / exact as f32).ln();
    let logarithmic = (ratio * (half - exact) as f32) as usize;
    first + (exact + logarithmic).min(half - 1)
}

/// Index of the embedding of a relative position in disentangled attention.
///
/// # Source
/// He et al., "DeBERTa: Decoding-enhanced BERT with Disentangled Attention", ICLR 2021, formula 3;
/// logarithmic distances as in the code of version 2.
pub(super) fn relative_position_index(from: usize, to: usize, config: Disentangled) -> usize {
    let buckets = config.buckets;
    let (distance, mid) = (from.abs_diff(to), buckets / 2);
    let bucket = if config.max_distance == 0 || distance <= mid {
        distance
    } else {
        let mid = mid as f32;
        let ratio = (distance as f32 / mid).ln() / ((config.max_distance as f32 - 1.0) / mid).ln();
        ((ratio * (mid - 1.0)).ceil() as usize).min(buckets) + buckets / 2
    };
    if from >= to {
        (buckets + bucket).min(2 * buckets - 1)
    } else {
        buckets.saturating_sub(bucket)
    }
}
