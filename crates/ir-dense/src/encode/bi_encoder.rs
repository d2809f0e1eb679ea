//! Bi-encoder: batched encoding of queries and documents.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ir_core::{EncodeError, Encoder, Side, VectorSimilarity};
use ndarray::Array2;
use rayon::prelude::*;

use super::tokenizer::TokenizedText;
use super::{EncoderConfig, Tower, batches, normalize_row, router};
use crate::error::ModelError;
use crate::kernels::team::{CALLS, ParallelRegion, ThreadTeam};
use crate::model_folder::ADAPTER_CONFIG;
use crate::precision::{OutlierChannels, Precision};
use crate::similarity;
use crate::transformer::cpu::CpuTransformer;
use crate::transformer::{BLOCK_ROWS, InferenceModel, TokenBatch};

/// Bi-encoder: encodes queries and documents to vectors, with one transformer for both or one per
/// side.
///
/// On the default backend, the bytes of a vector depend on its text alone: not on other texts,
/// their order, the batch size or the number of threads. On other backends the last bits may
/// differ.
///
/// ```no_run
/// use ir_dense::BiEncoder;
///
/// let encoder = BiEncoder::open("all-MiniLM-L6-v2")?;
/// let vectors = encoder.encode_documents(&["a ship at sea", "green tea"])?;
/// assert_eq!(vectors.dim(), (2, 384));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct BiEncoder {
    /// Query encoder and document encoder.
    sides: [SideEncoder; 2],
    pub(super) config: EncoderConfig,
    similarity: Option<VectorSimilarity>,
    /// Numbers of truncated queries and documents; shared with clones.
    truncated: [Arc<AtomicU64>; 2],
}

#[derive(Debug, Clone)]
pub(super) struct SideEncoder {
    pub(super) tower: Arc<Tower>,
    model: Arc<InferenceModel>,
    /// Number of tokens at the start of every text that are not pooled.
    skip: usize,
}

