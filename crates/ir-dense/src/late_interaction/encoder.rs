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
use crate::encode::{Tower, batches, missing_precision, normalize_row};
use crate::error::ModelError;
use crate::kernels::memory;
use crate::kernels::team::{CALLS, ParallelRegion, ThreadTeam};
use crate::precision::Precision;
use crate::transformer::{BLOCK_ROWS, InferenceModel, TokenBatch};

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
        let model = tower.weights.inference(config.precision)?;
        tower.check_unread()?;
        let model = model.ok_or_else(|| missing_precision(tower, config.precision))?;
        Ok(Self {
            folder: Arc::new(folder),
            model: Arc::new(model),
            config: config.clone(),
            rules: Arc::new(rules),
            truncated: Default::default(),
        })
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
        let is_padded = matches!(*self.model, InferenceModel::Module(_));
        let ids: Vec<&[u32]> = texts.iter().map(|text| &text.ids[..]).collect();
        let mut batches = batches(&ids, &self.config.encoder(), is_padded);
        // Without special tokens, an empty text has no tokens.
        batches
            .iter_mut()
            .for_each(|batch| batch.retain(|&text| !ids[text].is_empty()));
        batches.retain(|batch| !batch.is_empty());
        let run = |batch: &Vec<usize>| {
            let batch: Vec<&TextTokens> = batch.iter().map(|&text| &texts[text]).collect();
            self.encode_batch(&batch)
        };
        // Other backends parallelize within a batch.
        let found: Vec<Vec<Vec<f32>>> = if is_padded || batches.len() == 1 {
            batches.iter().map(run).collect::<Result<_, _>>()?
        } else {
            batches.par_iter().map(run).collect::<Result<_, _>>()?
        };
        let mut vectors = vec![Vec::new(); texts.len()];
        for (text, values) in batches.iter().flatten().zip(found.into_iter().flatten()) {
            vectors[*text] = values;
        }
        let texts = texts.into_iter().zip(vectors);
        let vectors = texts.map(|(text, values)| TokenVectors::new(self.dim(), values, text.spans));
        Ok(vectors.collect())
    }

    /// Returns the vectors of every text of a batch, row-major.
    fn encode_batch(&self, texts: &[&TextTokens]) -> Result<Vec<Vec<f32>>, EncodeError> {
        let ids: Vec<&[u32]> = texts.iter().map(|text| &text.ids[..]).collect();
        let attended = texts.iter().map(|text| text.attended).collect();
        let vectors = match &*self.model {
            InferenceModel::Cpu(model) => {
                let batch = TokenBatch::new(&ids).with_attended(attended);
                let mut region = self.region(&batch);
                model.forward(&batch, &mut region, |states| {
                    self.vectors(texts, states, None)
                })
            }
            InferenceModel::Module(model) => {
                let padding = self.tower().tokenizer.padding();
                let batch = TokenBatch::padded(&ids, padding).with_attended(attended);
                let length = ids.iter().map(|ids| ids.len()).max();
                let states = memory::data(model.forward(&batch));
                self.vectors(texts, memory::values(&states), length)
            }
        };
        let values = vectors.iter().flatten();
        match values.into_iter().find(|value| !value.is_finite()) {
            Some(&value) => Err(self.tower().encode_error(ModelError::Overflow { value })),
            None => Ok(vectors),
        }
    }

    /// Threads of a batch: the team of the process for a short text, outside the threads of rayon.
    /// In int8, one thread is faster.
    fn region(&self, batch: &TokenBatch) -> ParallelRegion<'static> {
        let is_short = batch.texts() == 1 && batch.ids().len() <= BLOCK_ROWS;
        match rayon::current_thread_index() {
            None if is_short && self.config.precision != Precision::Int8 => {
                ThreadTeam::global().region()
            }
            _ => ParallelRegion::sequential(),
        }
    }

    /// Vectors of every text of a batch by the hidden states of its tokens; `padded` is the length
    /// of padded texts.
    fn vectors(
        &self,
        texts: &[&TextTokens],
        states: &[f32],
        padded: Option<usize>,
    ) -> Vec<Vec<f32>> {
        let modules = &self.tower().modules;
        let (width, dim) = (modules.input_dim(), self.dim());
        let mut rest = states;
        let vectors = texts.iter().map(|text| {
            let length = padded.unwrap_or(text.ids.len());
            let (own, others) = rest.split_at(length * width);
            rest = others;
            let rows = text.kept.iter().map(|token| &own[token * width..][..width]);
            let rows: Vec<f32> = rows.flatten().copied().collect();
            let mut vectors = rows;
            if !modules.is_identity() {
                let mut out = vec![0.0; text.kept.len() * dim];
                modules.apply_rows(&vectors, &mut out);
                vectors = out;
            }
            if self.tower().normalize {
                vectors.chunks_exact_mut(dim.max(1)).for_each(normalize_row);
            }
            vectors
        });
        vectors.collect()
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
pub(super) fn rules(
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
