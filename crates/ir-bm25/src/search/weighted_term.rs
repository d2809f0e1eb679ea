/// Analyzed term of a query with its weight.
///
/// The weight is the factor of the term's score. In a text query, it is the count of the term.
/// Range: finite, ≥ 0; a term of weight 0 is not searched.
///
/// ```
/// use ir_bm25::{Bm25, Index, IndexConfig, WeightedTerm};
/// use ir_core::{Document, NoProgress, Retriever, Search};
///
/// let documents = vec![
///     Document::new("a").with_text("green tea"),
///     Document::new("b").with_text("black tea"),
/// ];
/// let index = Index::build(&documents, &IndexConfig::default(), &mut NoProgress)?;
/// let searcher = index.searcher(Bm25::ANSERINI)?;
/// let terms = [WeightedTerm::new("black", 0.5), WeightedTerm::new("green", 0.8)];
/// let ranking = searcher.search_terms(&terms, &Search::top(1))?;
/// assert_eq!(index.ids().id(ranking.hits()[0].doc), "a");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct WeightedTerm {
    /// Term as indexed: lowercased, stemmed, ...
    pub term: String,
    /// Factor of the term's score.
    pub weight: f32,
}

impl WeightedTerm {
    /// Creates a term with a weight.
    #[must_use]
    pub fn new(term: impl Into<String>, weight: f32) -> Self {
        Self {
            term: term.into(),
            weight,
        }
    }
}
