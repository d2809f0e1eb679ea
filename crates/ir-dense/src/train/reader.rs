//! Training of an extractive reader.

use std::ops::Range;
use std::path::Path;

use ir_core::{Fnv1a, Progress, Side, byte_offset};
use rayon::prelude::*;

use super::checkpoint::TrainingState;
use super::config::check_precision;
use super::headed::{HeadLoss, HeadedGradients, HeadedTransformer, PassSettings, TrainedHead};
use super::run::{self, Checkpoints, Observers, TrainingTask, checkpoint_functions};
use super::sampler::EpochOrder;
use super::{ReaderTrainingConfig, TrainError, TrainingHistory};
use crate::model_folder::NamedTensor;
use crate::reader::head::SpanHead;
use crate::reader::windows::Window;
use crate::reader::{ExtractiveReader, MissingHead, ReaderConfig};
use crate::transformer::ModelWeights;
use crate::transformer::batch::{TokenSequence, by_length};
use crate::transformer::dropout::Dropout;

/// Question with an answer that is a span of a context.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReaderExample {
    /// Question that the span answers.
    pub question: String,
    /// Text with the answer.
    pub context: String,
    /// Range of the answer in the context, in characters; `None` if the context has no answer.
    pub answer: Option<Range<usize>>,
}

impl ReaderExample {
    /// Creates an example with an answer.
    pub fn new(
        question: impl Into<String>,
        context: impl Into<String>,
        answer: Range<usize>,
    ) -> Self {
        Self {
            question: question.into(),
            context: context.into(),
            answer: Some(answer),
        }
    }

    /// Creates an example without an answer, as in SQuAD 2.
    pub fn unanswerable(question: impl Into<String>, context: impl Into<String>) -> Self {
        Self {
            question: question.into(),
            context: context.into(),
            answer: None,
        }
    }

    /// Range of the answer in bytes. Error if it is empty or beyond the end.
    fn bytes(&self, number: usize) -> Result<Option<Range<usize>>, TrainError> {
        let Some(answer) = &self.answer else {
            return Ok(None);
        };
        let start = byte_offset(&self.context, answer.start);
        let end = byte_offset(&self.context, answer.end);
        match (start, end) {
            (Some(start), Some(end)) if start < end => Ok(Some(start..end)),
            _ => Err(TrainError::AnswerSpan {
                example: number,
                span: answer.clone(),
                length: self.context.chars().count(),
            }),
        }
    }
}

/// Window with the tokens of its targets.
#[derive(Debug)]
struct TargetWindow {
    window: Window,
    /// Tokens of the start and the end of the answer; 0, `[CLS]`, if the window has no answer.
    targets: [usize; 2],
}

/// Trainer of an extractive reader.
///
/// The loss of a window is the mean of two softmax cross-entropies over its tokens, for the start
/// and for the end of the answer. In a window without the whole answer both targets are the
/// first token, `[CLS]`. Padding takes no part in the softmax, so that the loss does not depend on
/// the batch.
///
/// The same model, data and configuration give the same weights, byte for byte, on any number of
/// threads, and after any number of interruptions ([`ReaderTrainer::with_checkpoints`]).
///
/// ```no_run
/// use ir_core::NoProgress;
/// use ir_dense::train::{ReaderExample, ReaderTrainer, ReaderTrainingConfig};
///
/// let context = "The bridge was built in 1890.";
/// let data = [
///     ReaderExample::new("When was the bridge built?", context, 24..28),
///     // and some thousands more
/// ];
/// let trainer = ReaderTrainer::open("all-MiniLM-L6-v2", &ReaderTrainingConfig::default())?;
/// let trained = trainer.train(&data, &mut NoProgress)?;
/// trained.reader.save("my-reader")?;
/// # Ok::<(), ir_dense::train::TrainError>(())
/// ```
///
/// # Source
/// Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers for Language
/// Understanding", NAACL 2019, section 4.2.
#[derive(Debug)]
pub struct ReaderTrainer {
    reader: ExtractiveReader,
    model: HeadedTransformer<SpanHead>,
    config: ReaderTrainingConfig,
    checkpoints: Checkpoints,
}

/// Result of the training of a reader.
#[derive(Debug)]
#[non_exhaustive]
pub struct ReaderTrainingResult {
    /// Reader with the weights of the last step.
    pub reader: ExtractiveReader,
    /// Loss over the steps.
    pub history: TrainingHistory,
    /// Number of windows of the training set.
    pub windows: usize,
    /// Number of examples without a window that has their whole answer: it is longer than a window,
    /// or is cut by every window.
    pub cut_answers: usize,
    /// Hash of model, configuration and examples: runs with the same fingerprint have the same
    /// weights.
    pub fingerprint: u64,
}

