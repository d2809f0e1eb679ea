//! Linear layers on tensors, with their backward passes.
//!
//! On the CPU, the right matrix is packed and blocks of rows are computed in parallel; see
//! [`matrix`](super::matrix) for the order of summation, which does not depend on the number of
//! threads. Other devices run burn's operations.

use std::ops::Range;

use burn::nn::Linear;
use burn::tensor::{Tensor, TensorData};
use rayon::prelude::*;

use super::matrix::{PackedMatrix, StridedRows, TILE_ROWS};
use super::memory::{self, on_cpu, values};
use super::tensor::column_sums;

/// Columns of the right matrix that a task packs: a multiple of every panel width.
const PACKED_COLUMNS: usize = 128;
/// Minimum and maximum rows of a task.
const MIN_TASK_ROWS: usize = 24;
const MAX_TASK_ROWS: usize = 96;

/// Returns `x` and x·W + b. `x` is not copied unless it has another owner.
///
/// # Shapes
/// `x`: `[rows, from]`; product: `[rows, to]`.
pub(crate) fn forward(x: Tensor<2>, linear: &Linear) -> [Tensor<2>; 2] {
    if !on_cpu(&x) {
        return [x.clone(), linear.forward(x)];
    }
    let (device, [rows, from], [_, to]) = (x.device(), x.dims(), linear.weight.dims());
    let (x, weight) = (memory::data(x), memory::data(linear.weight.val()));
    let bias = linear.bias.as_ref().map(|bias| memory::data(bias.val()));
    let product = ParallelProduct {
        shape: [rows, from, to],
        transposed: Transposed::Neither,
        bias: bias.as_ref().map(values),
    };
    let y = product.compute(values(&x), values(&weight));
    let y = Tensor::from_data(TensorData::new(y, [rows, to]), &device);
    [Tensor::from_data(x, &device), y]
}

/// Gradients of a linear layer.
pub(crate) struct LinearGradients {
    /// dy·Wᵀ, `[rows, from]`.
    pub(crate) x: Tensor<2>,
    /// xᵀ·dy, `[from, to]`.
    pub(crate) weight: Tensor<2>,
    /// Column sums of dy, `[to]`.
    pub(crate) bias: Tensor<1>,
}

/// Backward pass of [`forward`].
pub(crate) fn backward(dy: Tensor<2>, x: Tensor<2>, linear: &Linear) -> LinearGradients {
    let weight = linear.weight.val();
    if !on_cpu(&dy) {
        return LinearGradients {
            weight: x.transpose().matmul(dy.clone()),
            bias: column_sums(dy.clone()),
            x: dy.matmul(weight.transpose()),
        };
    }
    let (device, [rows, to], [_, from]) = (dy.device(), dy.dims(), x.dims());
    let [dy, x, weight] = [dy, x, weight].map(memory::data);
    let product = |shape: [usize; 3], transposed, a: &TensorData, b: &TensorData| {
        let product = ParallelProduct {
            shape,
            transposed,
            bias: None,
        };
        let out = product.compute(values(a), values(b));
        let [m, _, n] = shape;
        Tensor::from_data(TensorData::new(out, [m, n]), &device)
    };
    LinearGradients {
        x: product([rows, to, from], Transposed::Right, &dy, &weight),
        weight: product([from, rows, to], Transposed::Left, &x, &dy),
        bias: column_sums(Tensor::from_data(dy, &device)),
    }
}

/// The operand that is stored transposed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Transposed {
    Neither,
    Left,
    Right,
}

/// Product of an `[m, k]` with a `[k, n]` matrix.
struct ParallelProduct<'a> {
    /// `[m, k, n]`.
    shape: [usize; 3],
    transposed: Transposed,
    /// `[n]`.
    bias: Option<&'a [f32]>,
}

impl ParallelProduct<'_> {
    fn compute(&self, a: &[f32], b: &[f32]) -> Vec<f32> {
        let [m, k, n] = self.shape;
        let mut out = vec![0.0_f32; m * n];
        if k == 0 || out.is_empty() {
            return out;
        }
        let packed: Vec<PackedMatrix> = (0..n.div_ceil(PACKED_COLUMNS))
            .into_par_iter()
            .map(|group| self.pack(b, group * PACKED_COLUMNS))
            .collect();
        // Several tasks per thread, in whole tiles.
        let rows = m.div_ceil(4 * rayon::current_num_threads());
        let rows = rows
            .clamp(MIN_TASK_ROWS, MAX_TASK_ROWS)
            .next_multiple_of(TILE_ROWS);
        let tasks = out.par_chunks_mut(rows * n).enumerate();
        tasks.for_each_init(Vec::new, |scratch, (task, out)| {
            let rows = task * rows..task * rows + out.len() / n;
            let left = match self.transposed {
                Transposed::Left => transpose(a, m, rows, scratch),
                _ => StridedRows::new(&a[rows.start * k..rows.end * k], k),
            };
            for (group, packed) in packed.iter().enumerate() {
                let first = group * PACKED_COLUMNS;
                let bias = self.bias.map(|bias| &bias[first..]);
                packed.product(left, bias, &mut out[first..], n);
            }
        });
        out
    }

    /// Packs up to [`PACKED_COLUMNS`] columns of the right matrix.
    fn pack(&self, b: &[f32], first: usize) -> PackedMatrix {
        let [_, k, n] = self.shape;
        let count = PACKED_COLUMNS.min(n - first);
        let mut packed = PackedMatrix::default();
        match self.transposed {
            Transposed::Right => {
                packed.fill_by_columns(k, count, count, |column| &b[(first + column) * k..][..k]);
            }
            _ => packed.fill(k, count, |row, columns, out| {
                let values = &b[row * n + first..][columns];
                out.iter_mut().zip(values).for_each(|(out, x)| *out = *x);
            }),
        }
        packed
    }
}

/// Copies columns of a matrix with rows of `width` elements as rows into `out`.
fn transpose<'a>(
    matrix: &[f32],
    width: usize,
    columns: Range<usize>,
    out: &'a mut Vec<f32>,
) -> StridedRows<'a> {
    let rows = matrix.len() / width;
    // Cells of a column in different sets of the cache, also if the number of rows is a power of 2.
    let stride = rows + 16;
    out.resize(columns.len() * stride, 0.0);
    for (at, row) in matrix.chunks_exact(width).enumerate() {
        let cells = out[at..].iter_mut().step_by(stride);
        for (cell, &value) in cells.zip(&row[columns.clone()]) {
            *cell = value;
        }
    }
    StridedRows {
        values: out,
        stride,
        count: columns.len(),
    }
}
