//! Searching an index: [`Searcher`].

mod exhaustive;
mod explain;
mod plan;
mod prune;
mod score;
mod window;

use std::sync::Arc;

use ir_core::{
    Analyzer, DocIds, DocNum, Explanation, Ranking, Retriever, Search, SearchError, TopK,
};

use crate::error::Damaged;
use crate::{Bm25, Index, SearcherError};
use plan::{Plan, terms_of};
use score::FieldModel;

/// The range of field weights, 0 apart.
const WEIGHTS: std::ops::RangeInclusive<f32> = 1e-9..=1e9;

/// With more lists than this everything is scored. No list of a long query is of much importance, so nearly every
/// document stays a candidate, and the bookkeeping costs more than it saves: with arguments of 130 words over 1.1
/// million one-line documents, pruning took 3.1 ms a query and adding up everything 2.3 ms.
const MANY_LISTS: usize = 40;

/// An [`Index`] with BM25's parameters, ready to search: implements [`Retriever`].
///
/// Cheap to make, to clone and to send to other threads; it holds its index.
///
/// ```
/// use ir_bm25::{Bm25, Fields, Index, IndexConfig};
/// use ir_core::{Document, NoProgress, Retriever, Search};
///
/// let documents = vec![
///     Document::new("a").with_title("Tea").with_text("A drink made of leaves"),
///     Document::new("b").with_title("Drinks").with_text("Tea, coffee, milk"),
/// ];
/// let config = IndexConfig::default().with_fields(Fields::Separate);
/// let index = Index::build(&documents, &config, &mut NoProgress)?;
/// let searcher = index.searcher(Bm25::new(1.2, 0.75))?.with_weights(&[("title", 3.0), ("text", 1.0)])?;
/// let ranking = searcher.search("tea", &Search::top(2))?;
/// assert_eq!(index.ids().id(ranking.hits()[0].doc), "a");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Searcher {
    index: Index,
    bm25: Bm25,
    models: Arc<[FieldModel]>,
    weights: Box<[f32]>,
    pruning: Pruning,
}

/// How the best documents are found. The result is the same, to the last bit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Pruning {
    /// By block-max MaxScore, which passes over documents that cannot get into the top k.
    #[default]
    BlockMax,
    /// By scoring every document that has a term of the query.
    Exhaustive,
}

impl Searcher {
    pub(crate) fn new(index: Index, bm25: Bm25) -> Result<Self, SearcherError> {
        bm25.validate()?;
        if let (None, Some(name)) = (index.analyzer(), index.analyzer_name()) {
            return Err(SearcherError::NeedsAnalyzer {
                name: name.to_owned(),
            });
        }
        let fields = index.field_stats().iter();
        let models: Arc<[FieldModel]> = fields.map(|stats| FieldModel::new(bm25, stats)).collect();
        let weights = vec![1.0; models.len()].into();
        Ok(Self {
            index,
            bm25,
            models,
            weights,
            pruning: Pruning::default(),
        })
    }

    /// The same with other weights of some fields. All are 1 at first; a field of weight 0 is not searched.
    ///
    /// # Errors
    /// When the index has no such field, or a weight is neither 0 nor from 1e-9 to 1e9.
    pub fn with_weights(mut self, weights: &[(&str, f32)]) -> Result<Self, SearcherError> {
        let names = self.index.config().fields.names();
        for &(name, weight) in weights {
            let Some(at) = names.iter().position(|&known| known == name) else {
                return Err(SearcherError::UnknownField {
                    expected: names.to_vec(),
                    found: name.to_owned(),
                });
            };
            if weight != 0.0 && !WEIGHTS.contains(&weight) {
                return Err(SearcherError::Parameter {
                    name: "weight",
                    expected: "0, or a number from 1e-9 to 1e9",
                    found: weight,
                });
            }
            self.weights[at] = weight;
        }
        Ok(self)
    }

    /// The same with another way to find the best documents; only the time differs.
    #[must_use]
    pub fn with_pruning(self, pruning: Pruning) -> Self {
        Self { pruning, ..self }
    }

