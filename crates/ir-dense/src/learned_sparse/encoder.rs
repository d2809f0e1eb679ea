//! Learned sparse encoder: batched encoding of queries and documents.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ir_core::{EncodeError, Encoder, Side};
use rayon::prelude::*;

use super::folder::{SparseFiles, SpladeFolder, has_sides, is_sparse_folder};
use super::head::{MaskedLmHead, MaskedLmLayers};
use crate::backend::Backend;
use crate::encode::tokenizer::{BagRules, TokenizedText};
use crate::encode::{EncoderConfig, ModelTokenizer, SequenceBatches, SideConfig};
use crate::error::ModelError;
use crate::kernels::team::CALLS;
use crate::model_folder::{TensorSource, WeightFile};
use crate::transformer::InferenceModel;
use crate::transformer::batch::TokenSequence;

/// Number of texts that are tokenized and encoded at once.
const CHUNK: usize = 1 << 8;

/// Learned sparse encoder, as SPLADE: encodes a text to weights of the tokens of the vocabulary.
///
/// The weight of a token is ln(1 + max(x, 0)) of its logits x at the tokens of the text, pooled by
/// the maximum or the sum. Weights are positive, and few are not 0. The score of a document is the
/// inner product with the query. The query side may be inference-free: a constant weight for each
/// token of the text.
///
/// On the default backend, the bytes of the weights depend on their text alone: not on other texts,
/// their order, the batch size or the number of threads.
///
/// ```no_run
/// use ir_dense::SparseEncoder;
///
/// let encoder = SparseEncoder::open("splade-tiny")?;
/// for (token, weight) in &encoder.encode_queries(&["green tea"])?[0] {
///     println!("{} {weight}", encoder.token(*token));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Source
/// Formal et al., "SPLADE v2: Sparse Lexical and Expansion Model for Information Retrieval", arXiv
/// 2109.10086, 2021.
#[derive(Debug, Clone)]
pub struct SparseEncoder {
    sides: [Arc<SparseSide>; 2],
    config: EncoderConfig,
    /// Numbers of truncated queries and documents; shared with clones.
    truncated: [Arc<AtomicU64>; 2],
}

/// Encoder of a side.
#[derive(Debug)]
pub(super) enum SparseSide {
    Splade {
        folder: Box<SpladeFolder>,
        model: Arc<InferenceModel>,
        layers: Box<MaskedLmLayers>,
        /// `layers` for inference.
        head: Box<MaskedLmHead>,
    },
    Static {
        folder: PathBuf,
        tokenizer: Box<ModelTokenizer>,
        weights: Vec<f32>,
        prompts: [String; 2],
    },
}

