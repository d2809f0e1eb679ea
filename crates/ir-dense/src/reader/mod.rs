//! Extractive reader: a transformer with a span head over pairs of a question and a context.
//!
//! - `windows`: pairs to token ids, in windows of the context
//! - `head`: logits of start and end
//! - `spans`: spans by their logits
//! - `save`: model folders

mod config;
pub(crate) mod head;
mod save;
mod spans;
pub(crate) mod windows;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ir_core::{AnswerSpan, Reader, ReaderError, ReaderInput, character_count};
use rayon::prelude::*;
use serde_json::{Value, json};

pub use config::ReaderConfig;
use head::{HEAD_WEIGHT, SpanHead};
pub(crate) use save::{body_tensors, class_stem};
use spans::{best_spans, null_score};
use windows::{Window, WindowBuilder};

use crate::encode::module_entry::transformer_folder;
use crate::encode::{EncoderConfig, ModelTokenizer, SequenceBatches};
use crate::error::ModelError;
use crate::model_folder::{ADAPTER_CONFIG, TensorSource, TransformerConfig};
use crate::precision::Precision;
use crate::random_model::RandomWeights;
use crate::transformer::batch::TokenSequence;
use crate::transformer::{InferenceModel, ModelWeights};

/// Extractive reader: finds the span of a context that answers a question, with a model such as
/// `BertForQuestionAnswering`.
///
/// Question and context are one sequence, `[CLS] question [SEP] context [SEP]`. Each token has a
/// logit for the start of the span and one for its end, and the score of a span is the sum of both.
/// A long context is read in windows that overlap. On the default backend, the bytes of a score
/// depend on the input alone: not on other inputs, the batch size or the number of threads.
///
/// ```no_run
/// use ir_core::{Reader, ReaderInput};
/// use ir_dense::ExtractiveReader;
///
/// let reader = ExtractiveReader::open("bert-base-squad")?;
/// let context = "The bridge was built in 1890. It is made of steel.";
/// let spans = reader.read(&[ReaderInput::new("When was the bridge built?", context)], 3)?;
/// for span in &spans[0] {
///     println!("{:.3} {}", span.score, span.text(context));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Source
/// Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers for Language
/// Understanding", NAACL 2019, section 4.2.
#[derive(Debug, Clone)]
pub struct ExtractiveReader {
    pub(crate) folder: PathBuf,
    pub(crate) weights: ModelWeights,
    pub(crate) head: SpanHead,
    pub(crate) tokenizer: ModelTokenizer,
    pub(crate) windows: WindowBuilder,
    config: ReaderConfig,
    /// `None` before [`ExtractiveReader::prepared`].
    inference: Option<Arc<InferenceModel>>,
}

/// What a folder without a span head means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MissingHead {
    Error,
    /// Random weights, a function of this seed.
    Random(u64),
}

/// Start and end logits of a window of the context.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct WindowLogits {
    /// Token ids: question, window of the context and special tokens.
    pub ids: Vec<u32>,
    /// Logit of every token as the start of the span.
    pub start: Vec<f32>,
    /// Logit of every token as the end of the span.
    pub end: Vec<f32>,
}

