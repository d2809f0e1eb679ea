//! Query likelihood with Dirichlet smoothing, as in Indri.

use super::dirichlet;
use super::likelihood::Smoothing;
use super::parameter::Parameter;

define_model! {
    /// Query likelihood with Dirichlet smoothing, as in Indri (`method:dirichlet`): the logarithm
    /// of the probability of the query in the language model of the document.
    ///
    /// The score of a document with at least one query term is `Σ boost · ln((tf + μ · p) / (length
    /// + μ))` over all query terms, also those that it does not contain, where `p = cf / tokens` is
    /// the probability of the term in the collection, and `1 / (2 · tokens)` for a term that does
    /// not occur there. Scores are negative. Indri divides them by the number of words, as
    /// `#combine` of structured queries does here.
    ///
    /// The score is the sum of a contribution `boost · ln(1 + tf / (μ · p))` of each term that the
    /// document contains, and of a summand `Σ boost · ln p + Σ boost · ln(μ / (length + μ))` of the
    /// document. [`Dirichlet`](super::Dirichlet) is the formula of Lucene and Anserini: there,
    /// terms that a document does not contain contribute nothing, and no term contributes less, so
    /// that long documents with few query terms rank higher.
    ///
    /// In structured queries, a phrase or window has the collection frequency of its matches, and a
    /// part of the query that does not match counts as a term that the document does not contain.
    ///
    /// ```
    /// use ir_bm25::models::{IndriDirichlet, ScoringModel, TermStatistics};
    /// // 10 documents of 120 tokens; two query terms, one in 3 documents 5 times, one in 2 twice.
    /// let terms = [TermStatistics::new(10, 120, 3, 5), TermStatistics::new(10, 120, 2, 2)];
    /// let model = IndriDirichlet::new(100.0);
    /// // In a document of 8 tokens, the first term occurs twice, the other does not:
    /// // ln((2 + 100 · 5 / 120) / 108) + ln((0 + 100 · 2 / 120) / 108) = -2.862_973 - 4.171_306
    /// let contribution = f64::from(model.term_scorer(&terms[0]).score(2, 8));
    /// let document = model.document_scorer(&terms).unwrap().score(8);
    /// assert!((contribution - 0.392_042).abs() < 1e-6);
    /// assert!((contribution + document - -7.034_278).abs() < 1e-6);
    /// ```
    /// # Source
    /// Zhai and Lafferty, "A Study of Smoothing Methods for Language Models Applied to Ad Hoc
    /// Information Retrieval", SIGIR 2001; Strohman, Metzler, Turtle and Croft, "Indri: A Language
    /// Model-Based Search Engine for Complex Queries", 2005.
    pub struct IndriDirichlet, new(mu) {
        lengths: Exact,
        /// Pseudo-count of the collection model. Range: > 0, finite. Default: 2500.
        mu: MU,
    }
    name: "indri-dirichlet",
    aliases: ["indri-dir", "indri-ql", "indri", "dir"],
    description: "Query likelihood of Indri, Dirichlet smoothing",
    smoothing: |model| Smoothing {
        mu: f64::from(model.mu),
        lambda: 0.0,
    },
}

pub(super) const MU: Parameter = Parameter {
    default: 2500.0,
    ..dirichlet::MU
};
