//! BM25 as Robertson defined it.

use super::okapi::{B_OKAPI, K1_OKAPI, K3, OkapiTerm, QueryWeight, Saturation};
use super::parameter::Parameter;

define_model! {
    /// BM25 as Robertson defined it, with the idf `ln((N - df + 0.5) / (df + 0.5))`.
    ///
    /// The contribution of a term is `w · (k1 + 1) · c / (k1 + c)`, where
    /// `c = tf / (1 - b + b · length / average)`, and `w` is the idf times the weight of the field
    /// times `(k3 + 1) · count / (k3 + count)`, with the count in the query. Terrier has
    /// the same defaults, but uses the binary logarithm, which multiplies all scores by 1.4427.
    ///
    /// The idf of a term in more than half of the documents is negative, and so are its
    /// contributions: it moves documents down. Queries with such a term are scored exhaustively.
    /// [`Atire`] and [`Bm25`] have an idf without negative values.
    ///
    /// [`Atire`]: super::Atire
    /// [`Bm25`]: crate::Bm25
    ///
    /// ```
    /// use ir_bm25::models::{Robertson, ScoringModel, TermStatistics};
    /// // 10 documents of 120 tokens, the term is in 3 of them 5 times.
    /// let term = TermStatistics::new(10, 120, 3, 5);
    /// let scorer = Robertson::default().term_scorer(&term);
    /// // c = 2 / (0.25 + 0.75 · 8 / 12) = 2.666667; ln(7.5 / 3.5) · 2.2 · c / (1.2 + c)
    /// assert!((scorer.score(2, 8) - 1.156_350).abs() < 1e-6);
    /// // Twice in the query: 9 · 2 / (8 + 2) = 1.8 times as much.
    /// let twice = Robertson::default().term_scorer(&term.with_count(2.0));
    /// assert!((twice.score(2, 8) - 1.8 * 1.156_350).abs() < 1e-5);
    /// // In 8 of 10 documents: ln(2.5 / 8.5) is negative.
    /// let frequent = TermStatistics::new(10, 120, 8, 9);
    /// assert!(Robertson::default().term_scorer(&frequent).score(2, 8) < 0.0);
    /// ```
    /// # Source
    /// Robertson, Walker, Jones, Hancock-Beaulieu and Gatford, "Okapi at TREC-3", 1994.
    pub struct Robertson, new(k1, b) {
        lengths: OneByte,
        /// Term-frequency saturation; 0 ignores repeated occurrences. Range: >= 0, finite. Default:
        /// 1.2.
        k1: K1_OKAPI,
        /// Length normalization. 0 disables it, 1 normalizes fully. Range: 0..=1. Default: 0.75.
        b: B_OKAPI,
        /// Saturation of the count of a term in the query; infinity disables it. Range: >= 0.
        /// Default: 8.
        k3: K3_OKAPI,
    }
    name: "robertson",
    aliases: ["okapi", "bm25-robertson"],
    description: "BM25 of Okapi, with an idf that can be negative",
    scorer: |model, term| {
        let (n, df) = term.counts();
        let idf = ((n - df + 0.5) / (df + 0.5)).ln();
        let weight = QueryWeight::new(term, model.k3, idf, "idf = ln((N - df + 0.5) / (df + 0.5))");
        OkapiTerm::new(term, weight, (model.k1, model.b), Saturation::Okapi)
    },
}

const K3_OKAPI: Parameter = Parameter { default: 8.0, ..K3 };
