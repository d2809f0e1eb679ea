//! Exact scores of vectors.

use ir_core::{Explanation, VectorSimilarity};

use super::explain::{Contribution, ScoreParts, explain};
use crate::simd::Cpu;

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

    /// Score of a row: summed in f64, in an order that depends on the dimension alone, and rounded
    /// to f32.
    #[inline]
    pub(crate) fn score(&self, similarity: VectorSimilarity, cpu: Cpu, row: &[f32]) -> f32 {
        let score = match similarity {
            VectorSimilarity::InnerProduct => cpu.dot(&self.values, row),
            VectorSimilarity::Cosine => {
                let (product, squared_norm) = cpu.dot_and_squared_norm(&self.values, row);
                product / (self.squared_norm.sqrt() * squared_norm.sqrt())
            }
            // Subtracted from 0 so that equal vectors score 0, not -0.
            VectorSimilarity::Euclidean => 0.0 - cpu.squared_distance(&self.values, row),
        };
        score as f32
    }
}

/// Explains [`WideQuery::score`].
pub(crate) fn explain_score(
    similarity: VectorSimilarity,
    cpu: Cpu,
    query: &[f32],
    row: &[f32],
) -> Explanation {
    let wide = WideQuery::new(cpu, query);
    let (product, squared_norm) = cpu.dot_and_squared_norm(&wide.values, row);
    let parts = ScoreParts {
        score: wide.score(similarity, cpu, row),
        sum: match similarity {
            VectorSimilarity::InnerProduct => cpu.dot(&wide.values, row),
            VectorSimilarity::Cosine => product,
            VectorSimilarity::Euclidean => 0.0 - cpu.squared_distance(&wide.values, row),
        },
        norms: (wide.squared_norm.sqrt(), squared_norm.sqrt()),
    };
    let pairs = (0..).zip(query.iter().zip(row));
    let contributions = pairs.map(|(column, (&a, &b))| Contribution::new(similarity, column, a, b));
    explain(similarity, &parts, contributions.collect(), &|_| None)
}
