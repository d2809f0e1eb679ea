//! Query expansion by the words nearest to the query vector.

mod term_words;

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use ir_core::{EncodeError, Encoder, SearchError, Side};

pub use term_words::TermWords;

use crate::{Searcher, WeightedTerm};

/// Vectors of terms, for [`NearestWords`].
///
/// ```
/// use ir_bm25::TermVectors;
/// let terms = ["tea", "coffee", "ship"].map(str::to_owned);
/// let vectors = vec![2.0, 0.0, 3.0, 4.0, 0.0, 1.0];
/// let vectors = TermVectors::new(terms, 2, vectors)?;
/// let nearest = vectors.nearest(&[0.5, 0.0], 2);
/// assert_eq!(nearest, [("tea", 1.0), ("coffee", 0.6)]);
/// # Ok::<(), ir_bm25::NearestWordsError>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct TermVectors {
    terms: Vec<String>,
    dim: usize,
    /// Rows of length 1, or 0 for a zero vector; `[terms, dim]`.
    vectors: Vec<f32>,
}

/// Error configuring an expansion by nearest words.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum NearestWordsError {
    /// The number of values is not the number of terms times the dimension.
    #[error("expected {expected} values of {terms} term vectors, found {found}")]
    Shape {
        terms: usize,
        expected: usize,
        found: usize,
    },
    /// A value is NaN or infinite.
    #[error("vector of the term {term:?}: expected finite numbers, found {found}")]
    NotFinite { term: String, found: f32 },
    /// The encoder of queries has another dimension than the vectors of terms.
    #[error("expected an encoder of dimension {expected}, found {found}")]
    Dimension { expected: usize, found: usize },
    /// The weight is out of range.
    #[error("weight of nearest words: expected a finite number >= 0, found {found}")]
    Weight { found: f32 },
    /// A word cannot be encoded.
    #[error("encoding words")]
    Encode(#[from] EncodeError),
}

impl TermVectors {
    /// Creates a table from terms as indexed and their vectors, row-major `[terms, dim]`.
    ///
    /// # Errors
    /// The number of values is wrong, or a value is not finite.
    pub fn new(
        terms: impl IntoIterator<Item = String>,
        dim: usize,
        mut vectors: Vec<f32>,
    ) -> Result<Self, NearestWordsError> {
        let terms: Vec<String> = terms.into_iter().collect();
        let (expected, found) = (terms.len().saturating_mul(dim), vectors.len());
        if expected != found {
            let terms = terms.len();
            return Err(NearestWordsError::Shape {
                terms,
                expected,
                found,
            });
        }
        for (term, row) in terms.iter().zip(vectors.chunks_exact_mut(dim.max(1))) {
            if let Some(&found) = row.iter().find(|value| !value.is_finite()) {
                let term = term.clone();
                return Err(NearestWordsError::NotFinite { term, found });
            }
            let length = length(row);
            if length > 0.0 {
                let scaled = |value: &mut f32| *value = (f64::from(*value) / length) as f32;
                row.iter_mut().for_each(scaled);
            }
        }
        Ok(Self {
            terms,
            dim,
            vectors,
        })
    }

    /// Encodes words as documents; [`TermWords`] collects the words of an index. The analyzer of
    /// the searched index turns a word into its term. Words without a term, with several terms, or
    /// with the term of an earlier word are left out.
    ///
    /// # Errors
    /// A word cannot be encoded, or a value is not finite.
    pub fn encoded<W: AsRef<str>>(
        searcher: &Searcher,
        words: impl IntoIterator<Item = W>,
        encoder: &dyn Encoder,
    ) -> Result<Self, NearestWordsError> {
        const BATCH: usize = 256;
        let mut known = HashSet::new();
        let (mut terms, mut kept) = (Vec::new(), Vec::new());
        for word in words {
            let mut found = searcher.analyzer().terms(word.as_ref());
            if let (Some(term), true) = (found.pop(), found.is_empty())
                && known.insert(term.clone())
            {
                terms.push(term);
                kept.push(word);
            }
        }
        let mut vectors = Vec::new();
        for batch in kept.chunks(BATCH) {
            let texts: Vec<&str> = batch.iter().map(AsRef::as_ref).collect();
            vectors.extend(encoder.encode(Side::Document, &texts)?);
        }
        Self::new(terms, encoder.dim(), vectors)
    }

    /// Returns the number of terms.
    #[must_use]
    pub fn len(&self) -> usize {
        self.terms.len()
    }

    /// Returns whether there are no terms.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Returns the `k` terms with the largest positive cosines with a vector, in descending order;
    /// equal ones in the order of the terms. A vector of length 0, with values that are not finite,
    /// or of another dimension has none.
    #[must_use]
    pub fn nearest(&self, vector: &[f32], k: usize) -> Vec<(&str, f32)> {
        self.nearest_except(vector, k, |_| false)
    }

    fn nearest_except(
        &self,
        vector: &[f32],
        k: usize,
        is_excluded: impl Fn(&str) -> bool,
    ) -> Vec<(&str, f32)> {
        let norm = length(vector);
        if vector.len() != self.dim || norm == 0.0 || !norm.is_finite() {
            return Vec::new();
        }
        let rows = self.vectors.chunks_exact(self.dim.max(1));
        let cosine = |row: &[f32]| {
            let products = row.iter().zip(vector);
            let dot: f64 = products.map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
            (dot / norm) as f32
        };
        let mut all: Vec<(&str, f32)> = (self.terms.iter().zip(rows))
            .map(|(term, row)| (term.as_str(), cosine(row)))
            .filter(|(term, cosine)| *cosine > 0.0 && !is_excluded(term))
            .collect();
        // Stable.
        all.sort_by(|a, b| b.1.total_cmp(&a.1));
        all.truncate(k);
        all
    }
}

