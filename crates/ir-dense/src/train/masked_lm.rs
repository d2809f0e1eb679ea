//! Masked-language-model head and SPLADE's pooling in training: forward and backward pass on the
//! CPU.
//!
//! The weight of a component depends on one logit, or with pooling by sums on the positive ones.
//! The forward pass keeps their positions, so that the backward pass of the decoder computes no
//! product of all tokens and components.

use std::ops::Range;

use burn::tensor::{Device, Tensor, TensorData};
use rayon::prelude::*;

use super::classification_head::{layer_norm, linear};
use super::gradcache::TextPooling;
use super::gradients::ModelGradients;
use super::headed::{HeadedGradients, TrainedHead};
use crate::kernels::memory;
use crate::kernels::training;
use crate::learned_sparse::{ActiveLogit, MaskedLmHead, MaskedLmLayers, SpladePooling};
use crate::model_folder::NamedTensor;
use crate::transformer::TokenBatch;

/// Components of the vocabulary per task of the gradients of the decoder.
const TASK_COMPONENTS: usize = 256;

impl TrainedHead for MaskedLmLayers {
    fn named_tensors(&self) -> Vec<NamedTensor> {
        self.named_tensors()
    }

    fn elements_mut(&mut self, name: &str) -> Option<&mut Vec<f32>> {
        self.elements_mut(name)
    }
}

/// Head with the weights of a step.
pub(super) struct SpladePass<'a> {
    layers: &'a MaskedLmLayers,
    head: MaskedLmHead,
    pooling: SpladePooling,
    /// Row-major `[vocabulary, hidden_size]`.
    decoder: &'a [f32],
}

/// Gradients of the parameters of a head.
#[derive(Debug)]
pub(super) struct MaskedLmGradients {
    /// In the order of [`MaskedLmLayers::transform_tensors`].
    transform: Vec<Vec<f32>>,
    /// `[vocabulary, hidden_size]`.
    decoder: Vec<f32>,
    /// `[vocabulary]`.
    bias: Vec<f32>,
}

impl<'a> SpladePass<'a> {
    /// Packs the weights of a head. `table`: the token embeddings of the transformer.
    pub(super) fn new(
        layers: &'a MaskedLmLayers,
        table: &'a [f32],
        pooling: SpladePooling,
    ) -> Self {
        let decoder = layers.decoder.as_ref().map_or(table, |it| &it.values);
        Self {
            layers,
            head: MaskedLmHead::new(layers, table),
            pooling,
            decoder,
        }
    }

    fn hidden(&self) -> usize {
        self.layers.dense.inputs
    }

    fn vocabulary(&self) -> usize {
        self.decoder.len() / self.hidden().max(1)
    }

    /// Gradients before the first mini-batch.
    pub(super) fn gradients(&self) -> MaskedLmGradients {
        let transform = self.layers.transform_tensors().into_iter();
        let zeros = transform.map(|it| vec![0.0; it.values.dims()[0]]);
        MaskedLmGradients {
            transform: zeros.collect(),
            decoder: vec![0.0; self.decoder.len()],
            bias: vec![0.0; self.vocabulary()],
        }
    }

    /// Hidden states of every text in `states`.
    fn of_texts<'b>(&self, states: &'b [f32], rows: &[Range<usize>]) -> Vec<&'b [f32]> {
        let width = self.hidden();
        let rows = rows.iter();
        rows.map(|rows| &states[rows.start * width..rows.end * width])
            .collect()
    }

    /// Backward pass of the layers before the decoder: adds the gradients of their parameters, and
    /// returns the gradients of the hidden states `x`. Both are row-major `[tokens, hidden_size]`.
    fn transform_backward(&self, x: Vec<f32>, dy: Vec<f32>, sums: &mut [Vec<f32>]) -> Vec<f32> {
        let shape = [x.len() / self.hidden().max(1), self.hidden()];
        let tensor =
            |values| Tensor::<2>::from_data(TensorData::new(values, shape), &Device::flex());
        let x = tensor(x).autodiff().require_grad();
        let parameters = self.layers.transform_tensors().into_iter();
        let parameters = parameters.map(|it| it.values.autodiff().require_grad());
        let parameters: Vec<Tensor<1>> = parameters.collect();
        let mut rest = parameters.iter().cloned();
        let y = linear(&self.layers.dense, x.clone(), &mut rest);
        let y = self.layers.activation.apply(y);
        let y = layer_norm(&self.layers.norm, y, &mut rest);
        let mut gradients = (y * tensor(dy).autodiff()).sum().backward();
        for (parameter, sum) in parameters.into_iter().zip(sums) {
            if let Some(gradient) = parameter.grad_remove(&mut gradients) {
                training::add(sum, &memory::into_vec(gradient));
            }
        }
        let d_x = x.grad_remove(&mut gradients);
        d_x.map_or_else(|| vec![0.0; shape[0] * shape[1]], memory::into_vec)
    }
}

