//! The weights of a transformer as one list: for optimisers, checkpoints and folders.

use burn::module::Param;
use burn::nn::{LayerNorm, Linear};
use burn::tensor::{Tensor, TensorData};

use crate::Transformer;

/// A weight, to be read or changed.
pub(crate) struct Parameter<'a> {
    /// Its path within [`Transformer`].
    pub(crate) name: String,
    /// Whether weight decay applies: not to biases and layer normalisation.
    pub(crate) decays: bool,
    place: Place<'a>,
}

enum Place<'a> {
    Vector(&'a mut Param<Tensor<1>>),
    Matrix(&'a mut Param<Tensor<2>>),
}

impl Parameter<'_> {
    pub(crate) fn shape(&self) -> Vec<usize> {
        match &self.place {
            Place::Vector(param) => param.val().dims().into(),
            Place::Matrix(param) => param.val().dims().into(),
        }
    }

    /// The elements, row by row.
    pub(crate) fn values(&self) -> Tensor<1> {
        match &self.place {
            Place::Vector(param) => param.val(),
            Place::Matrix(param) => param.val().flatten(0, 1),
        }
    }

    /// Its gradient, of burn's automatic ones.
    #[cfg(test)]
    pub(crate) fn gradient(&self, gradients: &mut burn::tensor::Gradients) -> Vec<f32> {
        let gradient = match &self.place {
            Place::Vector(param) => param.val().grad_remove(gradients).map(Tensor::into_data),
            Place::Matrix(param) => param.val().grad_remove(gradients).map(Tensor::into_data),
        };
        gradient.map_or(Vec::new(), |data| data.iter::<f32>().collect())
    }

    /// Replaces the elements. While `change` runs, nobody else holds them.
    pub(crate) fn change(self, change: impl FnOnce(Tensor<1>) -> Tensor<1>) {
        fn replace<const D: usize>(
            param: &mut Param<Tensor<D>>,
            change: impl FnOnce(Tensor<1>) -> Tensor<1>,
        ) {
            let shape = param.val().dims();
            let nothing =
                Tensor::from_data(TensorData::zeros::<f32, _>([1; D]), &param.val().device());
            let old = std::mem::replace(param, Param::from_tensor(nothing));
            *param = old.map(|tensor| {
                let length = tensor.shape().num_elements();
                change(tensor.reshape([length])).reshape(shape)
            });
        }
        match self.place {
            Place::Vector(param) => replace(param, change),
            Place::Matrix(param) => replace(param, change),
        }
    }
}

/// Collects the list.
struct List<'a>(Vec<Parameter<'a>>);

impl<'a> List<'a> {
    fn matrix(&mut self, name: String, place: &'a mut Param<Tensor<2>>) {
        self.0.push(Parameter {
            name,
            decays: true,
            place: Place::Matrix(place),
        });
    }

    fn vector(&mut self, name: String, place: &'a mut Param<Tensor<1>>) {
        self.0.push(Parameter {
            name,
            decays: false,
            place: Place::Vector(place),
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
    /// All weights, in an order that depends on the shape alone.
    pub(crate) fn parameters(&mut self) -> Vec<Parameter<'_>> {
        let mut list = List(Vec::new());
        list.matrix("words".into(), &mut self.words);
        list.matrix("positions".into(), &mut self.positions);
        if let Some(types) = &mut self.types {
            list.matrix("types".into(), types);
        }
        if let Some(relative) = &mut self.relative {
            list.matrix("relative".into(), relative);
        }
        list.norm("norm", &mut self.norm);
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
