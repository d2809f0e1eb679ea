//! Random indexing, and its reflective form.

use std::collections::BTreeSet;

use ir_core::{Analyzer, EncodeError, Encoder, Side, SplitMix};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::rows::unit;
use crate::{DenseRows, FitError, Idf, Norm, RowsError, SparseRows, TfIdf, TfIdfConfig, Words};

/// How random indexing is done; the default is that of the Semantic Vectors package.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct RandomIndexingConfig {
    /// The length of every vector, from 2. Default 200.
    pub dim: usize,
    /// How many entries of an elemental vector are not zero: half of them 1, half −1. An even
    /// number from 2 to `dim`. Default 10.
    pub nonzero: usize,
    /// What gets elemental vectors. Default: texts.
    pub start: Start,
    /// How often the vectors that were learned take the place of those that they were learned
    /// from. Default 0, plain random indexing; Semantic Vectors calls it `trainingcycles`.
    pub reflections: usize,
    /// The weight of a term in a text. Default: idf.
    pub weight: TermWeight,
    /// Where the random numbers start. Default 0.
    pub seed: u64,
    /// Which terms there are: its bounds, stop words and numbers of words. Its weights and norm
    /// are not used.
    pub terms: TfIdfConfig,
}

impl Default for RandomIndexingConfig {
    fn default() -> Self {
        Self {
            dim: 200,
            nonzero: 10,
            start: Start::Texts,
            reflections: 0,
            weight: TermWeight::Idf,
            seed: 0,
            terms: TfIdfConfig::default(),
        }
    }
}

impl RandomIndexingConfig {
    /// With vectors of another length.
    #[must_use]
    pub fn with_dim(mut self, dim: usize) -> Self {
        self.dim = dim;
        self
    }

    /// With another start.
    #[must_use]
    pub fn starting_with(mut self, start: Start) -> Self {
        self.start = start;
        self
    }

    /// With so many reflections.
    #[must_use]
    pub fn reflected(mut self, times: usize) -> Self {
        self.reflections = times;
        self
    }

    /// With another weight.
    #[must_use]
    pub fn with_weight(mut self, weight: TermWeight) -> Self {
        self.weight = weight;
        self
    }

    /// With other random numbers.
    #[must_use]
    pub fn seeded(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }
}

/// What gets elemental vectors, from which all others are learned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// Texts: a term is the sum of the texts that it is in.
    #[default]
    Texts,
    /// Terms: a text is the sum of its terms. Terms are learned by the first reflection.
    Terms,
}

/// The weight of a term in a text: a part within the text, from the number tf of its occurrences,
/// times a part in the collection, from the number N of texts and the number df of those that have
/// it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TermWeight {
    /// tf · log₁₀(N / df).
    #[default]
    Idf,
    /// log₁₀(1 + tf) · (1 + Σ p log₂ p / log₂ N), p the share of its occurrences that a text has.
    LogEntropy,
    /// √tf.
    Root,
    /// 1.
    None,
}

impl TermWeight {
    fn local(self, count: f64) -> f64 {
        match self {
            Self::Idf => count,
            Self::LogEntropy => (1.0 + count).log10(),
            Self::Root => count.sqrt(),
            Self::None => 1.0,
        }
    }

    /// Of a term with so many occurrences in each text that has it.
    fn global(self, counts: &[f64], texts: usize) -> f64 {
        let texts = texts as f64;
        match self {
            Self::Idf if counts.is_empty() => 0.0,
            Self::Idf => (texts / counts.len() as f64).log10(),
            // A single text tells nothing apart.
            Self::LogEntropy if texts < 2.0 => 1.0,
            Self::LogEntropy => {
                let all: f64 = counts.iter().sum();
                let entropy = counts.iter().map(|count| {
                    let share = count / all;
                    share * share.log2()
                });
                1.0 + entropy.sum::<f64>() / texts.log2()
            }
            Self::Root | Self::None => 1.0,
        }
    }
}

