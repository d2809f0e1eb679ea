//! Training of a cross-encoder.

use std::ops::Range;
use std::path::Path;

use burn::tensor::{Tensor, TensorData};
use ir_core::training::TrainingSet;
use ir_core::{Progress, Side, SplitMix64};
use serde_json::{Value, json};

use super::checkpoint::TrainingState;
use super::classification_head::HeadPass;
use super::config::check_precision;
use super::headed::{HeadLoss, HeadedGradients, HeadedTransformer, PassSettings};
use super::run::{
    self, Checkpoints, FinishedRun, Observers, TrainingTask, checkpoint_functions, train_functions,
    training_result,
};
use super::sampler::{BatchSampler, TrainingBatch, check_scores};
use super::{
    CrossEncoderLoss, CrossEncoderTrainingConfig, EvaluateFn, HistoryCallback, TrainError,
    TrainingHistory, loss,
};
use crate::cross_encoder::head::ClassificationHead;
use crate::cross_encoder::scoring::ScoringHead;
use crate::cross_encoder::{CrossEncoder, Windows};
use crate::error::ModelError;
use crate::reader::MissingHead;
use crate::transformer::ModelWeights;
use crate::transformer::batch::TokenSequence;
use crate::transformer::dropout::Dropout;

/// Trainer of a cross-encoder.
///
/// Each query of a step is paired with one of its positives, hard negatives and, if the
/// configuration has them, in-batch negatives. A document that does not fit beside its query is
/// truncated. Dropout is applied in the transformer, not in the head.
///
/// The same model, data and configuration give the same weights, byte for byte, on any number of
/// threads, and also if training was interrupted and resumed.
///
/// ```no_run
/// use ir_core::NoProgress;
/// use ir_core::training::{TrainingExample, TrainingText};
/// use ir_dense::train::{CrossEncoderTrainer, CrossEncoderTrainingConfig};
///
/// let data = vec![
///     TrainingExample::new("how is tea brewed")
///         .positive(TrainingText::new("Pour hot water over the leaves."))
///         .negative(TrainingText::new("Tea is grown on hills.")),
///     // and some thousands more
/// ];
/// let config = CrossEncoderTrainingConfig::default();
/// let trainer = CrossEncoderTrainer::open("all-MiniLM-L6-v2", &config)?
///     .with_checkpoints("checkpoints");
/// let trained = trainer.train(&data, &mut NoProgress)?;
/// trained.cross_encoder.save("my-reranker")?;
/// # Ok::<(), ir_dense::train::TrainError>(())
/// ```
///
/// # Source
/// Nogueira and Cho, "Passage Re-ranking with BERT", 2019; with hard negatives Gao et al., "Rethink
/// Training of BERT Rerankers in Multi-Stage Retrieval Pipeline", ECIR 2021.
#[derive(Debug)]
pub struct CrossEncoderTrainer {
    cross_encoder: CrossEncoder,
    model: HeadedTransformer<ClassificationHead>,
    config: CrossEncoderTrainingConfig,
    checkpoints: Checkpoints,
}

training_result! {
    /// Result of the training of a cross-encoder.
    CrossEncoderTrainingResult {
        /// Cross-encoder with the weights of the best evaluation, or of the last step without
        /// evaluation.
        cross_encoder: CrossEncoder
    }
}

impl CrossEncoderTrainer {
    /// Opens a folder in the Hugging Face layout. An encoder, such as a sentence encoder, gets a
    /// head with one label; weights of the head that the folder lacks are random.
    ///
    /// # Errors
    /// Returns [`TrainError`] if the model cannot be read, its head is not a classification head
    /// with one label, a configuration value is out of range, or the layers of the model have no
    /// kernels for the precision of training.
    pub fn open(
        folder: impl AsRef<Path>,
        config: &CrossEncoderTrainingConfig,
    ) -> Result<Self, TrainError> {
        config.validate()?;
        let missing = MissingHead::Random(config.seed);
        let mut cross_encoder =
            CrossEncoder::load(folder.as_ref(), &config.cross_encoder, missing)?;
        cross_encoder.one_label()?;
        cross_encoder.pairs.windows = Windows::First;
        let Some(head) = cross_encoder.head.classification().cloned() else {
            let path = cross_encoder.folder.join("config.json");
            let expected = "a classification head, which training needs";
            let found = "logits of tokens, or modules of sentence-transformers";
            return Err(ModelError::setting(&path, "the head", expected, found).into());
        };
        let model = cross_encoder.weights.transformer()?;
        check_precision(config.precision, model.config())?;
        Ok(Self {
            model: HeadedTransformer::new(model, head),
            cross_encoder,
            config: config.clone(),
            checkpoints: Checkpoints::default(),
        })
    }

    checkpoint_functions!();

