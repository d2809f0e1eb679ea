//! Layer normalization, softmax, GELU and sums on tensors, with their backward passes.
//!
//! Each function has a CPU version, whose order of summation does not depend on the number of
//! threads, and a version in burn operations for other devices.

use burn::tensor::{Int, Tensor, TensorData};
use pulp::{Arch, Scalar};
use rayon::prelude::*;

use super::elementwise::{self, LANES, fold_lanes, mean_and_inverse_deviation, normal_cdf, sum};
use super::memory::{self, on_cpu, values, values_mut};

/// Elements per task of elementwise operations.
pub(crate) const TASK_ELEMENTS: usize = 1 << 14;
/// Rows of a task; sums over all rows are sums of the sums of tasks.
const TASK_ROWS: usize = 64;
const INVERSE_ROOT_2_PI: f32 = 0.398_942_3;

#[derive(Debug)]
pub(crate) struct SavedLayerNorm {
    /// Rows with mean 0 and variance 1, `[rows, width]`.
    standardized: Tensor<2>,
    /// Reciprocal standard deviation of every row, `[rows, 1]`.
    inverse_deviation: Tensor<2>,
}

/// Layer normalization of every row with scale `gamma` and shift `beta`.
pub(crate) fn layer_norm(
    x: Tensor<2>,
    gamma: Tensor<1>,
    beta: Tensor<1>,
    eps: f64,
) -> (Tensor<2>, SavedLayerNorm) {
    if !on_cpu(&x) {
        let mean = x.clone().mean_dim(1);
        let centered = x - mean;
        let variance = (centered.clone() * centered.clone()).mean_dim(1);
        let inverse_deviation = variance.add_scalar(eps).sqrt().recip();
        let standardized = centered * inverse_deviation.clone();
        let y = standardized.clone() * gamma.unsqueeze() + beta.unsqueeze();
        let saved = SavedLayerNorm {
            standardized,
            inverse_deviation,
        };
        return (y, saved);
    }
    let (device, [rows, width]) = (x.device(), x.dims());
    let (gamma, beta) = (memory::data(gamma), memory::data(beta));
    let (gamma, beta) = (values(&gamma), values(&beta));
    let mut standardized = memory::data(x);
    let mut y = vec![0.0_f32; rows * width];
    let mut inverse_deviations = vec![0.0_f32; rows];
    let chunk = TASK_ROWS * width;
    let tasks = values_mut(&mut standardized)
        .par_chunks_mut(chunk)
        .zip(y.par_chunks_mut(chunk))
        .zip(inverse_deviations.par_chunks_mut(TASK_ROWS));
    tasks.for_each(|((x, y), inverses)| {
        Arch::new().dispatch(|| {
            let rows = x.chunks_exact_mut(width).zip(y.chunks_exact_mut(width));
            for ((x, y), inverse) in rows.zip(inverses) {
                let mean;
                (mean, *inverse) = mean_and_inverse_deviation(x, eps as f32);
                let out = y.iter_mut().zip(gamma).zip(beta);
                for (x, ((y, gamma), beta)) in x.iter_mut().zip(out) {
                    *x = (*x - mean) * *inverse;
                    *y = *x * gamma + beta;
                }
            }
        });
    });
    let tensor = |values, width| Tensor::from_data(TensorData::new(values, [rows, width]), &device);
    let saved = SavedLayerNorm {
        standardized: Tensor::from_data(standardized, &device),
        inverse_deviation: tensor(inverse_deviations, 1),
    };
    (tensor(y, width), saved)
}

