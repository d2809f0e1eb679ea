//! Common document numbers for several retrievers.

use std::collections::HashMap;

use super::FusionError;
use crate::error::SearchError;
use crate::explanation::Explanation;
use crate::filter::DocFilter;
use crate::ids::{DocIds, DocNum, DocSet};
use crate::matched_text::MatchedText;
use crate::predicate::Predicate;
use crate::ranking::Ranking;
use crate::retriever::{Retriever, in_rounds};
use crate::search::Search;

/// A retriever and the common number of each of its records.
#[derive(Debug, Clone)]
pub(super) struct NumberedRetriever<R> {
    retriever: R,
    /// Common document number of each record.
    documents: Vec<DocNum>,
    records: RecordLists,
    /// `true` if two records share an id.
    repeats: bool,
}

/// Records of each common document number, ascending.
#[derive(Debug, Clone)]
enum RecordLists {
    /// Every record is the document of its number.
    Identity { count: usize },
    Lists {
        /// Start of the records of each document, and the end of the last.
        starts: Vec<u32>,
        records: Vec<DocNum>,
    },
}

impl RecordLists {
    fn new(documents: &[DocNum]) -> Self {
        if (0..).zip(documents).all(|(n, doc)| doc.get() == n) {
            let count = documents.len();
            return Self::Identity { count };
        }
        let count = documents.iter().map(|doc| doc.index() + 1).max();
        // The end of each list while it is counted, then its start, as records are put before it.
        let mut starts = vec![0_u32; count.unwrap_or(0) + 1];
        for doc in documents {
            starts[doc.index()] += 1;
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut records = vec![DocNum::new(0); documents.len()];
        for (record, doc) in documents.iter().enumerate().rev() {
            let start = &mut starts[doc.index()];
            *start -= 1;
            records[*start as usize] = DocNum::new(record as u32);
        }
        Self::Lists { starts, records }
    }

    fn of(&self, doc: DocNum) -> impl Iterator<Item = DocNum> + '_ {
        let (same, listed) = match self {
            Self::Identity { count } => (Some(doc).filter(|doc| doc.index() < *count), &[][..]),
            Self::Lists { starts, records } => match starts.get(doc.index()..doc.index() + 2) {
                Some(&[start, end]) => (None, &records[start as usize..end as usize]),
                _ => (None, &[][..]),
            },
        };
        same.into_iter().chain(listed.iter().copied())
    }

    /// The records of documents.
    fn of_all(&self, docs: impl Iterator<Item = DocNum>) -> DocSet {
        docs.flat_map(|doc| self.of(doc)).collect()
    }
}

/// A filter becomes a set of records if at most 1/16 of the documents pass.
const DOCUMENTS_PER_MEMBER: usize = 16;

/// Documents of one retriever, best first, each once.
#[derive(Default)]
pub(super) struct DocumentHits {
    pub(super) hits: Vec<(DocNum, f32)>,
    /// `true` if the list is exhaustive.
    pub(super) all: bool,
    /// Score that no other document exceeds; one that is not returned has score 0.
    pub(super) bound: f32,
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
            records: RecordLists::new(&documents),
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

/// Returns [`Retriever::matched_text`] of the first of several retrievers that has one.
pub(super) fn matched_text<'a, R: Retriever + 'a>(
    retrievers: impl IntoIterator<Item = &'a NumberedRetriever<R>>,
    query: &R::Query,
    doc: DocNum,
) -> Result<Option<MatchedText>, SearchError> {
    let texts = retrievers.into_iter();
    let mut texts = texts.map(|retriever| retriever.matched_text(query, doc));
    texts.find_map(Result::transpose).transpose()
}

/// Filter over common document numbers, applied to the records of one retriever.
enum RecordFilter<'a> {
    /// The records of a filter with few members.
    Records {
        records: DocSet,
        filter: &'a dyn DocFilter,
    },
    Documents {
        documents: &'a [DocNum],
        filter: &'a dyn DocFilter,
        /// `true` if the count of the filter bounds the number of records that pass.
        counted: bool,
    },
}

