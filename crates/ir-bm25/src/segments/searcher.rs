//! Search of an index and of the segments of one.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::sync::Arc;

use ir_core::store::OpenIndexError;
use ir_core::{
    Analyzer, DocFilter, DocIds, DocNum, Explanation, Ranking, Retriever, Search, SearchError, TopK,
};

use super::Segment;
use super::snapshot::{NumberedSegment, SegmentedIndex};
use crate::search::columns::{self, ColumnCache, ColumnSegment};
use crate::search::{
    Bm25Fields, Bound, BoundModel, ListStatistics, QueryPlan, ScoredList, Scoring, TermList,
    WeightedTerm, count_terms, explain, open_lists, rank, search_error,
};
use crate::{Index, Model, Pruning, SearcherError};

/// Searcher over an [`Index`] or a [`SegmentedIndex`] by [`Bm25`](crate::Bm25) or another
/// [`Model`]; implements [`Retriever`].
///
/// Cheap to create and to clone. It shares the index.
///
/// ```
/// use ir_bm25::{Bm25, IndexedFields, Index, IndexConfig};
/// use ir_core::{Document, NoProgress, Retriever, Search};
///
/// let documents = vec![
///     Document::new("a").with_title("Tea").with_text("A drink made of leaves"),
///     Document::new("b").with_title("Drinks").with_text("Tea, coffee, milk"),
/// ];
/// let config = IndexConfig::default().with_fields(IndexedFields::Separate);
/// let index = Index::build(&documents, &config, &mut NoProgress)?;
/// let searcher = index.searcher(Bm25::LUCENE)?.with_weights(&[("title", 3.0), ("text", 1.0)])?;
/// let ranking = searcher.search("tea", &Search::top(2))?;
/// assert_eq!(index.ids().id(ranking.hits()[0].doc), "a");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Searcher {
    index: SegmentedIndex,
    analyzer: Arc<dyn Analyzer>,
    pub(super) scoring: Scoring,
}

impl Index {
    /// Creates a searcher with [`Bm25`](crate::Bm25) or any other model. Cheap: a parameter sweep
    /// can create one for each setting.
    ///
    /// # Errors
    /// When a parameter is out of range, or the index needs a custom analyzer.
    pub fn searcher(&self, model: impl Into<Model>) -> Result<Searcher, SearcherError> {
        SegmentedIndex::from(self.clone()).searcher(model)
    }
}

impl SegmentedIndex {
    /// Creates a searcher with [`Bm25`](crate::Bm25) or any other model. Cheap: a parameter sweep
    /// can create one for each setting.
    ///
    /// # Errors
    /// When a parameter is out of range, or an [`Index`] needs a custom analyzer.
    pub fn searcher(&self, model: impl Into<Model>) -> Result<Searcher, SearcherError> {
        Searcher::new(self.clone(), model.into())
    }
}

/// The documents of a segment that are not deleted and pass the filter of a search.
struct SegmentFilter<'a> {
    numbered: &'a NumberedSegment,
    search: &'a Search<'a>,
}

impl DocFilter for SegmentFilter<'_> {
    fn contains(&self, doc: DocNum) -> bool {
        self.numbered.segment.is_live(doc) && self.search.allows(self.numbered.number(doc))
    }
}

/// The posting lists of a query in a segment, and the statistics of their terms there, without
/// deleted documents.
pub(super) type SegmentLists<'a> = (Vec<TermList<'a>>, Vec<ListStatistics>);

/// The query bound to a segment.
type SegmentPlan<'a, M> = (
    &'a NumberedSegment,
    QueryPlan<'a, <M as BoundModel>::Scorer<'a>>,
);

impl Searcher {
    pub(super) fn new(index: SegmentedIndex, model: Model) -> Result<Self, SearcherError> {
        let Some(analyzer) = index.shared_analyzer() else {
            // Only a single index can need a custom analyzer.
            let segment = index.numbered_segments().first();
            let name = segment.map_or_else(String::new, |numbered| {
                let name = numbered.segment.index.analyzer_name();
                name.unwrap_or_default().to_owned()
            });
            return Err(SearcherError::NeedsAnalyzer { name });
        };
        let names = index.config().fields.names();
        let scoring = Scoring::new(model, names, index.fields(), index.len())?;
        Ok(Self {
            index,
            analyzer,
            scoring,
        })
    }

