//! Query likelihood with two-stage smoothing.

use ir_core::Explanation;

use super::dirichlet::MU;
use super::named::{NamedModel, Parameter, ParameterRange};
use super::scoring_model::{BOOST, ScoringModel, TermBound, TermScorer, TermStatistics};
use crate::DocLengths;

/// Query likelihood with two-stage smoothing: a Dirichlet document model mixed with the collection
/// model.
///
/// The contribution of a term is `boost · max(0, ln(p(t|d) / p))` with
/// `p(t|d) = (1 - λ) · (tf + μ · p) / (length + μ) + λ · p`, where `p = (cf + 1) / (tokens + 1)` is
/// the probability of the term in the collection. As with [`Dirichlet`](super::Dirichlet), which is
/// the case λ = 0, terms that a document does not contain contribute nothing.
///
/// ```
/// use ir_bm25::models::{Dirichlet, ScoringModel, TermStatistics, TwoStage};
/// // 10 documents of 120 tokens, the term is in 3 of them 5 times; p = 6 / 121.
/// let term = TermStatistics::new(10, 120, 3, 5);
/// // p(t|d) = 0.6 · (2 + 100 · 6 / 121) / (8 + 100) + 0.4 · 6 / 121 = 0.058_494
/// let scorer = TwoStage::new(100.0, 0.4).term_scorer(&term);
/// assert!((scorer.score(2, 8) - 0.165_201).abs() < 1e-6);
/// let dirichlet = Dirichlet::new(100.0).term_scorer(&term);
/// assert_eq!(TwoStage::new(100.0, 0.0).term_scorer(&term).score(2, 8), dirichlet.score(2, 8));
/// ```
/// # Source
/// Zhai and Lafferty, "Two-Stage Language Models for Information Retrieval", SIGIR 2002.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct TwoStage {
    /// Pseudo-count of the collection model in the document model. Range: > 0, finite. Default:
    /// 1000.
    pub mu: f32,
    /// λ: weight of the collection model. Range: 0 to 1. Default: 0.4.
    pub lambda: f32,
    /// Precision of document lengths. Default: [`DocLengths::OneByte`].
    pub lengths: DocLengths,
}

const LAMBDA: Parameter = Parameter {
    name: "lambda",
    description: "Weight of the collection model",
    range: ParameterRange::Fraction,
    default: 0.4,
};

pub(super) const NAMED: NamedModel = NamedModel {
    name: "two-stage",
    aliases: &["two"],
    description: "Query likelihood, two-stage smoothing",
    parameters: &[MU, LAMBDA],
    lengths: DocLengths::OneByte,
    build: |values, lengths| {
        let (mu, lambda) = (values[0], values[1]);
        TwoStage {
            mu,
            lambda,
            lengths,
        }
        .into()
    },
};

impl TwoStage {
    /// Parameters with one-byte lengths.
    #[must_use]
    pub const fn new(mu: f32, lambda: f32) -> Self {
        let lengths = NAMED.lengths;
        Self {
            mu,
            lambda,
            lengths,
        }
    }
}

impl Default for TwoStage {
    fn default() -> Self {
        Self::new(NAMED.default(0), NAMED.default(1))
    }
}

impl ScoringModel for TwoStage {
    named_methods!(mu, lambda);

    fn term_scorer(&self, term: &TermStatistics) -> Box<dyn TermScorer> {
        Box::new(TwoStageTerm {
            boost: term.boost(),
            mu: f64::from(self.mu),
            lambda: f64::from(self.lambda),
            p: term.collection_probability(),
        })
    }
}

#[derive(Debug)]
struct TwoStageTerm {
    boost: f32,
    mu: f64,
    lambda: f64,
    p: f64,
}

impl TermScorer for TwoStageTerm {
    fn score(&self, tf: u32, length: u32) -> f32 {
        let Self { mu, lambda, p, .. } = *self;
        let total = f64::from(length) + mu;
        let (rest, tf) = (1.0 - lambda, f64::from(tf));
        // The ratio of a document without the term, and that of `tf` occurrences to it.
        let absent = rest * (mu / total) + lambda;
        let ratio = (1.0 + rest * tf / ((rest * mu + lambda * total) * p)).ln() + absent.ln();
        (f64::from(self.boost) * ratio).max(0.0) as f32
    }

    fn bound(&self) -> TermBound {
        TermBound::Monotone
    }

    fn formula(&self) -> String {
        "boost × max(0, ln(((1 - lambda) × (tf + mu × p) / (length + mu) + lambda × p) / p))"
            .to_owned()
    }

    fn details(&self, _: u32, _: u32) -> Vec<Explanation> {
        vec![
            Explanation::new(self.boost, BOOST),
            Explanation::new(self.mu, "mu"),
            Explanation::new(self.lambda, "lambda"),
            Explanation::new(
                self.p,
                "p = (cf + 1) / (tokens + 1): probability in the collection",
            ),
        ]
    }
}
