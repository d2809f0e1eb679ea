//! Text to sparse vectors, with scikit-learn's numbers.

mod config;
mod count;
mod error;
mod fit;

use ir_core::{Analyzer, EncodeError, Encoder, Side};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

pub use config::{DocFrequency, Idf, Norm, Tf, TfIdfConfig};
pub use error::{FitError, SavedError};

use self::count::{Counter, Terms};
use crate::{SparseRows, Words};

/// How many texts one thread takes at a time: few times as many parts as threads, since every part
/// learns its words anew. The result does not depend on it.
fn chunk(texts: usize) -> usize {
    texts.div_ceil(4 * rayon::current_num_threads()).max(256)
}

/// Text to TF-IDF vectors, as scikit-learn's `TfidfVectorizer` gives them.
///
/// It is [fitted](TfIdf::fit) on texts, from which it learns its vocabulary (one column a term) and
/// the weights of its terms, and then [transforms](TfIdf::transform) any text. Terms that it never
/// saw are passed over, so a text of such terms only becomes zeros. Texts are worked on in parallel;
/// results are the same whatever the number of threads. It is saved through serde, and is an
/// [`Encoder`].
///
/// ```
/// use ir_knn::{TfIdf, TfIdfConfig};
/// let texts = ["The cat sat on the mat.", "The dog ate the cat!"];
/// let tfidf = TfIdf::fit(&texts, &TfIdfConfig::default())?;
/// assert_eq!(tfidf.terms().collect::<Vec<_>>(), ["ate", "cat", "dog", "mat", "on", "sat", "the"]);
/// let rows = tfidf.transform(&["a cat, a dog, a platypus"]);
/// let named: Vec<_> = rows.row(0).map(|(column, value)| (tfidf.term(column), value)).collect();
/// assert_eq!(named.len(), 2);
/// assert_eq!(named[0].0, Some("cat"));
/// assert!((named[0].1 - 0.5797).abs() < 1e-4);
/// # Ok::<(), ir_knn::FitError>(())
/// ```
///
/// # Source
/// Salton and Buckley, "Term-weighting approaches in automatic text retrieval", IPM 24(5), 1988;
/// the details are those of scikit-learn 1.9.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(
    try_from = "Saved<A>",
    into = "Saved<A>",
    bound(
        serialize = "A: Serialize + Clone",
        deserialize = "A: Deserialize<'de>"
    )
)]
pub struct TfIdf<A = Words> {
    analyzer: A,
    config: TfIdfConfig,
    texts: usize,
    terms: std::sync::Arc<Terms>,
    idf: Vec<f64>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Saved<A> {
    analyzer: A,
    config: TfIdfConfig,
    texts: usize,
    terms: Vec<String>,
    idf: Vec<f64>,
}

impl<A> From<TfIdf<A>> for Saved<A> {
    fn from(fitted: TfIdf<A>) -> Self {
        let terms = fitted.terms().map(str::to_owned).collect();
        Self {
            analyzer: fitted.analyzer,
            config: fitted.config,
            texts: fitted.texts,
            terms,
            idf: fitted.idf,
        }
    }
}

impl<A> TryFrom<Saved<A>> for TfIdf<A> {
    type Error = SavedError;

    fn try_from(saved: Saved<A>) -> Result<Self, SavedError> {
        saved.config.validate()?;
        let (terms, idf) = (saved.terms.len(), saved.idf.len());
        if terms != idf {
            return Err(SavedError::Length { terms, idf });
        }
        let mut numbered = Terms::default();
        for (column, (term, &idf)) in saved.terms.into_iter().zip(&saved.idf).enumerate() {
            if numbered.number(&term) as usize != column {
                return Err(SavedError::RepeatedTerm { term });
            }
            if !(idf > 0.0 && idf.is_finite()) {
                return Err(SavedError::Idf { term, found: idf });
            }
        }
        Ok(Self {
            analyzer: saved.analyzer,
            config: saved.config,
            texts: saved.texts,
            terms: numbered.into(),
            idf: saved.idf,
        })
    }
}

impl TfIdf {
    /// Learns from texts, cut into [`Words`] in lower case.
    ///
    /// # Errors
    /// When there are no texts, or no terms in them, or the configuration leaves none or is wrong.
    pub fn fit<T: AsRef<str> + Sync>(texts: &[T], config: &TfIdfConfig) -> Result<Self, FitError> {
        Self::fit_with(Words::default(), texts, config)
    }

    /// Learns from texts and gives their vectors: [`TfIdf::fit`] and [`TfIdf::transform`] in one.
    ///
    /// # Errors
    /// As [`TfIdf::fit`].
    pub fn fit_transform<T: AsRef<str> + Sync>(
        texts: &[T],
        config: &TfIdfConfig,
    ) -> Result<(Self, SparseRows), FitError> {
        Self::fit_transform_with(Words::default(), texts, config)
    }
}

impl<A: Analyzer> TfIdf<A> {
    /// Learns from texts that `analyzer` cuts into words: that of another engine, say.
    ///
    /// # Errors
    /// As [`TfIdf::fit`].
    pub fn fit_with<T: AsRef<str> + Sync>(
        analyzer: A,
        texts: &[T],
        config: &TfIdfConfig,
    ) -> Result<Self, FitError> {
        fit::fit(analyzer, texts, config).map(|(fitted, _)| fitted)
    }

