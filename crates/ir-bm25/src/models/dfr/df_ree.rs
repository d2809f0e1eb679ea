//! DFRee: free from parameters.

use super::{DfrTerm, Statistics};
use crate::models::scoring_model::TermBound;

define_model! {
    /// DFRee: inner product of two information measures of one more occurrence. Has no parameters.
    ///
    /// The contribution of a term is `boost · tf · log2(q / p) · (-tf · log2(p · T / F) + (tf + 1)
    /// · log2(q · T / F) + log2(q / p) / 2)`, where `p = tf / length`, `q = (tf + 1) / (length +
    /// 1)`, T is the number of tokens and F the number of occurrences of the term in the
    /// collection. Queries are scored exhaustively.
    ///
    /// ```
    /// use ir_bm25::models::{DfRee, ScoringModel, TermStatistics};
    /// // 10 documents of 120 tokens, the term is in 3 of them 5 times.
    /// let scorer = DfRee::default().term_scorer(&TermStatistics::new(10, 120, 3, 5));
    /// assert!((scorer.score(2, 8) - 3.351_506).abs() < 1e-6);
    /// ```
    /// # Source
    /// Amati, Amodeo, Bianchi, Marcone, Bordoni, Gaibisso, Gambosi, Celi, Di Nicola and Flammini,
    /// "FUB, IASI-CNR, UNIVAQ at TREC 2011 Microblog Track", TREC 2011; Terrier's `DFRee`.
    #[derive(Eq)]
    pub struct DfRee {
        lengths: Exact,
    }
    name: "dfree",
    aliases: [],
    description: "DFRee: average of two information measures, without parameters",
    scorer: |_model, term| DfrTerm::new(term, None, contribution, FORMULA, TermBound::Unknown),
}

const FORMULA: &str = "tf × log2(q / p) × (-tf × log2(p × T / F) + (tf + 1) × log2(q × T / F) + log2(q / p) / 2), p = tf / length, q = (tf + 1) / (length + 1)";

fn contribution(statistics: &Statistics, tf: f64, length: f64) -> f64 {
    let (p, q) = (tf / length, (tf + 1.0) / (length + 1.0));
    let inverse = statistics.tokens / statistics.cf;
    let ratio = (q / p).log2();
    let information = -tf * (p * inverse).log2() + (tf + 1.0) * (q * inverse).log2() + 0.5 * ratio;
    tf * ratio * information
}
