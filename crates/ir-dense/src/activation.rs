//! Activation function of the feed-forward networks.

use serde::{Deserialize, Serialize};

/// Activation function of a feed-forward network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Activation {
    /// GELU, x·Φ(x) with the normal distribution function Φ (Hendrycks and Gimpel 2016).
    Gelu,
    /// GELU by its tanh approximation.
    GeluTanh,
    /// GELU by the logistic function: x·σ(1.702·x).
    QuickGelu,
    /// ReLU: `max(x, 0)`.
    Relu,
    /// SiLU, also called swish: x·σ(x) with the logistic function σ.
    Silu,
}

impl Activation {
    #[cfg(test)]
    pub(crate) const ALL: [Self; 5] = [
        Self::Gelu,
        Self::GeluTanh,
        Self::QuickGelu,
        Self::Relu,
        Self::Silu,
    ];

    /// Names that [`Activation::from_transformers`] accepts, for errors.
    pub(crate) const EXPECTED: &str = "gelu, gelu_new, gelu_pytorch_tanh, quick_gelu, relu or silu";

    /// Name of the function in `config.json` of transformers.
    pub(crate) fn transformers_name(self) -> &'static str {
        match self {
            Self::Gelu => "gelu",
            Self::GeluTanh => "gelu_new",
            Self::QuickGelu => "quick_gelu",
            Self::Relu => "relu",
            Self::Silu => "silu",
        }
    }

    /// Returns the function that transformers has under a name; `None` if it is not supported.
    pub(crate) fn from_transformers(name: &str) -> Option<Self> {
        Some(match name {
            "gelu" | "gelu_python" => Self::Gelu,
            "gelu_new" | "gelu_fast" | "gelu_accurate" | "gelu_pytorch_tanh"
            | "gelu_python_tanh" => Self::GeluTanh,
            "quick_gelu" => Self::QuickGelu,
            "relu" => Self::Relu,
            "silu" | "swish" => Self::Silu,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Activation;

    #[test]
    fn names_of_transformers_are_read() {
        for activation in Activation::ALL {
            let name = activation.transformers_name();
            assert_eq!(Activation::from_transformers(name), Some(activation));
        }
    }
}
