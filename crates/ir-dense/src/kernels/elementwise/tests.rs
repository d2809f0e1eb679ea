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
fn rows_that_are_not_finite_do_not_change_others() {
    let mut before = rows(9, 37);
    before[2 * 37 + 20] = f32::NAN;
    before[3 * 37..4 * 37].fill(f32::NEG_INFINITY);
    before[5 * 37 + 36] = f32::INFINITY;
    let mut together = before.clone();
    softmax(&mut together, 37, 37, 0.3);
    let all = before.chunks(37).zip(together.chunks(37));
    for (number, (row, together)) in all.enumerate() {
        let mut alone = row.to_vec();
        softmax(&mut alone, 37, 37, 0.3);
        let bits = |row: &[f32]| -> Vec<u32> { row.iter().map(|x| x.to_bits()).collect() };
        assert_eq!(bits(&alone), bits(together));
        // A NaN has probability 0.
        let is_finite = ![3, 5].contains(&number);
        assert_eq!(alone.iter().all(|x| x.is_finite()), is_finite, "{number}");
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
        if self.1 {
            activate_rounded_row::<S>(self.0, self.2);
        } else {
            activate_row::<S>(self.0, self.2);
        }
    }
}

/// Rows after every function of this file, at one level of the CPU.
#[cfg(target_arch = "x86_64")]
fn all_functions<S: Simd>(simd: S, width: usize) -> Vec<f32> {
    let before = rows(3, width);
    let (scale, shift) = (rows(1, width), rows(2, width)[width..].to_vec());
    let mut all = Vec::new();
    for activation in Activation::ALL {
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
        return eprintln!("SKIPPED: the CPU has no AVX-512");
    };
    for width in (1..70).chain([384, 391]) {
        let bits = |values: Vec<f32>| values.into_iter().map(f32::to_bits).collect::<Vec<_>>();
        let [narrow, wide] = [all_functions(avx2, width), all_functions(avx512, width)];
        assert_eq!(bits(narrow), bits(wide), "{width}");
    }
}
