//! Loss of a training step and its gradients, with GradCache for large batches.
//!
//! # Source
//! Gao et al., "Scaling Deep Contrastive Learning Batch Size under Memory Limited Setup", RepL4NLP
//! 2021.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use burn::tensor::{Bool, Device, Int, Tensor, TensorData};
use ir_core::{Side, VectorSimilarity};
use rayon::prelude::*;

use super::backward::{pooling_backward, propagate_gradients};
use super::gradients::ModelGradients;
use super::sampler::TrainingBatch;
use super::sparsity::SparsityPenalty;
use super::{Loss, TrainError, TrainingConfig, loss};
use crate::encode::{self, EncoderConfig, Tower};
use crate::error::ModelError;
use crate::precision::Precision;
use crate::transformer::batch::{TokenSequence, by_length};
use crate::transformer::cpu_training::CpuTraining;
use crate::transformer::dropout::Dropout;
use crate::transformer::forward::SavedActivations;
use crate::transformer::pass::ForwardPass;
use crate::transformer::{TokenBatch, Transformer, index_tensor};

/// Towers in training: one for both sides, or one per side.
#[derive(Debug)]
pub(super) struct TrainedTowers(pub(super) Vec<TrainedTower>);

/// Tower with the weights in training.
#[derive(Debug, Clone)]
pub(super) struct TrainedTower {
    pub(super) tower: Tower,
    pub(super) model: Transformer,
    pub(super) cpu: CpuTrainingCache,
}

/// Packed weights and buffers of the last step on the CPU, for the next one. A clone is empty.
#[derive(Debug, Default)]
pub(super) struct CpuTrainingCache(Mutex<Option<CpuTraining>>);

impl Clone for CpuTrainingCache {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl CpuTrainingCache {
    fn with<T>(&self, f: impl FnOnce(&mut Option<CpuTraining>) -> T) -> T {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Packs the weights of a model for a step; `None` as in [`CpuTraining::new`].
    pub(super) fn load(&self, model: &Transformer, precision: Precision) -> Option<CpuTraining> {
        let mut cpu = self.with(Option::take).unwrap_or_default();
        let loaded = cpu.load(model, precision, true);
        // A pass without packed weights is in f32.
        debug_assert!(loaded.is_some() || precision == Precision::F32);
        loaded.map(|()| cpu)
    }

    /// Keeps the weights and buffers of a step for the next.
    pub(super) fn keep(&self, cpu: Option<CpuTraining>) {
        self.with(|kept| *kept = cpu);
    }

    /// Keeps the buffers of gradients for the next step.
    pub(super) fn give(&self, buffers: Vec<Vec<f32>>) {
        self.with(|cpu| {
            if let Some(cpu) = cpu {
                cpu.buffers.give(buffers);
            }
        });
    }

    /// Number of elements in the buffers.
    #[cfg(test)]
    pub(super) fn buffer_elements(&self) -> usize {
        self.with(|cpu| cpu.as_ref().map_or(0, |cpu| cpu.buffers.elements()))
    }
}

impl TrainedTower {
    pub(super) fn open(folder: &Path, config: &EncoderConfig) -> Result<Self, ModelError> {
        let tower = Tower::open(folder, config)?;
        let model = tower.transformer()?;
        let cpu = CpuTrainingCache::default();
        Ok(Self { tower, model, cpu })
    }

    /// Tower with the current weights, which it shares.
    pub(super) fn to_tower(&self) -> Tower {
        self.tower.with_model(self.model.clone())
    }
}

impl TrainedTowers {
    fn index(&self, side: Side) -> usize {
        (side as usize).min(self.0.len() - 1)
    }

    pub(super) fn side(&self, side: Side) -> &TrainedTower {
        &self.0[self.index(side)]
    }

