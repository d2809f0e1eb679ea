//! Vectors of published texts.

use std::borrow::Cow;
use std::collections::HashSet;
use std::iter;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ir_core::{CachedEncoder, Encoder, Progress, Side};
use ir_qa::retrieval::{AnswerConfig, AnswerIndexError, FrameVectors};
use ir_qa::{Frame, character_count};

use super::error::{PublishError, report};
use crate::config::ServiceEncoder;
use crate::store::{Store, StoreError, sha256};

/// Number of vectors of queries that are cached: a query searches several indexes, and the same
/// question is asked again, with other filters, for its explanation, or by other readers. 15 MiB of
/// vectors of 384 dimensions, and the texts.
pub(crate) const CACHED_VECTORS: usize = 10_000;

/// Texts that are encoded and stored together.
const BATCH: usize = 64;

/// Encoder of publications and searches.
#[derive(Clone)]
pub(crate) struct PublishEncoder {
    name: String,
    /// Caches vectors of queries, also from one publication to the next.
    cached: Arc<CachedEncoder<Arc<dyn Encoder>>>,
    /// Number of texts that were encoded, since the start.
    encoded: Arc<AtomicU64>,
}

impl From<ServiceEncoder> for PublishEncoder {
    fn from(encoder: ServiceEncoder) -> Self {
        let cached = CachedEncoder::new(encoder.encoder).with_capacity(CACHED_VECTORS);
        Self {
            name: encoder.name,
            cached: Arc::new(cached),
            encoded: Arc::default(),
        }
    }
}

impl PublishEncoder {
    /// The encoder with its cache.
    pub(super) fn cached(&self) -> Arc<dyn Encoder> {
        Arc::<CachedEncoder<_>>::clone(&self.cached)
    }

    /// Number of texts that were encoded since the start, without questions of users.
    pub(crate) fn encoded_texts(&self) -> u64 {
        self.encoded.load(Ordering::Relaxed)
    }

    /// The stored vectors of frames, and the number of frames that lack one.
    pub(super) fn stored_vectors(
        &self,
        store: &Store,
        frames: &[Frame],
        config: &AnswerConfig,
    ) -> Result<(FrameVectors, usize), PublishError> {
        let dim = self.cached.dim();
        let mut vectors = FrameVectors::default();
        let (mut incomplete, mut question_row) = (0, frames.len());
        for (row, frame) in frames.iter().enumerate() {
            let missing = vectors.missing.len();
            let answer = config.encoded_text(frame);
            let questions = frame.questions.iter().zip(question_row..);
            let questions = questions.map(|(question, row)| (Side::Query, row, &*question.text));
            for (side, row, text) in iter::once((Side::Document, row, &*answer)).chain(questions) {
                let rows = match side {
                    Side::Document => &mut vectors.answers,
                    Side::Query => &mut vectors.questions,
                };
                if let Some(vector) = self.stored_vector(store, side, &sha256(text.as_bytes()))? {
                    rows.extend(vector);
                } else {
                    rows.resize(rows.len() + dim, 0.0);
                    vectors.missing.insert(row);
                }
            }
            question_row += frame.questions.len();
            incomplete += usize::from(vectors.missing.len() > missing);
        }
        Ok((vectors, incomplete))
    }

    /// The stored vector of a text, if the encoder has its dimension.
    fn stored_vector(
        &self,
        store: &Store,
        side: Side,
        hash: &[u8; 32],
    ) -> Result<Option<Vec<f32>>, StoreError> {
        let vector = store.vector(&self.name, side, hash)?;
        Ok(vector.filter(|vector| vector.len() == self.cached.dim()))
    }

    /// Encodes the texts of frames that have no stored vector, and stores each batch, so that it
    /// survives an abort.
    pub(crate) fn encode_missing(
        &self,
        store: &Store,
        frames: &[Frame],
        config: &AnswerConfig,
        progress: &mut dyn Progress,
    ) -> Result<(), PublishError> {
        let answers = frames.iter().map(|frame| config.encoded_text(frame));
        self.encode_texts(store, Side::Document, answers, progress)?;
        let questions = frames.iter().flat_map(|frame| &frame.questions);
        let questions = questions.map(|question| question.text.as_str().into());
        self.encode_texts(store, Side::Query, questions, progress)
    }

    fn encode_texts<'t>(
        &self,
        store: &Store,
        side: Side,
        texts: impl Iterator<Item = Cow<'t, str>>,
        progress: &mut dyn Progress,
    ) -> Result<(), PublishError> {
        let stage = match side {
            Side::Document => "encoding answers",
            Side::Query => "encoding questions",
        };
        let (mut missing, mut seen) = (Vec::new(), HashSet::new());
        for text in texts {
            let hash = sha256(text.as_bytes());
            if seen.insert(hash) && self.stored_vector(store, side, &hash)?.is_none() {
                missing.push((hash, text));
            }
        }
        // Texts of similar length in a batch are encoded faster.
        missing.sort_by_key(|(_, text)| character_count(text));
        let (dim, total) = (self.cached.dim(), seen.len() as u64);
        let mut done = total - missing.len() as u64;
        for batch in missing.chunks(BATCH) {
            report(progress, stage, done, total)?;
            let texts: Vec<&str> = batch.iter().map(|(_, text)| &**text).collect();
            let hashes: Vec<[u8; 32]> = batch.iter().map(|(hash, _)| *hash).collect();
            // Vectors of the published texts are in the index and need no cache.
            let encoded = self.cached.inner().encode(side, &texts);
            let vectors = encoded.map_err(AnswerIndexError::from)?;
            // A stored vector that no index takes would make every later state fail.
            let is_usable = |row: &[f32]| {
                row.iter().all(|value| value.is_finite()) && row.iter().any(|value| *value != 0.0)
            };
            let rows = vectors.chunks_exact(dim.max(1));
            if let Some((_, text)) = rows.zip(&texts).find(|(row, _)| !is_usable(row)) {
                let text = text.chars().take(80).collect();
                return Err(PublishError::Vector { text });
            }
            store.set_vectors(&self.name, side, &hashes, &vectors, dim)?;
            done += batch.len() as u64;
            self.encoded
                .fetch_add(batch.len() as u64, Ordering::Relaxed);
        }
        report(progress, stage, total, total)?;
        tracing::info!(encoded = missing.len(), texts = total, stage, "encoded");
        Ok(())
    }
}
