//! Search by BM25F, whose terms have one score over all fields.

use ir_core::store::OpenIndexError;
use ir_core::{DocNum, Explanation, Ranking, Search, SearchError, TopK};

use super::Searcher;
use crate::WeightedTerm;
use crate::search::{CombinedFields, CombinedTerm, NormalizedFrequencies, search_error};

/// A term with its normalized frequencies in each segment.
type TermInSegments = (CombinedTerm, Vec<NormalizedFrequencies>);

impl Searcher {
    /// Scores all documents with a query term. Scores are added in the order of the terms, in
    /// double precision, and rounded to single once.
    pub(super) fn search_combined(
        &self,
        model: &CombinedFields,
        terms: &[WeightedTerm],
        how: &Search<'_>,
    ) -> Result<Ranking, SearchError> {
        let segments = self.index().numbered_segments();
        let documents = segments.iter().map(|part| part.segment.index.len());
        // Contributions are positive, so that 0 is the score of documents without query terms.
        let mut scores: Vec<Vec<f64>> = documents.map(|documents| vec![0.0; documents]).collect();
        for term in terms {
            let (scorer, found) = self.combined_term(model, term).map_err(search_error)?;
            for (scores, found) in scores.iter_mut().zip(found) {
                for (doc, frequency) in found {
                    if let Some(score) = scores.get_mut(doc as usize) {
                        *score += scorer.score(frequency);
                    }
                }
            }
        }
        let mut best = TopK::new(how.k());
        for (numbered, scores) in segments.iter().zip(scores) {
            for (doc, score) in (0..).map(DocNum::new).zip(scores) {
                if score > 0.0 && numbered.segment.is_live(doc) {
                    let doc = numbered.number(doc);
                    if how.allows(doc) {
                        best.push(doc, score as f32);
                    }
                }
            }
        }
        best.finish()
    }

    /// The scorer of a term and its normalized frequencies, without deleted documents.
    fn combined_term(
        &self,
        model: &CombinedFields,
        term: &WeightedTerm,
    ) -> Result<TermInSegments, OpenIndexError> {
        let mut df = 0;
        let mut all = Vec::new();
        for numbered in self.index().numbered_segments() {
            let segment = &numbered.segment;
            let mut found = model.frequencies(&segment.index, self.field_weights(), &term.term)?;
            found.retain(|&(doc, _)| segment.is_live(DocNum::new(doc)));
            df += found.len() as u64;
            all.push(found);
        }
        Ok((model.term(term.weight, df), all))
    }

    pub(super) fn explain_combined(
        &self,
        model: &CombinedFields,
        terms: &[WeightedTerm],
        doc: DocNum,
    ) -> Result<Option<Explanation>, SearchError> {
        let Ok((holder, local)) = self.index().locate(doc) else {
            return Ok(None);
        };
        let names = self.index().config().fields.names();
        let mut details = Vec::new();
        for term in terms {
            let (scorer, _) = self.combined_term(model, term).map_err(search_error)?;
            let tree = model.explain(
                &holder.segment.index,
                (names, self.field_weights()),
                (&term.term, scorer),
                local.get(),
            );
            details.extend(tree.map_err(search_error)?);
        }
        let is_hit = !details.is_empty();
        Ok(is_hit.then(|| Explanation::sum("sum, in double precision, of", details)))
    }
}
