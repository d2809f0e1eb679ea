//! Approximate search over the graphs of the segments.

use ir_core::{
    DocFilter, DocIds, DocNum, Explanation, Ranking, Retriever, Search, SearchError, TopK,
};
use rayon::prelude::*;

use super::VectorSegment;
use super::index::SegmentedVectorIndex;
use crate::index::hnsw::EfSearch;
use crate::index::snapshot::NumberedSegment;

/// Approximate searcher over the graphs of a [`SegmentedVectorIndex`]: the graph of each segment is
/// searched, and the rankings are merged. A [`Retriever`] with the contract of
/// [`HnswSearcher`](crate::HnswSearcher); cheap to create, to clone and to share among threads.
///
/// # Deleted vectors
/// A deleted vector is traversed, since it links to others, but not returned, as in hnswlib
/// (`markDelete`) and Lucene. It counts as one that does not pass a filter: if a fraction p of a
/// segment is not deleted, the beam is 1/p times as wide, so that the recall does not decrease. The
/// writer builds a new graph for a segment of which more than a quarter is deleted.
///
/// # Segments
/// Each segment is searched with the full beam width: the time of a search grows with the number of
/// segments, recall does not decrease. Small segments are scanned.
#[derive(Debug, Clone)]
pub struct SegmentedHnswSearcher {
    index: SegmentedVectorIndex,
    ef_search: EfSearch,
}

/// The vectors of a segment that are not deleted and pass the filter of a search.
struct LiveFilter<'a> {
    numbered: &'a NumberedSegment<VectorSegment>,
    search: &'a Search<'a>,
}

impl DocFilter for LiveFilter<'_> {
    fn contains(&self, doc: DocNum) -> bool {
        self.numbered.segment.is_live(doc)
            && self
                .search
                .allows(self.numbered.numbers.number(doc.index()))
    }

    fn count(&self) -> Option<usize> {
        match self.search.filter() {
            None => Some(self.numbered.segment.live()),
            // Estimated by the searcher of the segment.
            Some(_) => None,
        }
    }
}

impl SegmentedVectorIndex {
    /// Approximate searcher over the graphs of the segments with the given beam width; [`None`] if
    /// the index has no graphs (`VectorIndexConfig::hnsw`).
    #[must_use]
    pub fn hnsw_searcher(&self, ef_search: EfSearch) -> Option<SegmentedHnswSearcher> {
        self.config().hnsw?;
        Some(SegmentedHnswSearcher {
            index: self.clone(),
            ef_search,
        })
    }
}

impl SegmentedHnswSearcher {
    /// Index that is searched.
    #[must_use]
    pub fn index(&self) -> &SegmentedVectorIndex {
        &self.index
    }

    /// Beam width of its searches.
    #[must_use]
    pub fn ef_search(&self) -> EfSearch {
        self.ef_search
    }

    /// Searches with a validated query.
    fn search_valid(&self, query: &[f32], search: &Search<'_>) -> Result<Ranking, SearchError> {
        let mut best = TopK::new(search.k());
        for numbered in self.index.numbered_segments() {
            let VectorSegment::Hnsw(graph) = &numbered.segment.index else {
                continue;
            };
            let filter = LiveFilter { numbered, search };
            let mut local = Search::top(search.k());
            if search.filter().is_some() || !numbered.is_whole() {
                local = local.within(&filter);
            }
            for hit in &graph.searcher(self.ef_search).search(query, &local)? {
                best.push(numbered.numbers.number(hit.doc.index()), hit.score);
            }
        }
        best.finish()
    }
}

impl Retriever for SegmentedHnswSearcher {
    type Query = [f32];

    fn ids(&self) -> &DocIds {
        self.index.ids()
    }

    fn search(&self, query: &[f32], search: &Search<'_>) -> Result<Ranking, SearchError> {
        self.index.check_query(query)?;
        self.search_valid(query, search)
    }

    /// Searches on the current rayon thread pool, one query per thread.
    fn search_batch(&self, queries: &[(&[f32], Search<'_>)]) -> Result<Vec<Ranking>, SearchError> {
        for (query, _) in queries {
            self.index.check_query(query)?;
        }
        let run = |(query, search): &(&[f32], Search<'_>)| self.search_valid(query, search);
        queries.par_iter().map(run).collect()
    }

    /// Explains scores of all documents that pass the filter, also of those that a search misses.
    fn explain(
        &self,
        query: &[f32],
        doc: DocNum,
        search: &Search<'_>,
    ) -> Result<Option<Explanation>, SearchError> {
        self.index.explain(query, doc, search)
    }
}
