//! Layer normalization and activation functions with saved values, and their backward passes, over
//! blocks of rows. As in [`elementwise`](super::elementwise), operations have a fixed order.

use pulp::{Arch, Simd, WithSimd};

use super::elementwise::{
    INVERSE_ROOT_2_PI, activate_row, fold_lanes, gelu_tanh_and_derivative, logistic,
    mean_and_inverse_deviation, normal_cdf, sum,
};
use crate::activation::{Activation, QUICK_GELU};

/// Layer normalization of the sum of `x` and `residual`, which may be empty: replaces `x` by the
/// standardized rows, and writes the normalized rows and the reciprocal standard deviations.
///
/// # Shapes
/// `x`, `residual`, `y`: rows as long as `scale` and `shift`; `inverses`: one per row.
pub(crate) fn add_layer_norm(
    x: &mut [f32],
    residual: &[f32],
    (scale, shift, epsilon): (&[f32], &[f32], f32),
    y: &mut [f32],
    inverses: &mut [f32],
) {
    let width = scale.len().max(1);
    Arch::new().dispatch(|| {
        let rows = x.chunks_exact_mut(width).zip(y.chunks_exact_mut(width));
        for (at, ((x, y), inverse)) in rows.zip(inverses).enumerate() {
            if let Some(residual) = residual.get(at * width..(at + 1) * width) {
                x.iter_mut()
                    .zip(residual)
                    .for_each(|(x, other)| *x += other);
            }
            let mean;
            (mean, *inverse) = mean_and_inverse_deviation(x, epsilon);
            let out = y.iter_mut().zip(scale).zip(shift);
            for (x, ((y, scale), shift)) in x.iter_mut().zip(out) {
                *x = (*x - mean) * *inverse;
                *y = *x * scale + shift;
            }
        }
    });
}

/// Backward pass of layer normalization: replaces the gradients of the normalized rows by the
/// gradients of the rows, and adds the gradients of scale and shift to `sums`.
///
/// # Shapes
/// `d`, `standardized`: rows as long as `scale`; `inverses`: one per row; `sums`: twice as long as
/// `scale`.
pub(crate) fn layer_norm_backward(
    d: &mut [f32],
    standardized: &[f32],
    inverses: &[f32],
    scale: &[f32],
    sums: &mut [f32],
) {
    let width = scale.len().max(1);
    let (d_scale, d_shift) = sums.split_at_mut(width);
    Arch::new().dispatch(|| {
        let rows = d.chunks_exact_mut(width);
        let rows = rows.zip(standardized.chunks_exact(width));
        for ((d, standardized), inverse) in rows.zip(inverses) {
            let totals = d_scale.iter_mut().zip(&mut *d_shift).zip(scale);
            for ((d, x), ((d_scale, d_shift), scale)) in d.iter_mut().zip(standardized).zip(totals)
            {
                *d_scale += *d * x;
                *d_shift += *d;
                *d *= scale;
            }
            let mean = sum(d, |d| d) / width as f32;
            let along = fold_lanes(d, standardized, 0.0, |sum, d, x| sum + d * x);
            let along = along.iter().sum::<f32>() / width as f32;
            for (d, x) in d.iter_mut().zip(standardized) {
                *d = (*d - mean - x * along) * inverse;
            }
        }
    });
}

/// Adds the sums of the columns of rows to `sums`.
pub(crate) fn add_column_sums(rows: &[f32], sums: &mut [f32]) {
    Arch::new().dispatch(|| {
        for row in rows.chunks_exact(sums.len().max(1)) {
            sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
        }
    });
}

/// Adds `other` to `x`, element by element.
pub(crate) fn add(x: &mut [f32], other: &[f32]) {
    Arch::new().dispatch(|| x.iter_mut().zip(other).for_each(|(x, other)| *x += other));
}

/// Multiplies `x` by `other`, element by element. An empty `other` leaves `x` unchanged.
pub(crate) fn multiply(x: &mut [f32], other: &[f32]) {
    Arch::new().dispatch(|| x.iter_mut().zip(other).for_each(|(x, other)| *x *= other));
}

/// Sum of squares in f64.
pub(crate) fn squared_norm(x: &[f32]) -> f64 {
    const LANES: usize = 16;
    let mut sums = [0.0_f64; LANES];
    Arch::new().dispatch(|| {
        let (blocks, rest) = x.as_chunks::<LANES>();
        for block in blocks.iter().map(|block| &block[..]).chain([rest]) {
            for (sum, &x) in sums.iter_mut().zip(block) {
                *sum += f64::from(x) * f64::from(x);
            }
        }
    });
    sums.iter().sum()
}

/// Writes an activation function of rows of `width` elements to rows that are `stride` apart.
pub(crate) fn activate(
    activation: Activation,
    x: &[f32],
    width: usize,
    (out, stride): (&mut [f32], usize),
) {
    struct Activate<'a> {
        activation: Activation,
        x: &'a [f32],
        width: usize,
        out: &'a mut [f32],
        stride: usize,
    }
    impl WithSimd for Activate<'_> {
        type Output = ();

        #[inline(always)]
        fn with_simd<S: Simd>(self, _: S) {
            let rows = self.x.chunks_exact(self.width);
            for (x, out) in rows.zip(self.out.chunks_mut(self.stride)) {
                let out = &mut out[..self.width];
                out.copy_from_slice(x);
                activate_row::<S>(self.activation, out);
            }
        }
    }
    Arch::new().dispatch(Activate {
        activation,
        x,
        width: width.max(1),
        out,
        stride: stride.max(1),
    });
}

/// Backward pass of an activation function: multiplies the gradients by its derivative at `x`, and
/// replaces `x` by its value.
pub(crate) fn activation_backward(activation: Activation, d: &mut [f32], x: &mut [f32]) {
    struct Backward<'a> {
        activation: Activation,
        d: &'a mut [f32],
        x: &'a mut [f32],
    }
    impl WithSimd for Backward<'_> {
        type Output = ();

        #[inline(always)]
        fn with_simd<S: Simd>(self, _: S) {
            let cells = self.d.iter_mut().zip(self.x);
            // x·σ(factor·x)
            let swish = |d: &mut f32, x: &mut f32, factor: f32| {
                let value = logistic::<S>(factor * *x);
                *d *= value + factor * *x * value * (1.0 - value);
                *x *= value;
            };
            match self.activation {
                Activation::Gelu => {
                    for (d, x) in cells {
                        let (cdf, bell) = normal_cdf::<S>(*x);
                        *d *= cdf + *x * bell * INVERSE_ROOT_2_PI;
                        *x *= cdf;
                    }
                }
                Activation::GeluTanh => {
                    for (d, x) in cells {
                        let derivative;
                        (*x, derivative) = gelu_tanh_and_derivative::<S>(*x);
                        *d *= derivative;
                    }
                }
                Activation::QuickGelu => cells.for_each(|(d, x)| swish(d, x, QUICK_GELU)),
                Activation::Silu => cells.for_each(|(d, x)| swish(d, x, 1.0)),
                Activation::Relu => {
                    for (d, x) in cells {
                        *d = if *x > 0.0 { *d } else { 0.0 };
                        *x = x.max(0.0);
                    }
                }
                activation => {
                    for (d, x) in cells {
                        let derivative;
                        (*x, derivative) = activation.value_and_derivative(*x);
                        *d *= derivative;
                    }
                }
            }
        }
    }
    Arch::new().dispatch(Backward { activation, d, x });
}
