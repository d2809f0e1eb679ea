//! Layer of a transformer on the CPU with packed weights.

use std::cell::RefCell;

use super::cpu_attention::LayerAttention;
use super::cpu_positions::CpuPositions;
use super::rotary::RotaryTable;
use super::weights::{LayerWeights, LinearWeights, NormWeights};
use crate::activation::Activation;
use crate::kernels::aligned::AlignedBuffer;
use crate::kernels::low_precision::{
    LowPrecision, LowPrecisionMatrix, LowPrecisionRows, PANEL_COLUMNS,
};
use crate::kernels::matrix::{PackedMatrix, StridedRows};
use crate::kernels::team::ParallelRegion;
use crate::kernels::{elementwise, training};
use crate::model_folder::safetensors::TensorChecksum;
use crate::model_folder::{AttentionShape, NormPlacement, TransformerConfig};
use crate::precision::{OutlierChannels, Precision};

/// Intermediate results of a block.
#[derive(Default)]
struct BlockScratch {
    attended: AlignedBuffer,
    normalized: AlignedBuffer,
    inner: AlignedBuffer,
    gate: AlignedBuffer,
    rounded: LowPrecisionRows,
    rounded_inner: LowPrecisionRows,
}

thread_local! {
    static SCRATCH: RefCell<BlockScratch> = RefCell::default();
}

#[derive(Debug)]
pub(super) struct CpuLayer {
    attention_norm: Option<CpuNorm>,
    qkv: CpuLinear,
    query_norm: Option<CpuNorm>,
    key_norm: Option<CpuNorm>,
    positions: Option<CpuPositions>,
    output: CpuLinear,
    attention_output_norm: Option<CpuNorm>,
    gate: Option<CpuLinear>,
    up: CpuLinear,
    down: CpuLinear,
    norm: CpuNorm,
    output_norm: Option<CpuNorm>,
    adapter: Option<CpuAdapter>,
    placement: NormPlacement,
    shape: AttentionShape,
    activation: Activation,
    hidden: usize,
}

/// Bottleneck adapter after the feed-forward network.
#[derive(Debug)]
struct CpuAdapter {
    down: CpuLinear,
    activation: Activation,
    up: CpuLinear,
}

#[derive(Debug)]
pub(super) struct CpuLinear {
    weight: CpuWeight,
    /// Zeros if the projection has none.
    bias: Vec<f32>,
}

#[derive(Debug)]
enum CpuWeight {
    F32(PackedMatrix),
    Low(LowPrecisionMatrix),
}

/// Layer normalization or RMS normalization of rows.
#[derive(Debug)]
pub(super) struct CpuNorm {
    scale: Vec<f32>,
    /// Zeros if the normalization has none; empty for division by the root mean square.
    shift: Vec<f32>,
    epsilon: f32,
}

/// What a layer needs to know of the rows of a block besides their vectors.
#[derive(Clone, Copy)]
pub(super) struct BlockPositions<'a> {
    /// Position of every row; empty without rotary position embeddings.
    pub(super) positions: &'a [u32],
    pub(super) rotary: Option<&'a RotaryTable>,
}

impl CpuLayer {
    /// Packs the weights. `None` if a linear layer has too many inputs for int8.
    pub(super) fn new(
        config: &TransformerConfig,
        weights: LayerWeights,
        relative_positions: &[f32],
        precision: Precision,
    ) -> Option<Self> {
        let layer = &config.layer;
        let positions = layer
            .disentangled
            .map(|it| CpuPositions::new(config, it, relative_positions, &weights));
        let linear = |weights| CpuLinear::new(weights, precision, LowPrecision::W8A8);
        let norm = |weights| CpuNorm::new(weights, config);
        Some(Self {
            attention_norm: weights.attention_norm.map(norm),
            // Rounding of their inputs to 8 bits would be a third of the error of a vector.
            qkv: CpuLinear::new(weights.qkv, precision, LowPrecision::W8A12)?,
            query_norm: weights.query_norm.map(norm),
            key_norm: weights.key_norm.map(norm),
            positions,
            output: linear(weights.output)?,
            attention_output_norm: weights.attention_output_norm.map(norm),
            gate: match weights.gate {
                Some(gate) => Some(linear(gate)?),
                None => None,
            },
            up: linear(weights.up)?,
            down: linear(weights.down)?,
            norm: norm(weights.norm),
            output_norm: weights.output_norm.map(norm),
            adapter: match weights.adapter.zip(layer.adapter.as_ref()) {
                Some((adapter, described)) => Some(CpuAdapter {
                    down: linear(adapter.down)?,
                    activation: described.activation,
                    up: linear(adapter.up)?,
                }),
                None => None,
            },
            placement: layer.norm_placement,
            shape: config.attention(),
            activation: config.activation,
            hidden: config.hidden_size,
        })
    }

