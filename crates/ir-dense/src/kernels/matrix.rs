//! Matrix products with a packed right matrix.
//!
//! Every element of a product is summed over the inner dimension in order, by fused multiply-add,
//! in blocks of `BLOCK_DEPTH`. Its bits therefore depend on its row and column alone, not on the
//! number of rows, the number of threads or the vector width of the CPU. A CPU without fused
//! multiply-add rounds twice.

use pulp::{Arch, Simd, WithSimd};

/// Rows of the left matrix in a tile.
pub(crate) const TILE_ROWS: usize = 6;
/// Vector registers per row of a tile. With [`TILE_ROWS`], accumulators take 12 of the 16 vector
/// registers of AVX2.
const TILE_VECTORS: usize = 2;
/// Rows of the right matrix in a block: a panel of that many rows fits the L1 cache.
const BLOCK_DEPTH: usize = 384;

/// Right matrix packed in panels of [`TILE_VECTORS`] vector registers, so that a product reads it
/// sequentially. The last panel is padded with zeros.
#[derive(Debug, Clone, Default)]
pub(crate) struct PackedMatrix {
    from: usize,
    to: usize,
    width: usize,
    values: Vec<f32>,
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
                row(k, columns.clone(), &mut self.values[at..][..columns.len()]);
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
                let cells = self.values[at..].iter_mut().step_by(self.width);
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
        self.values.clear();
        self.values.resize(from * to.next_multiple_of(width), 0.0);
        (self.from, self.to, self.width) = (from, to, width);
    }

    /// Index of row `k` of a panel in `values`.
    fn index(&self, panel: usize, k: usize) -> usize {
        let panels = self.to.div_ceil(self.width);
        let first = k - k % BLOCK_DEPTH;
        let depth = BLOCK_DEPTH.min(self.from - first);
        (first * panels + panel * depth + k % BLOCK_DEPTH) * self.width
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
        let mut panels = &self.right.values[..];
        // A panel stays in the L1 cache for all rows.
        for first in (0..from).step_by(BLOCK_DEPTH) {
            let depth = BLOCK_DEPTH.min(from - first);
            for column in (0..to).step_by(width) {
                let (panel, rest) = panels.split_at(depth * width);
                panels = rest;
                let columns = width.min(to - column);
                let bias = match self.bias {
                    Some(bias) if first == 0 => &bias[column..column + columns],
                    _ => &[],
                };
                for row in (0..self.left.count).step_by(TILE_ROWS) {
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
                    match self.left.count - row {
                        1 => tile.compute::<1>(out, self.out_stride),
                        2 => tile.compute::<2>(out, self.out_stride),
                        3 => tile.compute::<3>(out, self.out_stride),
                        4 => tile.compute::<4>(out, self.out_stride),
                        5 => tile.compute::<5>(out, self.out_stride),
                        _ => tile.compute::<TILE_ROWS>(out, self.out_stride),
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
        let mut sums = [[simd.splat_f32s(0.0); TILE_VECTORS]; N];
        for k in 0..self.depth {
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

    #[test]
    fn scalar_product_equals_f64_reference() {
        for [rows, from, to] in SHAPES {
            let (left, right) = (numbers(rows * from, 1), numbers(from * to, 2));
            let bias = numbers(to, 3);
            let mut panels = PackedMatrix::default();
            panels.resize(from, to, TILE_VECTORS);
            for k in 0..from {
                for column in 0..to {
                    let at = panels.index(column / TILE_VECTORS, k) + column % TILE_VECTORS;
                    panels.values[at] = right[k * to + column];
                }
            }
            let mut out = vec![f32::NAN; rows * to];
            let product = MatrixProduct {
                left: StridedRows::new(&left, from),
                right: &panels,
                bias: Some(&bias),
                out: &mut out,
                out_stride: to,
            };
            product.with_simd(pulp::Scalar);
            let expected = reference(&left, &right, &bias, from, to);
            for (found, expected) in out.iter().zip(&expected) {
                let error = (f64::from(*found) - expected).abs();
                assert!(error < 3e-5, "{rows}x{from}x{to}: {found}, {expected}");
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
            assert_eq!(by_columns.values, by_rows.values);
            // A narrower matrix in the buffer of a wider one is padded with zeros.
            by_columns.fill_by_columns(from, to + 9, to - 1, column);
            let mut out = vec![f32::NAN; to + 9];
            let row = StridedRows::new(&right[..from], from);
            by_columns.product(row, None, &mut out, to + 9);
            assert_eq!(out[to - 1..], [0.0; 10]);
        }
    }
}
