//! Transformer with a head, in training.

use std::collections::HashMap;
use std::ops::Range;

use burn::tensor::{Device, Tensor, TensorData};

use super::backward::propagate_gradients;
use super::checkpoint::CheckpointedModel;
use super::gradcache::CpuTrainingCache;
use super::gradients::{Gradient, ModelGradients};
use super::optimizer::{AdamWState, AdamWStep};
use super::run::TrainedPart;
use crate::kernels::memory;
use crate::kernels::training;
use crate::model_folder::NamedTensor;
use crate::precision::Precision;
use crate::transformer::Transformer;
use crate::transformer::batch::{TokenBatch, TokenSequence};
use crate::transformer::dropout::Dropout;
use crate::transformer::pass::ForwardPass;

/// Head on the hidden states of a transformer, with parameters in CPU memory.
pub(super) trait TrainedHead: Clone {
    /// All parameters, in a fixed order.
    fn named_tensors(&self) -> Vec<NamedTensor>;

    /// Elements of a parameter; `None` if the head has none of this name.
    fn elements_mut(&mut self, name: &str) -> Option<&mut Vec<f32>>;
}

/// Transformer and head in training.
#[derive(Debug, Clone)]
pub(super) struct HeadedTransformer<H> {
    pub(super) model: Transformer,
    pub(super) head: H,
    pub(super) cpu: CpuTrainingCache,
}

/// Gradients of transformer and head.
#[derive(Debug)]
pub(super) struct HeadedGradients {
    pub(super) model: ModelGradients,
    /// In the order of [`TrainedHead::named_tensors`].
    pub(super) head: Vec<Vec<f32>>,
}

/// How the sequences of a step pass through the transformer.
#[derive(Debug, Clone, Copy)]
pub(super) struct PassSettings {
    pub(super) precision: Precision,
    pub(super) dropout: Option<Dropout>,
    /// Id of the padding token.
    pub(super) padding: u32,
}

/// Loss of a mini-batch, as summands of the loss of the step, and its gradients.
pub(super) struct HeadLoss {
    pub(super) losses: Vec<f64>,
    /// In the order of [`TrainedHead::named_tensors`].
    pub(super) head: Vec<Vec<f32>>,
    /// Gradients of the hidden states; 0 for padding.
    pub(super) states: Vec<f32>,
}

impl<H: TrainedHead> HeadedTransformer<H> {
    pub(super) fn new(model: Transformer, head: H) -> Self {
        Self {
            model,
            head,
            cpu: CpuTrainingCache::default(),
        }
    }

    /// Returns the loss of a step and its gradients, accumulated over mini-batches of sequences,
    /// given as indices in `sequences`.
    ///
    /// `loss` takes the sequences of a mini-batch, the hidden states, row-major
    /// `[tokens, hidden_size]`, and the rows of every sequence without padding.
    pub(super) fn gradients(
        &self,
        sequences: &[TokenSequence<'_>],
        mini_batches: &[Vec<usize>],
        settings: PassSettings,
        mut loss: impl FnMut(&[usize], &[f32], &[Range<usize>]) -> HeadLoss,
    ) -> (f64, HeadedGradients) {
        let padding = (self.model.device() != Device::flex()).then_some(settings.padding);
        let cpu = self.cpu.load(&self.model, settings.precision);
        let head = self.head.named_tensors().into_iter();
        let mut gradients = HeadedGradients {
            model: ModelGradients::default(),
            head: head.map(|it| vec![0.0; it.values.dims()[0]]).collect(),
        };
        let mut value = 0.0;
        for texts in mini_batches {
            let chosen: Vec<TokenSequence<'_>> = texts.iter().map(|&at| sequences[at]).collect();
            let tokens = TokenBatch::from_sequences(&chosen, padding);
            let pass = ForwardPass {
                model: &self.model,
                cpu: cpu.as_ref(),
                batch: &tokens,
                save: true,
                dropout: settings.dropout,
                texts,
            };
            let (states, saved) = pass.run();
            let (device, shape) = (states.device(), states.dims());
            let states = memory::data(states);
            let mut next = 0;
            let rows = tokens.lengths().zip(&chosen).map(|(length, (ids, _))| {
                let start = next;
                next += length;
                start..start + ids.len()
            });
            let rows: Vec<Range<usize>> = rows.collect();
            let of_batch = loss(texts, memory::values(&states), &rows);
            of_batch.losses.iter().for_each(|loss| value += loss);
            for (sum, gradient) in gradients.head.iter_mut().zip(&of_batch.head) {
                training::add(sum, gradient);
            }
            let d_states = Tensor::from_data(TensorData::new(of_batch.states, shape), &device);
            if let Some(saved) = saved {
                propagate_gradients(&pass, saved, d_states, &mut gradients.model);
            }
        }
        self.cpu.keep(cpu);
        (value, gradients)
    }
}

impl<H: TrainedHead> TrainedPart for HeadedTransformer<H> {
    type Gradients = HeadedGradients;

    fn squared_norm(&self, gradients: &HeadedGradients) -> f64 {
        let head = gradients.head.iter().flatten();
        let head: f64 = head.map(|&x| f64::from(x).powi(2)).sum();
        gradients.model.squared_norm(&self.model) + head
    }

    fn updated(
        mut self,
        optimizer: &mut AdamWState,
        gradients: HeadedGradients,
        step: AdamWStep<'_>,
    ) -> Self {
        for (parameter, gradient) in self.head.named_tensors().into_iter().zip(gradients.head) {
            let name = parameter.name.clone();
            let gradient = Gradient::Values(gradient);
            let updated = optimizer.update_parameter(parameter, &gradient, step);
            if let Some(elements) = self.head.elements_mut(&name) {
                *elements = memory::into_vec(updated);
            }
        }
        // Moved, so that the weights are updated in place.
        let buffers;
        (self.model, buffers) = optimizer.update(self.model, gradients.model, step);
        self.cpu.give(buffers);
        self
    }
}

/// The head is trained on the CPU.
impl<H: TrainedHead> CheckpointedModel for HeadedTransformer<H> {
    fn parameters(&self) -> Vec<NamedTensor> {
        let mut parameters = self.model.parameters();
        parameters.extend(self.head.named_tensors());
        parameters
    }

    fn device(&self, parameter: &str) -> Device {
        let head = self.head.named_tensors();
        if head.iter().any(|it| it.name == parameter) {
            Device::flex()
        } else {
            self.model.device()
        }
    }

    fn set_parameters(&mut self, mut values: HashMap<String, Tensor<1>>) {
        for parameter in self.head.named_tensors() {
            if let Some(elements) = self.head.elements_mut(&parameter.name)
                && let Some(tensor) = values.remove(&parameter.name)
            {
                *elements = memory::into_vec(tensor);
            }
        }
        let model = self.model.clone();
        self.model = model
            .map_parameters(|parameter| values.remove(&parameter.name).unwrap_or(parameter.values));
    }
}
