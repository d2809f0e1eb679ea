//! [`AdamW`] at work.

use burn::tensor::{Device, Tensor, TensorData};
use pulp::Arch;
use rayon::prelude::*;

use super::AdamW;
use super::gradients::Gradients;
use crate::Transformer;
use crate::memory::{self, here, values, values_mut};

/// The running means of the gradients of all weights, and of their squares.
#[derive(Debug)]
pub(super) struct Moments {
    pub(super) parts: Vec<[Tensor<1>; 2]>,
}

/// What one update does to every element.
#[derive(Debug, Clone, Copy)]
struct Update {
    beta_1: f32,
    beta_2: f32,
    epsilon: f32,
    /// What is left of a weight after decay.
    keep: f32,
    /// The learning rate, corrected for the young first mean.
    rate: f32,
    /// 1/√ of the correction for the young second mean.
    root: f32,
    /// What gradients are multiplied by first.
    factor: f32,
}

impl Moments {
    /// Zeros for a model.
    pub(super) fn new(model: &Transformer) -> Self {
        let (device, mut model) = (model.device(), model.clone());
        let parts = model.parameters().into_iter().map(|parameter| {
            let length: usize = parameter.shape().iter().product();
            [0, 1].map(|_| zeros(length, &device))
        });
        Self {
            parts: parts.collect(),
        }
    }

    /// Changes all weights: step `time` from 1, gradients times `factor`.
    pub(super) fn update(
        &mut self,
        model: &mut Transformer,
        gradients: Gradients,
        config: &AdamW,
        rate: f64,
        factor: f64,
        time: u64,
    ) {
        let power = time.min(i32::MAX as u64) as i32;
        let parameters = model.parameters().into_iter();
        let gradients = gradients.into_parts();
        for ((parameter, moments), gradient) in parameters.zip(&mut self.parts).zip(gradients) {
            let Some(gradient) = gradient else { continue };
            let decay = if parameter.decays {
                config.weight_decay
            } else {
                0.0
            };
            let update = Update {
                beta_1: config.beta_1 as f32,
                beta_2: config.beta_2 as f32,
                epsilon: config.epsilon as f32,
                keep: (1.0 - rate * decay) as f32,
                rate: (rate / (1.0 - config.beta_1.powi(power))) as f32,
                root: (1.0 / (1.0 - config.beta_2.powi(power)).sqrt()) as f32,
                factor: factor as f32,
            };
            let nothing = [0, 1].map(|_| zeros(1, &gradient.device()));
            let old = std::mem::replace(moments, nothing);
            parameter.change(|weights| {
                let (weights, new) = update.all(weights, gradient, old);
                *moments = new;
                weights
            });
        }
    }
}

fn zeros(length: usize, device: &Device) -> Tensor<1> {
    Tensor::from_data(TensorData::zeros::<f32, _>([length]), device)
}

impl Update {
    fn all(
        self,
        weights: Tensor<1>,
        gradient: Tensor<1>,
        [mean, square]: [Tensor<1>; 2],
    ) -> (Tensor<1>, [Tensor<1>; 2]) {
        if !here(&weights) {
            let gradient = gradient.mul_scalar(self.factor);
            let mean =
                mean.mul_scalar(self.beta_1) + gradient.clone().mul_scalar(1.0 - self.beta_1);
            let squared = gradient.clone() * gradient;
            let square = square.mul_scalar(self.beta_2) + squared.mul_scalar(1.0 - self.beta_2);
            let below = square.clone().sqrt().mul_scalar(self.root);
            let change = mean.clone() / below.add_scalar(self.epsilon);
            let weights = weights.mul_scalar(self.keep) - change.mul_scalar(self.rate);
            return (weights, [mean, square]);
        }
        const TASK: usize = 1 << 14;
        let device = weights.device();
        let gradient = memory::data(gradient);
        let [mut weights, mut mean, mut square] = [weights, mean, square].map(memory::data);
        let tasks = values_mut(&mut weights).par_chunks_mut(TASK);
        let tasks = tasks.zip(values_mut(&mut mean).par_chunks_mut(TASK));
        let tasks = tasks.zip(values_mut(&mut square).par_chunks_mut(TASK));
        let tasks = tasks.zip(values(&gradient).par_chunks(TASK));
        tasks.for_each(|(((weights, mean), square), gradient)| {
            Arch::new().dispatch(|| {
                let means = mean.iter_mut().zip(square);
                for ((w, (m, v)), g) in weights.iter_mut().zip(means).zip(gradient) {
                    let g = g * self.factor;
                    *m += (g - *m) * (1.0 - self.beta_1);
                    *v = *v * self.beta_2 + g * g * (1.0 - self.beta_2);
                    let below = v.sqrt() * self.root + self.epsilon;
                    *w = *w * self.keep - self.rate * (*m / below);
                }
            });
        });
        let tensor = |data| Tensor::from_data(data, &device);
        (tensor(weights), [tensor(mean), tensor(square)])
    }
}