    /// Sets field weights: factors of the term scores of a field, in
    /// [`Bm25F`](crate::models::Bm25F) of its normalized frequencies. 0 excludes the field. Range:
    /// 0 or 1e-9..=1e9. Default: 1, or the weight in [`Bm25F`](crate::models::Bm25F).
    ///
    /// # Errors
    /// When the index has no such field, or a weight is out of range.
    pub fn with_weights(mut self, weights: &[(&str, f32)]) -> Result<Self, SearcherError> {
        let names = self.index.config().fields.names();
        self.scoring.set_weights(names, weights)?;
        Ok(self)
    }

    /// Sets the top-k algorithm. Default: [`Pruning::Auto`].
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

    pub(crate) fn analyzer(&self) -> &dyn Analyzer {
        &*self.analyzer
    }

    pub(crate) fn bound_model(&self) -> &Bound {
        &self.scoring.bound
    }

    pub(crate) fn field_weights(&self) -> &[f32] {
        &self.scoring.weights
    }

    /// Statistics of a term in a field, without deleted documents.
    pub(crate) fn term_statistics(
        &self,
        field: usize,
        term: &str,
    ) -> Result<ListStatistics, OpenIndexError> {
        let mut total = ListStatistics::default();
        for numbered in self.index.numbered_segments() {
            let Some(cursor) = numbered.segment.index.cursor(field, term)? else {
                continue;
            };
            let list = TermList {
                cursor,
                field,
                number: 0,
                count: 1.0,
                weight: 1.0,
                deleted: 0,
            };
            let statistics = numbered.live_statistics(&list, term)?;
            total.df = total.df.saturating_add(statistics.df);
            total.cf = total.cf.saturating_add(statistics.cf);
            let stats = self.index.fields().get(field);
            if stats.is_none_or(|stats| u64::from(total.df) > stats.docs) {
                return Err(list.cursor.malformed());
            }
        }
        Ok(total)
    }

    /// Returns the scoring model.
    #[must_use]
    pub const fn model(&self) -> &Model {
        &self.scoring.model
    }

