//! [`BiEncoder`]: texts to vectors, in batches.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ir_core::{EncodeError, Encoder, Side};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::host::Host;
use crate::{Backend, Batch, ModelError, Pooling, Similarity, Tower};

/// How a [`BiEncoder`] is loaded. What is `None` is as the folder says.
///
/// ```
/// use ir_dense::{EncoderConfig, Pooling, SideConfig};
/// let scibert = EncoderConfig::default()
///     .with_pooling(Pooling::Cls)
///     .with_query(SideConfig::default().with_max_tokens(32))
///     .with_document(SideConfig::default().with_max_tokens(128));
/// let text = serde_json::to_string(&scibert)?;
/// assert_eq!(serde_json::from_str::<EncoderConfig>(&text)?, scibert);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct EncoderConfig {
    /// What computes. Default: the processor.
    pub backend: Backend,
    /// How tokens' vectors become a text's.
    pub pooling: Option<Pooling>,
    /// Whether vectors are divided by their length.
    pub normalize: Option<bool>,
    /// The side of queries.
    pub query: SideConfig,
    /// The side of documents.
    pub document: SideConfig,
    /// The most tokens of a batch that is computed at once; a longer text is a batch of its own.
    /// Trades memory for speed, not results. Default 2,048.
    pub batch_tokens: usize,
}

/// What may differ between queries and documents.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct SideConfig {
    /// What is put before every text: `query: ` with E5.
    pub prefix: Option<String>,
    /// The most tokens of a text, special ones and prefix included; of a longer text, the first
    /// are kept.
    pub max_tokens: Option<usize>,
}

impl Default for EncoderConfig {
    fn default() -> Self {
        Self {
            backend: Backend::default(),
            pooling: None,
            normalize: None,
            query: SideConfig::default(),
            document: SideConfig::default(),
            batch_tokens: 2048,
        }
    }
}

impl EncoderConfig {
    /// Computes on another backend.
    pub const fn with_backend(mut self, backend: Backend) -> Self {
        self.backend = backend;
        self
    }

    /// Pools otherwise than the folder says.
    pub const fn with_pooling(mut self, pooling: Pooling) -> Self {
        self.pooling = Some(pooling);
        self
    }

    /// Normalises or not, whatever the folder says.
    pub const fn with_normalize(mut self, normalize: bool) -> Self {
        self.normalize = Some(normalize);
        self
    }

    /// Sets the side of queries.
    pub fn with_query(mut self, side: SideConfig) -> Self {
        self.query = side;
        self
    }

    /// Sets the side of documents.
    pub fn with_document(mut self, side: SideConfig) -> Self {
        self.document = side;
        self
    }

    /// Sets the same length limit on both sides.
    pub const fn with_max_tokens(mut self, limit: usize) -> Self {
        self.query.max_tokens = Some(limit);
        self.document.max_tokens = Some(limit);
        self
    }

    /// Sets the size of batches.
    pub const fn with_batch_tokens(mut self, tokens: usize) -> Self {
        self.batch_tokens = tokens;
        self
    }

    pub(crate) fn side(&self, side: Side) -> &SideConfig {
        match side {
            Side::Query => &self.query,
            Side::Document => &self.document,
        }
    }
}

impl SideConfig {
    /// Sets what is put before every text.
    pub fn with_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = Some(prefix.into());
        self
    }

    /// Sets the length limit.
    pub const fn with_max_tokens(mut self, limit: usize) -> Self {
        self.max_tokens = Some(limit);
        self
    }
}

/// Texts to vectors by a transformer: one for queries and documents, or one for each.
///
/// On the default backend, a text's vector has the same bytes whatever else is encoded with it, in
/// whatever order, in batches of whatever size, on any number of threads. On others the last bits
/// may differ.
///
/// ```no_run
/// use ir_core::{Encoder, Side};
/// use ir_dense::BiEncoder;
///
/// let encoder = BiEncoder::open("all-MiniLM-L6-v2")?;
/// let vectors = encoder.encode(Side::Document, &["a ship at sea", "green tea"])?;
/// assert_eq!(vectors.len(), 2 * 384);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct BiEncoder {
    query: Computed,
    document: Computed,
    config: EncoderConfig,
    similarity: Option<Similarity>,
}

/// A tower and how it is computed.
#[derive(Debug, Clone)]
struct Computed {
    tower: Arc<Tower>,
    /// Its weights as the processor likes them, if that computes.
    host: Option<Arc<Host>>,
}

impl BiEncoder {
    /// Reads a folder in the Hugging Face layout, or one with two such folders in it, `query` and
    /// `document`, as [`BiEncoder::save`] writes it for a tower on each side.
    ///
    /// # Errors
    /// See [`ModelError`].
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, ModelError> {
        Self::open_with(folder, &EncoderConfig::default())
    }

