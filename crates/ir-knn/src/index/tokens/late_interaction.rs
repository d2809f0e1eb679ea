//! Reranking by late interaction.

use std::ops::Range;

use ir_core::{
    Candidate, DocNum, Explanation, Reranker, SearchError, Side, TokenEncoder, TokenVectors,
};
use rayon::prelude::*;

use super::matched_words::{matched_words, word_around};
use super::query::QueryTokens;
use super::segmented_store::SegmentedTokenStore;
use crate::simd::Cpu;

/// Number of candidates between two checks of a time limit.
const CHUNK: usize = 8;

/// Reranker by late interaction: scores are MaxSim ([`max_sim`](crate::max_sim)) of the token
/// vectors of the query and the candidate, as in ColBERT.
///
/// Token vectors of candidates come from a store ([`LateInteraction::with_store`]), which does not
/// need the texts; without a store, every candidate is encoded. The score is 0 if the query or the
/// candidate has no tokens.
///
/// [`Reranker::explain`] lists the best document token of each query token; the similarities add up
/// to the score. It shows the text of a token if the encoder or the store knows the range in the
/// text, and the candidate has a text; for a part of a word, the word, too.
/// [`Reranker::matched_words`] returns the words of these document tokens
/// ([`matched_words`](crate::matched_words)), or `None` if the candidate has no text or no ranges
/// are known.
///
/// # Examples
/// ```
/// use ir_core::{Candidate, EncodeError, Reranker, Side, TokenEncoder, TokenVectors};
/// use ir_knn::LateInteraction;
///
/// /// Two dimensions: words about tea, and all others.
/// struct Topics;
///
/// impl TokenEncoder for Topics {
///     fn dim(&self) -> usize {
///         2
///     }
///     fn encode_tokens(&self, _: Side, texts: &[&str]) -> Result<Vec<TokenVectors>, EncodeError> {
///         let encode = |text: &&str| {
///             let (mut values, mut spans) = (Vec::new(), Vec::new());
///             for word in text.split_whitespace() {
///                 let is_tea = ["tea", "leaves"].contains(&word);
///                 values.extend(if is_tea { [1.0, 0.0] } else { [0.0, 1.0] });
///                 let start = word.as_ptr() as usize - text.as_ptr() as usize;
///                 spans.push(start..start + word.len());
///             }
///             TokenVectors::new(2, values, spans)
///         };
///         Ok(texts.iter().map(encode).collect())
///     }
/// }
///
/// let reranker = LateInteraction::new(Topics);
/// let candidates = [Candidate::new("a", "black coffee"), Candidate::new("b", "dry leaves")];
/// assert_eq!(reranker.scores("green tea", &candidates)?, [Some(1.0), Some(2.0)]);
/// let explanation = reranker.explain("green tea", &candidates, 1)?;
/// assert_eq!(
///     explanation.map(|it| it.to_string()).as_deref(),
///     Some("2  MaxSim: sum over the query tokens of the maximum inner product\n  \
///         1  query token 0 \"green\": document token 0 \"dry\"\n  \
///         1  query token 1 \"tea\": document token 1 \"leaves\"\n")
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct LateInteraction<E> {
    encoder: E,
    store: Option<SegmentedTokenStore>,
    top: Option<usize>,
}

/// Error of a [`LateInteraction`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the fields are named in the messages")]
pub enum LateInteractionError {
    /// The vectors of the store are of another model than the encoder.
    #[error(
        "token store: expected vectors of the encoder {expected:?}, found vectors of {found:?}; write the store with this encoder"
    )]
    OtherEncoder { expected: String, found: String },
    /// The vectors of the store have another dimension than the vectors of the encoder.
    #[error("token store: expected dimension {expected}, found {found}")]
    Dim { expected: usize, found: usize },
    /// A candidate is not in the store.
    #[error("candidate {id:?}: expected a document of the token store, found none")]
    Missing { id: String },
    /// The encoder returned another number of texts.
    #[error("encoder: expected token vectors of {expected} texts, found {found}")]
    Texts { expected: usize, found: usize },
}

impl From<LateInteractionError> for SearchError {
    fn from(error: LateInteractionError) -> Self {
        Self::Engine {
            engine: "late interaction",
            source: Box::new(error),
        }
    }
}

impl<E: TokenEncoder> LateInteraction<E> {
    /// Reranker that encodes the texts of the candidates.
    pub fn new(encoder: E) -> Self {
        Self {
            encoder,
            store: None,
            top: None,
        }
    }

