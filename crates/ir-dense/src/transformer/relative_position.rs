//! Relative position bias of MPNet.

use burn::tensor::Tensor;

use super::index_tensor;

/// Attention bias for the distance between tokens, `[1, heads, length, length]`, from the learned
/// bias per bucket and head, `[buckets, heads]`.
pub(crate) fn relative_position_bias(table: Tensor<2>, length: usize) -> Tensor<4> {
    let [buckets, heads] = table.dims();
    let at = |from: usize| (0..length).map(move |to| bucket(from, to, buckets) as i64);
    let indices = index_tensor((0..length).flat_map(at), &table.device());
    let scores = table.select(0, indices).swap_dims(0, 1);
    scores.reshape([1, heads, length, length])
}

/// Bucket of the distance between two positions: one bucket per distance for small distances,
/// then logarithmically spaced buckets up to 128.
///
/// # Source
/// Raffel et al., "Exploring the Limits of Transfer Learning with a Unified Text-to-Text
/// Transformer", JMLR 2020, section 2.1.
pub(super) fn bucket(from: usize, to: usize, buckets: usize) -> usize {
    const MAX_DISTANCE: f32 = 128.0;
    let half = buckets / 2;
    let first = if to > from { half } else { 0 };
    let distance = from.abs_diff(to);
    let exact = half / 2;
    if distance < exact {
        return first + distance;
    }
    let ratio = (distance as f32 / exact as f32).ln() / (MAX_DISTANCE / exact as f32).ln();
    let logarithmic = (ratio * (half - exact) as f32) as usize;
    first + (exact + logarithmic).min(half - 1)
}
