//! Two functions of many elements, on the processor and without gradients.
//!
//! burn computes the exponential and the error function one element at a time there, which takes
//! a third of an encoder's time. These loops are written so that the compiler makes vector code of
//! them, once per instruction set; sums and products are rounded one by one in a fixed order, so an
//! element's bits depend on neither its neighbours, the threads nor the instruction set.

use burn::tensor::{Device, Tensor};
use pulp::{Arch, WithSimd};
use rayon::prelude::*;

/// Whether a tensor lies in this process's memory and no gradients are wanted.
pub(crate) fn here<const D: usize>(tensor: &Tensor<D>) -> bool {
    let device = tensor.device();
    device == Device::flex() && !device.is_autodiff()
}

/// Elements that one task works on.
const TASK: usize = 1 << 14;

/// Adds `bias` to every row, then x·Φ(x).
///
/// # Shapes
/// `x`: `[rows, width]`; `bias`: `[width]`.
pub(crate) fn bias_gelu(x: Tensor<2>, bias: Tensor<1>) -> Tensor<2> {
    let width = x.dims()[1];
    let bias = bias.into_data();
    let Ok(bias) = bias.as_slice::<f32>() else {
        return x;
    };
    in_rows(x, width, |rows| {
        Arch::new().dispatch(BiasGelu { rows, bias });
    })
}

/// The softmax of every row after multiplication by `scale`.
pub(crate) fn softmax<const D: usize>(x: Tensor<D>, scale: f32) -> Tensor<D> {
    let width = x.dims()[D - 1];
    in_rows(x, width, |rows| {
        Arch::new().dispatch(Softmax { rows, width, scale });
    })
}

/// Changes a tensor in place, some whole rows at a time.
fn in_rows<const D: usize>(
    x: Tensor<D>,
    width: usize,
    change: impl Fn(&mut [f32]) + Sync + Send,
) -> Tensor<D> {
    let device = x.device();
    // A tensor that nobody else holds is not copied, here and back.
    let mut data = x.into_data();
    if let Ok(values) = data.as_mut_slice::<f32>() {
        let chunk = (TASK / width.max(1)).max(1) * width.max(1);
        values.par_chunks_mut(chunk).for_each(change);
    }
    Tensor::from_data(data, &device)
}

struct BiasGelu<'a> {
    rows: &'a mut [f32],
    bias: &'a [f32],
}

impl WithSimd for BiasGelu<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        for row in self.rows.chunks_exact_mut(self.bias.len().max(1)) {
            for (x, bias) in row.iter_mut().zip(self.bias) {
                *x = gelu(*x + bias);
            }
        }
    }
}

struct Softmax<'a> {
    rows: &'a mut [f32],
    width: usize,
    scale: f32,
}

/// Partial sums of a row, so that the compiler may add several elements at once.
const LANES: usize = 16;

impl WithSimd for Softmax<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        for row in self.rows.chunks_exact_mut(self.width.max(1)) {
            let mut most = [f32::NEG_INFINITY; LANES];
            let (blocks, rest) = row.as_chunks::<LANES>();
            for block in blocks {
                for (most, &x) in most.iter_mut().zip(block) {
                    *most = if x > *most { x } else { *most };
                }
            }
            for (most, &x) in most.iter_mut().zip(rest) {
                *most = if x > *most { x } else { *most };
            }
            let most = most.iter().fold(f32::NEG_INFINITY, |a, &b| a.max(b));

            let mut sums = [0.0; LANES];
            let (blocks, rest) = row.as_chunks_mut::<LANES>();
            for block in blocks {
                for (sum, x) in sums.iter_mut().zip(block) {
                    *x = exp((*x - most) * self.scale);
                    *sum += *x;
                }
            }
            for (sum, x) in sums.iter_mut().zip(rest) {
                *x = exp((*x - most) * self.scale);
                *sum += *x;
            }
            let whole: f32 = sums.iter().sum();
            let inverse = 1.0 / whole;
            for x in row {
                *x *= inverse;
            }
        }
    }
}

