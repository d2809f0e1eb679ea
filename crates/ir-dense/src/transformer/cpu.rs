//! Inference on the CPU with packed weights.
//!
//! burn's CPU backend computes softmax, GELU and attention in many passes over memory. Here blocks
//! of rows pass through all projections between two attentions while they are in the L2 cache, and
//! matrix products read weights that were packed when the model was loaded. Results in precision
//! f32 equal those of [`Transformer::forward`] up to rounding.

use std::cell::RefCell;

use burn::module::Param;
use burn::nn::{LayerNorm, Linear};
use burn::tensor::{Device, Tensor};
use rayon::prelude::*;

use super::cpu_attention::CpuAttention;
use super::{TokenBatch, Transformer, TransformerLayer};
use crate::kernels::elementwise;
use crate::kernels::low_precision::{LowPrecision, LowPrecisionMatrix, LowPrecisionRows};
use crate::kernels::matrix::{PackedMatrix, StridedRows};
use crate::{Activation, OutlierChannels, Precision};

/// Rows of a block: they and their intermediate results fit the L2 cache.
const BLOCK_ROWS: usize = 96;

/// Intermediate results of a block.
#[derive(Default)]
struct BlockScratch {
    attended: Vec<f32>,
    inner: Vec<f32>,
    rounded: LowPrecisionRows,
}

thread_local! {
    static SCRATCH: RefCell<BlockScratch> = RefCell::default();
}

/// [`Transformer`] with weights packed for CPU inference.
#[derive(Debug)]
pub(crate) struct CpuTransformer {
    embedding_norm: CpuLayerNorm,
    layers: Vec<CpuLayer>,
    attention: CpuAttention,
    activation: Activation,
}

#[derive(Debug)]
struct CpuLayer {
    qkv: CpuLinear,
    output: CpuLinear,
    attention_norm: CpuLayerNorm,
    up: CpuLinear,
    down: CpuLinear,
    norm: CpuLayerNorm,
}

#[derive(Debug)]
struct CpuLinear {
    weight: CpuWeight,
    bias: Vec<f32>,
}

#[derive(Debug)]
enum CpuWeight {
    F32(PackedMatrix),
    Low(LowPrecisionMatrix),
}

#[derive(Debug)]
struct CpuLayerNorm {
    scale: Vec<f32>,
    shift: Vec<f32>,
    epsilon: f32,
}

impl CpuTransformer {
    /// Packs the weights. `None` if they are not in CPU memory or on a device with automatic
    /// differentiation, a projection or normalization has no bias, or a projection has too many
    /// inputs for int8.
    pub(crate) fn new(model: &Transformer, precision: Precision) -> Option<Self> {
        let device = model.device();
        if device != Device::flex() || device.is_autodiff() {
            return None;
        }
        let config = model.config();
        let epsilon = config.layer_norm_eps as f32;
        let layers = model.layers.iter();
        let layers = layers.map(|layer| CpuLayer::new(layer, epsilon, precision));
        let relative_position_bias = match &model.relative_position_bias {
            None => Vec::new(),
            Some(table) => values(table)?,
        };
        Some(Self {
            embedding_norm: CpuLayerNorm::new(&model.embedding_norm, epsilon)?,
            layers: layers.collect::<Option<_>>()?,
            attention: CpuAttention::new(config, relative_position_bias),
            activation: config.activation,
        })
    }

    /// Output channels that are f32 although the precision is int8.
    pub(crate) fn outlier_channels(&self) -> Vec<OutlierChannels> {
        let layers = self.layers.iter().enumerate();
        let linear = layers.flat_map(|(number, layer)| {
            let named = [
                ("qkv", &layer.qkv),
                ("output", &layer.output),
                ("up", &layer.up),
                ("down", &layer.down),
            ];
            named.map(|(name, linear)| (format!("layers.{number}.{name}"), linear))
        });
        let outliers = linear.filter_map(|(layer, linear)| match &linear.weight {
            CpuWeight::Low(weight) if !weight.outliers().is_empty() => Some(OutlierChannels {
                layer,
                channels: weight.outliers().to_vec(),
                total: linear.bias.len(),
            }),
            _ => None,
        });
        outliers.collect()
    }

    /// Returns the hidden state of every token of a batch without padding,
    /// `[tokens, hidden_size]`.
    pub(crate) fn forward(&self, model: &Transformer, batch: &TokenBatch) -> Tensor<2> {
        let embedded = model.embed(model.embedding_rows(batch));
        let device = embedded.device();
        let mut data = embedded.into_data();
        if let Ok(x) = data.as_mut_slice::<f32>() {
            let hidden = model.config().hidden_size;
            let rows = x.par_chunks_mut(BLOCK_ROWS * hidden);
            rows.for_each(|rows| self.embedding_norm.forward(rows, &[]));
            let mut context = vec![0.0; x.len()];
            let mut qkv = vec![0.0; 3 * x.len()];
            for layer in &self.layers {
                layer.qkv(x, hidden, &mut qkv);
                self.attention.forward(&qkv, batch, &mut context);
                let rows = x.par_chunks_mut(BLOCK_ROWS * hidden);
                rows.zip(context.par_chunks(BLOCK_ROWS * hidden))
                    .for_each(|(x, context)| {
                        SCRATCH.with_borrow_mut(|scratch| {
                            layer.feed_forward(x, context, self.activation, scratch);
                        });
                    });
            }
        }
        Tensor::from_data(data, &device)
    }
}

