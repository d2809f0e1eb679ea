//! Matrix products in 8-bit integers and in bf16, with a right matrix that is packed once.
//!
//! **W8A8, W8A12.** Weights are quantized symmetrically per column (output channel) to -127..=127:
//! w ≈ s·q. The left matrix is quantized asymmetrically per row (token) to 0..=255 (W8A8) or
//! 0..=4095 (W8A12): x ≈ t·(p - z), with z so that 0 is exact. An element of the product is
//! (Σ p·q - z·Σ q) as f32, times t, times s, plus the bias. Integer sums are exact. With 12 bits,
//! p = 16·h + l: rows of h and of l are interleaved in the left matrix of 8-bit products.
//!
//! **bf16.** Both matrices are rounded to bf16, sums are f32 in the order of
//! [`super::microkernels`]. Matrices of attention are packed for one product (`bf16`).
//!
//! No product uses fused multiply-add, so that all CPUs compute the same bits, in any batch and on
//! any number of threads. GELU does, where the CPU has it.
//!
//! The bytes are the same on every CPU because a vector file may be written on one machine and
//! searched from another. Products of unsigned by signed bytes are added as i32, without the
//! saturation of `vpmaddubsw`. A product of two bf16 numbers is exact in f32, so only the order of
//! additions matters: the order of `vdpbf16ps`, measured on Zen 5, which the portable code repeats.
//! The instruction flushes subnormal numbers to zero; magnitudes below 2⁻⁵⁰ are rounded to zero, so
//! that there are none. A comparison with the portable code, at the first use, selects the
//! instruction.

mod bf16;
mod rows;
#[cfg(test)]
mod tests;

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};
pub(crate) use rows::LowPrecisionRows;
use rows::{LOWER_BITS, ROUND, RowQuantization};

use super::aligned::AlignedBuffer;
use super::elementwise::activate_rounded_row;
use super::matrix::{PackedMatrix, StridedRows, TILE_ROWS};
pub(crate) use super::microkernels::MAX_DEPTH;
pub(crate) use super::microkernels::PANEL_COLUMNS;
use super::microkernels::{
    MicroTile, Microkernel, MicrokernelOperands, bf16_microkernel, int8_microkernel, round_to_bf16,
};
use crate::activation::Activation;

/// Largest weight of a channel in units of its root mean square above which the channel is an
/// outlier. Quantized, its root mean square error would be above 1/28 of the root mean square of
/// its weights: 16/127/√12.
const OUTLIER_RATIO: f32 = 16.0;

/// Number format of a product below f32.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum LowPrecision {
    #[default]
    Bf16,
    /// 8-bit weights, 8-bit activations.
    W8A8,
    /// 8-bit weights, 12-bit activations.
    W8A12,
}

/// Right matrix in low precision, packed in panels of [`PANEL_COLUMNS`] columns.
#[derive(Debug, Default)]
pub(crate) struct LowPrecisionMatrix {
    precision: LowPrecision,
    from: usize,
    to: usize,
    /// Words of a row.
    depth: usize,
    words: AlignedBuffer<u32>,
    /// Quantization of the columns of every panel; empty for bf16.
    channels: Vec<PanelChannels>,
    outliers: Option<Outliers>,
}

/// Scale s and Σ q of the columns of a panel.
#[derive(Debug, Clone)]
struct PanelChannels {
    scales: [f32; PANEL_COLUMNS],
    sums: [i32; PANEL_COLUMNS],
}

/// Columns that are multiplied in f32.
#[derive(Debug)]
struct Outliers {
    columns: Vec<usize>,
    weights: PackedMatrix,
}

impl LowPrecision {
    /// Elements of a word.
    const fn per_word(self) -> usize {
        match self {
            Self::Bf16 => 2,
            Self::W8A8 | Self::W8A12 => 4,
        }
    }

    /// Rows of words of a row of the left matrix.
    const fn word_rows(self) -> usize {
        match self {
            Self::Bf16 | Self::W8A8 => 1,
            Self::W8A12 => 2,
        }
    }

    /// Maximum inner dimension of products with sums that fit 32 bits.
    const fn max_depth(self) -> usize {
        match self {
            Self::Bf16 => usize::MAX,
            Self::W8A8 => MAX_DEPTH,
            // 2³¹ / (4095 · 127), rounded down.
            Self::W8A12 => 4096,
        }
    }
}