impl BiEncoder {
    /// Opens a folder in the Hugging Face layout, with a Router or one tower for both sides, or a
    /// folder that has two such folders, `query` and `document`, as [`BiEncoder::save`] writes it.
    ///
    /// # Errors
    /// Returns [`ModelError`] if a file is missing, unreadable or invalid, or the model is not
    /// supported.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, ModelError> {
        Self::open_with(folder, &EncoderConfig::default())
    }

    /// Opens a folder with a configuration that overrides values of the folder.
    ///
    /// # Errors
    /// Returns [`ModelError`] if a file is missing, unreadable or invalid, the model is not
    /// supported, or its backend is not available.
    pub fn open_with(folder: impl AsRef<Path>, config: &EncoderConfig) -> Result<Self, ModelError> {
        let [query, document] = open_towers(folder.as_ref(), config)?;
        Self::new(query, document, config)
    }

    /// Opens two folders: query encoder and document encoder with separate weights, as in DPR.
    ///
    /// # Errors
    /// Returns [`ModelError`] if one of them cannot be opened, or their dimensions differ.
    pub fn open_untied(
        query: impl AsRef<Path>,
        document: impl AsRef<Path>,
        config: &EncoderConfig,
    ) -> Result<Self, ModelError> {
        let query = Arc::new(Tower::open(query, config)?);
        let document = Arc::new(Tower::open(document, config)?);
        Self::new(query, document, config)
    }

    /// Creates an encoder from a query tower and a document tower, which may be the same, and reads
    /// their weights.
    ///
    /// # Errors
    /// If their dimensions or similarity functions differ, a maximum length is out of range,
    /// backend or model lack the precision, or the weights cannot be read.
    pub fn new(
        query: Arc<Tower>,
        document: Arc<Tower>,
        config: &EncoderConfig,
    ) -> Result<Self, ModelError> {
        check_pair(&query, &document)?;
        for (tower, side) in [(&query, Side::Query), (&document, Side::Document)] {
            tower.check_side(side, config.side(side))?;
        }
        let load = |tower: &Tower| -> Result<Arc<InferenceModel>, ModelError> {
            tower.weights.inference(config.precision, &tower.folder)
        };
        let similarity = query.similarity.or(document.similarity);
        let side = |tower: Arc<Tower>, model, side| -> Result<SideEncoder, ModelError> {
            let skip = tower.unpooled_tokens(side, config.side(side))?;
            Ok(SideEncoder { tower, model, skip })
        };
        let query_model = load(&query)?;
        let document_model = if query.has_weights_of(&document) {
            query_model.clone()
        } else {
            load(&document)?
        };
        Ok(Self {
            sides: [
                side(query, query_model, Side::Query)?,
                side(document, document_model, Side::Document)?,
            ],
            config: config.clone(),
            similarity,
            truncated: Default::default(),
        })
    }

    /// Similarity function of training, or of the folder ([`Tower::similarity`]).
    pub fn similarity(&self) -> Option<VectorSimilarity> {
        self.similarity
    }

    /// Overrides the similarity function that [`BiEncoder::similarity`] returns and
    /// [`BiEncoder::save`] writes. Vectors do not depend on it.
    #[must_use]
    pub fn with_similarity(mut self, similarity: VectorSimilarity) -> Self {
        self.similarity = Some(similarity);
        self
    }

    /// Returns the tower of a side.
    pub fn tower(&self, side: Side) -> &Tower {
        &self.sides[side as usize].tower
    }

    /// Returns the notes of the towers ([`Tower::notes`]), each once.
    pub fn notes(&self) -> Vec<&str> {
        let [query, document] = [Side::Query, Side::Document].map(|side| self.tower(side));
        let mut notes: Vec<&str> = Vec::new();
        for note in query.notes().iter().chain(document.notes()) {
            if !notes.contains(&note.as_str()) {
                notes.push(note);
            }
        }
        notes
    }

    /// Configuration of the encoder.
    pub fn config(&self) -> &EncoderConfig {
        &self.config
    }

    /// Returns the output channels of the linear layers of a side that are f32 although the
    /// precision is [`Precision::Int8`](crate::Precision::Int8); empty for other precisions.
    pub fn outlier_channels(&self, side: Side) -> Vec<OutlierChannels> {
        match self.inference_model(side) {
            InferenceModel::Cpu(model) => model.outlier_channels(),
            InferenceModel::Module(_) => Vec::new(),
        }
    }

    pub(super) fn inference_model(&self, side: Side) -> &InferenceModel {
        &self.sides[side as usize].model
    }

    /// Returns the token ids of a text with prefix and special tokens, truncated to the maximum
    /// length of its side.
    ///
    /// # Errors
    /// If tokenization fails.
    pub fn token_ids(&self, side: Side, text: &str) -> Result<Vec<u32>, EncodeError> {
        Ok(self.tokenize(side, text)?.ids)
    }

    /// Transformer and tokenizer of a side.
    pub(super) const fn side(&self, side: Side) -> &SideEncoder {
        &self.sides[side as usize]
    }

    /// The encoder with another form of its model for both sides.
    #[cfg(test)]
    pub(super) fn with_inference_model(mut self, model: InferenceModel) -> Self {
        let model = Arc::new(model);
        for side in &mut self.sides {
            side.model = Arc::clone(&model);
        }
        self
    }

    fn tokenize(&self, side: Side, text: &str) -> Result<TokenizedText, EncodeError> {
        let (tower, config, mut ids) = (self.tower(side), self.config.side(side), Vec::new());
        let truncated = tower.tokenize_into(side, config, text, &mut String::new(), &mut ids)?;
        Ok(TokenizedText { ids, truncated })
    }

    /// Returns whether a text has more tokens, with prefix and special tokens, than
    /// [`Self::max_tokens`] of its side, so that only its beginning is encoded.
    ///
    /// # Errors
    /// If tokenization fails.
    pub fn is_truncated(&self, side: Side, text: &str) -> Result<bool, EncodeError> {
        Ok(self.tokenize(side, text)?.truncated)
    }

    /// Returns the number of texts of a side that were truncated, among all that this encoder and
    /// its clones have encoded.
    pub fn truncated_texts(&self, side: Side) -> u64 {
        self.truncated[side as usize].load(Ordering::Relaxed)
    }

    /// Returns the maximum number of tokens of a text of a side, special tokens included.
    pub fn max_tokens(&self, side: Side) -> usize {
        self.tower(side).limit(side, self.config.side(side))
    }

    /// Encodes queries; returns one row per text, `[texts, dim]`.
    ///
    /// # Errors
    /// If a text cannot be encoded.
    pub fn encode_queries(&self, texts: &[&str]) -> Result<Array2<f32>, EncodeError> {
        self.encode_array(Side::Query, texts)
    }

    /// Encodes documents; returns one row per text, `[texts, dim]`.
    ///
    /// # Errors
    /// If a text cannot be encoded.
    pub fn encode_documents(&self, texts: &[&str]) -> Result<Array2<f32>, EncodeError> {
        self.encode_array(Side::Document, texts)
    }

    /// Encodes one text on the CPU: if it is short, on this thread and, unless this is one of
    /// rayon's, the team of the process.
    fn encode_single(
        &self,
        side: Side,
        text: &str,
        model: &CpuTransformer,
        scratch: &mut EncodeScratch,
        out: &mut [f32],
    ) -> Result<(), EncodeError> {
        let (encoder, config) = (&self.sides[side as usize], self.config.side(side));
        let EncodeScratch {
            prefixed,
            ids,
            batch,
        } = scratch;
        let tower = &encoder.tower;
        // A longer text rarely has so few tokens.
        let is_short = text.len() <= BYTES_PER_TOKEN * BLOCK_ROWS;
        let mut region = match rayon::current_thread_index() {
            // The threads wake up during tokenization. In int8, one thread is faster.
            None if is_short && self.config.precision != Precision::Int8 => {
                ThreadTeam::global().region()
            }
            _ => ParallelRegion::sequential(),
        };
        let truncated = tower.tokenize_into(side, config, text, prefixed, ids)?;
        self.truncated[side as usize].fetch_add(u64::from(truncated), Ordering::Relaxed);
        batch.replace([&ids[..]]);
        if ids.len() > BLOCK_ROWS {
            drop(region);
            // On a thread of the pool: its tasks wait for each other without switching threads.
            return rayon::scope(|_| {
                encoder.encode_batch(model, batch, &mut ParallelRegion::sequential(), out)
            });
        }
        encoder.encode_batch(model, batch, &mut region, out)
    }

    /// Encodes texts on backends that need padding and parallelize within a batch.
    fn encode_padded(
        &self,
        side: Side,
        texts: &[&str],
        out: &mut [f32],
    ) -> Result<(), EncodeError> {
        let (dim, encoder) = (self.dim(), &self.sides[side as usize]);
        let chunks = texts.par_chunks(texts.len().div_ceil(rayon::current_num_threads()).max(1));
        let ids = chunks.map(|texts| self.tokenize_texts(side, texts));
        let ids = ids.collect::<Result<Vec<_>, _>>()?;
        let ids: Vec<Vec<u32>> = ids.into_iter().flatten().collect();
        for batch in batches(&ids, &self.config, true) {
            write_batch(&batch, &encoder.encode(&batch, &ids, dim)?, out, dim);
        }
        Ok(())
    }

    /// Token ids of texts. Counts those that are truncated, if there is no error.
    pub(super) fn tokenize_texts(
        &self,
        side: Side,
        texts: &[&str],
    ) -> Result<Vec<Vec<u32>>, EncodeError> {
        let texts = texts.iter().map(|text| self.tokenize(side, text));
        let texts: Vec<TokenizedText> = texts.collect::<Result<_, _>>()?;
        let truncated = texts.iter().filter(|text| text.truncated).count();
        self.truncated[side as usize].fetch_add(truncated as u64, Ordering::Relaxed);
        Ok(texts.into_iter().map(|text| text.ids).collect())
    }

    fn encode_array(&self, side: Side, texts: &[&str]) -> Result<Array2<f32>, EncodeError> {
        let mut out = Array2::zeros((texts.len(), self.dim()));
        self.encode_into(side, texts, out.as_slice_mut().unwrap_or_default())?;
        Ok(out)
    }
}

