//! Retriever over an HNSW index: a graph search, then exact scores.

use ir_core::{DocIds, DocNum, Explanation, Ranking, Retriever, Search, SearchError, TopK};
use rayon::prelude::*;

use super::config::EfSearch;
use super::index::HnswIndex;
use crate::index::similarity::WideQuery;
use crate::simd::prefetch;

/// Number of documents on which the selectivity of a filter is estimated.
const FILTER_SAMPLE: usize = 1000;

/// Maximum beam width; keeping a wider beam sorted is slower than a scan.
const MAX_BEAM: usize = 1 << 14;

/// [`HnswIndex`] with a beam width, as a [`Retriever`]. Cheap to create, to clone and to share
/// among threads.
///
/// # Contract
/// - Scores are bit-identical to the [`FlatIndex`](crate::FlatIndex); equal scores are ordered by
///   document number.
/// - A ranking has k hits whenever k documents pass the filter.
/// - The same query gives the same ranking, alone or in a batch, on any number of threads.
/// - Which documents are found is approximate. So the top k need not be the head of a search for
///   more hits, and a filtered ranking may contain a document that the unfiltered search misses.
///   The contract of [`Retriever`] for k and for filters holds exactly only where the search is
///   exact: if all documents that pass are scanned (below), or if the beam finds the exact top k.
///
/// # Filters
/// If a fraction p of the documents passes, the beam is 1/p times as wide. All documents that pass
/// are scanned instead, and the ranking is exact, if that is less work than the graph search (fewer
/// than 2 × M × beam width documents, or fewer than a fifth of that pass), or if the graph search
/// finds fewer than k. The number of documents that pass comes from
/// [`DocFilter::count`](ir_core::DocFilter::count) or is estimated from 1,000 documents.
#[derive(Debug, Clone)]
pub struct HnswSearcher {
    index: HnswIndex,
    ef_search: EfSearch,
}

impl HnswIndex {
    /// Searcher with the given beam width.
    #[must_use]
    pub fn searcher(&self, ef_search: EfSearch) -> HnswSearcher {
        HnswSearcher {
            index: self.clone(),
            ef_search,
        }
    }
}

impl HnswSearcher {
    /// Index that is searched.
    #[must_use]
    pub fn index(&self) -> &HnswIndex {
        &self.index
    }

    /// Beam width of its searches.
    #[must_use]
    pub fn ef_search(&self) -> EfSearch {
        self.ef_search
    }

    /// Beam width of a search; [`None`] if scanning all documents that pass is less work.
    fn beam_width(&self, search: &Search<'_>) -> Option<usize> {
        let inner = &*self.index.inner;
        let all = inner.documents.all();
        let passing = search.filter().map_or(all.len(), |filter| {
            filter.count().unwrap_or_else(|| {
                let sample = &all[..all.len().min(FILTER_SAMPLE)];
                let passes = |doc: &&u32| filter.contains(DocNum::new(**doc));
                sample.iter().filter(passes).count() * all.len() / sample.len().max(1)
            })
        });
        let passing = passing.min(all.len());
        let width = self.ef_search.0.max(search.k()).saturating_mul(all.len());
        let width = width.checked_div(passing)?;
        // A graph search takes about as long as scoring so many contiguous rows. A scattered row
        // takes as long as five contiguous ones.
        let graph_cost = width.saturating_mul(2 * inner.config.m);
        let scan_cost = all.len().min(passing.saturating_mul(5));
        (graph_cost < scan_cost && width <= MAX_BEAM).then_some(width)
    }

    fn search_graph(
        &self,
        query: &[f32],
        search: &Search<'_>,
        width: usize,
    ) -> Result<Ranking, SearchError> {
        let inner = &*self.index.inner;
        let graph = inner.graph_search();
        let flat = &inner.flat;
        let wide = WideQuery::new(flat.cpu(), query);
        inner.with_scratch(|scratch| {
            graph.vectors.set_query(query, &mut scratch.query);
            graph.descend(0, scratch);
            scratch.beam.widen(width);
            graph.search_layer(0, scratch);
            let mut best = TopK::new(search.k());
            let candidates = scratch.beam.candidates();
            for (at, candidate) in candidates.iter().enumerate() {
                if let Some(next) = candidates.get(at + 2) {
                    let vector = flat.vector(inner.documents.first(next.node() as usize));
                    prefetch(bytemuck::cast_slice(vector));
                }
                let mut score = None;
                for &doc in inner.documents.get(candidate.node() as usize) {
                    let doc = DocNum::new(doc);
                    if search.allows(doc) {
                        let score = score.get_or_insert_with(|| {
                            let vector = flat.vector(doc);
                            wide.score(flat.similarity(), flat.cpu(), vector)
                        });
                        best.push(doc, *score);
                    }
                }
            }
            best.finish()
        })
    }

    /// Searches with a validated query.
    fn search_valid(&self, query: &[f32], search: &Search<'_>) -> Result<Ranking, SearchError> {
        if let Some(width) = self.beam_width(search) {
            let ranking = self.search_graph(query, search, width)?;
            if ranking.len() == search.k() {
                return Ok(ranking);
            }
        }
        self.index.flat().search(query, search)
    }
}

impl Retriever for HnswSearcher {
    type Query = [f32];

    fn ids(&self) -> &DocIds {
        self.index.ids()
    }

    fn search(&self, query: &[f32], search: &Search<'_>) -> Result<Ranking, SearchError> {
        self.index.flat().check_query(query)?;
        self.search_valid(query, search)
    }

    /// Searches on the current rayon thread pool, one query per thread.
    fn search_batch(&self, queries: &[(&[f32], Search<'_>)]) -> Result<Vec<Ranking>, SearchError> {
        for (query, _) in queries {
            self.index.flat().check_query(query)?;
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
        self.index.flat().explain(query, doc, search)
    }
}
