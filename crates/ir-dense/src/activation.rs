//! Activation functions of feed-forward networks, output layers and scores.

use std::path::Path;

use burn::tensor::Tensor;
use burn::tensor::activation::{
    gelu, gelu_approximate, leaky_relu, log_sigmoid, mish, relu, sigmoid, silu, softplus, tanh,
};
use serde::{Deserialize, Serialize};

use crate::error::ModelError;

/// Activation function of a feed-forward network, a Dense module, a classification head, or the
/// scores of a cross-encoder: the functions of `torch.nn` and transformers without parameters. σ is
/// the logistic function, Φ the normal distribution function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Activation {
    /// No activation function: x.
    Identity,
    /// GELU, x·Φ(x) (Hendrycks and Gimpel 2016).
    Gelu,
    /// GELU by its tanh approximation.
    GeluTanh,
    /// GELU by the logistic function: x·σ(1.702·x).
    QuickGelu,
    /// GELU of at most 10.
    Gelu10,
    /// ReLU: `max(x, 0)`.
    Relu,
    /// `max(x, 0)`².
    Relu2,
    /// ReLU of at most 6.
    Relu6,
    /// ReLU with the slope 0.01 below 0.
    LeakyRelu,
    /// ELU: x above 0, eˣ - 1 below.
    Elu,
    /// SELU: 1.0507·x above 0, 1.7581·(eˣ - 1) below.
    Selu,
    /// SiLU, also called swish: x·σ(x).
    Silu,
    /// Mish: x·tanh(ln(1 + eˣ)).
    Mish,
    /// Hard swish: x·min(max(x + 3, 0), 6) / 6.
    Hardswish,
    /// Hard tanh: `min(max(x, -1), 1)`.
    Hardtanh,
    /// Logistic function σ(x) = 1 / (1 + e⁻ˣ).
    Sigmoid,
    /// Logarithm of the logistic function.
    LogSigmoid,
    /// Softplus: ln(1 + eˣ).
    Softplus,
    /// Square root of softplus.
    SqrtSoftplus,
    /// Softsign: x / (1 + |x|).
    Softsign,
    /// Hyperbolic tangent, from -1 to 1.
    Tanh,
    /// Distribution function of the normal distribution with mean 0.707107 and standard deviation
    /// 0.282095.
    Laplace,
}

/// Factors of SELU (Klambauer et al. 2017, "Self-Normalizing Neural Networks").
pub(crate) const SELU_SCALE: f32 = 1.050_701;
pub(crate) const SELU_ALPHA: f32 = 1.673_263_2;
/// Slope of leaky ReLU below 0.
pub(crate) const LEAK: f32 = 0.01;
/// Factor of the input of the logistic function in [`Activation::QuickGelu`].
pub(crate) const QUICK_GELU: f32 = 1.702;
/// Mean and standard deviation of [`Activation::Laplace`] (Ma et al. 2022, "Mega").
pub(crate) const LAPLACE_MEAN: f32 = std::f32::consts::FRAC_1_SQRT_2;
pub(crate) const LAPLACE_DEVIATION: f32 = 0.282_095;

