//! The transformer encoder.
//!
//! [`forward`] is the forward pass of training, with saved activations, and of inference on GPUs
//! and libtorch, without. On the CPU, its linear layers and attention are kernels of this crate;
//! embedding lookup and rare activation functions are burn's operations. [`cpu`] is a separate
//! implementation for inference on the CPU, about 1.3 times as fast as PyTorch: its weights are
//! packed once, and rows pass through all projections between two attentions while they are in the
//! L2 cache. Tests check both against the hidden states of Python's transformers.

pub(crate) mod batch;
pub(crate) mod cpu;
pub(crate) mod cpu_attention;
pub(crate) mod cpu_training;
pub(crate) mod dropout;
pub(crate) mod forward;
mod model_weights;
mod parameters;
pub(crate) mod relative_position;
mod weights;

use burn::module::{Module, Param};
use burn::nn::{LayerNorm, Linear};
use burn::tensor::{Device, Int, Tensor, TensorData};

use batch::TextBlock;
pub use batch::TokenBatch;
use forward::ForwardPass;
pub(crate) use model_weights::{InferenceModel, ModelWeights};
pub(crate) use weights::TensorNames;

use crate::{Activation, TransformerConfig};

/// Transformer encoder of the BERT family: embeddings, then layers of self-attention and
/// feed-forward network.
///
/// It is a burn [`Module`]: on a device with automatic differentiation, [`Transformer::forward`]
/// is differentiable.
#[derive(Module, Debug)]
pub struct Transformer {
    /// Token embeddings, `[vocab_size, hidden_size]`.
    pub token_embeddings: Param<Tensor<2>>,
    /// Position embeddings, `[max_positions, hidden_size]`.
    pub position_embeddings: Param<Tensor<2>>,
    /// Token-type embeddings, `[token_types, hidden_size]`. In a pair of texts, the second has
    /// type 1; other tokens have type 0.
    pub token_type_embeddings: Option<Param<Tensor<2>>>,
    /// Attention bias per bucket of relative positions, `[relative_position_buckets, heads]`.
    pub relative_position_bias: Option<Param<Tensor<2>>>,
    /// Layer normalization of the summed embeddings.
    pub embedding_norm: LayerNorm,
    /// Layers, first to last.
    pub layers: Vec<TransformerLayer>,
    #[module(skip)]
    config: TransformerConfig,
}

/// Layer of a [`Transformer`].
#[derive(Module, Debug)]
pub struct TransformerLayer {
    /// Query, key and value projections, concatenated: `[hidden_size, 3 · hidden_size]`.
    pub qkv: Linear,
    /// Output projection of attention: `[hidden_size, hidden_size]`.
    pub output: Linear,
    /// Layer normalization after attention.
    pub attention_norm: LayerNorm,
    /// First projection of the feed-forward network: `[hidden_size, intermediate_size]`.
    pub up: Linear,
    /// Second projection of the feed-forward network: `[intermediate_size, hidden_size]`.
    pub down: Linear,
    /// Layer normalization after the feed-forward network.
    pub norm: LayerNorm,
    heads: usize,
    #[module(skip)]
    pub(crate) activation: Activation,
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

    /// Rows of the embedding tables for a batch.
    pub(crate) fn embedding_rows(&self, batch: &TokenBatch) -> EmbeddingRows {
        let device = self.device();
        let offset = self.config.position_offset;
        let ids = batch.ids().iter().map(|&id| id as i64);
        let positions = batch.positions().map(|p| (offset + p) as i64);
        let types = batch.token_types();
        EmbeddingRows {
            ids: index_tensor(ids, &device),
            positions: index_tensor(positions, &device),
            types: (!types.is_empty() && self.token_type_embeddings.is_some())
                .then(|| index_tensor(types.iter().map(|&it| it as i64), &device)),
        }
    }

    /// Sum of the embeddings of every token before layer normalization, `[tokens, hidden_size]`.
    pub(crate) fn embed(&self, rows: EmbeddingRows) -> Tensor<2> {
        let tokens = self.token_embeddings.val().select(0, rows.ids);
        let positions = self.position_embeddings.val().select(0, rows.positions);
        let sum = tokens + positions;
        match (&self.token_type_embeddings, rows.types) {
            (None, _) => sum,
            (Some(table), Some(types)) => sum + table.val().select(0, types),
            (Some(table), None) => sum + table.val().slice([0..1, 0..self.config.hidden_size]),
        }
    }
}

/// Rows of the embedding tables, one per token.
#[derive(Debug, Clone)]
pub(crate) struct EmbeddingRows {
    pub(crate) ids: Tensor<1, Int>,
    pub(crate) positions: Tensor<1, Int>,
    /// `None` if all tokens have type 0, or the model has no types.
    pub(crate) types: Option<Tensor<1, Int>>,
}

impl TransformerLayer {
    /// Scale of attention scores, 1/√d for heads of dimension d.
    pub(crate) fn scale(&self) -> f32 {
        let [hidden, _] = self.output.weight.val().dims();
        ((hidden / self.heads) as f32).sqrt().recip()
    }

    /// Splits the output of `qkv` for a block into queries, keys and values, each
    /// `[texts, heads, length, head_dim]`.
    pub(crate) fn split_qkv(&self, qkv: &Tensor<2>, block: TextBlock) -> [Tensor<4>; 3] {
        let [_, width] = qkv.dims();
        let hidden = width / 3;
        [0, 1, 2].map(|n| {
            let columns = n * hidden..(n + 1) * hidden;
            self.split_heads(qkv.clone().slice([block.tokens(), columns]), block)
        })
    }

    /// `[texts · length, hidden_size]` to `[texts, heads, length, head_dim]`.
    pub(crate) fn split_heads(&self, rows: Tensor<2>, block: TextBlock) -> Tensor<4> {
        let [_, hidden] = rows.dims();
        let shape = [block.texts, block.length, self.heads, hidden / self.heads];
        rows.reshape(shape).swap_dims(1, 2)
    }

    /// `[texts, heads, length, head_dim]` to `[texts · length, hidden_size]`.
    pub(crate) fn merge_heads(&self, heads: Tensor<4>, block: TextBlock) -> Tensor<2> {
        let [_, count, _, dim] = heads.dims();
        let shape = [block.texts * block.length, count * dim];
        heads.swap_dims(1, 2).reshape(shape)
    }
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