/// Backward pass of [`layer_norm`]: gradients of the rows, of `gamma` and of `beta`.
pub(crate) fn layer_norm_backward(
    dy: Tensor<2>,
    saved: SavedLayerNorm,
    gamma: Tensor<1>,
) -> (Tensor<2>, [Tensor<1>; 2]) {
    let SavedLayerNorm {
        standardized,
        inverse_deviation,
    } = saved;
    if !on_cpu(&dy) {
        let d_gamma = column_sums(dy.clone() * standardized.clone());
        let d_beta = column_sums(dy.clone());
        let d = dy * gamma.unsqueeze();
        let along = (d.clone() * standardized.clone()).mean_dim(1);
        let dx = (d.clone() - d.mean_dim(1) - standardized * along) * inverse_deviation;
        return (dx, [d_gamma, d_beta]);
    }
    let (device, [_, width]) = (dy.device(), dy.dims());
    let (gamma, standardized) = (memory::data(gamma), memory::data(standardized));
    let inverse_deviation = memory::data(inverse_deviation);
    let (gamma, standardized) = (values(&gamma), values(&standardized));
    let mut dx = memory::data(dy);
    let tasks = values_mut(&mut dx).par_chunks_mut(TASK_ROWS * width);
    let tasks = tasks.zip(standardized.par_chunks(TASK_ROWS * width));
    let tasks = tasks
        .zip(values(&inverse_deviation).par_chunks(TASK_ROWS))
        .map(|((dx, standardized), inverses)| {
            let mut sums = vec![0.0_f32; 2 * width];
            let (d_gamma, d_beta) = sums.split_at_mut(width);
            Arch::new().dispatch(|| {
                let rows = dx
                    .chunks_exact_mut(width)
                    .zip(standardized.chunks_exact(width));
                for ((dx, standardized), inverse) in rows.zip(inverses) {
                    let totals = d_gamma.iter_mut().zip(&mut *d_beta).zip(gamma);
                    for ((dx, x), ((d_gamma, d_beta), gamma)) in
                        dx.iter_mut().zip(standardized).zip(totals)
                    {
                        *d_gamma += *dx * x;
                        *d_beta += *dx;
                        *dx *= gamma;
                    }
                    let mean = sum(dx, |d| d) / width as f32;
                    let along = dot(dx, standardized) / width as f32;
                    for (dx, x) in dx.iter_mut().zip(standardized) {
                        *dx = (*dx - mean - x * along) * inverse;
                    }
                }
            });
            sums
        });
    let sums = add_up(tasks.collect(), 2 * width);
    let (d_gamma, d_beta) = sums.split_at(width);
    let vector =
        |values: &[f32]| Tensor::from_floats(TensorData::new(values.to_vec(), [width]), &device);
    let dx = Tensor::from_data(dx, &device);
    (dx, [vector(d_gamma), vector(d_beta)])
}

/// Sums over rows, the gradient of a bias.
pub(crate) fn column_sums(x: Tensor<2>) -> Tensor<1> {
    let [_, width] = x.dims();
    if !on_cpu(&x) {
        return x.sum_dim(0).reshape([width]);
    }
    let device = x.device();
    let x = memory::data(x);
    let tasks = values(&x).par_chunks(TASK_ROWS * width).map(|rows| {
        let mut sums = vec![0.0_f32; width];
        Arch::new().dispatch(|| {
            for row in rows.chunks_exact(width) {
                sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
            }
        });
        sums
    });
    let sums = add_up(tasks.collect(), width);
    Tensor::from_data(TensorData::new(sums, [width]), &device)
}

/// Returns `x` and its GELU, for a tensor in CPU memory.
pub(crate) fn gelu(x: Tensor<2>) -> [Tensor<2>; 2] {
    let (device, [rows, width]) = (x.device(), x.dims());
    let x = memory::data(x);
    let mut out = vec![0.0_f32; rows * width];
    let tasks = out.par_chunks_mut(TASK_ROWS * width.max(1));
    let tasks = tasks.zip(values(&x).par_chunks(TASK_ROWS * width.max(1)));
    tasks.for_each(|(out, x)| {
        Arch::new().dispatch(|| {
            for (out, &x) in out.iter_mut().zip(x) {
                *out = elementwise::gelu::<Scalar>(x);
            }
        });
    });
    let out = Tensor::from_data(TensorData::new(out, [rows, width]), &device);
    [Tensor::from_data(x, &device), out]
}

/// Softmax of `scale` times every row.
pub(crate) fn softmax(x: Tensor<4>, scale: f32) -> Tensor<4> {
    if !on_cpu(&x) {
        return burn::tensor::activation::softmax(x.mul_scalar(scale), 3);
    }
    let (device, width) = (x.device(), x.dims()[3].max(1));
    let mut data = memory::data(x);
    let tasks = values_mut(&mut data).par_chunks_mut(TASK_ROWS * width);
    tasks.for_each(|rows| elementwise::softmax(rows, width, width, scale));
    Tensor::from_data(data, &device)
}

/// Backward pass of GELU: `dy` times Φ(x) + x·φ(x).
pub(crate) fn gelu_backward(dy: Tensor<2>, x: Tensor<2>) -> Tensor<2> {
    if !on_cpu(&dy) {
        let cdf = x.clone().mul_scalar(std::f32::consts::FRAC_1_SQRT_2).erf();
        let cdf = cdf.add_scalar(1.0).mul_scalar(0.5);
        let density = (x.clone() * x.clone())
            .mul_scalar(-0.5)
            .exp()
            .mul_scalar(INVERSE_ROOT_2_PI);
        return dy * (cdf + x * density);
    }
    update_chunks(dy, x, TASK_ELEMENTS, |dy, x| {
        for (dy, &x) in dy.iter_mut().zip(x) {
            let (cdf, bell) = normal_cdf::<Scalar>(x);
            *dy *= cdf + x * bell * INVERSE_ROOT_2_PI;
        }
    })
}

