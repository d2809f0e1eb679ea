//! Matrix products with a packed right matrix.
//!
//! Every element of a product is summed over the inner dimension in order, by fused multiply-add,
//! in blocks of `BLOCK_DEPTH`. Its bits therefore depend on its row and column alone, not on the
//! number of rows, the number of threads or the vector width of the CPU. A CPU without fused
//! multiply-add rounds twice.

use pulp::{Arch, Simd, WithSimd};

use super::aligned::{AlignedBuffer, prefetch};
use super::elementwise::activate_row;
use crate::Activation;

/// Rows of the left matrix in a tile if there are 32 vector registers: accumulators take 24 of
/// them. With 16 vector registers, a tile has half as many rows.
pub(crate) const TILE_ROWS: usize = 12;
/// Vector registers per row of a tile.
const TILE_VECTORS: usize = 2;
/// Rows of the right matrix in a block.
const BLOCK_DEPTH: usize = 384;
/// Rows of a panel between a row and the one that is prefetched: several hundred cycles, the
/// latency of memory.
const PREFETCH_ROWS: usize = 24;

/// Right matrix packed in panels of [`TILE_VECTORS`] vector registers, so that a product reads it
/// sequentially. The last panel is padded with zeros.
#[derive(Debug, Default)]
pub(crate) struct PackedMatrix {
    from: usize,
    to: usize,
    width: usize,
    values: AlignedBuffer,
}

impl PackedMatrix {
    /// Packs a row-major matrix `[from, to]`.
    pub(crate) fn new(matrix: &[f32], from: usize, to: usize) -> Self {
        let mut panels = Self::default();
        panels.fill(from, to, |row, columns, out| {
            out.copy_from_slice(&matrix[row * to..][columns]);
        });
        panels
    }

    /// Replaces the matrix by one of shape `[from, to]`. `row` writes a range of columns of a row.
    pub(crate) fn fill(
        &mut self,
        from: usize,
        to: usize,
        row: impl Fn(usize, std::ops::Range<usize>, &mut [f32]),
    ) {
        self.resize(from, to, panel_width());
        for k in 0..from {
            for (panel, first) in (0..to).step_by(self.width).enumerate() {
                let columns = first..(first + self.width).min(to);
                let at = self.index(panel, k);
                row(
                    k,
                    columns.clone(),
                    &mut self.values.values_mut()[at..][..columns.len()],
                );
            }
        }
    }

    /// Replaces the matrix by one of shape `[from, to]`. `column` returns one of the first `count`
    /// columns; the others are zero.
    pub(crate) fn fill_by_columns<'a>(
        &mut self,
        from: usize,
        to: usize,
        count: usize,
        column: impl Fn(usize) -> &'a [f32],
    ) {
        self.resize(from, to, panel_width());
        for first in (0..from).step_by(BLOCK_DEPTH) {
            for at in 0..count {
                let values = &column(at)[first..from.min(first + BLOCK_DEPTH)];
                let at = self.index(at / self.width, first) + at % self.width;
                let cells = self.values.values_mut()[at..].iter_mut();
                let cells = cells.step_by(self.width);
                for (cell, &value) in cells.zip(values) {
                    *cell = value;
                }
            }
        }
    }

    /// Rounds a width up to whole panels.
    pub(crate) fn padded(to: usize) -> usize {
        to.next_multiple_of(panel_width())
    }

    fn resize(&mut self, from: usize, to: usize, width: usize) {
        self.values
            .fill_with_zeros(from * to.next_multiple_of(width));
        (self.from, self.to, self.width) = (from, to, width);
    }

    /// Index of row `k` of a panel in `values`.
    fn index(&self, panel: usize, k: usize) -> usize {
        let panels = self.to.div_ceil(self.width);
        let first = k - k % BLOCK_DEPTH;
        let depth = BLOCK_DEPTH.min(self.from - first);
        (first * panels + panel * depth + k % BLOCK_DEPTH) * self.width
    }

    /// Distance of rows of `width` elements at which the rows of a tile are in different sets of
    /// the L1 cache, also if the width is a multiple of 1,024.
    pub(crate) fn row_stride(width: usize) -> usize {
        width + 16
    }

    /// Computes `left · self + bias`.
    ///
    /// # Shapes
    /// `left`: rows of `from` elements, `left.stride` apart; `bias`: `[to]`; `out`: rows of `to`
    /// elements, `out_stride` apart.
    pub(crate) fn product(
        &self,
        left: StridedRows<'_>,
        bias: Option<&[f32]>,
        out: &mut [f32],
        out_stride: usize,
    ) {
        Arch::new().dispatch(MatrixProduct {
            left,
            right: self,
            bias,
            activation: None,
            out,
            out_stride,
        });
    }

    /// [`Self::product`] followed by an activation function, which is applied to every tile while
    /// it is in the L1 cache.
    pub(crate) fn activated_product(
        &self,
        left: StridedRows<'_>,
        bias: &[f32],
        activation: Activation,
        out: &mut [f32],
        out_stride: usize,
    ) {
        Arch::new().dispatch(MatrixProduct {
            left,
            right: self,
            bias: Some(bias),
            activation: Some(activation),
            out,
            out_stride,
        });
    }
}

