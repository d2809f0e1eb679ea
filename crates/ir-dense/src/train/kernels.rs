//! The parts of a transformer's gradients that are no products of matrices.
//!
//! Each has a version for the processor, in fixed order whatever the threads, and one in burn's
//! operations for other devices.

use burn::tensor::{Int, Tensor, TensorData};
use pulp::Arch;
use rayon::prelude::*;

use crate::host::functions::{self, LANES, sum};
use crate::memory::{self, here, values, values_mut};

/// Rows that one task works on: sums over rows are made of the sums of these.
const ROWS: usize = 64;
/// 1/√(2π).
const DENSITY: f32 = 0.398_942_3;

/// What the backward pass of layer normalisation needs.
#[derive(Debug)]
pub(super) struct Normed {
    /// Mean 0, variance 1, `[rows, width]`.
    scaled: Tensor<2>,
    /// What every row was multiplied by, `[rows, 1]`.
    by: Tensor<2>,
}

/// Rows with mean 0 and variance 1, times `gamma`, plus `beta`.
pub(super) fn layer_norm(
    x: Tensor<2>,
    gamma: Tensor<1>,
    beta: Tensor<1>,
    eps: f64,
) -> (Tensor<2>, Normed) {
    if !here(&x) {
        let mean = x.clone().mean_dim(1);
        let centred = x - mean;
        let variance = (centred.clone() * centred.clone()).mean_dim(1);
        let by = variance.add_scalar(eps).sqrt().recip();
        let scaled = centred * by.clone();
        let y = scaled.clone() * gamma.unsqueeze() + beta.unsqueeze();
        return (y, Normed { scaled, by });
    }
    let (device, [rows, width]) = (x.device(), x.dims());
    let (gamma, beta) = (memory::data(gamma), memory::data(beta));
    let (gamma, beta) = (values(&gamma), values(&beta));
    let mut scaled = memory::data(x);
    let mut y = vec![0.0_f32; rows * width];
    let mut by = vec![0.0_f32; rows];
    let chunk = ROWS * width;
    let tasks = values_mut(&mut scaled)
        .par_chunks_mut(chunk)
        .zip(y.par_chunks_mut(chunk));
    tasks.zip(by.par_chunks_mut(ROWS)).for_each(|((x, y), by)| {
        Arch::new().dispatch(|| {
            let rows = x.chunks_exact_mut(width).zip(y.chunks_exact_mut(width));
            for ((x, y), by) in rows.zip(by) {
                let mean = sum(x, |x| x) / width as f32;
                let variance = sum(x, |x| (x - mean) * (x - mean)) / width as f32;
                *by = (variance + eps as f32).sqrt().recip();
                let out = y.iter_mut().zip(gamma).zip(beta);
                for (x, ((y, gamma), beta)) in x.iter_mut().zip(out) {
                    *x = (*x - mean) * *by;
                    *y = *x * gamma + beta;
                }
            }
        });
    });
    let tensor = |values, width| Tensor::from_data(TensorData::new(values, [rows, width]), &device);
    let normed = Normed {
        scaled: Tensor::from_data(scaled, &device),
        by: tensor(by, 1),
    };
    (tensor(y, width), normed)
}