    fn initial_state(&self, data: &dyn TrainingSet) -> TrainingState {
        let models = std::slice::from_ref(&self.model);
        let identity = identity(&self.cross_encoder, &self.model.head);
        TrainingState::new(&self.config, data.fingerprint(), identity, models)
    }

    train_functions!(CrossEncoder, CrossEncoderTrainingResult);

    /// Checks that every example has the negatives and scores that the loss needs.
    fn check_examples(&self, data: &dyn TrainingSet) -> Result<(), TrainError> {
        let config = &self.config;
        if data.is_empty() {
            return Err(TrainError::Empty);
        }
        let needs_negatives = config.loss.is_contrastive() && config.in_batch_negatives == 0;
        let is_label = matches!(config.loss, CrossEncoderLoss::BinaryCrossEntropy { .. });
        let has_others = config.in_batch_negatives > 0 && data.len().min(config.batch_size) > 1;
        let mut has_negatives = has_others || !config.loss.needs_negatives();
        for number in 0..data.len() {
            let example = data.get(number)?;
            let none = config.hard_negatives == 0 || example.negatives.is_empty();
            has_negatives |= !none;
            if needs_negatives && none {
                return Err(TrainError::NoNegatives { example: number });
            }
            if config.loss.is_distillation() {
                check_scores(number, &example, is_label)?;
            }
        }
        if has_negatives {
            Ok(())
        } else {
            Err(TrainError::OneCandidate)
        }
    }

    fn into_task<'a>(
        self,
        data: &'a dyn TrainingSet,
        config: &'a CrossEncoderTrainingConfig,
    ) -> CrossEncoderTask<'a> {
        CrossEncoderTask {
            cross_encoder: self.cross_encoder,
            models: vec![self.model],
            sampler: BatchSampler::new(data, config),
            config,
        }
    }
}

/// Returns what determines the logits besides weights, for checkpoints.
fn identity(model: &CrossEncoder, head: &ClassificationHead) -> Value {
    json!({
        "transformer": model.weights.config().identity(),
        "tokenizer": model.tokenizer.identity(),
        "pairs": model.pairs.identity(),
        "max_tokens": model.max_tokens(),
        "prompt": model.prompt(),
        "head": head.description(),
        "layers": head.layer_names(""),
    })
}

/// Cross-encoder with the examples of a run.
struct CrossEncoderTask<'a> {
    cross_encoder: CrossEncoder,
    models: Vec<HeadedTransformer<ClassificationHead>>,
    sampler: BatchSampler<'a>,
    config: &'a CrossEncoderTrainingConfig,
}

impl TrainingTask for CrossEncoderTask<'_> {
    type Part = HeadedTransformer<ClassificationHead>;
    type Model = CrossEncoder;

    fn parts(&self) -> &[Self::Part] {
        &self.models
    }

    fn parts_mut(&mut self) -> &mut Vec<Self::Part> {
        &mut self.models
    }

    fn gradients(&mut self, step: u64) -> Result<(f64, Vec<HeadedGradients>), TrainError> {
        let batch = self.sampler.batch(step)?;
        let pairs = StepPairs::new(&batch, self.config, step);
        let (cross_encoder, model) = (&self.cross_encoder, &self.models[0]);
        let (loss, gradients) = pairs.gradients(cross_encoder, model, self.config, step)?;
        Ok((loss, vec![gradients]))
    }

    fn model(&self) -> Result<CrossEncoder, TrainError> {
        let (mut model, trained) = (self.cross_encoder.clone(), &self.models[0]);
        model.weights = ModelWeights::Module(Box::new(trained.model.clone()));
        model.head = ScoringHead::Classification(trained.head.clone());
        model.pairs.windows = self.config.cross_encoder.windows;
        Ok(model.prepared()?)
    }
}

/// Pairs of a step, query by query.
pub(super) struct StepPairs<'a> {
    /// Query and document of every pair.
    pub(super) pairs: Vec<(&'a str, &'a str)>,
    /// Pairs of every query, the positive first.
    pub(super) queries: Vec<Range<usize>>,
    /// Teacher scores of all pairs; empty if the loss needs none.
    teacher_scores: &'a [f32],
}

impl<'a> StepPairs<'a> {
    pub(super) fn new(
        batch: &'a TrainingBatch,
        config: &CrossEncoderTrainingConfig,
        step: u64,
    ) -> Self {
        let documents = batch.documents.len();
        let (mut pairs, mut queries) = (Vec::new(), Vec::new());
        for (row, (query, own)) in batch.queries.iter().zip(&batch.candidates).enumerate() {
            let first = pairs.len();
            let is_negative = |at: &usize| !own.contains(at) && !batch.masked[row * documents + at];
            let mut others: Vec<usize> = (0..documents).filter(is_negative).collect();
            let count = config.in_batch_negatives.min(others.len());
            let name = format!("in-batch negatives of query {row} in step {step}");
            SplitMix64::from_name(config.seed, &name).partial_shuffle(&mut others, count);
            let chosen = own.clone().chain(others.into_iter().take(count));
            pairs.extend(chosen.map(|at| (&**query, &*batch.documents[at])));
            queries.push(first..pairs.len());
        }
        Self {
            pairs,
            queries,
            teacher_scores: &batch.teacher_scores,
        }
    }