impl LowPrecisionMatrix {
    /// Packs a row-major matrix `[from, to]`. `None` if integer sums could overflow.
    pub(crate) fn new(
        precision: LowPrecision,
        matrix: &[f32],
        from: usize,
        to: usize,
    ) -> Option<Self> {
        if from > precision.max_depth() {
            return None;
        }
        let depth = from.div_ceil(precision.per_word());
        let mut words = AlignedBuffer::default();
        words.fill_with_zeros(depth * to.next_multiple_of(PANEL_COLUMNS));
        let mut packed = Self {
            precision,
            from,
            to,
            depth,
            words,
            channels: Vec::new(),
            outliers: None,
        };
        match precision {
            LowPrecision::Bf16 => {
                packed.pack(matrix, |_, x| round_to_bf16(x));
            }
            LowPrecision::W8A8 | LowPrecision::W8A12 => {
                let channels = Channels::new(matrix, to);
                let inverses: Vec<f32> = channels.scales.iter().map(|s| s.recip()).collect();
                let mut sums = vec![0; to];
                packed.pack(matrix, |column, x| {
                    let q = quantize_weight(x, inverses[column]);
                    sums[column] += q;
                    (q as u32) & 0xff
                });
                let panels = channels.scales.chunks(PANEL_COLUMNS);
                let panels = panels.zip(sums.chunks(PANEL_COLUMNS));
                packed.channels = panels
                    .map(|(scales, sums)| PanelChannels {
                        scales: padded(scales),
                        sums: padded(sums),
                    })
                    .collect();
                packed.outliers = Outliers::new(channels.outliers, matrix, from, to);
            }
        }
        Some(packed)
    }

    /// Writes the bits of every element, which `element` returns for its column.
    fn pack(&mut self, matrix: &[f32], mut element: impl FnMut(usize, f32) -> u32) {
        let (per_word, depth) = (self.precision.per_word(), self.depth);
        let words = self.words.values_mut();
        for (k, row) in matrix.chunks_exact(self.to.max(1)).enumerate() {
            let shift = k % per_word * (32 / per_word);
            for (column, &x) in row.iter().enumerate() {
                let (panel, lane) = (column / PANEL_COLUMNS, column % PANEL_COLUMNS);
                words[(panel * depth + k / per_word) * PANEL_COLUMNS + lane] |=
                    element(column, x) << shift;
            }
        }
    }

    /// Columns that are multiplied in f32, in ascending order.
    pub(crate) fn outliers(&self) -> &[usize] {
        self.outliers
            .as_ref()
            .map_or(&[], |outliers| &outliers.columns)
    }

    /// Computes `left · self + bias`, and an activation function of it.
    ///
    /// # Shapes
    /// `left`: rows of `from` elements; `bias`: `[to]`, or empty for bf16; `out`: rows of `to`
    /// elements, `out_stride` apart.
    pub(crate) fn product(
        &self,
        left: StridedRows<'_>,
        bias: &[f32],
        activation: Option<Activation>,
        (out, out_stride): (&mut [f32], usize),
        scratch: &mut LowPrecisionRows,
    ) {
        self.round_left(left, scratch);
        let out = (out, out_stride);
        self.product_of_words(scratch, left.count, bias, activation, (out.0, out.1));
        self.replace_outliers(left, bias, activation, out, scratch);
    }

    /// Rounds the left matrix of a product to the precision of this matrix.
    pub(crate) fn round_left(&self, left: StridedRows<'_>, out: &mut LowPrecisionRows) {
        out.round(self.precision, left, self.from);
    }

    /// Replaces the columns of a product that are multiplied in f32.
    pub(crate) fn replace_outliers(
        &self,
        left: StridedRows<'_>,
        bias: &[f32],
        activation: Option<Activation>,
        out: (&mut [f32], usize),
        scratch: &mut LowPrecisionRows,
    ) {
        if let Some(outliers) = &self.outliers {
            outliers.product(left, bias, activation, out, &mut scratch.outliers);
        }
    }

