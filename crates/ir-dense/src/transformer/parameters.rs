//! Parameters of a transformer by name, for the optimizer and checkpoints.

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::tensor::{Gradients, Tensor};

use super::Transformer;
use crate::kernels::memory;
use crate::model_folder::NamedTensor;

impl Transformer {
    /// Returns all parameters in the order of the fields. A name is the path of the field, such as
    /// `layers.0.qkv.bias`.
    pub(crate) fn parameters(&self) -> Vec<NamedTensor> {
        let mut parameters = Vec::new();
        self.clone().map_parameters(|parameter| {
            let values = parameter.values.clone();
            parameters.push(parameter);
            values
        });
        parameters
    }

    /// Replaces the elements of all parameters. If the model has no clone, `update` receives the
    /// only reference to them and may update in place.
    pub(crate) fn map_parameters(self, update: impl FnMut(NamedTensor) -> Tensor<1>) -> Self {
        let path = Vec::new();
        self.map(&mut ParameterMapper { path, update })
    }

    /// Returns the token embeddings, row-major `[vocabulary, hidden_size]`.
    pub(crate) fn token_table(&self) -> Vec<f32> {
        memory::into_vec(self.token_embeddings.val())
    }

    /// Takes the gradient of every parameter that the loss depends on, with automatic
    /// differentiation, and calls `visit` with its name.
    pub(crate) fn visit_gradients(
        &self,
        gradients: &mut Gradients,
        visit: impl FnMut(&str, Tensor<1>),
    ) {
        let path = Vec::new();
        self.visit(&mut GradientVisitor {
            path,
            gradients,
            visit,
        });
    }
}

struct ParameterMapper<F> {
    path: Vec<String>,
    update: F,
}

impl<F: FnMut(NamedTensor) -> Tensor<1>> ModuleMapper for ParameterMapper<F> {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.push(name.into());
    }

    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.pop();
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        param.map(|tensor| {
            let shape = tensor.dims();
            (self.update)(NamedTensor::new(self.path.join("."), tensor)).reshape(shape)
        })
    }
}

struct GradientVisitor<'a, F> {
    path: Vec<String>,
    gradients: &'a mut Gradients,
    visit: F,
}

impl<F: FnMut(&str, Tensor<1>)> ModuleVisitor for GradientVisitor<'_, F> {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.push(name.into());
    }

    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(gradient) = param.val().grad_remove(self.gradients) {
            (self.visit)(&self.path.join("."), gradient.reshape([-1]));
        }
    }
}
