//! One number per weight.

use burn::tensor::{Device, Tensor};

use super::kernels;
use crate::Transformer;

/// The gradients of all weights of a transformer, in the order of its list of parameters.
#[derive(Debug)]
pub(super) struct Gradients {
    parts: Vec<Part>,
}

#[derive(Debug)]
struct Part {
    length: usize,
    sum: Option<Tensor<1>>,
}

/// Where the gradients of the parts stand.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slots {
    pub(super) words: usize,
    pub(super) positions: usize,
    pub(super) types: Option<usize>,
    pub(super) relative: Option<usize>,
    /// Scale; the shift follows.
    pub(super) norm: usize,
    /// The first of the first layer.
    layers: usize,
}

/// Where the gradients of a layer stand: of matrices and scales; bias or shift follows each.
#[derive(Debug, Clone, Copy)]
pub(super) struct LayerSlots {
    pub(super) qkv: usize,
    pub(super) output: usize,
    pub(super) attention_norm: usize,
    pub(super) up: usize,
    pub(super) down: usize,
    pub(super) norm: usize,
}

impl Slots {
    pub(super) fn new(model: &Transformer) -> Self {
        let types = model.types.as_ref().map(|_| 2);
        let next = 2 + usize::from(types.is_some());
        let relative = model.relative.as_ref().map(|_| next);
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

impl Gradients {
    /// Zeros for a model.
    pub(super) fn new(model: &Transformer) -> Self {
        let mut model = model.clone();
        let parts = model.parameters().into_iter().map(|parameter| Part {
            length: parameter.shape().iter().product(),
            sum: None,
        });
        Self {
            parts: parts.collect(),
        }
    }

    pub(super) fn add<const D: usize>(&mut self, slot: usize, gradient: Tensor<D>) {
        let part = &mut self.parts[slot];
        let gradient = gradient.reshape([part.length]);
        part.sum = Some(match part.sum.take() {
            Some(sum) => sum + gradient,
            None => gradient,
        });
    }

    /// What was added so far, to be added to in place.
    pub(super) fn take(&mut self, slot: usize, device: &Device) -> Tensor<1> {
        let part = &mut self.parts[slot];
        let zeros = || Tensor::zeros([part.length], device);
        part.sum.take().unwrap_or_else(zeros)
    }

    /// The gradients, in the order of the list; `None` where nothing depended on the weight.
    pub(super) fn into_parts(self) -> impl Iterator<Item = Option<Tensor<1>>> {
        self.parts.into_iter().map(|part| part.sum)
    }

    /// The sum of the squares of all.
    pub(super) fn squares(&self) -> f64 {
        let parts = self.parts.iter().filter_map(|part| part.sum.as_ref());
        parts.map(kernels::squares).sum()
    }
}
