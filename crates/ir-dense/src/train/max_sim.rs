//! MaxSim of all queries and documents of a step, and its backward pass.
//!
//! [`super::loss::max_sim`] computes the same scores in burn's operations, and keeps the products
//! of all pairs of tokens. Here, the products of a document are in memory only while its maxima are
//! searched; the backward pass needs their positions alone.

use rayon::prelude::*;

use super::loss::MASKED_SCORE;
use crate::kernels::linear::PackedColumns;
use crate::kernels::matrix::StridedRows;
use crate::late_interaction::TokenSimilarity;
use crate::transformer::BLOCK_ROWS;

/// Vectors of the tokens of texts.
#[derive(Debug, Clone, Copy)]
pub(super) struct TextVectors<'a> {
    /// Row-major `[tokens, dim]`, text by text.
    pub(super) values: &'a [f32],
    /// Number of tokens of every text.
    pub(super) lengths: &'a [usize],
}

/// Scores of all queries and documents, and the tokens that they come from.
pub(super) struct MaxSimPass<'a> {
    queries: TextVectors<'a>,
    documents: TextVectors<'a>,
    dim: usize,
    similarity: TokenSimilarity,
    /// Of every document, the token with the maximum for each query token; the first of several.
    best: Vec<Vec<u32>>,
    scores: Vec<f32>,
}

impl<'a> TextVectors<'a> {
    /// Vectors of every text.
    fn texts(self, dim: usize) -> Vec<&'a [f32]> {
        let mut rest = self.values;
        let texts = self.lengths.iter().map(|length| {
            let (own, others) = rest.split_at(length * dim);
            rest = others;
            own
        });
        texts.collect()
    }
}

impl<'a> MaxSimPass<'a> {
    /// Computes the scores of vectors of `dim` dimensions. As in [`super::loss::max_sim`], a
    /// document without tokens is masked, and a query without tokens has the score 0.
    pub(super) fn new(
        queries: TextVectors<'a>,
        documents: TextVectors<'a>,
        dim: usize,
        similarity: TokenSimilarity,
    ) -> Self {
        let of_documents = documents.texts(dim).into_par_iter();
        let of_documents = of_documents.map(|document| maxima(queries.values, document, dim));
        let of_documents: Vec<(Vec<f32>, Vec<u32>)> = of_documents.collect();
        let columns = documents.lengths.len();
        let mut pass = Self {
            queries,
            documents,
            dim,
            similarity,
            best: Vec::new(),
            scores: vec![0.0; queries.lengths.len() * columns],
        };
        for (column, (maxima, best)) in of_documents.into_iter().enumerate() {
            let mut rest = &maxima[..];
            for (query, length) in queries.lengths.iter().enumerate() {
                let (own, others) = rest.split_at(*length);
                rest = others;
                let sum: f32 = own.iter().sum();
                pass.scores[query * columns + column] = sum * pass.factor(query);
            }
            pass.best.push(best);
        }
        pass
    }

    /// Factor of the sum of the maxima of a query.
    fn factor(&self, query: usize) -> f32 {
        match self.similarity {
            TokenSimilarity::MaxSim => 1.0,
            TokenSimilarity::MeanMaxSim => 1.0 / self.queries.lengths[query].max(1) as f32,
        }
    }

    /// Row-major `[queries, documents]`.
    pub(super) fn scores(&self) -> &[f32] {
        &self.scores
    }

    /// Backward pass: gradients of the query and document vectors, in their shapes, for `d_scores`,
    /// the gradients of the scores, row-major `[queries, documents]`. A maximum passes its gradient
    /// to the first token that attains it. Sums run in text order.
    pub(super) fn backward(&self, d_scores: &[f32]) -> [Vec<f32>; 2] {
        let (dim, columns) = (self.dim, self.documents.lengths.len());
        let documents = self.documents.texts(dim);
        // Query of every query token.
        let lengths = self.queries.lengths.iter().enumerate();
        let owners = lengths.flat_map(|(query, length)| std::iter::repeat_n(query, *length));
        let owners: Vec<usize> = owners.collect();
        let d_maximum =
            |query: usize, column: usize| d_scores[query * columns + column] * self.factor(query);
        let mut d_queries = vec![0.0; self.queries.values.len()];
        let rows = d_queries.par_chunks_exact_mut(dim.max(1)).enumerate();
        rows.for_each(|(row, d)| {
            for (column, (document, best)) in documents.iter().zip(&self.best).enumerate() {
                if let Some(token) = document.chunks_exact(dim.max(1)).nth(best[row] as usize) {
                    add_scaled(d, d_maximum(owners[row], column), token);
                }
            }
        });
        let of_documents = documents.par_iter().zip(&self.best).enumerate();
        let of_documents = of_documents.map(|(column, (document, best))| {
            let mut d = vec![0.0; document.len()];
            let queries = self.queries.values.chunks_exact(dim.max(1));
            for (row, query) in queries.enumerate() {
                let token = best[row] as usize;
                if let Some(d) = d.get_mut(token * dim..(token + 1) * dim) {
                    add_scaled(d, d_maximum(owners[row], column), query);
                }
            }
            d
        });
        let of_documents: Vec<Vec<f32>> = of_documents.collect();
        [d_queries, of_documents.concat()]
    }
}

fn add_scaled(sum: &mut [f32], factor: f32, row: &[f32]) {
    let pairs = sum.iter_mut().zip(row);
    pairs.for_each(|(sum, x)| *sum += factor * x);
}

/// Maximum of the products of each query token with the tokens of a document, and its first token.
fn maxima(queries: &[f32], document: &[f32], dim: usize) -> (Vec<f32>, Vec<u32>) {
    let width = dim.max(1);
    let (count, tokens) = (queries.len() / width, document.len() / width);
    if tokens == 0 {
        return (vec![MASKED_SCORE; count], vec![0; count]);
    }
    let mut packed = PackedColumns::default();
    packed.pack_transposed(StridedRows::new(document, dim), dim, false);
    let mut products = vec![0.0; BLOCK_ROWS.min(count) * tokens];
    let (mut maxima, mut best) = (Vec::with_capacity(count), Vec::with_capacity(count));
    for rows in queries.chunks(BLOCK_ROWS * width) {
        let rows = StridedRows::new(rows, dim);
        packed.product(rows, None, (&mut products[..], tokens));
        for products in products.chunks_exact(tokens).take(rows.count) {
            let (mut token, mut maximum) = (0, products[0]);
            for (at, &product) in products.iter().enumerate() {
                if product > maximum {
                    (token, maximum) = (at, product);
                }
            }
            maxima.push(maximum);
            best.push(token as u32);
        }
    }
    (maxima, best)
}