impl SparseEncoder {
    /// Opens a folder of sentence-transformers' `SparseEncoder`, or a masked language model.
    ///
    /// # Errors
    /// Returns [`ModelError`] if a file is missing, unreadable or invalid, or the model is not
    /// supported.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, ModelError> {
        Self::open_with(folder, &EncoderConfig::default())
    }

    /// Opens a folder with a configuration that overrides values of the folder. `precision` is for
    /// the layers of the transformer; the head is f32.
    ///
    /// # Errors
    /// Returns [`ModelError`] if a file is missing, unreadable or invalid, the model is not
    /// supported, both sides have vocabularies of different sizes, or the configuration has
    /// `pooling`, `normalize` or `truncate_dim`, which sparse vectors do not have.
    pub fn open_with(folder: impl AsRef<Path>, config: &EncoderConfig) -> Result<Self, ModelError> {
        let folder = folder.as_ref();
        for (field, is_set) in [
            ("pooling", config.pooling.is_some()),
            ("normalize", config.normalize.is_some()),
            ("truncate_dim", config.truncate_dim.is_some()),
        ] {
            if is_set {
                let expected = "none: sparse vectors are weights of the vocabulary";
                return Err(ModelError::setting(folder, field, expected, "a value"));
            }
        }
        let [query, document] = if has_sides(folder)? {
            let open = |side| SparseSide::open(folder, config, side).map(Arc::new);
            [open(Side::Query)?, open(Side::Document)?]
        } else {
            let side = SparseSide::open(folder, config, Side::Document)?;
            let side = Arc::new(side);
            [Arc::clone(&side), side]
        };
        Self::from_sides([query, document], config)
    }

    /// Encoder with the weights of a training: of the transformer in the tower, and of the head.
    pub(crate) fn trained(
        folder: SpladeFolder,
        layers: MaskedLmLayers,
        config: &EncoderConfig,
    ) -> Result<Self, ModelError> {
        let side = Arc::new(SparseSide::splade(folder, layers, config)?);
        Self::from_sides([Arc::clone(&side), side], config)
    }

    fn from_sides(
        [query, document]: [Arc<SparseSide>; 2],
        config: &EncoderConfig,
    ) -> Result<Self, ModelError> {
        for (side, encoder) in [(Side::Query, &query), (Side::Document, &document)] {
            encoder.check_limit(side, config.side(side))?;
        }
        let dims = [query.dim(), document.dim()];
        if dims[0] != dims[1] {
            let [query, document] = dims;
            return Err(ModelError::Dimensions { query, document });
        }
        Ok(Self {
            sides: [query, document],
            config: config.clone(),
            truncated: Default::default(),
        })
    }

    /// Encoder of documents, if it is the encoder of queries, too.
    pub(super) fn shared_side(&self) -> Option<&SparseSide> {
        let [query, document] = &self.sides;
        Arc::ptr_eq(query, document).then_some(&**document)
    }

    /// Configuration of the encoder.
    #[must_use]
    pub const fn config(&self) -> &EncoderConfig {
        &self.config
    }

    /// Returns `true` if sentence-transformers wrote a folder as a `SparseEncoder`.
    ///
    /// # Errors
    /// Returns [`ModelError`] if a configuration file is unreadable or invalid.
    pub fn is_model_folder(folder: impl AsRef<Path>) -> Result<bool, ModelError> {
        is_sparse_folder(folder.as_ref())
    }

    /// Returns the token of a component of the vectors. Components of a padded vocabulary are
    /// called `[unused N]`.
    #[must_use]
    pub fn token(&self, component: u32) -> String {
        let token = self.sides[Side::Document as usize]
            .tokenizer()
            .token(component);
        token.unwrap_or_else(|| format!("[unused {component}]"))
    }

    /// Returns the maximum number of tokens of a text of a side, special tokens included.
    #[must_use]
    pub fn max_tokens(&self, side: Side) -> usize {
        self.sides[side as usize].limit(side, self.config.side(side))
    }

    /// Returns the number of texts of a side that were truncated, among all that this encoder and
    /// its clones have encoded.
    #[must_use]
    pub fn truncated_texts(&self, side: Side) -> u64 {
        self.truncated[side as usize].load(Ordering::Relaxed)
    }

    /// Encodes queries: components with their positive weights, in ascending order of components.
    ///
    /// # Errors
    /// If a text cannot be encoded.
    pub fn encode_queries(&self, texts: &[&str]) -> Result<Vec<Vec<(u32, f32)>>, EncodeError> {
        self.encode_weights(Side::Query, texts)
    }

    /// Encodes documents: components with their positive weights, in ascending order of components.
    ///
    /// # Errors
    /// If a text cannot be encoded.
    pub fn encode_documents(&self, texts: &[&str]) -> Result<Vec<Vec<(u32, f32)>>, EncodeError> {
        self.encode_weights(Side::Document, texts)
    }

    /// Encodes texts of a side: components with their positive weights, in ascending order of
    /// components.
    ///
    /// # Errors
    /// If a text cannot be encoded.
    pub fn encode_weights(
        &self,
        side: Side,
        texts: &[&str],
    ) -> Result<Vec<Vec<(u32, f32)>>, EncodeError> {
        let _call = CALLS.start();
        let mut weights = Vec::with_capacity(texts.len());
        for texts in texts.chunks(CHUNK) {
            weights.extend(self.encode_chunk(side, texts)?);
        }
        Ok(weights)
    }

    fn encode_chunk(
        &self,
        side: Side,
        texts: &[&str],
    ) -> Result<Vec<Vec<(u32, f32)>>, EncodeError> {
        let (encoder, config) = (&self.sides[side as usize], self.config.side(side));
        let texts = texts.par_iter();
        let texts = texts.map(|text| encoder.tokenize(side, config, text));
        let texts: Vec<TokenizedText> = texts.collect::<Result<_, _>>()?;
        let truncated = texts.iter().filter(|text| text.truncated).count();
        self.truncated[side as usize].fetch_add(truncated as u64, Ordering::Relaxed);
        let weights = match &**encoder {
            SparseSide::Static { weights, .. } => {
                let of_text = |text: &TokenizedText| static_weights(&text.ids, weights);
                texts.iter().map(of_text).collect()
            }
            SparseSide::Splade {
                folder,
                model,
                head,
                ..
            } => {
                let sequences = texts.iter().map(|text| (&text.ids[..], &[] as &[u32]));
                let sequences: Vec<TokenSequence<'_>> = sequences.collect();
                let batches = SequenceBatches {
                    model,
                    sequences: &sequences,
                    attended: &[],
                    config: &self.config,
                    padding: folder.tower.tokenizer.padding(),
                    uses_team: true,
                };
                batches.map(|_, states| head.weights(states, folder.pooling))
            }
        };
        let mut values = weights.iter().flatten().map(|(_, weight)| *weight);
        if let Some(value) = values.find(|value| !value.is_finite()) {
            return Err(encoder.encode_error(ModelError::Overflow { value }));
        }
        Ok(weights)
    }
}

