//! Latent semantic indexing: TF-IDF followed by a truncated SVD.

use ir_core::{Analyzer, EncodeError, Encoder, NoProgress, Progress, Side};
use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::WordAnalyzer;
use super::svd::{TruncatedSvd, TruncatedSvdConfig, TruncatedSvdError};
use super::tfidf::{TfidfConfig, TfidfFitError, TfidfVectorizer};
use crate::matrix::{MatrixError, normalize_rows};

/// Configuration of latent semantic indexing.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct LsiConfig {
    /// TF-IDF weighting and vocabulary of the decomposed matrix.
    pub tfidf: TfidfConfig,
    /// Configuration of the truncated SVD, including the number of dimensions.
    pub svd: TruncatedSvdConfig,
    /// L2 normalization of the resulting vectors. Default: false.
    pub normalize: bool,
}

impl LsiConfig {
    ir_core::setters! {
        with_tfidf: tfidf, TfidfConfig;
        with_svd: svd, TruncatedSvdConfig;
        with_normalize: normalize, bool;
    }
}

/// Latent semantic indexing (LSI): dense vectors in which terms of the same texts are similar.
///
/// A fitted model is serialized through serde and implements [`Encoder`].
///
/// ```
/// use ir_knn::{Lsi, LsiConfig, TruncatedSvdConfig};
/// let texts = ["ships at sea", "boats at sea", "green tea", "black tea"];
/// let svd = TruncatedSvdConfig::new(2);
/// let lsi = Lsi::fit(&texts, &LsiConfig::default().with_svd(svd).with_normalize(true))?;
/// let rows = lsi.transform(&["ships", "boats", "tea"]);
/// let cosine = |a: usize, b: usize| rows.row(a).dot(&rows.row(b));
/// assert!(cosine(0, 1) > 0.99 && cosine(0, 2).abs() < 0.01);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Source
/// Deerwester and others, "Indexing by latent semantic analysis", JASIS 41(6), 1990.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "SavedLsi<A>")]
pub struct Lsi<A = WordAnalyzer> {
    tfidf: TfidfVectorizer<A>,
    svd: TruncatedSvd,
    normalize: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedLsi<A> {
    tfidf: TfidfVectorizer<A>,
    svd: TruncatedSvd,
    normalize: bool,
}

impl<A> TryFrom<SavedLsi<A>> for Lsi<A> {
    type Error = MatrixError;

    fn try_from(saved: SavedLsi<A>) -> Result<Self, MatrixError> {
        let terms = saved.tfidf.idf().len();
        MatrixError::check_dimensions(terms, saved.svd.components().ncols())?;
        Ok(Self {
            tfidf: saved.tfidf,
            svd: saved.svd,
            normalize: saved.normalize,
        })
    }
}

impl Lsi {
    /// Fits a model on texts analyzed by [`WordAnalyzer`].
    ///
    /// # Errors
    /// Returns [`LsiError`] if TF-IDF cannot be fitted, or there are fewer texts or terms than
    /// components.
    pub fn fit<T: AsRef<str> + Sync>(texts: &[T], config: &LsiConfig) -> Result<Self, LsiError> {
        Self::fit_with(WordAnalyzer::default(), texts, config, &mut NoProgress)
    }
}

impl<A: Analyzer> Lsi<A> {
    /// Fits a model on texts with any analyzer. Reports the number of counted texts, then the
    /// number of Lanczos steps, without a total.
    ///
    /// # Errors
    /// Returns [`LsiError`] if TF-IDF cannot be fitted, there are fewer texts or terms than
    /// components, or `progress` cancels ([`TfidfFitError::Canceled`],
    /// [`TruncatedSvdError::Canceled`]).
    pub fn fit_with<T: AsRef<str> + Sync>(
        analyzer: A,
        texts: &[T],
        config: &LsiConfig,
        progress: &mut dyn Progress,
    ) -> Result<Self, LsiError> {
        let weights = &config.tfidf;
        let (tfidf, rows) =
            TfidfVectorizer::fit_transform_with(analyzer, texts, weights, progress)?;
        let svd = TruncatedSvd::fit_with_progress(&rows, &config.svd, progress)?;
        Ok(Self {
            tfidf,
            svd,
            normalize: config.normalize,
        })
    }

    /// Returns the vectors of texts, one per row, shape `[texts, components]`.
    pub fn transform<T: AsRef<str> + Sync>(&self, texts: &[T]) -> Array2<f64> {
        let mut rows = self.svd.project(&self.tfidf.transform(texts));
        if self.normalize {
            normalize_rows(&mut rows);
        }
        rows
    }
}

impl<A> Lsi<A> {
    /// Returns the fitted TF-IDF vectorizer.
    #[must_use]
    pub fn tfidf(&self) -> &TfidfVectorizer<A> {
        &self.tfidf
    }

    /// Returns the fitted truncated SVD.
    #[must_use]
    pub fn svd(&self) -> &TruncatedSvd {
        &self.svd
    }
}

/// Queries and documents have the same vectors.
impl<A: Analyzer> Encoder for Lsi<A> {
    fn dim(&self) -> usize {
        self.svd.components().nrows()
    }

    fn encode_into(&self, _: Side, texts: &[&str], out: &mut [f32]) -> Result<(), EncodeError> {
        super::copy_rows(&self.transform(texts), out)
    }
}

/// Error fitting latent semantic indexing.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LsiError {
    /// TF-IDF cannot be fitted.
    #[error("TF-IDF cannot be fitted")]
    Tfidf(#[from] TfidfFitError),
    /// The matrix of TF-IDF vectors cannot be decomposed.
    #[error("the matrix of TF-IDF vectors cannot be decomposed")]
    Svd(#[from] TruncatedSvdError),
}
