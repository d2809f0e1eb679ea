//! Loss of a step of late interaction and its gradients.
//!
//! As in [`gradcache`](super::gradcache), several mini-batches run a second forward pass before
//! the backward pass. Only the hidden states of tokens with a vector are cached in the first one;
//! the projection, shared by queries and documents, runs once.

use burn::tensor::{Device, Tensor, TensorData};
use ir_core::{EncodeError, Side};
use rayon::prelude::*;

use super::backward::propagate_gradients;
use super::gradcache::loss_of_scores;
use super::gradients::ModelGradients;
use super::headed::{HeadedGradients, HeadedTransformer};
use super::max_sim::{MaxSimPass, TextVectors};
use super::projection::ProjectionPass;
use super::sampler::TrainingBatch;
use super::{TrainError, TrainingConfig};
use crate::encode::modules::VectorModules;
use crate::kernels::memory;
use crate::late_interaction::{LateInteractionFolder, TextTokens, TokenRules, TokenVectorBatch};
use crate::transformer::Transformer;
use crate::transformer::batch::{TokenSequence, by_length};
use crate::transformer::cpu_training::CpuTraining;
use crate::transformer::dropout::Dropout;
use crate::transformer::forward::SavedActivations;
use crate::transformer::pass::ForwardPass;

/// Late-interaction model without its weights.
#[derive(Debug)]
pub(super) struct MultiVectorModel {
    pub(super) folder: LateInteractionFolder,
    pub(super) rules: TokenRules,
}

impl MultiVectorModel {
    /// Returns the loss of a step and its gradients.
    pub(super) fn gradients(
        &self,
        model: &HeadedTransformer<VectorModules>,
        batch: &TrainingBatch,
        config: &TrainingConfig,
        step: u64,
    ) -> Result<(f64, HeadedGradients), TrainError> {
        let cpu = model.cpu.load(&model.model, config.precision);
        let texts = |side, texts: &[String]| {
            let tokens = self.tokenize(side, texts, config)?;
            let (model, cpu) = (&model.model, cpu.as_ref());
            let dropout = Dropout::new(config.dropout, config.seed, step, side);
            let padding = self.folder.tower.tokenizer.padding();
            let size = config.mini_batch_size;
            Ok::<_, TrainError>(SideTokens::new(model, cpu, dropout, padding, tokens, size))
        };
        let sides = [
            texts(Side::Query, &batch.queries)?,
            texts(Side::Document, &batch.documents)?,
        ];
        let save = sides.iter().all(|side| side.mini_batches.len() <= 1);
        let [queries, documents] = sides.each_ref().map(|side| side.states(save));
        let (saved, mut states) = ([queries.saved, documents.saved], queries.rows);
        let of_queries = states.len();
        states.extend(documents.rows);
        let pass = ProjectionPass::new(&model.head, self.folder.tower.normalize, states);
        let lengths = sides.each_ref().map(SideTokens::lengths);
        let dim = model.head.dim();
        let vectors = pass.vectors();
        let (queries, documents) = vectors.split_at(sides[0].vectors * dim);
        let [queries, documents] = [(queries, &lengths[0]), (documents, &lengths[1])]
            .map(|(values, lengths)| TextVectors { values, lengths });
        let max_sim = MaxSimPass::new(queries, documents, dim, self.folder.similarity);
        let (loss, d_scores) = loss_and_gradient(max_sim.scores(), batch, config);
        let (head, d_states) = pass.backward(max_sim.backward(&d_scores).concat());
        let (d_queries, d_documents) = d_states.split_at(of_queries);
        let mut gradients = ModelGradients::default();
        let d_sides = [d_queries, d_documents];
        for ((side, saved), d_rows) in sides.iter().zip(saved).zip(d_sides) {
            side.backward(saved, d_rows, &mut gradients);
        }
        model.cpu.keep(cpu);
        let model = gradients;
        Ok((loss, HeadedGradients { model, head }))
    }

    fn tokenize(
        &self,
        side: Side,
        texts: &[String],
        config: &TrainingConfig,
    ) -> Result<Vec<TextTokens>, EncodeError> {
        let (tower, own) = (&self.folder.tower, config.encoder.side(side));
        let texts = texts.par_iter();
        let texts = texts.map(|text| self.rules.tokenize(tower, own, side, text));
        texts.collect()
    }
}

/// Returns the loss of scores, row-major `[queries, documents]`, and its gradients.
fn loss_and_gradient(
    scores: &[f32],
    batch: &TrainingBatch,
    config: &TrainingConfig,
) -> (f64, Vec<f32>) {
    let shape = [batch.queries.len(), batch.documents.len()];
    let scores = TensorData::new(scores.to_vec(), shape);
    let scores = Tensor::<2>::from_data(scores, &Device::flex().autodiff()).require_grad();
    let scaled = scores.clone().div_scalar(config.loss.temperature());
    let loss = loss_of_scores(scaled, batch, config);
    let mut gradients = loss.backward();
    let gradient = scores.grad_remove(&mut gradients);
    let gradient = gradient.map_or_else(|| vec![0.0; shape[0] * shape[1]], memory::into_vec);
    (f64::from(loss.into_scalar::<f32>()), gradient)
}