fn panel_width() -> usize {
    struct Width;
    impl WithSimd for Width {
        type Output = usize;
        fn with_simd<S: Simd>(self, _: S) -> usize {
            S::F32_LANES * TILE_VECTORS
        }
    }
    Arch::new().dispatch(Width)
}

/// Left matrix: rows at a fixed stride in a slice.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StridedRows<'a> {
    pub(crate) values: &'a [f32],
    pub(crate) stride: usize,
    pub(crate) count: usize,
}

impl<'a> StridedRows<'a> {
    /// Rows of `width` elements without gaps.
    pub(crate) fn new(values: &'a [f32], width: usize) -> Self {
        let count = values.len() / width.max(1);
        Self {
            values,
            stride: width,
            count,
        }
    }
}

struct MatrixProduct<'a> {
    left: StridedRows<'a>,
    right: &'a PackedMatrix,
    bias: Option<&'a [f32]>,
    activation: Option<Activation>,
    out: &'a mut [f32],
    out_stride: usize,
}

impl WithSimd for MatrixProduct<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let PackedMatrix {
            from, to, width, ..
        } = *self.right;
        let tile_rows = match S::REGISTER_COUNT {
            32.. => TILE_ROWS,
            _ => TILE_ROWS / 2,
        };
        let mut panels = self.right.values.values();
        // A panel stays in the L2 cache for all rows.
        for first in (0..from).step_by(BLOCK_DEPTH) {
            let depth = BLOCK_DEPTH.min(from - first);
            let activation = self.activation.filter(|_| first + depth == from);
            for column in (0..to).step_by(width) {
                let (panel, rest) = panels.split_at(depth * width);
                panels = rest;
                let columns = width.min(to - column);
                let bias = match self.bias {
                    Some(bias) if first == 0 => &bias[column..column + columns],
                    _ => &[],
                };
                for row in (0..self.left.count).step_by(tile_rows) {
                    let tile = Tile {
                        simd,
                        left: &self.left.values[row * self.left.stride + first..],
                        left_stride: self.left.stride,
                        depth,
                        panel,
                        bias,
                        accumulate: first > 0,
                        columns,
                    };
                    let out = &mut self.out[row * self.out_stride + column..];
                    let rows = tile_rows.min(self.left.count - row);
                    let stride = self.out_stride;
                    match rows {
                        1 => tile.compute::<1>(out, stride),
                        2 => tile.compute::<2>(out, stride),
                        3 => tile.compute::<3>(out, stride),
                        4 => tile.compute::<4>(out, stride),
                        5 => tile.compute::<5>(out, stride),
                        6 => tile.compute::<6>(out, stride),
                        7 => tile.compute::<7>(out, stride),
                        8 => tile.compute::<8>(out, stride),
                        9 => tile.compute::<9>(out, stride),
                        10 => tile.compute::<10>(out, stride),
                        11 => tile.compute::<11>(out, stride),
                        _ => tile.compute::<TILE_ROWS>(out, stride),
                    }
                    if let Some(activation) = activation {
                        for row in 0..rows {
                            activate_row::<S>(activation, &mut out[row * stride..][..columns]);
                        }
                    }
                }
            }
        }
    }
}

