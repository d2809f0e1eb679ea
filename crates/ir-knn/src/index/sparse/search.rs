//! Exact top-k search: all vectors that share a column with the query are bounded, few are scored.
//!
//! Products are accumulated column by column through the inverted index. That is not the order of
//! summation of a dense score, so the sum may differ in its last bits; the norms of both vectors
//! bound the difference. Vectors that may be in the top k under these bounds are scored again in
//! the order of [`FlatIndex`](crate::FlatIndex).

use std::collections::{BTreeMap, BTreeSet};

use ir_core::{DocIds, DocNum, Explanation, Ranking, Search, SearchError, TopK, VectorSimilarity};

use super::vector::SparseVectorView;
use crate::index::buffer::NumberBuffer;
use crate::index::explain::{Contribution, ScoreParts, explain};
use crate::simd::{LANES, fold};

#[derive(Debug)]
pub(super) struct SparseIndexData {
    pub(super) similarity: VectorSimilarity,
    pub(super) dim: usize,
    pub(super) ids: DocIds,
    pub(super) rows: CsrStorage,
    /// The transpose: the posting list of every column.
    pub(super) columns: CsrStorage,
    /// Squared norm of each vector.
    pub(super) squared_norms: Vec<f64>,
    /// Maximum number of nonzero values of a vector.
    pub(super) max_nonzeros: usize,
}

/// Matrix in compressed sparse row format, in memory or in a mapped file.
#[derive(Debug)]
pub(super) struct CsrStorage {
    pub(super) starts: Vec<usize>,
    pub(super) indices: NumberBuffer<u32>,
    pub(super) values: NumberBuffer<f32>,
}

impl CsrStorage {
    pub(super) fn new((starts, indices, values): (Vec<usize>, Vec<u32>, Vec<f32>)) -> Self {
        Self {
            starts,
            indices: NumberBuffer::Owned(indices),
            values: NumberBuffer::Owned(values),
        }
    }

    pub(super) fn view(&self) -> CsrView<'_> {
        CsrView {
            starts: &self.starts,
            indices: self.indices.get(),
            values: self.values.get(),
        }
    }
}

/// Matrix in compressed sparse row format.
#[derive(Debug, Clone, Copy)]
pub(super) struct CsrView<'a> {
    pub(super) starts: &'a [usize],
    pub(super) indices: &'a [u32],
    pub(super) values: &'a [f32],
}

impl<'a> CsrView<'a> {
    pub(super) fn row(self, row: usize) -> SparseVectorView<'a> {
        let range = self.starts[row]..self.starts[row + 1];
        SparseVectorView {
            columns: &self.indices[range.clone()],
            values: &self.values[range],
        }
    }
}

/// Inner product, in the order of summation of [`FlatIndex`](crate::FlatIndex).
fn dot(a: SparseVectorView<'_>, b: SparseVectorView<'_>) -> f64 {
    let mut lanes = [0.0; LANES];
    let mut other = b.iter().peekable();
    for (column, value) in a.iter() {
        while other.next_if(|&(next, _)| next < column).is_some() {}
        if let Some((_, weight)) = other.next_if(|&(next, _)| next == column) {
            lanes[column as usize % LANES] += value * weight;
        }
    }
    fold(lanes)
}

/// Squared Euclidean distance, in the order of summation of [`FlatIndex`](crate::FlatIndex).
fn squared_distance(a: SparseVectorView<'_>, b: SparseVectorView<'_>) -> f64 {
    let mut lanes = [0.0; LANES];
    let mut add = |column: u32, difference: f64| {
        lanes[column as usize % LANES] += difference * difference;
    };
    let mut other = b.iter().peekable();
    for (column, value) in a.iter() {
        while let Some((next, weight)) = other.next_if(|&(next, _)| next < column) {
            add(next, weight);
        }
        match other.next_if(|&(next, _)| next == column) {
            Some((_, weight)) => add(column, value - weight),
            None => add(column, value),
        }
    }
    for (column, weight) in other {
        add(column, weight);
    }
    fold(lanes)
}

pub(super) fn squared_norm(vector: SparseVectorView<'_>) -> f64 {
    dot(vector, vector)
}

/// Sentinel for an empty sum of products: any nonzero product changes it.
const NO_PRODUCTS: f64 = -0.0;