impl CpuLayer {
    fn new(layer: &TransformerLayer, epsilon: f32, precision: Precision) -> Option<Self> {
        let linear = |linear: &Linear| CpuLinear::new(linear, precision);
        Some(Self {
            qkv: linear(&layer.qkv)?,
            output: linear(&layer.output)?,
            attention_norm: CpuLayerNorm::new(&layer.attention_norm, epsilon)?,
            up: linear(&layer.up)?,
            down: linear(&layer.down)?,
            norm: CpuLayerNorm::new(&layer.norm, epsilon)?,
        })
    }

    /// Computes queries, keys and values of every token, concatenated.
    fn qkv(&self, x: &[f32], hidden: usize, qkv: &mut [f32]) {
        let width = 3 * hidden;
        qkv.par_chunks_mut(BLOCK_ROWS * width)
            .zip(x.par_chunks(BLOCK_ROWS * hidden))
            .for_each(|(qkv, x)| {
                SCRATCH.with_borrow_mut(|scratch| {
                    let rows = StridedRows::new(x, hidden);
                    let rounded = &mut scratch.rounded;
                    self.qkv.forward(rows, None, (qkv, width), rounded);
                });
            });
    }

    /// Output projection and feed-forward network for a block of rows: replaces the input of the
    /// layer, `x`, by its output.
    fn feed_forward(
        &self,
        x: &mut [f32],
        context: &[f32],
        activation: Activation,
        scratch: &mut BlockScratch,
    ) {
        let hidden = self.norm.scale.len();
        let count = x.len() / hidden.max(1);
        let stride = PackedMatrix::row_stride(self.up.bias.len());
        scratch.attended.resize(x.len(), 0.0);
        scratch.inner.resize(count * stride, 0.0);
        let BlockScratch {
            attended,
            inner,
            rounded,
        } = scratch;
        let rows = StridedRows::new(context, hidden);
        self.output.forward(rows, None, (attended, hidden), rounded);
        self.attention_norm.forward(attended, x);

        let rows = StridedRows::new(attended, hidden);
        let activation = Some(activation);
        self.up.forward(rows, activation, (inner, stride), rounded);
        let rows = StridedRows {
            values: inner,
            stride,
            count,
        };
        self.down.forward(rows, None, (x, hidden), rounded);
        self.norm.forward(x, attended);
    }
}

impl CpuLinear {
    fn new(linear: &Linear, precision: Precision) -> Option<Self> {
        let [from, to] = linear.weight.dims();
        let weight = values(&linear.weight)?;
        let low = |precision| LowPrecisionMatrix::new(precision, &weight, from, to);
        Some(Self {
            weight: match precision {
                Precision::F32 => CpuWeight::F32(PackedMatrix::new(&weight, from, to)),
                Precision::Bf16 => CpuWeight::Low(low(LowPrecision::Bf16)?),
                Precision::Int8 => CpuWeight::Low(low(LowPrecision::Int8)?),
            },
            bias: values(linear.bias.as_ref()?)?,
        })
    }

    /// Computes the projection of rows, and an activation function of it, into rows of `out`,
    /// which are `out.1` elements apart.
    fn forward(
        &self,
        rows: StridedRows<'_>,
        activation: Option<Activation>,
        out: (&mut [f32], usize),
        scratch: &mut LowPrecisionRows,
    ) {
        let bias = &self.bias;
        match (&self.weight, activation) {
            (CpuWeight::Low(weight), activation) => {
                weight.product(rows, bias, activation, out, scratch);
            }
            (CpuWeight::F32(weight), None) => weight.product(rows, Some(bias), out.0, out.1),
            (CpuWeight::F32(weight), Some(activation)) => {
                weight.activated_product(rows, bias, activation, out.0, out.1);
            }
        }
    }
}

impl CpuLayerNorm {
    fn new(norm: &LayerNorm, epsilon: f32) -> Option<Self> {
        Some(Self {
            scale: values(&norm.gamma)?,
            shift: values(norm.beta.as_ref()?)?,
            epsilon,
        })
    }

    /// Adds `residual`, which may be empty, and normalizes.
    fn forward(&self, rows: &mut [f32], residual: &[f32]) {
        let Self {
            scale,
            shift,
            epsilon,
        } = self;
        elementwise::add_layer_norm(rows, residual, scale, shift, *epsilon);
    }
}

fn values<const D: usize>(parameter: &Param<Tensor<D>>) -> Option<Vec<f32>> {
    parameter.val().try_into_vec_as::<f32>().ok()
}