    /// Returns the loss of a batch and the gradients of every tower.
    pub(super) fn gradients(
        &self,
        batch: &TrainingBatch,
        config: &TrainingConfig,
        step: u64,
    ) -> Result<(f64, Vec<ModelGradients>), TrainError> {
        let packed = self
            .0
            .iter()
            .map(|tower| tower.cpu.load(&tower.model, config.precision));
        let packed: Vec<Option<CpuTraining>> = packed.collect();
        let texts = |side, texts| {
            let part = self.index(side);
            let TrainedTower { tower, model, .. } = &self.0[part];
            let model = (model, packed[part].as_ref());
            SideTexts::new(tower, tower, model, (side, part), texts, config, step)
        };
        let sides = [
            texts(Side::Query, &batch.queries)?,
            texts(Side::Document, &batch.documents)?,
        ];
        let mut gradients: Vec<(ModelGradients, ())> =
            self.0.iter().map(|_| Default::default()).collect();
        let value = accumulate_gradients(&sides, batch, config, None, &mut gradients);
        for (tower, packed) in self.0.iter().zip(packed) {
            tower.cpu.keep(packed);
        }
        let gradients = gradients.into_iter().map(|(model, ())| model);
        Ok((value, gradients.collect()))
    }
}

/// Pooling of hidden states to a vector per text, with its backward pass.
pub(super) trait TextPooling {
    /// What the backward pass of a mini-batch needs besides the hidden states.
    type Saved;
    /// Gradients of the parameters of pooling.
    type Gradients;

    /// Returns the vectors, `[texts, dim]`.
    fn vectors(&self, states: Tensor<2>, batch: &TokenBatch) -> (Tensor<2>, Self::Saved);

    /// Returns the gradients of the hidden states, and adds the gradients of the parameters.
    fn backward(
        &self,
        states: Tensor<2>,
        batch: &TokenBatch,
        saved: Self::Saved,
        d_vectors: Tensor<2>,
        gradients: &mut Self::Gradients,
    ) -> Tensor<2>;
}

/// Without gradients of parameters: the modules of a bi-encoder are constants.
impl TextPooling for Tower {
    type Saved = ();
    type Gradients = ();

    fn vectors(&self, states: Tensor<2>, batch: &TokenBatch) -> (Tensor<2>, ()) {
        (self.pool(states, batch), ())
    }