impl ReaderTrainer {
    /// Opens a folder in the Hugging Face layout. A model without a span head, such as a sentence
    /// encoder, gets one with random weights.
    ///
    /// # Errors
    /// If the model cannot be read or a configuration value is out of range.
    pub fn open(
        folder: impl AsRef<Path>,
        config: &ReaderTrainingConfig,
    ) -> Result<Self, TrainError> {
        config.validate()?;
        let missing = MissingHead::Random(config.seed);
        let reader = ExtractiveReader::load(folder.as_ref(), &config.reader, missing)?;
        let model = reader.weights.transformer()?;
        check_precision(config.precision, model.config())?;
        Ok(Self {
            model: HeadedTransformer::new(model, reader.head.clone()),
            reader,
            config: config.clone(),
            checkpoints: Checkpoints::default(),
        })
    }

    checkpoint_functions!();

    /// Configuration of the reader.
    pub fn reader_config(&self) -> &ReaderConfig {
        &self.config.reader
    }

    /// Returns the [fingerprint](ReaderTrainingResult::fingerprint) that training would have. Reads
    /// all weights and examples.
    pub fn fingerprint(&self, data: &[ReaderExample]) -> u64 {
        self.initial_state(data).fingerprint()
    }

    fn initial_state(&self, data: &[ReaderExample]) -> TrainingState {
        let models = std::slice::from_ref(&self.model);
        TrainingState::new(
            &self.config,
            fingerprint(data),
            self.reader.identity(),
            models,
        )
    }

    /// Trains for all epochs; reports progress in steps.
    ///
    /// # Errors
    /// If there are no examples, an answer is not in its context, tokenization fails, the loss is
    /// not finite, a checkpoint is damaged or of another run, or `progress` requests a stop
    /// ([`TrainError::Stopped`]).
    pub fn train(
        self,
        data: &[ReaderExample],
        progress: &mut dyn Progress,
    ) -> Result<ReaderTrainingResult, TrainError> {
        let (windows, cut_answers) = self.windows(data)?;
        if windows.is_empty() {
            return Err(TrainError::Empty);
        }
        let state = self.initial_state(data);
        let Self {
            reader,
            model,
            config,
            checkpoints,
        } = self;
        let settings = config.run_settings();
        let per_epoch = windows.len().div_ceil(config.batch_size) as u64;
        let task = ReaderTask {
            reader,
            models: vec![model],
            config: &config,
            order: EpochOrder::new(config.seed, windows.len(), config.batch_size),
            per_epoch,
            windows,
        };
        let observers = Observers {
            evaluate: None,
            callback: &mut |_| Ok(()),
            progress,
        };
        let finished = run::run(task, state, settings, per_epoch, &checkpoints, observers)?;
        Ok(ReaderTrainingResult {
            reader: finished.task.model()?,
            fingerprint: finished.fingerprint,
            history: finished.history,
            windows: finished.task.windows.len(),
            cut_answers,
        })
    }

    /// Windows of all examples, and the number of examples without a window that contains the
    /// answer.
    fn windows(&self, data: &[ReaderExample]) -> Result<(Vec<TargetWindow>, usize), TrainError> {
        let reader = &self.reader;
        let of_example = |(number, example): (usize, &ReaderExample)| {
            let answer = example.bytes(number)?;
            let windows =
                reader
                    .windows
                    .windows(&reader.tokenizer, &example.question, &example.context);
            let windows = windows.map_err(|source| TrainError::Model(source.into()))?;
            let windows = windows.into_iter().map(|window| TargetWindow {
                targets: targets(&window, answer.as_ref()),
                window,
            });
            let windows: Vec<TargetWindow> = windows.collect();
            let is_cut = answer.is_some() && windows.iter().all(|it| it.targets == [0; 2]);
            Ok((windows, is_cut))
        };
        let found = data.par_iter().enumerate().map(of_example);
        let found: Vec<(Vec<TargetWindow>, bool)> = found.collect::<Result<_, TrainError>>()?;
        let cut = found.iter().filter(|(_, is_cut)| *is_cut).count();
        let windows = found.into_iter().flat_map(|(windows, _)| windows);
        Ok((windows.collect(), cut))
    }
}

/// Reader with the windows of a run.
struct ReaderTask<'a> {
    reader: ExtractiveReader,
    models: Vec<HeadedTransformer<SpanHead>>,
    config: &'a ReaderTrainingConfig,
    order: EpochOrder,
    per_epoch: u64,
    windows: Vec<TargetWindow>,
}

