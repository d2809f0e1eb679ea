//! The search: every vector that shares a column with the query is met, few are scored.
//!
//! Products are added column by column, through the lists of the vectors that have a column. That is
//! not the order of a dense vector's sum, so the outcome is off by some of its last bits; by how much
//! at most, follows from the lengths of both vectors. Who may be among the best k for all that is
//! known, is scored once more, in the order that [`FlatIndex`](crate::FlatIndex) sums in.

use ir_core::{DocNum, Ranking, Search, SearchError, TopK};

use super::vector::Parts;
use crate::Similarity;
use crate::flat::simd::{LANES, fold};

/// What is searched.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scan<'a> {
    pub(super) similarity: Similarity,
    pub(super) rows: Lists<'a>,
    pub(super) columns: Lists<'a>,
    /// The square of the length of every vector.
    pub(super) squares: &'a [f64],
    /// The most values that a vector has.
    pub(super) longest: usize,
}

/// Vectors one after another, or the lists of all columns.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lists<'a> {
    pub(super) starts: &'a [usize],
    pub(super) places: &'a [u32],
    pub(super) values: &'a [f32],
}

impl<'a> Lists<'a> {
    pub(super) fn get(self, at: usize) -> Parts<'a> {
        let range = self.starts[at]..self.starts[at + 1];
        Parts {
            columns: &self.places[range.clone()],
            values: &self.values[range],
        }
    }
}

/// The sum of the products of two vectors, zeros included, as [`FlatIndex`](crate::FlatIndex) has it.
fn product(a: Parts<'_>, b: Parts<'_>) -> f64 {
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

/// The square of the distance of two vectors, likewise.
fn distance(a: Parts<'_>, b: Parts<'_>) -> f64 {
    let mut lanes = [0.0; LANES];
    let mut add = |column: u32, apart: f64| lanes[column as usize % LANES] += apart * apart;
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

/// The square of a vector's length.
pub(super) fn square(vector: Parts<'_>) -> f64 {
    product(vector, vector)
}

/// The sum of no products: adding anything but zero changes it.
const UNTOUCHED: f64 = -0.0;

impl Scan<'_> {
    /// The best of all vectors. `products` is room that is used again.
    pub(super) fn search(
        self,
        query: Parts<'_>,
        how: &Search<'_>,
        products: &mut Vec<f64>,
    ) -> Result<Ranking, SearchError> {
        if how.k() == 0 {
            return Ok(Ranking::default());
        }
        products.clear();
        products.resize(self.squares.len(), UNTOUCHED);
        for (column, value) in query.iter() {
            for (row, weight) in self.columns.get(column as usize).iter() {
                products[row as usize] += value * weight;
            }
        }
        let own = square(query);
        // More than sums of so many terms, in whatever order, can differ by.
        let terms = query.columns.len() + self.longest + 2 * LANES;
        let slack = terms as f64 * f64::EPSILON * 4.0;
        let allowed = || {
            let docs = (0..products.len()).map(|n| DocNum::new(n as u32));
            docs.filter(|&doc| how.allows(doc))
        };
        let range = |doc: DocNum| {
            let product = products[doc.index()];
            self.range(own, product, self.squares[doc.index()], slack)
        };
        let mut least = TopK::new(how.k());
        let mut worst = None;
        for doc in allowed() {
            let (low, _) = range(doc);
            if worst.is_none_or(|worst| low > worst) {
                least.push(doc, low);
                worst = least.worst().map(|hit| hit.score);
            }
        }
        let mut best = TopK::new(how.k());
        for doc in allowed() {
            let (_, high) = range(doc);
            if worst.is_none_or(|worst| high >= worst) {
                best.push(doc, self.score(query, own, doc, products[doc.index()]));
            }
        }
        best.finish()
    }

    /// What the score of a vector is at least and at most.
    fn range(self, own: f64, product: f64, square: f64, slack: f64) -> (f32, f32) {
        let (score, size) = match self.similarity {
            Similarity::InnerProduct => (product, (own * square).sqrt()),
            Similarity::Cosine => (product / (own.sqrt() * square.sqrt()), 1.0),
            Similarity::Euclidean => {
                let lengths = own.sqrt() + square.sqrt();
                (2.0 * product - own - square, lengths * lengths)
            }
        };
        let nothing = product.to_bits() == UNTOUCHED.to_bits();
        let off = match self.similarity {
            Similarity::InnerProduct | Similarity::Cosine if nothing => 0.0,
            _ => size * slack,
        };
        ((score - off) as f32, (score + off) as f32)
    }

    fn score(self, query: Parts<'_>, own: f64, doc: DocNum, found: f64) -> f32 {
        let row = self.rows.get(doc.index());
        let nothing = found.to_bits() == UNTOUCHED.to_bits();
        let score = match self.similarity {
            Similarity::InnerProduct | Similarity::Cosine if nothing => 0.0,
            Similarity::InnerProduct => product(query, row),
            Similarity::Cosine => {
                product(query, row) / (own.sqrt() * self.squares[doc.index()].sqrt())
            }
            Similarity::Euclidean => 0.0 - distance(query, row),
        };
        score as f32
    }
}
