//! Cross-encoder: scores pairs of a query and a document with a transformer that reads both.
//!
//! - `folder`: files of a model
//! - `chat`: chat templates
//! - `pairs`: token ids of pairs, in windows of long documents
//! - `head`: classification head
//! - `scoring`: heads of all kinds
//! - `scores`: batches, and scores of documents
//! - `explain`: explanations of scores
//! - `fingerprint`: what determines scores
//! - `description`: how a folder is understood
//! - `save`: model folders

mod chat;
mod config;
mod description;
mod explain;
mod fingerprint;
mod folder;
pub(crate) mod head;
pub(crate) mod pairs;
mod save;
mod scores;
pub(crate) mod scoring;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub use config::{CrossEncoderConfig, Windows};
pub use description::{CrossEncoderDescription, describe_cross_encoder};
pub use fingerprint::CrossEncoderFingerprint;
use folder::CrossEncoderFolder;
use pairs::PairBuilder;
use scoring::ScoringHead;

use crate::activation::Activation;
use crate::encode::ModelTokenizer;
use crate::encode::model_class::check_adapter;
use crate::encode::tokenizer_files::TextRules;
use crate::encode::tower::max_tokens;
use crate::error::ModelError;
use crate::model_folder::TransformerConfig;
use crate::reader::MissingHead;
use crate::transformer::{self, InferenceModel, ModelWeights};

/// Cross-encoder: scores pairs of a query and a document with a transformer that reads both as one
/// sequence, such as `BertForSequenceClassification`.
///
/// A [`Reranker`](ir_core::Reranker) if the model has one label. On the default backend, the bytes
/// of a score depend on the pair alone: not on other pairs, their order, the batch size or the
/// number of threads.
///
/// ```no_run
/// use ir_core::{Candidate, Reranker};
/// use ir_dense::CrossEncoder;
///
/// let model = CrossEncoder::open("ms-marco-MiniLM-L6-v2")?;
/// let candidates = [
///     Candidate::new("a", "The bridge was built in 1890."),
///     Candidate::new("b", "Tea is grown on hills."),
/// ];
/// let scores = model.scores("When was the bridge built?", &candidates)?;
/// assert!(scores[0] > scores[1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Source
/// Nogueira and Cho, "Passage Re-ranking with BERT", arXiv 1901.04085, 2019.
#[derive(Debug, Clone)]
pub struct CrossEncoder {
    pub(crate) folder: PathBuf,
    pub(crate) weights: ModelWeights,
    pub(crate) head: ScoringHead,
    pub(crate) tokenizer: ModelTokenizer,
    pub(crate) pairs: PairBuilder,
    activation: Activation,
    config: CrossEncoderConfig,
    /// `None` before [`CrossEncoder::prepared`].
    inference: Option<Arc<InferenceModel>>,
    /// Number of long documents; shared with clones.
    long_documents: Arc<AtomicU64>,
}

