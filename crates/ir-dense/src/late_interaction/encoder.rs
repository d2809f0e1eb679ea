//! Multi-vector encoder: batched encoding of queries and documents to vectors of tokens.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ir_core::{EncodeError, Side, TokenEncoder, TokenVectors};
use rayon::prelude::*;

use super::folder::LateInteractionFolder;
use super::tokens::{TextTokens, TokenRules};
use super::{MultiVectorConfig, TokenSimilarity};
use crate::backend::Backend;
use crate::encode::late_interaction_format::LateInteractionFormat;
use crate::encode::{SequenceBatches, Tower, normalize_row};
use crate::error::ModelError;
use crate::kernels::team::CALLS;
use crate::transformer::InferenceModel;
use crate::transformer::batch::TokenSequence;

/// Number of texts that are tokenized and encoded at once.
const CHUNK: usize = 1 << 10;

/// Multi-vector encoder, as in ColBERT: encodes queries and documents to one vector per token.
///
/// The score of a document is the sum over the query's tokens of the maximum dot product with a
/// token of the document ([`TokenSimilarity`]). Queries may be expanded by mask tokens, which have
/// vectors, too; tokens of a skip list, such as punctuation, have none in documents.
///
/// On the default backend, the bytes of the vectors depend on their text alone: not on other texts,
/// their order, the batch size or the number of threads. On other backends the last bits may
/// differ.
///
/// ```no_run
/// use ir_core::{Side, TokenEncoder};
/// use ir_dense::MultiVectorEncoder;
///
/// let encoder = MultiVectorEncoder::open("colbertv2.0")?;
/// let query = encoder.encode_queries(&["green tea"])?;
/// let documents = encoder.encode_documents(&["a ship at sea", "tea from green leaves"])?;
/// for document in &documents {
///     println!("{:.3}", encoder.similarity().score(&query[0], document));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Source
/// Khattab and Zaharia, "ColBERT: Efficient and Effective Passage Search via Contextualized Late
/// Interaction over BERT", SIGIR 2020.
#[derive(Debug, Clone)]
pub struct MultiVectorEncoder {
    folder: Arc<LateInteractionFolder>,
    model: Arc<InferenceModel>,
    config: MultiVectorConfig,
    rules: Arc<TokenRules>,
    /// Numbers of truncated queries and documents; shared with clones.
    truncated: [Arc<AtomicU64>; 2],
}

