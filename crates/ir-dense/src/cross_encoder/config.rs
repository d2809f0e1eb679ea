//! Configuration of a cross-encoder.

use serde::{Deserialize, Serialize};

use crate::activation::Activation;
use crate::backend::Backend;
use crate::precision::Precision;

/// Configuration of a [`CrossEncoder`](crate::CrossEncoder). A field that is `None` takes the value
/// of the model's folder.
///
/// ```
/// use ir_dense::{CrossEncoderConfig, Precision, Windows};
/// let config = CrossEncoderConfig::default()
///     .with_precision(Precision::Int8)
///     .with_windows(Windows::Maximum)
///     .with_stride(64_usize);
/// let text = serde_json::to_string(&config)?;
/// assert_eq!(serde_json::from_str::<CrossEncoderConfig>(&text)?, config);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct CrossEncoderConfig {
    /// Compute backend. Default: CPU.
    pub backend: Backend,
    /// Number format of the linear layers; the head is f32. [`Precision::Bf16`] and
    /// [`Precision::Int8`] need [`Backend::Cpu`]. Default: f32.
    #[serde(skip_serializing_if = "Precision::is_f32")]
    pub precision: Precision,
    /// Maximum sequence length in tokens: query, document and special tokens. Range: at least the
    /// special tokens and two more, at most the positions of the model. Default: as in the folder.
    pub max_tokens: Option<usize>,
    /// What is scored of a document that does not fit beside the query. Default: the start.
    pub windows: Windows,
    /// Number of tokens that consecutive windows of a long document share. Range: less than half of
    /// the tokens of query and document. Default: a third of the window. Without effect with
    /// [`Windows::First`].
    pub stride: Option<usize>,
    /// Prompt, which precedes every query. Default: the default prompt of the folder, or none.
    pub prompt: Option<String>,
    /// Activation function of the scores. Default: as in the folder, or else
    /// [`Activation::Sigmoid`] for one label and [`Activation::Identity`] for several.
    pub activation: Option<Activation>,
    /// Token budget of a batch; a longer pair is a batch of its own. On the CPU, more than two
    /// threads divide it among them. Trades memory for speed and does not change scores. Default:
    /// 2,048.
    pub batch_tokens: usize,
}

/// Windows of a document that does not fit beside the query, and the score of the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Windows {
    /// One window: the longer of query and document is truncated until both fit, as in
    /// sentence-transformers.
    #[default]
    First,
    /// Maximum of the scores of all windows. A query is truncated to half of the sequence.
    Maximum,
    /// Mean of the scores of all windows. A query is truncated to half of the sequence.
    Mean,
}

impl Default for CrossEncoderConfig {
    fn default() -> Self {
        Self {
            backend: Backend::default(),
            precision: Precision::default(),
            max_tokens: None,
            windows: Windows::default(),
            stride: None,
            prompt: None,
            activation: None,
            batch_tokens: 2048,
        }
    }
}

impl CrossEncoderConfig {
    ir_core::setters! {
        with_backend: backend, Backend;
        with_precision: precision, Precision;
        with_max_tokens: Some(max_tokens), usize;
        with_windows: windows, Windows;
        with_stride: Some(stride), usize;
        with_prompt: Some(prompt), impl Into<String>;
        with_activation: Some(activation), Activation;
        with_batch_tokens: batch_tokens, usize;
    }
}
