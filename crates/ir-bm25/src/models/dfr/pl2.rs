//! PL2: Poisson, Laplace, normalization 2.

use std::f64::consts::{LOG2_E, PI};

use super::{C, DfrTerm, Statistics};
use crate::models::scoring_model::TermBound;

define_model! {
    /// PL2: Poisson model of randomness, Laplace's law of succession, normalization 2.
    ///
    /// The contribution of a term is `boost / (tfn + 1) · (tfn · log2(1 / λ) + λ · log2(e) +
    /// log2(2π · tfn) / 2 + tfn · (log2(tfn) - log2(e)))`, where `λ = F / N`, F is the number of
    /// occurrences in the collection and `tfn = tf · log2(1 + c · average / length)`. It is
    /// negative for frequent terms in long documents; queries are scored exhaustively.
    ///
    /// ```
    /// use ir_bm25::models::{Pl2, ScoringModel, TermStatistics};
    /// // 10 documents of 120 tokens, the term is in 3 of them 5 times.
    /// let scorer = Pl2::default().term_scorer(&TermStatistics::new(10, 120, 3, 5));
    /// // tfn = 2 · log2(1 + 12 / 8) = 2.643856
    /// assert!((scorer.score(2, 8) - 1.450_766).abs() < 1e-6);
    /// ```
    /// # Source
    /// Amati and van Rijsbergen, "Probabilistic Models of Information Retrieval Based on Measuring
    /// the Divergence from Randomness", TOIS 2002.
    pub struct Pl2, new(c) {
        lengths: Exact,
        /// Length normalization; large values weaken it. Range: > 0, finite. Default: 1.
        c: C,
    }
    name: "pl2",
    aliases: [],
    description: "PL2: Poisson, Laplace, normalization 2",
    scorer: |model, term| DfrTerm::new(term, Some(model.c), contribution, FORMULA, TermBound::Unknown),
}

const FORMULA: &str = "(tfn × log2(1 / λ) + λ × log2(e) + log2(2π × tfn) / 2 + tfn × (log2(tfn) - log2(e))) / (tfn + 1), λ = F / N";

fn contribution(statistics: &Statistics, tf: f64, length: f64) -> f64 {
    let tfn = statistics.tfn(tf, length);
    let lambda = statistics.cf / statistics.documents;
    let information = tfn * (1.0 / lambda).log2()
        + lambda * LOG2_E
        + 0.5 * (2.0 * PI * tfn).log2()
        + tfn * (tfn.log2() - LOG2_E);
    information / (tfn + 1.0)
}
