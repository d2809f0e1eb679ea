//! Gradients of the parameters of a transformer.

use std::collections::HashMap;

use burn::tensor::{Int, Tensor};

use crate::Transformer;
use crate::kernels::tensor;

/// Gradients by the name of the parameter in [`Transformer::parameters`]. A parameter that the loss
/// does not depend on has none.
#[derive(Debug, Default)]
pub(super) struct ModelGradients(HashMap<String, Tensor<1>>);

impl ModelGradients {
    pub(super) fn add<const D: usize>(&mut self, name: &str, gradient: Tensor<D>) {
        let gradient = gradient.reshape([-1]);
        let sum = match self.0.remove(name) {
            Some(sum) => tensor::add(sum, gradient),
            None => gradient,
        };
        self.0.insert(name.to_owned(), sum);
    }

    /// Adds gradients of some rows, which may repeat, of an embedding table of this shape.
    pub(super) fn add_rows(
        &mut self,
        name: &str,
        shape: [usize; 2],
        rows: Tensor<1, Int>,
        gradients: Tensor<2>,
    ) {
        // Taken out, so that the sum is updated in place.
        let sum = match self.0.remove(name) {
            Some(sum) => sum.reshape(shape),
            None => Tensor::zeros(shape, &gradients.device()),
        };
        self.add(name, tensor::add_rows(sum, rows, gradients));
    }

    pub(super) fn take(&mut self, name: &str) -> Option<Tensor<1>> {
        self.0.remove(name)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Squared L2 norm of all gradients, summed in the order of the parameters of the model.
    pub(super) fn squared_norm(&self, model: &Transformer) -> f64 {
        let parameters = model.parameters().into_iter();
        let gradients = parameters.filter_map(|parameter| self.0.get(&parameter.name));
        gradients.map(tensor::squared_norm).sum()
    }
}
