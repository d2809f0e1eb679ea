//! What a score is.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::simd::Cpu;

/// How alike two vectors are. Higher is nearer, as in every [`Ranking`](ir_core::Ranking).
/// (The distances of kNN classification are another thing: [`Metric`](crate::Metric).) Scores are
/// summed in 64 bits and given in 32: one that is too large for these is infinite, and ties with others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Similarity {
    /// The inner product, of any sign.
    InnerProduct,
    /// The cosine of the angle between the vectors, from −1 to 1. Vectors of zeros have none.
    Cosine,
    /// Minus the square of the Euclidean distance, at most 0.
    Euclidean,
}

impl fmt::Display for Similarity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InnerProduct => "inner product",
            Self::Cosine => "cosine",
            Self::Euclidean => "Euclidean",
        })
    }
}

/// A query in 64 bits.
#[derive(Debug, Default)]
pub(crate) struct Wide {
    values: Vec<f64>,
    /// The square of its length.
    pub(crate) square: f64,
}

impl Wide {
    pub(crate) fn new(cpu: Cpu, query: &[f32]) -> Self {
        let mut wide = Self::default();
        wide.set(cpu, query);
        wide
    }

    /// Another query, in the same room.
    pub(crate) fn set(&mut self, cpu: Cpu, query: &[f32]) {
        self.values.clear();
        self.values
            .extend(query.iter().map(|&value| f64::from(value)));
        self.square = cpu.dot(&self.values, query);
    }
}

impl Similarity {
    /// The score of a row: summed in 64 bits in an order that depends on the length alone, then
    /// rounded to 32.
    #[inline]
    pub(crate) fn score(self, cpu: Cpu, query: &Wide, row: &[f32]) -> f32 {
        let score = match self {
            Self::InnerProduct => cpu.dot(&query.values, row),
            Self::Cosine => {
                let (product, square) = cpu.dot_and_square(&query.values, row);
                product / (query.square.sqrt() * square.sqrt())
            }
            // Not -0.
            Self::Euclidean => 0.0 - cpu.distance(&query.values, row),
        };
        score as f32
    }
}
