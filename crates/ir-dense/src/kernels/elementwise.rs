//! Softmax, activation functions and layer normalization over slices.
//!
//! The compiler vectorizes these loops, once per instruction set. Operations have a fixed order, so
//! that the bits of an element depend on neither its neighbors nor the number of threads nor the
//! vector width of the CPU. A CPU without fused multiply-add rounds twice.

use pulp::{Arch, Simd, WithSimd};

use crate::Activation;

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

/// Applies an activation function to the elements of a row.
#[inline(always)]
pub(super) fn activate_row<S: Simd>(activation: Activation, row: &mut [f32]) {
    let row = row.iter_mut();
    match activation {
        Activation::Gelu => row.for_each(|x| *x = gelu::<S>(*x)),
        Activation::GeluTanh => row.for_each(|x| *x = gelu_tanh::<S>(*x)),
        Activation::Relu => row.for_each(|x| *x = x.max(0.0)),
    }
}

/// [`activate_row`] for products whose factors were rounded to bf16 or 8 bits: GELU within 1e-6 of
/// it, without an exponential function.
#[inline(always)]
pub(super) fn activate_rounded_row<S: Simd>(activation: Activation, row: &mut [f32]) {
    match activation {
        Activation::Gelu => row.iter_mut().for_each(|x| *x = rational_gelu::<S>(*x)),
        Activation::GeluTanh | Activation::Relu => activate_row::<S>(activation, row),
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

/// Rows whose sums and maxima are computed at the same time: those of one row are chains of
/// dependent operations.
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
        let mut largest = [0.0; ROWS_AT_ONCE];
        for (largest, row) in largest.iter_mut().zip(rows.chunks_exact(stride.max(1))) {
            *largest = maximum(&row[..width]);
        }
        let mut sums = [[0.0; LANES]; ROWS_AT_ONCE];
        let all = rows.chunks_exact_mut(stride.max(1));
        for ((row, sums), largest) in all.zip(&mut sums).zip(largest) {
            *sums = exponentials::<S>(&mut row[..width], largest, scale);
        }
        let inverses = sums.map(|sums| 1.0 / sums.iter().sum::<f32>());
        for (row, inverse) in rows.chunks_exact_mut(stride.max(1)).zip(inverses) {
            f(&mut row[..width], inverse);
        }
    }
}

#[inline(always)]
fn maximum(row: &[f32]) -> f32 {
    let larger = |most: f32, x: f32| if x > most { x } else { most };
    let mut lanes = fold_lanes(row, row, f32::NEG_INFINITY, |most, x, _| larger(most, x));
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            lanes[lane] = larger(lanes[lane], lanes[lane + half]);
        }
        half /= 2;
    }
    lanes[0]
}

