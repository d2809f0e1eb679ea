//! BM25L: BM25 with a shift of the normalized frequency.

use super::named::{B, K1, NamedModel, Parameter, ParameterRange};
use super::okapi::{K3, OkapiTerm, QueryWeight, Saturation};
use super::scoring_model::{ScoringModel, TermScorer, TermStatistics};
use crate::DocLengths;

/// BM25L: the normalized frequency is shifted, in favor of long documents.
///
/// The contribution of a term is `w · (k1 + 1) · (c + δ) / (k1 + c + δ)`, where
/// `c = tf / (1 - b + b · length / average)`, and `w` is the idf `ln((N + 1) / (df + 0.5))` times
/// the weight of the field times `(k3 + 1) · count / (k3 + count)`, with the count in the query.
///
/// ```
/// use ir_bm25::models::{Bm25L, ScoringModel, TermStatistics};
/// // 10 documents of 120 tokens, the term is in 3 of them 5 times.
/// let scorer = Bm25L::default().term_scorer(&TermStatistics::new(10, 120, 3, 5));
/// // c + δ = 2 / (0.6 + 0.4 · 8 / 12) + 0.5 = 2.807692; ln(11 / 3.5) · 1.9 · 2.807692 / 3.707692
/// assert!((scorer.score(2, 8) - 1.647_613).abs() < 1e-6);
/// ```
/// # Source
/// Lv and Zhai, "When Documents Are Very Long, BM25 Fails!", SIGIR 2011.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Bm25L {
    /// Term-frequency saturation; 0 ignores repeated occurrences. Range: >= 0, finite. Default:
    /// 0.9.
    pub k1: f32,
    /// Length normalization. 0 disables it, 1 normalizes fully. Range: 0..=1. Default: 0.4.
    pub b: f32,
    /// Shift of the normalized frequency. Range: >= 0, finite.
    /// Default: 0.5.
    pub delta: f32,
    /// Saturation of the count of a term in the query; infinity disables it. Range: >= 0.
    /// Default: infinity.
    pub k3: f32,
    /// Precision of document lengths. Default: [`DocLengths::OneByte`].
    pub lengths: DocLengths,
}

const DELTA: Parameter = Parameter {
    name: "delta",
    description: "Shift of the normalized frequency",
    range: ParameterRange::NonNegative,
    default: 0.5,
};

pub(super) const NAMED: NamedModel = NamedModel {
    name: "bm25l",
    aliases: &[],
    description: "BM25L: less penalty for long documents",
    parameters: &[K1, B, DELTA, K3],
    lengths: DocLengths::OneByte,
    build: |values, lengths| Bm25L::from_values(values, lengths).into(),
};

variant_of_bm25!(Bm25L: k1, b, delta, k3);

impl ScoringModel for Bm25L {
    named_methods!(k1, b, delta, k3);

    fn term_scorer(&self, term: &TermStatistics) -> Box<dyn TermScorer> {
        let (n, df) = (term.documents as f64, term.df as f64);
        let idf = ((n + 1.0) / (df + 0.5)).ln();
        Box::new(OkapiTerm {
            weight: QueryWeight::new(term, self.k3, idf, "idf = ln((N + 1) / (df + 0.5))"),
            k1: f64::from(self.k1),
            b: f64::from(self.b),
            delta: f64::from(self.delta),
            average: term.average_length(),
            saturation: Saturation::Long,
        })
    }
}
