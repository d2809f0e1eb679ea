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
            let cpu = packed[self.index(side)].as_ref();
            SideTexts::new(self.side(side), cpu, side, texts, config, step)
        };
        let sides = [
            texts(Side::Query, &batch.queries)?,
            texts(Side::Document, &batch.documents)?,
        ];
        // A single mini-batch saves its activations. With more (GradCache), each mini-batch runs a
        // second forward pass before its backward pass.
        let save = sides.iter().all(|side| side.mini_batches.len() <= 1);
        let [queries, documents] = sides.each_ref().map(|side| side.encode(save));
        let (value, vector_gradients) = loss_and_vector_gradients(
            queries.vectors.autodiff().require_grad(),
            documents.vectors.autodiff().require_grad(),
            batch,
            config,
        );
        let mut gradients: Vec<ModelGradients> =
            self.0.iter().map(|_| ModelGradients::default()).collect();
        let saved = [queries.saved, documents.saved];
        for ((side, saved), gradient) in sides.iter().zip(saved).zip(vector_gradients) {
            side.backward(saved, &gradient, &mut gradients[self.index(side.side)]);
        }
        for (tower, packed) in self.0.iter().zip(packed) {
            tower.cpu.keep(packed);
        }
        Ok((value, gradients))
    }
}

/// Returns the loss and its gradients with respect to the query vectors and document vectors.
fn loss_and_vector_gradients(
    queries: Tensor<2>,
    documents: Tensor<2>,
    batch: &TrainingBatch,
    config: &TrainingConfig,
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
    let value = loss_of_scores(scores, batch, config);
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
struct SideTexts<'a> {
    side: Side,
    tower: &'a Tower,
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

struct EncodedTexts {
    /// `[texts, dim]`.
    vectors: Tensor<2>,
    /// Token vectors and saved activations of every mini-batch, if they were saved.
    saved: Vec<Option<(Tensor<2>, SavedActivations)>>,
}

impl<'a> SideTexts<'a> {
    fn new(
        TrainedTower { tower, model, .. }: &'a TrainedTower,
        cpu: Option<&'a CpuTraining>,
        side: Side,
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
            side,
            tower,
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

    fn encode(&self, save: bool) -> EncodedTexts {
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
            vectors.push(self.tower.pool(tokens.clone(), &mini_batch.tokens));
            all_saved.push(saved.map(|saved| (tokens, saved)));
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
        all_saved: Vec<Option<(Tensor<2>, SavedActivations)>>,
        vector_gradients: &Tensor<2>,
        gradients: &mut ModelGradients,
    ) {
        for (mini_batch, saved) in self.mini_batches.iter().zip(all_saved) {
            let pass = self.forward_pass(mini_batch, true);
            let (tokens, saved) = match saved {
                Some((tokens, saved)) => (tokens, Some(saved)),
                None => pass.run(),
            };
            let texts = mini_batch.texts.iter().map(|&text| text as i64);
            let texts = index_tensor(texts, &vector_gradients.device());
            let d_vectors = vector_gradients.clone().select(0, texts);
            let d_tokens = pooling_backward(self.tower, tokens, &mini_batch.tokens, d_vectors);
            if let Some(saved) = saved {
                propagate_gradients(&pass, saved, d_tokens, gradients);
            }
        }
    }
}