/// Opens the query tower and the document tower of a folder, which may be the same.
pub(crate) fn open_towers(
    folder: &Path,
    config: &EncoderConfig,
) -> Result<[Arc<Tower>; 2], ModelError> {
    let sides = [Side::Query, Side::Document];
    let towers = if let Some(folders) = side_folders(folder) {
        folders.map(|folder| Tower::open(folder, config))
    } else if router::has_router(folder)? {
        sides.map(|side| Tower::open_side(folder, config, Some(side)))
    } else {
        let tower = Arc::new(Tower::open(folder, config)?);
        return Ok([tower.clone(), tower]);
    };
    let [query, document] = towers;
    Ok([Arc::new(query?), Arc::new(document?)])
}

/// Checks that vectors of both towers can be compared.
pub(crate) fn check_pair(query: &Tower, document: &Tower) -> Result<(), ModelError> {
    let dims = [query, document].map(Tower::dim);
    if dims[0] != dims[1] {
        return Err(ModelError::Dimensions {
            query: dims[0],
            document: dims[1],
        });
    }
    match (query.similarity, document.similarity) {
        (Some(expected), Some(found)) if expected != found => {
            let path = document.folder.join("config_sentence_transformers.json");
            let expected = format!("{}, as with queries", similarity::name(expected));
            let (field, found) = ("similarity_fn_name", similarity::name(found));
            Err(ModelError::setting(&path, field, expected, found))
        }
        _ => Ok(()),
    }
}

/// Returns the folders of both sides, if a folder has these instead of a model.
pub(crate) fn side_folders(folder: &Path) -> Option<[PathBuf; 2]> {
    let files = ["config.json", "modules.json", ADAPTER_CONFIG];
    let is_model = |folder: &Path| files.iter().any(|file| folder.join(file).exists());
    let sides = ["query", "document"].map(|side| folder.join(side));
    (!is_model(folder) && sides.iter().all(|side| is_model(side))).then_some(sides)
}

