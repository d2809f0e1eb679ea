//! BM25+: BM25 with a lower bound of the normalized frequency.

use super::okapi::{K3, OkapiTerm, QueryWeight, Saturation};
use super::parameter::{B, K1, Parameter, ParameterRange};

define_model! {
    /// BM25+: an occurrence in a very long document adds no less than a lower bound.
    ///
    /// The contribution of a term is `w · ((k1 + 1) · c / (k1 + c) + δ)`, where
    /// `c = tf / (1 - b + b · length / average)`, and `w` is the idf `ln((N + 1) / df)` times the
    /// weight of the field times `(k3 + 1) · count / (k3 + count)`, with the count in the query.
    ///
    /// ```
    /// use ir_bm25::models::{Bm25Plus, ScoringModel, TermStatistics};
    /// // 10 documents of 120 tokens, the term is in 3 of them 5 times.
    /// let scorer = Bm25Plus::default().term_scorer(&TermStatistics::new(10, 120, 3, 5));
    /// // c = 2 / (0.6 + 0.4 · 8 / 12) = 2.307692; ln(11 / 3) · (1.9 · c / (0.9 + c) + 1)
    /// assert!((scorer.score(2, 8) - 3.075_281).abs() < 1e-6);
    /// ```
    /// # Source
    /// Lv and Zhai, "Lower-Bounding Term Frequency Normalization", CIKM 2011.
    pub struct Bm25Plus, new(k1, b) {
        lengths: OneByte,
        /// Term-frequency saturation; 0 ignores repeated occurrences. Range: >= 0, finite. Default:
        /// 0.9.
        k1: K1,
        /// Length normalization. 0 disables it, 1 normalizes fully. Range: 0..=1. Default: 0.4.
        b: B,
        /// Lower bound of the saturated frequency, times the weight. Range: >= 0, finite.
        /// Default: 1.0.
        delta: DELTA,
        /// Saturation of the count of a term in the query; infinity disables it. Range: >= 0.
        /// Default: infinity.
        k3: K3,
    }
    name: "bm25+",
    aliases: ["bm25plus"],
    description: "BM25+: a lower bound for long documents",
    scorer: |model, term| {
        let (n, df) = term.counts();
        let idf = ((n + 1.0) / df).ln();
        let weight = QueryWeight::new(term, model.k3, idf, "idf = ln((N + 1) / df)");
        OkapiTerm::new(term, weight, (model.k1, model.b), Saturation::Plus(f64::from(model.delta)))
    },
}

const DELTA: Parameter = Parameter {
    name: "delta",
    description: "Lower bound of the saturated frequency of an occurrence",
    range: ParameterRange::NonNegative,
    default: 1.0,
};
