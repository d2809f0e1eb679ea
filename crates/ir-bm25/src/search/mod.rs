//! Query processing: BM25 scoring with dynamic pruning.

mod block_max;
mod exhaustive;
mod explain;
mod query;
mod score_window;
mod scorer;
mod scoring;

use std::sync::Arc;

use ir_core::store::OpenIndexError;
use ir_core::{
    Analyzer, DocIds, DocNum, Explanation, Ranking, Retriever, Search, SearchError, TopK,
};

use crate::{Bm25, Index, SearcherError};
pub(crate) use explain::explain;
pub(crate) use query::{QueryPlan, TermList, count_terms, open_lists};
use score_window::{NARROW_WINDOW, WIDE_WINDOW, with_window};
pub(crate) use scoring::Scoring;

/// Maximum number of posting lists for pruning. In a long query no list contributes much, so nearly
/// every document stays a candidate and bookkeeping costs more than it saves: over a million
/// one-line documents, from about ten lists on. Larger collections favor pruning.
const MAX_PRUNED_LISTS: usize = 16;

/// BM25 searcher over an [`Index`]; implements [`Retriever`].
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
    index: Index,
    analyzer: Arc<dyn Analyzer>,
    scoring: Scoring,
}

/// Top-k algorithm. Results are bit-identical; only speed differs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Pruning {
    /// Block-max MaxScore: skips documents that cannot enter the top k.
    #[default]
    BlockMax,
    /// Scores every document that contains a query term.
    Exhaustive,
}

impl Index {
    /// Creates a searcher. Cheap: a parameter sweep can create one for each `k1` and `b`.
    ///
    /// # Errors
    /// When a parameter is out of range, or the index needs a custom analyzer.
    pub fn searcher(&self, bm25: Bm25) -> Result<Searcher, SearcherError> {
        Searcher::new(self.clone(), bm25)
    }
}

impl Searcher {
    pub(crate) fn new(index: Index, bm25: Bm25) -> Result<Self, SearcherError> {
        let Some(analyzer) = index.shared_analyzer() else {
            let name = index.analyzer_name().unwrap_or_default().to_owned();
            return Err(SearcherError::NeedsAnalyzer { name });
        };
        let scoring = Scoring::new(bm25, index.field_stats())?;
        Ok(Self {
            index,
            analyzer,
            scoring,
        })
    }

    /// Sets field weights: factors of the term scores of a field. 0 excludes the field. Range: 0 or
    /// 1e-9..=1e9. Default: 1.
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
    pub const fn index(&self) -> &Index {
        &self.index
    }

    /// Returns the parameters of the searcher.
    #[must_use]
    pub const fn bm25(&self) -> Bm25 {
        self.scoring.bm25
    }

    /// Explains the score of a document. The root value equals the score of [`Retriever::search`]
    /// bit for bit: the sum of its details in double precision, rounded to single once. A document
    /// that contains no query term has value 0 and no details.
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
    /// let best = searcher.search("black tea", &Search::top(1))?.hits()[0];
    /// let why = searcher.explain("black tea", best.doc)?;
    /// assert_eq!(why.value, best.score);
    /// let sum: f64 = why.details.iter().map(|term| f64::from(term.value)).sum();
    /// assert_eq!(sum as f32, best.score);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When the index is damaged.
    pub fn explain(&self, query: &str, doc: DocNum) -> Result<Explanation, SearchError> {
        let terms = count_terms(&*self.analyzer, query);
        let mut plan = self.plan(&terms)?;
        let names = self.index.config().fields.names();
        let tree = explain(&mut plan, names, &terms, doc.get());
        plan.check().map_err(search_error)?;
        Ok(tree)
    }

    fn plan(&self, terms: &[(String, u32)]) -> Result<QueryPlan<'_>, SearchError> {
        let lists = open_lists(&self.index, &self.scoring.weights, terms);
        let plan = lists.and_then(|lists| {
            QueryPlan::new(&self.index, &self.scoring.models, lists, |list| {
                list.cursor.df
            })
        });
        plan.map_err(search_error)
    }
}

impl Retriever for Searcher {
    type Query = str;

    fn ids(&self) -> &DocIds {
        self.index.ids()
    }

    fn search(&self, query: &str, how: &Search<'_>) -> Result<Ranking, SearchError> {
        if how.k() == 0 {
            return Ok(Ranking::default());
        }
        let mut plan = self.plan(&count_terms(&*self.analyzer, query))?;
        let documents = self.index.len() as u32;
        let floor = f64::NEG_INFINITY;
        rank(&mut plan, documents, how, self.scoring.pruning, floor)
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

/// Ranks the documents of an index for a query. Those with a score of at most `floor` may be
/// missing.
pub(crate) fn rank(
    plan: &mut QueryPlan<'_>,
    documents: u32,
    how: &Search<'_>,
    pruning: Pruning,
    floor: f64,
) -> Result<Ranking, SearchError> {
    let allowed = how.filter().and_then(|filter| filter.count());
    if plan.terms.is_empty() || allowed == Some(0) {
        return Ok(Ranking::default());
    }
    let mut best = TopK::new(how.k());
    if allowed.is_some_and(|allowed| prefers_seeking(allowed, documents, plan)) {
        exhaustive::score_allowed(&mut plan.terms, documents, how, &mut best);
    } else if pruning == Pruning::BlockMax
        && plan.terms.len() <= MAX_PRUNED_LISTS
        && plan.is_order_free()
    {
        with_window(&NARROW_WINDOW, |window| {
            block_max::search(window, &mut plan.terms, documents, how, floor, &mut best);
        });
    } else {
        with_window(&WIDE_WINDOW, |window| {
            exhaustive::score_all(window, &mut plan.terms, documents, how, floor, &mut best);
        });
    }
    plan.check().map_err(search_error)?;
    best.finish()
}

/// Returns whether seeking the allowed documents one by one is cheaper than scanning the lists. A
/// filter check costs about half a posting, a seek about thirty.
fn prefers_seeking(allowed: usize, documents: u32, plan: &QueryPlan<'_>) -> bool {
    let seeks = (allowed as u64).saturating_mul(30 * plan.terms.len() as u64);
    seeks.saturating_add(u64::from(documents) / 2) < plan.postings()
}

pub(crate) fn search_error(error: OpenIndexError) -> SearchError {
    SearchError::Engine {
        engine: "the BM25 index",
        source: Box::new(error),
    }
}
