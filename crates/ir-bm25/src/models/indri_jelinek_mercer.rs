//! Query likelihood with Jelinek-Mercer smoothing, as in Indri.

use super::jelinek_mercer;
use super::likelihood::Smoothing;
use super::parameter::Parameter;

define_model! {
    /// Query likelihood with Jelinek-Mercer smoothing, as in Indri (`method:linear`): the logarithm
    /// of the probability of the query in the language model of the document.
    ///
    /// The score of a document with at least one query term is `Σ boost · ln((1 - λ) · tf / length
    /// + λ · p)` over all query terms, also those that it does not contain, where `p = cf / tokens`
    /// is the probability of the term in the collection, and `1 / (2 · tokens)` for a term that
    /// does not occur there. Phrases and windows are scored as by
    /// [`IndriDirichlet`](super::IndriDirichlet).
    ///
    /// [`JelinekMercer`](super::JelinekMercer), the formula of Lucene and Anserini, ranks alike,
    /// but for its `p = (cf + 1) / (tokens + 1)` and one-byte lengths: its scores lack the summand
    /// `Σ boost · ln(λ · p)`, which is the same for all documents.
    ///
    /// ```
    /// use ir_bm25::models::{IndriJelinekMercer, ScoringModel, TermStatistics};
    /// // 10 documents of 120 tokens; two query terms, one in 3 documents 5 times, one in 2 twice.
    /// let terms = [TermStatistics::new(10, 120, 3, 5), TermStatistics::new(10, 120, 2, 2)];
    /// let model = IndriJelinekMercer::new(0.4);
    /// // In a document of 8 tokens, the first term occurs twice, the other does not:
    /// // ln(0.6 · 2 / 8 + 0.4 · 5 / 120) + ln(0.4 · 2 / 120) = -1.791_759 - 5.010_635
    /// let contribution = f64::from(model.term_scorer(&terms[0]).score(2, 8));
    /// let document = model.document_scorer(&terms).unwrap().score(8);
    /// assert!((contribution + document - -6.802_395).abs() < 1e-6);
    /// ```
    /// # Source
    /// Zhai and Lafferty, "A Study of Smoothing Methods for Language Models Applied to Ad Hoc
    /// Information Retrieval", SIGIR 2001.
    pub struct IndriJelinekMercer, new(lambda) {
        lengths: Exact,
        /// λ: weight of the collection model. Range: above 0, at most 1. Default: 0.4. 0, which
        /// published grids contain, is no smoothing: a document without one of the query terms has
        /// probability 0, and the logarithm of 0 is undefined.
        lambda: LAMBDA,
    }
    name: "indri-jelinek-mercer",
    aliases: ["indri-jm", "indri-linear", "linear"],
    description: "Query likelihood of Indri, Jelinek-Mercer smoothing",
    smoothing: |model| Smoothing {
        mu: 0.0,
        lambda: f64::from(model.lambda),
    },
}

pub(super) const LAMBDA: Parameter = Parameter {
    default: 0.4,
    ..jelinek_mercer::LAMBDA
};
