//! Rounding of the rows of a left matrix to integers of 8 or 12 bits or to bf16.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};

use super::LowPrecision;
use crate::kernels::aligned::AlignedBuffer;
use crate::kernels::elementwise::for_each_row_of_exponentials;
use crate::kernels::matrix::{StridedRows, TILE_ROWS};
use crate::kernels::microkernels::{PANEL_COLUMNS, bf16_rounding, round_to_bf16};

/// 1.5 · 2²³: adding it rounds to the nearest integer, which is then in the lowest bits.
pub(super) const ROUND: f32 = 12_582_912.0;
/// Bits of the lower part of a 12-bit integer.
pub(super) const LOWER_BITS: u32 = 4;
/// Words between the ends of two rows, so that rows of a tile are in different sets of the L1
/// cache.
pub(super) const ROW_GAP: usize = 16;

/// Rows of a left matrix in low precision, and buffers of a product. Reusing the value allocates
/// only if it was smaller before.
#[derive(Debug, Default)]
pub(crate) struct LowPrecisionRows {
    pub(super) words: AlignedBuffer<u32>,
    /// Distance of rows; of the words of a row in panels.
    pub(super) stride: usize,
    /// Distance of panels of [`TILE_ROWS`] rows. A panel stores its words by columns. `None` if
    /// words are stored by rows.
    pub(super) panel: Option<usize>,
    /// Quantization of every row; empty for bf16.
    pub(super) quantization: Vec<RowQuantization>,
    /// Biases of the outlier columns, then their products, row-major.
    pub(super) outliers: Vec<f32>,
}

/// Scale t and zero point z of a row.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowQuantization {
    pub(super) scale: f32,
    pub(super) zero: i32,
}

impl LowPrecisionRows {
    /// Sets the shape; words keep their bits.
    pub(super) fn resize(&mut self, precision: LowPrecision, count: usize, width: usize) {
        self.stride = width.div_ceil(precision.per_word()) + ROW_GAP;
        self.panel = None;
        self.words
            .resize_stale(count * precision.word_rows() * self.stride);
        self.quantization.clear();
    }

    /// Rows of a tile from a multiple of [`TILE_ROWS`] on, distance of its rows, and distance of
    /// the words of a row.
    #[inline(always)]
    pub(super) fn tile(&self, row: usize) -> (&[u32], usize, usize) {
        match self.panel {
            None => (&self.words.values()[row * self.stride..], self.stride, 1),
            Some(panel) => (
                &self.words.values()[row / TILE_ROWS * panel..],
                1,
                self.stride,
            ),
        }
    }

    /// Replaces the rows by the rows of a matrix, of `width` elements, in bf16.
    pub(crate) fn round_bf16(&mut self, rows: StridedRows<'_>, width: usize) {
        self.round(LowPrecision::Bf16, rows, width);
    }

    /// Replaces the rows by the softmax of `scale` times the rows of a matrix, in bf16: the same
    /// bits as after [`softmax`](crate::kernels::elementwise::softmax). Overwrites the matrix.
    ///
    /// # Shapes
    /// `rows`: rows of `width` elements, `stride` apart.
    pub(crate) fn round_softmax(
        &mut self,
        rows: &mut [f32],
        stride: usize,
        width: usize,
        scale: f32,
    ) {
        self.resize(LowPrecision::Bf16, rows.len() / stride.max(1), width);
        Arch::new().dispatch(RoundedSoftmax {
            rows,
            stride,
            width,
            scale,
            out: self,
        });
    }

