//! RM3: relevance model interpolated with the query.

use serde::{Deserialize, Serialize};

use super::error::{FeedbackError, check_count, check_unit};
use super::term_vector::{FeedbackDocument, TermVector};

/// Relevance model RM3: the original query interpolated with the language model of the feedback
/// documents.
///
/// `weight(t) = λ · p(t | query) + (1 - λ) · p(t | R)`, with
/// `p(t | R) ∝ Σ over feedback documents d of p(t | d) · w(d)`, reduced to its most probable terms.
/// The weights sum to 1.
///
/// ```
/// use ir_bm25::feedback::{FeedbackModel, Rm3};
/// let model: FeedbackModel = "rm3(terms=20,weight=0.6)".parse()?;
/// let expected = Rm3 { terms: 20, weight: 0.6, ..Rm3::ANSERINI };
/// assert_eq!(model, FeedbackModel::Rm3(expected));
/// # Ok::<(), ir_bm25::feedback::FeedbackError>(())
/// ```
///
/// # Source
/// Lavrenko and Croft, "Relevance-Based Language Models", SIGIR 2001; Abdul-Jaleel et al., "UMass
/// at TREC 2004: Novelty and HARD".
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rm3 {
    /// Number of feedback documents. Range: ≥ 1. Default: 10.
    pub docs: usize,
    /// Number of feedback terms. Range: ≥ 1. Default: 10.
    pub terms: usize,
    /// Weight λ of the original query. 1 disables feedback. Range: 0 to 1. Default: 0.5.
    pub weight: f32,
    /// Estimate of the relevance model. Default: [`Rm3Estimate::Anserini`].
    pub estimate: Rm3Estimate,
}

/// Estimate of the relevance model by the program that defines it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Rm3Estimate {
    /// Anserini's `Rm3Reranker`: candidate terms have 2 to 20 characters, only `a-z` and `0-9`, and
    /// occur in at most a tenth of the documents; `p(t | d)` is the maximum-likelihood estimate
    /// over the most frequent candidates of `d`, as many as feedback terms; `w(d)` is the score,
    /// which must not be negative, so that log-likelihoods are an error.
    #[default]
    Anserini,
    /// Indri's `RelevanceModel` with `fbMu` 0: all terms are candidates; `p(t | d)` is the
    /// maximum-likelihood estimate over the whole document; `w(d) ∝ exp(score)`. That is `p(query |
    /// d)` if scores are log-likelihoods: with the models of Indri
    /// ([`IndriDirichlet`](crate::models::IndriDirichlet),
    /// [`IndriJelinekMercer`](crate::models::IndriJelinekMercer),
    /// [`TwoStage`](crate::models::TwoStage)). Indri itself divides the scores of a query of n
    /// words by n, so that its weights are the n-th roots of these. With other models, `exp(score)`
    /// is no probability.
    Indri,
}

impl Rm3 {
    /// Default of Anserini and Pyserini: 10 documents, 10 terms, weight 0.5.
    pub const ANSERINI: Self = Self {
        docs: 10,
        terms: 10,
        weight: 0.5,
        estimate: Rm3Estimate::Anserini,
    };
    /// Indri's estimate: 10 documents, 10 terms, weight 0.5.
    pub const INDRI: Self = Self {
        estimate: Rm3Estimate::Indri,
        ..Self::ANSERINI
    };

    pub(super) fn validate(&self) -> Result<(), FeedbackError> {
        check_count("docs", self.docs)?;
        check_count("terms", self.terms)?;
        check_unit("weight", self.weight)
    }

    /// The weights of the expanded query; [`None`] if there are no feedback terms. `query` holds
    /// the counts of the query terms.
    pub(super) fn expand(
        &self,
        query: TermVector,
        feedback: &[FeedbackDocument],
    ) -> Result<Option<TermVector>, FeedbackError> {
        let relevance = match self.estimate {
            Rm3Estimate::Anserini => self.anserini(feedback)?,
            Rm3Estimate::Indri => indri(feedback),
        };
        let relevance = relevance.pruned(self.terms);
        let norm = relevance.l1_norm();
        if norm.is_nan() || norm <= 0.0 {
            return Ok(None);
        }
        let relevance = relevance.scaled(norm);
        let norm = query.l1_norm();
        let query = query.scaled(norm);
        let original = |term| f64::from(self.weight * query.get(term));
        let weight = |term| {
            let feedback = (1.0 - f64::from(self.weight)) * f64::from(relevance.get(term));
            (original(term) + feedback) as f32
        };
        let terms = query.iter().chain(relevance.iter());
        let weights = terms.map(|(term, _)| (term.to_owned(), weight(term)));
        Ok(Some(weights.collect()))
    }

    fn anserini(&self, feedback: &[FeedbackDocument]) -> Result<TermVector, FeedbackError> {
        /// Smaller norms are treated as 0.
        const MIN_NORM: f32 = 0.001;
        let mut model = TermVector::default();
        for document in feedback {
            // Not so for NaN.
            if document.score < 0.0 {
                return Err(FeedbackError::NegativeScore {
                    found: document.score,
                });
            }
            let candidates = document.terms.clone().pruned(self.terms);
            let norm = candidates.l1_norm() as f32;
            if norm > MIN_NORM {
                for (term, count) in candidates.iter() {
                    model.add(term, count / norm * document.score);
                }
            }
        }
        Ok(model)
    }
}

impl Default for Rm3 {
    /// [`Rm3::ANSERINI`].
    fn default() -> Self {
        Self::ANSERINI
    }
}

fn indri(feedback: &[FeedbackDocument]) -> TermVector {
    let scores = feedback.iter().map(|document| f64::from(document.score));
    let best = scores.fold(f64::NEG_INFINITY, f64::max);
    let mut model = TermVector::default();
    for document in feedback {
        let weight = (f64::from(document.score) - best).exp();
        for (term, count) in document.terms.iter() {
            let probability = f64::from(count) / f64::from(document.length.max(1));
            model.add(term, (probability * weight) as f32);
        }
    }
    model
}
