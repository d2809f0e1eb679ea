//! Static embeddings: the vector of a text is the mean of the vectors of its tokens.
//!
//! Read are folders of model2vec, and the module StaticEmbedding of sentence-transformers. They are
//! encoders without layers ([`StaticTable::config`]), so that modules, prompts, fingerprints and
//! descriptions are the same as with a transformer. Both libraries tokenize without special tokens;
//! a text without tokens has the zero vector.
//!
//! | | model2vec | StaticEmbedding |
//! |---|---|---|
//! | tensor | `embeddings`, optionally `weights` and `mapping` | `embedding.weight` |
//! | normalization | `normalize` of `config.json` | module Normalize |
//! | unknown tokens | left out, except of Unigram | their vector |
//! | maximum length | `max_length` of `config.json` | `truncation` of `tokenizer.json` |
//!
//! The maximum length of model2vec is 512 tokens without the key, and null is none. With n tokens,
//! model2vec cuts a text to n × the median length of a token in characters, and then to n tokens,
//! before unknown tokens are left out.
//! Sums are f32 in the order of the tokens. model2vec rounds means of f16 tables to f16, which is
//! not done here, and adds 1e-32 to norms, which differs for norms below 1e-12 only.

use std::path::Path;

use super::ModelTokenizer;
use super::tokenizer::BagRules;
use crate::error::ModelError;
use crate::model_folder::{Model2VecConfig, StaticTable, TransformerConfig};
use crate::transformer::ModelWeights;

/// Maximum length of texts without a limit, in tokens: enough for any text in memory.
pub const UNLIMITED_TOKENS: usize = u32::MAX as usize;

/// Static embeddings of a folder.
pub(super) struct StaticEmbeddings {
    table: StaticTable,
    /// Settings of a folder of model2vec.
    model2vec: Option<Model2VecConfig>,
}

impl StaticEmbeddings {
    /// Opens the folder of weights and tokenizer.
    pub(super) fn open(folder: &Path) -> Result<Self, ModelError> {
        let table = StaticTable::open(folder)?;
        let model2vec = table.is_model2vec().then(|| Model2VecConfig::read(folder));
        Ok(Self {
            table,
            model2vec: model2vec.transpose()?,
        })
    }

    pub(super) fn config(&self) -> TransformerConfig {
        self.table.config(self.max_tokens())
    }

    /// Maximum length in tokens.
    pub(super) fn max_tokens(&self) -> usize {
        let limit = self
            .model2vec
            .as_ref()
            .and_then(Model2VecConfig::max_tokens);
        limit.unwrap_or(UNLIMITED_TOKENS)
    }

    /// If vectors are L2-normalized; [`None`] if the modules say so.
    pub(super) fn normalizes(&self) -> Option<bool> {
        self.model2vec.as_ref().map(Model2VecConfig::normalizes)
    }

    /// The tokenizer of the folder as the library uses it.
    pub(super) fn tokenizer(&self, tokenizer: ModelTokenizer) -> ModelTokenizer {
        let is_model2vec = self.model2vec.is_some();
        let rules = BagRules {
            removed: tokenizer.unknown_token().filter(|_| is_model2vec),
            characters: is_model2vec.then(|| tokenizer.median_token_length()),
        };
        tokenizer.with_bag(rules)
    }

    pub(super) fn into_weights(self) -> ModelWeights {
        ModelWeights::Static {
            config: Box::new(self.config()),
            table: self.table,
        }
    }
}
