//! Softmax, activation functions and layer normalization over slices.
//!
//! The compiler vectorizes these loops, once per instruction set. Operations have a fixed order, so
//! that the bits of an element depend on neither its neighbors nor the number of threads nor the
//! vector width of the CPU. A CPU without fused multiply-add rounds twice.

mod activations;
#[cfg(test)]
mod tests;

use pulp::{Arch, Simd, WithSimd};

use crate::activation::{Activation, QUICK_GELU};

/// Replaces every row by the softmax of `scale` times the row.
///
/// # Shapes
/// `rows`: rows of `width` elements, `stride` apart.
pub(crate) fn softmax(rows: &mut [f32], stride: usize, width: usize, scale: f32) {
    Arch::new().dispatch(SoftmaxRows {
        rows,
        stride,
        width,
        scale,
    });
}

/// Adds `residual`, which may be empty, to `rows`, then applies layer normalization to every row:
/// standardizes it, multiplies by `scale` and adds `shift`.
///
/// # Shapes
/// `rows`: rows as long as `scale` and `shift`; `residual`: the same, or empty.
///
/// # Source
/// Ba et al., "Layer Normalization", 2016.
pub(crate) fn add_layer_norm(
    rows: &mut [f32],
    residual: &[f32],
    scale: &[f32],
    shift: &[f32],
    epsilon: f32,
) {
    Arch::new().dispatch(LayerNormRows {
        rows,
        residual,
        scale,
        shift,
        epsilon,
    });
}

/// Divides every row by its root mean square, with ε added to the mean square, and multiplies it by
/// `scale`.
///
/// # Shapes
/// `rows`: rows as long as `scale`, `stride` apart.
///
/// # Source
/// Zhang and Sennrich, "Root Mean Square Layer Normalization", 2019.
pub(crate) fn rms_norm(rows: &mut [f32], stride: usize, scale: &[f32], epsilon: f32) {
    Arch::new().dispatch(|| {
        for row in rows.chunks_mut(stride.max(1)) {
            let row = &mut row[..scale.len()];
            let mean = sum(row, |x| x * x) / scale.len() as f32;
            let inverse = (mean + epsilon).sqrt().recip();
            for (x, scale) in row.iter_mut().zip(scale) {
                *x = *x * inverse * scale;
            }
        }
    });
}

/// Applies an activation function to the elements of a row.
#[inline(always)]
pub(super) fn activate_row<S: Simd>(activation: Activation, row: &mut [f32]) {
    let row = row.iter_mut();
    match activation {
        Activation::Gelu => row.for_each(|x| *x = gelu::<S>(*x)),
        Activation::GeluTanh => row.for_each(|x| *x = gelu_tanh::<S>(*x)),
        Activation::QuickGelu => row.for_each(|x| *x *= logistic::<S>(QUICK_GELU * *x)),
        Activation::Relu => row.for_each(|x| *x = x.max(0.0)),
        Activation::Silu => row.for_each(|x| *x *= logistic::<S>(*x)),
        _ => row.for_each(|x| *x = activation.value(*x)),
    }
}

/// [`activate_row`] for products with factors rounded to bf16 or 8 bits: GELU without an
/// exponential function, within 1e-6.
#[inline(always)]
pub(super) fn activate_rounded_row<S: Simd>(activation: Activation, row: &mut [f32]) {
    match activation {
        Activation::Gelu => row.iter_mut().for_each(|x| *x = rational_gelu::<S>(*x)),
        _ => activate_row::<S>(activation, row),
    }
}

/// a·b + c, rounded once if the instruction set has fused multiply-add.
#[inline(always)]
fn multiply_add<S: Simd>(a: f32, b: f32, c: f32) -> f32 {
    match S::F32_LANES {
        1 => a * b + c,
        _ => a.mul_add(b, c),
    }
}

struct LayerNormRows<'a> {
    rows: &'a mut [f32],
    residual: &'a [f32],
    scale: &'a [f32],
    shift: &'a [f32],
    epsilon: f32,
}

