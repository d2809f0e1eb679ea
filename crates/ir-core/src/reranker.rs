use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher;
use std::ops::Range;

use crate::error::SearchError;
use crate::explanation::Explanation;
use crate::macros::forward;

/// Number of candidates between two calls of the predicate of [`Reranker::scores_while`].
const CHUNK: usize = 8;

/// Document to score: id and text.
///
/// ```
/// use ir_core::Candidate;
/// let candidate = Candidate::new("d7", "Green tea has less caffeine than coffee.");
/// assert_eq!(candidate.id, "d7");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Candidate<'a> {
    /// Id of the document in its collection.
    pub id: &'a str,
    /// Text of the document; empty if the reranker does not read texts.
    pub text: &'a str,
}

impl<'a> Candidate<'a> {
    /// Creates a candidate with a text, which rerankers that do not read texts ignore.
    #[must_use]
    pub fn new(id: &'a str, text: &'a str) -> Self {
        Self { id, text }
    }
}

/// Scores the candidates of a query, the first hits of a [`Retriever`](crate::Retriever).
///
/// `Query` is `str` for models that read texts, such as cross-encoders.
/// [`Reranked`](crate::fusion::Reranked) combines a retriever and a reranker.
///
/// # Contract
/// `ir-testkit` verifies it for any implementation:
/// - One score or `None` per candidate, in the order of the candidates; no score is NaN.
/// - `scores_batch` equals `scores` per query, bit for bit, for any number of threads.
/// - `scores_while` equals `scores` bit for bit, unless it stops.
/// - Scores do not depend on the order of the candidates.
/// - No candidates, an empty query and empty texts are valid.
/// - `explain`, if implemented, equals the score of the candidate bit for bit.
/// - `matched_words`, if implemented, returns ranges of the text that are not empty, at character
///   boundaries, ascending and disjoint.
///
/// # Examples
/// A reranker that counts shared words:
/// ```
/// use ir_core::{Candidate, Reranker, SearchError};
///
/// struct Overlap;
///
/// impl Reranker for Overlap {
///     type Query = str;
///     fn scores(
///         &self,
///         query: &str,
///         candidates: &[Candidate<'_>],
///     ) -> Result<Vec<Option<f32>>, SearchError> {
///         let shared = |text: &str| query.split(' ').filter(|word| text.contains(word)).count();
///         Ok(candidates.iter().map(|it| Some(shared(it.text) as f32)).collect())
///     }
/// }
///
/// let candidates = [Candidate::new("a", "black tea"), Candidate::new("b", "green tea leaves")];
/// assert_eq!(Overlap.scores("tea leaves", &candidates)?, [Some(1.0), Some(2.0)]);
/// # Ok::<(), SearchError>(())
/// ```
pub trait Reranker: Send + Sync {
    /// Query type: `str`, `[f32]`, ...
    type Query: ?Sized + Sync;

    /// Returns `false` if scores do not depend on the texts of the candidates. Default: `true`.
    fn needs_texts(&self) -> bool {
        true
    }

