//! Configuration of an encoder.

use ir_core::Side;
use serde::{Deserialize, Serialize};

use super::Pooling;
use crate::backend::Backend;
use crate::precision::Precision;

/// Configuration of a [`BiEncoder`](crate::BiEncoder). A field that is `None` takes the value of
/// the model's folder.
///
/// ```
/// use ir_dense::{EncoderConfig, Pooling, SideConfig};
/// let scibert = EncoderConfig::default()
///     .with_pooling(Pooling::Cls)
///     .with_query(SideConfig::default().with_max_tokens(32))
///     .with_document(SideConfig::default().with_max_tokens(128));
/// let text = serde_json::to_string(&scibert)?;
/// assert_eq!(serde_json::from_str::<EncoderConfig>(&text)?, scibert);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct EncoderConfig {
    /// Compute backend. Default: CPU.
    pub backend: Backend,
    /// Number format of the linear layers. [`Precision::Bf16`] and [`Precision::Int8`] need
    /// [`Backend::Cpu`]. Default: f32.
    #[serde(skip_serializing_if = "Precision::is_f32")]
    pub precision: Precision,
    /// Pooling of token vectors, in place of all modes of the folder. Default: as in the folder.
    pub pooling: Option<Pooling>,
    /// If `true`, vectors are L2-normalized at the end, after truncation. If `false`, Normalize
    /// modules at the end are skipped. If it is set, the similarity function of the folder does not
    /// default to the cosine. Default: as in the folder.
    pub normalize: Option<bool>,
    /// Number of dimensions that are kept of every vector (Matryoshka), before normalization at the
    /// end, in place of `truncate_dim` of the folder. Range: 1 to the dimension of the model.
    /// Late-interaction models have [`MultiVectorConfig::truncate_dim`]. Default: as in the folder.
    ///
    /// [`MultiVectorConfig::truncate_dim`]: crate::MultiVectorConfig::truncate_dim
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncate_dim: Option<usize>,
    /// Configuration of the query side.
    pub query: SideConfig,
    /// Configuration of the document side.
    pub document: SideConfig,
    /// Token budget of a batch; a longer text is a batch of its own. On the CPU, more than two
    /// threads divide it among them. Trades memory for speed and does not change results. Default:
    /// 2,048.
    pub batch_tokens: usize,
    /// Maximum number of texts of a batch, as in sentence-transformers, besides
    /// [`EncoderConfig::batch_tokens`]. Default: no limit.
    pub batch_texts: Option<usize>,
}

/// Configuration that may differ between queries and documents.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct SideConfig {
    /// Prefix of every text (prompt): `query: ` for E5. Default: as in the folder.
    pub prefix: Option<String>,
    /// Maximum sequence length in tokens, with prefix and special tokens; longer texts are
    /// truncated at the end. Default: as in the folder.
    pub max_tokens: Option<usize>,
}

impl Default for EncoderConfig {
    fn default() -> Self {
        Self {
            backend: Backend::default(),
            precision: Precision::default(),
            pooling: None,
            normalize: None,
            truncate_dim: None,
            query: SideConfig::default(),
            document: SideConfig::default(),
            batch_tokens: 2048,
            batch_texts: None,
        }
    }
}

impl EncoderConfig {
    ir_core::setters! {
        with_backend: backend, Backend;
        with_precision: precision, Precision;
        with_pooling: Some(pooling), Pooling;
        with_normalize: Some(normalize), bool;
        with_truncate_dim: Some(truncate_dim), usize;
        with_query: query, SideConfig;
        with_document: document, SideConfig;
        with_batch_tokens: batch_tokens, usize;
        with_batch_texts: Some(batch_texts), usize;
    }

    /// Sets the maximum sequence length of both sides.
    pub const fn with_max_tokens(mut self, limit: usize) -> Self {
        self.query.max_tokens = Some(limit);
        self.document.max_tokens = Some(limit);
        self
    }

    pub(crate) fn side(&self, side: Side) -> &SideConfig {
        [&self.query, &self.document][side as usize]
    }
}

impl SideConfig {
    ir_core::setters! {
        with_prefix: Some(prefix), impl Into<String>;
        with_max_tokens: Some(max_tokens), usize;
    }
}
