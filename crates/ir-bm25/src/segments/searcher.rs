//! BM25 over the segments of an index.

use std::cmp::Reverse;
use std::sync::Arc;

use ir_core::store::OpenIndexError;
use ir_core::{
    Analyzer, DocFilter, DocIds, DocNum, Explanation, Ranking, Retriever, Search, SearchError, TopK,
};

use super::snapshot::{NumberedSegment, SegmentedIndex};
use crate::search::{
    QueryPlan, Scoring, TermList, count_terms, explain, open_lists, rank, search_error,
};
use crate::{Bm25, Pruning, SearcherError};

/// BM25 searcher over a [`SegmentedIndex`]; implements [`Retriever`].
///
/// Cheap to create and to clone. It shares the index. Rankings and scores equal those of a
/// [`Searcher`](crate::Searcher) over an index built from the documents that are not deleted.
#[derive(Debug, Clone)]
pub struct SegmentedSearcher {
    index: SegmentedIndex,
    analyzer: Arc<dyn Analyzer>,
    scoring: Scoring,
}

/// The documents of a segment that are not deleted and pass the filter of a search.
struct SegmentFilter<'a> {
    numbered: &'a NumberedSegment,
    how: &'a Search<'a>,
}

impl DocFilter for SegmentFilter<'_> {
    fn contains(&self, doc: DocNum) -> bool {
        self.numbered.segment.is_live(doc) && self.how.allows(self.numbered.number(doc))
    }
}

/// The posting lists of a query in a segment, and their document frequencies there, without deleted
/// documents.
type SegmentLists<'a> = (Vec<TermList<'a>>, Vec<u32>);

impl SegmentedSearcher {
    pub(super) fn new(index: SegmentedIndex, bm25: Bm25) -> Result<Self, SearcherError> {
        let Some(analyzer) = index.shared_analyzer() else {
            // Only a single index can need a custom analyzer.
            let segment = index.numbered_segments().first();
            let name = segment.map_or_else(String::new, |numbered| {
                let name = numbered.segment.index.analyzer_name();
                name.unwrap_or_default().to_owned()
            });
            return Err(SearcherError::NeedsAnalyzer { name });
        };
        let scoring = Scoring::new(bm25, index.field_stats())?;
        Ok(Self {
            index,
            analyzer,
            scoring,
        })
    }

    /// Sets field weights, as [`Searcher::with_weights`](crate::Searcher::with_weights).
    ///
    /// # Errors
    /// When the index has no such field, or a weight is out of range.
    pub fn with_weights(mut self, weights: &[(&str, f32)]) -> Result<Self, SearcherError> {
        let names = self.index.config().fields.names();
        self.scoring.set_weights(names, weights)?;
        Ok(self)
    }

    /// Sets the top-k algorithm. Default: [`Pruning::BlockMax`].
    #[must_use]
    pub fn with_pruning(mut self, pruning: Pruning) -> Self {
        self.scoring.pruning = pruning;
        self
    }

    /// Returns the index that is searched.
    #[must_use]
    pub const fn index(&self) -> &SegmentedIndex {
        &self.index
    }

    /// Returns the parameters of the searcher.
    #[must_use]
    pub const fn bm25(&self) -> Bm25 {
        self.scoring.bm25
    }

    /// Explains the score of a document, as [`Searcher::explain`](crate::Searcher::explain).
    ///
    /// # Errors
    /// When the index is damaged, or the document does not exist.
    pub fn explain(&self, query: &str, doc: DocNum) -> Result<Explanation, SearchError> {
        let terms = count_terms(&*self.analyzer, query);
        let (found, local) = self
            .index
            .locate(doc)
            .map_err(|error| SearchError::Engine {
                engine: "the BM25 index",
                source: Box::new(error),
            })?;
        let names = self.index.config().fields.names();
        let plans = self.plans(&terms).map_err(search_error)?;
        let plan = plans
            .into_iter()
            .find(|(numbered, _)| std::ptr::eq(*numbered, found));
        let mut plan = plan.map(|(_, plan)| plan).unwrap_or_default();
        let tree = explain(&mut plan, names, &terms, local.get());
        plan.check().map_err(search_error)?;
        Ok(tree)
    }

