//! 8-bit codes of the nodes' vectors.
//!
//! The centroid is subtracted from the vectors first (from the normalized ones, under cosine
//! similarity), so that 8 bits can distinguish vectors that are far from the origin and close
//! together. A vector is then y ≈ s c: scale s, integer codes |c| ≤ 127. For a query z = t b, the
//! proximity is
//!
//! - Euclidean, cosine (of normalized vectors): ⟨z, y⟩ − ‖y‖²/2 = t (s ⟨b, c⟩ + bias / t),
//!   where bias = −‖y‖²/2;
//! - inner product, centroid m: ⟨z, y⟩ + ⟨m, y⟩ for a node as query, from which m was subtracted,
//!   and ⟨z, y⟩ for any other query.
//!
//! Proximities and similarities have the same order, except for quantization errors. All scales are
//! relative to the largest one, so that nothing overflows.
//!
//! A record contains the codes with 128 added, zeros, and in its last eight bytes scale and bias.
//! Its size is a multiple of a cache line.

use ir_core::VectorSimilarity;
use rayon::prelude::*;

use super::beam::Proximity;
use crate::index::similarity::WideQuery;
use crate::simd::{AlignedBytes, CACHE_LINE, Cpu, huge_pages};

/// Bytes of scale and bias at the end of a record.
const TRAILER: usize = 8;

/// Size of a record in bytes.
pub(super) const fn record_size(dim: usize) -> usize {
    (dim + TRAILER).next_multiple_of(CACHE_LINE)
}

/// Query of a graph search.
#[derive(Debug, Default)]
pub(super) struct GraphQuery {
    /// Codes, padded with zeros to the size of a record.
    codes: Vec<i8>,
    /// −128 × the sum of the codes.
    initial_sum: i32,
    /// Factor of the records' bias.
    bias: f32,
    /// The query in f64, if nodes have no codes.
    pub(super) wide: WideQuery,
    /// Products with the codes of some nodes.
    sums: Vec<i32>,
    /// Proximities of the same nodes.
    pub(super) proximities: Vec<Proximity>,
}

/// Codes of all nodes.
#[derive(Debug, Clone, Copy)]
pub(super) struct NodeCodes<'a> {
    pub(super) cpu: Cpu,
    pub(super) similarity: VectorSimilarity,
    pub(super) centroid: &'a [f32],
    /// The largest scale, the unit of the others.
    pub(super) step: f64,
    pub(super) records: &'a [u8],
}

/// Number of vectors that determine the centroid.
const CENTROID_SAMPLE: usize = 1023;

/// Centroid of the first of `count` vectors, which are in random order (of the normalized ones,
/// under cosine similarity): the median of each dimension, which is robust against outliers.
pub(super) fn centroid<'r>(
    similarity: VectorSimilarity,
    dim: usize,
    count: usize,
    vector: impl Fn(usize) -> &'r [f32],
) -> Vec<f32> {
    let sample: Vec<(&[f32], f64)> = (0..count.min(CENTROID_SAMPLE))
        .map(vector)
        .map(|vector| (vector, normalization(similarity, vector)))
        .collect();
    if sample.is_empty() {
        return vec![0.0; dim];
    }
    let mut values = Vec::with_capacity(sample.len());
    (0..dim)
        .map(|column| {
            values.clear();
            values.extend(
                sample
                    .iter()
                    .map(|(vector, factor)| f64::from(vector[column]) * factor),
            );
            let half = values.len() / 2;
            let (_, &mut median, _) = values.select_nth_unstable_by(half, f64::total_cmp);
            median as f32
        })
        .collect()
}

/// Factor that normalizes a vector under cosine similarity; else 1.
fn normalization(similarity: VectorSimilarity, vector: &[f32]) -> f64 {
    match similarity {
        VectorSimilarity::Cosine => {
            let squared_norm: f64 = vector.iter().map(|&x| f64::from(x) * f64::from(x)).sum();
            1.0 / squared_norm.sqrt()
        }
        _ => 1.0,
    }
}

/// Quantizer with reusable buffers.
struct NodeEncoder<'a> {
    cpu: Cpu,
    similarity: VectorSimilarity,
    centroid: &'a [f32],
    wide: Vec<f64>,
    narrow: Vec<f32>,
}

impl<'a> NodeEncoder<'a> {
    fn new(cpu: Cpu, similarity: VectorSimilarity, centroid: &'a [f32]) -> Self {
        Self {
            cpu,
            similarity,
            centroid,
            wide: vec![0.0; centroid.len()],
            narrow: vec![0.0; centroid.len()],
        }
    }

