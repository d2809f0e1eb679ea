//! Matrix products with a packed right matrix.
//!
//! Every element of a product is summed over the inner dimension in order, by fused multiply-add,
//! in blocks of `BLOCK_DEPTH`. Its bits therefore depend on its row and column alone, not on the
//! number of rows, the number of threads or the vector width of the CPU. A CPU without fused
//! multiply-add rounds twice.

mod left;
#[cfg(test)]
mod tests;

use std::ops::Range;

use left::LeftMatrix;
pub(crate) use left::{LeftPanels, StridedColumns, StridedRows};
use pulp::{Arch, Simd, WithSimd};

use super::aligned::{AlignedBuffer, prefetch};
use super::elementwise::activate_row;
use crate::activation::Activation;

/// Rows of the left matrix in a tile if there are 32 vector registers: accumulators take 24 of
/// them. With 16 vector registers, a tile has half as many rows.
pub(crate) const TILE_ROWS: usize = 12;
/// Vector registers per row of a tile.
const TILE_VECTORS: usize = 2;
/// Rows of the right matrix in a block.
pub(crate) const BLOCK_DEPTH: usize = 384;
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
        row: impl Fn(usize, Range<usize>, &mut [f32]),
    ) {
        self.resize(from, to, to);
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

    /// Replaces the matrix by `rows`, of `to` elements.
    pub(crate) fn fill_rows(&mut self, rows: StridedRows<'_>, to: usize) {
        /// Width of a panel of the widest vectors.
        const WIDTH: usize = 32;
        self.fill(rows.count, to, |row, columns, out| {
            let values = &rows.values[row * rows.stride..][columns];
            match (
                <&mut [f32; WIDTH]>::try_from(&mut *out),
                <&[f32; WIDTH]>::try_from(values),
            ) {
                // A constant number of elements is copied without a call.
                (Ok(out), Ok(values)) => *out = *values,
                _ => out.copy_from_slice(values),
            }
        });
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
        /// Rows that are written before the next column: as long as a cache line of a column.
        const ROWS: usize = 16;
        self.resize(from, to, count);
        let width = self.width;
        for first in (0..from).step_by(ROWS) {
            let rows = first..from.min(first + ROWS);
            for panel in 0..count.div_ceil(width) {
                let at = self.index(panel, first);
                let cells = &mut self.values.values_mut()[at..][..rows.len() * width];
                let columns = panel * width..count.min((panel + 1) * width);
                for (lane, at) in columns.enumerate() {
                    let values = &column(at)[rows.clone()];
                    for (cells, &value) in cells.chunks_exact_mut(width).zip(values) {
                        cells[lane] = value;
                    }
                }
            }
        }
    }

    /// Rounds a width up to whole panels.
    pub(crate) fn padded(to: usize) -> usize {
        to.next_multiple_of(panel_width())
    }

    /// Sets the shape. Cells after the first `count` columns are zero, others have any values.
    fn resize(&mut self, from: usize, to: usize, count: usize) {
        (self.from, self.to, self.width) = (from, to, panel_width());
        let padded = to.next_multiple_of(self.width);
        if count == padded {
            self.values.resize_stale(from * padded);
        } else {
            self.values.fill_with_zeros(from * padded);
        }
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
        self.columns_of_product(left, 0..self.to, bias, None, (out, out_stride));
    }

    /// Computes columns of `left · self + bias`, and an activation function of them, which is
    /// applied to every tile while it is in the L1 cache.
    ///
    /// # Shapes
    /// `left`: rows of `from` elements; `columns`: from a multiple of [`PackedMatrix::padded`]`(1)`
    /// on; `bias`: `[to]`; `out`: rows of `columns.len()` elements, `out_stride` apart.
    pub(crate) fn columns_of_product(
        &self,
        left: StridedRows<'_>,
        columns: Range<usize>,
        bias: Option<&[f32]>,
        activation: Option<Activation>,
        (out, out_stride): (&mut [f32], usize),
    ) {
        Arch::new().dispatch(MatrixProduct {
            left: LeftMatrix::from(left),
            right: self,
            columns,
            bias,
            activation,
            accumulate: false,
            out,
            out_stride,
        });
    }

    /// Computes `leftᵀ · self`, or adds it to `out`, for a left matrix that is stored by columns.
    ///
    /// # Shapes
    /// `left`: `from` rows of `left.count` elements; `out`: rows of `to` elements, `out_stride`
    /// apart.
    pub(crate) fn product_of_columns<'a>(
        &self,
        left: impl Into<LeftMatrix<'a>>,
        accumulate: bool,
        out: &mut [f32],
        out_stride: usize,
    ) {
        Arch::new().dispatch(MatrixProduct {
            left: left.into(),
            right: self,
            columns: 0..self.to,
            bias: None,
            activation: None,
            accumulate,
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

struct MatrixProduct<'a> {
    left: LeftMatrix<'a>,
    right: &'a PackedMatrix,
    /// Columns of the product, of which `out` has no others.
    columns: Range<usize>,
    bias: Option<&'a [f32]>,
    activation: Option<Activation>,
    /// If `true`, the product is added to `out`, otherwise it replaces `out`.
    accumulate: bool,
    out: &'a mut [f32],
    out_stride: usize,
}

impl WithSimd for MatrixProduct<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let PackedMatrix { from, width, .. } = *self.right;
        let tile_rows = match S::REGISTER_COUNT {
            32.. => TILE_ROWS,
            _ => TILE_ROWS / 2,
        };
        let panels = self.right.values.values();
        // A panel stays in the L2 cache for all rows.
        for first in (0..from).step_by(BLOCK_DEPTH) {
            let depth = BLOCK_DEPTH.min(from - first);
            let activation = self.activation.filter(|_| first + depth == from);
            for column in self.columns.clone().step_by(width) {
                let panel = self.right.index(column / width, first);
                let panel = &panels[panel..][..depth * width];
                let columns = width.min(self.columns.end - column);
                let bias = match self.bias {
                    Some(bias) if first == 0 => &bias[column..column + columns],
                    _ => &[],
                };
                for row in (0..self.left.count).step_by(tile_rows) {
                    let tile = Tile {
                        simd,
                        left: self.left.tile(row, first),
                        left_stride: self.left.stride,
                        depth,
                        panel,
                        bias,
                        accumulate: self.accumulate || first > 0,
                        columns,
                    };
                    let at = row * self.out_stride + column - self.columns.start;
                    let out = &mut self.out[at..];
                    let rows = tile_rows.min(self.left.count - row);
                    let stride = self.out_stride;
                    if self.left.by_columns {
                        tile.compute_rows::<true>(rows, out, stride);
                    } else {
                        tile.compute_rows::<false>(rows, out, stride);
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
    /// If `true`, sums are added to `out`, otherwise they replace `out`.
    accumulate: bool,
    columns: usize,
}

impl<S: Simd> Tile<'_, S> {
    #[inline(always)]
    fn compute_rows<const COLUMNS: bool>(self, rows: usize, out: &mut [f32], stride: usize) {
        match rows {
            1 => self.compute::<1, COLUMNS>(out, stride),
            2 => self.compute::<2, COLUMNS>(out, stride),
            3 => self.compute::<3, COLUMNS>(out, stride),
            4 => self.compute::<4, COLUMNS>(out, stride),
            5 => self.compute::<5, COLUMNS>(out, stride),
            6 => self.compute::<6, COLUMNS>(out, stride),
            7 => self.compute::<7, COLUMNS>(out, stride),
            8 => self.compute::<8, COLUMNS>(out, stride),
            9 => self.compute::<9, COLUMNS>(out, stride),
            10 => self.compute::<10, COLUMNS>(out, stride),
            11 => self.compute::<11, COLUMNS>(out, stride),
            _ => self.compute::<TILE_ROWS, COLUMNS>(out, stride),
        }
    }

    /// `COLUMNS`: whether the left matrix is stored by columns.
    #[inline(always)]
    fn compute<const N: usize, const COLUMNS: bool>(self, out: &mut [f32], out_stride: usize) {
        let simd = self.simd;
        let rows: [&[f32]; N] = if COLUMNS {
            [&[]; N]
        } else {
            std::array::from_fn(|row| &self.left[row * self.left_stride..][..self.depth])
        };
        let (panel, _) = S::as_simd_f32s(self.panel).0.as_chunks::<TILE_VECTORS>();
        let panel = &panel[..self.depth];
        let width = S::F32_LANES * TILE_VECTORS;
        if self.accumulate {
            for row in 0..N {
                prefetch(out, row * out_stride, width);
            }
        }
        let mut sums = [[simd.splat_f32s(0.0); TILE_VECTORS]; N];
        for k in 0..self.depth {
            prefetch(self.panel, (k + PREFETCH_ROWS) * width, width);
            let column: &[f32] = if COLUMNS {
                &self.left[k * self.left_stride..][..N]
            } else {
                &[]
            };
            for (row, sums) in sums.iter_mut().enumerate() {
                let x = if COLUMNS { column[row] } else { rows[row][k] };
                let x = simd.splat_f32s(x);
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
