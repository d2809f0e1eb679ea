//! Configuration of a multi-vector encoder.

use ir_core::Side;
use serde::{Deserialize, Serialize};

use crate::backend::Backend;
use crate::encode::{EncoderConfig, SideConfig};
use crate::precision::Precision;

/// Configuration of a [`MultiVectorEncoder`](crate::MultiVectorEncoder). A field that is `None`
/// takes the value of the model's folder.
///
/// ```
/// use ir_dense::{MultiVectorConfig, SideConfig};
/// let config = MultiVectorConfig::default()
///     .with_document(SideConfig::default().with_max_tokens(300))
///     .with_truncate_dim(64);
/// let text = serde_json::to_string(&config)?;
/// assert_eq!(serde_json::from_str::<MultiVectorConfig>(&text)?, config);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct MultiVectorConfig {
    /// Compute backend. Default: CPU.
    pub backend: Backend,
    /// Number format of the linear layers of the transformer; projections are f32.
    /// [`Precision::Bf16`] and [`Precision::Int8`] need [`Backend::Cpu`]. Default: f32.
    #[serde(skip_serializing_if = "Precision::is_f32")]
    pub precision: Precision,
    /// Number of dimensions that are kept of the vectors, which are normalized after truncation if
    /// the model normalizes. Default: all.
    pub truncate_dim: Option<usize>,
    /// Configuration of the query side. If queries are expanded to a fixed length, `max_tokens` is
    /// this length; if they are expanded to a minimum length, it must not be below the minimum.
    pub query: SideConfig,
    /// Configuration of the document side.
    pub document: SideConfig,
    /// Token budget of a batch; a longer text is a batch of its own. Trades memory for speed and
    /// does not change results. Default: 2,048.
    pub batch_tokens: usize,
    /// Maximum number of texts of a batch, besides [`MultiVectorConfig::batch_tokens`]. Default: no
    /// limit.
    pub batch_texts: Option<usize>,
}

impl Default for MultiVectorConfig {
    fn default() -> Self {
        Self::from_encoder(&EncoderConfig::default())
    }
}

impl MultiVectorConfig {
    ir_core::setters! {
        with_backend: backend, Backend;
        with_precision: precision, Precision;
        with_truncate_dim: Some(truncate_dim), usize;
        with_query: query, SideConfig;
        with_document: document, SideConfig;
        with_batch_tokens: batch_tokens, usize;
        with_batch_texts: Some(batch_texts), usize;
    }

    pub(crate) fn side(&self, side: Side) -> &SideConfig {
        [&self.query, &self.document][side as usize]
    }

    /// Creates the configuration from the values of a bi-encoder's configuration that apply:
    /// backend, precision, sides and batches.
    ///
    /// ```
    /// use ir_dense::{EncoderConfig, MultiVectorConfig};
    /// let encoder = EncoderConfig::default().with_batch_tokens(64);
    /// assert_eq!(MultiVectorConfig::from_encoder(&encoder).batch_tokens, 64);
    /// ```
    #[must_use]
    pub fn from_encoder(config: &EncoderConfig) -> Self {
        Self {
            backend: config.backend,
            precision: config.precision,
            truncate_dim: None,
            query: config.query.clone(),
            document: config.document.clone(),
            batch_tokens: config.batch_tokens,
            batch_texts: config.batch_texts,
        }
    }

    /// Configuration of tower and batches.
    pub(crate) fn encoder(&self) -> EncoderConfig {
        EncoderConfig {
            backend: self.backend,
            precision: self.precision,
            query: self.query.clone(),
            document: self.document.clone(),
            batch_tokens: self.batch_tokens,
            batch_texts: self.batch_texts,
            ..EncoderConfig::default()
        }
    }
}