/// The gradients of what [`layer_norm`] was given: rows, `gamma` and `beta`.
pub(super) fn layer_norm_backward(
    dy: Tensor<2>,
    normed: Normed,
    gamma: Tensor<1>,
) -> (Tensor<2>, [Tensor<1>; 2]) {
    let Normed { scaled, by } = normed;
    if !here(&dy) {
        let d_gamma = column_sums(dy.clone() * scaled.clone());
        let d_beta = column_sums(dy.clone());
        let d = dy * gamma.unsqueeze();
        let along = (d.clone() * scaled.clone()).mean_dim(1);
        let dx = (d.clone() - d.mean_dim(1) - scaled * along) * by;
        return (dx, [d_gamma, d_beta]);
    }
    let (device, [_, width]) = (dy.device(), dy.dims());
    let (gamma, scaled, by) = (memory::data(gamma), memory::data(scaled), memory::data(by));
    let (gamma, scaled) = (values(&gamma), values(&scaled));
    let mut dx = memory::data(dy);
    let tasks = values_mut(&mut dx).par_chunks_mut(ROWS * width);
    let tasks = tasks.zip(scaled.par_chunks(ROWS * width));
    let tasks = tasks
        .zip(values(&by).par_chunks(ROWS))
        .map(|((dx, scaled), by)| {
            let mut sums = vec![0.0_f32; 2 * width];
            let (d_gamma, d_beta) = sums.split_at_mut(width);
            Arch::new().dispatch(|| {
                let rows = dx.chunks_exact_mut(width).zip(scaled.chunks_exact(width));
                for ((dx, scaled), by) in rows.zip(by) {
                    let totals = d_gamma.iter_mut().zip(&mut *d_beta).zip(gamma);
                    for ((dx, scaled), ((d_gamma, d_beta), gamma)) in
                        dx.iter_mut().zip(scaled).zip(totals)
                    {
                        *d_gamma += *dx * scaled;
                        *d_beta += *dx;
                        *dx *= gamma;
                    }
                    let mean = sum(dx, |d| d) / width as f32;
                    let along = dot(dx, scaled) / width as f32;
                    for (dx, scaled) in dx.iter_mut().zip(scaled) {
                        *dx = (*dx - mean - scaled * along) * by;
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

/// Sums over rows: the gradient of a bias.
pub(super) fn column_sums(x: Tensor<2>) -> Tensor<1> {
    let [_, width] = x.dims();
    if !here(&x) {
        return x.sum_dim(0).reshape([width]);
    }
    let device = x.device();
    let x = memory::data(x);
    let tasks = values(&x).par_chunks(ROWS * width).map(|rows| {
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

/// `x + bias`, and of that x·Φ(x).
pub(super) fn gelu(x: Tensor<2>, bias: Tensor<1>) -> (Tensor<2>, Tensor<2>) {
    let biased = x + bias.unsqueeze();
    if !here(&biased) {
        return (biased.clone(), burn::tensor::activation::gelu(biased));
    }
    let (device, [rows, width]) = (biased.device(), biased.dims());
    let biased = memory::data(biased);
    let mut out = vec![0.0_f32; rows * width];
    let tasks = out.par_chunks_mut(ROWS * width.max(1));
    let tasks = tasks.zip(values(&biased).par_chunks(ROWS * width.max(1)));
    tasks.for_each(|(out, x)| {
        Arch::new().dispatch(|| {
            for (out, &x) in out.iter_mut().zip(x) {
                *out = x * functions::normal(x).0;
            }
        });
    });
    let out = Tensor::from_data(TensorData::new(out, [rows, width]), &device);
    (Tensor::from_data(biased, &device), out)
}

/// The softmax of every row after multiplication by `scale`.
pub(super) fn softmax(x: Tensor<4>, scale: f32) -> Tensor<4> {
    if !here(&x) {
        return burn::tensor::activation::softmax(x.mul_scalar(scale), 3);
    }
    let (device, width) = (x.device(), x.dims()[3].max(1));
    let mut data = memory::data(x);
    let tasks = values_mut(&mut data).par_chunks_mut(ROWS * width);
    tasks.for_each(|rows| functions::softmax(rows, width, width, scale));
    Tensor::from_data(data, &device)
}

/// `dy` times the derivative of x·Φ(x), which is Φ(x) + x·φ(x).
pub(super) fn gelu_backward(dy: Tensor<2>, x: Tensor<2>) -> Tensor<2> {
    if !here(&dy) {
        let chance = x.clone().mul_scalar(std::f32::consts::FRAC_1_SQRT_2).erf();
        let chance = chance.add_scalar(1.0).mul_scalar(0.5);
        let density = (x.clone() * x.clone())
            .mul_scalar(-0.5)
            .exp()
            .mul_scalar(DENSITY);
        return dy * (chance + x * density);
    }
    with(dy, x, |dy, x| {
        for (dy, &x) in dy.iter_mut().zip(x) {
            let (chance, bell) = functions::normal(x);
            *dy *= chance + x * bell * DENSITY;
        }
    })
}

/// The gradient of what a softmax over rows was given before it was multiplied by `scale`.
pub(super) fn softmax_backward(dy: Tensor<4>, y: Tensor<4>, scale: f32) -> Tensor<4> {
    if !here(&dy) {
        let along = (dy.clone() * y.clone()).sum_dim(3);
        return (dy - along) * y.mul_scalar(scale);
    }
    let width = y.dims()[3].max(1);
    with(dy, y, |dy, y| {
        for (dy, y) in dy.chunks_exact_mut(width).zip(y.chunks_exact(width)) {
            let along = dot(dy, y);
            for (dy, y) in dy.iter_mut().zip(y) {
                *dy = (*dy - along) * y * scale;
            }
        }
    })
}

/// Changes the first tensor in place, some whole rows at a time, with the same rows of the second.
fn with<const D: usize>(
    x: Tensor<D>,
    other: Tensor<D>,
    change: impl Fn(&mut [f32], &[f32]) + Sync,
) -> Tensor<D> {
    let (device, shape) = (x.device(), x.dims());
    let (mut x, other) = (memory::data(x), memory::data(other));
    let chunk = ROWS * shape[D - 1].max(1);
    let tasks = values_mut(&mut x).par_chunks_mut(chunk);
    let tasks = tasks.zip(values(&other).par_chunks(chunk));
    tasks.for_each(|(x, other)| Arch::new().dispatch(|| change(x, other)));
    Tensor::from_data(x, &device)
}

/// Adds the rows of `values` to those rows of `table` that `rows` names; a row may be named often.
pub(super) fn add_rows(table: Tensor<2>, rows: Tensor<1, Int>, values: Tensor<2>) -> Tensor<2> {
    table.select_assign(0, rows, values, burn::tensor::IndexingUpdateOp::Add)
}

/// The sum of squares, in 64 bits.
pub(super) fn squares(x: &Tensor<1>) -> f64 {
    const TASK: usize = 1 << 14;
    if !here(x) {
        let sum = (x.clone() * x.clone()).sum();
        return f64::from(sum.into_scalar::<f32>());
    }
    let data = x.clone().into_data();
    let values = data.as_slice::<f32>().unwrap_or_default();
    let tasks = values.par_chunks(TASK).map(|x| {
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
    let mut sums = [0.0; LANES];
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    for (a, b) in a.iter().zip(b) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += a * b;
        }
    }
    for (sum, (a, b)) in sums.iter_mut().zip(a_rest.iter().zip(b_rest)) {
        *sum += a * b;
    }
    sums.iter().sum()
}

fn add_up(parts: Vec<Vec<f32>>, width: usize) -> Vec<f32> {
    let mut sums = vec![0.0_f32; width];
    for part in parts {
        sums.iter_mut().zip(part).for_each(|(sum, x)| *sum += x);
    }
    sums
}
