use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::corpus::Query;
use crate::error::SearchError;
use crate::ids::DocIds;
use crate::ranking::Ranking;
use crate::retriever::Retriever;
use crate::search::Search;

/// Document and score of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScoredDoc {
    /// Document id in the collection.
    pub doc: String,
    /// Score; higher is better.
    pub score: f64,
}

/// Ranked lists of one system by query id, as in a TREC run file.
///
/// The documents of a query are in the order in which the system listed them. trec_eval ignores
/// that order and sorts by score; see [`write_run`](crate::trec::write_run) for the handling of
/// ties.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Run tag: name of the system.
    pub tag: String,
    queries: BTreeMap<String, Vec<ScoredDoc>>,
}

impl Run {
    /// Creates an empty run.
    #[must_use]
    pub fn new(tag: impl Into<String>) -> Self {
        Self {
            tag: tag.into(),
            queries: BTreeMap::new(),
        }
    }

    pub(crate) fn from_lists(tag: String, queries: BTreeMap<String, Vec<ScoredDoc>>) -> Self {
        Self { tag, queries }
    }

    /// Appends a document to the list of a query.
    pub fn push(&mut self, query: &str, doc: impl Into<String>, score: f64) {
        let scored = ScoredDoc {
            doc: doc.into(),
            score,
        };
        match self.queries.get_mut(query) {
            Some(list) => list.push(scored),
            None => {
                self.queries.insert(query.to_owned(), vec![scored]);
            }
        }
    }

    /// Appends a ranking to the list of a query, with collection ids. A query without hits does not
    /// appear in a run.
    pub fn push_ranking(&mut self, query: &str, ranking: &Ranking, ids: &DocIds) {
        for hit in ranking {
            self.push(query, ids.id(hit.doc), f64::from(hit.score));
        }
    }

    /// Returns the list of a query.
    #[must_use]
    pub fn get(&self, query: &str) -> Option<&[ScoredDoc]> {
        self.queries.get(query).map(Vec::as_slice)
    }

    /// Iterates over the lists in ascending byte order of the query id.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &[ScoredDoc])> {
        self.queries
            .iter()
            .map(|(query, list)| (query.as_str(), list.as_slice()))
    }

    /// Iterates over the lists mutably, by query id.
    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = (&str, &mut Vec<ScoredDoc>)> {
        self.queries
            .iter_mut()
            .map(|(query, list)| (query.as_str(), list))
    }

    crate::query_count!("queries with at least one document");

    /// Removes documents with the id of the query, and returns their number. For collections with
    /// documents as queries (ArguAna). Truncate afterwards, with [`Run::truncate`].
    pub fn remove_identical_ids(&mut self) -> usize {
        let mut dropped = 0;
        for (query, list) in &mut self.queries {
            let before = list.len();
            list.retain(|scored| scored.doc != *query);
            dropped += before - list.len();
        }
        self.queries.retain(|_, list| !list.is_empty());
        dropped
    }

    /// Keeps the first `k` documents of every list.
    pub fn truncate(&mut self, k: usize) {
        self.queries.values_mut().for_each(|list| list.truncate(k));
        self.queries.retain(|_, list| !list.is_empty());
    }

    /// Searches the best `k` documents for every query, as one batch.
    ///
    /// # Errors
    /// Returns the error of the first query that fails.
    pub fn from_retriever<R>(
        tag: &str,
        retriever: &R,
        queries: &[Query],
        k: usize,
    ) -> Result<Self, SearchError>
    where
        R: Retriever<Query = str> + ?Sized,
    {
        Self::from_retriever_with(tag, retriever, queries, |_, _| Search::top(k))
    }

    /// Searches every query with its own parameters, as one batch. `search` is called in order with
    /// the position of the query and the query.
    ///
    /// ```
    /// # use ir_core::{DocIds, DocNum, Ranking, Retriever, SearchError, TopK};
    /// use ir_core::{Query, Run, Search, Years};
    /// # struct All(DocIds);
    /// # impl Retriever for All {
    /// #     type Query = str;
    /// #     fn ids(&self) -> &DocIds { &self.0 }
    /// #     fn search(&self, _: &str, search: &Search<'_>) -> Result<Ranking, SearchError> {
    /// #         let mut best = TopK::new(search.k());
    /// #         let docs = (0..2).map(DocNum::new).filter(|&doc| search.allows(doc));
    /// #         docs.for_each(|doc| best.push(doc, 1.0));
    /// #         best.finish()
    /// #     }
    /// # }
    /// # let retriever = All(["old", "new"].into_iter().collect());
    /// let years: Years = [Some(2010), Some(2020)].into_iter().collect();
    /// let queries =
    ///     [Query::new("q1", "tea").with("year", 2015_i64), Query::new("q2", "tea")];
    /// // One filter per query, borrowed by the searches.
    /// let filters: Vec<_> =
    ///     queries.iter().map(|query| years.not_later_than(query.attributes.year())).collect();
    /// let run = Run::from_retriever_with("in time", &retriever, &queries, |n, _| {
    ///     Search::top(10).within(&filters[n])
    /// })?;
    /// assert_eq!(run.get("q1").map(<[_]>::len), Some(1));
    /// assert_eq!(run.get("q2").map(<[_]>::len), Some(2));
    /// # Ok::<(), ir_core::SearchError>(())
    /// ```
    ///
    /// # Errors
    /// Returns the error of the first query that fails.
    pub fn from_retriever_with<'a, R>(
        tag: &str,
        retriever: &R,
        queries: &'a [Query],
        mut search: impl FnMut(usize, &'a Query) -> Search<'a>,
    ) -> Result<Self, SearchError>
    where
        R: Retriever<Query = str> + ?Sized,
    {
        let batch: Vec<(&str, Search<'a>)> = queries
            .iter()
            .enumerate()
            .map(|(n, query)| (query.text.as_str(), search(n, query)))
            .collect();
        let mut run = Self::new(tag);
        for (query, ranking) in queries.iter().zip(retriever.search_batch(&batch)?) {
            run.push_ranking(&query.id, &ranking, retriever.ids());
        }
        Ok(run)
    }
}
