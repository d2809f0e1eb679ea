//! Matrix products in 8-bit integers and in bf16, with a right matrix that is packed once.
//!
//! **int8.** Weights are quantized symmetrically per column (output channel) to -127..=127: w ≈ s·q.
//! The left matrix is quantized asymmetrically per row (token) to 0..=255: x ≈ t·(p - z), with z so
//! that 0 is exact. An element of the product is (Σ p·q - z·Σ q) as f32, times t, times s, plus the
//! bias. Integer sums are exact.
//!
//! **bf16.** Both matrices are rounded to bf16, sums are f32 in the order of [`super::word_tiles`].
//!
//! Neither product uses fused multiply-add, so that all CPUs compute the same bits, in any batch and
//! on any number of threads.

use pulp::{Arch, Simd, WithSimd};

use super::aligned::AlignedBuffer;
use super::elementwise::{LANES, activate_row, fold_lanes};
use super::matrix::{PackedMatrix, StridedRows, TILE_ROWS};
pub(crate) use super::word_tiles::MAX_DEPTH;
use super::word_tiles::{
    PANEL_COLUMNS, TileFunction, TileSums, WordTile, bf16_tile, int8_tile, round_to_bf16,
};
use crate::Activation;

/// Largest weight of a channel in units of its root mean square above which the channel is an
/// outlier. Quantized, its mean error is more than 1/27 of the root mean square: 16/127/√12.
const OUTLIER_RATIO: f32 = 16.0;
/// 1.5 · 2²³: adding it rounds to the nearest integer, which is then in the lowest bits.
const ROUND: f32 = 12_582_912.0;
/// Words between the ends of two rows, so that rows of a tile are in different sets of the L1 cache.
const ROW_GAP: usize = 16;

/// Number format of a product below f32.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LowPrecision {
    Bf16,
    Int8,
}

/// Right matrix in low precision, packed in panels of [`PANEL_COLUMNS`] columns.
#[derive(Debug)]
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

/// Rows of a left matrix in low precision, and buffers of a product. Reusing the value allocates
/// only if it was smaller before.
#[derive(Debug, Default)]
pub(crate) struct LowPrecisionRows {
    words: Vec<u32>,
    stride: usize,
    /// Quantization of every row; empty for bf16.
    quantization: Vec<RowQuantization>,
    outliers: Vec<f32>,
}

/// Scale t and zero point z of a row.
#[derive(Debug, Clone, Copy)]
struct RowQuantization {
    scale: f32,
    zero: i32,
}

