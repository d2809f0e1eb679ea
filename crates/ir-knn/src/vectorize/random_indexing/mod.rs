//! Random indexing and reflective random indexing.

use std::collections::BTreeSet;

use ir_core::{Analyzer, EncodeError, Encoder, NoProgress, Side, SplitMix64};
use ndarray::Array2;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::WordAnalyzer;
use super::tfidf::{
    IdfWeighting, RowNorm, TfWeighting, TfidfConfig, TfidfFitError, TfidfVectorizer,
};
use crate::matrix::{CsrMatrix, MatrixError, normalize};

/// Configuration of [`RandomIndexing`], with the defaults of the Semantic Vectors package.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct RandomIndexingConfig {
    /// Number of dimensions. Range: ≥ 2. Default: 200.
    pub dim: usize,
    /// Number of non-zero entries of an elemental vector, half of them 1, half −1. Range: even, 2
    /// to `dim`. Default: 10.
    pub nonzero: usize,
    /// Objects with elemental vectors. Default: texts.
    pub elemental: ElementalVectors,
    /// Number of reflections (`trainingcycles` of Semantic Vectors), each of which replaces the
    /// vectors that others were computed from by the results. Default: 0, plain random indexing.
    pub reflections: usize,
    /// Weighting of terms in texts. Default: idf.
    pub weight: TermWeighting,
    /// Seed of the elemental vectors. Default: 0.
    pub seed: u64,
    /// Vocabulary: document-frequency bounds, stop words and n-gram lengths. Weightings and norm
    /// are ignored.
    pub terms: TfidfConfig,
    /// Maximum size of the vectors in bytes, by [`RandomIndexingConfig::bytes`]. Not part of a
    /// saved model. Default: no limit but the memory that can be allocated.
    #[serde(skip)]
    pub max_bytes: Option<u64>,
}

impl Default for RandomIndexingConfig {
    fn default() -> Self {
        Self {
            dim: 200,
            nonzero: 10,
            elemental: ElementalVectors::Texts,
            reflections: 0,
            weight: TermWeighting::Idf,
            seed: 0,
            terms: TfidfConfig::default(),
            max_bytes: None,
        }
    }
}

impl RandomIndexingConfig {
    /// Returns the size of the vectors of texts and terms in bytes, which fitting has in memory.
    ///
    /// ```
    /// use ir_knn::RandomIndexingConfig;
    /// assert_eq!(RandomIndexingConfig::default().bytes(1000, 5000), 6000 * 200 * 8);
    /// ```
    #[must_use]
    pub const fn bytes(&self, texts: usize, terms: usize) -> u64 {
        let vectors = (texts as u64).saturating_add(terms as u64);
        let of_vector = (self.dim as u64).saturating_mul(size_of::<f64>() as u64);
        vectors.saturating_mul(of_vector)
    }

    /// Checks that the vectors fit into memory, before any is allocated.
    fn check_memory(&self, texts: usize, terms: usize) -> Result<(), RandomIndexingError> {
        let bytes = self.bytes(texts, terms);
        let limit = self.max_bytes.filter(|limit| bytes > *limit);
        // Reserved and released: an allocation that fails would end the process.
        let reserved = usize::try_from(bytes).map(|size| Vec::<u8>::new().try_reserve_exact(size));
        if limit.is_none() && matches!(reserved, Ok(Ok(()))) {
            return Ok(());
        }
        Err(RandomIndexingError::Memory {
            bytes,
            limit,
            texts,
            terms,
            dim: self.dim,
        })
    }

    ir_core::setters! {
        with_dim: dim, usize;
        with_elemental: elemental, ElementalVectors;
        with_reflections: reflections, usize;
        with_weight: weight, TermWeighting;
        with_seed: seed, u64;
        with_max_bytes: Some(max_bytes), u64;
    }
}

