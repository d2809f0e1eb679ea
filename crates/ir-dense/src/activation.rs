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
    /// ReLU: `max(x, 0)`.
    Relu,
}
