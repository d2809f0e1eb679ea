//! InExpB2: inverse expected document frequency, Bernoulli, normalization 2.

use super::{C, DfrTerm, Statistics, laplace};
use crate::models::scoring_model::TermBound;

define_model! {
    /// InExpB2: inverse expected document frequency model of randomness, ratio of two Bernoulli
    /// processes, normalization 2. `In_expB2` in Terrier.
    ///
    /// The contribution of a term is `boost · (F + 1) / df · tfn / (tfn + 1) · log2((N + 1) / (n +
    /// 0.5))`, where `n = N · (1 - e^(-F / N))` is the expected document frequency, F the number of
    /// occurrences in the collection and `tfn = tf · log2(1 + c · average / length)`.
    ///
    /// ```
    /// use ir_bm25::models::{InExpB2, ScoringModel, TermStatistics};
    /// // 10 documents of 120 tokens, the term is in 3 of them 5 times.
    /// let scorer = InExpB2::default().term_scorer(&TermStatistics::new(10, 120, 3, 5));
    /// // tfn = 2 · log2(1 + 12 / 8) = 2.643856
    /// assert!((scorer.score(2, 8) - 1.901_848).abs() < 1e-6);
    /// ```
    /// # Source
    /// Amati and van Rijsbergen, "Probabilistic Models of Information Retrieval Based on Measuring
    /// the Divergence from Randomness", TOIS 2002.
    pub struct InExpB2, new(c) {
        lengths: Exact,
        /// Length normalization; large values weaken it. Range: > 0, finite. Default: 1.
        c: C,
    }
    name: "in_expb2",
    aliases: [],
    description: "InExpB2: inverse expected document frequency, Bernoulli, normalization 2",
    scorer: |model, term| DfrTerm::new(term, Some(model.c), contribution, FORMULA, TermBound::Monotone),
}

const FORMULA: &str =
    "(F + 1) / df × tfn / (tfn + 1) × log2((N + 1) / (n + 0.5)), n = N × (1 - e^(-F / N))";

fn contribution(statistics: &Statistics, tf: f64, length: f64) -> f64 {
    let tfn = statistics.tfn(tf, length);
    let n = statistics.documents;
    let expected = n * (1.0 - (-statistics.cf / n).exp());
    let idf = ((n + 1.0) / (expected + 0.5)).log2();
    (statistics.cf + 1.0) / statistics.df * idf * laplace(tfn)
}
