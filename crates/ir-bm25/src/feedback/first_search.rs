//! First search of a query. The hits are the feedback documents.

use ir_core::{DocNum, Explanation, Ranking, Retriever, Search, SearchError};

use crate::{
    NearestWords, Searcher, SearcherError, SequentialDependence, SynonymExpansion, WeightedTerm,
};

/// How a query is searched before feedback.
#[derive(Debug, Clone)]
pub(super) enum FirstSearch {
    /// Words of the query alone.
    Words,
    /// Words of the query and their synonyms.
    Synonyms(SynonymExpansion),
    /// Words of the query and the words nearest to it.
    NearestWords(NearestWords),
    /// Search by the sequential dependence model with these weights.
    SequentialDependence([f32; 3]),
}

impl FirstSearch {
    /// The weighted terms that feedback expands.
    pub(super) fn terms(
        &self,
        query: &str,
        searcher: &Searcher,
    ) -> Result<Vec<WeightedTerm>, SearchError> {
        Ok(match self {
            Self::Words | Self::SequentialDependence(_) => searcher.query_terms(query),
            Self::Synonyms(synonyms) => synonyms.expand(query),
            Self::NearestWords(words) => words.expand(query).map_err(SearchError::Encode)?,
        })
    }

    /// Searches a query and its `terms`, with the searcher of the queries or of the feedback
    /// documents.
    pub(super) fn search(
        &self,
        (query, terms): (&str, &[WeightedTerm]),
        searcher: &Searcher,
        search: &Search<'_>,
    ) -> Result<Ranking, SearchError> {
        match self {
            Self::Words => searcher.search(query, search),
            Self::Synonyms(_) | Self::NearestWords(_) => searcher.search_terms(terms, search),
            Self::SequentialDependence(weights) => {
                let model = SequentialDependence::new(searcher.clone(), *weights);
                model.map_err(invalid)?.search(query, search)
            }
        }
    }

    /// Explains a score of [`FirstSearch::search`].
    pub(super) fn explain(
        &self,
        (query, terms): (&str, &[WeightedTerm]),
        searcher: &Searcher,
        doc: DocNum,
        search: &Search<'_>,
    ) -> Result<Option<Explanation>, SearchError> {
        match self {
            Self::Words | Self::Synonyms(_) | Self::NearestWords(_) => {
                searcher.explain_terms(terms, doc, search)
            }
            Self::SequentialDependence(weights) => {
                let model = SequentialDependence::new(searcher.clone(), *weights);
                model.map_err(invalid)?.explain(query, doc, search)
            }
        }
    }
}

fn invalid(error: SearcherError) -> SearchError {
    SearchError::Engine {
        engine: "the sequential dependence model",
        source: Box::new(error),
    }
}
