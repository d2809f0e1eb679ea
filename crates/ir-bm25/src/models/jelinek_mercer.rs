//! Query likelihood with Jelinek-Mercer smoothing.

use ir_core::Explanation;

use super::parameter::{Parameter, ParameterRange};
use super::scoring_model::{BOOST, TermBound, TermScorer};

define_model! {
    /// Query likelihood with Jelinek-Mercer smoothing, as Lucene's `LMJelinekMercerSimilarity` and
    /// Anserini's `-qljm`.
    ///
    /// The contribution of a term is `boost · ln(1 + (1 - λ) · tf / length / (λ · p))`, where `p =
    /// (cf + 1) / (tokens + 1)` is the probability of the term in the collection. The sum over the
    /// terms of a document ranks as `Σ ln((1 - λ) · tf / length + λ · p)` over all query terms
    /// does, the log-likelihood of the query, which
    /// [`IndriJelinekMercer`](super::IndriJelinekMercer) computes.
    ///
    /// ```
    /// use ir_bm25::models::{JelinekMercer, ScoringModel, TermStatistics};
    /// // 10 documents of 120 tokens, the term is in 3 of them 5 times; p = 6 / 121.
    /// let term = TermStatistics::new(10, 120, 3, 5);
    /// let scorer = JelinekMercer::new(0.1).term_scorer(&term);
    /// // ln(1 + 0.9 · 2 / 8 / (0.1 · 6 / 121))
    /// assert!((scorer.score(2, 8) - 3.836_761).abs() < 1e-6);
    /// ```
    /// # Source
    /// Zhai and Lafferty, "A Study of Smoothing Methods for Language Models Applied to Ad Hoc
    /// Information Retrieval", SIGIR 2001.
    pub struct JelinekMercer, new(lambda) {
        lengths: OneByte,
        /// λ: weight of the collection model. Small values suit short queries, 0.7 long ones.
        /// Range: above 0, at most 1. Default: 0.1, as in Anserini. 0, which published grids
        /// contain, is no smoothing: a document without one of the query terms has probability 0,
        /// and the logarithm of 0 is undefined.
        lambda: LAMBDA,
    }
    name: "qljm",
    aliases: ["jm", "jelinekmercer", "lmjelinekmercer"],
    description: "Query likelihood of Lucene, Jelinek-Mercer smoothing",
    scorer: |model, term| JelinekMercerTerm {
        boost: term.boost(),
        lambda: model.lambda,
        p: term.collection_probability(),
    },
}

pub(super) const LAMBDA: Parameter = Parameter {
    name: "lambda",
    description: "Weight of the collection model",
    range: ParameterRange::PositiveFraction,
    default: 0.1,
};

#[derive(Debug)]
struct JelinekMercerTerm {
    boost: f32,
    lambda: f32,
    p: f64,
}

impl TermScorer for JelinekMercerTerm {
    fn score(&self, tf: u32, length: u32) -> f32 {
        let (rest, lambda) = (f64::from(1.0 - self.lambda), f64::from(self.lambda));
        let frequency = rest * f64::from(tf) / f64::from(length);
        (f64::from(self.boost) * (1.0 + frequency / (lambda * self.p)).ln()) as f32
    }

    fn bound(&self) -> TermBound {
        TermBound::Monotone
    }

    fn formula(&self) -> String {
        "boost × ln(1 + (1 - lambda) × tf / length / (lambda × p))".to_owned()
    }

    fn details(&self, _: u32, _: u32) -> Vec<Explanation> {
        vec![
            Explanation::new(self.boost, BOOST),
            Explanation::new(self.lambda, "lambda"),
            Explanation::new(
                self.p,
                "p = (cf + 1) / (tokens + 1): probability in the collection",
            ),
        ]
    }
}
