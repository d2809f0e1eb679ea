use super::fuse::fuse_rankings;
use super::numbering::{NumberedRetriever, number_retrievers};
use super::{Fusion, FusionError};
use crate::{DocIds, Hit, Ranking, Retriever, Search, SearchError};

/// Retriever that fuses the rankings of several retrievers by a [`Fusion`]: reciprocal ranks,
/// CombSUM, ...
///
/// Each retriever returns `depth` hits, or `k` if that is larger. The filter is passed to the
/// retrievers, so ranks and normalized scores are those among the documents that pass. A filtered
/// search is therefore filled up to `k`, but may order documents differently than the unfiltered
/// search; so may a larger `k`. Exempt from the filter contract of [`Retriever`].
///
/// ```
/// use ir_core::fusion::{Fused, Fusion};
/// # use ir_core::{Ranking, Retriever, Search};
/// # fn search(dense: Box<dyn Retriever<Query = str>>, bm25: Box<dyn Retriever<Query = str>>)
/// # -> Result<Ranking, Box<dyn std::error::Error>> {
/// let fused = Fused::new([dense, bm25], Fusion::RRF, 100)?;
/// let ranking = fused.search("tea", &Search::top(10))?;
/// # Ok(ranking)
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Fused<R> {
    ids: DocIds,
    retrievers: Vec<NumberedRetriever<R>>,
    fusion: Fusion,
    depth: usize,
}

impl<R: Retriever> Fused<R> {
    /// Creates a retriever that fuses the first `depth` hits of each of `retrievers`.
    ///
    /// # Errors
    /// [`FusionError::RrfK`] or [`FusionError::Ids`].
    pub fn new(
        retrievers: impl IntoIterator<Item = R>,
        fusion: Fusion,
        depth: usize,
    ) -> Result<Self, FusionError> {
        fusion.validate()?;
        let (ids, retrievers) = number_retrievers(retrievers)?;
        Ok(Self {
            ids,
            retrievers,
            fusion,
            depth,
        })
    }
}

impl<R: Retriever> Retriever for Fused<R> {
    type Query = R::Query;

    fn ids(&self) -> &DocIds {
        &self.ids
    }

    crate::search_as_batch!();

    fn search_batch(
        &self,
        queries: &[(&R::Query, Search<'_>)],
    ) -> Result<Vec<Ranking>, SearchError> {
        let mut lists: Vec<Vec<Ranking>> = queries.iter().map(|_| Vec::new()).collect();
        for retriever in &self.retrievers {
            for (list, found) in lists
                .iter_mut()
                .zip(retriever.search(queries, |k| k.max(self.depth))?)
            {
                let hits = found.hits.into_iter();
                let hits = hits.map(|(doc, score)| Hit::new(doc, score)).collect();
                list.push(Ranking::from_hits(hits)?);
            }
        }
        let fused = lists.iter().zip(queries);
        fused
            .map(|(lists, (_, search))| Ok(fuse_rankings(lists, self.fusion)?.top(search.k())))
            .collect()
    }
}
