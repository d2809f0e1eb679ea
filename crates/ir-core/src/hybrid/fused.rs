//! Fused lists of several retrievers.

use super::part::{Numbering, Part};
use crate::fuse::{Fusion, fuse_rankings};
use crate::{DocIds, Hit, Ranking, Retriever, Search, SearchError};

/// Fuses the lists of several retrievers by a [`Fusion`]: reciprocal ranks, CombSUM, ...
///
/// Each part is asked for `depth` hits, or for `k` where that is more. A filter is applied by the
/// parts: ranks and normalisations are those among the documents that pass. So a filtered search
/// fills up to `k`, but, unlike elsewhere, is not the filtered form of the unfiltered one, since
/// ranks move up where documents fall out; and a longer list may be ordered otherwise.
///
/// ```
/// use ir_core::fuse::Fusion;
/// use ir_core::hybrid::Fused;
/// # use ir_core::{DocIds, Ranking, Retriever, Search, SearchError};
/// # fn of(dense: Box<dyn Retriever<Query = str>>, bm25: Box<dyn Retriever<Query = str>>)
/// # -> Result<(), SearchError> {
/// let fused = Fused::new([dense, bm25], Fusion::rrf(), 100)?;
/// let ranking = fused.search("tea", &Search::top(10))?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Fused<R> {
    ids: DocIds,
    parts: Vec<Part<R>>,
    fusion: Fusion,
    depth: usize,
}

impl<R: Retriever> Fused<R> {
    /// Fuses the first `depth` hits of each.
    ///
    /// # Errors
    /// When the documents are too many.
    pub fn new(
        retrievers: impl IntoIterator<Item = R>,
        fusion: Fusion,
        depth: usize,
    ) -> Result<Self, SearchError> {
        let (ids, parts) = Numbering::parts(retrievers)?;
        Ok(Self {
            ids,
            parts,
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

    fn search(&self, query: &R::Query, how: &Search<'_>) -> Result<Ranking, SearchError> {
        let mut rankings = self.search_batch(&[(query, *how)])?;
        Ok(rankings.pop().unwrap_or_default())
    }

    fn search_batch(
        &self,
        queries: &[(&R::Query, Search<'_>)],
    ) -> Result<Vec<Ranking>, SearchError> {
        let deep: Vec<(&R::Query, Search<'_>)> = queries
            .iter()
            .map(|(query, how)| (*query, how.with_k(self.depth.max(how.k()))))
            .collect();
        let mut lists: Vec<Vec<Ranking>> = queries.iter().map(|_| Vec::new()).collect();
        for part in &self.parts {
            for (list, found) in lists.iter_mut().zip(part.search(&deep)?) {
                let hits = found.hits.into_iter();
                let hits = hits.map(|(doc, score)| Hit::new(doc, score)).collect();
                list.push(Ranking::from_hits(hits)?);
            }
        }
        let fused = lists.iter().zip(queries);
        fused
            .map(|(lists, (_, how))| Ok(fuse_rankings(lists, self.fusion)?.top(how.k())))
            .collect()
    }
}
