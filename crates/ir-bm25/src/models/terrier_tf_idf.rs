//! TF-IDF of Terrier, with saturated frequencies.

use super::okapi::{B_OKAPI, K1_OKAPI, OkapiTerm, QueryWeight, Saturation};
use super::parameter::Parameter;

define_model! {
    /// TF-IDF of Terrier, which it calls `TF_IDF`.
    ///
    /// The contribution of a term is `boost · log2(N / df + 1) · k1 · tf / (tf + k1 · (1 - b + b ·
    /// length / average))`: the frequency saturates as in BM25, and the idf is never negative. As
    /// `TF_IDF` without more is ambiguous, the name of this model is `terrier-tfidf`; `tfidf` is
    /// Lucene's [`ClassicTfIdf`](super::ClassicTfIdf).
    ///
    /// ```
    /// use ir_bm25::models::{ScoringModel, TermStatistics, TerrierTfIdf};
    /// // 10 documents of 120 tokens, the term is in 3 of them 5 times.
    /// let scorer = TerrierTfIdf::default().term_scorer(&TermStatistics::new(10, 120, 3, 5));
    /// // log2(10 / 3 + 1) · 1.2 · 2 / (2 + 1.2 · (0.25 + 0.75 · 8 / 12))
    /// assert!((scorer.score(2, 8) - 1.750_740).abs() < 1e-6);
    /// ```
    /// # Source
    /// Terrier's `TF_IDF`, with the frequency of Robertson and Walker, SIGIR 1994.
    pub struct TerrierTfIdf, new(k1, b) {
        lengths: Exact,
        /// Term-frequency saturation; 0 makes all scores 0. Range: >= 0, finite. Default: 1.2.
        k1: K1_TF_IDF,
        /// Length normalization. 0 disables it, 1 normalizes fully. Range: 0..=1. Default: 0.75.
        b: B_OKAPI,
    }
    name: "terrier-tfidf",
    aliases: [],
    description: "TF_IDF of Terrier",
    scorer: |model, term| {
        let (n, df) = term.counts();
        let idf = (n / df + 1.0).log2();
        let weight = QueryWeight::unsaturated(term, idf, "idf = log2(N / df + 1)");
        OkapiTerm::new(term, weight, (model.k1, model.b), Saturation::TfIdf)
    },
}

pub(super) const K1_TF_IDF: Parameter = Parameter {
    description: "Term-frequency saturation; 0 makes all scores 0",
    ..K1_OKAPI
};