    /// Projections with their names.
    fn linear(&self) -> impl Iterator<Item = (&'static str, &CpuLinear)> {
        let adapter = self.adapter.as_ref();
        let all = [
            ("qkv", Some(&self.qkv)),
            ("output", Some(&self.output)),
            ("up", Some(&self.up)),
            ("down", Some(&self.down)),
            ("gate", self.gate.as_ref()),
            ("adapter.down", adapter.map(|it| &it.down)),
            ("adapter.up", adapter.map(|it| &it.up)),
        ];
        all.into_iter().filter_map(|(name, it)| Some((name, it?)))
    }

    /// Output channels that are f32 although the precision is int8.
    pub(super) fn outlier_channels(&self, number: usize) -> impl Iterator<Item = OutlierChannels> {
        self.linear()
            .filter_map(move |(name, linear)| match &linear.weight {
                CpuWeight::Low(weight) if !weight.outliers().is_empty() => Some(OutlierChannels {
                    layer: format!("layers.{number}.{name}"),
                    channels: weight.outliers().to_vec(),
                    total: linear.bias.len(),
                }),
                _ => None,
            })
    }

    /// Attention of this layer.
    pub(super) fn attention(&self, window: Option<usize>) -> LayerAttention<'_> {
        LayerAttention {
            window,
            positions: self.positions.as_ref(),
        }
    }

    /// Computes queries, keys and values of a block of rows, concatenated.
    pub(super) fn qkv(
        &self,
        x: &[f32],
        qkv: &mut [f32],
        block: BlockPositions<'_>,
        region: &mut ParallelRegion<'_>,
    ) {
        let (hidden, width) = (self.hidden, self.shape.qkv());
        SCRATCH.with_borrow_mut(|scratch| {
            let BlockScratch {
                normalized,
                rounded,
                ..
            } = scratch;
            let norm = self.attention_norm.as_ref();
            let before = norm.filter(|_| self.placement != NormPlacement::After);
            let input = match before {
                None => x,
                Some(norm) => norm.of(x, normalized),
            };
            let rows = StridedRows::new(input, hidden);
            self.qkv
                .forward(rows, None, (&mut *qkv, width), rounded, region);
        });
        let dim = self.shape.head_size;
        let heads = [
            (&self.query_norm, 0, self.shape.heads),
            (
                &self.key_norm,
                self.shape.queries(),
                self.shape.key_value_heads,
            ),
        ];
        for (norm, first, count) in heads {
            if let Some(norm) = norm {
                for head in 0..count {
                    norm.forward_columns(qkv, width, first + head * dim);
                }
            }
            if let Some(rotary) = block.rotary {
                rotary.rotate((&mut *qkv, width), block.positions, first, (count, dim));
            }
        }
    }

    /// Output projection and feed-forward network for a block of rows: replaces the input of the
    /// layer, `x`, by its output.
    pub(super) fn feed_forward(
        &self,
        x: &mut [f32],
        context: &[f32],
        region: &mut ParallelRegion<'_>,
    ) {
        SCRATCH.with_borrow_mut(|scratch| self.feed_forward_with(x, context, scratch, region));
    }

    fn feed_forward_with(
        &self,
        x: &mut [f32],
        context: &[f32],
        scratch: &mut BlockScratch,
        region: &mut ParallelRegion<'_>,
    ) {
        let hidden = self.hidden;
        let count = x.len() / hidden.max(1);
        let stride = PackedMatrix::row_stride(self.up.bias.len());
        let BlockScratch {
            attended,
            normalized,
            inner,
            gate,
            rounded,
            rounded_inner,
        } = scratch;
        let attended = attended.resize_stale(x.len());
        let rows = StridedRows::new(context, self.shape.queries());
        let out = (&mut attended[..], hidden);
        self.output.forward(rows, None, out, rounded, region);
        let input = match self.placement {
            NormPlacement::After => {
                if let Some(norm) = &self.attention_norm {
                    norm.forward(attended, x);
                }
                &*attended
            }
            NormPlacement::Before | NormPlacement::Around => {
                if let Some(norm) = &self.attention_output_norm {
                    norm.forward(attended, &[]);
                }
                training::add(attended, x);
                self.norm.of(attended, normalized)
            }
        };

        let rows = StridedRows::new(input, hidden);
        let activation = Some(self.activation);
        if let (CpuWeight::Low(up), CpuWeight::Low(down)) = (&self.up.weight, &self.down.weight)
            && self.gate.is_none()
            && up.is_bf16()
            && region.threads() == 1
        {
            up.rounded_product(rows, &self.up.bias, activation, rounded_inner, rounded);
            down.product_of_words(rounded_inner, count, &self.down.bias, None, (x, hidden));
            return self.end(x, attended, [normalized, inner], rounded, region);
        }
        let cells = inner.resize_stale(count * stride);
        let out = (&mut cells[..], stride);
        match &self.gate {
            None => self.up.forward(rows, activation, out, rounded, region),
            Some(linear) => {
                self.up.forward(rows, None, out, rounded, region);
                let gate = gate.resize_stale(count * stride);
                linear.forward(rows, activation, (&mut gate[..], stride), rounded, region);
                training::multiply(cells, gate);
            }
        }
        let rows = StridedRows {
            values: cells,
            stride,
            count,
        };
        let out = (&mut x[..], hidden);
        self.down.forward(rows, None, out, rounded, region);
        self.end(x, attended, [normalized, inner], rounded, region);
    }

    /// Adds the input of the feed-forward network, `attended`, to its output, `x`, and the output
    /// of the adapter, and normalizes.
    fn end(
        &self,
        x: &mut [f32],
        attended: &mut [f32],
        [normalized, inner]: [&mut AlignedBuffer; 2],
        rounded: &mut LowPrecisionRows,
        region: &mut ParallelRegion<'_>,
    ) {
        if self.placement == NormPlacement::After {
            if let Some(adapter) = &self.adapter {
                training::add(x, attended);
                let rows = StridedRows::new(self.norm.of(x, normalized), self.hidden);
                adapter.forward(rows, attended, inner, rounded, region);
            }
            return self.norm.forward(x, attended);
        }
        if let Some(norm) = &self.output_norm {
            norm.forward(x, &[]);
        }
        training::add(x, attended);
    }
}

