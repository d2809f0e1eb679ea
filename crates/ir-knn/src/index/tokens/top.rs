//! Exact selection of the best documents, with early termination.
//!
//! Query tokens are scored a lane block at a time. The product of two tokens is at most the product
//! of their lengths, so that the maxima of the first blocks, and for the other blocks the length of
//! each query token times the maximum length of a document token, bound the score. A document with
//! a bound below the k-th score is left. Query tokens are added in the same order in the bound and
//! in the score: as rounding is monotone, a score is never above its bound.

use super::codebook::norm;
use super::codec::squared_length;
use super::query::{Maxima, QueryTokens};
use crate::simd::{Cpu, PRODUCT_LANES};

/// Above the lengths that underflow.
const MIN_LENGTH: f32 = 1e-18;

/// The best of some candidates, and the work that it took to find them.
///
/// [`SegmentedTokenStore::top`](crate::SegmentedTokenStore::top) has an example.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TopCandidates {
    /// Positions in the list of candidates, and scores: score descending, then position ascending.
    pub best: Vec<(usize, f32)>,
    /// Number of pairs of a query token and a token of a candidate.
    pub pairs: usize,
    /// Number of the pairs that were scored.
    pub scored_pairs: usize,
}

/// Selection of the best `k` candidates: the hits of scoring all of them.
pub(super) struct TopSearch<'a> {
    cpu: Cpu,
    query: &'a QueryTokens,
    k: usize,
    found: TopCandidates,
    maxima: Maxima,
    /// Length of each query token, with a margin for rounding errors.
    lengths: Maxima,
    /// Maximum token length of the last document for which it was computed; 0 before the first.
    /// Token lengths are similar in most collections. So the maximum length of a document is
    /// computed only if this length excludes the document.
    length: f32,
}

impl<'a> TopSearch<'a> {
    pub(super) fn new(cpu: Cpu, query: &'a QueryTokens, k: usize) -> Self {
        // The rounding errors of a product are below (dim + 1) 2⁻²⁴ times both lengths.
        let margin = 1.0 + (query.dim + 64) as f32 / (1 << 22) as f32;
        let lengths = |block: &Vec<[f32; PRODUCT_LANES]>| -> [f32; PRODUCT_LANES] {
            std::array::from_fn(|lane| {
                let values: Vec<f32> = block.iter().map(|values| values[lane]).collect();
                norm(&values) * margin
            })
        };
        Self {
            cpu,
            query,
            k,
            found: TopCandidates {
                best: Vec::new(),
                pairs: 0,
                scored_pairs: 0,
            },
            maxima: query.maxima(),
            lengths: query.blocks().iter().map(lengths).collect(),
            length: 0.0,
        }
    }

    /// Adds the candidate at a position, later than those before, with these vectors. Returns the
    /// score, or an upper bound of the score of a candidate that is not one of the best.
    pub(super) fn add(&mut self, at: usize, rows: &[f32]) -> f32 {
        let tokens = rows.len() / self.query.dim.max(1);
        self.found.pairs += tokens * self.query.tokens;
        if self.k == 0 {
            return 0.0;
        }
        let mut score = 0.0;
        if tokens > 0 {
            for block in 0..self.maxima.len() {
                let before = block * PRODUCT_LANES;
                if block > 0 && self.excludes(block, rows) {
                    self.found.scored_pairs += before * tokens;
                    return self.query.sum(&self.maxima);
                }
                let maxima = &mut self.maxima[block];
                self.query.block_maxima(self.cpu, block, rows, maxima);
            }
            score = self.query.sum(&self.maxima);
        }
        self.found.scored_pairs += self.query.tokens * tokens;
        // The sum with 0 turns -0 into 0.
        let (best, score) = (&mut self.found.best, score + 0.0);
        let place = best.partition_point(|&(_, other)| other >= score);
        if place < self.k {
            best.insert(place, (at, score));
            best.truncate(self.k);
        }
        score
    }

    /// Returns `true` if the maxima of the blocks before `block` exclude the document. With a score
    /// equal to the k-th one, too, a later document is not one of the best.
    fn excludes(&mut self, block: usize, rows: &[f32]) -> bool {
        let Some(&(_, worst)) = self.found.best.get(self.k - 1) else {
            return false;
        };
        if self.bound(block) > worst {
            return false;
        }
        self.length = self.cpu.vectorized(|| {
            let rows = rows.chunks_exact(self.query.dim);
            rows.map(squared_length).fold(0.0, f32::max)
        });
        self.length = self.length.sqrt() + MIN_LENGTH;
        self.bound(block) <= worst
    }

    /// Bound of a score for tokens of the current length. Replaces the maxima from `block` on.
    fn bound(&mut self, block: usize) -> f32 {
        let length = self.length;
        for (maxima, lengths) in self.maxima.iter_mut().zip(&self.lengths).skip(block) {
            // More than all products that underflow.
            *maxima = lengths.map(|of_query| of_query * length + f32::MIN_POSITIVE);
        }
        self.query.sum(&self.maxima)
    }

    pub(super) fn finish(self) -> TopCandidates {
        self.found
    }
}