impl MultiVectorEncoder {
    /// Opens a folder of sentence-transformers' MultiVectorEncoder, of PyLate, or of Stanford's
    /// ColBERT.
    ///
    /// # Errors
    /// Returns [`ModelError`] if a file is missing, unreadable or invalid, the model is not
    /// supported, or it is not a late-interaction model.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, ModelError> {
        Self::open_with(folder, &MultiVectorConfig::default())
    }

    /// Opens a folder with a configuration that overrides values of the folder.
    ///
    /// # Errors
    /// Returns [`ModelError`] if a file is missing, unreadable or invalid, the model is not
    /// supported or not a late-interaction model, a maximum length leaves no room for a token or
    /// exceeds the positions of the model, or backend or model lack the precision.
    pub fn open_with(
        folder: impl AsRef<Path>,
        config: &MultiVectorConfig,
    ) -> Result<Self, ModelError> {
        let folder = LateInteractionFolder::open(folder.as_ref(), config)?;
        Self::from_folder(folder, config)
    }

    /// Reads the weights for inference.
    pub(crate) fn from_folder(
        folder: LateInteractionFolder,
        config: &MultiVectorConfig,
    ) -> Result<Self, ModelError> {
        let (rules, tower) = (rules(&folder, config)?, &folder.tower);
        let model = tower.weights.inference(config.precision, &tower.folder)?;
        Ok(Self {
            folder: Arc::new(folder),
            model,
            config: config.clone(),
            rules: Arc::new(rules),
            truncated: Default::default(),
        })
    }

    /// Returns `true` if a folder contains a late-interaction model, in a layout that
    /// [`MultiVectorEncoder::open`] reads.
    ///
    /// ```
    /// use ir_dense::MultiVectorEncoder;
    /// let folder = tempfile::tempdir()?;
    /// std::fs::write(folder.path().join("modules.json"), "[]")?;
    /// let config = folder.path().join("config_sentence_transformers.json");
    /// std::fs::write(&config, r#"{"model_type": "MultiVectorEncoder"}"#)?;
    /// assert!(MultiVectorEncoder::is_model_folder(folder.path())?);
    /// std::fs::write(&config, r#"{"model_type": "CrossEncoder"}"#)?;
    /// assert!(!MultiVectorEncoder::is_model_folder(folder.path())?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`ModelError`] if a configuration file is unreadable or invalid.
    pub fn is_model_folder(folder: impl AsRef<Path>) -> Result<bool, ModelError> {
        Ok(LateInteractionFormat::read(folder.as_ref())?.is_some())
    }

    /// Similarity function of the folder.
    #[must_use]
    pub fn similarity(&self) -> TokenSimilarity {
        self.folder.similarity
    }

    /// Configuration of the encoder.
    #[must_use]
    pub const fn config(&self) -> &MultiVectorConfig {
        &self.config
    }

    /// Tokenizer, transformer and projections.
    pub(crate) fn tower(&self) -> &Tower {
        &self.folder.tower
    }

    pub(super) fn folder(&self) -> &LateInteractionFolder {
        &self.folder
    }

    pub(super) fn inference_model(&self) -> &InferenceModel {
        &self.model
    }

    pub(crate) fn rules(&self) -> &TokenRules {
        &self.rules
    }

    /// Returns the prefix of every text of a side.
    #[must_use]
    pub fn prefix(&self, side: Side) -> &str {
        self.tower().prefix(side, self.config.side(side))
    }

    /// Returns the maximum number of tokens of a text of a side, with prefix and special tokens.
    /// Query expansion may add tokens to shorter queries.
    #[must_use]
    pub fn max_tokens(&self, side: Side) -> usize {
        self.rules.limits[side as usize]
    }

    /// Returns the number of tokens to which shorter queries are expanded; `None` without query
    /// expansion.
    #[must_use]
    pub fn expanded_length(&self) -> Option<usize> {
        self.rules.expansion.map(|expansion| expansion.length)
    }

    /// Returns the token ids of a text with prefix, special tokens and expansion. Some may have no
    /// vector.
    ///
    /// # Errors
    /// If tokenization fails.
    pub fn token_ids(&self, side: Side, text: &str) -> Result<Vec<u32>, EncodeError> {
        Ok(self.tokenize(side, text)?.ids)
    }

    /// Returns `true` if a text has more tokens than [`Self::max_tokens`] of its side, so that only
    /// its beginning is encoded.
    ///
    /// # Errors
    /// If tokenization fails.
    pub fn is_truncated(&self, side: Side, text: &str) -> Result<bool, EncodeError> {
        Ok(self.tokenize(side, text)?.truncated)
    }

    /// Returns the number of texts of a side that were truncated, among all that this encoder and
    /// its clones have encoded.
    #[must_use]
    pub fn truncated_texts(&self, side: Side) -> u64 {
        self.truncated[side as usize].load(Ordering::Relaxed)
    }

    /// Encodes queries.
    ///
    /// # Errors
    /// If a text cannot be encoded.
    pub fn encode_queries(&self, texts: &[&str]) -> Result<Vec<TokenVectors>, EncodeError> {
        self.encode_tokens(Side::Query, texts)
    }

    /// Encodes documents.
    ///
    /// # Errors
    /// If a text cannot be encoded.
    pub fn encode_documents(&self, texts: &[&str]) -> Result<Vec<TokenVectors>, EncodeError> {
        self.encode_tokens(Side::Document, texts)
    }

    pub(crate) fn tokenize(&self, side: Side, text: &str) -> Result<TextTokens, EncodeError> {
        let config = self.config.side(side);
        self.rules.tokenize(self.tower(), config, side, text)
    }

    fn encode_chunk(&self, side: Side, texts: &[&str]) -> Result<Vec<TokenVectors>, EncodeError> {
        let texts: Vec<TextTokens> = match texts {
            [text] => vec![self.tokenize(side, text)?],
            _ => {
                let texts = texts.par_iter().map(|text| self.tokenize(side, text));
                texts.collect::<Result<_, _>>()?
            }
        };
        let truncated = texts.iter().filter(|text| text.truncated).count();
        self.truncated[side as usize].fetch_add(truncated as u64, Ordering::Relaxed);
        let sequences = texts.iter().map(|text| (&text.ids[..], &[] as &[u32]));
        let sequences: Vec<TokenSequence<'_>> = sequences.collect();
        let attended: Vec<usize> = texts.iter().map(|text| text.attended).collect();
        let batches = SequenceBatches {
            model: &self.model,
            sequences: &sequences,
            attended: &attended,
            config: &self.config.encoder(),
            padding: self.tower().tokenizer.padding(),
            uses_team: true,
        };
        let vectors = batches.map(|text, states| self.vectors(&texts[text].kept, states));
        let mut values = vectors.iter().flatten();
        if let Some(&value) = values.find(|value| !value.is_finite()) {
            return Err(self.tower().encode_error(ModelError::Overflow { value }));
        }
        let texts = texts.into_iter().zip(vectors);
        let vectors = texts.map(|(text, values)| TokenVectors::new(self.dim(), values, text.spans));
        Ok(vectors.collect())
    }

    /// Vectors of the `kept` tokens of a text by the hidden states of all tokens, row-major.
    fn vectors(&self, kept: &[usize], states: &[f32]) -> Vec<f32> {
        let modules = &self.tower().modules;
        let (width, dim) = (modules.input_dim(), self.dim());
        let rows = kept.iter().map(|token| &states[token * width..][..width]);
        let mut vectors: Vec<f32> = rows.flatten().copied().collect();
        if !modules.is_identity() {
            let mut out = vec![0.0; kept.len() * dim];
            modules.apply_rows(&vectors, &mut out);
            vectors = out;
        }
        if self.tower().normalize {
            vectors.chunks_exact_mut(dim.max(1)).for_each(normalize_row);
        }
        vectors
    }
}