    /// The query bound to every segment, with the statistics of all.
    fn plans(
        &self,
        terms: &[(String, u32)],
    ) -> Result<Vec<(&NumberedSegment, QueryPlan<'_>)>, OpenIndexError> {
        let segments = self.index.numbered_segments();
        let fields = self.scoring.models.len();
        let cell = |list: &TermList<'_>| list.number * fields + list.field;
        let mut total_dfs = vec![0_u32; terms.len() * fields];
        let mut lists = Vec::with_capacity(segments.len());
        for numbered in segments {
            let opened: SegmentLists<'_> = self.segment_lists(numbered, terms)?;
            for (list, df) in opened.0.iter().zip(opened.1) {
                total_dfs[cell(list)] = total_dfs[cell(list)].saturating_add(df);
            }
            lists.push(opened.0);
        }
        let plans = segments.iter().zip(lists).map(|(numbered, lists)| {
            let index = &numbered.segment.index;
            let df = |list: &TermList<'_>| total_dfs[cell(list)];
            let plan = QueryPlan::new(index, &self.scoring.models, lists, df)?;
            Ok((numbered, plan))
        });
        plans.collect()
    }

    fn segment_lists<'a>(
        &self,
        numbered: &'a NumberedSegment,
        terms: &[(String, u32)],
    ) -> Result<SegmentLists<'a>, OpenIndexError> {
        let lists = open_lists(&numbered.segment.index, &self.scoring.weights, terms)?;
        let live_df = |list: &TermList<'_>| {
            let term = terms.get(list.number).map_or("", |(term, _)| term);
            numbered.live_df(list, term)
        };
        let dfs = lists.iter().map(live_df).collect::<Result<_, _>>()?;
        Ok((lists, dfs))
    }
}

impl Retriever for SegmentedSearcher {
    type Query = str;

    fn ids(&self) -> &DocIds {
        self.index.ids()
    }

    fn search(&self, query: &str, how: &Search<'_>) -> Result<Ranking, SearchError> {
        if how.k() == 0 || how.filter().and_then(|filter| filter.count()) == Some(0) {
            return Ok(Ranking::default());
        }
        let terms = count_terms(&*self.analyzer, query);
        let mut best = TopK::new(how.k());
        let mut plans = self.plans(&terms).map_err(search_error)?;
        // The largest segment first, for a high threshold in the others.
        plans.sort_by_key(|(numbered, _)| Reverse(numbered.segment.index.len()));
        for (numbered, mut plan) in plans {
            let filter = SegmentFilter { numbered, how };
            let all_pass = how.filter().is_none() && numbered.segment.deleted.count() == Some(0);
            let local = match all_pass {
                true => Search::top(how.k()),
                false => Search::top(how.k()).within(&filter),
            };
            // A document whose score equals that of the worst hit enters if its number is lower.
            let floor = best.worst().map_or(f64::NEG_INFINITY, |worst| {
                f64::from(worst.score.next_down())
            });
            let documents = numbered.segment.index.len() as u32;
            let ranking = rank(&mut plan, documents, &local, self.scoring.pruning, floor)?;
            for hit in &ranking {
                best.push(numbered.number(hit.doc), hit.score);
            }
        }
        best.finish()
    }

    #[cfg(feature = "rayon")]
    fn search_batch(&self, queries: &[(&str, Search<'_>)]) -> Result<Vec<Ranking>, SearchError> {
        use rayon::prelude::*;
        let results: Vec<_> = queries
            .par_iter()
            .map(|(query, how)| self.search(query, how))
            .collect();
        results.into_iter().collect()
    }
}
