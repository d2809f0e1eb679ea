//! Forward pass of a transformer in burn operations.

use burn::module::Param;
use burn::nn::{LayerNorm, Linear};
use burn::tensor::activation::{gelu, gelu_approximate, relu, softmax};
use burn::tensor::{Device, Int, Tensor};

use super::batch::TokenBatch;
use super::dropout::{Dropout, DropoutSite};
use super::relative_position::relative_position_bias;
use super::{Transformer, TransformerLayer, concatenate};
use crate::Activation;
use crate::kernels::memory::on_cpu;
use crate::kernels::tensor::{self, SavedLayerNorm};

/// Forward pass of a batch.
pub(crate) struct ForwardPass<'a> {
    pub(crate) model: &'a Transformer,
    pub(crate) batch: &'a TokenBatch,
    /// Whether activations are saved for the backward pass.
    pub(crate) save: bool,
    pub(crate) dropout: Option<Dropout>,
    /// Identity of each text of the batch, which selects its dropout mask.
    pub(crate) texts: &'a [usize],
}

/// Saved activations of a forward pass.
pub(crate) struct SavedActivations {
    /// Rows of the token and position embeddings.
    pub(crate) rows: [Tensor<1, Int>; 2],
    pub(crate) embedding_norm: SavedLayerNorm,
    pub(crate) biases: AttentionBias,
    pub(crate) layers: Vec<SavedLayer>,
}

/// Saved activations of a layer.
pub(crate) struct SavedLayer {
    pub(crate) input: Tensor<2>,
    pub(crate) qkv: Tensor<2>,
    /// Attention probabilities of every block, before dropout.
    pub(crate) probabilities: Vec<Tensor<4>>,
    /// Input of the output projection.
    pub(crate) context: Tensor<2>,
    pub(crate) attention_norm: SavedLayerNorm,
    /// Input of the feed-forward network.
    pub(crate) attended: Tensor<2>,
    /// Feed-forward network before and after the activation function.
    pub(crate) inner: [Tensor<2>; 2],
    pub(crate) norm: SavedLayerNorm,
}

/// Bias of attention scores per block, shared by all layers: padding mask plus relative position
/// bias.
pub(crate) struct AttentionBias {
    /// `[texts or 1, heads or 1, length or 1, length]`.
    pub(crate) blocks: Vec<Option<Tensor<4>>>,
}

impl AttentionBias {
    fn new(model: &Transformer, batch: &TokenBatch, device: &Device) -> Self {
        let padding = batch.padding(device).map(|padding| -> Tensor<4> {
            let [texts, length] = padding.dims();
            let padding = padding.reshape([texts, 1, 1, length]);
            // Finite, because a fully masked row would have no softmax.
            Tensor::zeros([texts, 1, 1, length], device).mask_fill(padding, -1e9)
        });
        let blocks = batch.blocks().iter().map(|block| {
            let table = model.relative_position_bias.as_ref();
            let relative = table.map(|table| relative_position_bias(table.val(), block.length));
            match (relative, padding.clone()) {
                (Some(relative), Some(padding)) => Some(relative + padding),
                (relative, padding) => relative.or(padding),
            }
        });
        Self {
            blocks: blocks.collect(),
        }
    }
}

impl<'a> ForwardPass<'a> {
    /// Pass without dropout that saves no activations.
    pub(crate) fn inference(model: &'a Transformer, batch: &'a TokenBatch) -> Self {
        Self {
            model,
            batch,
            save: false,
            dropout: None,
            texts: &[],
        }
    }

    /// Returns the hidden state of every token, `[tokens, hidden_size]`, and the saved
    /// activations if [`ForwardPass::save`] is set.
    pub(crate) fn run(&self) -> (Tensor<2>, Option<SavedActivations>) {
        let (model, device) = (self.model, self.model.device());
        let rows = model.embedding_rows(self.batch);
        let x = model.embed(rows.clone());
        let (x, embedding_norm) = self.layer_norm(x, &model.embedding_norm);
        let mut x = self.drop(x, DropoutSite::Embeddings);
        let biases = AttentionBias::new(model, self.batch, &device);
        let mut layers = Vec::new();
        for (number, layer) in model.layers.iter().enumerate() {
            let (y, saved) = self.layer(layer, number, x, &biases);
            x = y;
            layers.extend(saved);
        }
        let saved = embedding_norm.map(|embedding_norm| SavedActivations {
            rows,
            embedding_norm,
            biases,
            layers,
        });
        (x, saved)
    }

