use super::fuse::{explain_fusion, fuse_rankings};
use super::numbering::{NumberedRetriever, matched_text, number_retrievers};
use super::{Fusion, FusionError};
use crate::error::SearchError;
use crate::explanation::Explanation;
use crate::ids::{DocIds, DocNum};
use crate::matched_text::MatchedText;
use crate::ranking::{Hit, Ranking};
use crate::retriever::Retriever;
use crate::search::Search;

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

    /// Returns the lists of every query, by retriever.
    fn lists(&self, queries: &[(&R::Query, Search<'_>)]) -> Result<Vec<Vec<Ranking>>, SearchError> {
        let mut lists: Vec<Vec<Ranking>> = queries.iter().map(|_| Vec::new()).collect();
        for retriever in &self.retrievers {
            let found = retriever.search(queries, |k| k.max(self.depth))?;
            for (list, found) in lists.iter_mut().zip(found) {
                let hits = found.hits.into_iter();
                let hits = hits.map(|(doc, score)| Hit::new(doc, score)).collect();
                list.push(Ranking::from_hits(hits)?);
            }
        }
        Ok(lists)
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
        let lists = self.lists(queries)?;
        let fused = lists.iter().zip(queries);
        fused
            .map(|(lists, (_, search))| Ok(fuse_rankings(lists, self.fusion)?.top(search.k())))
            .collect()
    }

    /// Explains a score by rank, normalized score and score of the document in each list.
    fn explain(
        &self,
        query: &R::Query,
        doc: DocNum,
        search: &Search<'_>,
    ) -> Result<Option<Explanation>, SearchError> {
        let lists = self.lists(&[(query, *search)])?;
        let Some(lists) = lists.first() else {
            return Ok(None);
        };
        let depth = search.with_k(search.k().max(self.depth));
        explain_fusion(lists, self.fusion, doc, &mut |list, score| {
            self.retrievers[list].explain(query, (doc, score), &depth)
        })
    }
    /// Returns the words of the first retriever that compares words.
    fn matched_text(
        &self,
        query: &R::Query,
        doc: DocNum,
    ) -> Result<Option<MatchedText>, SearchError> {
        matched_text(&self.retrievers, query, doc)
    }
}