    /// Writes the codes of a vector, with 128 added, and returns its scale and its bias: −‖y‖²/2 or
    /// ⟨m, y⟩.
    fn encode(&mut self, vector: &[f32], subtract_centroid: bool, codes: &mut [u8]) -> (f64, f64) {
        let factor = normalization(self.similarity, vector);
        let mut largest = 0.0_f64;
        for ((wide, &value), &center) in self.wide.iter_mut().zip(vector).zip(self.centroid) {
            *wide = f64::from(value) * factor;
            if subtract_centroid {
                *wide -= f64::from(center);
            }
            largest = largest.max(wide.abs());
        }
        let inverse = if largest > 0.0 { 1.0 / largest } else { 0.0 };
        for (narrow, &wide) in self.narrow.iter_mut().zip(&self.wide) {
            *narrow = (wide * inverse) as f32;
        }
        let quantized = self.cpu.quantize(&self.narrow, codes);
        let bias = match self.similarity {
            VectorSimilarity::InnerProduct => self.cpu.dot(&self.wide, self.centroid),
            _ => -self.wide.iter().map(|y| y * y).sum::<f64>() / 2.0,
        };
        (largest * f64::from(quantized.scale), bias)
    }
}

/// Quantizes the vectors of all nodes; returns the records and the largest scale.
pub(super) fn encode_nodes<'r>(
    cpu: Cpu,
    similarity: VectorSimilarity,
    centroid: &[f32],
    count: usize,
    vector: impl Fn(usize) -> &'r [f32] + Sync,
) -> (AlignedBytes, f64) {
    let dim = centroid.len();
    let size = record_size(dim);
    let mut records = AlignedBytes::zeros(count * size);
    huge_pages::advise(records.as_ref());
    let stats: Vec<(f64, f64)> = records
        .as_mut()
        .par_chunks_mut(size)
        .enumerate()
        .map_init(
            || NodeEncoder::new(cpu, similarity, centroid),
            |encoder, (at, record)| encoder.encode(vector(at), true, &mut record[..dim]),
        )
        .collect();
    let largest = stats
        .iter()
        .fold(0.0, |largest, &(scale, _)| scale.max(largest));
    let largest = if largest > 0.0 { largest } else { 1.0 };
    for (record, (scale, bias)) in records.as_mut().chunks_exact_mut(size).zip(stats) {
        let scale = (scale / largest) as f32;
        let bias = (bias / largest / largest) as f32;
        let bias = bias.clamp(f32::MIN, f32::MAX);
        record[size - TRAILER..size - 4].copy_from_slice(&scale.to_le_bytes());
        record[size - 4..].copy_from_slice(&bias.to_le_bytes());
    }
    (records, largest)
}

/// Factor of the bias for a query of the given scale, clamped to remain finite.
fn bias_factor(scale: f64) -> f32 {
    (1.0 / scale.clamp(1e-18, 1e18)) as f32
}

impl<'a> NodeCodes<'a> {
    fn size(self) -> usize {
        record_size(self.centroid.len())
    }

    fn record(self, node: u32) -> &'a [u8] {
        &self.records[node as usize * self.size()..][..self.size()]
    }

    /// Scale and bias of a node.
    fn stats(self, node: u32) -> (f32, f32) {
        let record = self.record(node);
        let (_, &[a, b, c, d, e, f, g, h]) =
            record.split_last_chunk().unwrap_or((&[], &[0; TRAILER]));
        (
            f32::from_le_bytes([a, b, c, d]),
            f32::from_le_bytes([e, f, g, h]),
        )
    }

    /// Quantizes a validated query and reuses the buffers of another.
    pub(super) fn set_query(self, vector: &[f32], query: &mut GraphQuery) {
        let subtract_centroid = self.similarity != VectorSimilarity::InnerProduct;
        let mut codes = vec![0; self.centroid.len()];
        let mut encoder = NodeEncoder::new(self.cpu, self.similarity, self.centroid);
        let (scale, _) = encoder.encode(vector, subtract_centroid, &mut codes);
        let bias = if subtract_centroid {
            bias_factor(scale / self.step)
        } else {
            0.0
        };
        self.set_codes(&codes, bias, query);
    }

    /// Replaces the query by a node's codes.
    pub(super) fn set_query_to_node(self, node: u32, query: &mut GraphQuery) {
        let codes = &self.record(node)[..self.centroid.len()];
        let (scale, _) = self.stats(node);
        self.set_codes(codes, bias_factor(f64::from(scale)), query);
    }

    /// Replaces the query by codes to which 128 is added, and reuses its buffers.
    fn set_codes(self, codes: &[u8], bias: f32, query: &mut GraphQuery) {
        query.codes.clear();
        query
            .codes
            .extend(codes.iter().map(|&code| (code ^ 0x80) as i8));
        let sum: i32 = query.codes.iter().map(|&code| i32::from(code)).sum();
        query.codes.resize(self.size(), 0);
        query.initial_sum = -128 * sum;
        query.bias = bias;
    }

    /// Proximities of some nodes.
    pub(super) fn proximities<'q>(
        self,
        query: &'q mut GraphQuery,
        nodes: &[u32],
    ) -> &'q [Proximity] {
        if query.sums.len() < nodes.len() {
            query.sums.resize(nodes.len(), 0);
        }
        self.cpu
            .dot_records(self.records, nodes, &query.codes, &mut query.sums);
        query.proximities.clear();
        let products = nodes.iter().zip(&query.sums);
        query.proximities.extend(products.map(|(&node, &sum)| {
            let (scale, bias) = self.stats(node);
            let value = sum.wrapping_add(query.initial_sum) as f32 * scale + query.bias * bias;
            Proximity::new(value)
        }));
        &query.proximities
    }
}
