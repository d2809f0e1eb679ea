//! The transformer encoder.
//!
//! A [`TransformerConfig`] describes the layers, and every pass interprets the description.
//! [`pass`] describes a forward pass, [`forward`] runs it: [`cpu_forward`] in kernels of this crate
//! on the CPU, burn's operations on GPUs and libtorch. [`cpu`] is a separate implementation for
//! inference on the CPU, about 1.3 times as fast as PyTorch: its weights are packed once, and rows
//! pass through all projections between two attentions while they are in the L2 cache. Tests check
//! both against the hidden states of Python's transformers.

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod adapter_tests;
mod attended_tokens;
pub(crate) mod batch;
pub(crate) mod cpu;
pub(crate) mod cpu_attention;
mod cpu_convolution;
pub(crate) mod cpu_forward;
mod cpu_layer;
mod cpu_positions;
pub(crate) mod cpu_training;
pub(crate) mod dropout;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) mod family_tests;
pub(crate) mod forward;
mod model_weights;
mod parameters;
pub(crate) mod pass;
pub(crate) mod relative_position;
mod rotary;
mod saved_tensors;
mod tensor_names;
mod weights;

use burn::module::{Module, Param};
use burn::nn::{LayerNorm, Linear};
use burn::tensor::{Device, Int, Tensor, TensorData};

use batch::TextBlock;
pub use batch::TokenBatch;
pub(crate) use model_weights::{InferenceModel, ModelWeights, checked_device};
use pass::ForwardPass;
pub(crate) use tensor_names::{encoder_prefix, norm_suffixes};
pub(crate) use weights::tensor_problems;

use crate::model_folder::TransformerConfig;

/// Rows of a block: with 384 dimensions, they and their intermediate results fit an L2 cache of 1
/// MiB.
pub(crate) const BLOCK_ROWS: usize = 96;

/// Transformer encoder: embeddings, then layers of self-attention and feed-forward network, as the
/// [`LayerConfig`](crate::LayerConfig) of its configuration describes them.
///
/// It is a burn [`Module`]: on a device with automatic differentiation, [`Transformer::forward`]
/// is differentiable.
#[derive(Module, Debug)]
pub struct Transformer {
    /// Token embeddings, `[vocab_size, embedding_size]`; the embedding size is `hidden_size` unless
    /// a projection follows.
    pub token_embeddings: Param<Tensor<2>>,
    /// Position embeddings, `[max_positions, embedding_size]`.
    pub position_embeddings: Option<Param<Tensor<2>>>,
    /// Token-type embeddings, `[token_types, hidden_size]`. In a pair of texts, the second has
    /// type 1; other tokens have type 0.
    pub token_type_embeddings: Option<Param<Tensor<2>>>,
    /// Attention bias per bucket of relative positions, `[relative_position_buckets, heads]`.
    pub relative_position_bias: Option<Param<Tensor<2>>>,
    /// Normalization of the summed embeddings.
    pub embedding_norm: Option<LayerNorm>,
    /// Projection of the embeddings, `[embedding_size, hidden_size]`.
    pub embedding_projection: Option<Linear>,
    /// Embeddings of relative positions in disentangled attention, `[2 · buckets, hidden_size]`.
    pub relative_positions: Option<Param<Tensor<2>>>,
    /// Normalization of the embeddings of relative positions.
    pub relative_position_norm: Option<LayerNorm>,
    /// Convolution beside the first layer.
    pub convolution: Option<ConvolutionLayer>,
    /// Layers, first to last, without repetitions of layers that share weights.
    pub layers: Vec<TransformerLayer>,
    /// Normalization of the output of the last layer.
    pub final_norm: Option<LayerNorm>,
    #[module(skip)]
    config: TransformerConfig,
}

/// Layer of a [`Transformer`]. Normalizations without shift have no `beta`, and divide by the root
/// mean square if the configuration says so.
#[derive(Module, Debug)]
pub struct TransformerLayer {
    /// Query, key and value projections, concatenated: `[hidden_size, queries + 2 · keys]`.
    pub qkv: Linear,
    /// Output projection of attention: `[queries, hidden_size]`.
    pub output: Linear,
    /// Normalization after attention, or before it.
    pub attention_norm: Option<LayerNorm>,
    /// First projection of the feed-forward network: `[hidden_size, intermediate_size]`.
    pub up: Linear,
    /// Second projection of the feed-forward network: `[intermediate_size, hidden_size]`.
    pub down: Linear,
    /// Normalization after the feed-forward network, or before it.
    pub norm: LayerNorm,
    /// Gate of the feed-forward network: `[hidden_size, intermediate_size]`.
    pub gate: Option<Linear>,
    /// Normalization of the output of attention before it is added.
    pub attention_output_norm: Option<LayerNorm>,
    /// Normalization of the output of the feed-forward network before it is added.
    pub output_norm: Option<LayerNorm>,
    /// Normalization of the queries of every head.
    pub query_norm: Option<LayerNorm>,
    /// Normalization of the keys of every head.
    pub key_norm: Option<LayerNorm>,
    /// Projections of relative positions; `None` if the projections of keys and queries are used.
    pub positions: Option<PositionProjections>,
    /// Bottleneck adapter after the feed-forward network.
    pub adapter: Option<AdapterProjections>,
}

