//! Tower: tokenizer, transformer and pooling of one model.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use burn::tensor::Tensor;
use ir_core::{EncodeError, Side, VectorSimilarity};

use super::model_class::ModelClass;
use super::module_config::SENTENCE_EMBEDDING;
use super::modules::VectorModules;
use super::pooling::normalize;
use super::sentence_transformers::{LengthLimits, SentenceTransformersConfig};
use super::static_embeddings::StaticEmbeddings;
use super::tokenizer::TokenizedText;
use super::{EncoderConfig, ModelTokenizer, PoolingModes, SideConfig};
use crate::error::ModelError;
use crate::model_folder::{TransformerConfig, base_folder};
use crate::transformer::{self, ModelWeights, TokenBatch, Transformer};

/// Encoder of one side: tokenizer, transformer and pooling of a model folder.
#[derive(Debug, Clone)]
pub struct Tower {
    pub(crate) folder: PathBuf,
    /// Folder of `config.json`, weights and tokenizer.
    pub(crate) transformer_folder: PathBuf,
    pub(crate) weights: ModelWeights,
    /// Tokenizer of the model's vocabulary.
    pub tokenizer: ModelTokenizer,
    /// Pooling of token vectors.
    pub pooling: PoolingModes,
    /// If `false`, the tokens of the prompt are not pooled.
    pub include_prompt: bool,
    /// Modules after pooling, and truncation.
    pub(crate) modules: Arc<VectorModules>,
    /// If `true`, vectors are L2-normalized at the end.
    pub normalize: bool,
    /// Maximum sequence length in tokens, with special tokens, unless a side sets its own.
    pub max_tokens: usize,
    /// Similarity function according to the folder: the one that it names, or else the cosine in a
    /// folder of sentence-transformers with vectors that are not normalized. `None` in other
    /// folders, and if [`EncoderConfig::normalize`] overrides the folder.
    pub similarity: Option<VectorSimilarity>,
    /// Maximum sequence lengths of queries and of documents in `ir_dense.json`.
    side_limits: [Option<usize>; 2],
    /// Prompts of queries and of documents.
    prompts: [String; 2],
    /// Defaults of what the folder does not say, and values of it without effect.
    pub(crate) notes: Vec<String>,
}

impl Tower {
    /// Opens a folder in the Hugging Face layout. The weights are read by [`Tower::transformer`]
    /// and [`BiEncoder::new`](super::BiEncoder::new).
    ///
    /// # Errors
    /// Returns [`ModelError`] if a file is missing, unreadable or invalid, the model is not
    /// supported, or its backend is not available.
    pub fn open(folder: impl AsRef<Path>, config: &EncoderConfig) -> Result<Self, ModelError> {
        Self::open_side(folder.as_ref(), config, None)
    }

    /// Opens a folder for one side: with a Router, its modules; or for both sides.
    pub(super) fn open_side(
        folder: &Path,
        config: &EncoderConfig,
        side: Option<Side>,
    ) -> Result<Self, ModelError> {
        let files = SentenceTransformersConfig::read(folder, side)?;
        let entries = files.modules.clone();
        let truncate_dim = config.truncate_dim.or(files.truncate_dim);
        let (side_tokens, is_static) = (files.side_tokens, files.is_static);
        let tower = Self::from_files(folder, config, files, |width| {
            let output = SENTENCE_EMBEDDING;
            let first = if is_static { 1 } else { 2 };
            let modules =
                VectorModules::read_from(first, folder, &entries, width, truncate_dim, output)?;
            match config.truncate_dim {
                Some(found) if !(1..=modules.full_dim()).contains(&found) => {
                    let expected =
                        format!("1 to {}, the dimension of the model", modules.full_dim());
                    Err(ModelError::setting(folder, "truncate_dim", expected, found))
                }
                _ => Ok(modules),
            }
        })?;
        let path = tower.transformer_folder.join("sentence_bert_config.json");
        for (tokens, field) in side_tokens
            .into_iter()
            .zip(["query_length", "document_length"])
        {
            if let Some(tokens) = tokens {
                check_room(&path, field, tokens, &tower.tokenizer)?;
            }
        }
        Ok(tower)
    }