    /// The same, with what differs from the folder.
    ///
    /// # Errors
    /// See [`ModelError`].
    pub fn open_with(folder: impl AsRef<Path>, config: &EncoderConfig) -> Result<Self, ModelError> {
        let folder = folder.as_ref();
        if let Some([query, document]) = sides(folder) {
            return Self::open_untied(query, document, config);
        }
        let tower = Arc::new(Tower::open(folder, config)?);
        Self::new(tower.clone(), tower, config)
    }

    /// An encoder with a tower of its own for each side, as DPR has.
    ///
    /// # Errors
    /// See [`ModelError`].
    pub fn open_untied(
        query: impl AsRef<Path>,
        document: impl AsRef<Path>,
        config: &EncoderConfig,
    ) -> Result<Self, ModelError> {
        let query = Arc::new(Tower::open(query, config)?);
        let document = Arc::new(Tower::open(document, config)?);
        Self::new(query, document, config)
    }

    /// An encoder of two towers, or of one twice.
    ///
    /// # Errors
    /// When their vectors differ in length, they say different things of the similarity, or a
    /// length limit does not suit.
    pub fn new(
        query: Arc<Tower>,
        document: Arc<Tower>,
        config: &EncoderConfig,
    ) -> Result<Self, ModelError> {
        let dims = [&query, &document].map(|tower| tower.model.config().hidden);
        if dims[0] != dims[1] {
            return Err(ModelError::Towers {
                query: dims[0],
                document: dims[1],
            });
        }
        if let (Some(expected), Some(found)) = (query.similarity, document.similarity)
            && expected != found
        {
            let path = document.folder.join("config_sentence_transformers.json");
            let expected = format!("{}, as with queries", expected.name());
            let field = "similarity_fn_name";
            return Err(ModelError::setting(&path, field, expected, found.name()));
        }
        for (tower, side) in [(&query, Side::Query), (&document, Side::Document)] {
            let limit = tower.limit(side);
            let side = config.side(side);
            let most = tower.model.config().max_tokens();
            if let Some(found) = side.max_tokens.filter(|&limit| limit > most) {
                let path = tower.folder.join("config.json");
                let expected = format!("at most {most}, the positions of the model");
                return Err(ModelError::setting(&path, "max_tokens", expected, found));
            }
            // Too low a limit is told now and not at the first text.
            tower.tokens.encode("a", side.max_tokens.unwrap_or(limit))?;
        }
        let compute = |tower: Arc<Tower>| Computed {
            host: Host::of(&tower.model).map(Arc::new),
            tower,
        };
        let similarity = query.similarity.or(document.similarity);
        let tied = Arc::ptr_eq(&query, &document);
        let query = compute(query);
        let document = if tied {
            query.clone()
        } else {
            compute(document)
        };
        Ok(Self {
            query,
            document,
            config: config.clone(),
            similarity,
        })
    }

    /// What the score of a query and a document is: as the folder says
    /// (`config_sentence_transformers.json`), or training had it. `None` when the folder does not
    /// say; sentence-transformers then takes the cosine.
    pub fn similarity(&self) -> Option<Similarity> {
        self.similarity
    }

    /// Sets what the score of a query and a document is, whatever the folder says: for whoever asks,
    /// and for [`BiEncoder::save`]. Vectors do not depend on it.
    #[must_use]
    pub fn with_similarity(mut self, similarity: Similarity) -> Self {
        self.similarity = Some(similarity);
        self
    }

    /// The tower of a side.
    pub fn tower(&self, side: Side) -> &Tower {
        &self.computed(side).tower
    }

    fn computed(&self, side: Side) -> &Computed {
        match side {
            Side::Query => &self.query,
            Side::Document => &self.document,
        }
    }

    /// How it was loaded.
    pub fn config(&self) -> &EncoderConfig {
        &self.config
    }

    /// The token numbers of a text with prefix and special tokens, cut to the limit of its side.
    ///
    /// # Errors
    /// When the tokeniser fails.
    pub fn tokens(&self, side: Side, text: &str) -> Result<Vec<u32>, EncodeError> {
        self.tower(side).ids(side, self.config.side(side), text)
    }
}

/// The folders of both sides, where a folder holds no model of its own but these.
pub(crate) fn sides(folder: &Path) -> Option<[PathBuf; 2]> {
    let is_model = |folder: &Path| folder.join("config.json").exists();
    let sides = ["query", "document"].map(|side| folder.join(side));
    (!is_model(folder) && sides.iter().all(|side| is_model(side))).then_some(sides)
}