impl DocFilter for RecordFilter<'_> {
    fn contains(&self, record: DocNum) -> bool {
        match self {
            Self::Records { records, .. } => records.contains(record),
            Self::Documents {
                documents, filter, ..
            } => documents
                .get(record.index())
                .is_some_and(|&doc| filter.contains(doc)),
        }
    }

    fn count(&self) -> Option<usize> {
        match self {
            Self::Records { records, .. } => records.count(),
            Self::Documents {
                filter, counted, ..
            } => counted.then(|| filter.count()).flatten(),
        }
    }

    fn members(&self) -> Option<Box<dyn Iterator<Item = DocNum> + '_>> {
        match self {
            Self::Records { records, .. } => records.members(),
            Self::Documents { .. } => None,
        }
    }

    fn condition(&self) -> Option<Predicate> {
        match self {
            Self::Records { filter, .. } | Self::Documents { filter, .. } => filter.condition(),
        }
    }

    fn key(&self) -> Option<String> {
        match self {
            Self::Records { filter, .. } | Self::Documents { filter, .. } => filter.key(),
        }
    }
}

impl<R: Retriever> NumberedRetriever<R> {
    /// Returns the best documents for each query, as many as `depth` makes of its `Search::k`.
    pub(super) fn search(
        &self,
        queries: &[(&R::Query, Search<'_>)],
        depth: impl Fn(usize) -> usize,
    ) -> Result<Vec<DocumentHits>, SearchError> {
        self.search_above(queries, depth, &vec![f32::NEG_INFINITY; queries.len()])
    }

    /// [`Self::search`] without documents that score below the floor of their query.
    pub(super) fn search_above(
        &self,
        queries: &[(&R::Query, Search<'_>)],
        depth: impl Fn(usize) -> usize,
        floors: &[f32],
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
            let above: Vec<f32> = open.iter().map(|&n| floors[n]).collect();
            let rankings = if above.iter().any(|floor| *floor > f32::NEG_INFINITY) {
                self.retriever.search_batch_above(&batch, &above)?
            } else {
                self.retriever.search_batch(&batch)?
            };
            let answers = open.iter().zip(&batch).zip(rankings);
            let answers = answers.map(|((&n, (_, asked)), ranking)| {
                let depth = depth(queries[n].1.k());
                // Whether no document at or above the floor is missing.
                let complete = ranking.len() < asked.k() || asked.k() == self.documents.len();
                let mut hits = self.documents(&ranking);
                (complete || hits.len() >= depth).then(|| {
                    let complete = complete && hits.len() <= depth;
                    hits.truncate(depth);
                    let last = hits.last().map_or(0.0, |hit| hit.1);
                    let bound = if complete { floors[n] } else { last };
                    DocumentHits {
                        all: complete && floors[n] == f32::NEG_INFINITY,
                        bound: bound.max(0.0),
                        hits,
                    }
                })
            });
            Ok(answers.collect())
        })
    }

    /// Returns given documents with their scores for each query, best first. Documents that the
    /// retriever does not return are absent.
    pub(super) fn scores(
        &self,
        queries: &[(&R::Query, DocSet)],
    ) -> Result<Vec<Vec<(DocNum, f32)>>, SearchError> {
        let records = queries
            .iter()
            .map(|(_, wanted)| self.records.of_all(wanted.iter()));
        let records: Vec<DocSet> = records.collect();
        let mut batch: Vec<(&R::Query, Search<'_>)> = Vec::new();
        let mut places = Vec::new();
        for (place, ((query, _), records)) in queries.iter().zip(&records).enumerate() {
            let k = records.count().unwrap_or(self.documents.len());
            if k > 0 {
                batch.push((*query, Search::top(k).within(records)));
                places.push(place);
            }
        }
        let mut scores = vec![Vec::new(); queries.len()];
        if batch.is_empty() {
            return Ok(scores);
        }
        let rankings = self.retriever.search_batch(&batch)?;
        for (place, ranking) in places.into_iter().zip(rankings) {
            scores[place] = self.documents(&ranking);
        }
        Ok(scores)
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
        for record in self.records.of(doc) {
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

    /// Returns [`Retriever::matched_text`] of the first record of a document that has one.
    pub(super) fn matched_text(
        &self,
        query: &R::Query,
        doc: DocNum,
    ) -> Result<Option<MatchedText>, SearchError> {
        let texts = self.records.of(doc);
        let mut texts = texts.map(|record| self.retriever.matched_text(query, record));
        texts.find_map(Result::transpose).transpose()
    }

    fn record_filter<'a>(&'a self, filter: &'a dyn DocFilter) -> RecordFilter<'a> {
        let count = filter.count();
        let is_small = |count: usize| count <= self.documents.len() / DOCUMENTS_PER_MEMBER;
        match filter.members().filter(|_| count.is_some_and(is_small)) {
            Some(members) => RecordFilter::Records {
                records: self.records.of_all(members),
                filter,
            },
            None => RecordFilter::Documents {
                documents: &self.documents,
                filter,
                counted: !self.repeats,
            },
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