impl Encoder for BiEncoder {
    fn dim(&self) -> usize {
        self.tower(Side::Query).dim()
    }

    fn encode_into(&self, side: Side, texts: &[&str], out: &mut [f32]) -> Result<(), EncodeError> {
        let (dim, encoder) = (self.dim(), &self.sides[side as usize]);
        let (expected, found) = (texts.len() * dim, out.len());
        if expected != found {
            return Err(EncodeError::Shape { expected, found });
        }
        let _call = CALLS.start();
        if let ([text], InferenceModel::Cpu(model)) = (texts, &*encoder.model) {
            let mut scratch = SCRATCH.take();
            let encoded = self.encode_single(side, text, model, &mut scratch, out);
            SCRATCH.set(scratch);
            return encoded;
        }
        match *encoder.model {
            InferenceModel::Cpu(_) => self.encode_groups(side, texts, out),
            InferenceModel::Module(_) => {
                let mut chunks = texts.chunks(CHUNK).zip(out.chunks_mut(CHUNK * dim));
                chunks.try_for_each(|(texts, out)| self.encode_padded(side, texts, out))
            }
        }
    }
}

/// Number of texts that are sorted by length for batches with padding.
const CHUNK: usize = 1 << 14;
/// Maximum number of bytes per token of a text that several threads may encode.
const BYTES_PER_TOKEN: usize = 16;

/// Buffers of a thread, which are reused: after the first text, encoding a single one allocates
/// only in the library of the tokenizer.
#[derive(Default)]
struct EncodeScratch {
    prefixed: String,
    ids: Vec<u32>,
    batch: TokenBatch,
}

thread_local! {
    // Taken while it is in use, because a thread may run another batch while it waits for one.
    static SCRATCH: RefCell<EncodeScratch> = RefCell::default();
}

/// Writes the vectors of a batch to the rows of its texts.
pub(super) fn write_batch(batch: &[usize], vectors: &[f32], out: &mut [f32], dim: usize) {
    for (&text, vector) in batch.iter().zip(vectors.chunks_exact(dim)) {
        out[text * dim..][..dim].copy_from_slice(vector);
    }
}

impl SideEncoder {
    /// Returns the vectors of a batch of texts, row-major.
    pub(super) fn encode(
        &self,
        texts: &[usize],
        ids: &[Vec<u32>],
        dim: usize,
    ) -> Result<Vec<f32>, EncodeError> {
        let tower = &*self.tower;
        let vectors = match &*self.model {
            InferenceModel::Cpu(model) => {
                let mut vectors = vec![0.0; texts.len() * dim];
                let mut scratch = SCRATCH.take();
                let rows = texts.iter().map(|&text| &ids[text][..]);
                scratch.batch.replace(rows);
                let region = &mut ParallelRegion::sequential();
                let encoded = self.encode_batch(model, &scratch.batch, region, &mut vectors);
                SCRATCH.set(scratch);
                return encoded.map(|()| vectors);
            }
            InferenceModel::Module(model) => {
                let rows: Vec<&[u32]> = texts.iter().map(|&text| &ids[text][..]).collect();
                let batch = TokenBatch::padded(&rows, tower.tokenizer.padding());
                let vectors = tower.pool_after(self.skip, model.forward(&batch), &batch);
                vectors
                    .try_into_vec_as::<f32>()
                    .map_err(|source| tower.encode_error(source))?
            }
        };
        self.check_finite(&vectors)?;
        Ok(vectors)
    }

    /// Writes the vectors of a batch without padding, row-major.
    fn encode_batch(
        &self,
        model: &CpuTransformer,
        batch: &TokenBatch,
        region: &mut ParallelRegion<'_>,
        out: &mut [f32],
    ) -> Result<(), EncodeError> {
        let tower = &*self.tower;
        if tower.modules.is_identity() {
            model.forward(batch, region, |states| {
                tower.pooling.pool_rows(self.skip, states, batch, out);
            });
        } else {
            let mut pooled = vec![0.0; batch.texts() * tower.modules.input_dim()];
            model.forward(batch, region, |states| {
                tower
                    .pooling
                    .pool_rows(self.skip, states, batch, &mut pooled);
            });
            tower.modules.apply_rows(&pooled, out);
        }
        if tower.normalize {
            let dim = tower.dim().max(1);
            out.chunks_exact_mut(dim).for_each(normalize_row);
        }
        self.check_finite(out)
    }

    fn check_finite(&self, vectors: &[f32]) -> Result<(), EncodeError> {
        match vectors.iter().find(|value| !value.is_finite()) {
            Some(&value) => Err(self.tower.encode_error(ModelError::Overflow { value })),
            None => Ok(()),
        }
    }
}