    /// [`Self::product`] with a left matrix that is rounded, but for outliers.
    pub(crate) fn product_of_words(
        &self,
        left: &LowPrecisionRows,
        count: usize,
        bias: &[f32],
        activation: Option<Activation>,
        out: (&mut [f32], usize),
    ) {
        self.columns_of_words(left, count, 0..self.to, bias, activation, out);
    }

    /// Columns of [`Self::product_of_words`], from a multiple of [`PANEL_COLUMNS`] on.
    ///
    /// # Shapes
    /// `bias`: `[to]`, or empty for bf16; `out`: rows of `columns.len()` elements, `out.1` apart.
    pub(crate) fn columns_of_words(
        &self,
        left: &LowPrecisionRows,
        count: usize,
        columns: Range<usize>,
        bias: &[f32],
        activation: Option<Activation>,
        (out, out_stride): (&mut [f32], usize),
    ) {
        let microkernel = match self.precision {
            LowPrecision::Bf16 => bf16_microkernel(),
            LowPrecision::W8A8 | LowPrecision::W8A12 => int8_microkernel(),
        };
        Arch::new().dispatch(LowPrecisionProduct {
            left,
            count,
            right: self,
            columns,
            microkernel,
            bias,
            activation,
            accumulate: false,
            out: ProductOutput::Rows(out, out_stride),
        });
    }

    /// [`Self::product_of_words`] in bf16 without bias, added to `out` if `accumulate` is set.
    pub(crate) fn add_product_of_words(
        &self,
        left: &LowPrecisionRows,
        count: usize,
        accumulate: bool,
        (out, out_stride): (&mut [f32], usize),
    ) {
        Arch::new().dispatch(LowPrecisionProduct {
            left,
            count,
            right: self,
            columns: 0..self.to,
            microkernel: bf16_microkernel(),
            bias: &[],
            activation: None,
            accumulate,
            out: ProductOutput::Rows(out, out_stride),
        });
    }

    /// [`Self::product`] in bf16, rounded to bf16 as the left matrix of another product. Returns
    /// the same bits as rounding afterwards.
    pub(crate) fn rounded_product(
        &self,
        left: StridedRows<'_>,
        bias: &[f32],
        activation: Option<Activation>,
        out: &mut LowPrecisionRows,
        scratch: &mut LowPrecisionRows,
    ) {
        scratch.round(LowPrecision::Bf16, left, self.from);
        out.resize(LowPrecision::Bf16, left.count, self.to);
        Arch::new().dispatch(LowPrecisionProduct {
            left: scratch,
            count: left.count,
            right: self,
            columns: 0..self.to,
            microkernel: bf16_microkernel(),
            bias,
            activation,
            accumulate: false,
            out: ProductOutput::Bf16(out),
        });
    }

    /// Returns `true` if [`Self::rounded_product`] applies.
    pub(crate) fn is_bf16(&self) -> bool {
        self.precision == LowPrecision::Bf16
    }
}

fn padded<T: Copy + Default>(values: &[T]) -> [T; PANEL_COLUMNS] {
    std::array::from_fn(|at| values.get(at).copied().unwrap_or_default())
}

/// Quantized weight, given the reciprocal scale of its channel, which is infinite for scale 0.
fn quantize_weight(x: f32, inverse: f32) -> i32 {
    if x == 0.0 {
        return 0;
    }
    // Faster than a function of the C library, which x86 without SSE4.1 needs.
    (x * inverse + ROUND - ROUND).clamp(-127.0, 127.0) as i32
}

/// Scales and outliers of the columns of a matrix.
struct Channels {
    scales: Vec<f32>,
    outliers: Vec<usize>,
}

