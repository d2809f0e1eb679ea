//! Searcher of queries of words by the sequential dependence model.

use super::query::StructuredQuery;
use super::searcher::StructuredSearcher;
use super::syntax::QuerySyntax;
use crate::{Searcher, SearcherError};

/// Maximum weight of a structured query.
const MAX_WEIGHT: f32 = 1e9;

/// Retriever that searches queries of words by the sequential dependence model:
/// [`StructuredQuery::sequential_dependence`] of the words that analysis keeps.
///
/// The index must have positions ([`IndexConfig::positions`](crate::IndexConfig::positions)),
/// unless the weights of phrases and windows are 0.
///
/// ```
/// use ir_bm25::{Bm25, Index, IndexConfig, SequentialDependence};
/// use ir_core::{Document, NoProgress, Retriever, Search};
///
/// let documents = vec![
///     Document::new("a").with_text("tea leaves, green or black, and black leaves"),
///     Document::new("b").with_text("black tea leaves, green or black, and leaves"),
/// ];
/// let config = IndexConfig::default().with_positions(true);
/// let index = Index::build(&documents, &config, &mut NoProgress)?;
/// let searcher = index.searcher(Bm25::ANSERINI)?;
/// let sdm = SequentialDependence::new(searcher, SequentialDependence::WEIGHTS)?;
/// let ranking = sdm.search("black tea", &Search::top(10))?;
/// assert_eq!(index.ids().id(ranking.hits()[0].doc), "b");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct SequentialDependence {
    searcher: StructuredSearcher,
    weights: [f32; 3],
}

impl SequentialDependence {
    /// Weights of words, ordered and unordered windows.
    ///
    /// # Source
    /// Metzler and Croft, "A Markov Random Field Model for Term Dependencies", SIGIR 2005.
    pub const WEIGHTS: [f32; 3] = [0.85, 0.1, 0.05];

    /// Creates a retriever. `weights` apply to words, phrases of two successive words, and
    /// unordered windows of two successive words, in this order. Range: 0..=1e9, of the words above
    /// 0.
    ///
    /// # Errors
    /// Returns [`SearcherError::Parameter`] if a weight is out of range.
    pub fn new(searcher: Searcher, weights: [f32; 3]) -> Result<Self, SearcherError> {
        let invalid = |expected, found| {
            let name = "weights of the sequential dependence model";
            Err(SearcherError::Parameter {
                name,
                expected,
                found,
            })
        };
        if !(weights[0] > 0.0 && weights[0] <= MAX_WEIGHT) {
            return invalid("a weight of words above 0, at most 1e9", weights[0]);
        }
        let mut others = weights[1..].iter();
        if let Some(&found) = others.find(|weight| !(0.0..=MAX_WEIGHT).contains(*weight)) {
            return invalid("weights of windows from 0 to 1e9", found);
        }
        Ok(Self {
            searcher: StructuredSearcher::new(searcher, QuerySyntax::Lucene),
            weights,
        })
    }

    /// Returns the structured query of a text.
    #[must_use]
    pub fn query(&self, text: &str) -> StructuredQuery {
        let mut words = Vec::new();
        let analyzer = self.searcher.searcher().analyzer();
        analyzer.analyze(text, &mut |token| {
            words.extend(text.get(token.start..token.end));
        });
        StructuredQuery::sequential_dependence(&words, self.weights)
    }
}

retrieve_rewritten!(
    SequentialDependence,
    |this, query| this.query(query),
    searcher.search_query,
    /// Explains a score as the sum of the scores of words, phrases and windows.
    explain_query
);
