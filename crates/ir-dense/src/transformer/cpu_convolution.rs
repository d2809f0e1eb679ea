//! Convolution over the tokens of a text on the CPU.

use super::batch::TokenBatch;
use super::cpu_layer::{CpuLinear, CpuNorm};
use super::weights::ConvolutionWeights;
use crate::kernels::low_precision::{LowPrecision, LowPrecisionRows};
use crate::kernels::matrix::StridedRows;
use crate::kernels::team::ParallelRegion;
use crate::model_folder::{Convolution, TransformerConfig};
use crate::precision::Precision;

/// [`Convolution`] with packed weights.
#[derive(Debug)]
pub(super) struct CpuConvolution {
    config: Convolution,
    hidden: usize,
    projection: CpuLinear,
    norm: CpuNorm,
}

impl CpuConvolution {
    /// Packs the weights. `None` if the projection has too many inputs for int8.
    pub(super) fn new(
        config: &TransformerConfig,
        convolution: Convolution,
        weights: ConvolutionWeights,
        precision: Precision,
    ) -> Option<Self> {
        Some(Self {
            config: convolution,
            hidden: config.hidden_size,
            projection: CpuLinear::new(weights.projection, precision, LowPrecision::W8A8)?,
            norm: CpuNorm::new(weights.norm, config),
        })
    }

    /// Adds the convolution of `input` to a block of rows, `x`, and normalizes.
    ///
    /// # Shapes
    /// `input`: `[tokens, hidden_size]`. `x`: `[rows, hidden_size]`, from row `first` of the batch
    /// on.
    pub(super) fn forward(&self, batch: &TokenBatch, input: &[f32], first: usize, x: &mut [f32]) {
        let (hidden, width) = (self.hidden, self.config.kernel_size * self.hidden);
        let mut neighbors = vec![0.0; x.len() * self.config.kernel_size];
        for (row, cells) in (first..).zip(neighbors.chunks_exact_mut(width)) {
            self.gather(batch, input, row, cells);
        }
        let mut added = vec![0.0; x.len()];
        let out = (&mut added[..], hidden);
        let scratch = &mut LowPrecisionRows::default();
        let region = &mut ParallelRegion::sequential();
        let rows = StridedRows::new(&neighbors, width);
        self.projection.forward(rows, None, out, scratch, region);
        for value in &mut added {
            *value = self.config.activation.value(*value);
        }
        self.norm.forward(x, &added);
    }

    /// Writes the vectors of a token and its neighbors to `cells`, which are zeros before and after
    /// its text.
    fn gather(&self, batch: &TokenBatch, input: &[f32], row: usize, cells: &mut [f32]) {
        let (blocks, hidden) = (batch.blocks(), self.hidden);
        let number = blocks.partition_point(|block| block.start <= row);
        let block = blocks[number - 1];
        let position = (row - block.start) % block.length;
        let before = self.config.kernel_size / 2;
        for (tap, cells) in cells.chunks_exact_mut(hidden).enumerate() {
            let neighbor = (position + tap).checked_sub(before);
            if let Some(neighbor) = neighbor.filter(|it| *it < block.length) {
                let at = (row - position + neighbor) * hidden;
                cells.copy_from_slice(&input[at..][..hidden]);
            }
        }
    }
}