impl Channels {
    fn new(matrix: &[f32], to: usize) -> Self {
        let mut largest = vec![0.0_f32; to];
        let mut squares = vec![0.0_f64; to];
        let mut rows = 0_u32;
        for row in matrix.chunks_exact(to.max(1)) {
            rows += 1;
            for ((largest, squares), &x) in largest.iter_mut().zip(&mut squares).zip(row) {
                *largest = largest.max(x.abs());
                *squares += f64::from(x) * f64::from(x);
            }
        }
        let is_outlier = |&(_, (&largest, &squares)): &(usize, (&f32, &f64))| {
            // A scale that is subnormal has too few bits.
            let is_tiny = largest > 0.0 && largest / 127.0 < f32::MIN_POSITIVE;
            let deviation = (squares / f64::from(rows.max(1))).sqrt();
            // A NaN or infinity would become 0.
            !squares.is_finite()
                || is_tiny
                || f64::from(largest) > f64::from(OUTLIER_RATIO) * deviation
        };
        let columns = largest.iter().zip(&squares).enumerate();
        let outliers: Vec<usize> = columns
            .filter(is_outlier)
            .map(|(column, _)| column)
            .collect();
        let mut scales: Vec<f32> = largest.iter().map(|largest| largest / 127.0).collect();
        for &column in &outliers {
            // Not used: the column is replaced by its product in f32.
            scales[column] = 0.0;
        }
        Self { scales, outliers }
    }
}

impl Outliers {
    fn new(columns: Vec<usize>, matrix: &[f32], from: usize, to: usize) -> Option<Self> {
        if columns.is_empty() {
            return None;
        }
        let mut weights = PackedMatrix::default();
        weights.fill(from, columns.len(), |row, range, out| {
            for (out, &column) in out.iter_mut().zip(&columns[range]) {
                *out = matrix[row * to + column];
            }
        });
        Some(Self { columns, weights })
    }

    /// Replaces the columns of a product.
    fn product(
        &self,
        left: StridedRows<'_>,
        bias: &[f32],
        activation: Option<Activation>,
        (out, out_stride): (&mut [f32], usize),
        scratch: &mut Vec<f32>,
    ) {
        let count = self.columns.len();
        // The biases are the first row.
        scratch.clear();
        scratch.extend(self.columns.iter().map(|&column| bias[column]));
        scratch.resize((left.count + 1) * count, 0.0);
        let (bias, products) = scratch.split_at_mut(count);
        let (columns, cells) = (0..count, (&mut *products, count));
        self.weights
            .columns_of_product(left, columns, Some(bias), activation, cells);
        let rows = out.chunks_mut(out_stride).zip(products.chunks_exact(count));
        for (out, products) in rows {
            for (&column, product) in self.columns.iter().zip(products) {
                out[column] = *product;
            }
        }
    }
}

struct LowPrecisionProduct<'a> {
    left: &'a LowPrecisionRows,
    /// Rows of the left matrix.
    count: usize,
    right: &'a LowPrecisionMatrix,
    /// Columns of the product, of which `out` has no others.
    columns: Range<usize>,
    microkernel: Microkernel,
    bias: &'a [f32],
    activation: Option<Activation>,
    /// If `true`, a product in bf16 is added to `out`, otherwise it replaces `out`.
    accumulate: bool,
    out: ProductOutput<'a>,
}

/// Result of a product.
enum ProductOutput<'a> {
    /// Rows at a stride.
    Rows(&'a mut [f32], usize),
    /// Rows rounded to bf16.
    Bf16(&'a mut LowPrecisionRows),
}

impl WithSimd for LowPrecisionProduct<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let (right, left) = (self.right, self.left);
        let (mut sums, mut tile) = (MicroTile::default(), RowTile::default());
        let (words, _) = right.words.values().as_chunks::<PANEL_COLUMNS>();
        let word_rows = right.precision.word_rows();
        let count = self.count * word_rows;
        // A panel stays in the cache for all rows.
        for column in self.columns.clone().step_by(PANEL_COLUMNS) {
            let panel = column / PANEL_COLUMNS;
            let words = &words[panel * right.depth..][..right.depth];
            let columns = PANEL_COLUMNS.min(self.columns.end - column);
            let mut bias = [0.0; PANEL_COLUMNS];
            if !self.bias.is_empty() {
                bias[..columns].copy_from_slice(&self.bias[column..][..columns]);
            }
            let first = column - self.columns.start;
            // The rows of words of a row are in one tile: their number divides `TILE_ROWS`.
            for word_row in (0..count).step_by(TILE_ROWS) {
                let rows = TILE_ROWS.min(count - word_row);
                let (words_of_tile, left_stride, k_stride) = left.tile(word_row);
                let operands = MicrokernelOperands {
                    left: words_of_tile,
                    left_stride,
                    k_stride,
                    rows,
                    panel: words,
                };
                (self.microkernel)(&operands, &mut sums);
                let row = word_row / word_rows;
                for (at, sums) in sums.0[..rows].chunks_exact(word_rows).enumerate() {
                    let cells = PanelCells {
                        sums: &sums[0],
                        lower_sums: sums.get(1),
                        bias: &bias,
                        row: left.quantization.get(row + at),
                        channels: right.channels.get(panel),
                        activation: self.activation,
                        accumulate: self.accumulate,
                    };
                    let (out, stride) = match &mut self.out {
                        ProductOutput::Rows(out, stride) => (&mut **out, *stride),
                        ProductOutput::Bf16(_) => {
                            cells.write(simd, &mut tile.0[at]);
                            continue;
                        }
                    };
                    let out = &mut out[(row + at) * stride + first..][..columns];
                    // Loops over a constant number of columns are vectorized without a remainder.
                    match <&mut [f32; PANEL_COLUMNS]>::try_from(&mut *out) {
                        Ok(out) => cells.write(simd, out),
                        Err(_) => {
                            let mut whole = [0.0; PANEL_COLUMNS];
                            whole[..columns].copy_from_slice(out);
                            cells.write(simd, &mut whole);
                            out.copy_from_slice(&whole[..columns]);
                        }
                    }
                }
                if let ProductOutput::Bf16(out) = &mut self.out {
                    out.round_tile(&tile.0[..rows], row, first..first + columns);
                }
            }
        }
    }
}