/// Text to dense vectors by random indexing: every text (or term) gets a short random pattern, and
/// sums of patterns take the place of a matrix decomposition. One pass over the texts, and no
/// larger matrix than its result.
///
/// A text is the weighted sum of its terms, of length 1; a text without known terms is zeros.
/// Queries are treated like texts. With [reflections](RandomIndexingConfig::reflected), terms that
/// never occur together but share neighbours become alike.
///
/// ```
/// use ir_knn::{RandomIndexing, RandomIndexingConfig};
/// let texts = ["ships at sea", "boats at sea", "green tea", "black tea"];
/// let config = RandomIndexingConfig::default().reflected(1);
/// let (indexing, _) = RandomIndexing::fit_transform(&texts, &config)?;
/// let rows = indexing.transform(&["ships", "boats", "tea"]);
/// let alike = |a: usize, b: usize| -> f64 { rows.row(a).iter().zip(rows.row(b)).map(|(x, y)| x * y).sum() };
/// assert!(alike(0, 1) > alike(0, 2) + 0.3);
/// # Ok::<(), ir_knn::RandomIndexingError>(())
/// ```
///
/// # Source
/// Kanerva, Kristoferson and Holst, "Random indexing of text samples for latent semantic analysis",
/// CogSci 2000. Cohen, Schvaneveldt and Widdows, "Reflective random indexing and indirect
/// inference", Journal of Biomedical Informatics 43(2), 2010. Weights and defaults are those of the
/// Semantic Vectors package; its random patterns are others, so compare rankings and not values.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(
    try_from = "Saved<A>",
    bound(
        serialize = "A: Serialize + Clone",
        deserialize = "A: Deserialize<'de>"
    )
)]
pub struct RandomIndexing<A = Words> {
    config: RandomIndexingConfig,
    /// Its rows are counts.
    counts: TfIdf<A>,
    /// The weight of each term in the collection.
    global: Vec<f64>,
    /// The vector of each term.
    terms: DenseRows,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, bound(deserialize = "A: Deserialize<'de>"))]
struct Saved<A> {
    config: RandomIndexingConfig,
    counts: TfIdf<A>,
    global: Vec<f64>,
    terms: DenseRows,
}

impl<A> TryFrom<Saved<A>> for RandomIndexing<A> {
    type Error = RowsError;

    fn try_from(saved: Saved<A>) -> Result<Self, RowsError> {
        let terms = saved.counts.idf().len();
        for (expected, found) in [
            (terms, saved.global.len()),
            (terms, saved.terms.len()),
            (saved.config.dim, saved.terms.dim()),
        ] {
            if found != expected {
                let row = 0;
                return Err(RowsError::Dimensions {
                    row,
                    expected,
                    found,
                });
            }
        }
        Ok(Self {
            config: saved.config,
            counts: saved.counts,
            global: saved.global,
            terms: saved.terms,
        })
    }
}

impl RandomIndexing {
    /// Learns from texts, cut into [`Words`] in lower case, and gives their vectors.
    ///
    /// # Errors
    /// When no terms are left, or the configuration is wrong.
    pub fn fit_transform<T: AsRef<str> + Sync>(
        texts: &[T],
        config: &RandomIndexingConfig,
    ) -> Result<(Self, DenseRows), RandomIndexingError> {
        Self::fit_transform_with(Words::default(), texts, config)
    }
}

impl<A: Analyzer> RandomIndexing<A> {
    /// Learns from texts that `analyzer` cuts into words, and gives their vectors.
    ///
    /// # Errors
    /// As [`RandomIndexing::fit_transform`].
    pub fn fit_transform_with<T: AsRef<str> + Sync>(
        analyzer: A,
        texts: &[T],
        config: &RandomIndexingConfig,
    ) -> Result<(Self, DenseRows), RandomIndexingError> {
        let RandomIndexingConfig { dim, nonzero, .. } = *config;
        if dim < 2 {
            return Err(RandomIndexingError::Dim { found: dim });
        }
        if nonzero == 0 || nonzero % 2 == 1 || nonzero > dim {
            return Err(RandomIndexingError::Nonzero { dim, nonzero });
        }
        let counting = config
            .terms
            .clone()
            .with_idf(Idf::None)
            .with_norm(Norm::None);
        let counting = counting.with_tf(crate::Tf::Count);
        let (counts, rows) = TfIdf::fit_transform_with(analyzer, texts, &counting)?;
        let columns = rows.transposed();
        let weight = config.weight;
        let global: Vec<f64> = (0..columns.len())
            .into_par_iter()
            .map(|term| weight.global(columns.parts(term).1, rows.len()))
            .collect();
        let of_texts = |terms: &DenseRows| {
            sums(&rows, terms, |term, count| {
                weight.local(count) * global[term]
            })
        };
        let mut learned;
        let mut vectors;
        match config.start {
            Start::Texts => {
                let random = |text| SplitMix::new(config.seed, text as u64);
                vectors = elemental(rows.len(), dim, nonzero, random);
                learned = sums(&columns, &vectors, |_, count| count);
                vectors = of_texts(&learned);
                for _ in 0..config.reflections {
                    learned = sums(&columns, &vectors, |_, count| count);
                    vectors = of_texts(&learned);
                }
            }
            Start::Terms => {
                // By name, so that a term is the same in every collection.
                let names: Vec<&str> = counts.terms().collect();
                let random = |term: usize| SplitMix::named(config.seed, names[term]);
                learned = elemental(names.len(), dim, nonzero, random);
                vectors = of_texts(&learned);
                for _ in 0..config.reflections {
                    learned = sums(&columns, &vectors, |_, count| weight.local(count));
                    vectors = of_texts(&learned);
                }
            }
        }
        let fitted = Self {
            config: config.clone(),
            counts,
            global,
            terms: learned,
        };
        Ok((fitted, vectors))
    }

