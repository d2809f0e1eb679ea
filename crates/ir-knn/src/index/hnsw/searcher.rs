//! The search: a walk, then exact scores.

use ir_core::{DocIds, DocNum, Ranking, Retriever, Search, SearchError, TopK};
use rayon::prelude::*;

use super::{Effort, HnswIndex};
use crate::flat::simd::prefetch;
use crate::flat::similarity::Wide;

/// Documents that a filter is tried on, to estimate how many pass.
const SAMPLE: usize = 1000;

/// More vectors in view are too many to keep sorted.
const WIDEST: usize = 1 << 14;

/// An [`HnswIndex`] with an [`Effort`], ready to search: implements [`Retriever`].
///
/// Cheap to make, to clone and to send to other threads; it holds its index.
///
/// # What is promised
/// Scores are exactly those of the [`FlatIndex`](crate::FlatIndex), equal ones in the order of the
/// documents. There are k hits whenever k documents pass the filter. The same query gives the same
/// answer, alone or in a batch, on any number of threads. Which documents are found is approximate,
/// so more hits may begin otherwise than fewer, and a filter may let a document in that the
/// search without it missed.
///
/// # Filters
/// Where a share p of the documents passes, 1/p times as many vectors are kept in view. When that
/// would cost more than scoring those that pass (few pass, k or the effort is large, or the collection
/// is small: fewer than 2 × links documents for each vector in view, or fewer than a fifth of that
/// pass), or when fewer than k are found, those that pass are all scored, and the answer is exact.
/// How many pass is what the filter says, or is estimated from 1,000 documents.
#[derive(Debug, Clone)]
pub struct HnswSearcher {
    index: HnswIndex,
    effort: Effort,
}

impl HnswSearcher {
    pub(super) fn new(index: HnswIndex, effort: Effort) -> Self {
        Self { index, effort }
    }

    /// The index.
    #[must_use]
    pub fn index(&self) -> &HnswIndex {
        &self.index
    }

    /// The effort.
    #[must_use]
    pub fn effort(&self) -> Effort {
        self.effort
    }

    /// How many vectors to keep in view; [`None`] when scoring all that pass is less work.
    fn width(&self, how: &Search<'_>) -> Option<usize> {
        let inner = &*self.index.inner;
        let all = inner.documents.all();
        let allowed = how.filter().map_or(all.len(), |filter| {
            filter.count().unwrap_or_else(|| {
                let sample = &all[..all.len().min(SAMPLE)];
                let passing = |doc: &&u32| filter.contains(DocNum::new(**doc));
                sample.iter().filter(passing).count() * all.len() / sample.len().max(1)
            })
        });
        let allowed = allowed.min(all.len());
        let width = self.effort.0.max(how.k()).saturating_mul(all.len());
        let width = width.checked_div(allowed)?;
        // About as long as a walk takes the scoring of so many rows that lie one after another. A row
        // that does not takes as long as five.
        let walk = width.saturating_mul(2 * inner.config.links);
        let scan = all.len().min(allowed.saturating_mul(5));
        (walk < scan && width <= WIDEST).then_some(width)
    }

    fn walk(&self, query: &[f32], how: &Search<'_>, width: usize) -> Result<Ranking, SearchError> {
        let inner = &*self.index.inner;
        let walk = inner.walk();
        let flat = &inner.flat;
        let wide = Wide::new(flat.cpu(), query);
        inner.with_scratch(|scratch| {
            let probe = walk.vectors.probe(query);
            walk.descend(&probe, 0, scratch);
            scratch.beam.widen(width);
            walk.search(&probe, 0, scratch);
            let mut best = TopK::new(how.k());
            let seen = scratch.beam.seen();
            for (at, one) in seen.iter().enumerate() {
                if let Some(next) = seen.get(at + 2) {
                    let row = flat.row(inner.documents.first(next.node() as usize));
                    prefetch(bytemuck::cast_slice(row));
                }
                let mut score = None;
                for &doc in inner.documents.get(one.node() as usize) {
                    let doc = DocNum::new(doc);
                    if how.allows(doc) {
                        let score = score.get_or_insert_with(|| {
                            let row = flat.row(doc);
                            flat.similarity().score(flat.cpu(), &wide, row)
                        });
                        best.push(doc, *score);
                    }
                }
            }
            best.finish()
        })
    }

    /// The answer to a query that was checked.
    fn answer(&self, query: &[f32], how: &Search<'_>) -> Result<Ranking, SearchError> {
        if let Some(width) = self.width(how) {
            let ranking = self.walk(query, how, width)?;
            if ranking.len() == how.k() {
                return Ok(ranking);
            }
        }
        self.index.flat().search(query, how)
    }
}

impl Retriever for HnswSearcher {
    type Query = [f32];

    fn ids(&self) -> &DocIds {
        self.index.ids()
    }

    fn search(&self, query: &[f32], how: &Search<'_>) -> Result<Ranking, SearchError> {
        self.index.flat().check_query(query)?;
        self.answer(query, how)
    }

    /// On the threads of the rayon pool that it is called in, a query on one of them.
    fn search_batch(&self, queries: &[(&[f32], Search<'_>)]) -> Result<Vec<Ranking>, SearchError> {
        for (query, _) in queries {
            self.index.flat().check_query(query)?;
        }
        let answer = |(query, how): &(&[f32], Search<'_>)| self.answer(query, how);
        queries.par_iter().map(answer).collect()
    }
}
