//! The one seam between crates: [`Retriever`].

use std::error::Error;
use std::sync::Arc;

use crate::{DocIds, DocNum, Ranking, Search};

/// Anything that ranks the documents of a collection for a query.
///
/// `Query` is `str` for retrievers that take text and `[f32]` for those that take vectors, so a
/// list of unlike systems is a `Vec<Box<dyn Retriever<Query = str>>>`. Two methods are needed;
/// [`TopK`](crate::TopK) does the bookkeeping.
///
/// # Contract
/// `ir-testkit` checks it in one line for any implementation:
/// - hits come in the order of [`Hit::order`](crate::Hit::order), at most `k`, never twice, never NaN;
/// - a filtered search equals filtering the exhaustive ranking (that of `k` = number of documents),
///   and so returns `k` hits whenever `k` documents of it pass;
/// - an empty query and an empty collection give an empty or arbitrary, but valid, ranking;
/// - `search_batch` equals `search`, one by one, whatever the number of threads.
///
/// # Examples
/// A retriever that counts shared words:
/// ```
/// use ir_core::{DocIds, DocNum, Ranking, Retriever, Search, SearchError, TopK};
///
/// struct Overlap { ids: DocIds, texts: Vec<String> }
///
/// impl Retriever for Overlap {
///     type Query = str;
///     fn ids(&self) -> &DocIds { &self.ids }
///     fn search(&self, query: &str, how: &Search<'_>) -> Result<Ranking, SearchError> {
///         let mut best = TopK::new(how.k());
///         for (n, text) in self.texts.iter().enumerate() {
///             let doc = DocNum::new(n as u32);
///             let shared = query.split(' ').filter(|word| text.contains(word)).count();
///             if shared > 0 && how.allows(doc) { best.push(doc, shared as f32); }
///         }
///         best.finish()
///     }
/// }
///
/// let texts = vec!["black tea".to_string(), "green tea leaves".to_string()];
/// let overlap = Overlap { ids: ["a", "b"].into_iter().collect(), texts };
/// let ranking = overlap.search("tea leaves", &Search::top(1))?;
/// assert_eq!(overlap.ids().id(ranking.hits()[0].doc), "b");
/// # Ok::<(), SearchError>(())
/// ```
pub trait Retriever: Send + Sync {
    /// What a query is: `str`, `[f32]`, ...
    type Query: ?Sized + Sync;

    /// The ids of the documents that [`Hit::doc`](crate::Hit::doc) numbers.
    fn ids(&self) -> &DocIds;

    /// The best documents for one query.
    ///
    /// # Errors
    /// When the query is not one that this retriever can answer, or the engine fails.
    /// A query that matches nothing is no error.
    fn search(&self, query: &Self::Query, how: &Search<'_>) -> Result<Ranking, SearchError>;

    /// The best documents for many queries, each with its own parameters (its own time filter,
    /// say), in their order. One by one unless an engine knows better.
    ///
    /// # Errors
    /// As [`Retriever::search`]; the first failing query in order.
    fn search_batch(
        &self,
        queries: &[(&Self::Query, Search<'_>)],
    ) -> Result<Vec<Ranking>, SearchError> {
        queries
            .iter()
            .map(|(query, how)| self.search(query, how))
            .collect()
    }
}

macro_rules! forward {
    ($($pointer:ty),*) => {$(
        impl<R: Retriever + ?Sized> Retriever for $pointer {
            type Query = R::Query;

            fn ids(&self) -> &DocIds {
                (**self).ids()
            }

            fn search(&self, query: &R::Query, how: &Search<'_>) -> Result<Ranking, SearchError> {
                (**self).search(query, how)
            }

            fn search_batch(
                &self,
                queries: &[(&R::Query, Search<'_>)],
            ) -> Result<Vec<Ranking>, SearchError> {
                (**self).search_batch(queries)
            }
        }
    )*};
}

forward!(&R, Box<R>, Arc<R>);

/// Why a search failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SearchError {
    /// A score was not a number.
    #[error("score of document number {} is not a number", doc.get())]
    NanScore {
        /// The document.
        doc: DocNum,
    },
    /// One document came twice.
    #[error("document number {} occurs twice in one ranking", doc.get())]
    RepeatedHit {
        /// The document.
        doc: DocNum,
    },
    /// A vector of the wrong length.
    #[error("query vector has {found} dimensions, the index has {expected}")]
    Dimensions {
        /// The index's.
        expected: usize,
        /// The query's.
        found: usize,
    },
    /// A vector with a component that is NaN or infinite.
    #[error("component {at} of the query vector is {value}")]
    NotFinite {
        /// Which component, from 0.
        at: usize,
        /// What it is.
        value: f32,
    },
    /// A vector of zeros, where scores depend on the direction: cosine.
    #[error("the query vector is zero, which has no direction")]
    ZeroVector,
    /// The query could not be turned into a vector.
    #[error("the query could not be encoded")]
    Encode(#[source] crate::EncodeError),
    /// The engine behind the retriever failed: a damaged file, a remote system, a library.
    #[error("{engine} failed")]
    Engine {
        /// Which engine.
        engine: &'static str,
        /// What it said.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
}
