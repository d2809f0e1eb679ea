//! DLH13: hypergeometric model, Laplace's law of succession.

use super::{DfrTerm, Statistics};
use crate::models::scoring_model::TermBound;

define_model! {
    /// DLH13: hypergeometric model of randomness, Laplace's law of succession. Has no parameters.
    ///
    /// The contribution of a term is `boost / (tf + 0.5) · (tf · log2(tf · average / length · N /
    /// F) + log2(2π · tf · (1 - f)) / 2)`, where F is the number of occurrences in the collection
    /// and `f = tf / length`, 0.99999 for a document of the term alone. It can be negative; queries
    /// are scored exhaustively.
    ///
    /// ```
    /// use ir_bm25::models::{Dlh13, ScoringModel, TermStatistics};
    /// // 10 documents of 120 tokens, the term is in 3 of them 5 times.
    /// let scorer = Dlh13::default().term_scorer(&TermStatistics::new(10, 120, 3, 5));
    /// assert!((scorer.score(2, 8) - 2.715_262).abs() < 1e-6);
    /// ```
    /// # Source
    /// Macdonald, He, Plachouras and Ounis, "University of Glasgow at TREC 2005: Experiments in
    /// Terabyte and Enterprise Tracks with Terrier", TREC 2005; Amati, "Frequentist and Bayesian
    /// Approach to Information Retrieval", ECIR 2006.
    #[derive(Eq)]
    pub struct Dlh13 {
        lengths: Exact,
    }
    name: "dlh13",
    aliases: [],
    description: "DLH13: hypergeometric, Laplace, without parameters",
    scorer: |_model, term| DfrTerm::new(term, None, contribution, FORMULA, TermBound::Unknown),
}

const FORMULA: &str = "(tf × log2(tf × average / length × N / F) + log2(2π × tf × (1 - tf / length)) / 2) / (tf + 0.5)";

fn contribution(statistics: &Statistics, tf: f64, length: f64) -> f64 {
    statistics.hypergeometric(tf, length) / (tf + 0.5)
}
