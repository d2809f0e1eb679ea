//! DPH: hypergeometric, Popper's normalization.

use super::{DfrTerm, Statistics, relative};
use crate::models::scoring_model::TermBound;

define_model! {
    /// DPH: hypergeometric model of randomness, Popper's normalization. Has no parameters.
    ///
    /// The contribution of a term is `boost · (1 - f)² / (tf + 1) · (tf · log2(tf · average /
    /// length · N / F) + log2(2π · tf · (1 - f)) / 2)`, where F is the number of occurrences in the
    /// collection and `f = tf / length`, 0.99999 for a document of the term alone. It can be
    /// negative; queries are scored exhaustively.
    ///
    /// ```
    /// use ir_bm25::models::{Dph, ScoringModel, TermStatistics};
    /// // 10 documents of 120 tokens, the term is in 3 of them 5 times.
    /// let scorer = Dph::default().term_scorer(&TermStatistics::new(10, 120, 3, 5));
    /// assert!((scorer.score(2, 8) - 1.272_779).abs() < 1e-6);
    /// ```
    /// # Source
    /// Amati, Ambrosi, Bianchi, Gaibisso and Gambosi, "FUB, IASI-CNR and University of Tor Vergata
    /// at TREC 2007 Blog Track", TREC 2007; Amati, "Frequentist and Bayesian Approach to
    /// Information Retrieval", ECIR 2006.
    #[derive(Eq)]
    pub struct Dph {
        lengths: Exact,
    }
    name: "dph",
    aliases: [],
    description: "DPH: hypergeometric, without parameters",
    scorer: |_model, term| DfrTerm::new(term, None, contribution, FORMULA, TermBound::Unknown),
}

const FORMULA: &str = "(1 - f)² / (tf + 1) × (tf × log2(tf × average / length × N / F) + log2(2π × tf × (1 - f)) / 2), f = tf / length";

fn contribution(statistics: &Statistics, tf: f64, length: f64) -> f64 {
    let rest = 1.0 - relative(tf, length);
    rest * rest / (tf + 1.0) * statistics.hypergeometric(tf, length)
}