/// Objects with elemental (random) vectors, from which all other vectors are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ElementalVectors {
    /// Texts. A term vector is the sum of the vectors of its texts.
    #[default]
    Texts,
    /// Terms. A text vector is the sum of the vectors of its terms; the first reflection computes
    /// term vectors.
    Terms,
}

/// Weighting of a term in a text: a local weight, from the number tf of its occurrences in the
/// text, times a global one, from the number N of texts and the document frequency df.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TermWeighting {
    /// tf · log₁₀(N / df).
    #[default]
    Idf,
    /// log₁₀(1 + tf) · (1 + Σ p log₂ p / log₂ N), where p is the fraction of the occurrences of the
    /// term in a text.
    LogEntropy,
    /// √tf, without a global weight.
    Root,
    /// 1 for every term that occurs.
    None,
}

impl TermWeighting {
    fn local(self, count: f64) -> f64 {
        match self {
            Self::Idf => count,
            Self::LogEntropy => (1.0 + count).log10(),
            Self::Root => count.sqrt(),
            Self::None => 1.0,
        }
    }

    /// Global weight of a term with these counts in the texts that contain it.
    fn global(self, counts: &[f64], texts: usize) -> f64 {
        let texts = texts as f64;
        match self {
            Self::Idf if counts.is_empty() => 0.0,
            Self::Idf => (texts / counts.len() as f64).log10(),
            // The entropy over a single text is undefined.
            Self::LogEntropy if texts < 2.0 => 1.0,
            Self::LogEntropy => {
                let all: f64 = counts.iter().sum();
                let entropy = counts.iter().map(|count| {
                    let fraction = count / all;
                    fraction * fraction.log2()
                });
                1.0 + entropy.sum::<f64>() / texts.log2()
            }
            Self::Root | Self::None => 1.0,
        }
    }
}

/// Random indexing: dense text vectors as sums of sparse random vectors, without a matrix
/// decomposition.
///
/// A text vector is the weighted sum of the vectors of its terms, L2-normalized; a text without
/// known terms is a zero vector. Queries and documents have the same vectors. With
/// [reflections](RandomIndexingConfig::reflections), terms that never co-occur but share neighbors
/// become similar. Fitting takes one pass over the texts.
///
/// ```
/// use ir_knn::{RandomIndexing, RandomIndexingConfig};
/// let texts = ["ships at sea", "boats at sea", "green tea", "black tea"];
/// let config = RandomIndexingConfig::default().with_reflections(1);
/// let (indexing, _) = RandomIndexing::fit_transform(&texts, &config)?;
/// let rows = indexing.transform(&["ships", "boats", "tea"]);
/// let cosine = |a: usize, b: usize| rows.row(a).dot(&rows.row(b));
/// assert!(cosine(0, 1) > cosine(0, 2) + 0.3);
/// # Ok::<(), ir_knn::RandomIndexingError>(())
/// ```
///
/// # Source
/// Kanerva, Kristoferson and Holst, "Random indexing of text samples for latent semantic analysis",
/// CogSci 2000. Cohen, Schvaneveldt and Widdows, "Reflective random indexing and indirect
/// inference", Journal of Biomedical Informatics 43(2), 2010. Weightings and defaults follow the
/// Semantic Vectors package. Its random numbers differ: compare rankings, not values.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "SavedRandomIndexing<A>")]
pub struct RandomIndexing<A = WordAnalyzer> {
    config: RandomIndexingConfig,
    /// Vectorizer of raw counts.
    counts: TfidfVectorizer<A>,
    /// Global weights of the terms.
    global: Vec<f64>,
    /// Term vectors, `[terms, dim]`.
    #[serde(with = "crate::matrix::saved")]
    terms: Array2<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedRandomIndexing<A> {
    config: RandomIndexingConfig,
    counts: TfidfVectorizer<A>,
    global: Vec<f64>,
    #[serde(with = "crate::matrix::saved")]
    terms: Array2<f64>,
}

impl<A> TryFrom<SavedRandomIndexing<A>> for RandomIndexing<A> {
    type Error = MatrixError;