    /// Learns from texts and gives their vectors: [`TfIdf::fit_with`] and [`TfIdf::transform`] in
    /// one.
    ///
    /// # Errors
    /// As [`TfIdf::fit`].
    pub fn fit_transform_with<T: AsRef<str> + Sync>(
        analyzer: A,
        texts: &[T],
        config: &TfIdfConfig,
    ) -> Result<(Self, SparseRows), FitError> {
        let (fitted, chunks) = fit::fit(analyzer, texts, config)?;
        let rows = fitted.rows(chunks);
        Ok((fitted, rows))
    }

    /// The vectors of texts, one a row.
    pub fn transform<T: AsRef<str> + Sync>(&self, texts: &[T]) -> SparseRows {
        let chunks = texts
            .par_chunks(chunk(texts.len()))
            .map(|texts| {
                let mut counter = Counter::new(&self.analyzer, &self.config);
                let mut chunk = Chunk::default();
                for text in texts {
                    let number = |term: &str| self.terms.get(term);
                    counter.count(text.as_ref(), number, &mut chunk.counts);
                    chunk.ends.push(chunk.counts.len());
                }
                chunk
            })
            .collect();
        self.rows(chunks)
    }

    /// Counts, by column, to weights.
    fn rows(&self, mut chunks: Vec<Chunk>) -> SparseRows {
        let stored = chunks.iter().map(|chunk| chunk.counts.len()).sum();
        let texts = chunks.iter().map(|chunk| chunk.ends.len()).sum::<usize>();
        let mut starts = Vec::with_capacity(texts + 1);
        let (mut columns, mut values) = (vec![0; stored], vec![0.0; stored]);
        starts.push(0);
        let mut parts = Vec::with_capacity(chunks.len());
        let (mut free, mut unset) = (&mut columns[..], &mut values[..]);
        let mut before = 0;
        for chunk in &mut chunks {
            let (columns, values);
            (columns, free) = free.split_at_mut(chunk.counts.len());
            (values, unset) = unset.split_at_mut(chunk.counts.len());
            starts.extend(chunk.ends.iter().map(|end| before + end));
            before += chunk.counts.len();
            parts.push((chunk, columns, values));
        }
        parts.into_par_iter().for_each(|(chunk, columns, values)| {
            self.weigh(chunk, values);
            for (column, (found, _)) in columns.iter_mut().zip(&chunk.counts) {
                *column = *found;
            }
        });
        SparseRows::trusted(self.idf.len(), starts, columns, values)
    }

    /// Brings the rows of a chunk into the order of the columns and gives their values.
    fn weigh(&self, chunk: &mut Chunk, values: &mut [f64]) {
        let mut start = 0;
        for &end in &chunk.ends {
            let counts = &mut chunk.counts[start..end];
            counts.sort_unstable_by_key(|&(column, _)| column);
            let row = &mut values[start..end];
            start = end;
            for (value, &(column, count)) in row.iter_mut().zip(&*counts) {
                let tf = match self.config.tf {
                    Tf::Count => f64::from(count),
                    // Most occur once, and a logarithm takes its time.
                    Tf::Sublinear if count == 1 => 1.0,
                    Tf::Sublinear => f64::from(count).ln() + 1.0,
                    Tf::Binary => 1.0,
                };
                *value = tf * self.idf[column as usize];
            }
            let by = match self.config.norm {
                Norm::None => continue,
                // Weights are positive.
                Norm::L1 => row.iter().sum::<f64>(),
                Norm::L2 => row.iter().map(|weight| weight * weight).sum::<f64>().sqrt(),
            };
            // Without a term there is nothing to divide.
            for weight in row {
                *weight /= by;
            }
        }
    }
}

impl<A> TfIdf<A> {
    /// What was chosen.
    #[must_use]
    pub fn config(&self) -> &TfIdfConfig {
        &self.config
    }

    /// What cuts texts into words.
    #[must_use]
    pub fn analyzer(&self) -> &A {
        &self.analyzer
    }

    /// How many texts it was fitted on.
    #[must_use]
    pub fn texts(&self) -> usize {
        self.texts
    }

    /// The terms, one a column.
    pub fn terms(&self) -> impl ExactSizeIterator<Item = &str> {
        self.terms.iter()
    }

    /// The term of a column.
    #[must_use]
    pub fn term(&self, column: u32) -> Option<&str> {
        self.terms.term(column as usize)
    }

    /// The column of a term.
    #[must_use]
    pub fn column(&self, term: &str) -> Option<u32> {
        self.terms.get(term)
    }

    /// The weight of every term in the collection, one a column; all 1 under [`Idf::None`].
    #[must_use]
    pub fn idf(&self) -> &[f64] {
        &self.idf
    }
}

/// Dense rows: for small vocabularies, and for indexes that take nothing else. Queries and
/// documents are treated alike.
impl<A: Analyzer> Encoder for TfIdf<A> {
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
        for row in 0..rows.len() {
            let (columns, values) = rows.parts(row);
            narrow.clear();
            narrow.extend(values.iter().map(|&value| value as f32));
            emit(columns, &narrow);
        }
        Ok(())
    }
}

/// The counted terms of some texts in a row.
#[derive(Debug, Default)]
struct Chunk {
    /// (column, count), text after text.
    counts: Vec<(u32, u32)>,
    /// Where each text ends.
    ends: Vec<usize>,
}