impl WithSimd for LayerNormRows<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let width = self.scale.len().max(1);
        for (at, row) in self.rows.chunks_exact_mut(width).enumerate() {
            if let Some(residual) = self.residual.get(at * width..(at + 1) * width) {
                row.iter_mut().zip(residual).for_each(|(x, y)| *x += y);
            }
            let (mean, inverse) = mean_and_inverse_deviation(row, self.epsilon);
            for ((x, scale), shift) in row.iter_mut().zip(self.scale).zip(self.shift) {
                *x = (*x - mean) * inverse * scale + shift;
            }
        }
    }
}

/// Mean, and reciprocal of the standard deviation, of a row.
#[inline(always)]
pub(super) fn mean_and_inverse_deviation(row: &[f32], epsilon: f32) -> (f32, f32) {
    let width = row.len() as f32;
    let mean = sum(row, |x| x) / width;
    let variance = sum(row, |x| (x - mean) * (x - mean)) / width;
    (mean, (variance + epsilon).sqrt().recip())
}

/// Sum of a function of the elements of a row.
#[inline(always)]
pub(super) fn sum(row: &[f32], f: impl Fn(f32) -> f32) -> f32 {
    fold_lanes(row, row, 0.0, |sum, x, _| sum + f(x))
        .iter()
        .sum()
}

/// Folds the elements of two rows in [`LANES`] accumulators, in order.
#[inline(always)]
pub(super) fn fold_lanes(
    a: &[f32],
    b: &[f32],
    start: f32,
    f: impl Fn(f32, f32, f32) -> f32,
) -> [f32; LANES] {
    let mut lanes = [start; LANES];
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    for (a, b) in a.iter().zip(b) {
        for (lane, (&a, &b)) in lanes.iter_mut().zip(a.iter().zip(b)) {
            *lane = f(*lane, a, b);
        }
    }
    for (lane, (&a, &b)) in lanes.iter_mut().zip(a_rest.iter().zip(b_rest)) {
        *lane = f(*lane, a, b);
    }
    lanes
}

struct SoftmaxRows<'a> {
    rows: &'a mut [f32],
    stride: usize,
    width: usize,
    scale: f32,
}

/// Number of accumulators of a row, which lets the compiler vectorize sum and maximum.
pub(super) const LANES: usize = 16;

impl WithSimd for SoftmaxRows<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let (stride, width) = (self.stride, self.width);
        for_each_row_of_exponentials::<S>(self.rows, stride, width, self.scale, |row, inverse| {
            row.iter_mut().for_each(|x| *x *= inverse);
        });
    }
}

/// Number of rows computed together: first their maxima, then their exponentials, then the sums of
/// their lanes. Each step is a chain of dependent operations per row; the CPU overlaps the chains
/// of several rows.
const ROWS_AT_ONCE: usize = 4;

/// Replaces every element x of a row by exp(scale·x), up to a factor of the row, and calls `f` with
/// every row, in order, and the reciprocal of its sum.
#[inline(always)]
pub(super) fn for_each_row_of_exponentials<S: Simd>(
    rows: &mut [f32],
    stride: usize,
    width: usize,
    scale: f32,
    mut f: impl FnMut(&mut [f32], f32),
) {
    for rows in rows.chunks_mut((ROWS_AT_ONCE * stride).max(1)) {
        let mut maxima = [0.0; ROWS_AT_ONCE];
        for (maximum, row) in maxima.iter_mut().zip(rows.chunks_exact(stride.max(1))) {
            *maximum = row_maximum(&row[..width]);
        }
        let mut sums = [[0.0; LANES]; ROWS_AT_ONCE];
        let rows_mut = rows.chunks_exact_mut(stride.max(1));
        for ((row, sums), maximum) in rows_mut.zip(&mut sums).zip(maxima) {
            *sums = exponentials::<S>(&mut row[..width], maximum, scale);
        }
        let inverses = sums.map(|sums| 1.0 / sums.iter().sum::<f32>());
        for (row, inverse) in rows.chunks_exact_mut(stride.max(1)).zip(inverses) {
            f(&mut row[..width], inverse);
        }
    }
}