    fn try_from(saved: SavedRandomIndexing<A>) -> Result<Self, MatrixError> {
        let terms = saved.counts.idf().len();
        MatrixError::check_dimensions(terms, saved.global.len())?;
        MatrixError::check_dimensions(terms, saved.terms.nrows())?;
        MatrixError::check_dimensions(saved.config.dim, saved.terms.ncols())?;
        Ok(Self {
            config: saved.config,
            counts: saved.counts,
            global: saved.global,
            terms: saved.terms,
        })
    }
}

impl RandomIndexing {
    /// Fits a model on texts analyzed by [`WordAnalyzer`] and returns their vectors.
    ///
    /// # Errors
    /// Returns [`RandomIndexingError`] if the vocabulary is empty or the configuration is invalid.
    pub fn fit_transform<T: AsRef<str> + Sync>(
        texts: &[T],
        config: &RandomIndexingConfig,
    ) -> Result<(Self, Array2<f64>), RandomIndexingError> {
        Self::fit_transform_with(WordAnalyzer::default(), texts, config)
    }
}

impl<A: Analyzer> RandomIndexing<A> {
    /// Fits a model on texts with any analyzer and returns their vectors.
    ///
    /// # Errors
    /// Returns [`RandomIndexingError`] if the vocabulary is empty or the configuration is invalid.
    pub fn fit_transform_with<T: AsRef<str> + Sync>(
        analyzer: A,
        texts: &[T],
        config: &RandomIndexingConfig,
    ) -> Result<(Self, Array2<f64>), RandomIndexingError> {
        let RandomIndexingConfig { dim, nonzero, .. } = *config;
        if dim < 2 {
            return Err(RandomIndexingError::Dim { found: dim });
        }
        if nonzero == 0 || nonzero % 2 == 1 || nonzero > dim {
            return Err(RandomIndexingError::Nonzero { dim, nonzero });
        }
        config.check_memory(texts.len(), 0)?;
        let raw_counts = config
            .terms
            .clone()
            .with_tf(TfWeighting::Count)
            .with_idf(IdfWeighting::None)
            .with_norm(RowNorm::None);
        let progress = &mut NoProgress;
        let (counts, rows) =
            TfidfVectorizer::fit_transform_with(analyzer, texts, &raw_counts, progress)?;
        config.check_memory(rows.nrows(), rows.ncols())?;
        let columns = rows.transpose();
        let weight = config.weight;
        let global: Vec<f64> = (0..columns.nrows())
            .into_par_iter()
            .map(|term| weight.global(columns.row_slices(term).1, rows.nrows()))
            .collect();
        let text_vectors = |terms: &Array2<f64>| {
            normalized_sums(&rows, terms, |term, count| {
                weight.local(count) * global[term]
            })
        };
        let (mut term_vectors, mut vectors, passes);
        match config.elemental {
            ElementalVectors::Texts => {
                let random = |text| SplitMix64::new(config.seed, text as u64);
                vectors = elemental_vectors(rows.nrows(), dim, nonzero, random);
                term_vectors = Array2::default((0, 0));
                passes = config.reflections.saturating_add(1);
            }
            ElementalVectors::Terms => {
                // Seeded by name: a term has the same vector in every collection.
                let names: Vec<&str> = counts.terms().collect();
                let random = |term: usize| SplitMix64::from_name(config.seed, names[term]);
                term_vectors = elemental_vectors(names.len(), dim, nonzero, random);
                vectors = text_vectors(&term_vectors);
                passes = config.reflections;
            }
        }
        for _ in 0..passes {
            // The vectors that are replaced are released first.
            drop(std::mem::take(&mut term_vectors));
            term_vectors = normalized_sums(&columns, &vectors, |_, count| match config.elemental {
                ElementalVectors::Texts => count,
                ElementalVectors::Terms => weight.local(count),
            });
            drop(std::mem::take(&mut vectors));
            vectors = text_vectors(&term_vectors);
        }
        let fitted = Self {
            config: config.clone(),
            counts,
            global,
            terms: term_vectors,
        };
        Ok((fitted, vectors))
    }