    /// Reads the token vectors of candidates from a store, such as a
    /// [`TokenStore`](crate::TokenStore) or a [`SegmentedTokenStore`], instead of encoding texts.
    ///
    /// # Errors
    /// Returns [`LateInteractionError`] if the store has another dimension than the encoder, or
    /// both have a fingerprint and these differ. A store or an encoder without fingerprint is
    /// accepted.
    pub fn with_store(
        self,
        store: impl Into<SegmentedTokenStore>,
    ) -> Result<Self, LateInteractionError> {
        let store = store.into();
        let (dim, config) = (self.encoder.dim(), store.config());
        if config.dim != dim {
            return Err(LateInteractionError::Dim {
                expected: dim,
                found: config.dim,
            });
        }
        match (self.encoder.fingerprint(), &config.encoder) {
            (Some(expected), Some(found)) if expected != *found => {
                let found = found.clone();
                Err(LateInteractionError::OtherEncoder { expected, found })
            }
            _ => Ok(Self {
                store: Some(store),
                ..self
            }),
        }
    }

    /// Keeps the candidates with the `k` highest scores, and those with a score equal to the last
    /// of them; removes the others. Default: keeps all candidates.
    #[must_use]
    pub fn with_top(mut self, k: usize) -> Self {
        self.top = Some(k);
        self
    }

    /// Returns the store; `None` if candidates are encoded.
    #[must_use]
    pub fn store(&self) -> Option<&SegmentedTokenStore> {
        self.store.as_ref()
    }

    /// Returns the encoder of queries and texts.
    #[must_use]
    pub fn encoder(&self) -> &E {
        &self.encoder
    }

    fn encode(&self, side: Side, texts: &[&str]) -> Result<Vec<TokenVectors>, SearchError> {
        let vectors = self.encoder.encode_tokens(side, texts);
        let vectors = vectors.map_err(SearchError::Encode)?;
        if vectors.len() != texts.len() {
            return Err(LateInteractionError::Texts {
                expected: texts.len(),
                found: vectors.len(),
            }
            .into());
        }
        Ok(vectors)
    }

    /// Token vectors of a candidate.
    fn document(&self, candidate: &Candidate<'_>) -> Result<TokenVectors, SearchError> {
        let Some(store) = &self.store else {
            return Ok(self.encode(Side::Document, &[candidate.text])?.remove(0));
        };
        let doc = find_all(store, &[*candidate])?[0];
        store.vectors(doc).map_err(|source| SearchError::Engine {
            engine: "the token store",
            source: Box::new(source),
        })
    }

    /// Scores of candidates for an encoded query.
    fn scores_of(
        &self,
        query: &TokenVectors,
        candidates: &[Candidate<'_>],
    ) -> Result<Vec<Option<f32>>, SearchError> {
        let scores = match &self.store {
            None => {
                let texts: Vec<&str> = candidates.iter().map(|candidate| candidate.text).collect();
                let documents = self.encode(Side::Document, &texts)?;
                let (cpu, query) = (Cpu::detect(), QueryTokens::new(query)?);
                let mut maxima = query.maxima();
                let score = |document: &TokenVectors| {
                    query.check(document)?;
                    Ok(query.score(cpu, &document.values, &mut maxima))
                };
                let scores = documents.iter().map(score);
                scores.collect::<Result<Vec<f32>, SearchError>>()?
            }
            Some(store) => {
                let docs = find_all(store, candidates)?;
                store.scores(query, &docs)?
            }
        };
        let floor = self.top.map_or(f32::NEG_INFINITY, |k| floor(&scores, k));
        let keep = |score: f32| (score >= floor).then_some(score);
        Ok(scores.into_iter().map(keep).collect())
    }
}

/// The `k`-th highest score; infinity if `k` is 0, and negative infinity if there are fewer.
fn floor(scores: &[f32], k: usize) -> f32 {
    let Some(last) = k.checked_sub(1) else {
        return f32::INFINITY;
    };
    let mut sorted = scores.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    sorted.get(last).copied().unwrap_or(f32::NEG_INFINITY)
}

/// Numbers of candidates in a store.
fn find_all(
    store: &SegmentedTokenStore,
    candidates: &[Candidate<'_>],
) -> Result<Vec<DocNum>, SearchError> {
    let find = |candidate: &Candidate<'_>| {
        let missing = || LateInteractionError::Missing {
            id: candidate.id.to_owned(),
        };
        Ok(store.ids().get(candidate.id).ok_or_else(missing)?)
    };
    candidates.iter().map(find).collect()
}

impl<E: TokenEncoder> Reranker for LateInteraction<E> {
    type Query = str;

    fn needs_texts(&self) -> bool {
        self.store.is_none()
    }