/// Maximum of a row; NaN is ignored. Any order gives the same result, so that the lanes are reduced
/// by halves.
#[inline(always)]
fn row_maximum(row: &[f32]) -> f32 {
    let larger = |a: f32, b: f32| if b > a { b } else { a };
    let mut lanes = fold_lanes(row, row, f32::NEG_INFINITY, |a, x, _| larger(a, x));
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            lanes[lane] = larger(lanes[lane], lanes[lane + half]);
        }
        half /= 2;
    }
    lanes[0]
}

/// Replaces every element x of a row by exp(scale·(x - maximum)), and returns their sums in
/// [`LANES`] accumulators.
#[inline(always)]
fn exponentials<S: Simd>(row: &mut [f32], maximum: f32, scale: f32) -> [f32; LANES] {
    let mut sums = [0.0; LANES];
    let mut replace = |block: &mut [f32; LANES]| {
        for (sum, x) in sums.iter_mut().zip(block) {
            *x = exp::<S>((*x - maximum) * scale);
            *sum += *x;
        }
    };
    let (blocks, rest) = row.as_chunks_mut::<LANES>();
    blocks.iter_mut().for_each(&mut replace);
    if !rest.is_empty() {
        // Vectorized, unlike a loop over fewer elements. The exponential of -∞ is 0.
        let mut block = [f32::NEG_INFINITY; LANES];
        block[..rest.len()].copy_from_slice(rest);
        replace(&mut block);
        rest.copy_from_slice(&block[..rest.len()]);
    }
    sums
}