    fn backward(
        &self,
        states: Tensor<2>,
        batch: &TokenBatch,
        (): (),
        d_vectors: Tensor<2>,
        (): &mut (),
    ) -> Tensor<2> {
        pooling_backward(self, states, batch, d_vectors)
    }
}

/// Returns the loss of a batch, and adds the gradients of transformer and pooling of every part.
pub(super) fn accumulate_gradients<P: TextPooling>(
    sides: &[SideTexts<'_, P>; 2],
    batch: &TrainingBatch,
    config: &TrainingConfig,
    penalty: Option<SparsityPenalty>,
    gradients: &mut [(ModelGradients, P::Gradients)],
) -> f64 {
    // A single mini-batch saves its activations. With more (GradCache), each mini-batch runs a
    // second forward pass before its backward pass.
    let save = sides.iter().all(|side| side.mini_batches.len() <= 1);
    let [queries, documents] = sides.each_ref().map(|side| side.encode(save));
    let (value, vector_gradients) = loss_and_vector_gradients(
        queries.vectors.autodiff().require_grad(),
        documents.vectors.autodiff().require_grad(),
        batch,
        config,
        penalty,
    );
    let saved = [queries.saved, documents.saved];
    for ((side, saved), gradient) in sides.iter().zip(saved).zip(vector_gradients) {
        let (model, pooling) = &mut gradients[side.part];
        side.backward(saved, &gradient, model, pooling);
    }
    value
}

/// Returns the loss and its gradients with respect to the query vectors and document vectors.
fn loss_and_vector_gradients(
    queries: Tensor<2>,
    documents: Tensor<2>,
    batch: &TrainingBatch,
    config: &TrainingConfig,
    penalty: Option<SparsityPenalty>,
) -> (f64, [Tensor<2>; 2]) {
    let vectors = [queries.clone(), documents.clone()];
    let [q, d] = if config.similarity == VectorSimilarity::Cosine {
        vectors.map(encode::normalize)
    } else {
        vectors
    };
    let scores = q
        .matmul(d.transpose())
        .div_scalar(config.loss.temperature());
    let mut value = loss_of_scores(scores, batch, config);
    if let Some(penalty) = penalty {
        value = value + penalty.loss([queries.clone(), documents.clone()]);
    }
    let mut gradients = value.backward();
    let vector_gradients = [queries, documents].map(|vectors| {
        let gradient = vectors.grad_remove(&mut gradients);
        gradient.unwrap_or_else(|| vectors.without_autodiff().zeros_like())
    });
    (f64::from(value.into_scalar::<f32>()), vector_gradients)
}

/// Loss of the scores of all documents for all queries, `[queries, documents]`.
pub(super) fn loss_of_scores(
    scores: Tensor<2>,
    batch: &TrainingBatch,
    config: &TrainingConfig,
) -> Tensor<1> {
    let positives: Vec<usize> = batch.candidates.iter().map(|own| own.start).collect();
    match config.loss {
        Loss::Softmax { .. } => loss::softmax(masked(scores, batch), &positives),
        Loss::Symmetric { .. } => loss::symmetric(masked(scores, batch), &positives),
        Loss::Pointwise { scale } => loss::pointwise(masked(scores, batch), &positives, scale),
        Loss::Margin { margin } => loss::margin(masked(scores, batch), &positives, margin),
        Loss::MarginMse => {
            let teacher = teacher_scores(batch, config, &scores.device());
            loss::margin_mse(candidate_scores(scores, batch), teacher)
        }
        Loss::KlDivergence { .. } => {
            let teacher = teacher_scores(batch, config, &scores.device());
            loss::kl_divergence(candidate_scores(scores, batch), teacher)
        }
    }
}

/// Scores with the known positives of other queries masked.
fn masked(scores: Tensor<2>, batch: &TrainingBatch) -> Tensor<2> {
    if !batch.masked.contains(&true) {
        return scores;
    }
    let mask = TensorData::new(batch.masked.clone(), scores.dims());
    let mask: Tensor<2, Bool> = Tensor::from_data(mask, &scores.device());
    loss::mask(scores, mask)
}

/// Scores of each query's own candidates, `[queries, candidates]`.
fn candidate_scores(scores: Tensor<2>, batch: &TrainingBatch) -> Tensor<2> {
    let columns = batch.candidates.iter().cloned().flatten();
    let columns = index_tensor(columns.map(|n| n as i64), &scores.device());
    let columns: Tensor<2, Int> = columns.reshape([batch.candidates.len(), candidates(batch)]);
    scores.gather(1, columns)
}

/// Teacher scores divided by the temperature, `[queries, candidates]`.
fn teacher_scores(batch: &TrainingBatch, config: &TrainingConfig, device: &Device) -> Tensor<2> {
    let shape = [batch.candidates.len(), candidates(batch)];
    let teacher = TensorData::new(batch.teacher_scores.clone(), shape);
    Tensor::<2>::from_data(teacher, device).div_scalar(config.loss.temperature())
}

fn candidates(batch: &TrainingBatch) -> usize {
    batch.candidates.first().map_or(0, ExactSizeIterator::len)
}

/// Texts of one side, split into mini-batches.
pub(super) struct SideTexts<'a, P> {
    pooling: &'a P,
    /// Part of the model with the weights of the side.
    part: usize,
    model: &'a Transformer,
    cpu: Option<&'a CpuTraining>,
    mini_batches: Vec<MiniBatch>,
    dropout: Option<Dropout>,
}

/// Texts that are encoded together.
struct MiniBatch {
    /// Indices of the texts in their side.
    texts: Vec<usize>,
    tokens: TokenBatch,
}

struct EncodedTexts<S> {
    /// `[texts, dim]`.
    vectors: Tensor<2>,
    saved: Vec<SavedMiniBatch<S>>,
}

/// What is saved of a mini-batch for its backward pass.
struct SavedMiniBatch<S> {
    pooling: S,
    /// Token vectors and activations, if they were saved.
    activations: Option<(Tensor<2>, SavedActivations)>,
}

impl<'a, P: TextPooling> SideTexts<'a, P> {
    /// Tokenizes the texts of a side, and splits them into mini-batches.
    pub(super) fn new(
        tower: &Tower,
        pooling: &'a P,
        (model, cpu): (&'a Transformer, Option<&'a CpuTraining>),
        (side, part): (Side, usize),
        texts: &[String],
        config: &TrainingConfig,
        step: u64,
    ) -> Result<Self, TrainError> {
        let encoder = config.encoder.side(side);
        let ids = texts
            .par_iter()
            .map(|text| Ok(tower.tokenize(side, encoder, text)?.ids));
        let ids = ids.collect::<Result<Vec<Vec<u32>>, TrainError>>()?;
        let sequences = ids.iter().map(|ids| (&ids[..], &[] as &[u32]));
        let sequences: Vec<TokenSequence<'_>> = sequences.collect();
        let padded = model.device() != Device::flex();
        let padding = padded.then(|| tower.tokenizer.padding());
        let mini_batches = by_length(&sequences, config.mini_batch_size).into_iter();
        let mini_batches = mini_batches.map(|texts| {
            let rows: Vec<TokenSequence<'_>> = texts.iter().map(|&text| sequences[text]).collect();
            let tokens = TokenBatch::from_sequences(&rows, padding);
            MiniBatch { texts, tokens }
        });
        Ok(Self {
            pooling,
            part,
            model,
            cpu,
            mini_batches: mini_batches.collect(),
            dropout: Dropout::new(config.dropout, config.seed, step, side),
        })
    }

