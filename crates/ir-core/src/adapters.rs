//! Retrievers made of retrievers.

use crate::{DocIds, Query, Ranking, Retriever, Search, SearchError};

/// Lets a retriever over texts take whole [`Query`] records and search their text, so that it
/// stands in one list with retrievers that also use a query's attributes.
///
/// # Examples
/// `ByText(bm25)` implements `Retriever<Query = Query>`.
#[derive(Debug, Clone)]
pub struct ByText<R>(pub R);

impl<R: Retriever<Query = str>> Retriever for ByText<R> {
    type Query = Query;

    fn ids(&self) -> &DocIds {
        self.0.ids()
    }

    fn search(&self, query: &Query, how: &Search<'_>) -> Result<Ranking, SearchError> {
        self.0.search(&query.text, how)
    }

    fn search_batch(&self, queries: &[(&Query, Search<'_>)]) -> Result<Vec<Ranking>, SearchError> {
        let texts: Vec<(&str, Search<'_>)> = queries
            .iter()
            .map(|(query, how)| (query.text.as_str(), *how))
            .collect();
        self.0.search_batch(&texts)
    }
}

/// Returns every id once, for collections in which several records carry one id: the
/// best-ranked record of an id wins. Exact: `k` different ids whenever there are so many.
#[derive(Debug, Clone)]
pub struct Distinct<R>(pub R);

impl<R: Retriever> Distinct<R> {
    /// `k` is enlarged by the number of records that repeat an id: the most that can be dropped.
    fn wider<'a>(&self, how: &Search<'a>) -> Search<'a> {
        match how.k() {
            0 => *how,
            k => how.with_k(k.saturating_add(self.ids().repeated())),
        }
    }

    fn once(&self, ranking: Ranking, k: usize) -> Ranking {
        let mut seen = std::collections::HashSet::new();
        ranking
            .retain(|hit| seen.insert(self.ids().id(hit.doc)))
            .top(k)
    }
}

impl<R: Retriever> Retriever for Distinct<R> {
    type Query = R::Query;

    fn ids(&self) -> &DocIds {
        self.0.ids()
    }

    fn search(&self, query: &R::Query, how: &Search<'_>) -> Result<Ranking, SearchError> {
        Ok(self.once(self.0.search(query, &self.wider(how))?, how.k()))
    }

    fn search_batch(
        &self,
        queries: &[(&R::Query, Search<'_>)],
    ) -> Result<Vec<Ranking>, SearchError> {
        let wider: Vec<_> = queries
            .iter()
            .map(|(query, how)| (*query, self.wider(how)))
            .collect();
        let rankings = self.0.search_batch(&wider)?;
        Ok(rankings
            .into_iter()
            .zip(queries)
            .map(|(r, (_, how))| self.once(r, how.k()))
            .collect())
    }
}