pub(crate) fn failed(
    tower: &Tower,
    source: impl std::error::Error + Send + Sync + 'static,
) -> EncodeError {
    EncodeError::Model {
        model: tower.folder.display().to_string(),
        source: Box::new(source),
    }
}

impl Encoder for BiEncoder {
    fn dim(&self) -> usize {
        self.tower(Side::Query).model.config().hidden
    }

    fn encode_into(&self, side: Side, texts: &[&str], out: &mut [f32]) -> Result<(), EncodeError> {
        let (dim, computed) = (self.dim(), self.computed(side));
        let (expected, found) = (texts.len() * dim, out.len());
        if expected != found {
            return Err(EncodeError::Shape { expected, found });
        }
        for (texts, out) in texts.chunks(CHUNK).zip(out.chunks_mut(CHUNK * dim)) {
            let tokens: Vec<Vec<u32>> = texts
                .par_iter()
                .map(|text| self.tokens(side, text))
                .collect::<Result<_, _>>()?;
            let batches = batches(&tokens, self.config.batch_tokens, computed.host.is_none());
            let encode = |batch: &Vec<usize>| computed.encode(batch, &tokens);
            // Other backends have threads of their own, or one queue and little memory.
            let vectors: Vec<Vec<f32>> = match computed.host {
                Some(_) => batches.par_iter().map(encode).collect::<Result<_, _>>()?,
                None => batches.iter().map(encode).collect::<Result<_, _>>()?,
            };
            for (batch, vectors) in batches.iter().zip(&vectors) {
                for (&text, vector) in batch.iter().zip(vectors.chunks_exact(dim)) {
                    out[text * dim..][..dim].copy_from_slice(vector);
                }
            }
        }
        Ok(())
    }
}

/// Texts whose tokens are held at once.
const CHUNK: usize = 1 << 14;

/// Texts in batches of so many tokens at most, the longest first, those of one length together.
/// Texts that are padded count as the longest of their batch.
fn batches(tokens: &[Vec<u32>], most: usize, padded: bool) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..tokens.len()).collect();
    order.sort_by_key(|&text| (std::cmp::Reverse(tokens[text].len()), text));
    let mut batches: Vec<Vec<usize>> = Vec::new();
    let (mut room, mut longest) = (0, 0);
    for text in order {
        let length = tokens[text].len();
        let takes = if padded { longest } else { length };
        match batches.last_mut() {
            Some(batch) if takes <= room => {
                batch.push(text);
                room -= takes;
            }
            _ => {
                batches.push(vec![text]);
                room = most.saturating_sub(length);
                longest = length;
            }
        }
    }
    batches
}

impl Computed {
    fn encode(&self, texts: &[usize], tokens: &[Vec<u32>]) -> Result<Vec<f32>, EncodeError> {
        let tower = &*self.tower;
        let rows: Vec<&[u32]> = texts.iter().map(|&text| &tokens[text][..]).collect();
        let vectors = match &self.host {
            Some(host) => {
                let batch = Batch::new(&rows);
                tower.pool(host.forward(&tower.model, &batch), &batch)
            }
            None => tower.forward(&Batch::padded(&rows, tower.tokens.padding())),
        };
        let vectors = vectors
            .try_into_vec_as::<f32>()
            .map_err(|source| failed(tower, source))?;
        match vectors.iter().find(|value| !value.is_finite()) {
            Some(&value) => Err(failed(tower, ModelError::Overflow { value })),
            None => Ok(vectors),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::batches;

    /// What is padded counts, and every text is in one batch.
    #[test]
    fn batches_keep_their_budget() {
        let tokens: Vec<Vec<u32>> = [9, 3, 3, 30, 4, 2, 3, 12]
            .map(|length| vec![1; length])
            .into();
        for padded in [false, true] {
            let found = batches(&tokens, 16, padded);
            let mut all = found.concat();
            all.sort_unstable();
            assert_eq!(all, (0..tokens.len()).collect::<Vec<_>>());
            for batch in &found {
                let lengths = batch.iter().map(|&text| tokens[text].len());
                let cost = match padded {
                    true => batch.len() * lengths.max().unwrap_or(0),
                    false => lengths.sum(),
                };
                assert!(cost <= 16 || batch.len() == 1, "{padded}: {batch:?}");
            }
        }
        let expected: [&[usize]; 4] = [&[3], &[7], &[0, 4, 1], &[2, 6, 5]];
        assert_eq!(batches(&tokens, 16, false), expected);
        let expected: [&[usize]; 5] = [&[3], &[7], &[0], &[4, 1, 2, 6], &[5]];
        assert_eq!(batches(&tokens, 16, true), expected);
    }
}
