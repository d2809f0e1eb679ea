//! One model: text in, vector out.

use std::path::{Path, PathBuf};

use burn::tensor::Tensor;
use ir_core::{EncodeError, Side};

use crate::encoder::failed;
use crate::folder::{Own, Sentences};
use crate::transformer::Names;
use crate::weights::Weights;
use crate::{
    Batch, EncoderConfig, ModelError, Pooling, SideConfig, Similarity, Tokens, Transformer,
    TransformerConfig, pooling,
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
    /// What the folder says that the score of a query and a document is.
    pub similarity: Option<Similarity>,
    /// Of queries and of documents, where the folder tells them apart.
    limits: [Option<usize>; 2],
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
        let max_tokens = limit(folder, &shape, &sentences, &tokens)?;
        let limits = own_limits(folder, &shape, &tokens)?;
        let weights = Weights::open(folder)?;
        let layers = Names::count_layers(shape.architecture, &weights);
        if layers > shape.layers {
            let path = folder.join("config.json");
            let expected = format!("{layers}, the layers in {}", weights.path().display());
            let field = "num_hidden_layers";
            return Err(ModelError::setting(&path, field, expected, shape.layers));
        }
        Ok(Self {
            folder: folder.into(),
            model: Transformer::load(shape, &weights, &device)?,
            pooling: config.pooling.unwrap_or(sentences.pooling),
            normalize: config.normalize.unwrap_or(sentences.normalize),
            max_tokens,
            limits,
            similarity: sentences.similarity,
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

    /// The most tokens of a text of a side, special ones included, as the folder says.
    pub fn limit(&self, side: Side) -> usize {
        let [query, document] = self.limits;
        let own = match side {
            Side::Query => query,
            Side::Document => document,
        };
        own.unwrap_or(self.max_tokens)
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
        let limit = config.max_tokens.unwrap_or(self.limit(side));
        let tokens = if prefix.is_empty() {
            self.tokens.encode(text, limit)
        } else {
            self.tokens.encode(&format!("{prefix}{text}"), limit)
        };
        tokens.map_err(|source| failed(self, source))
    }
}

/// The length limit of both sides. As sentence-transformers has it: its own file counts, else the
/// smaller of the model's positions and the tokeniser's limit.
fn limit(
    folder: &Path,
    shape: &TransformerConfig,
    sentences: &Sentences,
    tokens: &Tokens,
) -> Result<usize, ModelError> {
    let positions = shape.max_tokens();
    if let Some(limit) = sentences.max_tokens {
        let path = folder.join("sentence_bert_config.json");
        leaves_room(&path, "max_seq_length", limit, tokens)?;
        return Ok(limit.min(positions));
    }
    let limit = tokens.longest().unwrap_or(usize::MAX);
    let path = folder.join("tokenizer_config.json");
    leaves_room(&path, "model_max_length", limit, tokens)?;
    Ok(limit.min(positions))
}

/// The limits of queries and documents that `ir_dense.json` sets.
fn own_limits(
    folder: &Path,
    shape: &TransformerConfig,
    tokens: &Tokens,
) -> Result<[Option<usize>; 2], ModelError> {
    let Some(own) = Own::read(folder)? else {
        return Ok([None; 2]);
    };
    let path = folder.join(Own::FILE);
    let limits = [own.query.max_tokens, own.document.max_tokens];
    let fields = ["query.max_tokens", "document.max_tokens"];
    for (field, limit) in fields.into_iter().zip(limits) {
        let Some(limit) = limit else { continue };
        leaves_room(&path, field, limit, tokens)?;
        let most = shape.max_tokens();
        if limit > most {
            let expected = format!("at most {most}, the positions of the model");
            return Err(ModelError::setting(&path, field, expected, limit));
        }
    }
    Ok(limits)
}

/// That a text has room between the special tokens.
fn leaves_room(path: &Path, field: &str, limit: usize, tokens: &Tokens) -> Result<(), ModelError> {
    let least = tokens.least();
    if limit < least {
        let expected = format!("{least} or more: the special tokens and one more");
        return Err(ModelError::setting(path, field, expected, limit));
    }
    Ok(())
}