impl TokenEncoder for MultiVectorEncoder {
    fn dim(&self) -> usize {
        self.tower().dim()
    }

    fn encode_tokens(&self, side: Side, texts: &[&str]) -> Result<Vec<TokenVectors>, EncodeError> {
        let _call = CALLS.start();
        let mut vectors = Vec::with_capacity(texts.len());
        for texts in texts.chunks(CHUNK) {
            vectors.extend(self.encode_chunk(side, texts)?);
        }
        Ok(vectors)
    }

    fn fingerprint(&self) -> Option<String> {
        serde_json::to_string(&self.document_fingerprint()).ok()
    }
}

/// Checks lengths, and finds the tokens of expansion and mask.
pub(crate) fn rules(
    folder: &LateInteractionFolder,
    config: &MultiVectorConfig,
) -> Result<TokenRules, ModelError> {
    let tower = &folder.tower;
    let limit = config.query.max_tokens;
    let expansion = folder.expansion.as_ref();
    let is_fixed = expansion.is_some_and(|expansion| expansion.is_fixed);
    let expansion = expansion.map(|it| it.resolve(tower, limit)).transpose()?;
    let mask = folder.mask.as_ref();
    let mask = mask.map(|mask| mask.resolve(&folder.mask_path, &tower.tokenizer));
    let mut limits = [Side::Query, Side::Document].map(|side| tower.limit(side, config.side(side)));
    if let Some(expansion) = expansion.filter(|_| is_fixed) {
        limits[0] = expansion.length;
    }
    let positions = tower.config().position_limit();
    for (side, limit) in [Side::Query, Side::Document].into_iter().zip(limits) {
        let least = tower
            .tokenizer
            .min_tokens_with(tower.prefix(side, config.side(side)))?;
        let field = ["maximum length of queries", "maximum length of documents"][side as usize];
        let expected = if limit < least {
            format!("{least} or more: the special tokens, the prompt and one more")
        } else if limit > positions {
            format!("at most {positions}, the positions of the model")
        } else {
            continue;
        };
        return Err(ModelError::setting(&tower.folder, field, expected, limit));
    }
    if let Some(expansion) = expansion
        && config.backend != Backend::Cpu
        && !expansion.attend
        && tower
            .config()
            .layer
            .window
            .is_some_and(|it| it < expansion.length)
    {
        let expected = format!(
            "cpu: tokens of the expansion attend to no token if it is outside the window of the \
             layers, of {} tokens",
            tower.config().layer.window.unwrap_or_default()
        );
        let found = config.backend;
        return Err(ModelError::setting(
            &tower.folder,
            "backend",
            expected,
            found,
        ));
    }
    Ok(TokenRules {
        expansion,
        keeps_expansion: mask.is_some() || expansion.is_some_and(|it| it.attend),
        mask: mask.transpose()?.unwrap_or_default(),
        limits,
    })
}
