//! Pseudo-relevance feedback: queries expanded with terms of the first hits.
//!
//! [`Feedback`] is a retriever around a [`Searcher`]: it takes the first hits of a query as
//! relevant, weights their terms by a [`FeedbackModel`] ([`Rm3`], [`Rocchio`]), and searches the
//! weighted terms. The scores of any scoring function serve.
//!
//! ```
//! use ir_bm25::feedback::{Feedback, FeedbackDocuments, FeedbackModel, Rm3};
//! use ir_bm25::{Bm25, Index, IndexConfig, StoredFields};
//! use ir_core::{Document, NoProgress, Retriever, Search};
//!
//! let mut documents = vec![
//!     Document::new("a").with_text("myasthenia gravis and its weakness of muscles"),
//!     Document::new("b").with_text("weakness of muscles in the morning"),
//! ];
//! for n in 0..20 {
//!     documents.push(Document::new(format!("other {n}")).with_text("something else"));
//! }
//! let config = IndexConfig::default().with_store(StoredFields::Everything);
//! let index = Index::build(&documents, &config, &mut NoProgress)?;
//! let searcher = index.searcher(Bm25::ANSERINI)?;
//! let own = FeedbackDocuments::stored(searcher.clone())?;
//! let feedback = Feedback::new(searcher, own, FeedbackModel::Rm3(Rm3::ANSERINI))?;
//! let ranking = feedback.search("myasthenia", &Search::top(10))?;
//! let ids: Vec<&str> = ranking.iter().map(|hit| index.ids().id(hit.doc)).collect();
//! assert_eq!(ids, ["a", "b"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod documents;
mod error;
mod first_search;
mod model;
mod rm3;
mod rocchio;
mod term_vector;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use ir_core::{DocIds, DocNum, Explanation, Fnv1a, Ranking, Retriever, Search, SearchError};

pub use documents::FeedbackDocuments;
pub use error::FeedbackError;
use first_search::FirstSearch;
pub use model::FeedbackModel;
pub use rm3::{Rm3, Rm3Estimate};
pub use rocchio::Rocchio;
use term_vector::TermVector;

use crate::{
    NearestWords, Searcher, SearcherError, SequentialDependence, SynonymExpansion, WeightedTerm,
};

/// Retriever that expands queries by pseudo-relevance feedback.
///
/// Feedback documents are the first hits in the whole collection of [`FeedbackDocuments`]: like
/// document frequencies, they do not depend on the filter of a search. Terms of feedback documents
/// that no document of the searched index contains are ignored.
///
/// A query without feedback documents or feedback terms is searched as it is, and so is every query
/// if the parameters of the model disable feedback ([`FeedbackModel::is_disabled`]): the searcher
/// or the first search determines rankings and scores.
///
/// The first search is by the words of a query, with their synonyms ([`Feedback::with_synonyms`]),
/// with the nearest words ([`Feedback::with_nearest_words`]) or by the sequential dependence model
/// ([`Feedback::with_sequential_dependence`]). The expanded query is a bag of weighted terms.
#[derive(Debug, Clone)]
pub struct Feedback {
    searcher: Searcher,
    documents: FeedbackDocuments,
    model: FeedbackModel,
    first: FirstSearch,
    /// Hashes of the queries with fewer hits than feedback documents.
    short_queries: Arc<Mutex<HashSet<u64>>>,
}

impl Feedback {
    /// Creates a retriever that searches with `searcher`, with feedback from `documents`.
    ///
    /// # Errors
    /// [`FeedbackError::Parameter`] if a parameter of the model is out of range.
    pub fn new(
        searcher: Searcher,
        documents: FeedbackDocuments,
        model: FeedbackModel,
    ) -> Result<Self, FeedbackError> {
        model.validate()?;
        Ok(Self {
            searcher,
            documents,
            model,
            first: FirstSearch::Words,
            short_queries: Arc::default(),
        })
    }

    /// Adds synonyms to a query before feedback, as [`SynonymExpansion::expand`] does: they take
    /// part in the first search, and in the expanded query as terms of the query.
    #[must_use]
    pub fn with_synonyms(mut self, synonyms: SynonymExpansion) -> Self {
        self.first = FirstSearch::Synonyms(synonyms);
        self
    }

    /// Adds the nearest words to a query before feedback, as [`NearestWords::expand`] does: they
    /// take part in the first search, and in the expanded query as terms of the query.
    #[must_use]
    pub fn with_nearest_words(mut self, words: NearestWords) -> Self {
        self.first = FirstSearch::NearestWords(words);
        self
    }