/// Product of up to [`TILE_ROWS`] rows with a panel.
struct Tile<'a, S> {
    simd: S,
    left: &'a [f32],
    left_stride: usize,
    depth: usize,
    panel: &'a [f32],
    bias: &'a [f32],
    /// Whether sums are added to `out` instead of replacing it.
    accumulate: bool,
    columns: usize,
}

impl<S: Simd> Tile<'_, S> {
    #[inline(always)]
    fn compute<const N: usize>(self, out: &mut [f32], out_stride: usize) {
        let simd = self.simd;
        let rows: [&[f32]; N] =
            std::array::from_fn(|row| &self.left[row * self.left_stride..][..self.depth]);
        let (panel, _) = S::as_simd_f32s(self.panel).0.as_chunks::<TILE_VECTORS>();
        let panel = &panel[..self.depth];
        let width = S::F32_LANES * TILE_VECTORS;
        let mut sums = [[simd.splat_f32s(0.0); TILE_VECTORS]; N];
        for k in 0..self.depth {
            prefetch(self.panel, (k + PREFETCH_ROWS) * width, width);
            for (sums, row) in sums.iter_mut().zip(rows) {
                let x = simd.splat_f32s(row[k]);
                for (sum, &right) in sums.iter_mut().zip(&panel[k]) {
                    *sum = simd.mul_add_e_f32s(x, right, *sum);
                }
            }
        }
        for (row, sums) in sums.into_iter().enumerate() {
            let out = &mut out[row * out_stride..][..self.columns];
            let (whole, rest) = S::as_mut_simd_f32s(out);
            if whole.len() < TILE_VECTORS || !rest.is_empty() {
                store_partial::<S>(sums, self.bias, self.accumulate, out);
                continue;
            }
            let bias = S::as_simd_f32s(self.bias).0;
            for (at, (cell, sum)) in whole.iter_mut().zip(sums).enumerate() {
                *cell = match (self.accumulate, bias.get(at)) {
                    (true, _) => simd.add_f32s(*cell, sum),
                    (false, Some(&bias)) => simd.add_f32s(bias, sum),
                    (false, None) => sum,
                };
            }
        }
    }
}

