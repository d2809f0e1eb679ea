//! TF-IDF with the values of scikit-learn.

mod config;
mod counts;
mod fit;

use std::sync::Arc;

use ir_core::{Analyzer, EncodeError, Encoder, Side};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

pub use config::{DocFrequency, IdfWeighting, RowNorm, TfWeighting, TfidfConfig, TfidfFitError};

use self::counts::{TextCounts, Vocabulary, count_chunks};
use super::WordAnalyzer;
use crate::matrix::CsrMatrix;

/// TF-IDF vectorizer with the values of scikit-learn's `TfidfVectorizer`.
///
/// [Fitting](TfidfVectorizer::fit) on texts determines the vocabulary (one column per term) and the
/// idf of its terms; [`transform`](TfidfVectorizer::transform) returns the vectors of any texts.
/// Out-of-vocabulary terms are ignored: a text without known terms becomes a zero vector. Texts are
/// processed in parallel; results do not depend on the number of threads. Fitted vectorizers are
/// serialized through serde and implement [`Encoder`].
///
/// ```
/// use ir_knn::{TfidfConfig, TfidfVectorizer};
/// let texts = ["The cat sat on the mat.", "The dog ate the cat!"];
/// let tfidf = TfidfVectorizer::fit(&texts, &TfidfConfig::default())?;
/// assert_eq!(tfidf.terms().collect::<Vec<_>>(), ["ate", "cat", "dog", "mat", "on", "sat", "the"]);
/// let rows = tfidf.transform(&["a cat, a dog, a platypus"]);
/// let named: Vec<_> = rows.row(0).map(|(column, value)| (tfidf.term(column), value)).collect();
/// assert_eq!(named.len(), 2);
/// assert_eq!(named[0].0, Some("cat"));
/// assert!((named[0].1 - 0.5797).abs() < 1e-4);
/// # Ok::<(), ir_knn::TfidfFitError>(())
/// ```
///
/// # Source
/// Salton and Buckley, "Term-weighting approaches in automatic text retrieval", IPM 24(5), 1988;
/// the details follow scikit-learn 1.9.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "SavedTfidf<A>")]
pub struct TfidfVectorizer<A = WordAnalyzer> {
    analyzer: A,
    config: TfidfConfig,
    texts: usize,
    #[serde(serialize_with = "Vocabulary::serialize")]
    terms: Arc<Vocabulary>,
    idf: Vec<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedTfidf<A> {
    analyzer: A,
    config: TfidfConfig,
    texts: usize,
    terms: Vec<String>,
    idf: Vec<f64>,
}

impl<A> TryFrom<SavedTfidf<A>> for TfidfVectorizer<A> {
    type Error = String;

    fn try_from(saved: SavedTfidf<A>) -> Result<Self, String> {
        let valid = saved.config.validate();
        valid.map_err(|error| format!("invalid configuration: {error}"))?;
        let (terms, idf) = (saved.terms.len(), saved.idf.len());
        if terms != idf {
            return Err(format!(
                "expected {terms} idf values, one per term, found {idf}"
            ));
        }
        let terms = Vocabulary::from_distinct(&saved.terms)
            .map_err(|term| format!("expected every term once, found {term:?} twice"))?;
        for (term, idf) in saved.terms.iter().zip(&saved.idf) {
            if !(*idf > 0.0 && idf.is_finite()) {
                return Err(format!(
                    "term {term:?}: expected a positive finite idf, found {idf}"
                ));
            }
        }
        Ok(Self {
            analyzer: saved.analyzer,
            config: saved.config,
            texts: saved.texts,
            terms: terms.into(),
            idf: saved.idf,
        })
    }
}

impl<A: Analyzer> TfidfVectorizer<A> {
    /// Returns the vectors of texts, one per row.
    pub fn transform<T: AsRef<str> + Sync>(&self, texts: &[T]) -> CsrMatrix {
        let chunks = count_chunks(texts, |texts| {
            let number = |term: &str| self.terms.get(term);
            TextCounts::new(&self.analyzer, &self.config, texts, number)
        });
        self.matrix(chunks)
    }

