//! Backward pass of a transformer.
//!
//! Written by hand instead of burn's automatic differentiation: it saves fewer activations, and the
//! order of its sums depends on the batch alone. A test compares the gradients with burn's.
//! [`cpu_backward`](super::cpu_backward) is the backward pass on the CPU; here are the operations
//! of other devices. Normalization of vectors uses automatic differentiation; other devices than
//! the CPU also for pooling, relative position bias and activation functions other than GELU.

use burn::nn::{LayerNorm, Linear};
use burn::tensor::Tensor;

use super::cpu_backward::CpuBackward;
use super::gradients::ModelGradients;
use crate::kernels::memory;
use crate::kernels::tensor::{self, SavedLayerNorm};
use crate::transformer::dropout::DropoutSite;
use crate::transformer::forward::{
    ForwardPass, SavedActivations, SavedLayer, SavedTensors, activate,
};
use crate::transformer::relative_position::relative_position_bias;
use crate::transformer::{TransformerLayer, concatenate, index_tensor};
use crate::{Activation, TokenBatch, Tower, encode};

/// Adds the gradients of all parameters, given those of the hidden states of the last layer.
pub(super) fn propagate_gradients(
    pass: &ForwardPass<'_>,
    saved: SavedActivations,
    d_tokens: Tensor<2>,
    gradients: &mut ModelGradients,
) {
    match saved {
        SavedActivations::Tensors(saved) => propagate(pass, *saved, d_tokens, gradients),
        SavedActivations::Cpu(saved, own) => {
            if let Some(cpu) = pass.cpu.or(own.as_deref()) {
                let d_states = memory::into_vec(d_tokens);
                CpuBackward { pass, cpu }.run(saved, d_states, gradients);
            }
        }
    }
}

fn propagate(
    pass: &ForwardPass<'_>,
    saved: SavedTensors,
    d_tokens: Tensor<2>,
    gradients: &mut ModelGradients,
) {
    let (model, device) = (pass.model, pass.model.device());
    let SavedTensors {
        rows,
        embedding_norm,
        layers,
    } = saved;
    let mut d = d_tokens;
    let mut d_biases: Vec<Option<Tensor<4>>> = vec![None; pass.batch.blocks().len()];
    for (number, saved) in layers.into_iter().enumerate().rev() {
        let layer = LayerBackward {
            pass,
            layer: &model.layers[number],
            number,
        };
        d = layer.run(saved, d, gradients, &mut d_biases);
    }
    if let Some(table) = &model.relative_position_bias {
        for (block, d_bias) in pass.batch.blocks().iter().zip(d_biases) {
            if let Some(d_bias) = d_bias {
                let bias = |table| relative_position_bias(table, block.length);
                gradients.add(
                    "relative_position_bias",
                    gradient_through(table.val(), d_bias, bias),
                );
            }
        }
    }
    let d = pass.drop(d, DropoutSite::Embeddings);
    let norm = &model.embedding_norm;
    let d = layer_norm_backward(d, embedding_norm, norm, "embedding_norm", gradients);
    if let Some(types) = &model.token_type_embeddings {
        let (name, shape) = ("token_type_embeddings", types.dims());
        match rows.types {
            Some(types) => gradients.add_rows(name, shape, types, d.clone()),
            None => {
                let sums = tensor::column_sums(d.clone()).unsqueeze();
                let row = index_tensor([0].into_iter(), &device);
                gradients.add_rows(name, shape, row, sums);
            }
        }
    }
    let shape = model.position_embeddings.dims();
    gradients.add_rows("position_embeddings", shape, rows.positions, d.clone());
    let shape = model.token_embeddings.dims();
    gradients.add_rows("token_embeddings", shape, rows.ids, d);
}

/// Gradient of the hidden states of the last layer, given that of the vectors.
pub(super) fn pooling_backward(
    tower: &Tower,
    hidden: Tensor<2>,
    batch: &TokenBatch,
    d_vectors: Tensor<2>,
) -> Tensor<2> {
    if !batch.runs_by_text(&hidden) {
        return gradient_through(hidden, d_vectors, |hidden| tower.pool(hidden, batch));
    }
    let d_pooled = match tower.normalize {
        false => d_vectors,
        true => {
            let pooled = tower.pooling.pool(hidden.clone(), batch);
            gradient_through(pooled, d_vectors, encode::normalize)
        }
    };
    tower.pooling.backward_on_cpu(hidden, batch, d_pooled)
}

/// Backward pass of a layer.
struct LayerBackward<'a> {
    pass: &'a ForwardPass<'a>,
    layer: &'a TransformerLayer,
    number: usize,
}