/// Projections of the embeddings of relative positions in disentangled attention.
#[derive(Module, Debug)]
pub struct PositionProjections {
    /// Keys of relative positions: `[hidden_size, queries]`.
    pub key: Option<Linear>,
    /// Queries of relative positions: `[hidden_size, queries]`.
    pub query: Option<Linear>,
}

/// Convolution over the tokens of a text, and the normalization of its sum with the output of the
/// first layer.
#[derive(Module, Debug)]
pub struct ConvolutionLayer {
    /// Projection of the vectors of neighboring tokens: `[kernel_size · hidden_size, hidden_size]`.
    pub projection: Linear,
    /// Normalization of the sum.
    pub norm: LayerNorm,
}

/// Projections of a bottleneck adapter.
#[derive(Module, Debug)]
pub struct AdapterProjections {
    /// Down-projection: `[hidden_size, size]`.
    pub down: Linear,
    /// Up-projection: `[size, hidden_size]`.
    pub up: Linear,
}

impl Transformer {
    /// Configuration of the model.
    pub fn config(&self) -> &TransformerConfig {
        &self.config
    }

    /// Device of the weights.
    pub fn device(&self) -> Device {
        self.token_embeddings.val().device()
    }

    /// Returns the hidden state of every token in the last layer.
    ///
    /// # Shapes
    /// `[tokens, hidden_size]`, in the order of [`TokenBatch::ids`].
    ///
    /// # Panics
    /// If a token id is not below `vocab_size`, a token type not below `token_types`, or a text is
    /// longer than [`TransformerConfig::max_tokens`]. Ids from
    /// [`ModelTokenizer`](crate::ModelTokenizer) satisfy all.
    pub fn forward(&self, batch: &TokenBatch) -> Tensor<2> {
        ForwardPass::inference(self, batch).run().0
    }

    /// Summands of the embeddings, `[tokens, embedding_size]`: token embeddings, and position and
    /// token-type embeddings if the model has them. The latter are `[1, embedding_size]` if all
    /// tokens have type 0.
    pub(crate) fn embeddings(
        &self,
        batch: &TokenBatch,
    ) -> (Tensor<2>, Option<Tensor<2>>, Option<Tensor<2>>) {
        let device = self.device();
        let rows = |table: &Param<Tensor<2>>, rows: &mut dyn Iterator<Item = i64>| {
            table.val().select(0, index_tensor(rows, &device))
        };
        let positions = self.position_embeddings.as_ref();
        let positions = positions.map(|table| {
            let positions = batch.position_rows(&self.config);
            rows(table, &mut positions.map(|row| row as i64))
        });
        let types = self.token_type_embeddings.as_ref();
        let types = types.map(|table| match batch.token_types() {
            [] => table.val().slice([0..1, 0..self.config.embedding_size()]),
            types => rows(table, &mut types.iter().map(|&it| it as i64)),
        });
        let ids = &mut batch.ids().iter().map(|&id| id as i64);
        let tokens = rows(&self.token_embeddings, ids);
        let scale = self.config.layer.embedding_scale;
        let tokens = if scale == 1.0 {
            tokens
        } else {
            tokens.mul_scalar(scale)
        };
        (tokens, positions, types)
    }
}

/// `[texts · length, heads · dim]` to `[texts, heads, length, dim]`.
pub(crate) fn split_heads(rows: Tensor<2>, block: TextBlock, heads: usize) -> Tensor<4> {
    let [_, width] = rows.dims();
    let shape = [block.texts, block.length, heads, width / heads];
    rows.reshape(shape).swap_dims(1, 2)
}

/// `[texts, heads, length, dim]` to `[texts · length, heads · dim]`.
pub(crate) fn merge_heads(heads: Tensor<4>, block: TextBlock) -> Tensor<2> {
    let [_, count, _, dim] = heads.dims();
    let shape = [block.texts * block.length, count * dim];
    heads.swap_dims(1, 2).reshape(shape)
}

pub(crate) fn index_tensor(values: impl Iterator<Item = i64>, device: &Device) -> Tensor<1, Int> {
    let values: Vec<i64> = values.collect();
    let length = values.len();
    Tensor::from_data(TensorData::new(values, [length]), device)
}

/// Concatenates the rows of the blocks of a batch.
pub(crate) fn concatenate(mut blocks: Vec<Tensor<2>>) -> Tensor<2> {
    match blocks.len() {
        1 => blocks.remove(0),
        _ => Tensor::cat(blocks, 0),
    }
}