    /// Takes the first hits of the sequential dependence model with these weights as feedback
    /// documents. The expanded query has no phrases and windows.
    ///
    /// # Errors
    /// A weight is out of range, as in [`SequentialDependence::new`].
    pub fn with_sequential_dependence(mut self, weights: [f32; 3]) -> Result<Self, SearcherError> {
        SequentialDependence::new(self.searcher.clone(), weights)?;
        self.first = FirstSearch::SequentialDependence(weights);
        Ok(self)
    }

    /// Returns the feedback model.
    #[must_use]
    pub const fn model(&self) -> &FeedbackModel {
        &self.model
    }

    /// Returns the searcher of the expanded queries.
    #[must_use]
    pub const fn searcher(&self) -> &Searcher {
        &self.searcher
    }

    /// Number of different searched queries with fewer hits than feedback documents; their feedback
    /// documents are all hits. A query counts once however often it is searched, as by an adapter
    /// that searches with more hits.
    #[must_use]
    pub fn short_queries(&self) -> usize {
        let short = self.short_queries.lock();
        short.unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Returns the weighted terms of the expanded query: the terms of the query in their order,
    /// then feedback terms by descending weight.
    ///
    /// # Errors
    /// If the feedback documents cannot be searched or read, or a score is no weight
    /// ([`FeedbackError::NegativeScore`]).
    pub fn expand(&self, query: &str) -> Result<Vec<WeightedTerm>, SearchError> {
        let original = self.first.terms(query, &self.searcher)?;
        let expanded = self.expand_terms(query, &original, |_| ())?;
        Ok(expanded.unwrap_or(original))
    }

    /// The terms of the expanded query; [`None`] if feedback does not change it. `visit` receives
    /// the number of feedback documents.
    fn expand_terms(
        &self,
        query: &str,
        original: &[WeightedTerm],
        visit: impl FnOnce(usize),
    ) -> Result<Option<Vec<WeightedTerm>>, SearchError> {
        if self.model.is_disabled() || original.is_empty() {
            return Ok(None);
        }
        let of_documents = self.documents.searcher();
        let search = Search::top(self.model.hits());
        let found = self
            .first
            .search((query, original), of_documents, &search)?;
        let (positive, negative) =
            (self.documents).read_all(&found, &self.model, &self.searcher)?;
        visit(positive.len());
        if positive.is_empty() {
            return Ok(None);
        }
        let terms = original.iter();
        let vector: TermVector = terms
            .map(|WeightedTerm { term, weight }| (term.clone(), *weight))
            .collect();
        let expanded = self.model.expand(vector.clone(), &positive, &negative);
        let expanded = expanded.map_err(|error| SearchError::Engine {
            engine: "feedback",
            source: Box::new(error),
        })?;
        let Some(expanded) = expanded else {
            return Ok(None);
        };
        let added = expanded.descending().into_iter();
        let added = added.filter(|(term, _)| vector.get(term) == 0.0);
        let added = added.map(|(term, weight)| WeightedTerm::new(term, weight));
        let weighted = |WeightedTerm { term, .. }: &WeightedTerm| {
            WeightedTerm::new(term.as_str(), expanded.get(term))
        };
        Ok(Some(original.iter().map(weighted).chain(added).collect()))
    }
}

impl Retriever for Feedback {
    type Query = str;

    fn ids(&self) -> &DocIds {
        self.searcher.ids()
    }

    fn search(&self, query: &str, search: &Search<'_>) -> Result<Ranking, SearchError> {
        if search.k() == 0 {
            return Ok(Ranking::default());
        }
        let original = self.first.terms(query, &self.searcher)?;
        let expanded = self.expand_terms(query, &original, |documents| {
            if documents < self.model.docs() {
                let short = self.short_queries.lock();
                let mut short = short.unwrap_or_else(PoisonError::into_inner);
                short.insert(Fnv1a::hash(query.as_bytes()));
            }
        })?;
        match expanded {
            Some(terms) => self.searcher.search_terms(&terms, search),
            None => (self.first).search((query, &original), &self.searcher, search),
        }
    }

    search_queries_in_parallel!();

    /// Explains a score as the sum of the scores of the weighted terms of the expanded query.
    fn explain(
        &self,
        query: &str,
        doc: DocNum,
        search: &Search<'_>,
    ) -> Result<Option<Explanation>, SearchError> {
        let original = self.first.terms(query, &self.searcher)?;
        match self.expand_terms(query, &original, |_| ())? {
            Some(terms) => self.searcher.explain_terms(&terms, doc, search),
            None => (self.first).explain((query, &original), &self.searcher, doc, search),
        }
    }
}