impl ExtractiveReader {
    /// Opens a folder in the Hugging Face layout; `modules.json` may name the folder of the
    /// transformer. The model must have a span head (`qa_outputs`): `BertForQuestionAnswering` and
    /// the classes of RoBERTa, DistilBERT and MPNet.
    ///
    /// # Errors
    /// Returns [`ModelError`] if a file is missing, unreadable or invalid, or the model is not
    /// supported or has no span head.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, ModelError> {
        Self::open_with(folder, &ReaderConfig::default())
    }

    /// Opens a folder with a configuration.
    ///
    /// # Errors
    /// Returns [`ModelError`] if a file is missing, unreadable or invalid, the model is not
    /// supported or has no span head, or the lengths of the configuration leave no room for the
    /// context.
    pub fn open_with(folder: impl AsRef<Path>, config: &ReaderConfig) -> Result<Self, ModelError> {
        Self::load(folder.as_ref(), config, MissingHead::Error)?.prepared()
    }

    /// Opens a folder without reading the weights of the transformer.
    pub(crate) fn load(
        folder: &Path,
        config: &ReaderConfig,
        missing: MissingHead,
    ) -> Result<Self, ModelError> {
        let device = config.backend.device()?;
        let folder = &transformer_folder(folder)?;
        let shape = TransformerConfig::read(folder)?;
        if let Some(adapter) = &shape.layer.adapter {
            let (path, expected) = (folder.join(ADAPTER_CONFIG), "no adapter of a reader");
            return Err(ModelError::setting(&path, "name", expected, &adapter.name));
        }
        let tokenizer = ModelTokenizer::open(folder)?;
        tokenizer.check_vocabulary(shape.vocab_size)?;
        let windows = WindowBuilder::new(folder, &shape, &tokenizer, config)?;
        let hidden = shape.hidden_size;
        let (weights, file) = ModelWeights::open(folder, shape, device)?;
        let has_head = file.names().iter().any(|name| name == HEAD_WEIGHT);
        let head = match missing {
            MissingHead::Random(seed) if !has_head => SpanHead::load(&RandomWeights(seed), hidden)?,
            MissingHead::Error if !has_head => {
                let expected = "a model with a span head (BertForQuestionAnswering), which training a reader adds";
                let found = format!("without the tensor {HEAD_WEIGHT}");
                return Err(ModelError::setting(
                    file.path(),
                    "the model",
                    expected,
                    found,
                ));
            }
            _ => SpanHead::load(&*file, hidden)?,
        };
        Ok(Self {
            folder: folder.into(),
            weights,
            head,
            tokenizer,
            windows,
            config: config.clone(),
            inference: None,
        })
    }

    /// Returns what determines the logits besides weights, for checkpoints.
    pub(crate) fn identity(&self) -> Value {
        let windows = &self.windows;
        json!({
            "transformer": self.weights.config().identity(),
            "tokenizer": self.tokenizer.identity(),
            "max_tokens": windows.max_tokens,
            "stride": windows.stride,
            "max_question_tokens": windows.max_question_tokens,
        })
    }

    /// Reads the weights for inference.
    pub(crate) fn prepared(mut self) -> Result<Self, ModelError> {
        self.inference = Some(self.weights.inference(Precision::F32, &self.folder)?);
        Ok(self)
    }

    /// Configuration of the reader.
    pub fn config(&self) -> &ReaderConfig {
        &self.config
    }

    /// Maximum sequence length in tokens.
    pub fn max_tokens(&self) -> usize {
        self.windows.max_tokens
    }

    /// Returns the logits of every window of a context.
    ///
    /// # Errors
    /// If tokenization fails, or a logit is not finite.
    pub fn logits(&self, question: &str, context: &str) -> Result<Vec<WindowLogits>, ModelError> {
        let windows = self.windows.windows(&self.tokenizer, question, context)?;
        let logits = self.window_logits(&windows)?;
        let pairs = windows.into_iter().zip(logits);
        let window = |(window, logits): (Window, Vec<[f32; 2]>)| WindowLogits {
            ids: window.ids,
            start: logits.iter().map(|[start, _]| *start).collect(),
            end: logits.iter().map(|[_, end]| *end).collect(),
        };
        Ok(pairs.map(window).collect())
    }

    /// Logits of start and end for every token of every window.
    fn window_logits(&self, windows: &[Window]) -> Result<Vec<Vec<[f32; 2]>>, ModelError> {
        let Some(model) = self.inference.as_deref() else {
            return Ok(vec![Vec::new(); windows.len()]);
        };
        let sequences: Vec<TokenSequence<'_>> = windows.iter().map(Window::tokens).collect();
        let batches = SequenceBatches {
            model,
            sequences: &sequences,
            attended: &[],
            config: &EncoderConfig::default().with_batch_tokens(self.config.batch_tokens),
            padding: self.tokenizer.padding(),
            uses_team: false,
        };
        let logits = batches.map(|_, states| self.head.logits(states));
        let mut values = logits.iter().flatten().flatten();
        match values.find(|value| !value.is_finite()) {
            Some(&value) => Err(ModelError::Overflow { value }),
            None => Ok(logits),
        }
    }

    fn spans(
        &self,
        input: &ReaderInput<'_>,
        windows: &[Window],
        logits: &[Vec<[f32; 2]>],
        n_best: usize,
    ) -> Vec<AnswerSpan> {
        let max_tokens = self.config.max_answer_tokens;
        let mut spans = best_spans(windows, logits, &input.bytes(), max_tokens, n_best);
        if let Some(threshold) = self.config.no_answer_threshold {
            let null = null_score(logits);
            spans.retain(|span| span.score - null > threshold);
        }
        let characters =
            |byte: usize| character_count(input.context.get(..byte).unwrap_or_default());
        let span = |span: spans::ScoredSpan| AnswerSpan {
            characters: characters(span.bytes.start)..characters(span.bytes.end),
            score: span.score,
        };
        spans.into_iter().map(span).collect()
    }
}

/// Number of inputs that are split into windows and encoded at once.
const CHUNK: usize = 256;

impl Reader for ExtractiveReader {
    fn read(
        &self,
        inputs: &[ReaderInput<'_>],
        n_best: usize,
    ) -> Result<Vec<Vec<AnswerSpan>>, ReaderError> {
        let failed = |source: ModelError| ReaderError(Box::new(source));
        let mut spans = Vec::with_capacity(inputs.len());
        for inputs in inputs.chunks(CHUNK) {
            let windows = inputs.par_iter().map(|input| {
                let windows = &self.windows;
                windows.windows(&self.tokenizer, input.question, input.context)
            });
            let windows: Vec<Vec<Window>> = windows
                .collect::<Result<_, _>>()
                .map_err(|source| failed(source.into()))?;
            let counts: Vec<usize> = windows.iter().map(Vec::len).collect();
            let windows = windows.concat();
            let logits = self.window_logits(&windows).map_err(failed)?;
            let mut from = 0;
            for (input, count) in inputs.iter().zip(counts) {
                let range = from..from + count;
                from = range.end;
                let (windows, logits) = (&windows[range.clone()], &logits[range]);
                spans.push(self.spans(input, windows, logits, n_best));
            }
        }
        Ok(spans)
    }
}