    fn forward_pass<'b>(&'b self, mini_batch: &'b MiniBatch, save: bool) -> ForwardPass<'b> {
        ForwardPass {
            model: self.model,
            cpu: self.cpu,
            batch: &mini_batch.tokens,
            save,
            dropout: self.dropout,
            texts: &mini_batch.texts,
        }
    }

    fn encode(&self, save: bool) -> EncodedTexts<P::Saved> {
        let (mut vectors, mut all_saved) = (Vec::new(), Vec::new());
        let texts = self
            .mini_batches
            .iter()
            .map(|batch| batch.texts.len())
            .sum();
        let mut rows = vec![0_i64; texts];
        let mut next = 0;
        for mini_batch in &self.mini_batches {
            let (tokens, saved) = self.forward_pass(mini_batch, save).run();
            let (of_texts, pooling) = self.pooling.vectors(tokens.clone(), &mini_batch.tokens);
            vectors.push(of_texts);
            all_saved.push(SavedMiniBatch {
                pooling,
                activations: saved.map(|saved| (tokens, saved)),
            });
            for &text in &mini_batch.texts {
                rows[text] = next;
                next += 1;
            }
        }
        let vectors = Tensor::cat(vectors, 0);
        let rows = index_tensor(rows.into_iter(), &vectors.device());
        EncodedTexts {
            vectors: vectors.select(0, rows),
            saved: all_saved,
        }
    }

    /// Adds the gradients of the parameters, given the gradients of the vectors.
    fn backward(
        &self,
        all_saved: Vec<SavedMiniBatch<P::Saved>>,
        vector_gradients: &Tensor<2>,
        gradients: &mut ModelGradients,
        of_pooling: &mut P::Gradients,
    ) {
        for (mini_batch, saved) in self.mini_batches.iter().zip(all_saved) {
            let pass = self.forward_pass(mini_batch, true);
            let (tokens, activations) = match saved.activations {
                Some((tokens, activations)) => (tokens, Some(activations)),
                None => pass.run(),
            };
            let texts = mini_batch.texts.iter().map(|&text| text as i64);
            let texts = index_tensor(texts, &vector_gradients.device());
            let d_vectors = vector_gradients.clone().select(0, texts);
            let batch = &mini_batch.tokens;
            let d_tokens =
                self.pooling
                    .backward(tokens, batch, saved.pooling, d_vectors, of_pooling);
            if let Some(activations) = activations {
                propagate_gradients(&pass, activations, d_tokens, gradients);
            }
        }
    }
}