/// Euclidean length, in double precision.
fn length(vector: &[f32]) -> f64 {
    let squares = vector.iter().map(|value| f64::from(*value).powi(2));
    squares.sum::<f64>().sqrt()
}

impl fmt::Debug for TermVectors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TermVectors")
            .field("terms", &self.terms.len())
            .field("dim", &self.dim)
            .finish_non_exhaustive()
    }
}

/// Retriever that adds to a query the terms nearest to the query vector, by the vectors of random
/// indexing or of any other [`Encoder`].
///
/// A term that is added has the weight of nearest words times its cosine; terms of the query have
/// their counts. Terms of the query are not added again. A query with a zero vector, and every
/// query at weight 0 or with no words to add, has the ranking and the scores of the searcher.
///
/// ```
/// use std::sync::Arc;
///
/// use ir_bm25::{Bm25, Index, IndexConfig, NearestWords, TermVectors};
/// use ir_core::{Document, EncodeError, Encoder, NoProgress, Retriever, Search, Side};
///
/// /// Drinks have the first component, all others the second one.
/// struct Drinks;
/// impl Encoder for Drinks {
///     fn dim(&self) -> usize {
///         2
///     }
///
///     fn encode_into(&self, _: Side, texts: &[&str], out: &mut [f32]) -> Result<(), EncodeError> {
///         for (text, row) in texts.iter().zip(out.chunks_exact_mut(2)) {
///             let is_drink = ["tea", "coffee"].contains(text);
///             row.copy_from_slice(if is_drink { &[1.0, 0.0] } else { &[0.0, 1.0] });
///         }
///         Ok(())
///     }
/// }
///
/// let documents = vec![
///     Document::new("a").with_text("tea leaves"),
///     Document::new("b").with_text("black coffee"),
///     Document::new("c").with_text("black ships"),
/// ];
/// let index = Index::build(&documents, &IndexConfig::default(), &mut NoProgress)?;
/// let searcher = index.searcher(Bm25::ANSERINI)?;
/// let vectors = TermVectors::encoded(&searcher, ["tea", "coffee", "ships"], &Drinks)?;
/// let expanded = NearestWords::new(searcher, Arc::new(Drinks), vectors, 1, 0.2)?;
/// let ranking = expanded.search("tea", &Search::top(10))?;
/// let ids: Vec<&str> = ranking.iter().map(|hit| index.ids().id(hit.doc)).collect();
/// assert_eq!(ids, ["a", "b"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct NearestWords {
    searcher: Searcher,
    encoder: Arc<dyn Encoder>,
    vectors: Arc<TermVectors>,
    words: usize,
    weight: f32,
}

impl NearestWords {
    /// Creates a retriever that searches with `searcher`. `encoder` encodes queries. `words` is the
    /// number of terms added to a query, `weight` their weight at a cosine of 1. Range: ≥ 0.
    ///
    /// # Errors
    /// The weight is out of range, or the encoder has another dimension than the vectors.
    pub fn new(
        searcher: Searcher,
        encoder: Arc<dyn Encoder>,
        vectors: impl Into<Arc<TermVectors>>,
        words: usize,
        weight: f32,
    ) -> Result<Self, NearestWordsError> {
        if !(weight >= 0.0 && weight.is_finite()) {
            return Err(NearestWordsError::Weight { found: weight });
        }
        let vectors = vectors.into();
        if encoder.dim() != vectors.dim {
            return Err(NearestWordsError::Dimension {
                expected: vectors.dim,
                found: encoder.dim(),
            });
        }
        Ok(Self {
            searcher,
            encoder,
            vectors,
            words,
            weight,
        })
    }

    /// Returns the weighted terms of the expanded query: the terms of the query, then the nearest
    /// terms by descending cosine.
    ///
    /// # Errors
    /// The query cannot be encoded.
    pub fn expand(&self, query: &str) -> Result<Vec<WeightedTerm>, EncodeError> {
        let mut expanded = self.searcher.query_terms(query);
        if self.weight == 0.0 || self.words == 0 || expanded.is_empty() {
            return Ok(expanded);
        }
        let vector = self.encoder.encode(Side::Query, &[query])?;
        let of_query = |term: &str| expanded.iter().any(|known| known.term == term);
        let nearest = self.vectors.nearest_except(&vector, self.words, of_query);
        let added = nearest
            .into_iter()
            .map(|(term, cosine)| WeightedTerm::new(term, self.weight * cosine));
        let added: Vec<WeightedTerm> = added.collect();
        expanded.extend(added);
        Ok(expanded)
    }
}

impl fmt::Debug for NearestWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NearestWords")
            .field("searcher", &self.searcher)
            .field("vectors", &self.vectors)
            .field("words", &self.words)
            .field("weight", &self.weight)
            .finish_non_exhaustive()
    }
}

retrieve_rewritten!(
    NearestWords,
    |this, query| this.expand(query).map_err(SearchError::Encode)?,
    searcher.search_terms,
    /// Explains a score as the sum of the scores of the weighted terms of the expanded query.
    explain_terms
);

#[cfg(test)]
mod tests;