impl CpuAdapter {
    /// Writes the output for rows of token vectors to `out`.
    fn forward(
        &self,
        rows: StridedRows<'_>,
        out: &mut [f32],
        inner: &mut AlignedBuffer,
        rounded: &mut LowPrecisionRows,
        region: &mut ParallelRegion<'_>,
    ) {
        let (activation, hidden) = (Some(self.activation), self.up.bias.len());
        let stride = PackedMatrix::row_stride(self.down.bias.len());
        let inner = inner.resize_stale(rows.count * stride);
        let cells = (&mut inner[..], stride);
        self.down.forward(rows, activation, cells, rounded, region);
        let rows = StridedRows {
            values: inner,
            stride,
            count: rows.count,
        };
        self.up.forward(rows, None, (out, hidden), rounded, region);
    }
}

impl CpuLinear {
    /// Packs the weights; `None` if there are too many inputs for int8. `int8`: the integers of
    /// that precision, of which [`LowPrecision::W8A8`] is used for too many inputs of another.
    pub(super) fn new(
        linear: LinearWeights,
        precision: Precision,
        int8: LowPrecision,
    ) -> Option<Self> {
        let LinearWeights { weight, bias, to } = linear;
        let from = weight.len() / to.max(1);
        let low = |precision| LowPrecisionMatrix::new(precision, &weight, from, to);
        Some(Self {
            weight: match precision {
                Precision::F32 => CpuWeight::F32(PackedMatrix::new(&weight, from, to)),
                Precision::Bf16 => CpuWeight::Low(low(LowPrecision::Bf16)?),
                Precision::Int8 => CpuWeight::Low(low(int8).or_else(|| low(LowPrecision::W8A8))?),
            },
            bias: bias.unwrap_or_else(|| vec![0.0; to]),
        })
    }

    /// Computes the projection of rows, and an activation function of it, into rows of `out`,
    /// which are `out.1` elements apart.
    pub(super) fn forward(
        &self,
        rows: StridedRows<'_>,
        activation: Option<Activation>,
        out: (&mut [f32], usize),
        scratch: &mut LowPrecisionRows,
        region: &mut ParallelRegion<'_>,
    ) {
        let (bias, to) = (&self.bias, self.bias.len());
        match &self.weight {
            CpuWeight::F32(weight) => {
                let panel = PackedMatrix::padded(1);
                region.compute_columns(rows.count, (to, panel), out, |columns, out| {
                    weight.columns_of_product(rows, columns, Some(bias), activation, out);
                });
            }
            CpuWeight::Low(weight) => {
                weight.round_left(rows, scratch);
                let (left, cells) = (&*scratch, (&mut *out.0, out.1));
                region.compute_columns(rows.count, (to, PANEL_COLUMNS), cells, |columns, out| {
                    weight.columns_of_words(left, rows.count, columns, bias, activation, out);
                });
                weight.replace_outliers(rows, bias, activation, out, scratch);
            }
        }
    }
}

impl CpuNorm {
    pub(super) fn new(weights: NormWeights, config: &TransformerConfig) -> Self {
        let norm = config.layer.norm;
        let mut scale = weights.scale;
        let offset = norm.scale_offset();
        if offset != 0.0 {
            scale.iter_mut().for_each(|scale| *scale += offset);
        }
        let zeros = if norm.is_rms() { 0 } else { scale.len() };
        Self {
            shift: weights.shift.unwrap_or_else(|| vec![0.0; zeros]),
            scale,
            epsilon: config.layer_norm_eps as f32,
        }
    }