    /// The query bound to every segment, with the statistics of all.
    fn plans<'a, M: BoundModel>(
        &'a self,
        model: &'a M,
        terms: &[WeightedTerm],
    ) -> Result<Vec<SegmentPlan<'a, M>>, OpenIndexError> {
        let segments = self.index.numbered_segments();
        let fields = self.scoring.weights.len();
        let cell = |list: &TermList<'_>| list.number * fields + list.field;
        let mut totals = vec![ListStatistics::default(); terms.len() * fields];
        let mut lists = Vec::with_capacity(segments.len());
        for numbered in segments {
            let opened: SegmentLists<'_> = self.segment_lists(numbered, terms)?;
            for (list, statistics) in opened.0.iter().zip(opened.1) {
                let total = &mut totals[cell(list)];
                total.df = total.df.saturating_add(statistics.df);
                total.cf = total.cf.saturating_add(statistics.cf);
            }
            lists.push(opened.0);
        }
        let plans = segments.iter().zip(lists).map(|(numbered, lists)| {
            let index = &numbered.segment.index;
            let statistics = |list: &TermList<'_>| totals[cell(list)];
            let documents = model.document_scores(index, self.scored_terms(terms, &totals))?;
            let plan = QueryPlan::new(index, model, lists, statistics, documents)?;
            Ok((numbered, plan))
        });
        plans.collect()
    }

    /// All query terms in the fields that are searched, with their statistics, of each term in all
    /// fields.
    fn scored_terms<'t>(
        &'t self,
        terms: &'t [WeightedTerm],
        statistics: &'t [ListStatistics],
    ) -> impl Iterator<Item = (ScoredList, ListStatistics)> + 't {
        let weights = &self.scoring.weights;
        let of_terms = statistics.chunks(weights.len().max(1));
        terms
            .iter()
            .zip(of_terms)
            .flat_map(move |(term, of_fields)| {
                let fields = weights.iter().zip(of_fields).enumerate();
                let searched = fields.filter(|(_, (weight, _))| **weight != 0.0);
                searched.map(|(field, (&weight, &statistics))| {
                    let list = ScoredList {
                        field,
                        count: term.weight,
                        weight,
                        postings: 0,
                    };
                    (list, statistics)
                })
            })
    }

    pub(super) fn segment_lists<'a>(
        &self,
        numbered: &'a NumberedSegment,
        terms: &[WeightedTerm],
    ) -> Result<SegmentLists<'a>, OpenIndexError> {
        let mut lists = open_lists(&numbered.segment.index, &self.scoring.weights, terms)?;
        let statistics = |list: &mut TermList<'_>| {
            let term = terms
                .get(list.number)
                .map_or("", |of_query| &*of_query.term);
            let statistics = numbered.live_statistics(list, term)?;
            list.deleted = list.cursor.df.saturating_sub(statistics.df);
            Ok(statistics)
        };
        let statistics = lists.iter_mut().map(statistics);
        let statistics = statistics.collect::<Result<_, OpenIndexError>>()?;
        Ok((lists, statistics))
    }

    /// Returns the best documents for weighted terms, such as an expanded query. A term that occurs
    /// twice has the sum of its weights.
    ///
    /// # Errors
    /// [`SearchError::Engine`] with a [`SearcherError::TermWeight`] if a weight is negative or not
    /// finite; or the index file is damaged.
    pub fn search_terms(
        &self,
        terms: &[WeightedTerm],
        search: &Search<'_>,
    ) -> Result<Ranking, SearchError> {
        self.rank_terms(&positive_weights(terms)?, search)
    }

    /// Explains a score of [`Searcher::search_terms`]. [`Retriever::explain`] does the same for a
    /// text query.
    ///
    /// # Errors
    /// Returns the errors of [`Searcher::search_terms`].
    pub fn explain_terms(
        &self,
        terms: &[WeightedTerm],
        doc: DocNum,
        search: &Search<'_>,
    ) -> Result<Option<Explanation>, SearchError> {
        self.explain_ranked(&positive_weights(terms)?, doc, search)
    }

    /// The terms of a text query, weighted by their counts, in order of first occurrence.
    #[must_use]
    pub fn query_terms(&self, query: &str) -> Vec<WeightedTerm> {
        count_terms(&*self.analyzer, query)
    }

    /// The document frequencies of terms, without deleted documents: the maximum over the fields
    /// that are searched.
    pub(crate) fn document_frequencies(
        &self,
        terms: &[WeightedTerm],
    ) -> Result<Vec<u32>, OpenIndexError> {
        let fields = self.scoring.weights.len();
        let mut dfs = vec![0_u32; terms.len() * fields];
        for numbered in self.index.numbered_segments() {
            let (lists, live) = self.segment_lists(numbered, terms)?;
            for (list, statistics) in lists.iter().zip(live) {
                let cell = &mut dfs[list.number * fields + list.field];
                *cell = cell.saturating_add(statistics.df);
            }
        }
        let most = |dfs: &[u32]| dfs.iter().copied().max().unwrap_or(0);
        Ok(dfs.chunks(fields.max(1)).map(most).collect())
    }

    fn rank_terms(
        &self,
        terms: &[WeightedTerm],
        search: &Search<'_>,
    ) -> Result<Ranking, SearchError> {
        if search.k() == 0 || search.filter().and_then(|filter| filter.count()) == Some(0) {
            return Ok(Ranking::default());
        }
        match &self.scoring.bound {
            Bound::Bm25(bm25, columns) => {
                let found = self.search_columns((bm25, columns), terms, search)?;
                found.map_or_else(|| self.search_with(&**bm25, terms, search), Ok)
            }
            Bound::Bm25F(bm25f) => self.search_combined(bm25f, terms, search),
            Bound::Other(model) => self.search_with(&**model, terms, search),
        }
    }

    /// Searches the segments of a small index by columns. [`None`] if posting lists are faster, the
    /// weights have too wide a range or the index is damaged.
    fn search_columns(
        &self,
        model: (&Bm25Fields, &ColumnCache),
        terms: &[WeightedTerm],
        search: &Search<'_>,
    ) -> Result<Option<Ranking>, SearchError> {
        let Scoring {
            weights, pruning, ..
        } = &self.scoring;
        let segments = self.index.numbered_segments();
        let documents = segments.iter().map(|it| it.segment.index.len()).sum();
        if !columns::applies(documents, terms.len(), search, *pruning) {
            return Ok(None);
        }
        let statistics = |field: usize, term: &str| self.term_statistics(field, term);
        let segment = |number: usize, floor| {
            let Segment { index, deleted, .. } = &segments[number].segment;
            let is_whole = segments[number].is_whole_index();
            ColumnSegment {
                index,
                number,
                deleted,
                floor,
                statistics: (!is_whole).then_some(&statistics),
            }
        };
        if self.index.single().is_some() {
            return columns::search(segment(0, 0.0), model, weights, terms, search);
        }
        // The largest segment first, for a high floor in the others.
        let mut order: Vec<usize> = (0..segments.len()).collect();
        order.sort_by_key(|&number| Reverse(segments[number].segment.index.len()));
        let mut best = TopK::new(search.k());
        for number in order {
            let numbered = &segments[number];
            let filter = SegmentFilter { numbered, search };
            let local = match search.filter() {
                None => Search::top(search.k()),
                Some(_) => Search::top(search.k()).within(&filter),
            };
            let floor = best.worst().map_or(0.0, |worst| worst.score);
            let segment = segment(number, floor);
            let Some(found) = columns::search(segment, model, weights, terms, &local)? else {
                return Ok(None);
            };
            for hit in &found {
                best.push(numbered.number(hit.doc), hit.score);
            }
        }
        best.finish().map(Some)
    }

    fn search_with<M: BoundModel>(
        &self,
        model: &M,
        terms: &[WeightedTerm],
        search: &Search<'_>,
    ) -> Result<Ranking, SearchError> {
        let plans = self.plans(model, terms).map_err(search_error)?;
        let pruning = self.scoring.pruning;
        self.rank_segments(
            plans,
            search,
            |plan, k, _| plan.floor(k),
            |plan, documents, search, floor| rank(plan, documents, search, pruning, floor),
        )
    }

    /// Merges the rankings of all segments. `floor_of` returns a score that the documents of the
    /// top k in a segment exceed, or negative infinity, given k and the number of deleted documents
    /// of the segment; `rank` ranks a segment, given the number of its documents and the score
    /// above which hits count.
    pub(super) fn rank_segments<P>(
        &self,
        mut plans: Vec<(&NumberedSegment, P)>,
        search: &Search<'_>,
        floor_of: impl Fn(&P, usize, usize) -> f64,
        rank: impl Fn(&mut P, u32, &Search<'_>, f64) -> Result<Ranking, SearchError>,
    ) -> Result<Ranking, SearchError> {
        let floor = |plan: &P, deleted: usize| {
            if search.filter().is_some() || self.scoring.pruning == Pruning::Exhaustive {
                return f64::NEG_INFINITY;
            }
            floor_of(plan, search.k(), deleted)
        };
        if let [(only, plan)] = &mut *plans
            && only.is_whole_index()
        {
            let floor = floor(plan, 0);
            return rank(plan, self.index.len() as u32, search, floor);
        }
        let floors = plans.iter().map(|(numbered, plan)| {
            let deleted = numbered.segment.deleted.count().unwrap_or(usize::MAX);
            floor(plan, deleted)
        });
        let known = floors.fold(f64::NEG_INFINITY, f64::max);
        // The largest segment first, for a high threshold in the others.
        plans.sort_by_key(|(numbered, _)| Reverse(numbered.segment.index.len()));
        let mut best = TopK::new(search.k());
        for (numbered, mut plan) in plans {
            let filter = SegmentFilter { numbered, search };
            let all_pass = search.filter().is_none() && numbered.segment.deleted.count() == Some(0);
            let local = if all_pass {
                Search::top(search.k())
            } else {
                Search::top(search.k()).within(&filter)
            };
            // A document with the score of the worst hit enters if its number is lower.
            let floor = best
                .worst()
                .map_or(known, |worst| known.max(f64::from(worst.score.next_down())));
            let documents = numbered.segment.index.len() as u32;
            let ranking = rank(&mut plan, documents, &local, floor)?;
            for hit in &ranking {
                best.push(numbered.number(hit.doc), hit.score);
            }
        }
        best.finish()
    }

    fn explain_ranked(
        &self,
        terms: &[WeightedTerm],
        doc: DocNum,
        search: &Search<'_>,
    ) -> Result<Option<Explanation>, SearchError> {
        if doc.index() >= self.index.len() || !search.allows(doc) {
            return Ok(None);
        }
        match &self.scoring.bound {
            Bound::Bm25(bm25, _) => self.explain_with(&**bm25, terms, doc),
            Bound::Bm25F(bm25f) => self.explain_combined(bm25f, terms, doc),
            Bound::Other(model) => self.explain_with(&**model, terms, doc),
        }
    }

    fn explain_with<M: BoundModel>(
        &self,
        model: &M,
        terms: &[WeightedTerm],
        doc: DocNum,
    ) -> Result<Option<Explanation>, SearchError> {
        let names = self.index.config().fields.names();
        let plans = self.plans(model, terms).map_err(search_error)?;
        let Some((_, mut plan, local)) = self.index.part_of(doc, plans) else {
            return Ok(None);
        };
        let tree = explain(&mut plan, names, terms, local.get());
        plan.check().map_err(search_error)?;
        Ok(tree)
    }
}

