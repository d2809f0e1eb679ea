//! Dropout that depends on the text and not on what is computed with it.

use burn::tensor::{Tensor, TensorData};
use ir_core::{Side, SplitMix};
use rayon::prelude::*;

use crate::Batch;

/// Which elements are dropped in one step: those of a text are the same in every batch, so that
/// encoding it again drops the same.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dropout {
    rate: f64,
    seed: u64,
}

/// Where in a transformer elements are dropped.
#[derive(Debug, Clone, Copy)]
pub(super) enum Site {
    Embeddings,
    /// The shares of attention of a layer.
    Shares(usize),
    /// What attention gives, before it is added.
    Attended(usize),
    /// What the feed-forward block gives, before it is added.
    Down(usize),
}

impl Site {
    fn number(self) -> u64 {
        match self {
            Self::Embeddings => 0,
            Self::Shares(layer) => 3 * layer as u64 + 1,
            Self::Attended(layer) => 3 * layer as u64 + 2,
            Self::Down(layer) => 3 * layer as u64 + 3,
        }
    }
}

impl Dropout {
    /// `None` when nothing is dropped.
    pub(super) fn new(rate: f64, seed: u64, step: u64, side: Side) -> Option<Self> {
        if rate == 0.0 {
            return None;
        }
        let side = match side {
            Side::Query => 0,
            Side::Document => 1,
        };
        let seed = SplitMix::new(seed, 2 * step + side).bits();
        Some(Self { rate, seed })
    }

    /// What elements are multiplied by: 0, or what keeps their mean.
    fn factors(self, text: usize, site: Site, count: usize) -> Vec<f32> {
        let stream = (text as u64) << 16 | site.number();
        let mut random = SplitMix::new(self.seed, stream);
        let below = (self.rate * 4_294_967_296.0) as u64;
        let kept = (1.0 / (1.0 - self.rate)) as f32;
        let mut factors = Vec::with_capacity(count + 1);
        while factors.len() < count {
            let bits = random.bits();
            for half in [bits & 0xFFFF_FFFF, bits >> 32] {
                factors.push(if half < below { 0.0 } else { kept });
            }
        }
        factors.truncate(count);
        factors
    }

    /// Drops elements of tokens' vectors, `[tokens, width]`. `texts` numbers the texts of the batch.
    pub(super) fn tokens(
        self,
        x: Tensor<2>,
        batch: &Batch,
        texts: &[usize],
        site: Site,
    ) -> Tensor<2> {
        let [tokens, width] = x.dims();
        let lengths = batch.blocks().iter();
        let lengths = lengths.flat_map(|block| std::iter::repeat_n(block.length, block.texts));
        let counts = texts.iter().copied();
        let counts: Vec<(usize, usize)> = counts.zip(lengths.map(|n| n * width)).collect();
        let parts = counts.par_iter();
        let parts = parts.map(|&(text, count)| self.factors(text, site, count));
        let factors: Vec<Vec<f32>> = parts.collect();
        let factors = TensorData::new(factors.concat(), [tokens, width]);
        let device = x.device();
        x * Tensor::from_data(factors, &device)
    }

    /// Drops shares of attention, `[texts, heads, length, length]`, of texts with so many tokens that
    /// are no padding.
    pub(super) fn shares(self, x: Tensor<4>, texts: &[(usize, usize)], site: Site) -> Tensor<4> {
        let shape @ [_, heads, length, _] = x.dims();
        let parts = texts.par_iter().map(|&(text, real)| {
            let factors = self.factors(text, site, heads * real * real);
            if real == length {
                return factors;
            }
            // The same elements, however long the others of the batch are.
            let mut padded = vec![1.0; heads * length * length];
            for (row, factors) in factors.chunks_exact(real.max(1)).enumerate() {
                let at = (row / real * length + row % real) * length;
                padded[at..at + real].copy_from_slice(factors);
            }
            padded
        });
        let factors: Vec<Vec<f32>> = parts.collect();
        let factors = TensorData::new(factors.concat(), shape);
        let device = x.device();
        x * Tensor::from_data(factors, &device)
    }
}
