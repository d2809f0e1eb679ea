//! Parameters of a transformer as a list, for the optimizer and checkpoints.

use burn::module::Param;
use burn::nn::{LayerNorm, Linear};
use burn::tensor::{Tensor, TensorData};

use super::Transformer;

pub(crate) struct TransformerParameter<'a> {
    /// Name of the tensor in checkpoints.
    pub(crate) name: String,
    /// Whether weight decay applies: false for biases and layer normalization.
    pub(crate) weight_decay: bool,
    tensor: ParameterTensor<'a>,
}

enum ParameterTensor<'a> {
    Vector(&'a mut Param<Tensor<1>>),
    Matrix(&'a mut Param<Tensor<2>>),
}

impl TransformerParameter<'_> {
    pub(crate) fn shape(&self) -> Vec<usize> {
        match &self.tensor {
            ParameterTensor::Vector(param) => param.val().dims().into(),
            ParameterTensor::Matrix(param) => param.val().dims().into(),
        }
    }

    /// Returns the elements, row-major.
    pub(crate) fn values(&self) -> Tensor<1> {
        match &self.tensor {
            ParameterTensor::Vector(param) => param.val(),
            ParameterTensor::Matrix(param) => param.val().flatten(0, 1),
        }
    }

    /// Gradient by burn's automatic differentiation.
    #[cfg(test)]
    pub(crate) fn gradient(&self, gradients: &mut burn::tensor::Gradients) -> Vec<f32> {
        let gradient = match &self.tensor {
            ParameterTensor::Vector(param) => {
                param.val().grad_remove(gradients).map(Tensor::into_data)
            }
            ParameterTensor::Matrix(param) => {
                param.val().grad_remove(gradients).map(Tensor::into_data)
            }
        };
        gradient.map_or(Vec::new(), |data| data.iter::<f32>().collect())
    }

    /// Replaces the elements. `update` receives the only reference to them and may update in place.
    pub(crate) fn update(self, update: impl FnOnce(Tensor<1>) -> Tensor<1>) {
        fn replace<const D: usize>(
            param: &mut Param<Tensor<D>>,
            update: impl FnOnce(Tensor<1>) -> Tensor<1>,
        ) {
            let shape = param.val().dims();
            let placeholder =
                Tensor::from_data(TensorData::zeros::<f32, _>([1; D]), &param.val().device());
            let old = std::mem::replace(param, Param::from_tensor(placeholder));
            *param = old.map(|tensor| {
                let length = tensor.shape().num_elements();
                update(tensor.reshape([length])).reshape(shape)
            });
        }
        match self.tensor {
            ParameterTensor::Vector(param) => replace(param, update),
            ParameterTensor::Matrix(param) => replace(param, update),
        }
    }
}

struct ParameterList<'a>(Vec<TransformerParameter<'a>>);

impl<'a> ParameterList<'a> {
    fn matrix(&mut self, name: String, tensor: &'a mut Param<Tensor<2>>) {
        self.0.push(TransformerParameter {
            name,
            weight_decay: true,
            tensor: ParameterTensor::Matrix(tensor),
        });
    }

    fn vector(&mut self, name: String, tensor: &'a mut Param<Tensor<1>>) {
        self.0.push(TransformerParameter {
            name,
            weight_decay: false,
            tensor: ParameterTensor::Vector(tensor),
        });
    }

    fn linear(&mut self, name: &str, linear: &'a mut Linear) {
        self.matrix(format!("{name}.weight"), &mut linear.weight);
        if let Some(bias) = &mut linear.bias {
            self.vector(format!("{name}.bias"), bias);
        }
    }

    fn norm(&mut self, name: &str, norm: &'a mut LayerNorm) {
        self.vector(format!("{name}.gamma"), &mut norm.gamma);
        if let Some(beta) = &mut norm.beta {
            self.vector(format!("{name}.beta"), beta);
        }
    }
}

impl Transformer {
    /// Returns all parameters in a fixed order.
    pub(crate) fn parameters(&mut self) -> Vec<TransformerParameter<'_>> {
        let mut list = ParameterList(Vec::new());
        list.matrix("words".into(), &mut self.token_embeddings);
        list.matrix("positions".into(), &mut self.position_embeddings);
        if let Some(types) = &mut self.token_type_embeddings {
            list.matrix("types".into(), types);
        }
        if let Some(relative) = &mut self.relative_position_bias {
            list.matrix("relative".into(), relative);
        }
        list.norm("norm", &mut self.embedding_norm);
        for (number, layer) in self.layers.iter_mut().enumerate() {
            let name = |part| format!("layers.{number}.{part}");
            list.linear(&name("qkv"), &mut layer.qkv);
            list.linear(&name("output"), &mut layer.output);
            list.norm(&name("attention_norm"), &mut layer.attention_norm);
            list.linear(&name("up"), &mut layer.up);
            list.linear(&name("down"), &mut layer.down);
            list.norm(&name("norm"), &mut layer.norm);
        }
        list.0
    }
}
