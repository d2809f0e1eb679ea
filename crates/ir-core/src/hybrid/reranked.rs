//! Candidates of one retriever in the order of another.

use super::part::{Numbering, Part};
use crate::{DocIds, DocSet, Ranking, Retriever, Search, SearchError, TopK};

/// The first hits of one retriever, ranked by the scores of another: BM25's hundred best by a
/// transformer, say.
///
/// The candidates are the first `depth` hits of the first retriever under the filter, or `k` where
/// that is more; those that the second does not return are dropped. So, unlike elsewhere, a
/// filtered search is not the filtered form of the unfiltered one: it has candidates of its own.
///
/// ```
/// use ir_core::hybrid::Reranked;
/// # use ir_core::{Ranking, Retriever, Search, SearchError};
/// # fn of(dense: Box<dyn Retriever<Query = str>>, bm25: Box<dyn Retriever<Query = str>>)
/// # -> Result<(), SearchError> {
/// let reranked = Reranked::new(bm25, dense, 100)?;
/// let ranking = reranked.search("tea", &Search::top(10))?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Reranked<A, B> {
    ids: DocIds,
    first: Part<A>,
    second: Part<B>,
    depth: usize,
}

impl<Q: ?Sized + Sync, A: Retriever<Query = Q>, B: Retriever<Query = Q>> Reranked<A, B> {
    /// The first `depth` hits of `first` by the scores of `second`.
    ///
    /// # Errors
    /// When the documents are too many.
    pub fn new(first: A, second: B, depth: usize) -> Result<Self, SearchError> {
        let mut numbering = Numbering::default();
        let first = numbering.part(first)?;
        let second = numbering.part(second)?;
        Ok(Self {
            ids: numbering.ids,
            first,
            second,
            depth,
        })
    }
}

impl<Q: ?Sized + Sync, A: Retriever<Query = Q>, B: Retriever<Query = Q>> Retriever
    for Reranked<A, B>
{
    type Query = Q;

    fn ids(&self) -> &DocIds {
        &self.ids
    }

    fn search(&self, query: &Q, how: &Search<'_>) -> Result<Ranking, SearchError> {
        let mut rankings = self.search_batch(&[(query, *how)])?;
        Ok(rankings.pop().unwrap_or_default())
    }

    fn search_batch(&self, queries: &[(&Q, Search<'_>)]) -> Result<Vec<Ranking>, SearchError> {
        let deep: Vec<(&Q, Search<'_>)> = queries
            .iter()
            .map(|(query, how)| (*query, how.with_k(self.depth.max(how.k()))))
            .collect();
        let found = self.first.search(&deep)?;
        let candidates: Vec<(&Q, DocSet)> = queries
            .iter()
            .zip(&found)
            .map(|((query, _), found)| (*query, found.hits.iter().map(|hit| hit.0).collect()))
            .collect();
        let scores = self.second.scores(&candidates)?;
        let mut rankings = Vec::with_capacity(queries.len());
        for (scores, (_, how)) in scores.into_iter().zip(queries) {
            let mut best = TopK::new(how.k());
            scores
                .into_iter()
                .for_each(|(doc, score)| best.push(doc, score));
            rankings.push(best.finish()?);
        }
        Ok(rankings)
    }
}