    /// Returns the vectors of texts, one per row, shape `[texts, dim]`. Unknown terms are ignored.
    pub fn transform<T: AsRef<str> + Sync>(&self, texts: &[T]) -> Array2<f64> {
        let rows = self.counts.transform(texts);
        let local = |count| self.config.weight.local(count);
        normalized_sums(&rows, &self.terms, |term, count| {
            local(count) * self.global[term]
        })
    }
}

impl<A> RandomIndexing<A> {
    /// Configuration of the model.
    #[must_use]
    pub fn config(&self) -> &RandomIndexingConfig {
        &self.config
    }

    /// Terms by row of [`RandomIndexing::term_vectors`].
    pub fn terms(&self) -> impl ExactSizeIterator<Item = &str> {
        self.counts.terms()
    }

    /// Term vectors, shape `[terms, dim]`.
    #[must_use]
    pub fn term_vectors(&self) -> &Array2<f64> {
        &self.terms
    }
}

impl<A: Analyzer> Encoder for RandomIndexing<A> {
    fn dim(&self) -> usize {
        self.config.dim
    }

    fn encode_into(&self, _: Side, texts: &[&str], out: &mut [f32]) -> Result<(), EncodeError> {
        super::copy_rows(&self.transform(texts), out)
    }
}

/// Random sparse vectors with `nonzero / 2` entries of 1 and as many of −1.
fn elemental_vectors(
    count: usize,
    dim: usize,
    nonzero: usize,
    random: impl Fn(usize) -> SplitMix64 + Sync,
) -> Array2<f64> {
    let mut vectors = Array2::zeros((count, dim));
    let values = vectors.as_slice_mut().unwrap_or_default();
    let rows = values.par_chunks_exact_mut(dim).enumerate();
    rows.for_each(|(number, vector)| {
        let mut random = random(number);
        let mut positions = BTreeSet::new();
        while positions.len() < nonzero {
            let position = random.below(dim);
            if positions.insert(position) {
                vector[position] = if positions.len() % 2 == 1 { 1.0 } else { -1.0 };
            }
        }
    });
    vectors
}

/// Returns the L2-normalized weighted sum of the vectors of the columns of each row.
fn normalized_sums(
    rows: &CsrMatrix,
    vectors: &Array2<f64>,
    weight: impl Fn(usize, f64) -> f64 + Sync,
) -> Array2<f64> {
    rows.weighted_sums(vectors, weight, normalize)
}

/// Error fitting [`RandomIndexing`].
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "fields are named in the messages")]
pub enum RandomIndexingError {
    /// The vocabulary cannot be determined.
    #[error("the vocabulary cannot be determined")]
    Vocabulary(#[from] TfidfFitError),
    /// The number of dimensions is below 2.
    #[error("expected vectors of at least 2 dimensions, found {found}")]
    Dim { found: usize },
    /// The number of non-zero entries is odd or out of range.
    #[error("expected an even number of nonzero entries from 2 to {dim}, found {nonzero}")]
    Nonzero { dim: usize, nonzero: usize },
    /// The vectors do not fit into memory.
    #[error(
        "expected vectors that fit into memory{}, found an estimate of {} for {texts} texts and \
         {terms} terms in {dim} dimensions; use fewer dimensions",
        limit.map_or_else(String::new, |limit| format!(" ({} are available)", mebibytes(limit))),
        mebibytes(*bytes)
    )]
    Memory {
        bytes: u64,
        /// Limit that is exceeded; `None` if the memory cannot be allocated.
        limit: Option<u64>,
        texts: usize,
        terms: usize,
        dim: usize,
    },
}

/// Size in MiB, rounded up.
fn mebibytes(bytes: u64) -> String {
    format!("{} MiB", bytes.div_ceil(1 << 20))
}

#[cfg(test)]
mod tests;
