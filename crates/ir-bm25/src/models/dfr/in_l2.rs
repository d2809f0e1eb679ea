//! InL2: inverse document frequency, Laplace, normalization 2.

use super::{C, DfrTerm, Statistics, laplace};
use crate::models::scoring_model::TermBound;

define_model! {
    /// InL2: inverse document frequency model of randomness, Laplace's law of succession,
    /// normalization 2.
    ///
    /// The contribution of a term is `boost · tfn / (tfn + 1) · log2((N + 1) / (df + 0.5))`, where
    /// `tfn = tf · log2(1 + c · average / length)`.
    ///
    /// ```
    /// use ir_bm25::models::{InL2, ScoringModel, TermStatistics};
    /// // 10 documents of 120 tokens, the term is in 3 of them 5 times.
    /// let scorer = InL2::default().term_scorer(&TermStatistics::new(10, 120, 3, 5));
    /// // tfn = 2 · log2(1 + 12 / 8) = 2.643856
    /// assert!((scorer.score(2, 8) - 1.198_690).abs() < 1e-6);
    /// ```
    /// # Source
    /// Amati and van Rijsbergen, "Probabilistic Models of Information Retrieval Based on Measuring
    /// the Divergence from Randomness", TOIS 2002.
    pub struct InL2, new(c) {
        lengths: Exact,
        /// Length normalization; large values weaken it. Range: > 0, finite. Default: 1.
        c: C,
    }
    name: "inl2",
    aliases: [],
    description: "InL2: inverse document frequency, Laplace, normalization 2",
    scorer: |model, term| DfrTerm::new(term, Some(model.c), contribution, FORMULA, TermBound::Monotone),
}

const FORMULA: &str = "tfn / (tfn + 1) × log2((N + 1) / (df + 0.5))";

fn contribution(statistics: &Statistics, tf: f64, length: f64) -> f64 {
    let tfn = statistics.tfn(tf, length);
    laplace(tfn) * ((statistics.documents + 1.0) / (statistics.df + 0.5)).log2()
}
