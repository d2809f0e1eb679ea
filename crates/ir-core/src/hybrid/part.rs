//! One of the retrievers of a hybrid, under the hybrid's numbers.

use std::collections::HashMap;

use crate::{DocFilter, DocIds, DocNum, DocSet, Ranking, Retriever, Search, SearchError};

/// A retriever and what its numbers are called in the hybrid.
#[derive(Debug, Clone)]
pub(super) struct Part<R> {
    retriever: R,
    /// The document of each record.
    documents: Vec<DocNum>,
    /// Whether two records are one document.
    repeats: bool,
}

/// Hits of one part, best first, each document once.
pub(super) struct Found {
    pub(super) hits: Vec<(DocNum, f32)>,
    /// Whether there are no more.
    pub(super) all: bool,
}

/// Gives the documents of several retrievers numbers by their ids.
#[derive(Default)]
pub(super) struct Numbering {
    pub(super) ids: DocIds,
    numbers: HashMap<String, DocNum>,
}

impl Numbering {
    /// A retriever under these numbers.
    pub(super) fn part<R: Retriever>(&mut self, retriever: R) -> Result<Part<R>, SearchError> {
        let mut documents = Vec::with_capacity(retriever.ids().len());
        let mut seen = DocSet::new();
        let mut repeats = false;
        for id in retriever.ids().iter() {
            let doc = match self.numbers.get(id) {
                Some(&doc) => doc,
                None => {
                    let doc = self.ids.push(id).map_err(|error| SearchError::Engine {
                        engine: "numbering of the documents",
                        source: Box::new(error),
                    })?;
                    self.numbers.insert(id.to_owned(), doc);
                    doc
                }
            };
            repeats |= seen.contains(doc);
            seen.insert(doc);
            documents.push(doc);
        }
        Ok(Part {
            retriever,
            documents,
            repeats,
        })
    }

    /// Several retrievers under common numbers.
    pub(super) fn parts<R: Retriever>(
        retrievers: impl IntoIterator<Item = R>,
    ) -> Result<(DocIds, Vec<Part<R>>), SearchError> {
        let mut numbering = Self::default();
        let retrievers = retrievers.into_iter();
        let parts = retrievers
            .map(|retriever| numbering.part(retriever))
            .collect::<Result<_, _>>()?;
        Ok((numbering.ids, parts))
    }
}

/// A filter over documents as one over the records of a part.
struct Records<'a> {
    documents: &'a [DocNum],
    filter: &'a dyn DocFilter,
    few: bool,
}

impl DocFilter for Records<'_> {
    fn contains(&self, record: DocNum) -> bool {
        self.documents
            .get(record.index())
            .is_some_and(|&doc| self.filter.contains(doc))
    }

    fn count(&self) -> Option<usize> {
        // Of the documents; where each has one record that is the number of records, or above it.
        self.few.then(|| self.filter.count()).flatten()
    }
}

impl<R: Retriever> Part<R> {
    /// The best documents for each query; the numbers of hits in `how` are their `depth`.
    pub(super) fn search(
        &self,
        queries: &[(&R::Query, Search<'_>)],
    ) -> Result<Vec<Found>, SearchError> {
        let records = self.records(queries);
        let mut found: Vec<Option<Found>> = queries.iter().map(|_| None).collect();
        let mut open: Vec<usize> = (0..queries.len()).collect();
        let mut wider = 1;
        // More hits than asked for where several records are one document.
        while !open.is_empty() {
            let batch: Vec<(&R::Query, Search<'_>)> = open
                .iter()
                .map(|&n| {
                    let (query, how) = &queries[n];
                    let k = how.k().saturating_mul(wider).min(self.documents.len());
                    (*query, with(Search::top(k), records[n].as_ref()))
                })
                .collect();
            let rankings = self.retriever.search_batch(&batch)?;
            let mut still = Vec::new();
            for ((&n, (_, asked)), ranking) in open.iter().zip(&batch).zip(rankings) {
                let depth = queries[n].1.k();
                let all = ranking.len() < asked.k() || asked.k() == self.documents.len();
                let mut hits = self.once(&ranking);
                if hits.len() < depth && !all {
                    still.push(n);
                    continue;
                }
                let all = all && hits.len() <= depth;
                hits.truncate(depth);
                found[n] = Some(Found { hits, all });
            }
            open = still;
            wider *= 4;
        }
        Ok(found.into_iter().flatten().collect())
    }

    /// The scores of these documents for each query; those that it does not return have none.
    pub(super) fn scores(
        &self,
        queries: &[(&R::Query, DocSet)],
    ) -> Result<Vec<HashMap<DocNum, f32>>, SearchError> {
        let everything: Vec<(&R::Query, Search<'_>)> = queries
            .iter()
            .map(|(query, wanted)| {
                let most = if self.repeats {
                    self.documents.len()
                } else {
                    wanted.count().unwrap_or_default()
                };
                (*query, Search::top(most).within(wanted))
            })
            .collect();
        let records = self.records(&everything);
        let batch: Vec<(&R::Query, Search<'_>)> = everything
            .iter()
            .zip(&records)
            .map(|((query, how), records)| (*query, with(Search::top(how.k()), records.as_ref())))
            .collect();
        let rankings = self.retriever.search_batch(&batch)?;
        let scores = rankings.iter().map(|ranking| self.once(ranking));
        Ok(scores.map(|hits| hits.into_iter().collect()).collect())
    }

    fn records<'a>(&'a self, queries: &[(&R::Query, Search<'a>)]) -> Vec<Option<Records<'a>>> {
        let filters = queries.iter().map(|(_, how)| how.filter());
        filters
            .map(|filter| {
                filter.map(|filter| Records {
                    documents: &self.documents,
                    filter,
                    few: !self.repeats,
                })
            })
            .collect()
    }

    /// Documents and their best scores, best first.
    fn once(&self, ranking: &Ranking) -> Vec<(DocNum, f32)> {
        let hits = ranking.iter();
        let mut hits: Vec<(DocNum, f32)> = hits
            .map(|hit| (self.documents[hit.doc.index()], hit.score))
            .collect();
        if self.repeats {
            let mut seen = DocSet::new();
            hits.retain(|(doc, _)| {
                let new = !seen.contains(*doc);
                seen.insert(*doc);
                new
            });
        }
        hits
    }
}

fn with<'a>(how: Search<'a>, records: Option<&'a Records<'_>>) -> Search<'a> {
    match records {
        Some(records) => how.within(records),
        None => how,
    }
}