impl LowPrecision {
    /// Elements of a word.
    const fn per_word(self) -> usize {
        match self {
            Self::Bf16 => 2,
            Self::Int8 => 4,
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
        if precision == LowPrecision::Int8 && from > MAX_DEPTH {
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
            LowPrecision::Int8 => {
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
    /// `left`: rows of `from` elements; `bias`: `[to]`; `out`: rows of `to` elements, `out_stride`
    /// apart.
    pub(crate) fn product(
        &self,
        left: StridedRows<'_>,
        bias: &[f32],
        activation: Option<Activation>,
        (out, out_stride): (&mut [f32], usize),
        scratch: &mut LowPrecisionRows,
    ) {
        scratch.round(self.precision, left, self.from);
        let tile = match self.precision {
            LowPrecision::Bf16 => bf16_tile(),
            LowPrecision::Int8 => int8_tile(),
        };
        Arch::new().dispatch(LowPrecisionProduct {
            left: scratch,
            count: left.count,
            right: self,
            tile,
            bias,
            activation,
            out,
            out_stride,
        });
        if let Some(outliers) = &self.outliers {
            let scratch = &mut scratch.outliers;
            outliers.product(left, bias, activation, (out, out_stride), scratch);
        }
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
    (x * inverse).round_ties_even().clamp(-127.0, 127.0) as i32
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
            is_tiny || f64::from(largest) > f64::from(OUTLIER_RATIO) * deviation
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
        match activation {
            None => self.weights.product(left, Some(bias), products, count),
            Some(activation) => {
                let weights = &self.weights;
                weights.activated_product(left, bias, activation, products, count);
            }
        }
        let rows = out.chunks_mut(out_stride).zip(products.chunks_exact(count));
        for (out, products) in rows {
            for (&column, product) in self.columns.iter().zip(products) {
                out[column] = *product;
            }
        }
    }
}

impl LowPrecisionRows {
    /// Replaces the rows by those of a matrix whose rows have `width` elements.
    fn round(&mut self, precision: LowPrecision, rows: StridedRows<'_>, width: usize) {
        self.stride = width.div_ceil(precision.per_word()) + ROW_GAP;
        self.words.resize(rows.count * self.stride, 0);
        self.quantization.clear();
        Arch::new().dispatch(RoundRows {
            precision,
            rows,
            width,
            out: self,
        });
    }
}

struct RoundRows<'a> {
    precision: LowPrecision,
    rows: StridedRows<'a>,
    width: usize,
    out: &'a mut LowPrecisionRows,
}

impl WithSimd for RoundRows<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let LowPrecisionRows {
            words,
            stride,
            quantization,
            ..
        } = self.out;
        let rows = self.rows.values.chunks(self.rows.stride);
        let rows = rows.take(self.rows.count).map(|row| &row[..self.width]);
        for (row, words) in rows.zip(words.chunks_exact_mut(*stride)) {
            match self.precision {
                LowPrecision::Bf16 => {
                    let bits =
                        |pair: &[f32; 2]| round_to_bf16(pair[0]) | round_to_bf16(pair[1]) << 16;
                    let (pairs, rest) = row.as_chunks::<2>();
                    for (word, pair) in words.iter_mut().zip(pairs) {
                        *word = bits(pair);
                    }
                    if let &[last] = rest {
                        words[pairs.len()] = bits(&[last, 0.0]);
                    }
                }
                LowPrecision::Int8 => {
                    let range = RowRange::new(row);
                    let bytes: &mut [u8] = pulp::bytemuck::cast_slice_mut(words);
                    for (byte, &x) in bytes.iter_mut().zip(row) {
                        *byte = range.quantize(x);
                    }
                    // Bytes after the end have no effect: they are multiplied by weights 0.
                    if cfg!(target_endian = "big") {
                        for word in words {
                            *word = u32::from_le(*word);
                        }
                    }
                    quantization.push(RowQuantization {
                        scale: range.scale,
                        zero: range.zero as i32,
                    });
                }
            }
        }
    }
}

/// Quantization of a row.
#[derive(Debug, Clone, Copy)]
struct RowRange {
    /// Scale t. NaN if an element of the row is infinite or NaN.
    scale: f32,
    inverse: f32,
    /// Zero point z, an integer.
    zero: f32,
}

impl RowRange {
    #[inline(always)]
    fn new(row: &[f32]) -> Self {
        let [least, most] = extremes(row);
        let scale = (most - least) / 255.0;
        let is_finite = all_finite(row);
        // Nothing but zeros, or numbers so small that their scale is subnormal.
        if is_finite && scale < f32::MIN_POSITIVE {
            return Self {
                scale: 0.0,
                inverse: 0.0,
                zero: 0.0,
            };
        }
        let inverse = 1.0 / scale;
        Self {
            scale: if is_finite { scale } else { f32::NAN },
            inverse,
            zero: (ROUND - least * inverse) - ROUND,
        }
    }

    /// Nearest integer to x/t + z, in 0..=255.
    #[inline(always)]
    fn quantize(self, x: f32) -> u8 {
        const MAX: f32 = ROUND + 255.0;
        let shifted = x * self.inverse + (ROUND + self.zero);
        let shifted = if shifted < MAX { shifted } else { MAX };
        shifted.to_bits() as u8
    }
}

/// Minimum and maximum of a row and 0.
#[inline(always)]
fn extremes(row: &[f32]) -> [f32; 2] {
    let smaller = |a: f32, b: f32| if b < a { b } else { a };
    let larger = |a: f32, b: f32| if b > a { b } else { a };
    let least = fold_lanes(row, row, 0.0, |least, x, _| smaller(least, x));
    let most = fold_lanes(row, row, 0.0, |most, x, _| larger(most, x));
    [reduce(least, smaller), reduce(most, larger)]
}

/// Whether no element is infinite or NaN.
#[inline(always)]
fn all_finite(row: &[f32]) -> bool {
    // Compared as bits, infinity and NaN are the largest magnitudes.
    let magnitude = |x: f32| x.to_bits() & 0x7fff_ffff;
    let mut lanes = [0_u32; LANES];
    let (blocks, rest) = row.as_chunks::<LANES>();
    for block in blocks {
        for (lane, &x) in lanes.iter_mut().zip(block) {
            *lane = (*lane).max(magnitude(x));
        }
    }
    let largest = lanes.into_iter().chain(rest.iter().map(|&x| magnitude(x)));
    largest.fold(0, u32::max) < f32::INFINITY.to_bits()
}

/// Combines all lanes, in pairs.
#[inline(always)]
fn reduce(mut lanes: [f32; LANES], f: impl Fn(f32, f32) -> f32) -> f32 {
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            lanes[lane] = f(lanes[lane], lanes[lane + width]);
        }
        width /= 2;
    }
    lanes[0]
}