impl CrossEncoder {
    /// Opens a folder in the layout of transformers or of sentence-transformers' `CrossEncoder`.
    ///
    /// # Errors
    /// Returns [`ModelError`] if a file is missing, unreadable or invalid, or the model is not
    /// supported or not a cross-encoder.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, ModelError> {
        Self::open_with(folder, &CrossEncoderConfig::default())
    }

    /// Opens a folder with a configuration that overrides values of the folder.
    ///
    /// # Errors
    /// Returns [`ModelError`] if a file is missing, unreadable or invalid, the model is not
    /// supported or not a cross-encoder, backend or model lack the precision, or the lengths of the
    /// configuration leave no room for query and document.
    pub fn open_with(
        folder: impl AsRef<Path>,
        config: &CrossEncoderConfig,
    ) -> Result<Self, ModelError> {
        Self::load(folder.as_ref(), config, MissingHead::Error)?.prepared()
    }

    /// Opens an encoder, such as BERT or MiniLM, and adds a head of one label: a model to train.
    /// The head has random weights, a function of `seed`, except for layers that the folder
    /// contains, such as BERT's pooler.
    ///
    /// ```
    /// use ir_dense::{CrossEncoder, CrossEncoderConfig, RandomModel};
    /// let here = tempfile::tempdir()?;
    /// let folder = here.path().join("encoder");
    /// RandomModel::default().with_shape(32, 1, 2).create(&folder, &["green tea", "a ship"])?;
    /// let model = CrossEncoder::with_random_head(&folder, &CrossEncoderConfig::default(), 7)?;
    /// assert_eq!(model.labels(), 1);
    /// model.save(here.path().join("cross-encoder"))?; // for sentence-transformers, too
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`ModelError`] if a file is missing, unreadable or invalid, the model is not
    /// supported or its architecture has no classification head, or the configuration is invalid.
    pub fn with_random_head(
        folder: impl AsRef<Path>,
        config: &CrossEncoderConfig,
        seed: u64,
    ) -> Result<Self, ModelError> {
        Self::load(folder.as_ref(), config, MissingHead::Random(seed))?.prepared()
    }

    /// Opens a folder without reading the weights of the transformer. A random head has one label.
    pub(crate) fn load(
        root: &Path,
        config: &CrossEncoderConfig,
        missing: MissingHead,
    ) -> Result<Self, ModelError> {
        let device = transformer::checked_device(config.backend, config.precision)?;
        let files = CrossEncoderFolder::read(root, missing == MissingHead::Error)?;
        let folder = &files.transformer;
        check_adapter(folder)?;
        let shape = TransformerConfig::read(folder)?;
        let texts = TextRules {
            lowercase: files.lowercase,
            is_unchanged: true,
        };
        let tokenizer = ModelTokenizer::open_with(folder, texts)?;
        tokenizer.check_vocabulary(shape.vocab_size)?;
        let limit = (folder.as_path(), files.max_tokens);
        let limit = max_tokens(&shape, limit, &tokenizer, &mut Vec::new())?;
        let pairs = PairBuilder::new((folder, &files), &shape, &tokenizer, limit, config)?;
        let (weights, file) = ModelWeights::open(folder, shape, device)?;
        let shape = weights.config();
        let head = ScoringHead::load(root, &files, shape, &file, &tokenizer, missing)?;
        let default = match head.labels() {
            1 => Activation::Sigmoid,
            _ => Activation::Identity,
        };
        let activation = config.activation.or(files.activation).unwrap_or(default);
        Ok(Self {
            folder: folder.clone(),
            weights,
            head,
            tokenizer,
            pairs,
            activation,
            config: config.clone(),
            inference: None,
            long_documents: Arc::default(),
        })
    }

    /// Reads the weights for inference.
    pub(crate) fn prepared(mut self) -> Result<Self, ModelError> {
        let model = self
            .weights
            .inference(self.config.precision, &self.folder)?;
        self.inference = Some(model);
        Ok(self)
    }

    /// Configuration of the cross-encoder.
    pub fn config(&self) -> &CrossEncoderConfig {
        &self.config
    }

    /// Number of labels. A [`Reranker`](ir_core::Reranker) has one.
    pub fn labels(&self) -> usize {
        self.head.labels()
    }

    /// Activation function of the scores.
    pub fn activation(&self) -> Activation {
        self.activation
    }

    /// Returns the model with another activation function of the scores, on the same weights:
    /// logits with [`Activation::Identity`].
    ///
    /// ```no_run
    /// use ir_dense::{CrossEncoder, Activation};
    /// let model = CrossEncoder::open("ms-marco-MiniLM-L6-v2")?;
    /// let teacher = model.clone().with_activation(Activation::Identity);
    /// # Ok::<(), ir_dense::ModelError>(())
    /// ```
    #[must_use]
    pub fn with_activation(mut self, activation: Activation) -> Self {
        self.activation = activation;
        self
    }

    /// Prompt, which precedes every query; empty for none.
    pub fn prompt(&self) -> &str {
        &self.pairs.prompt
    }

    /// Maximum sequence length in tokens: query, document and special tokens.
    pub fn max_tokens(&self) -> usize {
        self.pairs.max_tokens
    }

    /// Returns the number of documents that did not fit beside their query, so that they were
    /// truncated or split into windows, among all that this model and its clones have scored.
    pub fn long_documents(&self) -> u64 {
        self.long_documents.load(Ordering::Relaxed)
    }
}
