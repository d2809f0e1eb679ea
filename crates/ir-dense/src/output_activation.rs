//! Activation function of output layers.

use std::path::Path;

use burn::tensor::Tensor;
use burn::tensor::activation::{gelu, relu, sigmoid, silu, tanh};
use pulp::Scalar;
use serde::{Deserialize, Serialize};

use crate::error::ModelError;
use crate::kernels::elementwise;

/// Activation function of an output layer: of a Dense module, a classification head, or the scores
/// of a cross-encoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OutputActivation {
    /// No activation function: x.
    Identity,
    /// Hyperbolic tangent, from -1 to 1.
    Tanh,
    /// ReLU: `max(x, 0)`.
    Relu,
    /// GELU, x·Φ(x) with the normal distribution function Φ.
    Gelu,
    /// Logistic function σ(x) = 1 / (1 + e⁻ˣ).
    Sigmoid,
    /// SiLU, x·σ(x), with the logistic function σ.
    Silu,
}

impl OutputActivation {
    /// Every function with its class in `torch.nn` and its name in transformers.
    const NAMES: [(Self, &'static str, &'static str); 6] = [
        (Self::Identity, "Identity", "linear"),
        (Self::Tanh, "Tanh", "tanh"),
        (Self::Relu, "ReLU", "relu"),
        (Self::Gelu, "GELU", "gelu"),
        (Self::Sigmoid, "Sigmoid", "sigmoid"),
        (Self::Silu, "SiLU", "silu"),
    ];

    /// Parses the path of a class, such as `torch.nn.modules.activation.Tanh`.
    pub(crate) fn from_class(path: &Path, field: &str, class: &str) -> Result<Self, ModelError> {
        let name = class.rsplit('.').next().unwrap_or_default();
        let known = Self::NAMES.iter().find(|(_, known, _)| *known == name);
        known
            .filter(|_| class.starts_with("torch.nn."))
            .map(|(activation, ..)| *activation)
            .ok_or_else(|| {
                let names = Self::NAMES.map(|(_, name, _)| name).join(", ");
                let expected = format!("a class of torch.nn: {names}");
                ModelError::setting(path, field, expected, class)
            })
    }

    /// Returns the function that transformers has under a name; `None` if it is not supported.
    pub(crate) fn from_transformers(name: &str) -> Option<Self> {
        let known = Self::NAMES.iter().find(|(.., known)| *known == name);
        known.map(|(activation, ..)| *activation)
    }

    /// Names that [`OutputActivation::from_transformers`] accepts, for errors.
    pub(crate) fn expected() -> String {
        Self::NAMES.map(|(.., name)| name).join(", ")
    }

    /// Class in `torch.nn`.
    pub(crate) fn class(self) -> &'static str {
        let name = Self::NAMES.iter().find(|(it, ..)| *it == self);
        name.map_or("", |(_, class, _)| class)
    }

    /// Path of the class, as sentence-transformers writes it.
    pub(crate) fn path(self) -> String {
        let module = match self {
            Self::Identity => "linear",
            _ => "activation",
        };
        format!("torch.nn.modules.{module}.{}", self.class())
    }

    /// Returns the value of the function.
    ///
    /// ```
    /// use ir_dense::OutputActivation;
    /// assert_eq!(OutputActivation::Sigmoid.value(0.0), 0.5);
    /// assert_eq!(OutputActivation::Relu.value(-2.0), 0.0);
    /// ```
    #[must_use]
    pub fn value(self, x: f32) -> f32 {
        match self {
            Self::Identity => x,
            Self::Tanh => x.tanh(),
            Self::Relu => x.max(0.0),
            Self::Gelu => elementwise::gelu::<Scalar>(x),
            Self::Sigmoid => 1.0 / (1.0 + (-x).exp()),
            Self::Silu => x / (1.0 + (-x).exp()),
        }
    }

    /// Applies the function to every element.
    pub(crate) fn apply(self, x: Tensor<2>) -> Tensor<2> {
        match self {
            Self::Identity => x,
            Self::Tanh => tanh(x),
            Self::Relu => relu(x),
            Self::Gelu => gelu(x),
            Self::Sigmoid => sigmoid(x),
            Self::Silu => silu(x),
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, TensorData};

    use super::*;

    #[test]
    fn activation_functions_equal_those_of_burn() {
        let inputs = [-4.0, -1.0, -0.3, 0.0, 0.2, 1.0, 5.0];
        for (activation, name, in_transformers) in OutputActivation::NAMES {
            let class = format!("torch.nn.modules.activation.{name}");
            let read = OutputActivation::from_class("x".as_ref(), "activation", &class);
            assert_eq!(read.ok(), Some(activation));
            let read = OutputActivation::from_transformers(in_transformers);
            assert_eq!((read, activation.class()), (Some(activation), name));
            let x = TensorData::new(inputs.to_vec(), [1, inputs.len()]);
            let expected = activation.apply(Tensor::from_data(x, &Device::flex()));
            let expected = expected.into_data();
            for (x, expected) in inputs.into_iter().zip(expected.iter::<f32>()) {
                let found = activation.value(x);
                assert!((found - expected).abs() < 1e-5, "{name}({x}) is {found}");
            }
        }
    }
}
