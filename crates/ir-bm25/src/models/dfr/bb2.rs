//! BB2: Bose-Einstein, Bernoulli, normalization 2.

use std::f64::consts::LOG2_E;

use super::{C, DfrTerm, Statistics};
use crate::models::scoring_model::TermBound;

define_model! {
    /// BB2: Bose-Einstein model of randomness, ratio of two Bernoulli processes, normalization 2.
    ///
    /// The contribution of a term is `boost · (F + 1) / (df · (tfn + 1)) · (-log2(N - 1) - log2(e)
    /// + f(N + F - 1, N + F - tfn - 2) - f(F, F - tfn))`, where F is the number of occurrences in
    /// the collection, `tfn = tf · log2(1 + c · average / length)` and `f(n, m) = (m + 0.5) ·
    /// log2(n / m) + (n - m) · log2(n)`. Terrier's formula is not a number for `tfn > F` (a rare
    /// term in a short document) and for N = 1: here m is at least 0.5 and N - 1 at least 1.
    /// Queries are scored exhaustively.
    ///
    /// ```
    /// use ir_bm25::models::{Bb2, ScoringModel, TermStatistics};
    /// // 10 documents of 120 tokens, the term is in 3 of them 5 times.
    /// let scorer = Bb2::default().term_scorer(&TermStatistics::new(10, 120, 3, 5));
    /// // tfn = 2 · log2(1 + 12 / 8) = 2.643856
    /// assert!((scorer.score(2, 8) - 2.603_514).abs() < 1e-6);
    /// ```
    /// # Source
    /// Amati and van Rijsbergen, "Probabilistic Models of Information Retrieval Based on Measuring
    /// the Divergence from Randomness", TOIS 2002.
    pub struct Bb2, new(c) {
        lengths: Exact,
        /// Length normalization; large values weaken it. Range: > 0, finite. Default: 1.
        c: C,
    }
    name: "bb2",
    aliases: [],
    description: "BB2: Bose-Einstein, Bernoulli, normalization 2",
    scorer: |model, term| DfrTerm::new(term, Some(model.c), contribution, FORMULA, TermBound::Unknown),
}

const FORMULA: &str = "(F + 1) / (df × (tfn + 1)) × (-log2(N - 1) - log2(e) + f(N + F - 1, N + F - tfn - 2) - f(F, F - tfn)), f(n, m) = (m + 0.5) × log2(n / m) + (n - m) × log2(n)";

fn contribution(statistics: &Statistics, tf: f64, length: f64) -> f64 {
    let tfn = statistics.tfn(tf, length);
    let (n, f) = (statistics.documents, statistics.cf);
    let information = -(n - 1.0).max(1.0).log2() - LOG2_E
        + stirling(n + f - 1.0, n + f - tfn - 2.0)
        - stirling(f, f - tfn);
    (f + 1.0) / (statistics.df * (tfn + 1.0)) * information
}

/// Stirling's formula for the power series, with `m` of at least 0.5.
fn stirling(n: f64, m: f64) -> f64 {
    let m = m.max(0.5);
    (m + 0.5) * (n / m).log2() + (n - m) * n.log2()
}