/// A function with its class and its names in transformers, the first of which is written.
type Names = (Activation, &'static str, &'static [&'static str]);

impl Activation {
    /// Functions with their classes and names.
    const NAMES: [Names; 22] = [
        (
            Self::Identity,
            "torch.nn.modules.linear.Identity",
            &["linear"],
        ),
        (Self::Tanh, "torch.nn.modules.activation.Tanh", &["tanh"]),
        (Self::Relu, "torch.nn.modules.activation.ReLU", &["relu"]),
        (
            Self::Gelu,
            "torch.nn.modules.activation.GELU",
            &["gelu", "gelu_python"],
        ),
        (
            Self::Sigmoid,
            "torch.nn.modules.activation.Sigmoid",
            &["sigmoid"],
        ),
        (
            Self::Silu,
            "torch.nn.modules.activation.SiLU",
            &["silu", "swish"],
        ),
        (
            Self::GeluTanh,
            "transformers.activations.GELUTanh",
            &[
                "gelu_new",
                "gelu_fast",
                "gelu_accurate",
                "gelu_pytorch_tanh",
                "gelu_python_tanh",
            ],
        ),
        (
            Self::QuickGelu,
            "transformers.activations.QuickGELUActivation",
            &["quick_gelu"],
        ),
        (
            Self::Gelu10,
            "transformers.activations.ClippedGELUActivation",
            &["gelu_10"],
        ),
        (
            Self::Relu2,
            "transformers.activations.ReLUSquaredActivation",
            &["relu2"],
        ),
        (Self::Relu6, "torch.nn.modules.activation.ReLU6", &["relu6"]),
        (
            Self::LeakyRelu,
            "torch.nn.modules.activation.LeakyReLU",
            &["leaky_relu"],
        ),
        (Self::Elu, "torch.nn.modules.activation.ELU", &[]),
        (Self::Selu, "torch.nn.modules.activation.SELU", &[]),
        (Self::Mish, "torch.nn.modules.activation.Mish", &["mish"]),
        (
            Self::Hardswish,
            "torch.nn.modules.activation.Hardswish",
            &["hardswish"],
        ),
        (Self::Hardtanh, "torch.nn.modules.activation.Hardtanh", &[]),
        (
            Self::LogSigmoid,
            "torch.nn.modules.activation.LogSigmoid",
            &[],
        ),
        (Self::Softplus, "torch.nn.modules.activation.Softplus", &[]),
        (
            Self::SqrtSoftplus,
            "transformers.activations.SqrtSoftplusActivation",
            &["sqrtsoftplus"],
        ),
        (Self::Softsign, "torch.nn.modules.activation.Softsign", &[]),
        (
            Self::Laplace,
            "transformers.activations.LaplaceActivation",
            &["laplace"],
        ),
    ];

    #[cfg(test)]
    pub(crate) const ALL: [Self; 22] = {
        let mut all = [Self::Identity; 22];
        let mut at = 0;
        while at < all.len() {
            all[at] = Self::NAMES[at].0;
            at += 1;
        }
        all
    };

    /// Parses the path of a class, such as `torch.nn.modules.activation.Tanh`.
    pub(crate) fn from_class(path: &Path, field: &str, class: &str) -> Result<Self, ModelError> {
        let name = |class: &str| class.rsplit('.').next().map(str::to_owned);
        let package = class.split('.').next().unwrap_or_default();
        let known = Self::NAMES.iter().find(|(_, known, _)| {
            name(known) == name(class) && known.split('.').next() == Some(package)
        });
        known.map(|(it, ..)| *it).ok_or_else(|| {
            let classes = Self::NAMES.iter();
            let classes = classes.filter(|(_, class, _)| class.starts_with("torch."));
            let names: Vec<String> = classes.filter_map(|(_, class, _)| name(class)).collect();
            let expected = format!("a class of torch.nn: {}", names.join(", "));
            ModelError::setting(path, field, expected, class)
        })
    }

    /// Returns the function that transformers has under a name; `None` if it is not supported.
    pub(crate) fn from_transformers(name: &str) -> Option<Self> {
        let known = Self::NAMES.iter().find(|(.., names)| names.contains(&name));
        known.map(|(activation, ..)| *activation)
    }

    /// Names that [`Activation::from_transformers`] accepts, for errors.
    pub(crate) fn expected() -> String {
        let names: Vec<&str> = Self::NAMES
            .iter()
            .flat_map(|(.., names)| *names)
            .copied()
            .collect();
        names.join(", ")
    }

    fn names(self) -> &'static Names {
        let position = Self::NAMES.iter().position(|(it, ..)| *it == self);
        &Self::NAMES[position.unwrap_or_default()]
    }

    /// Name of the function in `config.json` of transformers; the name of its class if it has none.
    pub(crate) fn transformers_name(self) -> &'static str {
        let names = self.names().2;
        names.first().copied().unwrap_or_else(|| self.class())
    }

    /// Name of the class in `torch.nn` or transformers.
    pub(crate) fn class(self) -> &'static str {
        self.path().rsplit('.').next().unwrap_or_default()
    }

    /// Path of the class, as sentence-transformers writes it.
    pub(crate) fn path(self) -> &'static str {
        self.names().1
    }

    /// Applies the function to every element.
    pub(crate) fn apply(self, x: Tensor<2>) -> Tensor<2> {
        let below = |x: Tensor<2>| x.clamp_max(0.0).exp().sub_scalar(1.0);
        match self {
            Self::Identity => x,
            Self::Gelu => gelu(x),
            Self::GeluTanh => gelu_approximate(x),
            Self::QuickGelu => x.clone() * sigmoid(x.mul_scalar(QUICK_GELU)),
            Self::Gelu10 => gelu(x).clamp_max(10.0),
            Self::Relu => relu(x),
            Self::Relu2 => relu(x.clone()) * relu(x),
            Self::Relu6 => x.clamp(0.0, 6.0),
            Self::LeakyRelu => leaky_relu(x, LEAK.into()),
            Self::Elu => relu(x.clone()) + below(x),
            Self::Selu => {
                let below = below(x.clone()).mul_scalar(SELU_ALPHA);
                (relu(x) + below).mul_scalar(SELU_SCALE)
            }
            Self::Silu => silu(x),
            Self::Mish => mish(x),
            Self::Hardswish => x.clone() * x.add_scalar(3.0).clamp(0.0, 6.0).div_scalar(6.0),
            Self::Hardtanh => x.clamp(-1.0, 1.0),
            Self::Sigmoid => sigmoid(x),
            Self::LogSigmoid => log_sigmoid(x),
            Self::Softplus => softplus(x, 1.0),
            Self::SqrtSoftplus => softplus(x, 1.0).sqrt(),
            Self::Softsign => x.clone() / x.abs().add_scalar(1.0),
            Self::Tanh => tanh(x),
            Self::Laplace => {
                let x = x.sub_scalar(LAPLACE_MEAN);
                let x = x.div_scalar(LAPLACE_DEVIATION * std::f32::consts::SQRT_2);
                x.erf().add_scalar(1.0).div_scalar(2.0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, TensorData};

    use super::*;

    #[test]
    fn names_are_read() {
        for (activation, class, names) in Activation::NAMES {
            let read = Activation::from_class("x".as_ref(), "activation", class);
            assert_eq!(read.ok(), Some(activation));
            for name in names {
                assert_eq!(Activation::from_transformers(name), Some(activation));
            }
            assert_eq!(activation.path(), class);
        }
        let other = Activation::from_class("x".as_ref(), "activation", "own.activation.Tanh");
        assert!(other.is_err());
    }

    #[test]
    fn values_equal_those_of_burn() {
        let inputs = [-20.0, -4.0, -1.0, -0.3, 0.0, 0.2, 1.0, 5.0, 12.0];
        for activation in Activation::ALL {
            let x = TensorData::new(inputs.to_vec(), [1, inputs.len()]);
            let expected = activation.apply(Tensor::from_data(x, &Device::flex()));
            let expected = expected.into_data();
            for (x, expected) in inputs.into_iter().zip(expected.iter::<f32>()) {
                let found = activation.value(x);
                let difference = (found - expected).abs();
                assert!(
                    difference < 1e-5,
                    "{activation:?}({x}): {found}, {expected}"
                );
            }
        }
    }

    /// Values of torch 2.15 and transformers 5.24, in f64, at -1.5 and 0.8.
    #[test]
    fn values_equal_those_of_torch() {
        use Activation::*;
        for (activation, expected) in [
            (Identity, [-1.5, 0.8]),
            (Tanh, [-0.905148254, 0.664036770]),
            (Relu, [0.000000000, 0.800000000]),
            (Gelu, [-0.100210802, 0.630515681]),
            (Sigmoid, [0.182425524, 0.689974481]),
            (Silu, [-0.273638286, 0.551979585]),
            (GeluTanh, [-0.100428423, 0.630431691]),
            (QuickGelu, [-0.108337802, 0.636815693]),
            (Gelu10, [-0.100210802, 0.630515681]),
            (Relu2, [0.000000000, 0.640000000]),
            (Relu6, [0.000000000, 0.800000000]),
            (LeakyRelu, [-0.015000000, 0.800000000]),
            (Elu, [-0.776869840, 0.800000000]),
            (Selu, [-1.365814353, 0.840560790]),
            (Mish, [-0.298099742, 0.659699757]),
            (Hardswish, [-0.375000000, 0.506666667]),
            (Hardtanh, [-1.000000000, 0.800000000]),
            (LogSigmoid, [-1.701413278, -0.371100666]),
            (Softplus, [0.201413278, 1.171100666]),
            (SqrtSoftplus, [0.448790907, 1.082174046]),
            (Softsign, [-0.600000000, 0.444444444]),
            (Laplace, [0.000000000, 0.629034344]),
        ] {
            for (x, expected) in [-1.5, 0.8].into_iter().zip(expected) {
                let found = f64::from(activation.value(x));
                assert!(
                    (found - expected).abs() < 1e-6,
                    "{activation:?}({x}): {found}"
                );
            }
        }
    }

    /// Central differences of values.
    #[test]
    fn derivatives_equal_differences() {
        let step = 1e-2;
        for activation in Activation::ALL {
            for x in [-4.1, -1.6, -0.31, 0.21, 0.77, 2.2, 6.5] {
                let value = |x: f32| f64::from(activation.value(x));
                let difference = (value(x + step) - value(x - step)) / f64::from(2.0 * step);
                let found = f64::from(activation.value_and_derivative(x).1);
                let error = (found - difference).abs();
                assert!(error < 2e-3, "{activation:?}'({x}): {found}, {difference}");
            }
        }
    }
}
