//! Query likelihood with Dirichlet smoothing.

use ir_core::Explanation;

use super::parameter::{Parameter, ParameterRange};
use super::scoring_model::{BOOST, TermBound, TermScorer};

define_model! {
    /// Query likelihood with Dirichlet smoothing, as Lucene's `LMDirichletSimilarity` and
    /// Anserini's `-qld`.
    ///
    /// The contribution of a term is `boost · max(0, ln(1 + tf / (μ · p)) + ln(μ / (length + μ)))`,
    /// where `p = (cf + 1) / (tokens + 1)` is the probability of the term in the collection. This
    /// is the logarithm of `p(t|d) / p` with `p(t|d) = (tf + μ · p) / (length + μ)`. Terms that a
    /// document does not contain contribute nothing, and no term contributes less. Without these
    /// two rules, the score is the log-likelihood of the query:
    /// [`IndriDirichlet`](super::IndriDirichlet).
    ///
    /// ```
    /// use ir_bm25::models::{Dirichlet, ScoringModel, TermStatistics};
    /// // 10 documents of 120 tokens, the term is in 3 of them 5 times; p = 6 / 121.
    /// let term = TermStatistics::new(10, 120, 3, 5);
    /// let scorer = Dirichlet::new(100.0).term_scorer(&term);
    /// // ln(1 + 2 / (100 · 6 / 121)) + ln(100 / (8 + 100)) = 0.338850 - 0.076961
    /// assert!((scorer.score(2, 8) - 0.261_889).abs() < 1e-6);
    /// // A single occurrence in a long document is less likely than in the collection.
    /// assert_eq!(scorer.score(1, 100), 0.0);
    /// ```
    /// # Source
    /// Zhai and Lafferty, "A Study of Smoothing Methods for Language Models Applied to Ad Hoc
    /// Information Retrieval", SIGIR 2001.
    pub struct Dirichlet, new(mu) {
        lengths: OneByte,
        /// Pseudo-count of the collection model. Range: > 0, finite. Default: 1000, as in Anserini.
        mu: MU,
    }
    name: "qld",
    aliases: ["ql", "dirichlet", "lmdirichlet", "dirichletlm"],
    description: "Query likelihood of Lucene, Dirichlet smoothing",
    scorer: |model, term| DirichletTerm {
        boost: term.boost(),
        mu: f64::from(model.mu),
        p: term.collection_probability(),
    },
}

pub(super) const MU: Parameter = Parameter {
    name: "mu",
    description: "Pseudo-count of the collection model",
    range: ParameterRange::Positive,
    default: 1000.0,
};

#[derive(Debug)]
struct DirichletTerm {
    boost: f32,
    mu: f64,
    p: f64,
}

impl TermScorer for DirichletTerm {
    fn score(&self, tf: u32, length: u32) -> f32 {
        let Self { boost, mu, p } = *self;
        let ratio = (1.0 + f64::from(tf) / (mu * p)).ln() + (mu / (f64::from(length) + mu)).ln();
        (f64::from(boost) * ratio).max(0.0) as f32
    }

    // Of successive frequencies and lengths, the ratios differ by far more than the rounding error
    // of the logarithm, so that the computed scores are monotone too.
    fn bound(&self) -> TermBound {
        TermBound::Monotone
    }

    fn formula(&self) -> String {
        "boost × max(0, ln(1 + tf / (mu × p)) + ln(mu / (length + mu)))".to_owned()
    }

    fn details(&self, _: u32, _: u32) -> Vec<Explanation> {
        vec![
            Explanation::new(self.boost, BOOST),
            Explanation::new(self.mu, "mu"),
            Explanation::new(
                self.p,
                "p = (cf + 1) / (tokens + 1): probability in the collection",
            ),
        ]
    }
}