/// Rows of every text in the hidden states of a batch, without padding.
fn text_rows(batch: &TokenBatch) -> Vec<Range<usize>> {
    let mut next = 0;
    let lengths = batch.lengths().zip(batch.unpadded_lengths());
    let rows = lengths.map(|(length, unpadded)| {
        let start = next;
        next += length;
        start..start + unpadded
    });
    rows.collect()
}

impl TextPooling for SpladePass<'_> {
    /// Logits that the weights of each text depend on.
    type Saved = Vec<Vec<ActiveLogit>>;
    type Gradients = MaskedLmGradients;

    fn vectors(&self, states: Tensor<2>, batch: &TokenBatch) -> (Tensor<2>, Self::Saved) {
        let states = memory::data(states);
        let texts = self.of_texts(memory::values(&states), &text_rows(batch));
        let shape = [texts.len(), self.vocabulary()];
        let mut vectors = vec![0.0; shape[0] * shape[1]];
        let rows = vectors.par_chunks_exact_mut(shape[1].max(1)).zip(texts);
        let active = rows.map(|(weights, states)| {
            let rows = self.head.transform(states);
            self.head.active_logits(&rows, self.pooling, weights)
        });
        let active = active.collect();
        let vectors = Tensor::from_data(TensorData::new(vectors, shape), &Device::flex());
        (vectors, active)
    }

    fn backward(
        &self,
        states: Tensor<2>,
        batch: &TokenBatch,
        active: Self::Saved,
        d_vectors: Tensor<2>,
        gradients: &mut MaskedLmGradients,
    ) -> Tensor<2> {
        let (device, shape) = (states.device(), states.dims());
        let (hidden, vocabulary) = (self.hidden().max(1), self.vocabulary().max(1));
        let states = memory::data(states);
        let ranges = text_rows(batch);
        let texts = self.of_texts(memory::values(&states), &ranges);
        let d_vectors = memory::into_vec(d_vectors);
        let passes = texts.par_iter().zip(&active);
        let passes = passes.zip(d_vectors.par_chunks_exact(vocabulary));
        let passes: Vec<(Vec<f32>, Vec<f32>)> = passes
            .map(|((states, active), d_weights)| {
                let mut d_rows = vec![0.0; states.len()];
                for logit in active {
                    let component = logit.component as usize;
                    let d_logit = d_weights[component] * logit.derivative;
                    let row = &mut d_rows[logit.token as usize * hidden..][..hidden];
                    add_scaled(row, d_logit, &self.decoder[component * hidden..][..hidden]);
                }
                (self.head.transform(states), d_rows)
            })
            .collect();
        let decoder = gradients.decoder.par_chunks_mut(TASK_COMPONENTS * hidden);
        let tasks = decoder.zip(gradients.bias.par_chunks_mut(TASK_COMPONENTS));
        tasks.enumerate().for_each(|(task, (decoder, bias))| {
            let first = task * TASK_COMPONENTS;
            for (text, (active, (rows, _))) in active.iter().zip(&passes).enumerate() {
                let start = active.partition_point(|it| (it.component as usize) < first);
                for logit in &active[start..] {
                    let component = logit.component as usize;
                    let Some(d_bias) = bias.get_mut(component - first) else {
                        break;
                    };
                    let d_logit = d_vectors[text * vocabulary + component] * logit.derivative;
                    *d_bias += d_logit;
                    let sum = &mut decoder[(component - first) * hidden..][..hidden];
                    add_scaled(
                        sum,
                        d_logit,
                        &rows[logit.token as usize * hidden..][..hidden],
                    );
                }
            }
        });
        let d_rows: Vec<f32> = passes.into_iter().flat_map(|(_, d_rows)| d_rows).collect();
        let d_tokens = self.transform_backward(texts.concat(), d_rows, &mut gradients.transform);
        let mut d_states = vec![0.0; shape[0] * shape[1]];
        let mut rest = &d_tokens[..];
        for rows in ranges {
            let (own, others) = rest.split_at(rows.len() * hidden);
            d_states[rows.start * hidden..rows.end * hidden].copy_from_slice(own);
            rest = others;
        }
        Tensor::from_data(TensorData::new(d_states, shape), &device)
    }
}

impl MaskedLmGradients {
    /// Adds the gradients of a tied decoder to the token embeddings of the transformer, with the
    /// name `table`.
    pub(super) fn with_model(
        self,
        layers: &MaskedLmLayers,
        mut model: ModelGradients,
        table: &str,
    ) -> HeadedGradients {
        let mut head = self.transform;
        match layers.decoder {
            Some(_) => head.push(self.decoder),
            None => model.add_to_all(table, self.decoder),
        }
        head.extend(layers.bias.as_ref().map(|_| self.bias));
        HeadedGradients { model, head }
    }
}

fn add_scaled(sum: &mut [f32], factor: f32, row: &[f32]) {
    let pairs = sum.iter_mut().zip(row);
    pairs.for_each(|(sum, x)| *sum += factor * x);
}
