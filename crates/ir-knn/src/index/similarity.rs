//! Vector similarities and exact scores.

use std::fmt;

use ir_core::Explanation;
use serde::{Deserialize, Serialize};

use super::explain::{Contribution, ScoreParts, explain};
use crate::simd::Cpu;

/// Similarity of two vectors: the score of a vector index. Higher is more similar.
///
/// Scores are summed in f64 and rounded to f32. A score beyond the range of f32 is infinite and
/// ties with other infinite scores. For kNN classification, see
/// [`DistanceMetric`](crate::DistanceMetric).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum VectorSimilarity {
    /// Inner product. Range: any number.
    InnerProduct,
    /// Cosine of the angle between the vectors. Range: −1 to 1. Undefined for zero vectors, which
    /// are rejected.
    Cosine,
    /// Negative squared Euclidean distance. Range: ≤ 0.
    Euclidean,
}

impl fmt::Display for VectorSimilarity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InnerProduct => "inner product",
            Self::Cosine => "cosine",
            Self::Euclidean => "Euclidean",
        })
    }
}

/// Query widened to f64.
#[derive(Debug, Default)]
pub(crate) struct WideQuery {
    values: Vec<f64>,
    pub(crate) squared_norm: f64,
}

impl WideQuery {
    pub(crate) fn new(cpu: Cpu, query: &[f32]) -> Self {
        let mut wide = Self::default();
        wide.set(cpu, query);
        wide
    }

    /// Replaces the query and reuses the allocation.
    pub(crate) fn set(&mut self, cpu: Cpu, query: &[f32]) {
        self.values.clear();
        self.values
            .extend(query.iter().map(|&value| f64::from(value)));
        self.squared_norm = cpu.dot(&self.values, query);
    }
}

impl VectorSimilarity {
    /// Score of a row: summed in f64, in an order that depends on the dimension alone, and rounded
    /// to f32.
    #[inline]
    pub(crate) fn score(self, cpu: Cpu, query: &WideQuery, row: &[f32]) -> f32 {
        let score = match self {
            Self::InnerProduct => cpu.dot(&query.values, row),
            Self::Cosine => {
                let (product, squared_norm) = cpu.dot_and_squared_norm(&query.values, row);
                product / (query.squared_norm.sqrt() * squared_norm.sqrt())
            }
            // Subtracted from 0 so that equal vectors score 0, not -0.
            Self::Euclidean => 0.0 - cpu.squared_distance(&query.values, row),
        };
        score as f32
    }

    /// Explains [`Self::score`].
    pub(crate) fn explain(self, cpu: Cpu, query: &[f32], row: &[f32]) -> Explanation {
        let wide = WideQuery::new(cpu, query);
        let (product, squared_norm) = cpu.dot_and_squared_norm(&wide.values, row);
        let parts = ScoreParts {
            score: self.score(cpu, &wide, row),
            sum: match self {
                Self::InnerProduct => cpu.dot(&wide.values, row),
                Self::Cosine => product,
                Self::Euclidean => 0.0 - cpu.squared_distance(&wide.values, row),
            },
            norms: (wide.squared_norm.sqrt(), squared_norm.sqrt()),
        };
        let pairs = (0..).zip(query.iter().zip(row));
        let contributions = pairs.map(|(column, (&a, &b))| Contribution::new(self, column, a, b));
        explain(self, &parts, contributions.collect(), &|_| None)
    }
}
