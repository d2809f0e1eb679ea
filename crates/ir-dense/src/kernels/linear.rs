//! Matrix products of linear layers in training, in f32 or with bf16 factors.
//!
//! Every element has the order of summation of [`matrix`](super::matrix) or
//! [`low_precision`](super::low_precision), which does not depend on the number of threads.
//! Products over all tokens of a batch, the gradients of weights, are sums over blocks of
//! [`BLOCK_DEPTH`] tokens.

use std::cell::RefCell;

use rayon::prelude::*;

use super::low_precision::{LowPrecisionMatrix, LowPrecisionRows};
use super::matrix::{BLOCK_DEPTH, LeftPanels, PackedMatrix, StridedRows, TILE_ROWS};

/// Columns of the right matrix that a task packs: a multiple of every panel width.
const GROUP_COLUMNS: usize = 128;
/// Minimum and maximum rows of a task.
const MIN_TASK_ROWS: usize = 24;
const MAX_TASK_ROWS: usize = 96;

/// Right matrix of products, packed in groups of columns. Packing another matrix of the same shape
/// allocates nothing.
#[derive(Debug, Default)]
pub(crate) struct PackedColumns {
    bf16: bool,
    from: usize,
    to: usize,
    groups: Vec<Group>,
}

/// Packed columns in f32 or bf16; the other matrix is empty.
#[derive(Debug, Default)]
struct Group {
    f32: PackedMatrix,
    bf16: LowPrecisionMatrix,
    rows: LowPrecisionRows,
}

/// Buffers of a thread.
#[derive(Default)]
struct Scratch {
    panels: LeftPanels,
    rows: LowPrecisionRows,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

impl PackedColumns {
    /// Replaces the matrix by one of shape `[from, to]`, rounded to bf16 if `bf16` is set.
    pub(crate) fn pack(&mut self, rows: StridedRows<'_>, to: usize, bf16: bool) {
        self.fill([rows.count, to], bf16, |group, first, count| {
            let rows = StridedRows {
                values: rows.values.get(first..).unwrap_or_default(),
                ..rows
            };
            if bf16 {
                group.bf16.fill_rows(rows, count);
            } else {
                group.f32.fill_rows(rows, count);
            }
        });
    }

    /// Replaces the matrix by the transpose of `rows`, of `from` elements.
    pub(crate) fn pack_transposed(&mut self, rows: StridedRows<'_>, from: usize, bf16: bool) {
        self.fill([from, rows.count], bf16, |group, first, count| {
            let columns = StridedRows {
                values: &rows.values[first * rows.stride..],
                stride: rows.stride,
                count,
            };
            if bf16 {
                group.bf16.fill_columns(from, columns, &mut group.rows);
            } else {
                group.f32.fill_by_columns(from, count, count, |column| {
                    &columns.values[column * columns.stride..][..from]
                });
            }
        });
    }

    /// Packs every group with `pack`, which receives the first column and the number of columns.
    fn fill(
        &mut self,
        [from, to]: [usize; 2],
        bf16: bool,
        pack: impl Fn(&mut Group, usize, usize) + Sync,
    ) {
        (self.from, self.to, self.bf16) = (from, to, bf16);
        self.groups
            .resize_with(to.div_ceil(GROUP_COLUMNS), Group::default);
        let groups = self.groups.par_iter_mut().enumerate();
        groups.for_each(|(group, columns)| {
            let first = group * GROUP_COLUMNS;
            pack(columns, first, GROUP_COLUMNS.min(to - first));
        });
    }

    /// Computes `left · self + bias` on this thread.
    ///
    /// # Shapes
    /// `left`: rows of `from` elements; `bias`: `[to]`; `out`: rows of `to` elements, at a stride.
    pub(crate) fn product(
        &self,
        left: StridedRows<'_>,
        bias: Option<&[f32]>,
        (out, stride): (&mut [f32], usize),
    ) {
        let groups = self.groups.iter().enumerate();
        let groups = groups.map(|(at, group)| (at * GROUP_COLUMNS, group));
        if left.count == 0 {
            return;
        }
        if !self.bf16 {
            for (first, group) in groups {
                let bias = bias.map(|bias| &bias[first..]);
                group.f32.product(left, bias, &mut out[first..], stride);
            }
            return;
        }
        SCRATCH.with_borrow_mut(|Scratch { rows, .. }| {
            rows.round_bf16(left, self.from);
            for (first, group) in groups {
                let bias = bias.map_or(&[][..], |bias| &bias[first..]);
                let out = (&mut out[first..], stride);
                group
                    .bf16
                    .product_of_words(rows, left.count, bias, None, out);
            }
        });
    }

    /// Computes `leftᵀ · self` on all threads, or adds it to `out`.
    ///
    /// # Shapes
    /// `left`: `from` rows of `count` elements; `out`: `[count, to]`.
    fn product_of_columns(
        &self,
        left: StridedRows<'_>,
        count: usize,
        out: &mut [f32],
        accumulate: bool,
    ) {
        let to = self.to;
        // Several tasks per thread, in whole tiles.
        let rows = count.div_ceil(4 * rayon::current_num_threads());
        let rows = rows
            .clamp(MIN_TASK_ROWS, MAX_TASK_ROWS)
            .next_multiple_of(TILE_ROWS);
        let tasks = out.par_chunks_mut((rows * to).max(1)).enumerate();
        tasks.for_each(|(task, out)| {
            let columns = task * rows..count.min((task + 1) * rows);
            SCRATCH.with_borrow_mut(|scratch| {
                if self.bf16 {
                    scratch.rows.round_columns(left, columns.clone());
                } else {
                    scratch.panels.fill(left, columns.clone());
                }
                for (at, group) in self.groups.iter().enumerate() {
                    let out = &mut out[at * GROUP_COLUMNS..];
                    if self.bf16 {
                        let left = &scratch.rows;
                        let count = columns.len();
                        group
                            .bf16
                            .add_product_of_words(left, count, accumulate, (out, to));
                    } else {
                        let left = &scratch.panels;
                        group.f32.product_of_columns(left, accumulate, out, to);
                    }
                }
            });
        });
    }
}

/// Computes `xᵀ · dy`, the gradient of a weight, or adds it to `out`. `right` is a buffer.
///
/// # Shapes
/// `x`: `[tokens, from]`; `dy`: `[tokens, to]`; `out`: `[from, to]`.
pub(crate) fn weight_gradient(
    (x, from): (StridedRows<'_>, usize),
    (dy, to): (StridedRows<'_>, usize),
    bf16: bool,
    out: &mut [f32],
    accumulate: bool,
    right: &mut PackedColumns,
) {
    if x.count == 0 && !accumulate {
        out.fill(0.0);
    }
    for first in (0..x.count).step_by(BLOCK_DEPTH) {
        let [x, dy] = [x, dy].map(|rows| StridedRows {
            values: &rows.values[first * rows.stride..],
            stride: rows.stride,
            count: BLOCK_DEPTH.min(rows.count - first),
        });
        right.pack(dy, to, bf16);
        right.product_of_columns(x, from, out, accumulate || first > 0);
    }
}
