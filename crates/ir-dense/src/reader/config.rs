//! Configuration of a reader.

use serde::{Deserialize, Serialize};

use crate::backend::Backend;

/// Configuration of an [`ExtractiveReader`](crate::ExtractiveReader).
///
/// ```
/// use ir_dense::ReaderConfig;
/// let config = ReaderConfig::default().with_max_tokens(256).with_stride(64);
/// let text = serde_json::to_string(&config)?;
/// assert_eq!(serde_json::from_str::<ReaderConfig>(&text)?, config);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ReaderConfig {
    /// Compute backend. Default: CPU.
    pub backend: Backend,
    /// Maximum sequence length in tokens: question, window of the context and special tokens.
    /// Default: 384, or the maximum length of the model if it is lower.
    pub max_tokens: Option<usize>,
    /// Number of tokens that consecutive windows of a long context share. Range: less than the
    /// tokens of a window. Default: 128, or a third of the maximum sequence length if it is lower.
    pub stride: Option<usize>,
    /// Maximum length of a question in tokens; longer ones are truncated at the end. Range: ≥ 1.
    /// Default: 64, or a third of the maximum sequence length if it is lower.
    pub max_question_tokens: Option<usize>,
    /// Maximum length of a span in tokens. Range: ≥ 1. Default: 30.
    pub max_answer_tokens: usize,
    /// Threshold for unanswerable questions, as in SQuAD 2: a span is returned only if its score
    /// exceeds the null score, the sum of the logits of `[CLS]`, by more than this. The null score
    /// of several windows is the lowest. `None`: every question has spans. Default: `None`, for
    /// models that were trained without unanswerable questions.
    pub no_answer_threshold: Option<f32>,
    /// Token budget of a batch; a longer window is a batch of its own. Trades memory for speed and
    /// does not change results. Default: 2,048.
    pub batch_tokens: usize,
}

impl Default for ReaderConfig {
    fn default() -> Self {
        Self {
            backend: Backend::default(),
            max_tokens: None,
            stride: None,
            max_question_tokens: None,
            max_answer_tokens: 30,
            no_answer_threshold: None,
            batch_tokens: 2048,
        }
    }
}

impl ReaderConfig {
    ir_core::setters! {
        with_backend: backend, Backend;
        with_max_tokens: Some(max_tokens), usize;
        with_stride: Some(stride), usize;
        with_max_question_tokens: Some(max_question_tokens), usize;
        with_max_answer_tokens: max_answer_tokens, usize;
        with_no_answer_threshold: Some(no_answer_threshold), f32;
        with_batch_tokens: batch_tokens, usize;
    }
}