/// Backward pass of [`softmax`], with respect to the rows before multiplication by `scale`.
pub(crate) fn softmax_backward(dy: Tensor<4>, y: Tensor<4>, scale: f32) -> Tensor<4> {
    if !on_cpu(&dy) {
        let along = (dy.clone() * y.clone()).sum_dim(3);
        return (dy - along) * y.mul_scalar(scale);
    }
    let width = y.dims()[3].max(1);
    update_chunks(dy, y, TASK_ROWS * width, |dy, y| {
        elementwise::softmax_backward(dy, width, y, &[], width, scale);
    })
}

/// Sum of two tensors of the same shape.
pub(crate) fn add<const D: usize>(x: Tensor<D>, other: Tensor<D>) -> Tensor<D> {
    if !on_cpu(&x) {
        return x + other;
    }
    update_chunks(x, other, TASK_ELEMENTS, |x, other| {
        x.iter_mut().zip(other).for_each(|(x, other)| *x += other);
    })
}

/// Product of the elements of two tensors of the same shape.
pub(crate) fn multiply<const D: usize>(x: Tensor<D>, other: Tensor<D>) -> Tensor<D> {
    if !on_cpu(&x) {
        return x * other;
    }
    update_chunks(x, other, TASK_ELEMENTS, |x, other| {
        x.iter_mut().zip(other).for_each(|(x, other)| *x *= other);
    })
}

/// Updates every `chunk` elements of a tensor in place, given the same elements of another tensor.
fn update_chunks<const D: usize>(
    x: Tensor<D>,
    other: Tensor<D>,
    chunk: usize,
    change: impl Fn(&mut [f32], &[f32]) + Sync,
) -> Tensor<D> {
    let device = x.device();
    let (mut x, other) = (memory::data(x), memory::data(other));
    let tasks = values_mut(&mut x).par_chunks_mut(chunk);
    let tasks = tasks.zip(values(&other).par_chunks(chunk));
    tasks.for_each(|(x, other)| Arch::new().dispatch(|| change(x, other)));
    Tensor::from_data(x, &device)
}

/// Adds the rows of `added` to the rows `rows` of `table`, which may repeat.
pub(crate) fn add_rows(table: Tensor<2>, rows: Tensor<1, Int>, added: Tensor<2>) -> Tensor<2> {
    if !on_cpu(&table) {
        return table.select_assign(0, rows, added, burn::tensor::IndexingUpdateOp::Add);
    }
    let (device, [_, width]) = (table.device(), table.dims());
    let (mut table, added) = (memory::data(table), memory::data(added));
    let rows = rows.into_data().convert::<i64>();
    let sums = values_mut(&mut table);
    let rows = rows.as_slice::<i64>().unwrap_or_default();
    assert_eq!(rows.len(), values(&added).len() / width.max(1));
    for (&row, added) in rows.iter().zip(values(&added).chunks_exact(width.max(1))) {
        let sum = &mut sums[row as usize * width..][..width];
        sum.iter_mut().zip(added).for_each(|(sum, x)| *sum += x);
    }
    Tensor::from_data(table, &device)
}

/// Adds a row, `[1, width]`, to every row.
pub(crate) fn add_to_rows(x: Tensor<2>, row: Tensor<2>) -> Tensor<2> {
    if !on_cpu(&x) {
        return x + row;
    }
    let (device, [_, width]) = (x.device(), x.dims());
    let (mut x, row) = (memory::data(x), memory::data(row));
    let tasks = values_mut(&mut x).par_chunks_mut(width.max(1));
    tasks.for_each(|x| {
        x.iter_mut()
            .zip(values(&row))
            .for_each(|(x, row)| *x += row)
    });
    Tensor::from_data(x, &device)
}

/// Sum of squares in f64.
pub(crate) fn squared_norm(x: &Tensor<1>) -> f64 {
    if !on_cpu(x) {
        let sum = (x.clone() * x.clone()).sum();
        return f64::from(sum.into_scalar::<f32>());
    }
    let data = x.clone().into_data();
    let values = data.as_slice::<f32>().unwrap_or_default();
    let tasks = values.par_chunks(TASK_ELEMENTS).map(|x| {
        let mut sums = [0.0_f64; LANES];
        Arch::new().dispatch(|| {
            let (blocks, rest) = x.as_chunks::<LANES>();
            for block in blocks.iter().map(|block| &block[..]).chain([rest]) {
                for (sum, &x) in sums.iter_mut().zip(block) {
                    *sum += f64::from(x) * f64::from(x);
                }
            }
        });
        sums.iter().sum::<f64>()
    });
    tasks.collect::<Vec<f64>>().iter().sum()
}

#[inline(always)]
fn dot(a: &[f32], b: &[f32]) -> f32 {
    fold_lanes(a, b, 0.0, |sum, a, b| sum + a * b).iter().sum()
}

fn add_up(parts: Vec<Vec<f32>>, width: usize) -> Vec<f32> {
    let mut sums = vec![0.0_f32; width];
    for part in parts {
        sums.iter_mut().zip(part).for_each(|(sum, x)| *sum += x);
    }
    sums
}
