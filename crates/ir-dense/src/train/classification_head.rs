//! Forward and backward pass of a classification head, by burn's automatic differentiation.

use std::ops::Range;

use burn::tensor::{Device, Tensor, TensorData};

use super::headed::TrainedHead;
use crate::architectures::HeadPooling;
use crate::cross_encoder::head::ClassificationHead;
use crate::head_layers::{HeadLayerNorm, HeadLinear};
use crate::kernels::memory;
use crate::model_folder::NamedTensor;

impl TrainedHead for ClassificationHead {
    fn named_tensors(&self) -> Vec<NamedTensor> {
        self.named_tensors("")
    }

    fn elements_mut(&mut self, name: &str) -> Option<&mut Vec<f32>> {
        let dense = self.dense.as_mut();
        self.classifier.elements_mut(name).or_else(|| {
            let dense = dense?;
            let norm = dense.norm.as_mut();
            let linear = dense.linear.elements_mut(name);
            linear.or_else(|| norm?.elements_mut(name))
        })
    }
}

/// Forward pass of a head over the pairs of a mini-batch.
pub(super) struct HeadPass {
    /// Rows of the hidden states that each pair pools, the mean of several.
    rows: Vec<Range<usize>>,
    /// Number of hidden states, padding included.
    tokens: usize,
    /// Inputs of the first layer, `[rows, hidden_size]`.
    inputs: Tensor<2>,
    /// In the order of [`ClassificationHead::named_tensors`].
    parameters: Vec<Tensor<1>>,
    /// `[pairs, labels]`.
    logits: Tensor<2>,
}

impl HeadPass {
    /// Runs a head, given the hidden states, row-major `[tokens, hidden_size]`, and the rows and
    /// token ids of each pair.
    pub(super) fn new(
        head: &ClassificationHead,
        states: &[f32],
        rows: &[Range<usize>],
        ids: &[&[u32]],
    ) -> Self {
        let width = head.classifier.inputs.max(1);
        let pooled = rows.iter().zip(ids).map(|(rows, ids)| match head.pooling {
            HeadPooling::First => rows.start..rows.start + 1,
            HeadPooling::Last => {
                let last = rows.start + head.last_token(ids);
                last..last + 1
            }
            HeadPooling::Mean | HeadPooling::MeanLogits => rows.clone(),
        });
        let rows: Vec<Range<usize>> = pooled.collect();
        let is_by_token = head.pooling == HeadPooling::MeanLogits;
        let mut inputs = Vec::new();
        for rows in &rows {
            let states = &states[rows.start * width..rows.end * width];
            if is_by_token {
                inputs.extend_from_slice(states);
                continue;
            }
            let column = |at: usize| states[at..].iter().step_by(width);
            let mean = |at| column(at).map(|x| f64::from(*x)).sum::<f64>() / rows.len() as f64;
            inputs.extend((0..width).map(|at| mean(at) as f32));
        }
        let device = Device::flex().autodiff();
        let shape = [inputs.len() / width, width];
        let inputs = Tensor::<2>::from_data(TensorData::new(inputs, shape), &device);
        let inputs = inputs.require_grad();
        let parameters = head.named_tensors("").into_iter();
        let parameters = parameters.map(|it| it.values.autodiff().require_grad());
        let parameters: Vec<Tensor<1>> = parameters.collect();
        let mut logits = classify(head, inputs.clone(), &mut parameters.iter().cloned());
        if is_by_token {
            let (labels, mut next) = (head.labels(), 0);
            let of_pairs = rows.iter().map(|rows| {
                let own = next..next + rows.len();
                next = own.end;
                logits.clone().slice([own, 0..labels]).mean_dim(0)
            });
            logits = Tensor::cat(of_pairs.collect(), 0);
        }
        Self {
            rows,
            tokens: states.len() / width,
            inputs,
            parameters,
            logits,
        }
    }

    pub(super) fn logits(&self) -> Tensor<2> {
        self.logits.clone()
    }

    /// Returns the gradients of the parameters and of the hidden states, given summands of the
    /// loss.
    pub(super) fn backward(self, losses: Vec<Tensor<1>>) -> (Vec<Vec<f32>>, Vec<f32>) {
        let loss = losses.into_iter().reduce(|sum, loss| sum + loss);
        let mut gradients = loss.map(|loss| loss.backward());
        let mut take = |x: Tensor<1>| {
            let gradient = gradients.as_mut().and_then(|all| x.grad_remove(all));
            memory::into_vec(gradient.unwrap_or_else(|| x.without_autodiff().zeros_like()))
        };
        let head = self.parameters.into_iter().map(&mut take).collect();
        let [inputs, width] = self.inputs.dims();
        let gradient = gradients.and_then(|mut all| self.inputs.grad_remove(&mut all));
        let gradient = gradient.map_or(vec![0.0; inputs * width], memory::into_vec);
        let is_by_token = inputs > self.rows.len();
        let mut d_states = vec![0.0; self.tokens * width];
        let mut next = 0;
        for rows in self.rows {
            let states = &mut d_states[rows.start * width..rows.end * width];
            if is_by_token {
                states.copy_from_slice(&gradient[next * width..(next + rows.len()) * width]);
                next += rows.len();
                continue;
            }
            let d_mean = &gradient[next * width..(next + 1) * width];
            for row in states.chunks_exact_mut(width) {
                let elements = row.iter_mut().zip(d_mean);
                elements.for_each(|(d, mean)| *d = mean / rows.len() as f32);
            }
            next += 1;
        }
        (head, d_states)
    }
}

/// Logits of `[rows, hidden_size]`. `parameters` are in the order of
/// [`ClassificationHead::named_tensors`].
fn classify(
    head: &ClassificationHead,
    mut x: Tensor<2>,
    parameters: &mut dyn Iterator<Item = Tensor<1>>,
) -> Tensor<2> {
    if let Some(dense) = &head.dense {
        x = dense.activation.apply(linear(&dense.linear, x, parameters));
        if let Some(norm) = &dense.norm {
            x = layer_norm(norm, x, parameters);
        }
    }
    linear(&head.classifier, x, parameters)
}

/// Linear layer of `[rows, inputs]`, with its next `parameters`: weight and bias.
pub(super) fn linear(
    layer: &HeadLinear,
    x: Tensor<2>,
    parameters: &mut dyn Iterator<Item = Tensor<1>>,
) -> Tensor<2> {
    let shape = [layer.outputs(), layer.inputs];
    let Some(weight) = parameters.next() else {
        return x;
    };
    let y = x.matmul(weight.reshape(shape).transpose());
    match layer.bias.as_ref().and_then(|_| parameters.next()) {
        Some(bias) => y + bias.reshape([1, layer.outputs()]),
        None => y,
    }
}

/// Layer normalization of `[rows, width]`, with its next `parameters`: scale and shift.
pub(super) fn layer_norm(
    norm: &HeadLayerNorm,
    x: Tensor<2>,
    parameters: &mut dyn Iterator<Item = Tensor<1>>,
) -> Tensor<2> {
    let centered = x.clone() - x.mean_dim(1);
    let variance = (centered.clone() * centered.clone()).mean_dim(1);
    let mut y = centered / variance.add_scalar(norm.epsilon).sqrt();
    let width = norm.scale.len();
    if let Some(scale) = parameters.next() {
        y = y * scale.reshape([1, width]);
    }
    match norm.shift.as_ref().and_then(|_| parameters.next()) {
        Some(shift) => y + shift.reshape([1, width]),
        None => y,
    }
}
