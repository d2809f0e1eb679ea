//! The output of a retrieval system over a set of queries, by the collection's own ids.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{DocIds, Query, Ranking, Retriever, Search, SearchError};

/// One line of a run: a document and its score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScoredDoc {
    /// The document's id.
    pub doc: String,
    /// Its score; higher is better.
    pub score: f64,
}

/// What a system retrieved for each query, as it stands in a TREC run file.
///
/// The documents of a query are in the order in which the system listed them. trec_eval ignores
/// that order and sorts again by score: see [`write_run`](crate::trec::write_run) for how equal
/// scores are written.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The system's name.
    pub tag: String,
    queries: BTreeMap<String, Vec<ScoredDoc>>,
}

impl Run {
    /// An empty run of a system.
    #[must_use]
    pub fn new(tag: impl Into<String>) -> Self {
        Self {
            tag: tag.into(),
            queries: BTreeMap::new(),
        }
    }

    /// A run whose lists are at hand.
    pub(crate) fn from_lists(tag: String, queries: BTreeMap<String, Vec<ScoredDoc>>) -> Self {
        Self { tag, queries }
    }

    /// Appends a document to a query's list.
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

    /// Appends a ranking to a query's list, with the collection's ids.
    /// A query without hits does not appear in a run.
    pub fn push_ranking(&mut self, query: &str, ranking: &Ranking, ids: &DocIds) {
        for hit in ranking {
            self.push(query, ids.id(hit.doc), f64::from(hit.score));
        }
    }

    /// The list of one query.
    #[must_use]
    pub fn get(&self, query: &str) -> Option<&[ScoredDoc]> {
        self.queries.get(query).map(Vec::as_slice)
    }

    /// All lists, by query id in ascending byte order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &[ScoredDoc])> {
        self.queries
            .iter()
            .map(|(query, list)| (query.as_str(), list.as_slice()))
    }

    /// All lists, by query id, to change.
    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = (&str, &mut Vec<ScoredDoc>)> {
        self.queries
            .iter_mut()
            .map(|(query, list)| (query.as_str(), list))
    }

    /// How many queries have at least one document.
    #[must_use]
    pub fn len(&self) -> usize {
        self.queries.len()
    }

    /// Whether nothing was retrieved at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.queries.is_empty()
    }

    /// Drops every document whose id is the query's own: in some collections (ArguAna) the queries
    /// are documents. Gives the number dropped. Cut afterwards with [`Run::truncate`].
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

    /// Runs a text retriever over queries, `k` hits each, as one batch.
    ///
    /// # Errors
    /// As [`Retriever::search_batch`].
    pub fn from_retriever<R>(tag: &str, retriever: &R, queries: &[Query], k: usize) -> Result<Self, SearchError>
    where
        R: Retriever<Query = str> + ?Sized,
    {
        Self::from_retriever_with(tag, retriever, queries, |_, _| Search::top(k))
    }

    /// Runs a text retriever over queries, each with its own parameters, as one batch. `how` is
    /// asked for them with each query and its position, from 0, in their order.
    ///
    /// ```
    /// # use ir_core::{DocIds, DocNum, Ranking, Retriever, SearchError, TopK};
    /// use ir_core::{Query, Run, Search, Years};
    /// # struct All(DocIds);
    /// # impl Retriever for All {
    /// #     type Query = str;
    /// #     fn ids(&self) -> &DocIds { &self.0 }
    /// #     fn search(&self, _: &str, how: &Search<'_>) -> Result<Ranking, SearchError> {
    /// #         let mut best = TopK::new(how.k());
    /// #         (0..2).map(DocNum::new).filter(|&d| how.allows(d)).for_each(|d| best.push(d, 1.0));
    /// #         best.finish()
    /// #     }
    /// # }
    /// # let retriever = All(["old", "new"].into_iter().collect());
    /// let years: Years = [Some(2010), Some(2020)].into_iter().collect();
    /// let queries = [Query::new("q1", "tea").with("year", 2015_i64), Query::new("q2", "tea")];
    /// // A filter for each query, which the searches borrow.
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
    /// As [`Retriever::search_batch`].
    pub fn from_retriever_with<'a, R>(
        tag: &str,
        retriever: &R,
        queries: &'a [Query],
        mut how: impl FnMut(usize, &'a Query) -> Search<'a>,
    ) -> Result<Self, SearchError>
    where
        R: Retriever<Query = str> + ?Sized,
    {
        let batch: Vec<(&str, Search<'a>)> = queries
            .iter()
            .enumerate()
            .map(|(n, query)| (query.text.as_str(), how(n, query)))
            .collect();
        let mut run = Self::new(tag);
        for (query, ranking) in queries.iter().zip(retriever.search_batch(&batch)?) {
            run.push_ranking(&query.id, &ranking, retriever.ids());
        }
        Ok(run)
    }
}
