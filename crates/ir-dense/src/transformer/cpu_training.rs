//! Weights of training on the CPU, packed once per step for products with them and with their
//! transposes.

use std::sync::{Mutex, PoisonError};

use burn::tensor::Device;

use super::Transformer;
use super::cpu_attention::CpuAttention;
use super::weights::{LayerWeights, LinearWeights, NormWeights};
use crate::kernels::buffers::BufferPool;
use crate::kernels::linear::PackedColumns;
use crate::kernels::matrix::StridedRows;
use crate::kernels::training;
use crate::precision::Precision;

/// Packed weights and buffers of training on the CPU. Loading the weights of the next step copies
/// every weight once and packs the copy into the same buffers.
#[derive(Debug, Default)]
pub(crate) struct CpuTraining {
    pub(crate) bf16: bool,
    pub(crate) embedding_norm: TrainingNorm,
    pub(crate) layers: Vec<TrainingLayer>,
    attention: Option<CpuAttention>,
    pub(crate) buffers: BufferPool,
    /// Right matrix of the gradients of weights.
    right: Mutex<PackedColumns>,
}

#[derive(Debug, Default)]
pub(crate) struct TrainingLayer {
    pub(crate) qkv: TrainingLinear,
    pub(crate) output: TrainingLinear,
    pub(crate) attention_norm: TrainingNorm,
    pub(crate) up: TrainingLinear,
    pub(crate) down: TrainingLinear,
    pub(crate) norm: TrainingNorm,
}

#[derive(Debug, Default)]
pub(crate) struct TrainingLinear {
    weight: PackedColumns,
    /// Transpose of the weight, for the backward pass.
    pub(crate) transposed: PackedColumns,
    bias: Vec<f32>,
}

#[derive(Debug, Default)]
pub(crate) struct TrainingNorm {
    pub(crate) scale: Vec<f32>,
    shift: Vec<f32>,
    epsilon: f32,
}

impl CpuTraining {
    /// Weights of a model for inference, or also for the backward pass. `None` if they are not in
    /// CPU memory or on a device with automatic differentiation, or the layers are not BERT's.
    pub(crate) fn new(model: &Transformer, precision: Precision, backward: bool) -> Option<Self> {
        let mut cpu = Self::default();
        cpu.load(model, precision, backward)?;
        Some(cpu)
    }

    /// Replaces the weights by the weights of a model; see [`CpuTraining::new`].
    pub(crate) fn load(
        &mut self,
        model: &Transformer,
        precision: Precision,
        backward: bool,
    ) -> Option<()> {
        let device = model.device();
        // The backward pass has kernels for BERT's layers only.
        if device != Device::flex() || device.is_autodiff() || !model.config().layer.is_bert() {
            return None;
        }
        self.buffers.free_unused();
        let epsilon = model.config().layer_norm_eps as f32;
        let norm = |norm| TrainingNorm::new(norm, epsilon);
        self.bf16 = precision == Precision::Bf16;
        self.attention = Some(CpuAttention::from_model(model));
        self.embedding_norm = norm(NormWeights::from_module(model.embedding_norm.as_ref()?)?)?;
        self.layers
            .resize_with(model.layers.len(), TrainingLayer::default);
        for (packed, layer) in self.layers.iter_mut().zip(&model.layers) {
            let weights = LayerWeights::from_layer(layer)?;
            let linear = [
                (&mut packed.qkv, weights.qkv),
                (&mut packed.output, weights.output),
                (&mut packed.up, weights.up),
                (&mut packed.down, weights.down),
            ];
            for (packed, weights) in linear {
                packed.load(weights, self.bf16, backward)?;
            }
            packed.attention_norm = norm(weights.attention_norm?)?;
            packed.norm = norm(weights.norm)?;
        }
        Some(())
    }

    pub(crate) fn attention(&self) -> Option<&CpuAttention> {
        self.attention.as_ref()
    }

    /// Calls `f` with a buffer for the right matrix of the gradients of weights.
    pub(crate) fn with_right_matrix<T>(&self, f: impl FnOnce(&mut PackedColumns) -> T) -> T {
        f(&mut self.right.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl TrainingLinear {
    /// `None` without a bias.
    fn load(&mut self, linear: LinearWeights, bf16: bool, backward: bool) -> Option<()> {
        let (weight, bias) = (linear.weight, linear.bias?);
        let rows = StridedRows::new(&weight, bias.len());
        self.weight.pack(rows, bias.len(), bf16);
        if backward {
            self.transposed.pack_transposed(rows, bias.len(), bf16);
        }
        self.bias = bias;
        Some(())
    }

    /// Output dimension of the projection.
    pub(crate) fn width(&self) -> usize {
        self.bias.len()
    }

    /// Projection of rows into rows of `out.0`, which are `out.1` elements apart.
    pub(super) fn forward(&self, rows: StridedRows<'_>, out: (&mut [f32], usize)) {
        self.weight.product(rows, Some(&self.bias), out);
    }
}

impl TrainingNorm {
    /// `None` without a shift.
    fn new(norm: NormWeights, epsilon: f32) -> Option<Self> {
        Some(Self {
            scale: norm.scale,
            shift: norm.shift?,
            epsilon,
        })
    }

    /// [`training::add_layer_norm`] with these weights.
    pub(super) fn forward(
        &self,
        x: &mut [f32],
        residual: &[f32],
        y: &mut [f32],
        inverses: &mut [f32],
    ) {
        let weights = (&self.scale[..], &self.shift[..], self.epsilon);
        training::add_layer_norm(x, residual, weights, y, inverses);
    }
}