struct LowPrecisionProduct<'a> {
    left: &'a LowPrecisionRows,
    /// Rows of the left matrix.
    count: usize,
    right: &'a LowPrecisionMatrix,
    tile: TileFunction,
    bias: &'a [f32],
    activation: Option<Activation>,
    out: &'a mut [f32],
    out_stride: usize,
}

impl WithSimd for LowPrecisionProduct<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (right, left) = (self.right, self.left);
        let mut sums = TileSums::default();
        let (words, _) = right.words.values().as_chunks::<PANEL_COLUMNS>();
        // A panel stays in the cache for all rows.
        for (panel, words) in words.chunks_exact(right.depth.max(1)).enumerate() {
            let first = panel * PANEL_COLUMNS;
            let columns = PANEL_COLUMNS.min(right.to - first);
            let mut bias = [0.0; PANEL_COLUMNS];
            bias[..columns].copy_from_slice(&self.bias[first..][..columns]);
            for row in (0..self.count).step_by(TILE_ROWS) {
                let rows = TILE_ROWS.min(self.count - row);
                let tile = WordTile {
                    left: &left.words[row * left.stride..],
                    left_stride: left.stride,
                    rows,
                    panel: words,
                };
                (self.tile)(&tile, &mut sums);
                for (at, sums) in sums.0.iter().enumerate().take(rows) {
                    let cells = PanelCells {
                        sums,
                        bias: &bias,
                        row: left.quantization.get(row + at),
                        channels: right.channels.get(panel),
                        activation: self.activation,
                    };
                    let out = &mut self.out[(row + at) * self.out_stride + first..][..columns];
                    // Loops over a constant number of columns are vectorized without a remainder.
                    match <&mut [f32; PANEL_COLUMNS]>::try_from(&mut *out) {
                        Ok(out) => cells.write(simd, out),
                        Err(_) => {
                            let mut whole = [0.0; PANEL_COLUMNS];
                            cells.write(simd, &mut whole);
                            out.copy_from_slice(&whole[..columns]);
                        }
                    }
                }
            }
        }
    }
}

/// Cells of a row of the product in a panel.
struct PanelCells<'a> {
    sums: &'a [u32; PANEL_COLUMNS],
    bias: &'a [f32; PANEL_COLUMNS],
    /// `None` for bf16.
    row: Option<&'a RowQuantization>,
    channels: Option<&'a PanelChannels>,
    activation: Option<Activation>,
}

