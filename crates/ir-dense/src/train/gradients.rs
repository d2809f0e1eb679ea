//! Gradients of all parameters of a transformer.

use burn::tensor::{Device, Tensor};

use crate::Transformer;
use crate::kernels::tensor;

/// Gradients in the order of [`Transformer::parameters`].
#[derive(Debug)]
pub(super) struct ModelGradients {
    parameters: Vec<ParameterGradient>,
}

#[derive(Debug)]
struct ParameterGradient {
    length: usize,
    sum: Option<Tensor<1>>,
}

/// Indices of parameters in [`ModelGradients`].
#[derive(Debug, Clone, Copy)]
pub(super) struct GradientSlots {
    pub(super) words: usize,
    pub(super) positions: usize,
    pub(super) types: Option<usize>,
    pub(super) relative: Option<usize>,
    /// Scale; the shift follows.
    pub(super) norm: usize,
    /// First parameter of the first layer.
    layers: usize,
}

/// Indices of the parameters of a layer: of matrices and scales; a bias or shift follows each.
#[derive(Debug, Clone, Copy)]
pub(super) struct LayerSlots {
    pub(super) qkv: usize,
    pub(super) output: usize,
    pub(super) attention_norm: usize,
    pub(super) up: usize,
    pub(super) down: usize,
    pub(super) norm: usize,
}

impl GradientSlots {
    pub(super) fn new(model: &Transformer) -> Self {
        let types = model.token_type_embeddings.as_ref().map(|_| 2);
        let next = 2 + usize::from(types.is_some());
        let relative = model.relative_position_bias.as_ref().map(|_| next);
        let norm = next + usize::from(relative.is_some());
        Self {
            words: 0,
            positions: 1,
            types,
            relative,
            norm,
            layers: norm + 2,
        }
    }

    pub(super) fn layer(self, layer: usize) -> LayerSlots {
        let first = self.layers + 12 * layer;
        LayerSlots {
            qkv: first,
            output: first + 2,
            attention_norm: first + 4,
            up: first + 6,
            down: first + 8,
            norm: first + 10,
        }
    }
}

impl ModelGradients {
    /// Zero gradients for all parameters.
    pub(super) fn new(model: &Transformer) -> Self {
        let mut model = model.clone();
        let parameters = model.parameters().into_iter();
        let parameters = parameters.map(|parameter| ParameterGradient {
            length: parameter.shape().iter().product(),
            sum: None,
        });
        Self {
            parameters: parameters.collect(),
        }
    }

    pub(super) fn add<const D: usize>(&mut self, slot: usize, gradient: Tensor<D>) {
        let parameter = &mut self.parameters[slot];
        let gradient = gradient.reshape([parameter.length]);
        parameter.sum = Some(match parameter.sum.take() {
            Some(sum) => sum + gradient,
            None => gradient,
        });
    }

    /// Takes the gradient of a parameter out, for an update in place.
    pub(super) fn take(&mut self, slot: usize, device: &Device) -> Tensor<1> {
        let parameter = &mut self.parameters[slot];
        let zeros = || Tensor::zeros([parameter.length], device);
        parameter.sum.take().unwrap_or_else(zeros)
    }

    /// Gradients in order; `None` for a parameter that the loss does not depend on.
    pub(super) fn into_parameters(self) -> impl Iterator<Item = Option<Tensor<1>>> {
        self.parameters.into_iter().map(|parameter| parameter.sum)
    }

    /// Squared L2 norm of all gradients.
    pub(super) fn squared_norm(&self) -> f64 {
        let sums = self.parameters.iter().filter_map(|p| p.sum.as_ref());
        sums.map(tensor::squared_norm).sum()
    }
}