    fn layer(
        &self,
        layer: &TransformerLayer,
        number: usize,
        input: Tensor<2>,
        biases: &AttentionBias,
    ) -> (Tensor<2>, Option<SavedLayer>) {
        let qkv = layer.qkv.forward(input.clone());
        let (context, probabilities) = self.attention(layer, number, &qkv, biases);
        let attended = layer.output.forward(context.clone());
        let attended = self.drop(attended, DropoutSite::Attention(number)) + input.clone();
        let (attended, attention_norm) = self.layer_norm(attended, &layer.attention_norm);
        let inner = self.inner(layer, attended.clone());
        let down = layer.down.forward(inner[1].clone());
        let down = self.drop(down, DropoutSite::FeedForward(number)) + attended.clone();
        let (y, norm) = self.layer_norm(down, &layer.norm);
        let norms = attention_norm.zip(norm);
        let saved = norms.map(|(attention_norm, norm)| SavedLayer {
            input,
            qkv,
            probabilities,
            context,
            attention_norm,
            attended,
            inner,
            norm,
        });
        (y, saved)
    }

    /// Feed-forward network before and after the activation function.
    fn inner(&self, layer: &TransformerLayer, x: Tensor<2>) -> [Tensor<2>; 2] {
        match layer.activation {
            Activation::Gelu if on_cpu(&x) => {
                tensor::gelu(x.matmul(layer.up.weight.val()), bias(&layer.up))
            }
            activation => {
                let before = layer.up.forward(x);
                [before.clone(), activate(activation, before)]
            }
        }
    }

    /// Context vector of every token, `[tokens, hidden_size]`, and the attention probabilities of
    /// every block if activations are saved.
    fn attention(
        &self,
        layer: &TransformerLayer,
        number: usize,
        qkv: &Tensor<2>,
        biases: &AttentionBias,
    ) -> (Tensor<2>, Vec<Tensor<4>>) {
        let scale = layer.scale();
        let mut out = Vec::with_capacity(biases.blocks.len());
        let mut saved = Vec::new();
        let blocks = self.batch.blocks().iter().zip(&biases.blocks);
        for ((block, bias), texts) in blocks.zip(self.block_texts()) {
            let [queries, keys, values] = layer.split_qkv(qkv, *block);
            let scores = queries.matmul(keys.swap_dims(2, 3));
            let probabilities = match bias {
                None => tensor::softmax(scores, scale),
                Some(bias) => softmax(scores.mul_scalar(scale) + bias.clone(), 3),
            };
            if self.save {
                saved.push(probabilities.clone());
            }
            let probabilities = self.drop_probabilities(probabilities, &texts, number);
            out.push(layer.merge_heads(probabilities.matmul(values), *block));
        }
        (concatenate(out), saved)
    }

    /// Layer normalization. Without saved activations, GPUs run burn's fused kernel.
    fn layer_norm(&self, x: Tensor<2>, norm: &LayerNorm) -> (Tensor<2>, Option<SavedLayerNorm>) {
        if !self.save && !on_cpu(&x) {
            return (norm.forward(x), None);
        }
        let eps = self.model.config().layer_norm_eps;
        let (y, saved) = tensor::layer_norm(x, norm.gamma.val(), shift(norm), eps);
        (y, self.save.then_some(saved))
    }

    pub(crate) fn drop(&self, x: Tensor<2>, site: DropoutSite) -> Tensor<2> {
        match self.dropout {
            None => x,
            Some(dropout) => dropout.tokens(x, self.batch, self.texts, site),
        }
    }

    pub(crate) fn drop_probabilities(
        &self,
        probabilities: Tensor<4>,
        texts: &[(usize, usize)],
        layer: usize,
    ) -> Tensor<4> {
        match self.dropout {
            None => probabilities,
            Some(dropout) => {
                let site = DropoutSite::AttentionProbabilities(layer);
                dropout.attention_probabilities(probabilities, texts, site)
            }
        }
    }

    /// Texts of every block of the batch, each with its length without padding.
    pub(crate) fn block_texts(&self) -> impl Iterator<Item = Vec<(usize, usize)>> {
        let mut texts = self
            .texts
            .iter()
            .copied()
            .zip(self.batch.unpadded_lengths());
        let blocks = self.batch.blocks().iter();
        blocks.map(move |block| texts.by_ref().take(block.texts).collect())
    }
}

/// Activation function of the feed-forward network.
pub(crate) fn activate(activation: Activation, x: Tensor<2>) -> Tensor<2> {
    match activation {
        Activation::Gelu => gelu(x),
        Activation::GeluTanh => gelu_approximate(x),
        Activation::Relu => relu(x),
    }
}

fn bias(linear: &Linear) -> Tensor<1> {
    let [_, length] = linear.weight.val().dims();
    or_zeros(linear.bias.as_ref(), length, &linear.weight)
}

fn shift(norm: &LayerNorm) -> Tensor<1> {
    let [length] = norm.gamma.val().dims();
    or_zeros(norm.beta.as_ref(), length, &norm.gamma)
}

fn or_zeros<const D: usize>(
    vector: Option<&Param<Tensor<1>>>,
    length: usize,
    like: &Param<Tensor<D>>,
) -> Tensor<1> {
    match vector {
        Some(vector) => vector.val(),
        None => Tensor::zeros([length], &like.val().device()),
    }
}
