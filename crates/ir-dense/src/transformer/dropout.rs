//! Dropout with masks that depend on the text, not on its batch.

use burn::tensor::{Tensor, TensorData};
use ir_core::{Side, SplitMix64};
use rayon::prelude::*;

use super::TokenBatch;

/// Dropout masks of a training step. The mask of a text is a function of seed, step and text, so
/// that a second forward pass in other batches (GradCache) drops the same elements.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dropout {
    rate: f64,
    seed: u64,
}

/// Place of a dropout layer in the transformer.
#[derive(Debug, Clone, Copy)]
pub(crate) enum DropoutSite {
    Embeddings,
    /// Attention probabilities of a layer.
    AttentionProbabilities(usize),
    /// Output of attention, before the residual connection.
    Attention(usize),
    /// Output of the feed-forward network, before the residual connection.
    FeedForward(usize),
    /// Convolution beside the first layer, before its activation function.
    Convolution,
}

impl DropoutSite {
    fn number(self) -> u64 {
        match self {
            Self::Embeddings => 0,
            Self::AttentionProbabilities(layer) => 3 * layer as u64 + 1,
            Self::Attention(layer) => 3 * layer as u64 + 2,
            Self::FeedForward(layer) => 3 * layer as u64 + 3,
            // The last number of 16 bits.
            Self::Convolution => 0xFFFF,
        }
    }
}

impl Dropout {
    /// Dropout of one side in one step; `None` for rate 0.
    pub(crate) fn new(rate: f64, seed: u64, step: u64, side: Side) -> Option<Self> {
        if rate == 0.0 {
            return None;
        }
        let side = match side {
            Side::Query => 0,
            Side::Document => 1,
        };
        let seed = SplitMix64::new(seed, 2 * step + side).next_u64();
        Some(Self { rate, seed })
    }

    /// Dropout mask: 0, or 1/(1 − rate).
    fn factors(self, text: usize, site: DropoutSite, count: usize) -> Vec<f32> {
        let mut factors = vec![0.0; count];
        self.fill(text, site, &mut factors);
        factors
    }

    /// Writes the dropout mask of a text.
    fn fill(self, text: usize, site: DropoutSite, factors: &mut [f32]) {
        let stream = (text as u64) << 16 | site.number();
        let mut random = SplitMix64::new(self.seed, stream);
        let threshold = (self.rate * 4_294_967_296.0) as u64;
        let kept = (1.0 / (1.0 - self.rate)) as f32;
        for pair in factors.chunks_mut(2) {
            let bits = random.next_u64();
            for (factor, half) in pair.iter_mut().zip([bits & 0xFFFF_FFFF, bits >> 32]) {
                *factor = if half < threshold { 0.0 } else { kept };
            }
        }
    }

    /// Writes the dropout mask of token vectors, `[tokens, width]`.
    pub(crate) fn fill_tokens(
        self,
        batch: &TokenBatch,
        texts: &[usize],
        site: DropoutSite,
        factors: &mut [f32],
    ) {
        let width = factors.len() / batch.ids().len().max(1);
        let mut rest = factors;
        let texts = texts.iter().zip(batch.lengths()).map(|(&text, length)| {
            let (of_text, others) = std::mem::take(&mut rest).split_at_mut(length * width);
            rest = others;
            (text, of_text)
        });
        let texts: Vec<(usize, &mut [f32])> = texts.collect();
        let texts = texts.into_par_iter();
        texts.for_each(|(text, factors)| self.fill(text, site, factors));
    }

    /// Applies dropout to token vectors, `[tokens, width]`. `texts` identifies the texts of the
    /// batch.
    pub(crate) fn tokens(
        self,
        x: Tensor<2>,
        batch: &TokenBatch,
        texts: &[usize],
        site: DropoutSite,
    ) -> Tensor<2> {
        let [_, width] = x.dims();
        let texts = texts.iter().copied();
        let counts: Vec<(usize, usize)> = texts.zip(batch.lengths().map(|n| n * width)).collect();
        let counts = counts.par_iter();
        let factors = counts.map(|&(text, count)| self.factors(text, site, count));
        multiply(x, factors)
    }

    /// Dropout mask of the attention probabilities of a text in a layer.
    pub(crate) fn attention_mask(self, text: usize, layer: usize, count: usize) -> Vec<f32> {
        self.factors(text, DropoutSite::AttentionProbabilities(layer), count)
    }

    /// Applies dropout to attention probabilities, `[texts, heads, length, length]`, given the
    /// texts and their lengths without padding.
    pub(crate) fn attention_probabilities(
        self,
        x: Tensor<4>,
        texts: &[(usize, usize)],
        site: DropoutSite,
    ) -> Tensor<4> {
        let [_, heads, length, _] = x.dims();
        let factors = texts.par_iter().map(|&(text, real)| {
            let factors = self.factors(text, site, heads * real * real);
            if real == length {
                return factors;
            }
            // The mask of a text does not depend on the padded length.
            let mut padded = vec![1.0; heads * length * length];
            for (row, factors) in factors.chunks_exact(real.max(1)).enumerate() {
                let at = (row / real * length + row % real) * length;
                padded[at..at + real].copy_from_slice(factors);
            }
            padded
        });
        multiply(x, factors)
    }
}

/// Multiplies a tensor by the dropout masks of its texts.
fn multiply<const D: usize>(
    x: Tensor<D>,
    factors: impl IndexedParallelIterator<Item = Vec<f32>>,
) -> Tensor<D> {
    let factors: Vec<Vec<f32>> = factors.collect();
    let factors = TensorData::new(factors.concat(), x.dims());
    let device = x.device();
    x * Tensor::from_data(factors, &device)
}