    /// Returns the matrix of weights of counted texts.
    fn matrix(&self, mut chunks: Vec<TextCounts>) -> CsrMatrix {
        let stored = chunks.iter().map(|chunk| chunk.counts.len()).sum();
        let texts = chunks.iter().map(|chunk| chunk.ends.len()).sum::<usize>();
        let mut starts = Vec::with_capacity(texts + 1);
        let (mut columns, mut values) = (vec![0; stored], vec![0.0; stored]);
        starts.push(0);
        let mut parts = Vec::with_capacity(chunks.len());
        let (mut free_columns, mut free_values) = (&mut columns[..], &mut values[..]);
        let mut offset = 0;
        for chunk in &mut chunks {
            let (columns, values);
            (columns, free_columns) = free_columns.split_at_mut(chunk.counts.len());
            (values, free_values) = free_values.split_at_mut(chunk.counts.len());
            starts.extend(chunk.ends.iter().map(|end| offset + end));
            offset += chunk.counts.len();
            parts.push((chunk, columns, values));
        }
        parts.into_par_iter().for_each(|(chunk, columns, values)| {
            self.weigh(chunk, values);
            for (column, (found, _)) in columns.iter_mut().zip(&chunk.counts) {
                *column = *found;
            }
        });
        CsrMatrix::from_valid(self.idf.len(), starts, columns, values)
    }

    /// Sorts the counts of each text by column and computes their weights.
    fn weigh(&self, chunk: &mut TextCounts, values: &mut [f64]) {
        let mut start = 0;
        for &end in &chunk.ends {
            let counts = &mut chunk.counts[start..end];
            counts.sort_unstable_by_key(|&(column, _)| column);
            let row = &mut values[start..end];
            start = end;
            for (value, &(column, count)) in row.iter_mut().zip(&*counts) {
                let tf = match self.config.tf {
                    TfWeighting::Count => f64::from(count),
                    // Most terms occur once; skipping their logarithm saves time.
                    TfWeighting::Sublinear if count == 1 => 1.0,
                    TfWeighting::Sublinear => f64::from(count).ln() + 1.0,
                    TfWeighting::Binary => 1.0,
                };
                *value = tf * self.idf[column as usize];
            }
            let norm = match self.config.norm {
                RowNorm::None => continue,
                // Weights are not negative.
                RowNorm::L1 => row.iter().sum::<f64>(),
                RowNorm::L2 => row.iter().map(|weight| weight * weight).sum::<f64>().sqrt(),
            };
            // Rows without terms have no values to divide.
            for weight in row {
                *weight /= norm;
            }
        }
    }
}

impl<A> TfidfVectorizer<A> {
    /// Configuration of the vectorizer.
    #[must_use]
    pub fn config(&self) -> &TfidfConfig {
        &self.config
    }

    /// Returns the terms by column.
    pub fn terms(&self) -> impl ExactSizeIterator<Item = &str> {
        self.terms.iter()
    }

    /// Returns the term of a column.
    #[must_use]
    pub fn term(&self, column: u32) -> Option<&str> {
        self.terms.term(column as usize)
    }

    /// Returns the column of a term.
    #[must_use]
    pub fn column(&self, term: &str) -> Option<u32> {
        self.terms.get(term)
    }

    /// Inverse document frequencies by column; all 1 under [`IdfWeighting::None`].
    #[must_use]
    pub fn idf(&self) -> &[f64] {
        &self.idf
    }
}

/// Queries and documents have the same vectors. Dense encoding suits small vocabularies; use
/// `encode_sparse` for others.
impl<A: Analyzer> Encoder for TfidfVectorizer<A> {
    fn dim(&self) -> usize {
        self.idf.len()
    }

    fn encode_into(&self, _: Side, texts: &[&str], out: &mut [f32]) -> Result<(), EncodeError> {
        let (expected, found) = (texts.len() * self.dim(), out.len());
        if found != expected {
            return Err(EncodeError::Shape { expected, found });
        }
        out.fill(0.0);
        let rows = self.transform(texts);
        for (row, out) in out.chunks_exact_mut(self.dim()).enumerate() {
            for (column, value) in rows.row(row) {
                out[column as usize] = value as f32;
            }
        }
        Ok(())
    }

    fn encode_sparse(
        &self,
        _: Side,
        texts: &[&str],
        emit: &mut dyn FnMut(&[u32], &[f32]),
    ) -> Result<(), EncodeError> {
        let rows = self.transform(texts);
        let mut narrow = Vec::new();
        for row in 0..rows.nrows() {
            let (columns, values) = rows.row_slices(row);
            narrow.clear();
            narrow.extend(values.iter().map(|&value| value as f32));
            emit(columns, &narrow);
        }
        Ok(())
    }

    fn component_name(&self, component: usize) -> Option<String> {
        self.term(u32::try_from(component).ok()?).map(str::to_owned)
    }
}