/// Exponential function for x ≤ 0, within 2 units in the last place; 0 where the result would be
/// subnormal.
///
/// x = n·ln 2 + r with |r| ≤ ln 2 / 2: the Taylor series of e^r of degree 7, times 2^n by adding n
/// to the bits of the exponent.
#[inline(always)]
fn exp<S: Simd>(x: f32) -> f32 {
    /// ln 2 in two parts, the first with few bits, so that its product with n is exact.
    const LN_2_HIGH: f32 = 0.693_359_4;
    const LN_2_LOW: f32 = -2.121_944_4e-4;
    /// 1.5 · 2^23: adding it rounds to the nearest integer, which is then in the lowest bits.
    const ROUND: f32 = 12_582_912.0;
    const SERIES: [f32; 8] = [
        1.0 / 5040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
        1.0,
        1.0,
    ];
    let clamped = if x > -87.0 { x } else { -87.0 };
    let shifted = multiply_add::<S>(clamped, std::f32::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = multiply_add::<S>(-n, LN_2_HIGH, clamped);
    let r = multiply_add::<S>(-n, LN_2_LOW, r);
    let series = polynomial::<S>(r, SERIES);
    let bits = series.to_bits().wrapping_add(shifted.to_bits() << 23);
    if x > -87.0 { f32::from_bits(bits) } else { 0.0 }
}

/// Value of a polynomial at `x` by Horner's method, given its coefficients by decreasing degree.
#[inline(always)]
fn polynomial<S: Simd>(x: f32, coefficients: [f32; 8]) -> f32 {
    let value = coefficients.into_iter();
    value.fold(0.0, |value, c| multiply_add::<S>(value, x, c))
}

/// GELU, x·Φ(x), within 2e-7·max(1, |x|).
#[inline(always)]
pub(super) fn gelu<S: Simd>(x: f32) -> f32 {
    x * normal_cdf::<S>(x).0
}

/// GELU by a rational function.
///
/// # Source
/// Variant of [`normal_cdf`] with erf by formula 7.1.28, within 3e-7.
#[inline(always)]
fn rational_gelu<S: Simd>(x: f32) -> f32 {
    let z = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
    let poly = 0.000_043_063_8;
    let poly = multiply_add::<S>(poly, z, 0.000_276_567_2);
    let poly = multiply_add::<S>(poly, z, 0.000_152_014_3);
    let poly = multiply_add::<S>(poly, z, 0.009_270_527);
    let poly = multiply_add::<S>(poly, z, 0.042_282_01);
    let poly = multiply_add::<S>(poly, z, 0.070_523_08);
    let poly = multiply_add::<S>(poly, z, 1.0);
    let square = poly * poly;
    let fourth = square * square;
    let eighth = fourth * fourth;
    // The power is infinite for large x.
    let tail = 0.5 / (eighth * eighth);
    x * if x < 0.0 { tail } else { 1.0 - tail }
}

/// Normal distribution function Φ(x), and exp(−x²/2), which is √(2π) times its derivative.
///
/// # Source
/// Φ(x) = (1 + erf(x/√2))/2; erf by formula 7.1.26 of Abramowitz and Stegun, Handbook of
/// Mathematical Functions, 1964, within 1.5e-7.
#[inline(always)]
pub(super) fn normal_cdf<S: Simd>(x: f32) -> (f32, f32) {
    let z = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
    let t = 1.0 / multiply_add::<S>(0.327_591_1, z, 1.0);
    let poly = 1.061_405_4;
    let poly = multiply_add::<S>(poly, t, -1.453_152);
    let poly = multiply_add::<S>(poly, t, 1.421_413_7);
    let poly = multiply_add::<S>(poly, t, -0.284_496_74);
    let poly = multiply_add::<S>(poly, t, 0.254_829_6);
    // 1 - erf(z) gives both tails.
    let bell = exp::<S>(-(z * z));
    let tail = 0.5 * (poly * t * bell);
    (if x < 0.0 { tail } else { 1.0 - tail }, bell)
}

/// GELU by the tanh approximation: x times the logistic function of 2·√(2/π)·(x + 0.044715·x³).
///
/// # Source
/// Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016, section 2.
#[inline(always)]
fn gelu_tanh<S: Simd>(x: f32) -> f32 {
    gelu_tanh_and_derivative::<S>(x).0
}

/// 1/√(2π), the factor of exp(−x²/2) in the density of the normal distribution.
pub(super) const INVERSE_ROOT_2_PI: f32 = 0.398_942_3;

/// Logistic function 1/(1 + e^(−x)).
#[inline(always)]
pub(super) fn logistic<S: Simd>(x: f32) -> f32 {
    let power = exp::<S>(-x.abs());
    let tail = power / (1.0 + power);
    if x < 0.0 { tail } else { 1.0 - tail }
}

/// [`gelu_tanh`] and its derivative.
#[inline(always)]
pub(super) fn gelu_tanh_and_derivative<S: Simd>(x: f32) -> (f32, f32) {
    const ROOT: f32 = 0.797_884_6;
    let twice = 2.0 * ROOT * (x + 0.044_715 * (x * x * x));
    let power = exp::<S>(-twice.abs());
    let tail = power / (1.0 + power);
    let logistic = if twice < 0.0 { tail } else { 1.0 - tail };
    let slope = 2.0 * ROOT * (1.0 + 3.0 * 0.044_715 * (x * x));
    (x * logistic, logistic + x * (tail * (1.0 - tail)) * slope)
}

/// Backward pass of dropout and [`softmax`], in place. Maps the gradients of the probabilities
/// after dropout to the gradients of the scores before multiplication by `scale`. `mask` may be
/// empty.
pub(crate) fn softmax_backward(
    d: &mut [f32],
    stride: usize,
    probabilities: &[f32],
    mask: &[f32],
    width: usize,
    scale: f32,
) {
    Arch::new().dispatch(SoftmaxBackward {
        d,
        stride,
        probabilities,
        mask,
        width,
        scale,
    });
}

struct SoftmaxBackward<'a> {
    d: &'a mut [f32],
    stride: usize,
    probabilities: &'a [f32],
    mask: &'a [f32],
    width: usize,
    scale: f32,
}

impl WithSimd for SoftmaxBackward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let width = self.width.max(1);
        let rows = self.d.chunks_exact_mut(self.stride.max(1));
        for (n, (d, p)) in rows.zip(self.probabilities.chunks_exact(width)).enumerate() {
            let d = &mut d[..width];
            if let Some(mask) = self.mask.get(n * width..(n + 1) * width) {
                d.iter_mut().zip(mask).for_each(|(d, mask)| *d *= mask);
            }
            let along = fold_lanes(d, p, 0.0, |sum, d, p| sum + d * p);
            let along: f32 = along.iter().sum();
            for (d, p) in d.iter_mut().zip(p) {
                *d = (*d - along) * p * self.scale;
            }
        }
    }
}