impl SparseIndexData {
    /// Ranks all vectors. `products` is a reusable buffer.
    pub(super) fn search(
        &self,
        query: SparseVectorView<'_>,
        search: &Search<'_>,
        products: &mut Vec<f64>,
    ) -> Result<Ranking, SearchError> {
        if search.k() == 0 {
            return Ok(Ranking::default());
        }
        products.clear();
        products.resize(self.squared_norms.len(), NO_PRODUCTS);
        let columns = self.columns.view();
        for (column, value) in query.iter() {
            for (row, weight) in columns.row(column as usize).iter() {
                products[row as usize] += value * weight;
            }
        }
        let query_norm = squared_norm(query);
        // Upper bound of the relative difference of two orders of summation of so many terms.
        let terms = query.columns.len() + self.max_nonzeros + 2 * LANES;
        let margin = terms as f64 * f64::EPSILON * 4.0;
        let allowed = || {
            let docs = (0..products.len()).map(|n| DocNum::new(n as u32));
            docs.filter(|&doc| search.allows(doc))
        };
        let bounds = |doc: DocNum| {
            let norm = self.squared_norms[doc.index()];
            self.score_bounds(query_norm, products[doc.index()], norm, margin)
        };
        let mut lowest = TopK::new(search.k());
        let mut worst = None;
        for doc in allowed() {
            let (low, _) = bounds(doc);
            if worst.is_none_or(|worst| low > worst) {
                lowest.push(doc, low);
                worst = lowest.worst().map(|hit| hit.score);
            }
        }
        let mut best = TopK::new(search.k());
        let rows = self.rows.view();
        for doc in allowed() {
            let (_, high) = bounds(doc);
            if worst.is_none_or(|worst| high >= worst) {
                let (row, product) = (rows.row(doc.index()), products[doc.index()]);
                let norm = self.squared_norms[doc.index()];
                best.push(doc, self.score(query, query_norm, row, norm, product));
            }
        }
        best.finish()
    }

    /// Lower and upper bound of a score. `query_norm` and `norm` are squared norms.
    fn score_bounds(&self, query_norm: f64, product: f64, norm: f64, margin: f64) -> (f32, f32) {
        let (score, size) = match self.similarity {
            VectorSimilarity::InnerProduct => (product, (query_norm * norm).sqrt()),
            VectorSimilarity::Cosine => (product / (query_norm.sqrt() * norm.sqrt()), 1.0),
            VectorSimilarity::Euclidean => {
                let norms = query_norm.sqrt() + norm.sqrt();
                (2.0 * product - query_norm - norm, norms * norms)
            }
        };
        let disjoint = product.to_bits() == NO_PRODUCTS.to_bits();
        let margin = match self.similarity {
            VectorSimilarity::InnerProduct | VectorSimilarity::Cosine if disjoint => 0.0,
            _ => size * margin,
        };
        ((score - margin) as f32, (score + margin) as f32)
    }

    /// Score of a row. `query_norm` and `norm` are squared norms.
    fn score(
        &self,
        query: SparseVectorView<'_>,
        query_norm: f64,
        row: SparseVectorView<'_>,
        norm: f64,
        product: f64,
    ) -> f32 {
        let disjoint = product.to_bits() == NO_PRODUCTS.to_bits();
        let score = match self.similarity {
            VectorSimilarity::InnerProduct | VectorSimilarity::Cosine if disjoint => 0.0,
            VectorSimilarity::InnerProduct => dot(query, row),
            VectorSimilarity::Cosine => dot(query, row) / (query_norm.sqrt() * norm.sqrt()),
            VectorSimilarity::Euclidean => 0.0 - squared_distance(query, row),
        };
        score as f32
    }
    /// Explains [`Self::score`].
    pub(super) fn explain(
        &self,
        query: SparseVectorView<'_>,
        doc: DocNum,
        name: &dyn Fn(u32) -> Option<String>,
    ) -> Explanation {
        let row = self.rows.view().row(doc.index());
        let (query_norm, norm) = (squared_norm(query), self.squared_norms[doc.index()]);
        let contributions = contributions(self.similarity, query, row);
        // Only the products of shared columns are added.
        let product = if contributions.is_empty() {
            NO_PRODUCTS
        } else {
            dot(query, row)
        };
        let parts = ScoreParts {
            score: self.score(query, query_norm, row, norm, product),
            sum: match self.similarity {
                VectorSimilarity::InnerProduct | VectorSimilarity::Cosine => product,
                VectorSimilarity::Euclidean => 0.0 - squared_distance(query, row),
            },
            norms: (query_norm.sqrt(), norm.sqrt()),
        };
        explain(self.similarity, &parts, contributions, name)
    }
}

/// Contributions of the columns of one of the vectors, for the Euclidean distance, or of both.
fn contributions(
    similarity: VectorSimilarity,
    a: SparseVectorView<'_>,
    b: SparseVectorView<'_>,
) -> Vec<Contribution> {
    let values = |vector: SparseVectorView<'_>| -> BTreeMap<u32, f32> {
        let columns = vector.columns.iter().copied();
        columns.zip(vector.values.iter().copied()).collect()
    };
    let (a, b) = (values(a), values(b));
    let columns: BTreeSet<u32> = match similarity {
        VectorSimilarity::Euclidean => a.keys().chain(b.keys()).copied().collect(),
        VectorSimilarity::InnerProduct | VectorSimilarity::Cosine => a
            .keys()
            .filter(|column| b.contains_key(column))
            .copied()
            .collect(),
    };
    let value =
        |values: &BTreeMap<u32, f32>, column: u32| values.get(&column).copied().unwrap_or(0.0);
    let contribution =
        |&column: &u32| Contribution::new(similarity, column, value(&a, column), value(&b, column));
    columns.iter().map(contribution).collect()
}