impl Retriever for Searcher {
    type Query = str;

    fn ids(&self) -> &DocIds {
        self.index.ids()
    }

    fn search(&self, query: &str, search: &Search<'_>) -> Result<Ranking, SearchError> {
        self.rank_terms(&count_terms(&*self.analyzer, query), search)
    }

    search_queries_in_parallel!();

    /// Explains a score as the sum of the term scores: in double precision, rounded to single once.
    ///
    /// ```
    /// use ir_bm25::{Bm25, Index, IndexConfig};
    /// use ir_core::{Document, NoProgress, Retriever, Search};
    ///
    /// let documents = vec![
    ///     Document::new("a").with_text("green tea"),
    ///     Document::new("b").with_text("black tea"),
    /// ];
    /// let index = Index::build(&documents, &IndexConfig::default(), &mut NoProgress)?;
    /// let searcher = index.searcher(Bm25::ANSERINI)?;
    /// let search = Search::top(1);
    /// let best = searcher.search("black tea", &search)?.hits()[0];
    /// let why = searcher.explain("black tea", best.doc, &search)?.ok_or("not a hit")?;
    /// assert_eq!(why.score(), best.score);
    /// let sum: f64 = why.details.iter().map(|term| term.value).sum();
    /// assert_eq!(sum as f32, best.score);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn explain(
        &self,
        query: &str,
        doc: DocNum,
        search: &Search<'_>,
    ) -> Result<Option<Explanation>, SearchError> {
        self.explain_ranked(&count_terms(&*self.analyzer, query), doc, search)
    }
}

/// The terms with weights above 0.
fn positive_weights(terms: &[WeightedTerm]) -> Result<Cow<'_, [WeightedTerm]>, SearchError> {
    let invalid = |term: &&WeightedTerm| !(term.weight >= 0.0 && term.weight.is_finite());
    if let Some(WeightedTerm { term, weight }) = terms.iter().find(invalid) {
        return Err(SearchError::Engine {
            engine: "the BM25 index",
            source: Box::new(SearcherError::TermWeight {
                term: term.clone(),
                found: *weight,
            }),
        });
    }
    let is_positive = |term: &&WeightedTerm| term.weight > 0.0;
    Ok(if terms.iter().all(|term| is_positive(&term)) {
        Cow::Borrowed(terms)
    } else {
        Cow::Owned(terms.iter().filter(is_positive).cloned().collect())
    })
}
