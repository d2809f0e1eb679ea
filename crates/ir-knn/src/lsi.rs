//! Latent semantic indexing: TF-IDF and a truncated SVD in one.

use ir_core::{Analyzer, EncodeError, Encoder, Side};
use serde::{Deserialize, Serialize};

use crate::{DenseRows, FitError, RowsError, Svd, SvdConfig, SvdError, TfIdf, TfIdfConfig, Words};

/// How texts become vectors of latent semantic indexing.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct LsiConfig {
    /// The sparse vectors to begin with.
    pub tfidf: TfIdfConfig,
    /// How many dimensions are left of them.
    pub svd: SvdConfig,
    /// Whether vectors are brought to Euclidean length 1 in the end. Default: not.
    pub normalize: bool,
}

impl LsiConfig {
    /// With other sparse vectors to begin with.
    #[must_use]
    pub fn with_tfidf(mut self, tfidf: TfIdfConfig) -> Self {
        self.tfidf = tfidf;
        self
    }

    /// With another decomposition.
    #[must_use]
    pub fn with_svd(mut self, svd: SvdConfig) -> Self {
        self.svd = svd;
        self
    }

    /// With vectors of Euclidean length 1.
    #[must_use]
    pub fn normalized(mut self) -> Self {
        self.normalize = true;
        self
    }
}

/// Text to dense vectors by latent semantic indexing: words that occur in the same texts come to
/// lie in the same directions. It is an [`Encoder`], and is saved through serde.
///
/// ```
/// use ir_knn::{Lsi, LsiConfig, SvdConfig};
/// let texts = ["ships at sea", "boats at sea", "green tea", "black tea"];
/// let lsi = Lsi::fit(&texts, &LsiConfig::default().with_svd(SvdConfig::components(2)).normalized())?;
/// let rows = lsi.transform(&["ships", "boats", "tea"])?;
/// let alike = |a: usize, b: usize| -> f64 { rows.row(a).iter().zip(rows.row(b)).map(|(x, y)| x * y).sum() };
/// assert!(alike(0, 1) > 0.99 && alike(0, 2).abs() < 0.01);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Source
/// Deerwester and others, "Indexing by latent semantic analysis", JASIS 41(6), 1990.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(
    try_from = "Saved<A>",
    bound(
        serialize = "A: Serialize + Clone",
        deserialize = "A: Deserialize<'de>"
    )
)]
pub struct Lsi<A = Words> {
    tfidf: TfIdf<A>,
    svd: Svd,
    normalize: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, bound(deserialize = "A: Deserialize<'de>"))]
struct Saved<A> {
    tfidf: TfIdf<A>,
    svd: Svd,
    normalize: bool,
}

impl<A> TryFrom<Saved<A>> for Lsi<A> {
    type Error = RowsError;

    fn try_from(saved: Saved<A>) -> Result<Self, RowsError> {
        let (expected, found) = (saved.tfidf.idf().len(), saved.svd.directions().dim());
        if expected != found {
            return Err(RowsError::Dimensions {
                row: 0,
                expected,
                found,
            });
        }
        Ok(Self {
            tfidf: saved.tfidf,
            svd: saved.svd,
            normalize: saved.normalize,
        })
    }
}

impl Lsi {
    /// Learns from texts, cut into [`Words`] in lower case.
    ///
    /// # Errors
    /// When the sparse vectors cannot be fitted, or there are fewer texts or terms than components.
    pub fn fit<T: AsRef<str> + Sync>(texts: &[T], config: &LsiConfig) -> Result<Self, LsiError> {
        Self::fit_with(Words::default(), texts, config)
    }
}

impl<A: Analyzer> Lsi<A> {
    /// Learns from texts that `analyzer` cuts into words.
    ///
    /// # Errors
    /// As [`Lsi::fit`].
    pub fn fit_with<T: AsRef<str> + Sync>(
        analyzer: A,
        texts: &[T],
        config: &LsiConfig,
    ) -> Result<Self, LsiError> {
        let (tfidf, rows) = TfIdf::fit_transform_with(analyzer, texts, &config.tfidf)?;
        let svd = Svd::fit(&rows, &config.svd)?;
        Ok(Self {
            tfidf,
            svd,
            normalize: config.normalize,
        })
    }

    /// The vectors of texts, one a row.
    ///
    /// # Errors
    /// Never: its parts have one number of columns.
    pub fn transform<T: AsRef<str> + Sync>(&self, texts: &[T]) -> Result<DenseRows, RowsError> {
        let mut rows = self.svd.transform(&self.tfidf.transform(texts))?;
        if self.normalize {
            rows.normalize();
        }
        Ok(rows)
    }
}

impl<A> Lsi<A> {
    /// Its first half.
    #[must_use]
    pub fn tfidf(&self) -> &TfIdf<A> {
        &self.tfidf
    }

    /// Its second half.
    #[must_use]
    pub fn svd(&self) -> &Svd {
        &self.svd
    }

    /// Whether vectors are brought to Euclidean length 1.
    #[must_use]
    pub fn is_normalized(&self) -> bool {
        self.normalize
    }
}

/// Queries and documents are treated alike.
impl<A: Analyzer> Encoder for Lsi<A> {
    fn dim(&self) -> usize {
        self.svd.directions().len()
    }

    fn encode_into(&self, _: Side, texts: &[&str], out: &mut [f32]) -> Result<(), EncodeError> {
        let (expected, found) = (texts.len() * self.dim(), out.len());
        if found != expected {
            return Err(EncodeError::Shape { expected, found });
        }
        let rows = self.transform(texts).map_err(|error| EncodeError::Model {
            model: "latent semantic indexing".to_owned(),
            source: error.into(),
        })?;
        for (out, &value) in out.iter_mut().zip(rows.values()) {
            *out = value as f32;
        }
        Ok(())
    }
}

/// Why latent semantic indexing could not be fitted.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LsiError {
    /// The sparse vectors could not.
    #[error("the sparse vectors could not be fitted")]
    TfIdf(#[from] FitError),
    /// They could not be decomposed.
    #[error("the sparse vectors could not be decomposed")]
    Svd(#[from] SvdError),
}