    /// The index.
    #[must_use]
    pub const fn index(&self) -> &Index {
        &self.index
    }

    /// The parameters.
    #[must_use]
    pub const fn bm25(&self) -> Bm25 {
        self.bm25
    }

    /// Why a document has its score for a query. The value of the root is the score of [`Retriever::search`], bit
    /// for bit, and the sum of its parts, taken in double precision and rounded to single once. A document without
    /// a term of the query has a root of value 0 without parts.
    ///
    /// ```
    /// use ir_bm25::{Bm25, Index, IndexConfig};
    /// use ir_core::{Document, NoProgress, Retriever, Search};
    ///
    /// let documents = vec![Document::new("a").with_text("green tea"), Document::new("b").with_text("black tea")];
    /// let index = Index::build(&documents, &IndexConfig::default(), &mut NoProgress)?;
    /// let searcher = index.searcher(Bm25::ANSERINI)?;
    /// let best = searcher.search("black tea", &Search::top(1))?.hits()[0];
    /// let why = searcher.explain("black tea", best.doc)?;
    /// assert_eq!(why.value, best.score);
    /// assert_eq!(why.parts.iter().map(|part| f64::from(part.value)).sum::<f64>() as f32, best.score);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When the index is damaged.
    pub fn explain(&self, query: &str, doc: DocNum) -> Result<Explanation, SearchError> {
        let terms = terms_of(self.analyzer(), query);
        let mut plan = self.plan(&terms)?;
        let names = self.index.config().fields.names();
        let tree = explain::explain(&mut plan, names, &terms, doc.get());
        plan.check().map_err(engine)?;
        Ok(tree)
    }

    fn analyzer(&self) -> &dyn Analyzer {
        // `new` has made sure that there is one.
        self.index.analyzer().unwrap_or(&NoTerms)
    }

    fn plan(&self, terms: &[(String, u32)]) -> Result<Plan<'_>, SearchError> {
        Plan::new(&self.index, &self.models, &self.weights, terms).map_err(engine)
    }
}

impl Retriever for Searcher {
    type Query = str;

    fn ids(&self) -> &DocIds {
        self.index.ids()
    }

    fn search(&self, query: &str, how: &Search<'_>) -> Result<Ranking, SearchError> {
        let allowed = how.filter().and_then(|filter| filter.count());
        if how.k() == 0 || allowed == Some(0) {
            return Ok(Ranking::default());
        }
        let mut plan = self.plan(&terms_of(self.analyzer(), query))?;
        if plan.slots.is_empty() {
            return Ok(Ranking::default());
        }
        let documents = self.index.len() as u32;
        let mut best = TopK::new(how.k());
        if allowed.is_some_and(|allowed| few(allowed, documents, &plan)) {
            exhaustive::members(&mut plan.slots, documents, how, &mut best);
        } else if self.pruning == Pruning::BlockMax
            && plan.slots.len() <= MANY_LISTS
            && plan.is_order_free()
        {
            prune::search(&mut plan.slots, documents, how, &mut best);
        } else {
            exhaustive::all(&mut plan.slots, documents, how, &mut best);
        }
        plan.check().map_err(engine)?;
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

/// Whether looking for the allowed documents one by one is likely cheaper than going through the lists: asking the
/// filter costs about half a posting, finding a document in a list about thirty.
fn few(allowed: usize, documents: u32, plan: &Plan<'_>) -> bool {
    let seeks = (allowed as u64).saturating_mul(30 * plan.slots.len() as u64);
    seeks.saturating_add(u64::from(documents) / 2) < plan.postings()
}

fn engine(damaged: Damaged) -> SearchError {
    SearchError::Engine {
        engine: "the BM25 index",
        source: Box::new(damaged),
    }
}

struct NoTerms;

impl Analyzer for NoTerms {
    fn analyze(&self, _: &str, _: &mut dyn FnMut(ir_core::Token<'_>)) {}
}
