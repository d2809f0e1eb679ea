//! The best documents of a search.

use ir_core::{DocNum, Ranking, SearchError, TopK};

use super::document_scores::DocumentScores;

/// The best documents so far, by the sums of their term scores and what the documents add to these.
pub(super) struct Collector<'a> {
    best: TopK,
    /// The score that every document must exceed; negative infinity if any score counts.
    floor: f64,
    /// [`None`] if documents add nothing.
    documents: Option<&'a DocumentScores<'a>>,
    /// Upper bound of what a document adds.
    bound: f64,
}

impl<'a> Collector<'a> {
    pub(super) fn new(k: usize, floor: f64) -> Self {
        Self {
            best: TopK::new(k),
            floor,
            documents: None,
            bound: 0.0,
        }
    }

    pub(super) fn with_documents(self, documents: &'a DocumentScores<'a>) -> Self {
        if documents.is_empty() {
            return self;
        }
        Self {
            documents: Some(documents),
            bound: documents.bound(),
            ..self
        }
    }

    /// The sum of term scores that a document must exceed to enter the top k.
    #[inline]
    pub(super) fn threshold(&self) -> f64 {
        let score = match self.best.worst() {
            Some(hit) => f64::from(hit.score).max(self.floor),
            None => self.floor,
        };
        match self.documents {
            None => score,
            // At most the exact difference: a sum up to it has a score of at most `score`, since
            // rounding is monotone.
            Some(_) => (score - self.bound).next_down(),
        }
    }

    /// Adds a document with this sum of term scores.
    #[inline]
    pub(super) fn push(&mut self, doc: DocNum, sum: f64) {
        let score = match self.documents {
            None => sum,
            Some(documents) => documents.add_to(sum, doc.get()),
        };
        self.best.push(doc, score as f32);
    }

    pub(super) fn finish(self) -> Result<Ranking, SearchError> {
        self.best.finish()
    }
}
