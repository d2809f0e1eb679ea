//! Training of an extractive reader.

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use burn::tensor::{Device, Tensor, TensorData};
use ir_core::{Flow, Fnv1a, Progress, Side, SplitMix64, byte_offset};
use rayon::prelude::*;

use super::backward::propagate_gradients;
use super::checkpoint::{CheckpointFolder, CheckpointedModel, TrainingState};
use super::config::check_precision;
use super::gradcache::CpuTrainingCache;
use super::gradients::{Gradient, ModelGradients};
use super::history::TrainingStep;
use super::optimizer::{AdamWState, AdamWStep};
use super::{ReaderTrainingConfig, TrainError, TrainingHistory};
use crate::kernels::memory;
use crate::model_folder::NamedTensor;
use crate::reader::head::{HEAD_BIAS, HEAD_WEIGHT, HeadGradients, SpanHead};
use crate::reader::windows::Window;
use crate::reader::{ExtractiveReader, MissingHead, ReaderConfig, split, token_batch};
use crate::transformer::dropout::Dropout;
use crate::transformer::pass::ForwardPass;
use crate::transformer::{ModelWeights, Transformer};

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
    model: Transformer,
    cpu: CpuTrainingCache,
    config: ReaderTrainingConfig,
    checkpoints: Option<CheckpointFolder>,
    checkpoint_every: u64,
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
        let config = config.clone();
        Ok(Self {
            reader,
            model,
            cpu: CpuTrainingCache::default(),
            config,
            checkpoints: None,
            checkpoint_every: 100,
        })
    }

    /// Writes checkpoints to a folder and resumes from the checkpoint that it has, as
    /// [`Trainer::with_checkpoints`](super::Trainer::with_checkpoints).
    pub fn with_checkpoints(mut self, folder: impl Into<PathBuf>) -> Self {
        self.checkpoints = Some(CheckpointFolder(folder.into()));
        self
    }

    /// Sets the number of steps between checkpoints. Default: 100. The last step and interruptions
    /// write a checkpoint as well.
    pub fn with_checkpoint_every(mut self, steps: u64) -> Self {
        self.checkpoint_every = steps.max(1);
        self
    }

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
        let models = std::slice::from_ref(self);
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
        mut self,
        data: &[ReaderExample],
        progress: &mut dyn Progress,
    ) -> Result<ReaderTrainingResult, TrainError> {
        let (windows, cut_answers) = self.windows(data)?;
        if windows.is_empty() {
            return Err(TrainError::Empty);
        }
        let steps = self.config.steps(windows.len());
        let per_epoch = self.config.steps_per_epoch(windows.len());
        let mut state = self.initial_state(data);
        let mut optimizer = AdamWState::default();
        if let Some(checkpoints) = self.checkpoints.clone() {
            let (model, moments) = (
                std::slice::from_mut(&mut self),
                std::slice::from_mut(&mut optimizer),
            );
            state = checkpoints.load(&state, model, moments)?.unwrap_or(state);
        }
        // Windows of the epoch in the order of training.
        let mut order: (Option<u64>, Vec<usize>) = (None, Vec::new());
        while state.step < steps {
            let step = state.step;
            if progress.report("training", step, Some(steps)) == Flow::Stop {
                self.save_checkpoint(&state, &optimizer)?;
                return Err(TrainError::Stopped { step, steps });
            }
            let (epoch, index) = (step / per_epoch, (step % per_epoch) as usize);
            if order.0 != Some(epoch) {
                let mut windows: Vec<usize> = (0..windows.len()).collect();
                let all = windows.len();
                SplitMix64::new(self.config.seed, epoch).partial_shuffle(&mut windows, all);
                order = (Some(epoch), windows);
            }
            let size = self.config.batch_size;
            let batch = order.1.chunks(size).nth(index).unwrap_or_default();
            let batch: Vec<&TargetWindow> = batch.iter().map(|&at| &windows[at]).collect();
            let (loss, gradients) = self.gradients(&batch, step);
            let rate = self.config.learning_rate * self.config.schedule.factor(step, steps);
            let norm = gradients.norm(&self.model);
            if !(loss.is_finite() && norm.is_finite()) {
                return Err(TrainError::NotFinite { step, loss, norm });
            }
            self = self.updated(gradients, &mut optimizer, norm, rate, step + 1);
            state.step += 1;
            state.history.steps.push(TrainingStep {
                step: step + 1,
                epoch: epoch + 1,
                learning_rate: rate,
                loss,
                gradient_norm: norm,
            });
            if state.step == steps || state.step.is_multiple_of(self.checkpoint_every) {
                self.save_checkpoint(&state, &optimizer)?;
            }
        }
        progress.report("training", steps, Some(steps));
        self.reader.weights = ModelWeights::Module(Box::new(self.model));
        Ok(ReaderTrainingResult {
            reader: self.reader.prepared()?,
            fingerprint: state.fingerprint(),
            history: state.history,
            windows: windows.len(),
            cut_answers,
        })
    }

    fn save_checkpoint(
        &self,
        state: &TrainingState,
        optimizer: &AdamWState,
    ) -> Result<(), TrainError> {
        match &self.checkpoints {
            None => Ok(()),
            Some(checkpoints) => checkpoints.save(
                state,
                std::slice::from_ref(self),
                std::slice::from_ref(optimizer),
            ),
        }
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

    /// Loss of a batch and its gradients.
    fn gradients(&self, batch: &[&TargetWindow], step: u64) -> (f64, ReaderGradients) {
        let reader = &self.reader;
        let padded = self.model.device() != Device::flex();
        let dropout = Dropout::new(self.config.dropout, self.config.seed, step, Side::Query);
        let mut gradients = ReaderGradients::new(&reader.head);
        let mut loss = 0.0;
        // Sorted by length, so that windows of a mini-batch have similar lengths.
        let mut order: Vec<usize> = (0..batch.len()).collect();
        order.sort_by_key(|&at| (std::cmp::Reverse(batch[at].window.ids.len()), at));
        let cpu = self.cpu.load(&self.model, self.config.precision);
        let size = self.config.mini_batch_size.unwrap_or(batch.len());
        for texts in order.chunks(size.max(1)) {
            let windows: Vec<&Window> = texts.iter().map(|&at| &batch[at].window).collect();
            let tokens = token_batch(&windows, padded, reader.tokenizer.padding());
            let pass = ForwardPass {
                model: &self.model,
                cpu: cpu.as_ref(),
                batch: &tokens,
                save: true,
                dropout,
                texts,
            };
            let (states, saved) = pass.run();
            let (device, shape) = (states.device(), states.dims());
            let states = memory::data(states);
            let states = memory::values(&states);
            let logits = reader.head.logits(states);
            let of_windows = split(&logits, &windows, padded);
            // Gradients of padding are 0.
            let mut d_logits = vec![[0.0; 2]; logits.len()];
            let longest = windows.iter().map(|it| it.ids.len()).max().unwrap_or(0);
            let mut from = 0;
            for (&at, logits) in texts.iter().zip(&of_windows) {
                let d = &mut d_logits[from..from + logits.len()];
                loss += span_loss(logits, batch[at].targets, batch.len(), d);
                from += if padded { longest } else { logits.len() };
            }
            let (of_head, d_states) = reader.head.backward(states, &d_logits);
            gradients.add_head(&of_head);
            let d_states = Tensor::from_data(TensorData::new(d_states, shape), &device);
            if let Some(saved) = saved {
                propagate_gradients(&pass, saved, d_states, &mut gradients.model);
            }
        }
        self.cpu.keep(cpu);
        (loss, gradients)
    }

    /// The trainer with updated weights.
    fn updated(
        mut self,
        gradients: ReaderGradients,
        optimizer: &mut AdamWState,
        norm: f64,
        learning_rate: f64,
        time: u64,
    ) -> Self {
        let max = self.config.max_gradient_norm;
        let step = AdamWStep {
            config: &self.config.optimizer,
            learning_rate,
            clip_factor: max.map_or(1.0, |max| (max / (norm + 1e-6)).min(1.0)),
            time,
        };
        for parameter in self.reader.head.named_tensors() {
            let is_bias = parameter.name == HEAD_BIAS;
            let gradient = if is_bias {
                &gradients.head.bias
            } else {
                &gradients.head.weight
            };
            let gradient = Gradient::Values(gradient.clone());
            let updated = memory::data(optimizer.update_parameter(parameter, &gradient, step));
            let updated = memory::values(&updated).to_vec();
            if is_bias {
                self.reader.head.bias = updated;
            } else {
                self.reader.head.weight = updated;
            }
        }
        // Moved, so that the weights are updated in place.
        let buffers;
        (self.model, buffers) = optimizer.update(self.model, gradients.model, step);
        self.cpu.give(buffers);
        self
    }
}