    /// Opens a folder with the values of its files; `modules` reads the modules for an input of
    /// some dimensions.
    pub(crate) fn from_files(
        folder: &Path,
        config: &EncoderConfig,
        mut files: SentenceTransformersConfig,
        modules: impl FnOnce(usize) -> Result<VectorModules, ModelError>,
    ) -> Result<Self, ModelError> {
        let device = transformer::checked_device(config.backend, config.precision)?;
        let embeddings = files
            .is_static
            .then(|| StaticEmbeddings::open(&files.transformer));
        let embeddings = embeddings.transpose()?;
        let shape = match &embeddings {
            Some(embeddings) => embeddings.config(),
            None => TransformerConfig::read(&files.transformer)?,
        };
        let mut notes = std::mem::take(&mut files.notes);
        if !files.has_modules {
            ModelClass::read(&files.transformer)?.check_encoder()?;
            if config.pooling.is_none() {
                notes.push(format!(
                    "no modules.json: {} pooling by default",
                    files.pooling
                ));
            }
        }
        let mut tokenizer = ModelTokenizer::open_with(&files.transformer, files.texts)?;
        if let Some(embeddings) = &embeddings {
            tokenizer = embeddings.tokenizer(tokenizer);
        }
        notes.extend(tokenizer.check_vocabulary(shape.vocab_size)?);
        let folder_limit = (files.transformer.as_path(), files.max_tokens);
        let max_tokens = match &embeddings {
            Some(embeddings) => embeddings.max_tokens(),
            None => max_tokens(&shape, folder_limit, &tokenizer, &mut notes)?,
        };
        let mut side_limits = side_limits(folder, &shape, &tokenizer)?;
        for (limit, file) in side_limits.iter_mut().zip(files.side_tokens) {
            *limit = limit.or(file.map(|tokens| tokens.min(shape.position_limit())));
        }
        let pooling = config.pooling.map_or(files.pooling, PoolingModes::from);
        let width = shape.hidden_size * pooling.modes().len();
        let mut modules = modules(width)?;
        // Normalization before truncation does not give normalized vectors.
        let is_last = modules.truncate_dim().is_none() || config.normalize == Some(false);
        let normalizes = is_last && modules.remove_last_normalize();
        let of_model2vec = embeddings.as_ref().and_then(StaticEmbeddings::normalizes);
        let normalizes = of_model2vec.unwrap_or(normalizes);
        let normalize = config.normalize.unwrap_or(normalizes);
        let defaults_to_cosine =
            files.is_sentence_transformers && config.normalize.is_none() && !normalize;
        let similarity = files.similarity;
        let similarity = similarity.or(defaults_to_cosine.then_some(VectorSimilarity::Cosine));
        let weights = match embeddings {
            Some(embeddings) => embeddings.into_weights(),
            None => ModelWeights::open(&files.transformer, shape, device)?.0,
        };
        if let ModelWeights::File { file, .. } = &weights
            && let Some(adapter) = file.adapter_path()
        {
            let (adapter, base) = (adapter.display(), file.path().display());
            notes.push(match &weights.config().layer.adapter {
                None => format!("the LoRA adapter {adapter} is merged into {base}"),
                Some(own) => format!(
                    "the adapter {} of {adapter} follows the feed-forward networks of {base}",
                    own.name
                ),
            });
        }
        Ok(Self {
            folder: folder.into(),
            weights,
            pooling,
            include_prompt: files.include_prompt,
            modules: Arc::new(modules),
            normalize,
            max_tokens,
            side_limits,
            similarity,
            transformer_folder: files.transformer,
            prompts: files.prompts,
            tokenizer,
            notes,
        })
    }

    /// Returns the tower with other weights.
    pub(crate) fn with_model(&self, model: Transformer) -> Self {
        Self {
            weights: ModelWeights::Module(Box::new(model)),
            ..self.clone()
        }
    }

    /// Returns `true` if the weights of both towers are the same.
    pub(super) fn has_weights_of(&self, other: &Self) -> bool {
        let from_file = |tower: &Self| !matches!(tower.weights, ModelWeights::Module(_));
        std::ptr::eq(self, other)
            || (from_file(self)
                && from_file(other)
                && self.transformer_folder == other.transformer_folder)
    }

