//! AdamW: update of parameters and moments.

use std::collections::HashMap;

use burn::tensor::Tensor;
use pulp::Arch;
use rayon::prelude::*;

use super::AdamWConfig;
use super::gradients::{Gradient, ModelGradients, RowGradients, TASK_ELEMENTS};
use crate::kernels::memory::{self, values_mut};
use crate::model_folder::NamedTensor;
use crate::transformer::Transformer;

/// First and second moments of the gradients by the name of the parameter; none before its first
/// update.
#[derive(Debug, Default)]
pub(super) struct AdamWState {
    pub(super) moments: HashMap<String, [Tensor<1>; 2]>,
    /// Embedding tables with [`RowGradients`]. `true` for rows with moments that may differ from 0.
    used_rows: HashMap<String, Vec<bool>>,
}

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
        let moments = self.moments.get(&parameter.name).cloned();
        moments.unwrap_or_else(|| [0, 1].map(|_| parameter.values.zeros_like()))
    }

    /// Updates all parameters of a transformer. Returns it and the buffers of the gradients.
    pub(super) fn update(
        &mut self,
        model: Transformer,
        mut gradients: ModelGradients,
        step: AdamWStep<'_>,
    ) -> (Transformer, Vec<Vec<f32>>) {
        let mut buffers = Vec::new();
        let model = model.map_parameters(|parameter| match gradients.take(&parameter.name) {
            Some(gradient) => {
                let values = self.update_parameter(parameter, &gradient, step);
                if let Gradient::Values(buffer) = gradient {
                    buffers.push(buffer);
                }
                values
            }
            None => parameter.values,
        });
        debug_assert!(gradients.is_empty(), "gradient without a parameter");
        (model, buffers)
    }

    /// Returns the elements of a parameter after an update.
    pub(super) fn update_parameter(
        &mut self,
        parameter: NamedTensor,
        gradient: &Gradient,
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
        self.moments.remove(&parameter.name);
        let NamedTensor { name, values, .. } = parameter;
        if !matches!(gradient, Gradient::Rows(_)) {
            // Rows without a gradient so far may get moments.
            self.used_rows.remove(&name);
        }
        let (weights, moments) = match gradient {
            Gradient::Tensor(gradient) => update.apply(values, gradient.clone(), moments),
            Gradient::Values(gradient) => {
                update.apply_in_memory(values, moments, |weights, moments| {
                    update.apply_values(weights, moments, gradient);
                })
            }
            Gradient::Rows(gradient) => {
                let used = self.used_rows.entry(name.clone()).or_default();
                update.apply_in_memory(values, moments, |weights, moments| {
                    update.apply_rows(weights, moments, gradient, used);
                })
            }
        };
        self.moments.insert(name, moments);
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
        let gradient = gradient.mul_scalar(self.clip_factor);
        let first = first.mul_scalar(self.beta_1) + gradient.clone().mul_scalar(1.0 - self.beta_1);
        let squared = gradient.clone() * gradient;
        let second = second.mul_scalar(self.beta_2) + squared.mul_scalar(1.0 - self.beta_2);
        let denominator = second.clone().sqrt().mul_scalar(self.root_correction);
        let change = first.clone() / denominator.add_scalar(self.epsilon);
        let weights = weights.mul_scalar(self.decay_factor) - change.mul_scalar(self.learning_rate);
        (weights, [first, second])
    }

    /// Calls `f` with the elements of weights and moments in CPU memory.
    ///
    /// # Panics
    /// If they differ in length, so that an update would be lost.
    fn apply_in_memory(
        self,
        weights: Tensor<1>,
        moments: [Tensor<1>; 2],
        f: impl FnOnce(&mut [f32], [&mut [f32]; 2]),
    ) -> (Tensor<1>, [Tensor<1>; 2]) {
        let (device, length) = (weights.device(), weights.dims()[0]);
        let mut weights = memory::data(weights);
        let [mut first, mut second] = moments.map(memory::data);
        let elements = values_mut(&mut weights);
        let moments = [values_mut(&mut first), values_mut(&mut second)];
        let lengths = [elements.len(), moments[0].len(), moments[1].len()];
        assert_eq!(lengths, [length; 3], "elements of weights and moments");
        f(elements, moments);
        let tensor = |data| Tensor::from_data(data, &device);
        (tensor(weights), [tensor(first), tensor(second)])
    }

    fn apply_values(self, weights: &mut [f32], [first, second]: [&mut [f32]; 2], gradient: &[f32]) {
        assert_eq!(gradient.len(), weights.len(), "elements of the gradient");
        let tasks = weights.par_chunks_mut(TASK_ELEMENTS);
        let tasks = tasks.zip(first.par_chunks_mut(TASK_ELEMENTS));
        let tasks = tasks.zip(second.par_chunks_mut(TASK_ELEMENTS));
        let tasks = tasks.zip(gradient.par_chunks(TASK_ELEMENTS));
        tasks.for_each(|(((weights, first), second), gradient)| {
            Arch::new().dispatch(|| self.update(weights, first, second, gradient));
        });
    }

    /// Updates the rows of an embedding table. Rows without a gradient and with moments 0 only
    /// decay, with the same bits.
    fn apply_rows(
        self,
        weights: &mut [f32],
        [first, second]: [&mut [f32]; 2],
        gradient: &RowGradients,
        used: &mut Vec<bool>,
    ) {
        assert_eq!(
            gradient.table_len(),
            weights.len(),
            "elements of the embedding table"
        );
        let width = gradient.width().max(1);
        if used.is_empty() {
            let is_used = |(first, second): (&[f32], &[f32])| {
                let bits = |sum, x: &f32| sum | x.to_bits();
                first.iter().chain(second).fold(0, bits) != 0
            };
            let rows = first.chunks_exact(width).zip(second.chunks_exact(width));
            used.extend(rows.map(is_used));
        }
        let rows = TASK_ELEMENTS.div_ceil(width);
        let tasks = weights.par_chunks_mut(rows * width);
        let tasks = tasks.zip(first.par_chunks_mut(rows * width));
        let tasks = tasks.zip(second.par_chunks_mut(rows * width));
        let tasks = tasks.zip(used.par_chunks_mut(rows)).enumerate();
        tasks.for_each(|(task, (((weights, first), second), used))| {
            let zeros = vec![0.0; width];
            Arch::new().dispatch(|| {
                let all = weights.chunks_exact_mut(width).zip(used);
                let moments = first.chunks_exact_mut(width);
                let moments = moments.zip(second.chunks_exact_mut(width));
                for (at, ((weights, used), (first, second))) in all.zip(moments).enumerate() {
                    let gradient = gradient.row(task * rows + at);
                    *used |= gradient.is_some();
                    if *used {
                        let gradient = gradient.unwrap_or(&zeros);
                        self.update(weights, first, second, gradient);
                    } else if self.decay_factor != 1.0 {
                        weights.iter_mut().for_each(|w| *w *= self.decay_factor);
                    }
                }
            });
        });
    }

    #[inline(always)]
    fn update(self, weights: &mut [f32], first: &mut [f32], second: &mut [f32], gradient: &[f32]) {
        let moments = first.iter_mut().zip(second);
        for ((w, (m, v)), g) in weights.iter_mut().zip(moments).zip(gradient) {
            let g = g * self.clip_factor;
            *m += (g - *m) * (1.0 - self.beta_1);
            *v = *v * self.beta_2 + g * g * (1.0 - self.beta_2);
            let denominator = v.sqrt() * self.root_correction + self.epsilon;
            *w = *w * self.decay_factor - self.learning_rate * (*m / denominator);
        }
    }
}

#[cfg(test)]
#[path = "tests/optimizer.rs"]
#[allow(clippy::unwrap_used)]
mod tests;