/// Rows of a product in a panel, before they are rounded to bf16.
#[derive(Default)]
#[repr(align(64))]
struct RowTile([[f32; PANEL_COLUMNS]; TILE_ROWS]);

/// Cells of a row of the product in a panel.
struct PanelCells<'a> {
    sums: &'a [u32; PANEL_COLUMNS],
    /// Sums of the lower four bits of 12-bit activations.
    lower_sums: Option<&'a [u32; PANEL_COLUMNS]>,
    bias: &'a [f32; PANEL_COLUMNS],
    /// `None` for bf16.
    row: Option<&'a RowQuantization>,
    channels: Option<&'a PanelChannels>,
    activation: Option<Activation>,
    accumulate: bool,
}

impl PanelCells<'_> {
    #[inline(always)]
    fn write<S: Simd>(self, simd: S, out: &mut [f32; PANEL_COLUMNS]) {
        match (self.row, self.channels) {
            (Some(row), Some(channels)) => match self.lower_sums {
                None => dequantize(out, self.sums, row, channels, self.bias),
                Some(lower) => {
                    let upper_and_lower = self.sums.iter().zip(lower);
                    let mut sums = [0; PANEL_COLUMNS];
                    for (sum, (upper, lower)) in sums.iter_mut().zip(upper_and_lower) {
                        *sum = (upper << LOWER_BITS).wrapping_add(*lower);
                    }
                    dequantize(out, &sums, row, channels, self.bias);
                }
            },
            _ => {
                let sums: &[f32] = pulp::bytemuck::cast_slice(self.sums);
                let cells = S::as_mut_simd_f32s(out).0.iter_mut();
                let cells = cells.zip(S::as_simd_f32s(sums).0);
                for ((out, &sum), &bias) in cells.zip(S::as_simd_f32s(self.bias).0) {
                    *out = if self.accumulate {
                        simd.add_f32s(*out, sum)
                    } else {
                        simd.add_f32s(sum, bias)
                    };
                }
            }
        }
        if let Some(activation) = self.activation {
            activate_rounded_row::<S>(activation, out);
        }
    }
}

/// Writes the elements of a row, given its integer sums.
#[inline(always)]
fn dequantize(
    out: &mut [f32; PANEL_COLUMNS],
    sums: &[u32; PANEL_COLUMNS],
    row: &RowQuantization,
    channels: &PanelChannels,
    bias: &[f32; PANEL_COLUMNS],
) {
    let cells = out.iter_mut().zip(sums).zip(bias);
    let channels = channels.scales.iter().zip(&channels.sums);
    for (((out, &sum), bias), (scale, weights)) in cells.zip(channels) {
        let exact = (sum as i32).wrapping_sub(row.zero.wrapping_mul(*weights));
        *out = exact as f32 * row.scale * scale + bias;
    }
}