/// Replaces x by exp(scale·(x - most)), and returns sums of every [`LANES`]th element.
#[inline(always)]
fn exponentials<S: Simd>(row: &mut [f32], most: f32, scale: f32) -> [f32; LANES] {
    let mut sums = [0.0; LANES];
    let mut replace = |block: &mut [f32; LANES]| {
        for (sum, x) in sums.iter_mut().zip(block) {
            *x = exp::<S>((*x - most) * scale);
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
/// As [`normal_cdf`]; erf by formula 7.1.28, within 3e-7.
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

/// Backward pass of dropout and [`softmax`], in place: from the gradients of the probabilities
/// after dropout to those of the scores before multiplication by `scale`. `mask` may be empty.
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

#[cfg(test)]
mod tests {
    use pulp::Scalar;

    use super::*;

    #[cfg(target_arch = "x86_64")]
    type FusedMultiplyAdd = pulp::x86::V3;
    #[cfg(target_arch = "aarch64")]
    type FusedMultiplyAdd = pulp::aarch64::Neon;
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    type FusedMultiplyAdd = Scalar;

    /// Taylor series of the exponential in f64, with argument reduction.
    fn exact_exp(x: f64) -> f64 {
        let halved = x / 1024.0;
        let series = (1..20)
            .rev()
            .fold(1.0, |sum, n| 1.0 + halved / f64::from(n) * sum);
        (0..10).fold(series, |e, _| e * e)
    }

    /// GELU in f64 by the series of erf about 0 (Abramowitz and Stegun 7.1.6).
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

    /// A function with and without fused multiply-add.
    macro_rules! roundings {
        ($function:ident) => {{
            let fused = |x| $function::<FusedMultiplyAdd>(x);
            [fused, |x| $function::<Scalar>(x)]
        }};
    }

    #[test]
    fn exp_equals_taylor_series() {
        for exp in roundings!(exp) {
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
    }

    #[test]
    fn gelu_equals_f64_reference() {
        for gelu in roundings!(gelu) {
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
    }

    #[test]
    fn rational_gelu_is_near_f64_reference() {
        for gelu in roundings!(rational_gelu) {
            for step in -6000..=6000 {
                let x = step as f32 / 1000.0;
                let exact = exact_gelu(f64::from(x));
                let error = (f64::from(gelu(x)) - exact).abs();
                assert!(error < 1e-6, "gelu({x}) = {}, {exact}", gelu(x));
            }
            assert_eq!(gelu(200.0), 200.0);
            assert_eq!(gelu(-200.0), 0.0);
            assert!(gelu(f32::NAN).is_nan());
        }
    }

    #[test]
    fn gelu_tanh_equals_f64_reference() {
        for gelu_tanh in roundings!(gelu_tanh) {
            for step in -8000..=8000 {
                let x = step as f32 / 1000.0;
                let y = f64::from(x);
                let inner = (2.0 / std::f64::consts::PI).sqrt() * (y + 0.044_715 * y.powi(3));
                let exact = 0.5 * y * (1.0 + inner.tanh());
                let error = (f64::from(gelu_tanh(x)) - exact).abs();
                assert!(error < 5e-7 * y.abs().max(1.0), "{x}: {}", gelu_tanh(x));
            }
        }
    }

    fn rows(count: usize, width: usize) -> Vec<f32> {
        let number = |i: usize| (i as f32 * 0.7).sin() * 9.0;
        (0..count * width).map(number).collect()
    }

    #[test]
    fn row_has_same_bits_in_any_batch() {
        let before = rows(1000, 37);
        let mut together = before.clone();
        softmax(&mut together, 37, 37, 0.3);
        for (row, together) in before.chunks(37).zip(together.chunks(37)) {
            let mut alone = row.to_vec();
            alone.extend([7.0; 3]);
            softmax(&mut alone, 40, 37, 0.3);
            assert_eq!(&alone[..37], together);
            assert_eq!(alone[37..], [7.0; 3]);
            let powers = row.iter().map(|&x| (f64::from(x) * 0.3).exp());
            let whole: f64 = powers.clone().sum();
            for (found, power) in together.iter().zip(powers) {
                assert!((f64::from(*found) - power / whole).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn layer_norm_equals_f64_reference() {
        for width in [1, 12, 384, 391] {
            let (scale, shift) = (rows(1, width), rows(2, width)[width..].to_vec());
            let before = rows(3, width);
            let mut found = before.clone();
            add_layer_norm(&mut found, &[], &scale, &shift, 1e-12);
            let residual: Vec<f32> = before.iter().map(|x| 0.25 * x).collect();
            let mut added: Vec<f32> = before.iter().map(|x| 0.75 * x).collect();
            add_layer_norm(&mut added, &residual, &scale, &shift, 1e-12);
            for (a, b) in added.iter().zip(&found) {
                assert!((a - b).abs() < 3e-5, "{width}: {a} {b}");
            }
            for (row, found) in before.chunks(width).zip(found.chunks(width)) {
                let count = width as f64;
                let mean = row.iter().map(|&x| f64::from(x)).sum::<f64>() / count;
                let squares = row.iter().map(|&x| (f64::from(x) - mean).powi(2));
                let variance = squares.sum::<f64>() / count;
                for (at, &x) in row.iter().enumerate() {
                    let unit = (f64::from(x) - mean) / (variance + 1e-12).sqrt();
                    let exact = unit * f64::from(scale[at]) + f64::from(shift[at]);
                    let error = (f64::from(found[at]) - exact).abs();
                    assert!(error < 3e-5, "{width}: {} {exact}", found[at]);
                }
            }
        }
    }

    /// Activation of a row, of a rounded product if the flag is set.
    struct Activated<'a>(Activation, bool, &'a mut [f32]);

    impl WithSimd for Activated<'_> {
        type Output = ();

        #[inline(always)]
        fn with_simd<S: Simd>(self, _: S) {
            match self.1 {
                false => activate_row::<S>(self.0, self.2),
                true => activate_rounded_row::<S>(self.0, self.2),
            }
        }
    }

    /// Rows after every function of this file, at one level of the CPU.
    #[cfg(target_arch = "x86_64")]
    fn all_functions<S: Simd>(simd: S, width: usize) -> Vec<f32> {
        let before = rows(3, width);
        let (scale, shift) = (rows(1, width), rows(2, width)[width..].to_vec());
        let mut all = Vec::new();
        for activation in [Activation::Gelu, Activation::GeluTanh, Activation::Relu] {
            for is_rounded in [false, true] {
                let mut found = before.clone();
                Simd::vectorize(simd, Activated(activation, is_rounded, &mut found));
                all.extend(found);
            }
        }
        let mut found = before.clone();
        Simd::vectorize(
            simd,
            LayerNormRows {
                rows: &mut found,
                residual: &before,
                scale: &scale,
                shift: &shift,
                epsilon: 1e-12,
            },
        );
        all.extend(found);
        let mut probabilities = before.clone();
        Simd::vectorize(
            simd,
            SoftmaxRows {
                rows: &mut probabilities,
                stride: width,
                width,
                scale: 0.3,
            },
        );
        let mut found = before;
        Simd::vectorize(
            simd,
            SoftmaxBackward {
                d: &mut found,
                stride: width,
                probabilities: &probabilities,
                mask: &[],
                width,
                scale: 0.3,
            },
        );
        all.extend(probabilities);
        all.extend(found);
        all
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn bits_are_the_same_with_avx2_and_avx_512() {
        let levels = (pulp::x86::V3::try_new(), pulp::x86::V4::try_new());
        let (Some(avx2), Some(avx512)) = levels else {
            println!("skipped: the CPU has no AVX-512");
            return;
        };
        for width in (1..70).chain([384, 391]) {
            let bits = |values: Vec<f32>| values.into_iter().map(f32::to_bits).collect::<Vec<_>>();
            let [narrow, wide] = [all_functions(avx2, width), all_functions(avx512, width)];
            assert_eq!(bits(narrow), bits(wide), "{width}");
        }
    }
}
