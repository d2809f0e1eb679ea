//! Forward pass of a transformer: [`cpu_forward`](super::cpu_forward) on the CPU, burn's operations
//! elsewhere, with automatic differentiation if activations are saved.

use burn::module::Module;
use burn::tensor::Tensor;
use burn::tensor::activation::{gelu, gelu_approximate, relu, softmax};

use super::cpu_forward::{CpuActivations, CpuForward};
use super::cpu_training::CpuTraining;
use super::dropout::DropoutSite;
use super::pass::ForwardPass;
use super::relative_position::relative_position_bias;
use super::{TokenBatch, Transformer, TransformerLayer, concatenate};
use crate::activation::Activation;
use crate::precision::Precision;

/// Activations of a pass, for its backward pass.
pub(crate) enum SavedActivations {
    /// Of a batch without padding in CPU memory, with weights that were packed for the pass.
    Cpu(CpuActivations, Option<Box<CpuTraining>>),
    /// Hidden states and the model that they were computed from, both with automatic
    /// differentiation.
    Autodiff(Box<(Tensor<2>, Transformer)>),
}

/// Bias of attention scores per block, shared by all layers: padding mask plus relative position
/// bias, `[texts or 1, heads or 1, length or 1, length]`.
fn attention_biases(model: &Transformer, batch: &TokenBatch) -> Vec<Option<Tensor<4>>> {
    let device = model.device();
    let padding = batch.padding(&device).map(|padding| -> Tensor<4> {
        let [texts, length] = padding.dims();
        let padding = padding.reshape([texts, 1, 1, length]);
        // Finite, because a fully masked row would have no softmax.
        Tensor::zeros([texts, 1, 1, length], &device).mask_fill(padding, -1e9)
    });
    let biases = batch.blocks().iter().map(|block| {
        let table = model.relative_position_bias.as_ref();
        let relative = table.map(|table| relative_position_bias(table.val(), block.length));
        match (relative, padding.clone()) {
            (Some(relative), Some(padding)) => Some(relative + padding),
            (relative, padding) => relative.or(padding),
        }
    });
    biases.collect()
}

impl ForwardPass<'_> {
    /// Returns the hidden state of every token, `[tokens, hidden_size]`, and the saved
    /// activations if [`ForwardPass::save`] is set.
    pub(crate) fn run(&self) -> (Tensor<2>, Option<SavedActivations>) {
        if !self.batch.has_padding() {
            let own = match self.cpu {
                Some(_) => None,
                None => CpuTraining::new(self.model, Precision::F32, self.save).map(Box::new),
            };
            let cpu = self.cpu.or(own.as_deref());
            if let Some((cpu, attention)) = cpu.and_then(|cpu| Some((cpu, cpu.attention()?))) {
                let pass = self;
                let forward = CpuForward {
                    pass,
                    cpu,
                    attention,
                };
                let (states, saved) = forward.run();
                return (states, saved.map(|saved| SavedActivations::Cpu(saved, own)));
            }
        }
        if !self.save {
            return (self.hidden_states(self.model), None);
        }
        let model = self.model.clone().train();
        let states = self.hidden_states(&model);
        let saved = SavedActivations::Autodiff(Box::new((states.clone(), model)));
        (states.without_autodiff(), Some(saved))
    }

    /// Hidden states by the weights of `model`, in burn's operations.
    fn hidden_states(&self, model: &Transformer) -> Tensor<2> {
        let (tokens, positions, types) = model.embeddings(self.batch);
        let sum = tokens + positions;
        let sum = match types {
            Some(types) => sum + types,
            None => sum,
        };
        let mut x = self.drop(model.embedding_norm.forward(sum), DropoutSite::Embeddings);
        let biases = attention_biases(model, self.batch);
        for (number, layer) in model.layers.iter().enumerate() {
            let attended = layer
                .output
                .forward(self.attention(layer, number, &x, &biases));
            let attended = self.drop(attended, DropoutSite::Attention(number)) + x;
            let attended = layer.attention_norm.forward(attended);
            let inner = activate(layer.activation, layer.up.forward(attended.clone()));
            let down = layer.down.forward(inner);
            let down = self.drop(down, DropoutSite::FeedForward(number));
            x = layer.norm.forward(down + attended);
        }
        x
    }

    /// Returns the context vector of every token, `[tokens, hidden_size]`.
    fn attention(
        &self,
        layer: &TransformerLayer,
        number: usize,
        x: &Tensor<2>,
        biases: &[Option<Tensor<4>>],
    ) -> Tensor<2> {
        let (qkv, scale) = (layer.qkv.forward(x.clone()), layer.scale());
        let mut out = Vec::with_capacity(biases.len());
        let blocks = self.batch.blocks().iter().zip(biases);
        for ((block, bias), texts) in blocks.zip(self.block_texts()) {
            let [queries, keys, values] = layer.split_qkv(&qkv, *block);
            let mut scores = queries.matmul(keys.swap_dims(2, 3)).mul_scalar(scale);
            if let Some(bias) = bias {
                scores = scores + bias.clone();
            }
            let probabilities = self.drop_probabilities(softmax(scores, 3), &texts, number);
            out.push(layer.merge_heads(probabilities.matmul(values), *block));
        }
        concatenate(out)
    }
}

pub(crate) fn activate(activation: Activation, x: Tensor<2>) -> Tensor<2> {
    match activation {
        Activation::Gelu => gelu(x),
        Activation::GeluTanh => gelu_approximate(x),
        Activation::Relu => relu(x),
    }
}