    /// Replaces the rows by columns of a matrix, in bf16.
    pub(crate) fn round_columns(&mut self, rows: StridedRows<'_>, columns: Range<usize>) {
        let panel = rows.count.div_ceil(2) * TILE_ROWS;
        (self.stride, self.panel) = (TILE_ROWS, Some(panel));
        let words = panel * columns.len().div_ceil(TILE_ROWS);
        let words = self.words.resize_stale(words);
        self.quantization.clear();
        Arch::new().dispatch(|| {
            let zeros = vec![0.0; columns.len()];
            for k in 0..rows.count.div_ceil(2) {
                let row = |row: usize| {
                    if row < rows.count {
                        &rows.values[row * rows.stride..][columns.clone()]
                    } else {
                        &zeros
                    }
                };
                let (first, first_rest) = row(2 * k).as_chunks::<TILE_ROWS>();
                let (second, second_rest) = row(2 * k + 1).as_chunks::<TILE_ROWS>();
                let mut words = words[k * TILE_ROWS..].chunks_mut(panel);
                for ((first, second), words) in first.iter().zip(second).zip(&mut words) {
                    pack_pairs(first, second, &mut words[..TILE_ROWS]);
                }
                if let (false, Some(words)) = (first_rest.is_empty(), words.next()) {
                    pack_pairs(first_rest, second_rest, words);
                }
            }
        });
    }

    /// Rounds a tile of a matrix to bf16 and replaces some columns of the rows from `row` on by it.
    ///
    /// # Shapes
    /// `tile`: rows of [`PANEL_COLUMNS`] elements, the first `columns.len()` of which count, and
    /// after an odd number of them one that is 0 if the row is finite. `columns.start` is even.
    #[inline(always)]
    pub(super) fn round_tile(
        &mut self,
        tile: &[[f32; PANEL_COLUMNS]],
        row: usize,
        columns: Range<usize>,
    ) {
        let mut rounded = [[0; PANEL_COLUMNS / 2]; TILE_ROWS];
        match bf16_rounding() {
            Some(round) => round(tile.as_flattened(), 1.0, rounded.as_flattened_mut()),
            None => round_row(tile.as_flattened(), rounded.as_flattened_mut()),
        }
        let words = self.words.values_mut()[row * self.stride + columns.start / 2..]
            .chunks_mut(self.stride);
        for (words, rounded) in words.zip(&rounded[..tile.len()]) {
            let count = columns.len().div_ceil(2);
            words[..count].copy_from_slice(&rounded[..count]);
        }
    }

    /// Replaces the rows by the rows of a matrix, of `width` elements.
    pub(super) fn round(&mut self, precision: LowPrecision, rows: StridedRows<'_>, width: usize) {
        self.resize(precision, rows.count, width);
        if precision == LowPrecision::Bf16
            && let Some(round) = bf16_rounding()
        {
            let words = self.words.values_mut().chunks_exact_mut(self.stride);
            for (row, words) in rows.values.chunks(rows.stride).zip(words) {
                round(&row[..width], 1.0, words);
            }
            return;
        }
        Arch::new().dispatch(RoundRows {
            precision,
            rows,
            width,
            out: self,
        });
    }
}

pub(super) struct RoundRows<'a> {
    pub(super) precision: LowPrecision,
    pub(super) rows: StridedRows<'a>,
    pub(super) width: usize,
    pub(super) out: &'a mut LowPrecisionRows,
}

impl WithSimd for RoundRows<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let LowPrecisionRows {
            words,
            stride,
            quantization,
            ..
        } = self.out;
        let rows = self.rows.values.chunks(self.rows.stride);
        let rows = rows.take(self.rows.count).map(|row| &row[..self.width]);
        let word_rows = self.precision.word_rows();
        for (row, words) in rows.zip(words.values_mut().chunks_exact_mut(word_rows * *stride)) {
            let levels = match self.precision {
                LowPrecision::Bf16 => {
                    round_row(row, words);
                    continue;
                }
                LowPrecision::W8A8 => 255.0,
                LowPrecision::W8A12 => 4095.0,
            };
            let range = RowRange::new(simd, row, levels);
            let (upper, lower) = words.split_at_mut(*stride);
            let upper_bytes: &mut [u8] = pulp::bytemuck::cast_slice_mut(upper);
            if lower.is_empty() {
                for (byte, &x) in upper_bytes.iter_mut().zip(row) {
                    *byte = range.quantize(x) as u8;
                }
            } else {
                let lower_bytes: &mut [u8] = pulp::bytemuck::cast_slice_mut(lower);
                for ((upper, lower), &x) in upper_bytes.iter_mut().zip(lower_bytes).zip(row) {
                    let level = range.quantize(x);
                    *upper = (level >> LOWER_BITS) as u8;
                    *lower = (level & ((1 << LOWER_BITS) - 1)) as u8;
                }
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

struct RoundedSoftmax<'a> {
    rows: &'a mut [f32],
    stride: usize,
    width: usize,
    scale: f32,
    out: &'a mut LowPrecisionRows,
}

impl WithSimd for RoundedSoftmax<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let round = bf16_rounding();
        let (stride, width) = (self.stride, self.width);
        let mut words = self
            .out
            .words
            .values_mut()
            .chunks_exact_mut(self.out.stride);
        for_each_row_of_exponentials::<S>(self.rows, stride, width, self.scale, |row, inverse| {
            let Some(words) = words.next() else { return };
            match round {
                Some(round) => round(row, inverse, words),
                None => {
                    row.iter_mut().for_each(|x| *x *= inverse);
                    round_row(row, words);
                }
            }
        });
    }
}

