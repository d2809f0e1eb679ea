//! Forward pass of a transformer: [`cpu_training`](super::cpu_training) on the CPU, burn's
//! operations elsewhere.

use burn::nn::LayerNorm;
use burn::tensor::Tensor;
use burn::tensor::activation::{gelu, gelu_approximate, relu, softmax};

use super::batch::TokenBatch;
use super::cpu_attention::AttentionMask;
use super::cpu_training::{CpuActivations, CpuForward, CpuTraining};
use super::dropout::{Dropout, DropoutSite};
use super::relative_position::relative_position_bias;
use super::{EmbeddingRows, Transformer, TransformerLayer, concatenate};
use crate::kernels::buffers::BufferPool;
use crate::kernels::tensor::{self, SavedLayerNorm};
use crate::{Activation, Precision};

pub(crate) struct ForwardPass<'a> {
    pub(crate) model: &'a Transformer,
    /// Packed weights of the model; `None`: they are packed for this pass, in f32, if the model is
    /// in CPU memory.
    pub(crate) cpu: Option<&'a CpuTraining>,
    pub(crate) batch: &'a TokenBatch,
    /// Whether activations are saved for the backward pass.
    pub(crate) save: bool,
    pub(crate) dropout: Option<Dropout>,
    /// Identity of each text of the batch, which selects its dropout mask.
    pub(crate) texts: &'a [usize],
}

pub(crate) enum SavedActivations {
    /// Of a batch without padding in CPU memory, with weights that were packed for the pass.
    Cpu(CpuActivations, Option<Box<CpuTraining>>),
    Tensors(Box<SavedTensors>),
}

pub(crate) struct SavedTensors {
    pub(crate) rows: EmbeddingRows,
    pub(crate) embedding_norm: SavedLayerNorm,
    pub(crate) layers: Vec<SavedLayer>,
}

pub(crate) struct SavedLayer {
    pub(crate) input: Tensor<2>,
    pub(crate) qkv: Tensor<2>,
    /// Attention probabilities of every block before dropout, `[texts, heads, length, length]`.
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

impl<'a> ForwardPass<'a> {
    /// Pass without dropout that saves no activations.
    pub(crate) fn inference(model: &'a Transformer, batch: &'a TokenBatch) -> Self {
        Self {
            model,
            cpu: None,
            batch,
            save: false,
            dropout: None,
            texts: &[],
        }
    }

    /// Returns the hidden state of every token, `[tokens, hidden_size]`, and the saved
    /// activations if [`ForwardPass::save`] is set.
    pub(crate) fn run(&self) -> (Tensor<2>, Option<SavedActivations>) {
        let model = self.model;
        if !self.batch.has_padding() {
            let own = match self.cpu {
                Some(_) => None,
                None => CpuTraining::new(model, Precision::F32, self.save).map(Box::new),
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
        let rows = model.embedding_rows(self.batch);
        let x = model.embed(rows.clone());
        let (x, embedding_norm) = self.layer_norm(x, &model.embedding_norm);
        let mut x = self.drop(x, DropoutSite::Embeddings);
        let biases = attention_biases(model, self.batch);
        let mut layers = Vec::new();
        for (number, layer) in model.layers.iter().enumerate() {
            let (y, saved) = self.layer(layer, number, x, &biases);
            x = y;
            layers.extend(saved);
        }
        let saved = embedding_norm.map(|embedding_norm| {
            SavedActivations::Tensors(Box::new(SavedTensors {
                rows,
                embedding_norm,
                layers,
            }))
        });
        (x, saved)
    }

    fn layer(
        &self,
        layer: &TransformerLayer,
        number: usize,
        input: Tensor<2>,
        biases: &[Option<Tensor<4>>],
    ) -> (Tensor<2>, Option<SavedLayer>) {
        let qkv = layer.qkv.forward(input.clone());
        let (context, probabilities) = self.attention(layer, number, &qkv, biases);
        let attended = layer.output.forward(context.clone());
        let attended = self.drop(attended, DropoutSite::Attention(number)) + input.clone();
        let (attended, attention_norm) = self.layer_norm(attended, &layer.attention_norm);
        let before = layer.up.forward(attended.clone());
        let after = activate(layer.activation, before.clone());
        let down = layer.down.forward(after.clone());
        let inner = [before, after];
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

    /// Returns the context vector of every token, `[tokens, hidden_size]`, and the attention
    /// probabilities of every block if activations are saved.
    fn attention(
        &self,
        layer: &TransformerLayer,
        number: usize,
        qkv: &Tensor<2>,
        biases: &[Option<Tensor<4>>],
    ) -> (Tensor<2>, Vec<Tensor<4>>) {
        let scale = layer.scale();
        let mut out = Vec::with_capacity(biases.len());
        let mut saved = Vec::new();
        let blocks = self.batch.blocks().iter().zip(biases);
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

    /// Calls `f` with the dropout masks of the attention probabilities of a layer.
    pub(crate) fn with_attention_mask<T>(
        &self,
        layer: usize,
        f: impl FnOnce(Option<AttentionMask<'_>>) -> T,
    ) -> T {
        let Some(dropout) = self.dropout else {
            return f(None);
        };
        let heads = self.model.config().heads;
        f(Some(&|text, length| {
            dropout.attention_mask(self.texts[text], layer, heads * length * length)
        }))
    }

    /// Dropout mask of token vectors, `[tokens, hidden_size]`, in a buffer of the pool; empty
    /// without dropout.
    pub(crate) fn dropout_mask(&self, site: DropoutSite, buffers: &BufferPool) -> Vec<f32> {
        let Some(dropout) = self.dropout else {
            return Vec::new();
        };
        let mut mask = buffers.take(self.batch.ids().len() * self.model.config().hidden_size);
        dropout.fill_tokens(self.batch, self.texts, site, &mut mask);
        mask
    }

    /// Layer normalization. Without saved activations, burn's fused kernel.
    fn layer_norm(&self, x: Tensor<2>, norm: &LayerNorm) -> (Tensor<2>, Option<SavedLayerNorm>) {
        if !self.save {
            return (norm.forward(x), None);
        }
        let eps = self.model.config().layer_norm_eps;
        let gamma = norm.gamma.val();
        let beta = match &norm.beta {
            Some(beta) => beta.val(),
            None => gamma.zeros_like(),
        };
        let (y, saved) = tensor::layer_norm(x, gamma, beta, eps);
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

pub(crate) fn activate(activation: Activation, x: Tensor<2>) -> Tensor<2> {
    match activation {
        Activation::Gelu => gelu(x),
        Activation::GeluTanh => gelu_approximate(x),
        Activation::Relu => relu(x),
    }
}
