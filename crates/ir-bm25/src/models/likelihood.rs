//! Log-likelihood of a query in the smoothed language model of a document, as in Indri.
//!
//! `p(t|d) = (1 - λ) · (tf + μ · p) / (length + μ) + λ · p` covers the three methods: Dirichlet
//! smoothing is the case λ = 0, and Jelinek-Mercer smoothing the case μ = 0. The log-likelihood
//! `Σ boost · ln p(t|d)` over all query terms is the sum of
//!
//! - `boost · ln(p(t|d) / p₀)` over the terms that the document contains, where `p₀` is `p(t|d)`
//!   for `tf` = 0. This is at least 0 and monotone, so that it is pruned;
//! - `Σ boost · ln p₀ = Σ boost · ln p + Σ boost · ln a`, the summand of the document, where
//!   `a = (1 - λ) · μ / (length + μ) + λ` depends on the length alone.

use ir_core::Explanation;

use super::scoring_model::{BOOST, DocumentScorer, TermBound, TermScorer, TermStatistics};

/// Smoothing of the language model of a document. Not both are 0.
#[derive(Debug, Clone, Copy)]
pub(super) struct Smoothing {
    pub(super) mu: f64,
    pub(super) lambda: f64,
}

impl Smoothing {
    /// `(length + μ) · a`.
    fn denominator(self, length: f64) -> f64 {
        (1.0 - self.lambda) * self.mu + self.lambda * (length + self.mu)
    }

    /// a: the probability of a term that the document does not contain, relative to `p`.
    fn absent(self, length: f64) -> f64 {
        match self.mu {
            0.0 => self.lambda,
            mu => (1.0 - self.lambda) * (mu / (length + mu)) + self.lambda,
        }
    }

    fn details(self) -> Vec<Explanation> {
        let mut details = Vec::new();
        if self.mu > 0.0 {
            details.push(Explanation::new(self.mu, "mu"));
        }
        if self.lambda > 0.0 || self.mu == 0.0 {
            details.push(Explanation::new(self.lambda, "lambda"));
        }
        details
    }

    /// Names of a formula in the three cases: Dirichlet, Jelinek-Mercer, two-stage.
    fn choose(self, formulas: [&'static str; 3]) -> &'static str {
        formulas[match (self.mu, self.lambda) {
            (_, 0.0) => 0,
            (0.0, _) => 1,
            _ => 2,
        }]
    }

    pub(super) fn term_scorer(self, term: &TermStatistics) -> Box<dyn TermScorer> {
        Box::new(PresentTerm {
            smoothing: self,
            boost: term.boost(),
            p: term.relative_collection_frequency(),
        })
    }

    pub(super) fn document_scorer(self, query: &[TermStatistics]) -> Box<dyn DocumentScorer> {
        let boosts = query.iter().map(|term| f64::from(term.boost()));
        let in_collection = query
            .iter()
            .map(|term| f64::from(term.boost()) * term.relative_collection_frequency().ln());
        Box::new(AbsentTerms {
            smoothing: self,
            boosts: boosts.sum(),
            in_collection: in_collection.sum(),
        })
    }
}

/// A query term in the documents that contain it.
#[derive(Debug)]
struct PresentTerm {
    smoothing: Smoothing,
    boost: f32,
    p: f64,
}

impl TermScorer for PresentTerm {
    fn score(&self, tf: u32, length: u32) -> f32 {
        let denominator = self.smoothing.denominator(f64::from(length)) * self.p;
        let frequency = (1.0 - self.smoothing.lambda) * f64::from(tf);
        (f64::from(self.boost) * (1.0 + frequency / denominator).ln()) as f32
    }

    // Every step is monotone; of successive frequencies and lengths, the logarithms differ by far
    // more than their rounding error, so that the computed scores are monotone too.
    fn bound(&self) -> TermBound {
        TermBound::Monotone
    }

    fn formula(&self) -> String {
        let formula = self.smoothing.choose([
            "boost × ln(1 + tf / (mu × p))",
            "boost × ln(1 + (1 - lambda) × tf / length / (lambda × p))",
            "boost × ln(1 + (1 - lambda) × tf / (((1 - lambda) × mu + lambda × (length + mu)) × p))",
        ]);
        format!("{formula}, relative to a document without the term")
    }

    fn details(&self, _: u32, _: u32) -> Vec<Explanation> {
        let mut details = vec![Explanation::new(self.boost, BOOST)];
        details.extend(self.smoothing.details());
        details.push(Explanation::new(
            self.p,
            "p = cf / tokens: probability in the collection",
        ));
        details
    }
}

/// All query terms in a document that contains none of them.
#[derive(Debug)]
struct AbsentTerms {
    smoothing: Smoothing,
    /// Σ boost over all query terms.
    boosts: f64,
    /// Σ boost · ln p.
    in_collection: f64,
}

impl DocumentScorer for AbsentTerms {
    fn score(&self, length: u32) -> f64 {
        let absent = self.smoothing.absent(f64::from(length));
        self.in_collection + self.boosts * absent.ln()
    }

    // Each step falls with the length, but for the rounding error of the logarithm.
    fn bound(&self) -> f64 {
        let bound = self.score(0);
        bound + 1e-12 * (bound.abs() + self.boosts)
    }

    fn formula(&self) -> String {
        let formula = self.smoothing.choose([
            "Σ boost × ln p + Σ boost × ln(mu / (length + mu))",
            "Σ boost × ln p + Σ boost × ln lambda",
            "Σ boost × ln p + Σ boost × ln((1 - lambda) × mu / (length + mu) + lambda)",
        ]);
        format!("{formula}: log-likelihood of a document without the query terms")
    }

    fn details(&self, _: u32) -> Vec<Explanation> {
        let mut details = vec![
            Explanation::new(
                self.in_collection,
                "Σ boost × ln p over all query terms, p = cf / tokens, 1 / (2 × tokens) for a term that does not occur",
            ),
            Explanation::new(self.boosts, "Σ boost over all query terms"),
        ];
        details.extend(self.smoothing.details());
        details
    }
}