/// Rounds a row to bf16 words.
#[inline(always)]
pub(super) fn round_row(row: &[f32], words: &mut [u32]) {
    let (pairs, rest) = row.as_chunks::<2>();
    for (word, pair) in words.iter_mut().zip(pairs) {
        *word = round_pair(pair[0], pair[1]);
    }
    if let &[last] = rest {
        words[pairs.len()] = round_pair(last, 0.0);
    }
}

/// Rounds the elements of two rows to the words of their columns.
#[inline(always)]
pub(super) fn pack_pairs(first: &[f32], second: &[f32], words: &mut [u32]) {
    for ((word, &first), &second) in words.iter_mut().zip(first).zip(second) {
        *word = round_pair(first, second);
    }
}

#[inline(always)]
fn round_pair(first: f32, second: f32) -> u32 {
    round_to_bf16(first) | round_to_bf16(second) << 16
}

/// Quantization of a row.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowRange {
    /// Scale t. NaN if an element of the row is infinite or NaN.
    pub(super) scale: f32,
    inverse: f32,
    /// Zero point z, an integer.
    pub(super) zero: f32,
    /// Largest integer, 255 or 4095.
    levels: f32,
}

impl RowRange {
    #[inline(always)]
    pub(super) fn new<S: Simd>(simd: S, row: &[f32], levels: f32) -> Self {
        let (least, most, is_finite) = extremes(simd, row);
        let scale = (most - least) / levels;
        // Nothing but zeros, or numbers so small that their scale is subnormal.
        if is_finite && scale < f32::MIN_POSITIVE {
            return Self {
                scale: 0.0,
                inverse: 0.0,
                zero: 0.0,
                levels,
            };
        }
        let inverse = 1.0 / scale;
        Self {
            scale: if is_finite { scale } else { f32::NAN },
            inverse,
            zero: (ROUND - least * inverse) - ROUND,
            levels,
        }
    }

    /// Nearest integer to x/t + z, in 0..=levels.
    #[inline(always)]
    pub(super) fn quantize(self, x: f32) -> u32 {
        let most = ROUND + self.levels;
        let shifted = x * self.inverse + (ROUND + self.zero);
        let shifted = if shifted < most { shifted } else { most };
        shifted.to_bits() & 0xfff
    }
}

/// Minimum and maximum of a row and 0, and whether no element is infinite or NaN.
#[inline(always)]
fn extremes<S: Simd>(simd: S, row: &[f32]) -> (f32, f32, bool) {
    let zero = simd.splat_f32s(0.0);
    let (mut least, mut most, mut zeros) = (zero, zero, zero);
    let mut update = |x| {
        least = simd.min_f32s(least, x);
        most = simd.max_f32s(most, x);
        // NaN if x is infinite or NaN.
        zeros = simd.mul_add_e_f32s(x, zero, zeros);
    };
    let (whole, rest) = S::as_simd_f32s(row);
    whole.iter().for_each(|&x| update(x));
    if !rest.is_empty() {
        update(simd.partial_load_f32s(rest));
    }
    let is_finite = simd.reduce_sum_f32s(zeros) == 0.0;
    let (least, most) = (simd.reduce_min_f32s(least), simd.reduce_max_f32s(most));
    (least, most, is_finite)
}
