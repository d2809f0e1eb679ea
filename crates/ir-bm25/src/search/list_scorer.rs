//! What the top-k algorithms need of a scorer. They are generic over it, so that the code of BM25
//! ([`super::bm25_scorer`]) does not depend on the seam for other models ([`super::model_scorer`]).

use ir_core::Explanation;
use ir_core::store::OpenIndexError;

use super::accumulator::Accumulator;
use super::document_scores::DocumentScores;
use super::score_window::ScoreWindow;
use crate::Index;
use crate::postings::{END, Impact, PostingsCursor, PostingsSlice};

/// Statistics in the collection of the term of a posting list.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ListStatistics {
    /// Document frequency in the collection.
    pub(crate) df: u32,
    /// Number of occurrences in the collection.
    pub(crate) cf: u64,
}

/// What a scorer needs to know of a posting list besides its statistics.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScoredList {
    pub(crate) field: usize,
    /// Weight in the query, by default the count.
    pub(crate) count: f32,
    /// Weight of the field.
    pub(crate) weight: f32,
    /// Number of postings in the list of this index.
    pub(crate) postings: u32,
}

impl ScoredList {
    /// Weight in the query × weight of the field.
    pub(crate) fn boost(&self) -> f32 {
        self.count * self.weight
    }
}

/// A scoring model bound to the statistics of a collection.
pub(crate) trait BoundModel {
    type Scorer<'a>: ListScorer
    where
        Self: 'a;

    /// Number of documents with a field; [`None`] if there is no such field.
    fn documents(&self, field: usize) -> Option<u64>;

    /// The scorer of a posting list of the index. The field must exist.
    fn scorer<'a>(
        &'a self,
        index: &'a Index,
        list: ScoredList,
        statistics: ListStatistics,
    ) -> Result<Self::Scorer<'a>, OpenIndexError>;

    /// The scorers of the matches of a phrase or window, given the statistics of its terms. Their
    /// scores are added. Default: the scorer of each term, as in Lucene.
    fn window_scorers<'a>(
        &'a self,
        index: &'a Index,
        list: ScoredList,
        terms: &[ListStatistics],
    ) -> Result<Vec<Self::Scorer<'a>>, OpenIndexError> {
        let scorers = terms.iter().map(|&term| self.scorer(index, list, term));
        scorers.collect()
    }

    /// What the documents of an index add to the sums of their term scores, given all query terms
    /// in every field that is searched, those without postings too. Default: nothing.
    fn document_scores<'a>(
        &'a self,
        index: &'a Index,
        terms: impl Iterator<Item = (ScoredList, ListStatistics)>,
    ) -> Result<DocumentScores<'a>, OpenIndexError> {
        let _ = (index, terms);
        Ok(DocumentScores::default())
    }
}

/// The scores of a query term in the documents of an index, in one field or over several: what the
/// top-k algorithms without bounds of blocks need.
pub(crate) trait TermScores {
    /// Upper bound, at least 0, of the scores.
    fn bound(&self) -> f64;

    /// Number of postings in all fields.
    fn postings(&self) -> u64;

    /// Adds the scores of the documents of a window. Returns a lower bound, at least the end of the
    /// window, of the next document to score.
    fn add_to_window<const WORDS: usize, A: Accumulator>(
        &mut self,
        window: &mut ScoreWindow<WORDS, A>,
    ) -> u32;

    /// The score of a document; [`None`] if it does not contain the term. Successive calls must
    /// pass ascending documents.
    fn score_of(&mut self, doc: u32) -> Option<f64>;
}

/// Scorer of the postings of a query term in one field.
pub(crate) trait ListScorer: Sized {
    /// The term score of `tf` occurrences in a document.
    fn score(&self, doc: u32, tf: u32) -> f32;

    /// Upper bound, at least 0, of the term scores of postings with these impacts.
    fn bound(&self, impacts: impl Iterator<Item = Impact>) -> f32;

    /// Upper bound, at least 0, of the term score of `tf` occurrences in a document.
    fn bound_of_posting(&self, doc: u32, tf: u32) -> f32;

    /// Upper bound, at least 0, of the term scores of at most `tf` occurrences in a document.
    fn bound_up_to(&self, doc: u32, tf: u32) -> f32;

    /// Lower bound of the term scores of postings with at least this frequency and at most this
    /// length code.
    fn lower_bound(&self, tf: u32, code: u8) -> f32;