    /// Adds `residual`, which may be empty, and normalizes.
    pub(super) fn forward(&self, rows: &mut [f32], residual: &[f32]) {
        if self.shift.is_empty() {
            if !residual.is_empty() {
                training::add(rows, residual);
            }
            return elementwise::rms_norm(rows, self.scale.len(), &self.scale, self.epsilon);
        }
        elementwise::add_layer_norm(rows, residual, &self.scale, &self.shift, self.epsilon);
    }

    /// Normalizes a copy of the rows.
    fn of<'a>(&self, rows: &[f32], copy: &'a mut AlignedBuffer) -> &'a [f32] {
        let copy = copy.resize_stale(rows.len());
        copy.copy_from_slice(rows);
        self.forward(copy, &[]);
        copy
    }

    /// Normalizes the columns from `first` on of rows of `stride` elements.
    fn forward_columns(&self, rows: &mut [f32], stride: usize, first: usize) {
        if self.shift.is_empty() {
            let rows = rows.get_mut(first..).unwrap_or_default();
            return elementwise::rms_norm(rows, stride, &self.scale, self.epsilon);
        }
        for row in rows.chunks_exact_mut(stride.max(1)) {
            self.forward(&mut row[first..][..self.scale.len()], &[]);
        }
    }
}

/// Adds the parameters of a layer to a checksum, in the order of `Transformer::parameters`.
pub(super) fn add_layer(checksum: &mut TensorChecksum, number: usize, layer: &LayerWeights) {
    let name = |part| format!("layers.{number}.{part}");
    add_linear(checksum, &name("qkv"), &layer.qkv);
    add_linear(checksum, &name("output"), &layer.output);
    add_norm(
        checksum,
        &name("attention_norm"),
        layer.attention_norm.as_ref(),
    );
    add_linear(checksum, &name("up"), &layer.up);
    add_linear(checksum, &name("down"), &layer.down);
    add_norm(checksum, &name("norm"), Some(&layer.norm));
    if let Some(gate) = &layer.gate {
        add_linear(checksum, &name("gate"), gate);
    }
    let norms = [
        ("attention_output_norm", &layer.attention_output_norm),
        ("output_norm", &layer.output_norm),
        ("query_norm", &layer.query_norm),
        ("key_norm", &layer.key_norm),
    ];
    for (part, norm) in norms {
        add_norm(checksum, &name(part), norm.as_ref());
    }
    let positions = [
        ("positions.key", &layer.position_key),
        ("positions.query", &layer.position_query),
    ];
    for (part, linear) in positions {
        if let Some(linear) = linear {
            add_linear(checksum, &name(part), linear);
        }
    }
    if let Some(adapter) = &layer.adapter {
        add_linear(checksum, &name("adapter.down"), &adapter.down);
        add_linear(checksum, &name("adapter.up"), &adapter.up);
    }
}

pub(super) fn add_linear(checksum: &mut TensorChecksum, name: &str, linear: &LinearWeights) {
    checksum.add(&format!("{name}.weight"), &linear.weight);
    if let Some(bias) = &linear.bias {
        checksum.add(&format!("{name}.bias"), bias);
    }
}

pub(super) fn add_norm(checksum: &mut TensorChecksum, name: &str, norm: Option<&NormWeights>) {
    let Some(norm) = norm else { return };
    checksum.add(&format!("{name}.gamma"), &norm.scale);
    if let Some(shift) = &norm.shift {
        checksum.add(&format!("{name}.beta"), shift);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// More inputs than 12-bit integers permit.
    #[test]
    fn wide_layers_have_8_bit_inputs() {
        let from = 4097;
        let weight = vec![0.5; from];
        let [wide, narrow] = [from, from - 1].map(|from| {
            let linear = LinearWeights {
                weight: weight[..from].to_vec(),
                bias: None,
                to: 1,
            };
            let linear = CpuLinear::new(linear, Precision::Int8, LowPrecision::W8A12).unwrap();
            // One large element: 8 bits round the others to 0 or 1/255 of it.
            let mut x = vec![0.001; from];
            x[0] = 1.0;
            let mut out = [0.0];
            let scratch = &mut LowPrecisionRows::default();
            let region = &mut ParallelRegion::sequential();
            let rows = StridedRows::new(&x, from);
            linear.forward(rows, None, (&mut out, 1), scratch, region);
            out[0]
        });
        assert_eq!(wide, 0.5);
        assert!((narrow - 0.5 - 0.0005 * 4095.0).abs() < 0.1, "{narrow}");
    }
}
