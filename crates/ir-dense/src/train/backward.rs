//! Backward pass of an encoder: [`cpu_backward`](super::cpu_backward) on the CPU, burn's automatic
//! differentiation elsewhere and for the modules after pooling.
//!
//! On the CPU the backward pass is written by hand: it saves fewer activations, and the order of
//! its sums depends on the batch alone. A test compares its gradients with burn's.

use burn::tensor::Tensor;

use super::cpu_backward::CpuBackward;
use super::gradients::ModelGradients;
use crate::encode::Tower;
use crate::kernels::memory;
use crate::transformer::TokenBatch;
use crate::transformer::forward::SavedActivations;
use crate::transformer::pass::ForwardPass;

/// Adds the gradients of all parameters. `d_tokens`: gradients of the hidden states of the last
/// layer.
pub(super) fn propagate_gradients(
    pass: &ForwardPass<'_>,
    saved: SavedActivations,
    d_tokens: Tensor<2>,
    gradients: &mut ModelGradients,
) {
    match saved {
        SavedActivations::Autodiff(saved) => {
            let (states, model) = *saved;
            let mut all = (states * d_tokens.autodiff()).sum().backward();
            model.visit_gradients(&mut all, |name, gradient| gradients.add(name, gradient));
        }
        SavedActivations::Cpu(saved, own) => {
            if let Some(cpu) = pass.cpu.or(own.as_deref()) {
                let d_states = memory::into_vec(d_tokens);
                CpuBackward { pass, cpu }.run(saved, d_states, gradients);
            }
        }
    }
}

/// Gradient of the hidden states of the last layer. `d_vectors`: gradient of the vectors.
pub(super) fn pooling_backward(
    tower: &Tower,
    hidden: Tensor<2>,
    batch: &TokenBatch,
    d_vectors: Tensor<2>,
) -> Tensor<2> {
    if !batch.runs_by_text(&hidden) {
        return gradient_through(hidden, d_vectors, |hidden| tower.pool(hidden, batch));
    }
    let d_pooled = if tower.only_pools() {
        d_vectors
    } else {
        let pooled = tower.pooling.pool(hidden.clone(), batch);
        gradient_through(pooled, d_vectors, |pooled| tower.vectors(pooled))
    };
    tower.pooling.backward_on_cpu(hidden, batch, d_pooled)
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