    /// Calls `visit` with every posting's document and the number of its term score.
    fn for_each_score<A: Accumulator>(
        &self,
        postings: PostingsSlice<'_>,
        scale: f64,
        visit: impl FnMut(u32, A),
    );

    /// Adds the term scores of postings up to the end of a window. Returns their number.
    fn add_to<const WORDS: usize, A: Accumulator>(
        &self,
        window: &mut ScoreWindow<WORDS, A>,
        postings: PostingsSlice<'_>,
    ) -> usize;

    /// Adds the term scores of a list in a window. Returns a lower bound, at least the end of the
    /// window, of the next document to score.
    fn add_list<const WORDS: usize, A: Accumulator>(
        &self,
        window: &mut ScoreWindow<WORDS, A>,
        cursor: &mut PostingsCursor<'_>,
    ) -> u32 {
        let (start, end) = window.range();
        cursor.for_each_slice(start, end, |postings| self.add_inside(window, postings))
    }

    /// Does the same as [`ListScorer::add_list`], but skips the blocks for which `skip` returns
    /// `true` when the cursor is at them.
    fn add_blocks<const WORDS: usize, A: Accumulator>(
        &self,
        window: &mut ScoreWindow<WORDS, A>,
        cursor: &mut PostingsCursor<'_>,
        mut skip: impl FnMut(&PostingsCursor<'_>) -> bool,
    ) -> u32 {
        let (mut from, end) = window.range();
        loop {
            cursor.shallow(from);
            if skip(cursor) {
                let last = cursor.last_of(cursor.block());
                if last >= end - 1 {
                    return last.saturating_add(1);
                }
                from = last + 1;
                continue;
            }
            let doc = cursor.seek(from);
            if doc == END || doc >= end {
                return doc;
            }
            if let Some(next) = cursor.visit_block(|postings| self.add_inside(window, postings)) {
                return next.max(end);
            }
            let last = cursor.last_of(cursor.block());
            if last >= end - 1 {
                return last.saturating_add(1);
            }
            from = last + 1;
        }
    }

    /// Adds the term scores of the postings before the end of a window. Returns their number.
    #[inline]
    fn add_inside<const WORDS: usize, A: Accumulator>(
        &self,
        window: &mut ScoreWindow<WORDS, A>,
        postings: PostingsSlice<'_>,
    ) -> usize {
        let inside = self.add_to(window, postings);
        window.remember(&postings.docs[..inside]);
        inside
    }

    /// Returns whether the sum of term scores in double precision is independent of their order.
    /// Pruning needs it, and finite bounds.
    fn is_order_free(terms: &[QueryTerm<'_, Self>]) -> bool;

    /// A power of two, finite in single precision, such that all scores of these terms times it are
    /// integers below 2^31.
    /// Default: [`None`], there is none.
    fn scale(_: &[QueryTerm<'_, Self>]) -> Option<f64> {
        None
    }

    /// Prepares for a search, with integer sums if there is a scale.
    fn prepare(&mut self, scale: Option<f64>) {
        let _ = scale;
    }

    /// Returns whether no term score is negative, so that a lower bound of one is a lower bound of
    /// the score of the document.
    fn has_floor(terms: &[QueryTerm<'_, Self>]) -> bool;

    /// Explains a term score; `term` names field and term.
    fn explain(&self, term: &str, doc: u32, tf: u32) -> Explanation;
}

/// A query term in one field, with its posting list.
#[derive(Debug)]
pub(crate) struct QueryTerm<'a, S> {
    pub(super) cursor: PostingsCursor<'a>,
    pub(super) scorer: S,
    /// Upper bound of the term score.
    pub(super) bound: f32,
    pub(super) field: usize,
    /// Number of the term in the query.
    pub(super) number: usize,
    /// Number of postings of deleted documents.
    pub(super) deleted: u32,
}

impl<S: ListScorer> TermScores for QueryTerm<'_, S> {
    fn bound(&self) -> f64 {
        f64::from(self.bound)
    }

    fn postings(&self) -> u64 {
        u64::from(self.cursor.df)
    }

    fn add_to_window<const WORDS: usize, A: Accumulator>(
        &mut self,
        window: &mut ScoreWindow<WORDS, A>,
    ) -> u32 {
        self.scorer.add_list(window, &mut self.cursor)
    }

    fn score_of(&mut self, doc: u32) -> Option<f64> {
        let found = self.cursor.seek(doc);
        if found != doc || found == END {
            return None;
        }
        Some(f64::from(self.scorer.score(doc, self.cursor.tf())))
    }
}
