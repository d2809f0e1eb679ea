use std::mem;

use crate::error::SearchError;
use crate::explanation::Explanation;
use crate::ids::{DocIds, DocNum};
use crate::macros::forward;
use crate::matched_text::MatchedText;
use crate::ranking::Ranking;
use crate::search::Search;

/// Anything that ranks the documents of a collection for a query.
///
/// `Query` is `str` for text retrievers and `[f32]` for vector indexes. A list of different systems
/// is a `Vec<Box<dyn Retriever<Query = str>>>`. Implement `ids` and `search`, with
/// [`TopK`](crate::TopK) for the selection.
///
/// # Contract
/// `ir-testkit` verifies it for any implementation:
/// - Hits are in the order of [`Hit::order`](crate::Hit::order): at most `k`, distinct, not NaN.
/// - Top `k` is the head of the exhaustive ranking (`k` = number of documents).
/// - A filtered search equals the filtered exhaustive ranking, so it returns `k` hits if `k` of the
///   matching documents pass.
/// - An empty query and an empty collection return a valid, possibly empty ranking.
/// - `search_batch` equals `search` per query, for any number of threads.
/// - `search_batch_above` equals `search_batch` without the hits below the floors.
/// - `explain`, if implemented, equals the score of every hit bit for bit, and returns `None` for
///   documents that no search returns.
///
/// Retrievers that use ranks or candidate lists are exempt from the filter rule by design:
/// [`Fused`](crate::fusion::Fused), [`Reranked`](crate::fusion::Reranked), and the published kNN
/// aggregate `ExactTop` of `ir-knn`. Approximate indexes (HNSW) satisfy it where the
/// search is exact.
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
///     fn search(&self, query: &str, search: &Search<'_>) -> Result<Ranking, SearchError> {
///         let mut best = TopK::new(search.k());
///         for (n, text) in self.texts.iter().enumerate() {
///             let doc = DocNum::new(n as u32);
///             let shared = query.split(' ').filter(|word| text.contains(word)).count();
///             if shared > 0 && search.allows(doc) { best.push(doc, shared as f32); }
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
    /// Query type: `str`, `[f32]`, ...
    type Query: ?Sized + Sync;

    /// Returns the ids of the documents that [`Hit::doc`](crate::Hit::doc) numbers.
    fn ids(&self) -> &DocIds;

    /// Returns the best documents for one query.
    ///
    /// # Errors
    /// If the query is invalid for this retriever, or the engine fails. A query without matches is
    /// not an error.
    fn search(&self, query: &Self::Query, search: &Search<'_>) -> Result<Ranking, SearchError>;

    /// Returns the best documents for each query, in order. Every query has its own parameters,
    /// such as a time filter. The default searches one query at a time.
    ///
    /// # Errors
    /// Returns the error of [`Retriever::search`] for the first query that fails.
    fn search_batch(
        &self,
        queries: &[(&Self::Query, Search<'_>)],
    ) -> Result<Vec<Ranking>, SearchError> {
        queries
            .iter()
            .map(|(query, search)| self.search(query, search))
            .collect()
    }

    /// Returns the hits of [`Retriever::search_batch`] with a score of at least the floor of their
    /// query. `floors` contains one number per query, not NaN; missing floors are negative
    /// infinity. The default searches without floors and removes the hits below them. Engines that
    /// can skip documents with lower scores early override it.
    ///
    /// # Errors
    /// Returns the errors of [`Retriever::search_batch`].
    fn search_batch_above(
        &self,
        queries: &[(&Self::Query, Search<'_>)],
        floors: &[f32],
    ) -> Result<Vec<Ranking>, SearchError> {
        let mut rankings = self.search_batch(queries)?;
        for (ranking, &floor) in rankings.iter_mut().zip(floors) {
            *ranking = mem::take(ranking).retain(|hit| hit.score >= floor);
        }
        Ok(rankings)
    }

    /// Explains the score of a document for one query: [`Explanation::score`] equals the score of
    /// the hit that a search with the same parameters returns, bit for bit. Documents beyond the
    /// first `k` hits are explained too.
    ///
    /// `None` for a document that no search returns, because it does not match or the filter
    /// excludes it, and for all documents if the retriever does not explain scores. This is the
    /// default. Retrievers that combine others explain the scores of those that do.
    ///
    /// # Errors
    /// Returns the errors of [`Retriever::search`].
    fn explain(
        &self,
        query: &Self::Query,
        doc: DocNum,
        search: &Search<'_>,
    ) -> Result<Option<Explanation>, SearchError> {
        let _ = (query, doc, search);
        Ok(None)
    }

    /// Returns the text of a document with the words that match the query best, for highlighting.
    /// `None` if the model of the scores does not compare words, which is the default;
    /// [`Reranked`](crate::fusion::Reranked) returns the words of its reranker, and retrievers that
    /// combine others the words of the first that has some.
    ///
    /// # Errors
    /// Returns the errors of [`Retriever::search`].
    fn matched_text(
        &self,
        query: &Self::Query,
        doc: DocNum,
    ) -> Result<Option<MatchedText>, SearchError> {
        let _ = (query, doc);
        Ok(None)
    }
}

forward!(Retriever {
    type Query;
    fn ids(&self) -> &DocIds;
    fn search(&self, query: &T::Query, search: &Search<'_>) -> Result<Ranking, SearchError>;
    fn search_batch(&self, queries: &[(&T::Query, Search<'_>)])
        -> Result<Vec<Ranking>, SearchError>;
    fn search_batch_above(&self, queries: &[(&T::Query, Search<'_>)], floors: &[f32])
        -> Result<Vec<Ranking>, SearchError>;
    fn explain(&self, query: &T::Query, doc: DocNum, search: &Search<'_>)
        -> Result<Option<Explanation>, SearchError>;
    fn matched_text(&self, query: &T::Query, doc: DocNum)
        -> Result<Option<MatchedText>, SearchError>;
});

/// Answers queries, numbered from 0, in rounds. `round` receives the open queries and a factor that
/// grows fourfold, and returns an answer for each, or `None` where it needs another round. A query
/// without an answer, because `round` returns too few, gets the default.
pub(crate) fn in_rounds<T: Default>(
    queries: usize,
    mut round: impl FnMut(&[usize], usize) -> Result<Vec<Option<T>>, SearchError>,
) -> Result<Vec<T>, SearchError> {
    let mut answers: Vec<T> = (0..queries).map(|_| T::default()).collect();
    let mut open: Vec<usize> = (0..queries).collect();
    let mut factor = 1_usize;
    while !open.is_empty() {
        let mut still = Vec::new();
        for (&query, answer) in open.iter().zip(round(&open, factor)?) {
            match answer {
                None => still.push(query),
                Some(answer) => answers[query] = answer,
            }
        }
        open = still;
        factor = factor.saturating_mul(4);
    }
    Ok(answers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_answers_keep_the_positions_of_others() {
        let answers = in_rounds(3, |_, factor| {
            Ok(match factor {
                1 => vec![None, Some(1), Some(2)],
                _ => Vec::new(),
            })
        });
        assert_eq!(answers.unwrap(), [0, 1, 2]);
    }
}
