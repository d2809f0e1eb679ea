//! BM25L: BM25 with a shift of the normalized frequency.

use super::okapi::{K3, OkapiTerm, QueryWeight, Saturation};
use super::parameter::{B, K1, Parameter, ParameterRange};

define_model! {
    /// BM25L: the normalized frequency is shifted, in favor of long documents.
    ///
    /// The contribution of a term is `w · (k1 + 1) · (c + δ) / (k1 + c + δ)`, where `c = tf / (1 -
    /// b + b · length / average)`, and `w` is the idf `ln((N + 1) / (df + 0.5))` times the weight
    /// of the field times `(k3 + 1) · count / (k3 + count)`, with the count in the query.
    ///
    /// ```
    /// use ir_bm25::models::{Bm25L, ScoringModel, TermStatistics};
    /// // 10 documents of 120 tokens, the term is in 3 of them 5 times.
    /// let scorer = Bm25L::default().term_scorer(&TermStatistics::new(10, 120, 3, 5));
    /// // c + δ = 2 / (0.6 + 0.4 · 8 / 12) + 0.5 = 2.807692;
    /// // ln(11 / 3.5) · 1.9 · 2.807692 / 3.707692
    /// assert!((scorer.score(2, 8) - 1.647_613).abs() < 1e-6);
    /// ```
    /// # Source
    /// Lv and Zhai, "When Documents Are Very Long, BM25 Fails!", SIGIR 2011.
    pub struct Bm25L, new(k1, b) {
        lengths: OneByte,
        /// Term-frequency saturation; 0 ignores repeated occurrences. Range: >= 0, finite. Default:
        /// 0.9.
        k1: K1,
        /// Length normalization. 0 disables it, 1 normalizes fully. Range: 0..=1. Default: 0.4.
        b: B,
        /// Shift of the normalized frequency. Range: >= 0, finite.
        /// Default: 0.5.
        delta: DELTA,
        /// Saturation of the count of a term in the query; infinity disables it. Range: >= 0.
        /// Default: infinity.
        k3: K3,
    }
    name: "bm25l",
    aliases: [],
    description: "BM25L: less penalty for long documents",
    scorer: |model, term| {
        let (n, df) = term.counts();
        let idf = ((n + 1.0) / (df + 0.5)).ln();
        let weight = QueryWeight::new(term, model.k3, idf, "idf = ln((N + 1) / (df + 0.5))");
        OkapiTerm::new(term, weight, (model.k1, model.b), Saturation::Long(f64::from(model.delta)))
    },
}

const DELTA: Parameter = Parameter {
    name: "delta",
    description: "Shift of the normalized frequency",
    range: ParameterRange::NonNegative,
    default: 0.5,
};