/// Transformer and head. The head is trained on the CPU.
impl CheckpointedModel for ReaderTrainer {
    fn parameters(&self) -> Vec<NamedTensor> {
        let mut parameters = self.model.parameters();
        parameters.extend(self.reader.head.named_tensors());
        parameters
    }

    fn device(&self, parameter: &str) -> Device {
        match parameter {
            HEAD_WEIGHT | HEAD_BIAS => Device::flex(),
            _ => self.model.device(),
        }
    }

    fn set_parameters(&mut self, mut values: HashMap<String, Tensor<1>>) {
        let head = &mut self.reader.head;
        for (name, elements) in [(HEAD_WEIGHT, &mut head.weight), (HEAD_BIAS, &mut head.bias)] {
            if let Some(tensor) = values.remove(name) {
                *elements = memory::values(&memory::data(tensor)).to_vec();
            }
        }
        let model = self.model.clone();
        self.model = model
            .map_parameters(|parameter| values.remove(&parameter.name).unwrap_or(parameter.values));
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

/// Gradients of transformer and head.
struct ReaderGradients {
    model: ModelGradients,
    head: HeadGradients,
}

impl ReaderGradients {
    fn new(head: &SpanHead) -> Self {
        Self {
            model: ModelGradients::default(),
            head: HeadGradients {
                weight: vec![0.0; head.weight.len()],
                bias: vec![0.0; head.bias.len()],
            },
        }
    }

    fn add_head(&mut self, other: &HeadGradients) {
        let add = |sums: &mut [f32], values: &[f32]| {
            sums.iter_mut().zip(values).for_each(|(sum, x)| *sum += x);
        };
        add(&mut self.head.weight, &other.weight);
        add(&mut self.head.bias, &other.bias);
    }

    /// Global gradient norm, of transformer and head.
    fn norm(&self, transformer: &Transformer) -> f64 {
        let head = self.head.weight.iter().chain(&self.head.bias);
        let head: f64 = head.map(|&x| f64::from(x).powi(2)).sum();
        (self.model.squared_norm(transformer) + head).sqrt()
    }
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
