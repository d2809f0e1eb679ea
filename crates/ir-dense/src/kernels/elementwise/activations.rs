//! Values and derivatives of activation functions.

use pulp::Scalar;

use super::{INVERSE_ROOT_2_PI, gelu, gelu_tanh_and_derivative, logistic, normal_cdf};
use crate::activation::{
    Activation, LAPLACE_DEVIATION, LAPLACE_MEAN, LEAK, QUICK_GELU, SELU_ALPHA, SELU_SCALE,
};

impl Activation {
    /// Returns the value of the function.
    ///
    /// ```
    /// use ir_dense::Activation;
    /// assert_eq!(Activation::Sigmoid.value(0.0), 0.5);
    /// assert_eq!(Activation::Relu.value(-2.0), 0.0);
    /// assert_eq!(Activation::Hardtanh.value(3.0), 1.0);
    /// ```
    #[must_use]
    pub fn value(self, x: f32) -> f32 {
        self.value_and_derivative(x).0
    }

    /// Value of the function and of its derivative.
    pub(crate) fn value_and_derivative(self, x: f32) -> (f32, f32) {
        let sigma = 1.0 / (1.0 + (-x).exp());
        let softplus = |x: f32| x.max(0.0) + (-x.abs()).exp().ln_1p();
        let step = |condition: bool| f32::from(u8::from(condition));
        match self {
            Self::Identity => (x, 1.0),
            Self::Gelu => {
                let (cdf, bell) = normal_cdf::<Scalar>(x);
                let derivative = cdf + x * bell * INVERSE_ROOT_2_PI;
                (gelu::<Scalar>(x), derivative)
            }
            Self::GeluTanh => gelu_tanh_and_derivative::<Scalar>(x),
            Self::QuickGelu => {
                let sigma = logistic::<Scalar>(QUICK_GELU * x);
                let derivative = sigma + QUICK_GELU * x * sigma * (1.0 - sigma);
                (x * sigma, derivative)
            }
            Self::Gelu10 => {
                let (value, derivative) = Self::Gelu.value_and_derivative(x);
                (value.min(10.0), derivative * step(value < 10.0))
            }
            Self::Relu => (x.max(0.0), step(x > 0.0)),
            Self::Relu2 => (x.max(0.0) * x.max(0.0), 2.0 * x.max(0.0)),
            Self::Relu6 => (x.clamp(0.0, 6.0), step(x > 0.0 && x < 6.0)),
            Self::LeakyRelu if x >= 0.0 => (x, 1.0),
            Self::LeakyRelu => (LEAK * x, LEAK),
            Self::Elu if x > 0.0 => (x, 1.0),
            Self::Elu => (x.exp_m1(), x.exp()),
            Self::Selu => {
                let (value, derivative) = Self::Elu.value_and_derivative(x);
                let scale = SELU_SCALE * if x > 0.0 { 1.0 } else { SELU_ALPHA };
                (scale * value, scale * derivative)
            }
            Self::Silu => (x / (1.0 + (-x).exp()), sigma + x * sigma * (1.0 - sigma)),
            Self::Mish => {
                let tanh = softplus(x).tanh();
                (x * tanh, tanh + x * sigma * (1.0 - tanh * tanh))
            }
            Self::Hardswish if x <= -3.0 => (0.0, 0.0),
            Self::Hardswish if x >= 3.0 => (x, 1.0),
            Self::Hardswish => (x * (x + 3.0) / 6.0, (2.0 * x + 3.0) / 6.0),
            Self::Hardtanh => (x.clamp(-1.0, 1.0), step(x > -1.0 && x < 1.0)),
            Self::Sigmoid => (sigma, sigma * (1.0 - sigma)),
            Self::LogSigmoid => (-softplus(-x), 1.0 - sigma),
            Self::Softplus => (softplus(x), sigma),
            Self::SqrtSoftplus => {
                let root = softplus(x).sqrt();
                let derivative = if root > 0.0 {
                    sigma / (2.0 * root)
                } else {
                    0.0
                };
                (root, derivative)
            }
            Self::Softsign => {
                let divisor = 1.0 + x.abs();
                (x / divisor, 1.0 / (divisor * divisor))
            }
            Self::Tanh => (x.tanh(), 1.0 - x.tanh() * x.tanh()),
            Self::Laplace => {
                let (cdf, bell) = normal_cdf::<Scalar>((x - LAPLACE_MEAN) / LAPLACE_DEVIATION);
                (cdf, bell * INVERSE_ROOT_2_PI / LAPLACE_DEVIATION)
            }
        }
    }
}
