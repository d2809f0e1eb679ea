//! AdamW: update of parameters and moments.

use std::collections::HashMap;

use burn::tensor::Tensor;
use pulp::Arch;
use rayon::prelude::*;

use super::AdamWConfig;
use super::gradients::ModelGradients;
use crate::Transformer;
use crate::kernels::memory::{self, on_cpu, values, values_mut};
use crate::kernels::tensor::TASK_ELEMENTS;
use crate::model_folder::NamedTensor;

/// First and second moments of the gradients by the name of the parameter; none before its first
/// update.
#[derive(Debug, Default)]
pub(super) struct AdamWState(pub(super) HashMap<String, [Tensor<1>; 2]>);

/// Optimizer settings of a step.
#[derive(Debug, Clone, Copy)]
pub(super) struct AdamWStep<'a> {
    pub(super) config: &'a AdamWConfig,
    pub(super) learning_rate: f64,
    /// Factor of gradient clipping.
    pub(super) clip_factor: f64,
    /// Number of updates, from 1.
    pub(super) time: u64,
}

/// Coefficients of an update, equal for all elements of a parameter.
#[derive(Debug, Clone, Copy)]
struct AdamWUpdate {
    beta_1: f32,
    beta_2: f32,
    epsilon: f32,
    /// 1 − learning rate · weight decay.
    decay_factor: f32,
    /// Learning rate with bias correction of the first moment.
    learning_rate: f32,
    /// 1/√ of the bias correction of the second moment.
    root_correction: f32,
    /// Factor of gradient clipping.
    clip_factor: f32,
}

impl AdamWState {
    /// Moments of a parameter, zeros before its first update.
    pub(super) fn moments(&self, parameter: &NamedTensor) -> [Tensor<1>; 2] {
        let moments = self.0.get(&parameter.name).cloned();
        moments.unwrap_or_else(|| [0, 1].map(|_| parameter.values.zeros_like()))
    }

    /// Updates all parameters of a transformer.
    pub(super) fn update(
        &mut self,
        model: Transformer,
        mut gradients: ModelGradients,
        step: AdamWStep<'_>,
    ) -> Transformer {
        let model = model.map_parameters(|parameter| match gradients.take(&parameter.name) {
            Some(gradient) => self.update_parameter(parameter, gradient, step),
            None => parameter.values,
        });
        debug_assert!(gradients.is_empty(), "gradient without a parameter");
        model
    }

    /// Returns the elements of a parameter after an update.
    pub(super) fn update_parameter(
        &mut self,
        parameter: NamedTensor,
        gradient: Tensor<1>,
        step: AdamWStep<'_>,
    ) -> Tensor<1> {
        let (config, rate) = (step.config, step.learning_rate);
        let power = step.time.min(i32::MAX as u64) as i32;
        let decay = match parameter.shape.len() {
            // Biases and layer normalization.
            1 => 0.0,
            _ => config.weight_decay,
        };
        let update = AdamWUpdate {
            beta_1: config.beta_1 as f32,
            beta_2: config.beta_2 as f32,
            epsilon: config.epsilon as f32,
            decay_factor: (1.0 - rate * decay) as f32,
            learning_rate: (rate / (1.0 - config.beta_1.powi(power))) as f32,
            root_correction: (1.0 / (1.0 - config.beta_2.powi(power)).sqrt()) as f32,
            clip_factor: step.clip_factor as f32,
        };
        let moments = self.moments(&parameter);
        // Frees the other reference, so that they are updated in place.
        self.0.remove(&parameter.name);
        let (weights, moments) = update.apply(parameter.values, gradient, moments);
        self.0.insert(parameter.name, moments);
        weights
    }
}

impl AdamWUpdate {
    fn apply(
        self,
        weights: Tensor<1>,
        gradient: Tensor<1>,
        [first, second]: [Tensor<1>; 2],
    ) -> (Tensor<1>, [Tensor<1>; 2]) {
        if !on_cpu(&weights) {
            let gradient = gradient.mul_scalar(self.clip_factor);
            let first =
                first.mul_scalar(self.beta_1) + gradient.clone().mul_scalar(1.0 - self.beta_1);
            let squared = gradient.clone() * gradient;
            let second = second.mul_scalar(self.beta_2) + squared.mul_scalar(1.0 - self.beta_2);
            let denominator = second.clone().sqrt().mul_scalar(self.root_correction);
            let change = first.clone() / denominator.add_scalar(self.epsilon);
            let weights =
                weights.mul_scalar(self.decay_factor) - change.mul_scalar(self.learning_rate);
            return (weights, [first, second]);
        }
        let device = weights.device();
        let gradient = memory::data(gradient);
        let [mut weights, mut first, mut second] = [weights, first, second].map(memory::data);
        let tasks = values_mut(&mut weights).par_chunks_mut(TASK_ELEMENTS);
        let tasks = tasks.zip(values_mut(&mut first).par_chunks_mut(TASK_ELEMENTS));
        let tasks = tasks.zip(values_mut(&mut second).par_chunks_mut(TASK_ELEMENTS));
        let tasks = tasks.zip(values(&gradient).par_chunks(TASK_ELEMENTS));
        tasks.for_each(|(((weights, first), second), gradient)| {
            Arch::new().dispatch(|| {
                let moments = first.iter_mut().zip(second);
                for ((w, (m, v)), g) in weights.iter_mut().zip(moments).zip(gradient) {
                    let g = g * self.clip_factor;
                    *m += (g - *m) * (1.0 - self.beta_1);
                    *v = *v * self.beta_2 + g * g * (1.0 - self.beta_2);
                    let denominator = v.sqrt() * self.root_correction + self.epsilon;
                    *w = *w * self.decay_factor - self.learning_rate * (*m / denominator);
                }
            });
        });
        let tensor = |data| Tensor::from_data(data, &device);
        (tensor(weights), [tensor(first), tensor(second)])
    }
}