/// Weights of the tokens of a text, each once.
fn static_weights(ids: &[u32], weights: &[f32]) -> Vec<(u32, f32)> {
    let mut ids = ids.to_vec();
    ids.sort_unstable();
    ids.dedup();
    let weight = |id: u32| Some((id, *weights.get(id as usize)?));
    let found = ids.into_iter().filter_map(weight);
    found.filter(|(_, weight)| *weight != 0.0).collect()
}

impl SparseSide {
    fn open(folder: &Path, config: &EncoderConfig, side: Side) -> Result<Self, ModelError> {
        match SparseFiles::read(folder, side)? {
            SparseFiles::Splade { files, pooling } => {
                let (splade, layers) = SpladeFolder::from_files(folder, config, *files, pooling)?;
                Self::splade(splade, layers, config)
            }
            SparseFiles::Static { folder, prompts } => {
                if config.backend != Backend::Cpu {
                    let (expected, found) =
                        ("cpu: weights of tokens are looked up", config.backend);
                    return Err(ModelError::setting(&folder, "backend", expected, found));
                }
                Self::open_static(folder, prompts)
            }
        }
    }

    /// Reads the weights for inference.
    fn splade(
        folder: SpladeFolder,
        layers: MaskedLmLayers,
        config: &EncoderConfig,
    ) -> Result<Self, ModelError> {
        let tower = &folder.tower;
        Ok(Self::Splade {
            model: tower.weights.inference(config.precision, &tower.folder)?,
            head: Box::new(MaskedLmHead::load(&layers, &tower.weights)?),
            layers: Box::new(layers),
            folder: Box::new(folder),
        })
    }