    /// Defaults of what the folder does not say, and values of it without effect: one sentence
    /// each.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Checks maximum length and prompt of a side.
    pub(crate) fn check_side(&self, side: Side, config: &SideConfig) -> Result<(), ModelError> {
        let limit = self.limit(side, config);
        let positions = self.config().position_limit();
        if let Some(found) = config.max_tokens.filter(|_| limit > positions) {
            let path = base_folder(&self.transformer_folder)?.join("config.json");
            let expected = format!("at most {positions}, the positions of the model");
            return Err(ModelError::setting(&path, "max_tokens", expected, found));
        }
        // Reports a limit that is too low now, not at the first text.
        self.tokenizer.encode("a", limit)?;
        self.unpooled_tokens(side, config).map(|_| ())
    }

    /// Configuration of the transformer.
    pub fn config(&self) -> &TransformerConfig {
        self.weights.config()
    }

    /// Dimension of the vectors.
    pub fn dim(&self) -> usize {
        self.modules.dim()
    }

    /// Returns the transformer. Reads its weights from the folder, since an encoder on the CPU
    /// keeps only packed weights in memory; shares the weights of a trained model.
    ///
    /// # Errors
    /// If the weights cannot be read.
    pub fn transformer(&self) -> Result<Transformer, ModelError> {
        let transformer = self.weights.transformer()?;
        self.weights.check_unread()?;
        Ok(transformer)
    }

    /// Returns the prompt of a side according to the folder.
    pub fn prompt(&self, side: Side) -> &str {
        &self.prompts[side as usize]
    }

    /// Returns the maximum sequence length of a side according to the folder.
    pub fn max_tokens_of(&self, side: Side) -> usize {
        self.side_limits[side as usize].unwrap_or(self.max_tokens)
    }

    /// Returns one vector per text, given the hidden states of [`Transformer::forward`]: pools
    /// them, applies the modules after pooling, truncates and normalizes, if configured.
    /// Differentiable on a device with automatic differentiation.
    ///
    /// # Shapes
    /// `states`: `[tokens, hidden_size]`; result: `[texts, dim]`.
    pub fn pool(&self, states: Tensor<2>, batch: &TokenBatch) -> Tensor<2> {
        self.pool_after(0, states, batch)
    }

    /// [`Tower::pool`] without the first `skip` tokens of every text.
    pub(super) fn pool_after(
        &self,
        skip: usize,
        states: Tensor<2>,
        batch: &TokenBatch,
    ) -> Tensor<2> {
        self.vectors(self.pooling.pool_after(skip, states, batch))
    }

    /// Returns the number of tokens at the start of every text of a side that are not pooled: the
    /// tokens of its prompt, if the folder says so.
    ///
    /// # Errors
    /// If the prompt leaves no token to pool.
    pub(super) fn unpooled_tokens(
        &self,
        side: Side,
        config: &SideConfig,
    ) -> Result<usize, ModelError> {
        let prefix = self.prefix(side, config);
        if self.include_prompt || prefix.is_empty() {
            return Ok(0);
        }
        let (tokens, limit) = (
            self.tokenizer.prompt_tokens(prefix)?,
            self.limit(side, config),
        );
        if tokens >= limit {
            let path = self.folder.join("1_Pooling/config.json");
            let expected = format!("true: the prompt has {tokens} tokens of at most {limit}");
            return Err(ModelError::setting(
                &path,
                "include_prompt",
                expected,
                false,
            ));
        }
        Ok(tokens)
    }

    /// Returns the vectors of pooled hidden states.
    pub(crate) fn vectors(&self, pooled: Tensor<2>) -> Tensor<2> {
        let vectors = self.modules.apply(pooled);
        if self.normalize {
            normalize(vectors)
        } else {
            vectors
        }
    }

    /// Returns `true` if vectors are pooled hidden states.
    pub(crate) fn only_pools(&self) -> bool {
        self.modules.is_identity() && !self.normalize
    }

    /// Returns the token ids of a text for training.
    ///
    /// # Errors
    /// If tokenization fails, or the tokens of a prompt are not pooled.
    pub(crate) fn tokenize(
        &self,
        side: Side,
        config: &SideConfig,
        text: &str,
    ) -> Result<TokenizedText, EncodeError> {
        if !self.include_prompt && !self.prefix(side, config).is_empty() {
            let path = self.folder.join("1_Pooling/config.json");
            let expected = "true: training pools the tokens of a prompt";
            let error = ModelError::setting(&path, "include_prompt", expected, false);
            return Err(self.encode_error(error));
        }
        let mut ids = Vec::new();
        let truncated = self.tokenize_into(side, config, text, &mut String::new(), &mut ids)?;
        Ok(TokenizedText { ids, truncated })
    }

