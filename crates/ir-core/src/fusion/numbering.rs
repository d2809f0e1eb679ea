//! Common document numbers for several retrievers.

use std::collections::HashMap;

use super::FusionError;
use crate::retriever::in_rounds;
use crate::{
    DocFilter, DocIds, DocNum, DocSet, Explanation, Ranking, Retriever, Search, SearchError,
};

/// A retriever and the common number of each of its records.
#[derive(Debug, Clone)]
pub(super) struct NumberedRetriever<R> {
    retriever: R,
    /// Common document number of each record.
    documents: Vec<DocNum>,
    /// Whether two records share an id.
    repeats: bool,
}

/// Documents of one retriever, best first, each once.
#[derive(Default)]
pub(super) struct DocumentHits {
    pub(super) hits: Vec<(DocNum, f32)>,
    /// Whether the list is exhaustive.
    pub(super) all: bool,
}

/// Assigns common document numbers by id.
#[derive(Default)]
pub(super) struct Numbering {
    pub(super) ids: DocIds,
    numbers: HashMap<String, DocNum>,
}

impl Numbering {
    /// Numbers the documents of `retriever`.
    pub(super) fn add<R: Retriever>(
        &mut self,
        retriever: R,
    ) -> Result<NumberedRetriever<R>, FusionError> {
        let mut documents = Vec::with_capacity(retriever.ids().len());
        let mut seen = DocSet::new();
        let mut repeats = false;
        for id in retriever.ids().iter() {
            let doc = match self.numbers.get(id) {
                Some(&doc) => doc,
                None => {
                    let doc = self.ids.push(id)?;
                    self.numbers.insert(id.to_owned(), doc);
                    doc
                }
            };
            repeats |= !seen.insert(doc);
            documents.push(doc);
        }
        Ok(NumberedRetriever {
            retriever,
            documents,
            repeats,
        })
    }
}

/// Numbers the documents of several retrievers.
pub(super) fn number_retrievers<R: Retriever>(
    retrievers: impl IntoIterator<Item = R>,
) -> Result<(DocIds, Vec<NumberedRetriever<R>>), FusionError> {
    let mut numbering = Numbering::default();
    let numbered = retrievers
        .into_iter()
        .map(|retriever| numbering.add(retriever))
        .collect::<Result<_, _>>()?;
    Ok((numbering.ids, numbered))
}

/// Filter over common document numbers, applied to the records of one retriever.
struct RecordFilter<'a> {
    documents: &'a [DocNum],
    filter: &'a dyn DocFilter,
    /// Whether the count of the filter bounds the number of records that pass.
    counted: bool,
}

impl DocFilter for RecordFilter<'_> {
    fn contains(&self, record: DocNum) -> bool {
        self.documents
            .get(record.index())
            .is_some_and(|&doc| self.filter.contains(doc))
    }

    fn count(&self) -> Option<usize> {
        self.counted.then(|| self.filter.count()).flatten()
    }
}

impl<R: Retriever> NumberedRetriever<R> {
    /// Returns the best documents for each query, as many as `depth` makes of its `Search::k`.
    pub(super) fn search(
        &self,
        queries: &[(&R::Query, Search<'_>)],
        depth: impl Fn(usize) -> usize,
    ) -> Result<Vec<DocumentHits>, SearchError> {
        let filters = queries.iter().map(|(_, search)| search.filter());
        let filters: Vec<Option<RecordFilter<'_>>> = filters
            .map(|filter| filter.map(|filter| self.record_filter(filter)))
            .collect();
        // Where several records are one document, `k` documents can take more than `k` hits.
        in_rounds(queries.len(), |open, factor| {
            let batch = open.iter().map(|&n| {
                let (query, search) = &queries[n];
                let k = depth(search.k()).saturating_mul(factor);
                let search = Search::top(k.min(self.documents.len()));
                let filter = filters[n].as_ref();
                (
                    *query,
                    filter.map_or(search, |filter| search.within(filter)),
                )
            });
            let batch: Vec<(&R::Query, Search<'_>)> = batch.collect();
            let rankings = self.retriever.search_batch(&batch)?;
            let answers = open.iter().zip(&batch).zip(rankings);
            let answers = answers.map(|((&n, (_, asked)), ranking)| {
                let depth = depth(queries[n].1.k());
                let all = ranking.len() < asked.k() || asked.k() == self.documents.len();
                let mut hits = self.documents(&ranking);
                (all || hits.len() >= depth).then(|| {
                    let all = all && hits.len() <= depth;
                    hits.truncate(depth);
                    DocumentHits { hits, all }
                })
            });
            Ok(answers.collect())
        })
    }

    /// Returns the scores of given documents for each query. Documents that the retriever does not
    /// return are absent.
    pub(super) fn scores(
        &self,
        queries: &[(&R::Query, DocSet)],
    ) -> Result<Vec<HashMap<DocNum, f32>>, SearchError> {
        let filters = queries.iter().map(|(_, wanted)| self.record_filter(wanted));
        let filters: Vec<RecordFilter<'_>> = filters.collect();
        let batch = queries.iter().zip(&filters).map(|((query, _), filter)| {
            let k = filter.count().unwrap_or(self.documents.len());
            (*query, Search::top(k).within(filter))
        });
        let batch: Vec<(&R::Query, Search<'_>)> = batch.collect();
        let rankings = self.retriever.search_batch(&batch)?;
        let scores = rankings.iter().map(|ranking| self.documents(ranking));
        Ok(scores.map(|hits| hits.into_iter().collect()).collect())
    }

    /// Explains the score that a search or [`Self::scores`] returned for a document. A retriever
    /// that does not explain it gives a node without details.
    pub(super) fn explain(
        &self,
        query: &R::Query,
        (doc, score): (DocNum, f32),
        search: &Search<'_>,
    ) -> Result<Explanation, SearchError> {
        let filter = search.filter().map(|filter| self.record_filter(filter));
        let local = Search::top(search.k().min(self.documents.len()));
        let local = filter.as_ref().map_or(local, |filter| local.within(filter));
        let records = (0..).map(DocNum::new).zip(&self.documents);
        for (record, _) in records.filter(|(_, of)| **of == doc) {
            let explained = self.retriever.explain(query, record, &local)?;
            // Of several records, the best is the document's.
            let explains = |tree: &Explanation| tree.score().to_bits() == score.to_bits();
            if let Some(tree) = explained.filter(explains) {
                return Ok(tree);
            }
        }
        Ok(Explanation::new(
            score,
            "score (this retriever has no explanations)",
        ))
    }

    fn record_filter<'a>(&'a self, filter: &'a dyn DocFilter) -> RecordFilter<'a> {
        RecordFilter {
            documents: &self.documents,
            filter,
            counted: !self.repeats,
        }
    }

    /// Maps records to documents, best first, each document with its best score.
    fn documents(&self, ranking: &Ranking) -> Vec<(DocNum, f32)> {
        let hits = ranking.iter();
        let mut hits: Vec<(DocNum, f32)> = hits
            .map(|hit| (self.documents[hit.doc.index()], hit.score))
            .collect();
        if self.repeats {
            let mut seen = DocSet::new();
            hits.retain(|(doc, _)| seen.insert(*doc));
        }
        hits
    }
}