    /// Pairs of the mini-batches. The pairs of a query are in the same one.
    fn mini_batches(&self, size: Option<usize>) -> Vec<Vec<usize>> {
        let size = size.unwrap_or(usize::MAX);
        let mut batches: Vec<Vec<usize>> = Vec::new();
        for query in &self.queries {
            match batches.last_mut() {
                Some(batch) if batch.len() + query.len() <= size => batch.extend(query.clone()),
                _ => batches.push(query.clone().collect()),
            }
        }
        batches
    }

    /// Returns the loss of the step and its gradients.
    pub(super) fn gradients(
        &self,
        cross_encoder: &CrossEncoder,
        model: &HeadedTransformer<ClassificationHead>,
        config: &CrossEncoderTrainingConfig,
        step: u64,
    ) -> Result<(f64, HeadedGradients), ModelError> {
        let documents = cross_encoder.tokenize(&self.pairs)?;
        let windows = documents.iter().map(|it| it.windows[0].tokens());
        let sequences: Vec<TokenSequence<'_>> = windows.collect();
        let settings = PassSettings {
            precision: config.precision,
            dropout: Dropout::new(config.dropout, config.seed, step, Side::Query),
            padding: cross_encoder.tokenizer.padding(),
        };
        let mini_batches = self.mini_batches(config.mini_batch_size);
        let of_pairs = |pairs: &[usize], states: &[f32], rows: &[Range<usize>]| {
            let ids: Vec<&[u32]> = pairs.iter().map(|&pair| sequences[pair].0).collect();
            let pass = HeadPass::new(&model.head, states, rows, &ids);
            let first = pairs.first().copied().unwrap_or(0);
            let own = first..first + pairs.len();
            let queries = self.queries.iter().filter(|it| own.contains(&it.start));
            let losses = queries.filter_map(|query| {
                let own = query.start - first..query.end - first;
                let logits = pass
                    .logits()
                    .slice([own.clone(), 0..1])
                    .reshape([1, own.len()]);
                self.loss(logits, query.clone(), config.loss)
            });
            let losses: Vec<Tensor<1>> = losses.collect();
            let values = losses
                .iter()
                .map(|it| f64::from(it.clone().into_scalar::<f32>()));
            let values: Vec<f64> = values.collect();
            let (head, states) = pass.backward(losses);
            HeadLoss {
                losses: values,
                head,
                states,
            }
        };
        Ok(model.gradients(&sequences, &mini_batches, settings, of_pairs))
    }

    /// Loss of the logits of a query, `[1, candidates]`, as a summand of the loss of the step.
    /// `None` if a loss that compares candidates has only one.
    fn loss(
        &self,
        logits: Tensor<2>,
        query: Range<usize>,
        kind: CrossEncoderLoss,
    ) -> Option<Tensor<1>> {
        let candidates = query.len();
        if candidates < 2 && kind.is_contrastive() {
            return None;
        }
        let device = logits.device();
        let row = |values: Vec<f32>| {
            let data = TensorData::new(values, [1, candidates]);
            Tensor::<2>::from_data(data, &device)
        };
        let teacher = || row(self.teacher_scores[query.clone()].to_vec());
        let of_queries = 1.0 / self.queries.len() as f64;
        let (loss, weight) = match kind {
            CrossEncoderLoss::Softmax { temperature } => {
                let scores = logits.div_scalar(temperature);
                (loss::softmax(scores, &[0]), of_queries)
            }
            CrossEncoderLoss::MultipleNegatives { scale } => {
                (loss::multiple_negatives(logits, &[0], scale), of_queries)
            }
            CrossEncoderLoss::BinaryCrossEntropy {
                positive_weight,
                soft_labels,
            } => {
                let labels = if soft_labels {
                    teacher()
                } else {
                    row((0..candidates)
                        .map(|at| f32::from(u8::from(at == 0)))
                        .collect())
                };
                let weight = candidates as f64 / self.pairs.len() as f64;
                (
                    loss::binary_cross_entropy(logits, labels, positive_weight),
                    weight,
                )
            }
            CrossEncoderLoss::RankNet => (loss::rank_net(logits, &[0]), of_queries),
            CrossEncoderLoss::MarginMse => (loss::margin_mse(logits, teacher()), of_queries),
            CrossEncoderLoss::KlDivergence { temperature } => {
                let [scores, teacher] = [logits, teacher()].map(|it| it.div_scalar(temperature));
                (loss::kl_divergence(scores, teacher), of_queries)
            }
        };
        Some(loss.mul_scalar(weight))
    }
}