    fn scores(
        &self,
        query: &str,
        candidates: &[Candidate<'_>],
    ) -> Result<Vec<Option<f32>>, SearchError> {
        let queries = self.encode(Side::Query, &[query])?;
        self.scores_of(&queries[0], candidates)
    }

    /// Encodes all queries at once. With a store, queries are divided among the threads of the
    /// current rayon pool.
    fn scores_batch(
        &self,
        queries: &[(&str, &[Candidate<'_>])],
    ) -> Result<Vec<Vec<Option<f32>>>, SearchError> {
        let texts: Vec<&str> = queries.iter().map(|&(query, _)| query).collect();
        let vectors = self.encode(Side::Query, &texts)?;
        let score = |(vectors, (_, candidates)): (&TokenVectors, &(&str, &[Candidate<'_>]))| {
            self.scores_of(vectors, candidates)
        };
        match &self.store {
            Some(_) => vectors.par_iter().zip(queries).map(score).collect(),
            None => vectors.iter().zip(queries).map(score).collect(),
        }
    }

    /// Encodes the query once, and scores 8 candidates at a time; all of them at once after
    /// [`LateInteraction::with_top`].
    fn scores_while(
        &self,
        query: &str,
        candidates: &[Candidate<'_>],
        goes_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<Vec<Option<f32>>>, SearchError> {
        let queries = self.encode(Side::Query, &[query])?;
        let chunk = match self.top {
            None => CHUNK,
            Some(_) => candidates.len().max(1),
        };
        let mut scores = Vec::with_capacity(candidates.len());
        for chunk in candidates.chunks(chunk) {
            if !goes_on() {
                return Ok(None);
            }
            scores.extend(self.scores_of(&queries[0], chunk)?);
        }
        Ok(Some(scores))
    }

    fn explain(
        &self,
        query: &str,
        candidates: &[Candidate<'_>],
        n: usize,
    ) -> Result<Option<Explanation>, SearchError> {
        let vectors = self.encode(Side::Query, &[query])?;
        let Some(candidate) = candidates.get(n) else {
            return Ok(None);
        };
        if self.top.is_some() && self.scores_of(&vectors[0], candidates)?[n].is_none() {
            return Ok(None);
        }
        let document = self.document(candidate)?;
        explain_max_sim((query, &vectors[0]), (candidate.text, &document)).map(Some)
    }

    fn matched_words(
        &self,
        query: &str,
        candidate: &Candidate<'_>,
    ) -> Result<Option<Vec<Range<usize>>>, SearchError> {
        if candidate.text.is_empty() {
            return Ok(None);
        }
        let document = self.document(candidate)?;
        if document.spans.iter().all(Range::is_empty) {
            return Ok(None);
        }
        let query_vectors = self.encode(Side::Query, &[query])?;
        let query = (query, &query_vectors[0]);
        matched_words(query, (candidate.text, &document)).map(Some)
    }
}

/// Explains [`max_sim`](crate::max_sim): the best document token of each query token, and the
/// similarity. The texts may be empty; a token is shown if the range of the token is one of the
/// text, and the word around it if the token is a part of a word.
///
/// # Errors
/// Returns the errors of [`max_sim`](crate::max_sim).
///
/// ```
/// use ir_core::TokenVectors;
/// use ir_knn::explain_max_sim;
/// let query = TokenVectors::new(1, vec![2.0], vec![0..3]);
/// let document = TokenVectors::new(1, vec![0.25, 0.5], vec![0..5, 6..9]);
/// let explanation = explain_max_sim(("tea", &query), ("green tea", &document))?;
/// assert_eq!(explanation.score(), 1.0);
/// assert_eq!(
///     explanation.details[0].description,
///     r#"query token 0 "tea": document token 1 "tea""#
/// );
/// let document = TokenVectors::new(1, vec![0.5, 0.25], vec![0..3, 3..4]);
/// let explanation = explain_max_sim(("tea", &query), ("teas", &document))?;
/// assert_eq!(
///     explanation.details[0].description,
///     r#"query token 0 "tea": document token 0 "tea" of "teas""#
/// );
/// # Ok::<(), ir_core::SearchError>(())
/// ```
pub fn explain_max_sim(
    (query_text, query): (&str, &TokenVectors),
    (text, document): (&str, &TokenVectors),
) -> Result<Explanation, SearchError> {
    let tokens = QueryTokens::new(query)?;
    tokens.check(document)?;
    let show = |number: usize, text: &str, vectors: &TokenVectors| {
        let span = vectors.spans.get(number).filter(|span| !span.is_empty());
        let token = span.and_then(|span| Some((text.get(span.clone())?, word_around(text, span))));
        match token {
            None => number.to_string(),
            Some((token, word)) if word.len() == token.len() => format!("{number} {token:?}"),
            Some((token, word)) => format!("{number} {token:?} of {:?}", &text[word]),
        }
    };
    let matches = tokens.matches(Cpu::detect(), &document.values);
    let details = (0..).zip(matches).map(|(number, (best, similarity))| {
        let (one, other) = (show(number, query_text, query), show(best, text, document));
        Explanation::new(
            similarity,
            format!("query token {one}: document token {other}"),
        )
    });
    let description = "MaxSim: sum over the query tokens of the maximum inner product";
    Ok(Explanation::sum(description, details.collect()))
}