/// Texts of one side, split into mini-batches.
struct SideTokens<'a> {
    model: &'a Transformer,
    cpu: Option<&'a CpuTraining>,
    dropout: Option<Dropout>,
    texts: Vec<TextTokens>,
    mini_batches: Vec<MiniBatch>,
    /// Number of the first vector of every text.
    starts: Vec<usize>,
    /// Number of vectors of all texts.
    vectors: usize,
}

/// Texts that are encoded together.
struct MiniBatch {
    /// Indices of the texts in their side.
    texts: Vec<usize>,
    batch: TokenVectorBatch,
}

/// Result of the forward pass of a side.
struct SideStates {
    /// Hidden states of the tokens that have a vector, text by text.
    rows: Vec<f32>,
    /// Saved activations of every mini-batch, if they were saved.
    saved: Vec<Option<SavedActivations>>,
}

impl<'a> SideTokens<'a> {
    /// Mini-batches of at most `size` texts each, as in [`by_length`]. They are padded with the
    /// token id `padding` unless kernels of the CPU take them without padding.
    fn new(
        model: &'a Transformer,
        cpu: Option<&'a CpuTraining>,
        dropout: Option<Dropout>,
        padding: u32,
        texts: Vec<TextTokens>,
        size: Option<usize>,
    ) -> Self {
        let is_attended = |text: &TextTokens| text.attended == text.ids.len();
        // burn's operations take unpadded batches on the CPU if all tokens are attended to.
        let in_blocks = model.device() == Device::flex() && texts.iter().all(is_attended);
        let padding = (cpu.is_none() && !in_blocks).then_some(padding);
        let sequences = texts.iter().map(|text| (&text.ids[..], &[] as &[u32]));
        let sequences: Vec<TokenSequence<'_>> = sequences.collect();
        let mut mini_batches = by_length(&sequences, size);
        // Without special tokens, an empty text has no tokens.
        let has_tokens = |&text: &usize| !texts[text].ids.is_empty();
        mini_batches
            .iter_mut()
            .for_each(|batch| batch.retain(has_tokens));
        mini_batches.retain(|batch| !batch.is_empty());
        let mini_batches = mini_batches.into_iter().map(|chosen| MiniBatch {
            batch: TokenVectorBatch::new(chosen.iter().map(|&text| &texts[text]), padding),
            texts: chosen,
        });
        let mini_batches: Vec<MiniBatch> = mini_batches.collect();
        let mut vectors = 0;
        let starts = texts.iter().map(|text| {
            let start = vectors;
            vectors += text.kept.len();
            start
        });
        let starts: Vec<usize> = starts.collect();
        Self {
            model,
            cpu,
            dropout,
            texts,
            mini_batches,
            starts,
            vectors,
        }
    }

    /// Number of vectors of every text.
    fn lengths(&self) -> Vec<usize> {
        self.texts.iter().map(|text| text.kept.len()).collect()
    }

    fn width(&self) -> usize {
        self.model.config().hidden_size
    }

    fn forward_pass<'b>(&'b self, mini_batch: &'b MiniBatch, save: bool) -> ForwardPass<'b> {
        ForwardPass {
            model: self.model,
            cpu: self.cpu,
            batch: &mini_batch.batch.tokens,
            save,
            dropout: self.dropout,
            texts: &mini_batch.texts,
        }
    }

    /// Pairs of the row of a token in the hidden states of a mini-batch and the number of its
    /// vector.
    fn rows<'b>(&'b self, mini_batch: &'b MiniBatch) -> impl Iterator<Item = (usize, usize)> + 'b {
        let texts = mini_batch.texts.iter();
        let vectors = texts.flat_map(move |&text| {
            let start = self.starts[text];
            start..start + self.texts[text].kept.len()
        });
        mini_batch.batch.rows.iter().copied().zip(vectors)
    }

    fn states(&self, save: bool) -> SideStates {
        let width = self.width();
        let mut rows = vec![0.0; self.vectors * width];
        let saved = self.mini_batches.iter().map(|mini_batch| {
            let (states, saved) = self.forward_pass(mini_batch, save).run();
            let states = memory::data(states);
            let states = memory::values(&states);
            for (row, vector) in self.rows(mini_batch) {
                let state = &states[row * width..][..width];
                rows[vector * width..][..width].copy_from_slice(state);
            }
            saved
        });
        let saved = saved.collect();
        SideStates { rows, saved }
    }

    /// Adds the gradients of the parameters, given the gradients of [`SideStates::rows`].
    fn backward(
        &self,
        all_saved: Vec<Option<SavedActivations>>,
        d_rows: &[f32],
        gradients: &mut ModelGradients,
    ) {
        let width = self.width();
        for (mini_batch, saved) in self.mini_batches.iter().zip(all_saved) {
            let pass = self.forward_pass(mini_batch, true);
            let saved = saved.or_else(|| pass.run().1);
            let tokens = pass.batch.ids().len();
            let mut d_states = vec![0.0; tokens * width];
            for (row, vector) in self.rows(mini_batch) {
                let d_row = &d_rows[vector * width..][..width];
                d_states[row * width..][..width].copy_from_slice(d_row);
            }
            let d_states = TensorData::new(d_states, [tokens, width]);
            let d_states = Tensor::from_data(d_states, &self.model.device());
            if let Some(saved) = saved {
                propagate_gradients(&pass, saved, d_states, gradients);
            }
        }
    }
}
