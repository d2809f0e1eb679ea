//! Rocchio's feedback: query vector and centroids.

use serde::{Deserialize, Serialize};

use super::error::{FeedbackError, check_count, check_weight};
use super::term_vector::{FeedbackDocument, TermVector};

/// Rocchio's feedback: the query vector moves toward the centroid of the feedback documents and,
/// optionally, away from the centroid of the last hits.
///
/// `weight(t) = α · query(t) + β · positive(t) - γ · negative(t)`; terms with a weight of at most 0
/// are dropped. As in Anserini's `RocchioReranker`, vectors of documents hold frequencies, without
/// terms of fewer than 2 or more than 20 characters and terms that occur in more than a tenth of
/// the documents. Each vector has unit length, a centroid is the mean of the vectors, reduced to
/// its heaviest terms and scaled to unit length; the query has unit length.
///
/// # Other variants
/// Vectors of frequencies give common and rare terms of a document the same weight; the limit of a
/// tenth of the documents takes the place of idf. The pilot of bioCADDIE's organizers (UIUC), on
/// Lucene, weighted vectors of documents by BM25 instead, with α 1 and without negative documents.
/// An external toolkit normalized query and centroid in a way that is not specified, so its scores
/// cannot be reproduced.
///
/// ```
/// use ir_bm25::feedback::{FeedbackModel, Rocchio};
/// let model: FeedbackModel = "rocchio(beta=0.5)".parse()?;
/// let expected = Rocchio { beta: 0.5, ..Rocchio::ANSERINI };
/// assert_eq!(model, FeedbackModel::Rocchio(expected));
/// # Ok::<(), ir_bm25::feedback::FeedbackError>(())
/// ```
///
/// # Source
/// Rocchio, "Relevance Feedback in Information Retrieval", in Salton, The SMART Retrieval System,
/// 1971.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rocchio {
    /// Number of feedback documents. Range: ≥ 1. Default: 10.
    pub docs: usize,
    /// Number of feedback terms. Range: ≥ 1. Default: 10.
    pub terms: usize,
    /// Weight α of the query. Range: ≥ 0. Default: 1.
    pub alpha: f32,
    /// Weight β of the feedback documents. 0 disables feedback, if `gamma` is 0, too. Range: ≥ 0.
    /// Default: 0.75.
    pub beta: f32,
    /// Weight γ of the negative documents. Range: ≥ 0. Default: 0. Anserini's value with negative
    /// documents is 0.15.
    pub gamma: f32,
    /// Number of negative documents: the last hits. Range: ≥ 1. Default: 10.
    pub negative_docs: usize,
    /// Number of terms of the negative documents. Range: ≥ 1. Default: 10.
    pub negative_terms: usize,
    /// Number of hits of the first search; the last hits are the negative documents. Range: ≥ 1.
    /// Default: 50, as Anserini's `-rerankCutoff`.
    pub depth: usize,
}

impl Rocchio {
    /// Default of Anserini and Pyserini: 10 documents, 10 terms, α 1, β 0.75, no negative
    /// documents.
    pub const ANSERINI: Self = Self {
        docs: 10,
        terms: 10,
        alpha: 1.0,
        beta: 0.75,
        gamma: 0.0,
        negative_docs: 10,
        negative_terms: 10,
        depth: 50,
    };

    pub(super) fn validate(&self) -> Result<(), FeedbackError> {
        check_count("docs", self.docs)?;
        check_count("terms", self.terms)?;
        check_count("negative_docs", self.negative_docs)?;
        check_count("negative_terms", self.negative_terms)?;
        check_count("depth", self.depth)?;
        check_weight("alpha", self.alpha)?;
        check_weight("beta", self.beta)?;
        check_weight("gamma", self.gamma)?;
        if self.alpha == 0.0 && self.beta == 0.0 {
            return Err(FeedbackError::Parameter {
                name: "alpha",
                expected: "alpha or beta above 0",
                found: 0.0,
            });
        }
        Ok(())
    }

    /// The weights of the expanded query; [`None`] if it has no terms. `query` holds the counts of
    /// the query terms.
    pub(super) fn expand(
        &self,
        query: TermVector,
        positive: &[FeedbackDocument],
        negative: &[FeedbackDocument],
    ) -> Option<TermVector> {
        let norm = query.l2_norm();
        let query = query.scaled(norm);
        let positive = centroid(positive, self.terms);
        let negative = centroid(negative, self.negative_terms);
        let weight = |term: &str| {
            self.alpha * query.get(term) + self.beta * positive.get(term)
                - self.gamma * negative.get(term)
        };
        let terms = query.iter().chain(positive.iter());
        let weights = terms.map(|(term, _)| (term.to_owned(), weight(term)));
        let weights: TermVector = weights.filter(|(_, weight)| *weight > 0.0).collect();
        (!weights.is_empty()).then_some(weights)
    }
}

impl Default for Rocchio {
    /// [`Rocchio::ANSERINI`].
    fn default() -> Self {
        Self::ANSERINI
    }
}

/// The mean of the unit vectors of documents, reduced to its heaviest terms, of unit length.
fn centroid(documents: &[FeedbackDocument], terms: usize) -> TermVector {
    /// Smaller norms are treated as 0.
    const MIN_NORM: f32 = 0.001;
    let mut sum = TermVector::default();
    for document in documents {
        let norm = document.terms.l2_norm() as f32;
        if norm > MIN_NORM {
            for (term, count) in document.terms.iter() {
                sum.add(term, count / norm);
            }
        }
    }
    let mean = sum.scaled(documents.len() as f64).pruned(terms);
    let norm = mean.l2_norm();
    mean.scaled(norm)
}
