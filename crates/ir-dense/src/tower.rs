//! One model: text in, vector out.

use std::path::{Path, PathBuf};

use burn::tensor::Tensor;
use ir_core::{EncodeError, Side};

use crate::encoder::failed;
use crate::folder::Sentences;
use crate::weights::Weights;
use crate::{
    Batch, EncoderConfig, ModelError, Pooling, SideConfig, Tokens, Transformer, TransformerConfig,
    pooling,
};

/// A tokeniser, a transformer and a pooling: what one folder holds.
#[derive(Debug, Clone)]
pub struct Tower {
    /// The folder, for messages.
    pub(crate) folder: PathBuf,
    /// The weights.
    pub model: Transformer,
    /// The tokeniser.
    pub tokens: Tokens,
    /// How tokens' vectors become a text's.
    pub pooling: Pooling,
    /// Whether vectors are divided by their length.
    pub normalize: bool,
    /// The most tokens of a text, special ones included, unless a side sets its own.
    pub max_tokens: usize,
    query_prompt: String,
    document_prompt: String,
}

impl Tower {
    /// Reads a folder in the Hugging Face layout.
    ///
    /// # Errors
    /// See [`ModelError`].
    pub fn open(folder: impl AsRef<Path>, config: &EncoderConfig) -> Result<Self, ModelError> {
        let folder = folder.as_ref();
        let device = config.backend.device()?;
        let shape = TransformerConfig::read(folder)?;
        let sentences = Sentences::read(folder)?;
        let tokens = Tokens::open(folder)?.with_lowercase(sentences.lowercase);
        tokens.check(shape.vocabulary)?;
        let positions = shape.max_tokens();
        let weights = Weights::open(folder)?;
        Ok(Self {
            folder: folder.into(),
            model: Transformer::load(shape, &weights, &device)?,
            pooling: config.pooling.unwrap_or(sentences.pooling),
            normalize: config.normalize.unwrap_or(sentences.normalize),
            max_tokens: sentences.max_tokens.unwrap_or(positions).min(positions),
            query_prompt: sentences.query_prompt,
            document_prompt: sentences.document_prompt,
            tokens,
        })
    }

    /// What the folder says to put before every text of a side.
    pub fn prompt(&self, side: Side) -> &str {
        match side {
            Side::Query => &self.query_prompt,
            Side::Document => &self.document_prompt,
        }
    }

    /// One vector per text.
    ///
    /// # Shapes
    /// `[texts, dimensions]`.
    pub fn forward(&self, batch: &Batch) -> Tensor<2> {
        self.pool(self.model.forward(batch), batch)
    }

    /// From the vectors of tokens to those of texts.
    pub(crate) fn pool(&self, states: Tensor<2>, batch: &Batch) -> Tensor<2> {
        let pooled = self.pooling.pool(states, batch);
        if self.normalize {
            pooling::normalize(pooled)
        } else {
            pooled
        }
    }

    /// The token numbers of a text with prefix and special tokens, cut to the limit of its side.
    pub(crate) fn ids(
        &self,
        side: Side,
        config: &SideConfig,
        text: &str,
    ) -> Result<Vec<u32>, EncodeError> {
        let prefix = config.prefix.as_deref().unwrap_or(self.prompt(side));
        let limit = config.max_tokens.unwrap_or(self.max_tokens);
        let tokens = if prefix.is_empty() {
            self.tokens.encode(text, limit)
        } else {
            self.tokens.encode(&format!("{prefix}{text}"), limit)
        };
        tokens.map_err(|source| failed(self, source))
    }
}
