use super::FusionError;
use super::numbering::{NumberedRetriever, Numbering};
use crate::error::SearchError;
use crate::explanation::Explanation;
use crate::ids::{DocIds, DocNum, DocSet};
use crate::ranking::{Ranking, TopK};
use crate::retriever::Retriever;
use crate::search::Search;

/// Retriever that ranks the first hits of one retriever by the scores of another: the BM25 top 100
/// re-ranked by a transformer.
///
/// The candidates are the first `depth` hits of the first retriever that pass the filter, or `k`
/// hits if that is larger. Candidates that the second retriever does not return are dropped. A
/// filtered search has its own candidates, so it is exempt from the filter contract of
/// [`Retriever`].
///
/// ```
/// use ir_core::fusion::Reranked;
/// # use ir_core::{Ranking, Retriever, Search};
/// # fn search(dense: Box<dyn Retriever<Query = str>>, bm25: Box<dyn Retriever<Query = str>>)
/// # -> Result<Ranking, Box<dyn std::error::Error>> {
/// let reranked = Reranked::new(bm25, dense, 100)?;
/// let ranking = reranked.search("tea", &Search::top(10))?;
/// # Ok(ranking)
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Reranked<A, B> {
    ids: DocIds,
    first: NumberedRetriever<A>,
    second: NumberedRetriever<B>,
    depth: usize,
}

impl<Q: ?Sized + Sync, A: Retriever<Query = Q>, B: Retriever<Query = Q>> Reranked<A, B> {
    /// Creates a retriever that ranks the first `depth` hits of `first` by the scores of `second`.
    ///
    /// # Errors
    /// [`FusionError::Ids`] if the retrievers hold too many documents.
    pub fn new(first: A, second: B, depth: usize) -> Result<Self, FusionError> {
        let mut numbering = Numbering::default();
        let first = numbering.add(first)?;
        let second = numbering.add(second)?;
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

    crate::search_as_batch!();

    fn search_batch(&self, queries: &[(&Q, Search<'_>)]) -> Result<Vec<Ranking>, SearchError> {
        let found = self.first.search(queries, |k| k.max(self.depth))?;
        let candidates: Vec<(&Q, DocSet)> = queries
            .iter()
            .zip(&found)
            .map(|((query, _), found)| (*query, found.hits.iter().map(|hit| hit.0).collect()))
            .collect();
        let scores = self.second.scores(&candidates)?;
        let rankings = scores
            .into_iter()
            .zip(queries)
            .map(|(scores, (_, search))| {
                let mut best = TopK::new(search.k());
                for (doc, score) in scores {
                    best.push(doc, score);
                }
                best.finish()
            });
        rankings.collect()
    }

    /// Explains the score of the second retriever. The second detail is the rank and score of the
    /// first retriever.
    fn explain(
        &self,
        query: &Q,
        doc: DocNum,
        search: &Search<'_>,
    ) -> Result<Option<Explanation>, SearchError> {
        if !search.allows(doc) {
            return Ok(None);
        }
        let found = self
            .first
            .search(&[(query, *search)], |k| k.max(self.depth))?;
        let Some(found) = found.first() else {
            return Ok(None);
        };
        let Some(rank) = found.hits.iter().position(|hit| hit.0 == doc) else {
            return Ok(None);
        };
        let candidates: DocSet = found.hits.iter().map(|hit| hit.0).collect();
        let scores = self.second.scores(&[(query, candidates.clone())])?;
        let mut scores = scores.into_iter().flatten();
        let Some((_, score)) = scores.find(|(scored, _)| *scored == doc) else {
            return Ok(None);
        };
        // The sum with 0 turns -0 into 0, as `TopK` does.
        let score = score + 0.0;
        let within = Search::top(found.hits.len()).within(&candidates);
        let second = self.second.explain(query, (doc, score), &within)?;
        let depth = search.with_k(search.k().max(self.depth));
        let first = self.first.explain(query, found.hits[rank], &depth)?;
        let candidate = format!(
            "not part of the score: candidate {} of {} by the first retriever, with the score",
            rank + 1,
            found.hits.len()
        );
        let tree = Explanation::new(score, "score of the second retriever").with_detail(second);
        let candidate = Explanation::new(found.hits[rank].1, candidate).with_detail(first);
        Ok(Some(tree.with_detail(candidate)))
    }
}
