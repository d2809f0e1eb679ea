//! Searches of one query and of several, on any retriever.

use std::sync::Arc;

use ir_core::{DocIds, Ranking, Retriever, Search};
use pyo3::prelude::*;

use crate::error::raise;
use crate::filter::DocFilter;
use crate::hits::{Hits, Results};
use crate::work::{detached, interruptible};

/// Queries of a batch that are searched between two looks for Ctrl-C.
const BATCH: usize = 256;

/// Retriever with its ids, which results share.
pub(crate) struct Searcher<'a, R: ?Sized> {
    pub(crate) retriever: &'a R,
    pub(crate) ids: &'a Arc<DocIds>,
    /// Maximum number of hits.
    pub(crate) k: usize,
    pub(crate) filter: Option<DocFilter>,
}

impl<R: Retriever + ?Sized> Searcher<'_, R> {
    fn search(&self) -> Search<'_> {
        let top = Search::top(self.k);
        match &self.filter {
            Some(filter) => top.within(&filter.documents),
            None => top,
        }
    }

    /// Searches one query; returns [`Hits`].
    pub(crate) fn one<'py>(
        &self,
        py: Python<'py>,
        query: &R::Query,
    ) -> PyResult<Bound<'py, PyAny>> {
        let ranking = detached(py, || self.retriever.search(query, &self.search()))?;
        let hits = Hits {
            ranking: ranking.map_err(raise)?,
            ids: self.ids.clone(),
        };
        Ok(Bound::new(py, hits)?.into_any())
    }

    /// Searches queries with their ids; returns [`Results`].
    pub(crate) fn all<'py>(
        &self,
        py: Python<'py>,
        names: Vec<String>,
        queries: &[&R::Query],
    ) -> PyResult<Bound<'py, PyAny>> {
        let rankings = interruptible(py, None, None, |task| {
            let mut rankings: Vec<Ranking> = Vec::with_capacity(queries.len());
            for queries in queries.chunks(BATCH) {
                if task.is_stopped() {
                    break;
                }
                let batch: Vec<(&R::Query, Search<'_>)> = queries
                    .iter()
                    .map(|query| (*query, self.search()))
                    .collect();
                rankings.extend(self.retriever.search_batch(&batch).map_err(raise)?);
            }
            Ok(rankings)
        })?;
        let results = Results {
            rankings,
            ids: self.ids.clone(),
            queries: names,
            k: self.k,
        };
        Ok(Bound::new(py, results)?.into_any())
    }
}
