//! BM25 of the ATIRE search engine.

use super::okapi::{K3, OkapiTerm, QueryWeight, Saturation};
use super::parameter::{B, K1};

define_model! {
    /// BM25 of the ATIRE search engine: the idf `ln(N / df)` is never negative.
    ///
    /// The contribution of a term is `w · (k1 + 1) · c / (k1 + c)`, where
    /// `c = tf / (1 - b + b · length / average)`, and `w` is the idf times the weight of the field
    /// times `(k3 + 1) · count / (k3 + count)`, with the count in the query.
    ///
    /// ```
    /// use ir_bm25::models::{Atire, ScoringModel, TermStatistics};
    /// // 10 documents of 120 tokens, the term is in 3 of them 5 times.
    /// let scorer = Atire::default().term_scorer(&TermStatistics::new(10, 120, 3, 5));
    /// // c = 2 / (0.6 + 0.4 · 8 / 12) = 2.307692; ln(10 / 3) · 1.9 · c / (0.9 + c)
    /// assert!((scorer.score(2, 8) - 1.645_718).abs() < 1e-6);
    /// ```
    /// # Source
    /// Trotman, Jia and Crane, "Towards an Efficient and Effective Search Engine", SIGIR 2012
    /// Workshop on Open Source Information Retrieval.
    pub struct Atire, new(k1, b) {
        lengths: OneByte,
        /// Term-frequency saturation; 0 ignores repeated occurrences. Range: >= 0, finite. Default:
        /// 0.9.
        k1: K1,
        /// Length normalization. 0 disables it, 1 normalizes fully. Range: 0..=1. Default: 0.4.
        b: B,
        /// Saturation of the count of a term in the query; infinity disables it. Range: >= 0.
        /// Default: infinity.
        k3: K3,
    }
    name: "atire",
    aliases: ["bm25-atire"],
    description: "BM25 of ATIRE",
    scorer: |model, term| {
        let (n, df) = term.counts();
        let idf = (n / df).ln();
        let weight = QueryWeight::new(term, model.k3, idf, "idf = ln(N / df)");
        OkapiTerm::new(term, weight, (model.k1, model.b), Saturation::Okapi)
    },
}