    /// Replaces `ids` by the token ids of a text with prefix and special tokens, truncated to the
    /// maximum length of its side. Returns whether the text is truncated. `prefixed` is a buffer.
    pub(super) fn tokenize_into(
        &self,
        side: Side,
        config: &SideConfig,
        text: &str,
        prefixed: &mut String,
        ids: &mut Vec<u32>,
    ) -> Result<bool, EncodeError> {
        let (prefix, limit) = (self.prefix(side, config), self.limit(side, config));
        let text = match prefix {
            "" => text,
            _ => {
                prefixed.clear();
                prefixed.push_str(prefix);
                prefixed.push_str(text);
                prefixed
            }
        };
        let truncated = self.tokenizer.tokenize_into(text, limit, ids);
        truncated.map_err(|source| self.encode_error(source))
    }

    /// Prefix of a side: `config.prefix`, or else the folder's prompt.
    pub(crate) fn prefix<'a>(&'a self, side: Side, config: &'a SideConfig) -> &'a str {
        config.prefix.as_deref().unwrap_or(self.prompt(side))
    }

    /// Maximum sequence length of a side: `config.max_tokens`, or else the folder's.
    pub(crate) fn limit(&self, side: Side, config: &SideConfig) -> usize {
        config.max_tokens.unwrap_or(self.max_tokens_of(side))
    }

    pub(crate) fn encode_error(
        &self,
        source: impl std::error::Error + Send + Sync + 'static,
    ) -> EncodeError {
        EncodeError::Model {
            model: self.folder.display().to_string(),
            source: Box::new(source),
        }
    }
}

/// Maximum sequence length, as in sentence-transformers: `max_seq_length` of its configuration
/// file, or else the minimum of the tokenizer's maximum length and the number of positions.
pub(crate) fn max_tokens(
    shape: &TransformerConfig,
    (transformer, max_seq_length): (&Path, Option<usize>),
    tokenizer: &ModelTokenizer,
    notes: &mut Vec<String>,
) -> Result<usize, ModelError> {
    let (file, field, limit) = match max_seq_length {
        Some(limit) => ("sentence_bert_config.json", "max_seq_length", limit),
        None => {
            let limit = tokenizer.model_max_length.unwrap_or(usize::MAX);
            ("tokenizer_config.json", "model_max_length", limit)
        }
    };
    check_room(&transformer.join(file), field, limit, tokenizer)?;
    if max_seq_length.is_none() {
        return Ok(limit.min(shape.max_tokens()));
    }
    let positions = shape.position_limit();
    if limit > positions {
        notes.push(format!(
            "{field} is {limit}: texts are truncated at {positions} tokens, the positions of the model"
        ));
    }
    Ok(limit.min(positions))
}

/// Maximum sequence lengths of queries and documents in `ir_dense.json`.
fn side_limits(
    folder: &Path,
    shape: &TransformerConfig,
    tokenizer: &ModelTokenizer,
) -> Result<[Option<usize>; 2], ModelError> {
    let Some(file) = LengthLimits::read(folder)? else {
        return Ok([None; 2]);
    };
    let path = folder.join(LengthLimits::FILE_NAME);
    let limits = [file.query.max_tokens, file.document.max_tokens];
    let fields = ["query.max_tokens", "document.max_tokens"];
    for (field, limit) in fields.into_iter().zip(limits) {
        let Some(limit) = limit else { continue };
        check_room(&path, field, limit, tokenizer)?;
        let positions = shape.position_limit();
        if limit > positions {
            let expected = format!("at most {positions}, the positions of the model");
            return Err(ModelError::setting(&path, field, expected, limit));
        }
    }
    Ok(limits)
}

/// Checks that a maximum length leaves room for a token besides the special tokens.
fn check_room(
    path: &Path,
    field: &str,
    limit: usize,
    tokenizer: &ModelTokenizer,
) -> Result<(), ModelError> {
    let min = tokenizer.min_tokens();
    if limit < min {
        let expected = format!("{min} or more: the special tokens and one more");
        return Err(ModelError::setting(path, field, expected, limit));
    }
    Ok(())
}
