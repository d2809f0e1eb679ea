//! The transformer encoder.
//!
//! [`pass`] describes a forward pass, [`forward`] runs it: [`cpu_forward`] in kernels of this crate
//! on the CPU, burn's operations on GPUs and libtorch. [`cpu`] is a separate implementation for
//! inference on the CPU, about 1.3 times as fast as PyTorch: its weights are packed once, and rows
//! pass through all projections between two attentions while they are in the L2 cache. Tests check
//! both against the hidden states of Python's transformers.

pub(crate) mod batch;
pub(crate) mod cpu;
pub(crate) mod cpu_attention;
pub(crate) mod cpu_forward;
pub(crate) mod cpu_training;
pub(crate) mod dropout;
pub(crate) mod forward;
mod model_weights;
mod parameters;
pub(crate) mod pass;
pub(crate) mod relative_position;
mod weights;

use burn::module::{Module, Param};
use burn::nn::{LayerNorm, Linear};
use burn::tensor::{Device, Int, Tensor, TensorData};

use batch::TextBlock;
pub use batch::TokenBatch;
pub(crate) use model_weights::{InferenceModel, ModelWeights};
use pass::ForwardPass;
pub(crate) use weights::TensorNames;

use crate::activation::Activation;
use crate::model_folder::TransformerConfig;

/// Rows of a block: with 384 dimensions, they and their intermediate results fit an L2 cache of 1
/// MiB.
pub(crate) const BLOCK_ROWS: usize = 96;

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

    /// Summands of the input of the embeddings' layer normalization, `[tokens, hidden_size]`: token
    /// and position embeddings, and token-type embeddings if the model has types. The latter
    /// are `[1, hidden_size]` if all tokens have type 0.
    pub(crate) fn embeddings(
        &self,
        batch: &TokenBatch,
    ) -> (Tensor<2>, Tensor<2>, Option<Tensor<2>>) {
        let device = self.device();
        let rows = |table: &Param<Tensor<2>>, rows: &mut dyn Iterator<Item = i64>| {
            table.val().select(0, index_tensor(rows, &device))
        };
        let offset = self.config.position_offset;
        let positions = &mut batch.positions().map(|p| (offset + p) as i64);
        let types = self.token_type_embeddings.as_ref();
        let types = types.map(|table| match batch.token_types() {
            [] => table.val().slice([0..1, 0..self.config.hidden_size]),
            types => rows(table, &mut types.iter().map(|&it| it as i64)),
        });
        let ids = &mut batch.ids().iter().map(|&id| id as i64);
        let tokens = rows(&self.token_embeddings, ids);
        (tokens, rows(&self.position_embeddings, positions), types)
    }
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
