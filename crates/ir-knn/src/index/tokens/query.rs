//! Token vectors of a query, and the exact MaxSim score.

use ir_core::{SearchError, TokenVectors};

use super::codec::{MAX_MAGNITUDE, first_beyond};
use super::lanes::{for_each_row, lane_block};
use crate::simd::{Cpu, PRODUCT_LANES};

/// MaxSim score of a document: the sum over the query's tokens of the maximum inner product with a
/// token of the document.
///
/// Inner products are summed in f32, one fused multiply-add per dimension in order, and the maxima
/// in f64, in the order of the query's tokens; the sum is rounded to f32. So a score has the same
/// bits on every CPU and in every batch. The score is 0 if the query or the document has no tokens.
///
/// # Errors
/// Returns [`SearchError`] if the dimensions differ, or a component of the query or the document is
/// NaN, infinite, or of a magnitude above 10¹⁵.
///
/// # Examples
/// ```
/// use ir_core::TokenVectors;
/// use ir_knn::max_sim;
/// let query = TokenVectors::new(2, vec![1.0, 0.0, 0.0, 1.0], vec![0..3, 4..7]);
/// let document = TokenVectors::new(2, vec![0.5, 0.25, -1.0, 0.75], vec![0..1, 2..3]);
/// assert_eq!(max_sim(&query, &document)?, 0.5 + 0.75);
/// # Ok::<(), ir_core::SearchError>(())
/// ```
///
/// # Source
/// Khattab and Zaharia, "ColBERT", SIGIR 2020.
pub fn max_sim(query: &TokenVectors, document: &TokenVectors) -> Result<f32, SearchError> {
    let query = QueryTokens::new(query)?;
    query.check(document)?;
    let mut maxima = query.maxima();
    Ok(query.score(Cpu::detect(), &document.values, &mut maxima))
}

/// Valid token vectors of a query, in lane blocks.
#[derive(Debug)]
pub(super) struct QueryTokens {
    /// 0 if there are no tokens.
    pub(super) dim: usize,
    pub(super) tokens: usize,
    blocks: Vec<Vec<[f32; PRODUCT_LANES]>>,
}

/// Maximum of each query token, by lane block.
pub(super) type Maxima = Vec<[f32; PRODUCT_LANES]>;

impl QueryTokens {
    pub(super) fn new(query: &TokenVectors) -> Result<Self, SearchError> {
        check_values(query)?;
        let dim = if query.is_empty() { 0 } else { query.dim };
        let blocks = query.values.chunks(PRODUCT_LANES * dim.max(1));
        Ok(Self {
            dim,
            tokens: query.len(),
            blocks: blocks.map(|rows| lane_block(dim, rows)).collect(),
        })
    }

    /// Checks the dimension of a store.
    pub(super) fn check_dim(&self, expected: usize) -> Result<(), SearchError> {
        if self.tokens == 0 || self.dim == expected {
            return Ok(());
        }
        Err(SearchError::Dimensions {
            expected,
            found: self.dim,
        })
    }

    /// Checks the vectors of a document that is not in a store.
    pub(super) fn check(&self, document: &TokenVectors) -> Result<(), SearchError> {
        check_values(document)?;
        if document.is_empty() {
            return Ok(());
        }
        self.check_dim(document.dim)
    }

    pub(super) fn blocks(&self) -> &[Vec<[f32; PRODUCT_LANES]>] {
        &self.blocks
    }

    /// Buffer of [`QueryTokens::score`].
    pub(super) fn maxima(&self) -> Maxima {
        vec![[0.0; PRODUCT_LANES]; self.blocks.len()]
    }

    /// Maxima of the products of the query tokens of a lane block with the rows, of which there is
    /// at least one. Among equal products, the first one counts.
    #[inline]
    pub(super) fn block_maxima(
        &self,
        cpu: Cpu,
        block: usize,
        rows: &[f32],
        maxima: &mut [f32; PRODUCT_LANES],
    ) {
        *maxima = [f32::NEG_INFINITY; PRODUCT_LANES];
        for_each_row(cpu, &self.blocks[block], rows, |_, products| {
            for (max, &product) in maxima.iter_mut().zip(products) {
                *max = if product > *max { product } else { *max };
            }
        });
    }

    /// Sum of the maxima of all query tokens.
    pub(super) fn sum(&self, maxima: &Maxima) -> f32 {
        let maxima = maxima.as_flattened().iter().take(self.tokens);
        maxima.fold(0.0, |sum, &max| sum + f64::from(max)) as f32
    }

    /// MaxSim score of a document of row-major vectors; `maxima` is a buffer.
    pub(super) fn score(&self, cpu: Cpu, rows: &[f32], maxima: &mut Maxima) -> f32 {
        if rows.is_empty() || self.tokens == 0 {
            return 0.0;
        }
        for (block, maxima) in maxima.iter_mut().enumerate() {
            self.block_maxima(cpu, block, rows, maxima);
        }
        self.sum(maxima)
    }

    /// Number of the document token with the maximum product, and the product, per query token. The
    /// first of equal products counts. Empty if the document is.
    pub(super) fn matches(&self, cpu: Cpu, rows: &[f32]) -> Vec<(usize, f32)> {
        if rows.is_empty() {
            return Vec::new();
        }
        let mut matches = vec![(0, f32::NEG_INFINITY); self.blocks.len() * PRODUCT_LANES];
        let (of_blocks, _) = matches.as_chunks_mut::<PRODUCT_LANES>();
        for (block, matches) in self.blocks.iter().zip(of_blocks) {
            for_each_row(cpu, block, rows, |row, products| {
                for (best, &product) in matches.iter_mut().zip(products) {
                    if product > best.1 {
                        *best = (row, product);
                    }
                }
            });
        }
        matches.truncate(self.tokens);
        matches
    }
}

fn check_values(vectors: &TokenVectors) -> Result<(), SearchError> {
    if vectors.values.len() != vectors.len() * vectors.dim {
        return Err(SearchError::Dimensions {
            expected: vectors.dim,
            found: vectors.values.len() / vectors.len().max(1),
        });
    }
    match first_beyond(&vectors.values, MAX_MAGNITUDE) {
        Some((at, value)) => Err(SearchError::NotFinite { at, value }),
        None => Ok(()),
    }
}