    /// Returns the score of each candidate, in order; `None` for a candidate that the reranker
    /// removes.
    ///
    /// # Errors
    /// If the query or a candidate is invalid for this reranker, or the model fails.
    fn scores(
        &self,
        query: &Self::Query,
        candidates: &[Candidate<'_>],
    ) -> Result<Vec<Option<f32>>, SearchError>;

    /// Returns the scores of the candidates of each query, in order. The default scores one query
    /// at a time.
    ///
    /// # Errors
    /// Returns the error of [`Reranker::scores`] for the first query that fails.
    fn scores_batch(
        &self,
        queries: &[(&Self::Query, &[Candidate<'_>])],
    ) -> Result<Vec<Vec<Option<f32>>>, SearchError> {
        let scores = queries.iter();
        scores
            .map(|(query, candidates)| self.scores(query, candidates))
            .collect()
    }

    /// Returns the scores of the candidates, or `None` once `goes_on` returns `false`, for searches
    /// with a time limit. `goes_on` is called before every part of the work, possibly on several
    /// threads.
    ///
    /// The default scores 8 candidates at a time with [`Reranker::scores`]. Rerankers that encode
    /// the query override it, and rerankers with scores that depend on other candidates.
    ///
    /// # Errors
    /// Returns the errors of [`Reranker::scores`].
    fn scores_while(
        &self,
        query: &Self::Query,
        candidates: &[Candidate<'_>],
        goes_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<Vec<Option<f32>>>, SearchError> {
        let mut scores = Vec::with_capacity(candidates.len());
        for chunk in candidates.chunks(CHUNK) {
            if !goes_on() {
                return Ok(None);
            }
            scores.extend(self.scores(query, chunk)?);
        }
        Ok(Some(scores))
    }

    /// Explains the score of `candidates[n]`: [`Explanation::score`] equals the score bit for bit.
    /// `None` if the reranker removes the candidate or does not explain scores, which is the
    /// default.
    ///
    /// # Errors
    /// Returns the errors of [`Reranker::scores`].
    fn explain(
        &self,
        query: &Self::Query,
        candidates: &[Candidate<'_>],
        n: usize,
    ) -> Result<Option<Explanation>, SearchError> {
        let _ = (query, candidates, n);
        Ok(None)
    }

    /// Returns the words of the text of a candidate that match the query best, for highlighting:
    /// ranges in bytes. `None` if the reranker does not compare words, which is the default.
    ///
    /// # Errors
    /// Returns the errors of [`Reranker::scores`].
    fn matched_words(
        &self,
        query: &Self::Query,
        candidate: &Candidate<'_>,
    ) -> Result<Option<Vec<Range<usize>>>, SearchError> {
        let _ = (query, candidate);
        Ok(None)
    }
}

forward!(Reranker {
    type Query;
    fn needs_texts(&self) -> bool;
    fn scores(&self, query: &T::Query, candidates: &[Candidate<'_>])
        -> Result<Vec<Option<f32>>, SearchError>;
    fn scores_batch(&self, queries: &[(&T::Query, &[Candidate<'_>])])
        -> Result<Vec<Vec<Option<f32>>>, SearchError>;
    fn scores_while(&self, query: &T::Query, candidates: &[Candidate<'_>],
        goes_on: &(dyn Fn() -> bool + Sync)) -> Result<Option<Vec<Option<f32>>>, SearchError>;
    fn explain(&self, query: &T::Query, candidates: &[Candidate<'_>], n: usize)
        -> Result<Option<Explanation>, SearchError>;
    fn matched_words(&self, query: &T::Query, candidate: &Candidate<'_>)
        -> Result<Option<Vec<Range<usize>>>, SearchError>;
});

/// Checks the number of scores.
pub(crate) const fn check_count(expected: usize, found: usize) -> Result<(), SearchError> {
    if expected == found {
        return Ok(());
    }
    Err(SearchError::ScoreCount { expected, found })
}

/// Checks that there is one score for each candidate, and that no score is NaN.
pub(crate) fn check_scores(
    candidates: &[Candidate<'_>],
    scores: &[Option<f32>],
) -> Result<(), SearchError> {
    check_count(candidates.len(), scores.len())?;
    let mut scored = candidates.iter().zip(scores);
    match scored.find(|(_, score)| score.is_some_and(f32::is_nan)) {
        None => Ok(()),
        Some((candidate, _)) => {
            let id = candidate.id.to_owned();
            Err(SearchError::NanRerankerScore { id })
        }
    }
}

/// Texts of documents by id, for the candidates of a [`Reranker`].
///
/// Implemented for maps from ids to texts.
///
/// ```
/// use std::collections::BTreeMap;
/// use ir_core::CandidateTexts;
/// let texts = BTreeMap::from([("d7".to_owned(), "green tea".to_owned())]);
/// assert_eq!(texts.text("d7")?.as_deref(), Some("green tea"));
/// assert!(!texts.contains("d8")?);
/// # Ok::<(), ir_core::SearchError>(())
/// ```
pub trait CandidateTexts: Send + Sync {
    /// Returns the text of a document; `None` if there is no such document.
    ///
    /// # Errors
    /// If the text cannot be read.
    fn text(&self, id: &str) -> Result<Option<Cow<'_, str>>, SearchError>;

    /// Returns `true` if the document has a text. Sources that can answer without reading the text
    /// override it.
    ///
    /// # Errors
    /// Returns the errors of [`CandidateTexts::text`].
    fn contains(&self, id: &str) -> Result<bool, SearchError> {
        Ok(self.text(id)?.is_some())
    }
}

impl<S: BuildHasher + Send + Sync> CandidateTexts for HashMap<String, String, S> {
    fn text(&self, id: &str) -> Result<Option<Cow<'_, str>>, SearchError> {
        Ok(self.get(id).map(|text| Cow::Borrowed(&**text)))
    }
}

impl CandidateTexts for BTreeMap<String, String> {
    fn text(&self, id: &str) -> Result<Option<Cow<'_, str>>, SearchError> {
        Ok(self.get(id).map(|text| Cow::Borrowed(&**text)))
    }
}