/// e to a power that is not positive, within 2 units in the last place; 0 below the least normal
/// number.
///
/// x = n·ln 2 + r with |r| ≤ ln 2 / 2; the series of e^r to the seventh power, times 2^n by adding
/// n to the exponent's bits.
#[inline(always)]
fn exp(x: f32) -> f32 {
    /// ln 2 in two parts, the first with few bits, so that n times it is exact.
    const LN_2_HIGH: f32 = 0.693_359_4;
    const LN_2_LOW: f32 = -2.121_944_4e-4;
    /// 1.5 · 2^23: adding it leaves the nearest whole number in the lowest bits.
    const ROUND: f32 = 12_582_912.0;
    let clamped = if x > -87.0 { x } else { -87.0 };
    let shifted = clamped * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = (clamped - n * LN_2_HIGH) - n * LN_2_LOW;
    let series = 1.0 / 5040.0;
    let series = series * r + 1.0 / 720.0;
    let series = series * r + 1.0 / 120.0;
    let series = series * r + 1.0 / 24.0;
    let series = series * r + 1.0 / 6.0;
    let series = series * r + 0.5;
    let series = series * r + 1.0;
    let series = series * r + 1.0;
    let bits = series.to_bits().wrapping_add(shifted.to_bits() << 23);
    if x > -87.0 { f32::from_bits(bits) } else { 0.0 }
}

/// x·Φ(x), within 2e-7·max(1, |x|).
///
/// Φ(x) = (1 + erf(x/√2))/2 with the error function by formula 7.1.26 of Abramowitz & Stegun,
/// Handbook of Mathematical Functions (1964), within 1.5e-7.
#[inline(always)]
fn gelu(x: f32) -> f32 {
    let z = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * z);
    let poly = 1.061_405_4;
    let poly = poly * t - 1.453_152;
    let poly = poly * t + 1.421_413_7;
    let poly = poly * t - 0.284_496_74;
    let poly = poly * t + 0.254_829_6;
    // 1 - erf(z), from which either tail follows.
    let tail = 0.5 * (poly * t * exp(-(z * z)));
    x * if x < 0.0 { tail } else { 1.0 - tail }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The Taylor series of the exponential in 64 bits, halved until it converges at once.
    fn exact_exp(x: f64) -> f64 {
        let halved = x / 1024.0;
        let series = (1..20)
            .rev()
            .fold(1.0, |sum, n| 1.0 + halved / f64::from(n) * sum);
        (0..10).fold(series, |e, _| e * e)
    }

    /// Φ by the series of the error function about 0 (Abramowitz & Stegun 7.1.6).
    fn exact_gelu(x: f64) -> f64 {
        let (mut term, mut sum, mut n) = (x, x, 1.0);
        while term.abs() > 1e-18 {
            term *= x * x / (2.0 * n + 1.0);
            sum += term;
            n += 1.0;
        }
        let density = exact_exp(-x * x / 2.0) / (2.0 * std::f64::consts::PI).sqrt();
        x * (0.5 + density * sum)
    }

    #[test]
    fn the_exponential_is_that_of_the_series() {
        for step in 0..87_000 {
            let x = -(step as f32) / 1000.0;
            let exact = exact_exp(f64::from(x));
            let error = (f64::from(exp(x)) - exact).abs() / exact;
            assert!(error < 2.5e-7, "exp({x}) = {}, {exact}", exp(x));
        }
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(exp(-100.0), 0.0);
        assert_eq!(exp(f32::NEG_INFINITY), 0.0);
    }

    #[test]
    fn gelu_is_x_times_the_normal_distribution() {
        for step in -6000..=6000 {
            let x = step as f32 / 1000.0;
            let exact = exact_gelu(f64::from(x));
            let error = (f64::from(gelu(x)) - exact).abs();
            assert!(
                error < 2e-7 * f64::from(x.abs().max(1.0)),
                "gelu({x}) = {}, {exact}",
                gelu(x)
            );
        }
        assert_eq!(gelu(20.0), 20.0);
        assert_eq!(gelu(-20.0), 0.0);
    }

    #[test]
    fn a_row_has_the_same_bits_alone_and_among_others() {
        let device = Device::flex();
        let rows: Vec<[f32; 37]> = (0..1000)
            .map(|row| std::array::from_fn(|i| ((row * 37 + i) as f32 * 0.7).sin() * 9.0))
            .collect();
        let all: Tensor<2> = Tensor::from_floats(
            burn::tensor::TensorData::new(rows.concat(), [1000, 37]),
            &device,
        );
        let together = softmax(all, 0.3).into_data();
        let together = together.as_slice::<f32>().unwrap();
        for (row, together) in rows.iter().zip(together.chunks(37)) {
            let alone: Tensor<2> = Tensor::from_floats([*row], &device);
            let alone = softmax(alone, 0.3).into_data();
            assert_eq!(alone.as_slice::<f32>().unwrap(), together);
            let whole: f32 = together.iter().sum();
            assert!((whole - 1.0).abs() < 1e-6);
        }
    }
}