impl PanelCells<'_> {
    #[inline(always)]
    fn write<S: Simd>(self, simd: S, out: &mut [f32; PANEL_COLUMNS]) {
        match (self.row, self.channels) {
            (Some(row), Some(channels)) => {
                let cells = out.iter_mut().zip(self.sums).zip(self.bias);
                let channels = channels.scales.iter().zip(&channels.sums);
                for (((out, &sum), bias), (scale, weights)) in cells.zip(channels) {
                    let exact = (sum as i32).wrapping_sub(row.zero.wrapping_mul(*weights));
                    *out = exact as f32 * row.scale * scale + bias;
                }
            }
            _ => {
                let sums: &[f32] = pulp::bytemuck::cast_slice(self.sums);
                let cells = S::as_mut_simd_f32s(out).0.iter_mut();
                let cells = cells.zip(S::as_simd_f32s(sums).0);
                for ((out, &sum), &bias) in cells.zip(S::as_simd_f32s(self.bias).0) {
                    *out = simd.add_f32s(sum, bias);
                }
            }
        }
        if let Some(activation) = self.activation {
            activate_row::<S>(activation, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn numbers(count: usize, seed: u64, spread: f32) -> Vec<f32> {
        let mut random = ir_core::SplitMix64::new(seed, 3);
        let number = |_| (random.below(4001) as f32 / 2000.0 - 1.0) * spread;
        (0..count).map(number).collect()
    }

    /// Product of a matrix in a precision.
    fn product(
        precision: LowPrecision,
        left: StridedRows<'_>,
        right: &[f32],
        bias: &[f32],
        from: usize,
    ) -> Vec<f32> {
        let to = bias.len();
        let packed = LowPrecisionMatrix::new(precision, right, from, to).unwrap();
        let mut out = vec![f32::NAN; left.count * to];
        let scratch = &mut LowPrecisionRows::default();
        packed.product(left, bias, None, (&mut out, to), scratch);
        out
    }

    /// The formulas of the module in f64, from quantized values that are computed by definition.
    fn int8_reference(left: &[f32], right: &[f32], bias: &[f32], from: usize) -> Vec<f64> {
        let to = bias.len();
        let column = |column: usize| right.iter().skip(column).step_by(to);
        let channels: Vec<(f32, Vec<f64>)> = (0..to)
            .map(|at| {
                let scale = column(at).fold(0.0_f32, |most, x| most.max(x.abs())) / 127.0;
                let inverse = 1.0 / scale;
                let round = |&x: &f32| f64::from((x * inverse).round_ties_even());
                let weights = column(at).map(round).collect();
                (scale, weights)
            })
            .collect();
        let row = |row: &[f32]| -> Vec<f64> {
            let least = row.iter().copied().fold(0.0, f32::min);
            let most = row.iter().copied().fold(0.0, f32::max);
            let scale = (most - least) / 255.0;
            let zero = (-least * (1.0 / scale)).round_ties_even();
            let quantized = row.iter().map(|x| {
                let p = (f64::from(x * (1.0 / scale)) + f64::from(zero)).round_ties_even();
                p.clamp(0.0, 255.0) - f64::from(zero)
            });
            let quantized: Vec<f64> = quantized.collect();
            let cell = |(at, (channel, weights)): (usize, &(f32, Vec<f64>))| {
                let products = quantized.iter().zip(weights).map(|(p, q)| p * q);
                products.sum::<f64>() * f64::from(scale) * f64::from(*channel) + f64::from(bias[at])
            };
            channels.iter().enumerate().map(cell).collect()
        };
        left.chunks(from).flat_map(row).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn int8_product_equals_its_formula(
            rows in 1..30_usize,
            from in 2..300_usize,
            to in 1..100_usize,
            gap in 0..20_usize,
            shift in -1.5..1.5_f32,
            seed: u64,
        ) {
            let mut left = numbers(rows * (from + gap), seed, 2.0);
            left.iter_mut().for_each(|x| *x += shift);
            let (right, bias) = (numbers(from * to, seed ^ 1, 0.1), numbers(to, seed ^ 2, 1.0));
            let dense: Vec<f32> = left
                .chunks(from + gap)
                .flat_map(|row| &row[..from])
                .copied()
                .collect();
            let strided = StridedRows { values: &left, stride: from + gap, count: rows };
            let found = product(LowPrecision::Int8, strided, &right, &bias, from);
            let expected = int8_reference(&dense, &right, &bias, from);
            for (found, expected) in found.iter().zip(expected) {
                let error = (f64::from(*found) - expected).abs();
                // Rounding of a tie by one unit in f32 would be an error of about 1e-3.
                prop_assert!(error < 1e-5 * (1.0 + expected.abs()), "{found} {expected}");
            }
        }

        #[test]
        fn bf16_product_is_near_f64(
            rows in 1..30_usize,
            from in 1..300_usize,
            to in 1..100_usize,
            seed: u64,
        ) {
            let (left, right) = (numbers(rows * from, seed, 2.0), numbers(from * to, seed ^ 1, 0.1));
            let bias = numbers(to, seed ^ 2, 1.0);
            let left = StridedRows::new(&left, from);
            let found = product(LowPrecision::Bf16, left, &right, &bias, from);
            let bf16 = |x: f32| f64::from(f32::from_bits(round_to_bf16(x) << 16));
            for (at, found) in found.iter().enumerate() {
                let row = &left.values[at / to * from..][..from];
                let column = right.iter().skip(at % to).step_by(to);
                let sum: f64 = row.iter().zip(column).map(|(&x, &y)| bf16(x) * bf16(y)).sum();
                let expected = sum + f64::from(bias[at % to]);
                let error = (f64::from(*found) - expected).abs();
                prop_assert!(error < 1e-5 * (1.0 + expected.abs()), "{found} {expected}");
            }
        }

        #[test]
        fn row_has_same_bits_in_any_batch(rows in 2..30_usize, int8: bool, seed: u64) {
            let precision = if int8 { LowPrecision::Int8 } else { LowPrecision::Bf16 };
            let (from, to) = (300, 45);
            let (left, mut right) = (numbers(rows * from, seed, 2.0), numbers(from * to, 1, 0.1));
            // An outlier: a single large weight.
            right[3..from * to].iter_mut().step_by(to).for_each(|x| *x *= 1e-3);
            right[3] = 9.0;
            let bias = numbers(to, 2, 1.0);
            let all = product(precision, StridedRows::new(&left, from), &right, &bias, from);
            for (row, expected) in left.chunks(from).zip(all.chunks(to)) {
                let alone = product(precision, StridedRows::new(row, from), &right, &bias, from);
                prop_assert_eq!(&alone[..], expected);
            }
        }

        #[test]
        fn quantized_numbers_are_nearest(seed: u64, least in -9.0..1.0_f32, width in 0.01..20.0_f32) {
            let row = numbers(100, seed, width / 2.0);
            let row: Vec<f32> = row.iter().map(|x| x + least + width / 2.0).collect();
            let range = RowRange::new(&row);
            for &x in &row {
                let restored = (f32::from(range.quantize(x)) - range.zero) * range.scale;
                // Half a step, or a little more at the upper end of the range.
                prop_assert!((restored - x).abs() <= 0.5001 * range.scale + 1e-6, "{x} {restored}");
            }
            prop_assert_eq!(f32::from(range.quantize(0.0)), range.zero);
        }
    }

    #[test]
    fn outlier_channels_are_f32() {
        let (rows, from, to) = (5, 1000, 40);
        let left = numbers(rows * from, 1, 1.0);
        let mut right = numbers(from * to, 2, 0.1);
        for column in [7, 39] {
            right[500 * to + column] = 30.0;
        }
        let bias = numbers(to, 3, 1.0);
        let packed = LowPrecisionMatrix::new(LowPrecision::Int8, &right, from, to).unwrap();
        assert_eq!(packed.outliers(), [7, 39]);
        let rows = StridedRows::new(&left, from);
        let exact = PackedMatrix::new(&right, from, to);
        for activation in [None, Some(Activation::Relu)] {
            let mut expected = vec![0.0; rows.count * to];
            let mut found = vec![7.0; rows.count * (to + 3)];
            match activation {
                None => exact.product(rows, Some(&bias), &mut expected, to),
                Some(it) => exact.activated_product(rows, &bias, it, &mut expected, to),
            }
            let scratch = &mut LowPrecisionRows::default();
            packed.product(rows, &bias, activation, (&mut found, to + 3), scratch);
            for (found, expected) in found.chunks(to + 3).zip(expected.chunks(to)) {
                for column in [7, 39] {
                    assert_eq!(found[column], expected[column]);
                }
                for (found, expected) in found.iter().zip(expected) {
                    assert!((found - expected).abs() < 0.05, "{found} {expected}");
                }
                assert_eq!(found[to..], [7.0; 3]);
            }
        }
        let even = numbers(from * to, 2, 0.1);
        let packed = LowPrecisionMatrix::new(LowPrecision::Int8, &even, from, to).unwrap();
        assert!(packed.outliers().is_empty());
    }

    #[test]
    fn zeros_infinities_and_subnormal_numbers() {
        let (from, to) = (6, 3);
        let right = numbers(from * to, 2, 0.1);
        let bias = [1.0, -2.0, 0.5];
        let run = |row: &[f32], right: &[f32]| {
            product(
                LowPrecision::Int8,
                StridedRows::new(row, from),
                right,
                &bias,
                from,
            )
        };
        assert_eq!(run(&[0.0; 6], &right), bias);
        assert_eq!(run(&[1e-40; 6], &right), bias);
        assert_eq!(run(&[1.0; 6], &vec![0.0; from * to]), bias);
        // Subnormal weights have f32 products.
        assert_eq!(run(&[1.0; 6], &vec![1e-39; from * to]), bias);
        for bad in [f32::INFINITY, f32::NEG_INFINITY, f32::NAN] {
            let row = [1.0, bad, 1.0, 1.0, 1.0, 1.0];
            assert!(run(&row, &right).iter().all(|x| x.is_nan()), "{bad}");
        }
        let too_deep = vec![0.0; MAX_DEPTH + 1];
        let [int8, bf16] = [LowPrecision::Int8, LowPrecision::Bf16]
            .map(|precision| LowPrecisionMatrix::new(precision, &too_deep, MAX_DEPTH + 1, 1));
        assert!(int8.is_none() && bf16.is_some());
    }
}
