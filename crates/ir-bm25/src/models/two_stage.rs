//! Query likelihood with two-stage smoothing, as in Indri.

use super::indri_dirichlet::MU;
use super::indri_jelinek_mercer;
use super::likelihood::Smoothing;
use super::parameter::{Parameter, ParameterRange};

define_model! {
    /// Query likelihood with two-stage smoothing, as in Indri (`method:two-stage`): a Dirichlet
    /// document model mixed with the collection model.
    ///
    /// The score of a document with at least one query term is `Σ boost · ln p(t|d)` over all query
    /// terms, also those that it does not contain, with `p(t|d) = (1 - λ) · (tf + μ · p) / (length
    /// + μ) + λ · p`, where `p = cf / tokens` is the probability of the term in the collection, and
    /// `1 / (2 · tokens)` for a term that does not occur there. λ = 0 is
    /// [`IndriDirichlet`](super::IndriDirichlet), which describes how phrases and windows are
    /// scored.
    ///
    /// ```
    /// use ir_bm25::models::{ScoringModel, TermStatistics, TwoStage};
    /// // 10 documents of 120 tokens; two query terms, one in 3 documents 5 times, one in 2 twice.
    /// let terms = [TermStatistics::new(10, 120, 3, 5), TermStatistics::new(10, 120, 2, 2)];
    /// let model = TwoStage::new(100.0, 0.4);
    /// // In a document of 8 tokens, the first term occurs twice, the other does not:
    /// // ln(0.6 · (2 + 100 · 5 / 120) / 108 + 0.4 · 5 / 120)
    /// // + ln(0.6 · (0 + 100 · 2 / 120) / 108 + 0.4 · 2 / 120) = -2.977_383 - 4.139_807
    /// let contribution = f64::from(model.term_scorer(&terms[0]).score(2, 8));
    /// let document = model.document_scorer(&terms).unwrap().score(8);
    /// assert!((contribution + document - -7.117_190).abs() < 1e-6);
    /// ```
    /// # Source
    /// Zhai and Lafferty, "Two-Stage Language Models for Information Retrieval", SIGIR 2002.
    pub struct TwoStage, new(mu, lambda) {
        lengths: Exact,
        /// Pseudo-count of the collection model in the document model. Range: > 0, finite. Default:
        /// 2500.
        mu: MU,
        /// λ: weight of the collection model. Range: 0 to 1. Default: 0.4.
        lambda: LAMBDA,
    }
    name: "two-stage",
    aliases: ["two", "indri-two-stage"],
    description: "Query likelihood of Indri, two-stage smoothing",
    smoothing: |model| Smoothing {
        mu: f64::from(model.mu),
        lambda: f64::from(model.lambda),
    },
}

const LAMBDA: Parameter = Parameter {
    range: ParameterRange::Fraction,
    ..indri_jelinek_mercer::LAMBDA
};
