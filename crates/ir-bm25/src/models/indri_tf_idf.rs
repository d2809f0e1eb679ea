//! TF-IDF of Indri and the Lemur toolkit.

use super::okapi::{B_OKAPI, OkapiTerm, QueryWeight, Saturation};
use super::terrier_tf_idf::K1_TF_IDF;

define_model! {
    /// TF-IDF of Indri (`method:tfidf`) and the Lemur toolkit.
    ///
    /// The contribution of a term is `1000 · count / (1000 + count) · idf² · k1 · tf / (tf + k1 ·
    /// (1 - b + b · length / average))` times the weight of the field, with `idf = ln((N + 1) / (df
    /// + 0.5))` and the count in the query: the inner product of two vectors with the idf in both.
    ///
    /// ```
    /// use ir_bm25::models::{IndriTfIdf, ScoringModel, TermStatistics};
    /// // 10 documents of 120 tokens, the term is in 3 of them 5 times.
    /// let scorer = IndriTfIdf::default().term_scorer(&TermStatistics::new(10, 120, 3, 5));
    /// // 1000 / 1001 · ln(11 / 3.5)² · 1.2 · 2 / (2 + 1.2 · (0.25 + 0.75 · 8 / 12))
    /// assert!((scorer.score(2, 8) - 1.084_153).abs() < 1e-6);
    /// ```
    /// # Source
    /// Zhai, "Notes on the Lemur TFIDF Model", 2001; Indri's `TFIDFTermScoreFunction`.
    pub struct IndriTfIdf, new(k1, b) {
        lengths: Exact,
        /// Term-frequency saturation; 0 makes all scores 0. Range: >= 0, finite. Default: 1.2.
        k1: K1_TF_IDF,
        /// Length normalization. 0 disables it, 1 normalizes fully. Range: 0..=1. Default: 0.75.
        b: B_OKAPI,
    }
    name: "indri-tfidf",
    aliases: ["lemur-tfidf"],
    description: "TF-IDF of Indri",
    scorer: |model, term| {
        let (n, df) = term.counts();
        let idf = ((n + 1.0) / (df + 0.5)).ln();
        let weight = QueryWeight::lemur(term, QUERY_K1, idf * idf, "idf² = ln((N + 1) / (df + 0.5))²");
        OkapiTerm::new(term, weight, (model.k1, model.b), Saturation::TfIdf)
    },
}

/// Saturation of the count in the query.
const QUERY_K1: f64 = 1000.0;