    /// The vectors of texts or queries, one a row. Unknown terms are passed over.
    pub fn transform<T: AsRef<str> + Sync>(&self, texts: &[T]) -> DenseRows {
        let rows = self.counts.transform(texts);
        let local = |count| self.config.weight.local(count);
        sums(&rows, &self.terms, |term, count| {
            local(count) * self.global[term]
        })
    }
}

impl<A> RandomIndexing<A> {
    /// What was chosen.
    #[must_use]
    pub fn config(&self) -> &RandomIndexingConfig {
        &self.config
    }

    /// The terms, one a row of [`RandomIndexing::term_vectors`].
    pub fn terms(&self) -> impl ExactSizeIterator<Item = &str> {
        self.counts.terms()
    }

    /// The vector of every term.
    #[must_use]
    pub fn term_vectors(&self) -> &DenseRows {
        &self.terms
    }
}

impl<A: Analyzer> Encoder for RandomIndexing<A> {
    fn dim(&self) -> usize {
        self.config.dim
    }

    fn encode_into(&self, _: Side, texts: &[&str], out: &mut [f32]) -> Result<(), EncodeError> {
        let (expected, found) = (texts.len() * self.dim(), out.len());
        if found != expected {
            return Err(EncodeError::Shape { expected, found });
        }
        for (out, &value) in out.iter_mut().zip(self.transform(texts).values()) {
            *out = value as f32;
        }
        Ok(())
    }
}

/// Random patterns: each is half `nonzero` times 1 and as often −1, and else 0.
fn elemental(
    count: usize,
    dim: usize,
    nonzero: usize,
    random: impl Fn(usize) -> SplitMix + Sync,
) -> DenseRows {
    let mut values = vec![0.0; count * dim];
    values
        .par_chunks_exact_mut(dim)
        .enumerate()
        .for_each(|(number, vector)| {
            let mut random = random(number);
            let mut places = BTreeSet::new();
            while places.len() < nonzero {
                let place = random.below(dim);
                if places.insert(place) {
                    vector[place] = if places.len() % 2 == 1 { 1.0 } else { -1.0 };
                }
            }
        });
    DenseRows::trusted(dim, values)
}

/// For each row, the weighted sum of the vectors of its columns, of length 1.
fn sums(
    rows: &SparseRows,
    vectors: &DenseRows,
    weight: impl Fn(usize, f64) -> f64 + Sync,
) -> DenseRows {
    let dim = vectors.dim();
    let mut values = vec![0.0; rows.len() * dim];
    values
        .par_chunks_exact_mut(dim)
        .enumerate()
        .for_each(|(row, sum)| {
            for (column, count) in rows.row(row) {
                let weight = weight(column as usize, count);
                for (sum, value) in sum.iter_mut().zip(vectors.row(column as usize)) {
                    *sum += weight * value;
                }
            }
            unit(sum);
        });
    DenseRows::trusted(dim, values)
}

/// Why random indexing could not be done.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RandomIndexingError {
    /// The terms could not be found.
    #[error("the terms could not be found")]
    Terms(#[from] FitError),
    /// A vector has no room for a 1 and a −1.
    #[error("expected vectors of at least 2 dimensions, found {found}")]
    Dim {
        /// The length of a vector.
        found: usize,
    },
    /// Elemental vectors cannot be drawn.
    #[error("expected an even number of nonzero entries from 2 to {dim}, found {nonzero}")]
    Nonzero {
        /// The length of a vector.
        dim: usize,
        /// How many entries were wanted.
        nonzero: usize,
    },
}

#[cfg(test)]
mod tests;