/// Writes the sums of an incomplete panel, one element at a time.
#[inline(never)]
fn store_partial<S: Simd>(
    sums: [S::f32s; TILE_VECTORS],
    bias: &[f32],
    accumulate: bool,
    out: &mut [f32],
) {
    let sums: &[f32] = pulp::bytemuck::cast_slice(&sums);
    for (at, (cell, &sum)) in out.iter_mut().zip(sums).enumerate() {
        *cell = match (accumulate, bias.get(at)) {
            (true, _) => *cell + sum,
            (false, Some(bias)) => bias + sum,
            (false, None) => sum,
        };
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn numbers(count: usize, seed: usize) -> Vec<f32> {
        let number = |n: usize| ((n * 7919 + seed * 104_729) % 2003) as f32 / 1001.5 - 1.0;
        (0..count).map(number).collect()
    }

    /// Product in f64 by the definition.
    fn reference(left: &[f32], right: &[f32], bias: &[f32], from: usize, to: usize) -> Vec<f64> {
        let rows = left.chunks(from);
        let row = |row: &[f32]| -> Vec<f64> {
            let element = |column: usize| {
                let terms = row.iter().zip(right.iter().skip(column).step_by(to));
                let sum: f64 = terms.map(|(&a, &b)| f64::from(a) * f64::from(b)).sum();
                sum + bias.get(column).map_or(0.0, |&bias| f64::from(bias))
            };
            (0..to).map(element).collect()
        };
        rows.flat_map(row).collect()
    }

    const SHAPES: [[usize; 3]; 8] = [
        [1, 1, 1],
        [7, 12, 36],
        [13, 24, 12],
        [6, 384, 32],
        [11, 385, 33],
        [5, 1000, 48],
        [64, 32, 17],
        [3, 768, 769],
    ];

    #[test]
    fn product_equals_f64_reference() {
        for [rows, from, to] in SHAPES {
            let (left, right) = (numbers(rows * from, 1), numbers(from * to, 2));
            let bias = numbers(to, 3);
            let panels = PackedMatrix::new(&right, from, to);
            for bias in [None, Some(&bias[..])] {
                let expected = reference(&left, &right, bias.unwrap_or_default(), from, to);
                let mut out = vec![f32::NAN; rows * to];
                panels.product(StridedRows::new(&left, from), bias, &mut out, to);
                for (found, expected) in out.iter().zip(&expected) {
                    let error = (f64::from(*found) - expected).abs();
                    assert!(error < 3e-5, "{rows}x{from}x{to}: {found}, {expected}");
                }
                // With a larger stride, elements between rows are not written.
                let mut wide = vec![7.0; rows * (to + 5)];
                panels.product(StridedRows::new(&left, from), bias, &mut wide, to + 5);
                for (wide, narrow) in wide.chunks(to + 5).zip(out.chunks(to)) {
                    assert_eq!(&wide[..to], narrow, "{rows}x{from}x{to}");
                    assert_eq!(wide[to..], [7.0; 5]);
                }
            }
        }
    }

    /// [`PackedMatrix::product`] with an activation function at one level.
    struct ProductAt<'a> {
        left: StridedRows<'a>,
        right: &'a [f32],
        bias: &'a [f32],
        activation: Option<Activation>,
        from: usize,
    }

    impl WithSimd for ProductAt<'_> {
        type Output = Vec<f32>;

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> Vec<f32> {
            let (from, to) = (self.from, self.bias.len());
            let mut packed = PackedMatrix::default();
            packed.resize(from, to, S::F32_LANES * TILE_VECTORS);
            for k in 0..from {
                for column in 0..to {
                    let at = packed.index(column / packed.width, k) + column % packed.width;
                    packed.values.values_mut()[at] = self.right[k * to + column];
                }
            }
            let mut out = vec![f32::NAN; self.left.count * to];
            let product = MatrixProduct {
                left: self.left,
                right: &packed,
                bias: Some(self.bias),
                activation: self.activation,
                out: &mut out,
                out_stride: to,
            };
            product.with_simd(simd);
            out
        }
    }

    /// Products at every level of the CPU, the portable one first.
    fn at_every_level<'a>(product: impl Fn() -> ProductAt<'a>) -> Vec<Vec<f32>> {
        #[allow(unused_mut, reason = "other architectures have one level more")]
        let mut all = vec![product().with_simd(pulp::Scalar)];
        #[cfg(target_arch = "x86_64")]
        {
            let avx2 = pulp::x86::V3::try_new();
            all.extend(avx2.map(|simd| Simd::vectorize(simd, product())));
            let avx512 = pulp::x86::V4::try_new();
            all.extend(avx512.map(|simd| Simd::vectorize(simd, product())));
        }
        all.push(Arch::new().dispatch(product()));
        all
    }

    fn check_levels([rows, from, to]: [usize; 3], gap: usize, activation: Option<Activation>) {
        let (left, right) = (numbers(rows * (from + gap), 1), numbers(from * to, 2));
        let bias = numbers(to, 3);
        let dense: Vec<f32> = left
            .chunks(from + gap)
            .flat_map(|row| &row[..from])
            .copied()
            .collect();
        let levels = at_every_level(|| ProductAt {
            left: StridedRows {
                values: &left,
                stride: from + gap,
                count: rows,
            },
            right: &right,
            bias: &bias,
            activation,
            from,
        });
        let expected = reference(&dense, &right, &bias, from, to);
        for found in &levels {
            for (&found, &sum) in found.iter().zip(&expected) {
                let expected = match activation {
                    None => sum,
                    Some(_) => sum.max(0.0),
                };
                let error = (f64::from(found) - expected).abs();
                assert!(
                    error < 3e-5 * expected.abs().max(1.0),
                    "{rows}x{from}x{to}: {found}, {expected}"
                );
            }
        }
        // All levels with fused multiply-add have the same bits.
        for found in &levels[1..] {
            assert_eq!(found, &levels[levels.len() - 1], "{rows}x{from}x{to}");
        }
    }

    #[test]
    fn levels_equal_f64_reference_and_each_other() {
        for shape in SHAPES {
            check_levels(shape, 0, None);
            check_levels(shape, 16, Some(Activation::Relu));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn products_of_random_shapes_equal_f64_reference(
            rows in 1..40_usize,
            from in 1..800_usize,
            to in 1..100_usize,
            gap in 0..20_usize,
            relu: bool,
        ) {
            check_levels([rows, from, to], gap, relu.then_some(Activation::Relu));
        }
    }

    #[test]
    fn activated_product_is_activation_of_product() {
        let [rows, from, to] = [25, 800, 75];
        let (left, right) = (numbers(rows * from, 1), numbers(from * to, 2));
        let bias = numbers(to, 3);
        let packed = PackedMatrix::new(&right, from, to);
        let stride = PackedMatrix::row_stride(to);
        let left = StridedRows::new(&left, from);
        let mut sums = vec![0.0; rows * to];
        packed.product(left, Some(&bias), &mut sums, to);
        for activation in [Activation::Gelu, Activation::GeluTanh, Activation::Relu] {
            let mut found = vec![7.0; rows * stride];
            packed.activated_product(left, &bias, activation, &mut found, stride);
            for (found, sums) in found.chunks(stride).zip(sums.chunks(to)) {
                for (&found, &sum) in found.iter().zip(sums) {
                    let sum = f64::from(sum);
                    let root = (2.0 / std::f64::consts::PI).sqrt();
                    let tanh = (root * (sum + 0.044_715 * sum.powi(3))).tanh();
                    // GELU and its tanh approximation differ by less than 5e-4.
                    let (expected, tolerance) = match activation {
                        Activation::Relu => (sum.max(0.0), 0.0),
                        Activation::GeluTanh => (0.5 * sum * (1.0 + tanh), 1e-6),
                        Activation::Gelu => (0.5 * sum * (1.0 + tanh), 5e-4),
                    };
                    let error = (f64::from(found) - expected).abs();
                    assert!(
                        error <= tolerance * sum.abs().max(1.0),
                        "{found} {expected}"
                    );
                }
                assert_eq!(found[to..], vec![7.0; stride - to]);
            }
        }
    }

    #[test]
    fn row_has_same_bits_in_any_batch() {
        let (rows, from, to) = (23, 700, 50);
        let (left, right) = (numbers(rows * from, 1), numbers(from * to, 2));
        let panels = PackedMatrix::new(&right, from, to);
        let mut all = vec![0.0; rows * to];
        panels.product(StridedRows::new(&left, from), None, &mut all, to);
        for (row, expected) in left.chunks(from).zip(all.chunks(to)) {
            let mut alone = vec![0.0; to];
            panels.product(StridedRows::new(row, from), None, &mut alone, to);
            assert_eq!(alone, expected);
        }
    }

    #[test]
    fn packing_by_columns_equals_packing_by_rows() {
        for [_, from, to] in SHAPES {
            let right = numbers(from * to, 2);
            let by_rows = PackedMatrix::new(&right, from, to);
            let mut transposed = vec![0.0; from * to];
            for k in 0..from {
                for column in 0..to {
                    transposed[column * from + k] = right[k * to + column];
                }
            }
            let mut by_columns = PackedMatrix::default();
            let column = |at: usize| &transposed[at * from..][..from];
            by_columns.fill_by_columns(from, to, to, column);
            assert_eq!(by_columns.values.values(), by_rows.values.values());
            // A narrower matrix in the buffer of a wider one is padded with zeros.
            by_columns.fill_by_columns(from, to + 9, to - 1, column);
            let mut out = vec![f32::NAN; to + 9];
            let row = StridedRows::new(&right[..from], from);
            by_columns.product(row, None, &mut out, to + 9);
            assert_eq!(out[to - 1..], [0.0; 10]);
        }
    }
}
