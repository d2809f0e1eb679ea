//! Description of a forward pass, and its dropout.

use burn::tensor::Tensor;

use super::Transformer;
use super::batch::TokenBatch;
use super::cpu_attention::AttentionMask;
use super::cpu_training::CpuTraining;
use super::dropout::{Dropout, DropoutSite};
use crate::kernels::buffers::BufferPool;

/// Forward pass of a batch.
pub(crate) struct ForwardPass<'a> {
    pub(crate) model: &'a Transformer,
    /// Packed weights of the model; `None`: they are packed for this pass, in f32, if the model is
    /// in CPU memory.
    pub(crate) cpu: Option<&'a CpuTraining>,
    pub(crate) batch: &'a TokenBatch,
    /// If `true`, activations are saved for the backward pass.
    pub(crate) save: bool,
    pub(crate) dropout: Option<Dropout>,
    /// Identity of each text of the batch, which selects its dropout mask.
    pub(crate) texts: &'a [usize],
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

    pub(super) fn drop(&self, x: Tensor<2>, site: DropoutSite) -> Tensor<2> {
        match self.dropout {
            None => x,
            Some(dropout) => dropout.tokens(x, self.batch, self.texts, site),
        }
    }

    pub(super) fn drop_probabilities(
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
    pub(super) fn block_texts(&self) -> impl Iterator<Item = Vec<(usize, usize)>> {
        let mut texts = self
            .texts
            .iter()
            .copied()
            .zip(self.batch.unpadded_lengths());
        let blocks = self.batch.blocks().iter();
        blocks.map(move |block| texts.by_ref().take(block.texts).collect())
    }
}