impl TrainingTask for ReaderTask<'_> {
    type Part = HeadedTransformer<SpanHead>;
    type Model = ExtractiveReader;

    fn parts(&self) -> &[Self::Part] {
        &self.models
    }

    fn parts_mut(&mut self) -> &mut Vec<Self::Part> {
        &mut self.models
    }

    fn gradients(&mut self, step: u64) -> Result<(f64, Vec<HeadedGradients>), TrainError> {
        let batch = self.order.batch(step, self.per_epoch).iter();
        let batch: Vec<&TargetWindow> = batch.map(|&at| &self.windows[at as usize]).collect();
        let padding = self.reader.tokenizer.padding();
        let (loss, gradients) = span_gradients(&self.models[0], self.config, padding, &batch, step);
        Ok((loss, vec![gradients]))
    }

    fn model(&self) -> Result<ExtractiveReader, TrainError> {
        let (mut reader, trained) = (self.reader.clone(), &self.models[0]);
        reader.weights = ModelWeights::Module(Box::new(trained.model.clone()));
        reader.head = trained.head.clone();
        Ok(reader.prepared()?)
    }
}

/// Loss of a batch of windows and its gradients.
fn span_gradients(
    model: &HeadedTransformer<SpanHead>,
    config: &ReaderTrainingConfig,
    padding: u32,
    batch: &[&TargetWindow],
    step: u64,
) -> (f64, HeadedGradients) {
    let sequences: Vec<TokenSequence<'_>> = batch.iter().map(|it| it.window.tokens()).collect();
    let mini_batches = by_length(&sequences, config.mini_batch_size);
    let settings = PassSettings {
        precision: config.precision,
        dropout: Dropout::new(config.dropout, config.seed, step, Side::Query),
        padding,
    };
    model.gradients(
        &sequences,
        &mini_batches,
        settings,
        |windows, states, rows| {
            let logits = model.head.logits(states);
            let mut d_logits = vec![[0.0; 2]; logits.len()];
            let losses = windows.iter().zip(rows).map(|(&at, rows)| {
                let d = &mut d_logits[rows.clone()];
                span_loss(&logits[rows.clone()], batch[at].targets, batch.len(), d)
            });
            let losses = losses.collect();
            let (head, states) = model.head.backward(states, &d_logits);
            HeadLoss {
                losses,
                head: head.into(),
                states,
            }
        },
    )
}

impl TrainedHead for SpanHead {
    fn named_tensors(&self) -> Vec<NamedTensor> {
        self.named_tensors()
    }

    fn elements_mut(&mut self, name: &str) -> Option<&mut Vec<f32>> {
        self.0.elements_mut(name)
    }
}

/// Hash of the texts and answers of all examples.
fn fingerprint(data: &[ReaderExample]) -> u64 {
    let mut hash = Fnv1a::new();
    let number = |hash: &mut Fnv1a, n: usize| hash.write(&(n as u64).to_le_bytes());
    for example in data {
        for text in [&example.question, &example.context] {
            number(&mut hash, text.len());
            hash.write(text.as_bytes());
        }
        // No answer begins there.
        let answer = example.answer.clone().unwrap_or(usize::MAX..usize::MAX);
        number(&mut hash, answer.start);
        number(&mut hash, answer.end);
    }
    hash.finish()
}

/// Tokens of the start and the end of an answer, in bytes; 0 if the window does not have all of it.
fn targets(window: &Window, answer: Option<&Range<usize>>) -> [usize; 2] {
    let span = answer.and_then(|answer| {
        let has = |at: &Range<usize>, byte: usize| at.start <= byte && byte < at.end;
        let mut offsets = window.offsets.iter();
        let first = offsets.clone().position(|at| has(at, answer.start))?;
        let last = offsets.rposition(|at| has(at, answer.end - 1))?;
        Some([window.first + first, window.first + last])
    });
    span.unwrap_or([0; 2])
}

/// Loss of a window as its part of the mean over `windows`; writes its gradient.
fn span_loss(
    logits: &[[f32; 2]],
    targets: [usize; 2],
    windows: usize,
    d_logits: &mut [[f32; 2]],
) -> f64 {
    let weight = 1.0 / (2 * windows) as f64;
    let mut loss = 0.0;
    for (side, target) in targets.into_iter().enumerate() {
        let values = logits.iter().map(|it| f64::from(it[side]));
        let max = values.clone().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = values.clone().map(|x| (x - max).exp()).sum();
        for (at, (x, d)) in values.clone().zip(d_logits.iter_mut()).enumerate() {
            let target = f64::from(u8::from(at == target));
            d[side] = (((x - max).exp() / sum - target) * weight) as f32;
        }
        let target = values.clone().nth(target).unwrap_or(max);
        loss += (sum.ln() + max - target) * weight;
    }
    loss
}

#[cfg(test)]
#[path = "tests/reader.rs"]
#[allow(clippy::unwrap_used)]
mod tests;