    fn open_static(folder: PathBuf, prompts: [String; 2]) -> Result<Self, ModelError> {
        let file = WeightFile::open(&folder)?;
        let (_, shape) = file.info("weight")?;
        let &[tokens] = shape else {
            let (field, expected) = ("shape of weight", "[tokens]");
            let found = format!("{shape:?}");
            return Err(ModelError::setting(file.path(), field, expected, found));
        };
        let weights = file.take("weight", &[tokens])?;
        if let Some(token) = weights.iter().position(|&weight| weight < 0.0) {
            let field = format!("element {token} of weight");
            let (expected, found) = ("at least 0", weights[token]);
            return Err(ModelError::setting(file.path(), field, expected, found));
        }
        let tokenizer = ModelTokenizer::open(&folder)?;
        tokenizer.check_vocabulary(tokens)?;
        let tokenizer = tokenizer.with_bag(BagRules {
            removed: None,
            characters: None,
        });
        Ok(Self::Static {
            folder,
            tokenizer: Box::new(tokenizer),
            weights,
            prompts,
        })
    }

    fn check_limit(&self, side: Side, config: &SideConfig) -> Result<(), ModelError> {
        match self {
            Self::Splade { folder, .. } => folder.tower.check_side(side, config),
            Self::Static { tokenizer, .. } => {
                tokenizer.encode("a", self.limit(side, config))?;
                Ok(())
            }
        }
    }

    fn dim(&self) -> usize {
        match self {
            Self::Splade { folder, .. } => folder.tower.config().vocab_size,
            Self::Static { weights, .. } => weights.len(),
        }
    }

    fn tokenizer(&self) -> &ModelTokenizer {
        match self {
            Self::Splade { folder, .. } => &folder.tower.tokenizer,
            Self::Static { tokenizer, .. } => tokenizer,
        }
    }

    fn limit(&self, side: Side, config: &SideConfig) -> usize {
        match self {
            Self::Splade { folder, .. } => folder.tower.limit(side, config),
            Self::Static { tokenizer, .. } => config
                .max_tokens
                .or(tokenizer.model_max_length)
                .unwrap_or(usize::MAX),
        }
    }

    fn tokenize(
        &self,
        side: Side,
        config: &SideConfig,
        text: &str,
    ) -> Result<TokenizedText, EncodeError> {
        match self {
            Self::Splade { folder, .. } => folder.tower.tokenize(side, config, text),
            Self::Static {
                tokenizer, prompts, ..
            } => {
                let prefix = config.prefix.as_deref().unwrap_or(&prompts[side as usize]);
                let text = format!("{prefix}{text}");
                let tokens = tokenizer.tokenize(&text, self.limit(side, config));
                tokens.map_err(|error| self.encode_error(error.into()))
            }
        }
    }

    fn encode_error(&self, source: ModelError) -> EncodeError {
        match self {
            Self::Splade { folder, .. } => folder.tower.encode_error(source),
            Self::Static { folder, .. } => EncodeError::Model {
                model: folder.display().to_string(),
                source: Box::new(source),
            },
        }
    }
}

impl Encoder for SparseEncoder {
    fn dim(&self) -> usize {
        self.sides[Side::Document as usize].dim()
    }

    fn encode_into(&self, side: Side, texts: &[&str], out: &mut [f32]) -> Result<(), EncodeError> {
        let dim = self.dim();
        let (expected, found) = (texts.len() * dim, out.len());
        if expected != found {
            return Err(EncodeError::Shape { expected, found });
        }
        out.fill(0.0);
        let rows = out.chunks_exact_mut(dim.max(1));
        for (row, weights) in rows.zip(self.encode_weights(side, texts)?) {
            for (component, weight) in weights {
                row[component as usize] = weight;
            }
        }
        Ok(())
    }

    fn encode_sparse(
        &self,
        side: Side,
        texts: &[&str],
        emit: &mut dyn FnMut(&[u32], &[f32]),
    ) -> Result<(), EncodeError> {
        for texts in texts.chunks(CHUNK) {
            for weights in self.encode_weights(side, texts)? {
                let (components, weights): (Vec<u32>, Vec<f32>) = weights.into_iter().unzip();
                emit(&components, &weights);
            }
        }
        Ok(())
    }

    fn component_name(&self, component: usize) -> Option<String> {
        Some(self.token(u32::try_from(component).ok()?))
    }
}