impl LayerBackward<'_> {
    /// Adds the gradients of the parameters and returns those of the input of the layer.
    fn run(
        &self,
        saved: SavedLayer,
        dy: Tensor<2>,
        gradients: &mut ModelGradients,
        d_biases: &mut [Option<Tensor<4>>],
    ) -> Tensor<2> {
        let (layer, pass) = (self.layer, self.pass);
        let name = |part| format!("layers.{}.{part}", self.number);
        let d = layer_norm_backward(dy, saved.norm, &layer.norm, &name("norm"), gradients);
        let d_down = pass.drop(d.clone(), DropoutSite::FeedForward(self.number));
        let [before, after] = saved.inner;
        let d_after = linear_backward(d_down, after, &layer.down, &name("down"), gradients);
        let d_before = match layer.activation {
            Activation::Gelu => tensor::gelu_backward(d_after, before),
            other => gradient_through(before, d_after, |x| activate(other, x)),
        };
        let d_attended =
            linear_backward(d_before, saved.attended, &layer.up, &name("up"), gradients);
        let d = layer_norm_backward(
            d_attended + d,
            saved.attention_norm,
            &layer.attention_norm,
            &name("attention_norm"),
            gradients,
        );
        let d_output = pass.drop(d.clone(), DropoutSite::Attention(self.number));
        let d_context = linear_backward(
            d_output,
            saved.context,
            &layer.output,
            &name("output"),
            gradients,
        );
        let d_qkv = self.attention_backward(d_context, &saved.qkv, saved.probabilities, d_biases);
        let d_input = linear_backward(d_qkv, saved.input, &layer.qkv, &name("qkv"), gradients);
        d_input + d
    }

    /// Returns the gradients of queries, keys and values, concatenated.
    fn attention_backward(
        &self,
        d_context: Tensor<2>,
        qkv: &Tensor<2>,
        probabilities: Vec<Tensor<4>>,
        d_biases: &mut [Option<Tensor<4>>],
    ) -> Tensor<2> {
        let (layer, pass) = (self.layer, self.pass);
        let scale = layer.scale();
        let [_, hidden] = d_context.dims();
        let mut out = Vec::with_capacity(probabilities.len());
        let blocks = pass.batch.blocks().iter().zip(pass.block_texts());
        for (((block, texts), probabilities), d_bias) in blocks.zip(probabilities).zip(d_biases) {
            let [queries, keys, values] = layer.split_qkv(qkv, *block);
            let d_context = d_context.clone().slice([block.tokens(), 0..hidden]);
            let d_context = layer.split_heads(d_context, *block);
            let d_dropped = d_context.clone().matmul(values.swap_dims(2, 3));
            let d_probabilities = pass.drop_probabilities(d_dropped, &texts, self.number);
            let dropped = pass.drop_probabilities(probabilities.clone(), &texts, self.number);
            let d_values = dropped.swap_dims(2, 3).matmul(d_context);
            let d_scores = tensor::softmax_backward(d_probabilities, probabilities, scale);
            if pass.model.relative_position_bias.is_some() {
                let d = d_scores.clone().sum_dim(0).div_scalar(scale);
                *d_bias = Some(match d_bias.take() {
                    Some(sum) => sum + d,
                    None => d,
                });
            }
            let d_queries = d_scores.clone().matmul(keys);
            let d_keys = d_scores.swap_dims(2, 3).matmul(queries);
            let rows = [d_queries, d_keys, d_values].map(|d| layer.merge_heads(d, *block));
            out.push(Tensor::cat(rows.into(), 1));
        }
        concatenate(out)
    }
}

/// Backward pass of x·W + b: adds the gradients of W and b and returns that of x.
fn linear_backward(
    dy: Tensor<2>,
    x: Tensor<2>,
    layer: &Linear,
    name: &str,
    gradients: &mut ModelGradients,
) -> Tensor<2> {
    gradients.add(&format!("{name}.weight"), x.transpose().matmul(dy.clone()));
    gradients.add(&format!("{name}.bias"), tensor::column_sums(dy.clone()));
    dy.matmul(layer.weight.val().transpose())
}

/// Backward pass of layer normalization: adds the gradients of its scale γ and shift β and returns
/// the gradient of its input.
fn layer_norm_backward(
    dy: Tensor<2>,
    saved: SavedLayerNorm,
    norm: &LayerNorm,
    name: &str,
    gradients: &mut ModelGradients,
) -> Tensor<2> {
    let (dx, [d_gamma, d_beta]) = tensor::layer_norm_backward(dy, saved, norm.gamma.val());
    gradients.add(&format!("{name}.gamma"), d_gamma);
    gradients.add(&format!("{name}.beta"), d_beta);
    dx
}

/// Gradient of the input of `f`, by burn's automatic differentiation.
pub(super) fn gradient_through<const A: usize, const B: usize>(
    x: Tensor<A>,
    dy: Tensor<B>,
    f: impl FnOnce(Tensor<A>) -> Tensor<B>,
) -> Tensor<A> {
    let x = x.autodiff().require_grad();
    let y = f(x.clone());
    let mut gradients = (y * dy.autodiff()).sum().backward();
    let gradient = x.grad_remove(&mut gradients);
    gradient.unwrap_or_else(|| x.without_autodiff().zeros_like())
}
