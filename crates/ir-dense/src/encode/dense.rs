//! Dense module of sentence-transformers: a linear layer with an activation function.

use std::path::Path;

use burn::tensor::{Device, Tensor, TensorData};
use serde_json::{Map, Value};

use super::module_config::{check_input, check_names, parse};
use crate::activation::Activation;
use crate::error::ModelError;
use crate::model_folder::{TensorSource, WeightFile, transposed};

/// Linear layer with an activation function.
#[derive(Debug, Clone)]
pub(crate) struct DenseLayer {
    /// `[inputs, outputs]`.
    pub(crate) weight: Vec<f32>,
    pub(crate) bias: Option<Vec<f32>>,
    pub(crate) outputs: usize,
    pub(crate) activation: Activation,
    pub(crate) residual: Option<Residual>,
}

/// What a residual connection adds to the output.
#[derive(Debug, Clone)]
pub(crate) enum Residual {
    Input,
    /// Product of the input with a matrix `[inputs, outputs]`.
    Projection(Vec<f32>),
}

/// `config.json` of a Dense module.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct DenseConfig {
    in_features: usize,
    out_features: usize,
    bias: Option<bool>,
    activation_function: Option<String>,
    module_input_name: Option<String>,
    module_output_name: Option<String>,
    use_residual: Option<bool>,
}

impl DenseLayer {
    pub(super) fn read(
        folder: &Path,
        config: &Option<Map<String, Value>>,
        input: usize,
        [reads, writes]: [&str; 2],
    ) -> Result<Self, ModelError> {
        let path = folder.join("config.json");
        let config: DenseConfig = parse(&path, folder, config)?;
        check_input(&path, "in_features", config.in_features, input)?;
        let names = [&config.module_input_name, &config.module_output_name];
        check_names(&path, [reads, writes], names)?;
        if config.out_features == 0 {
            return Err(ModelError::setting(&path, "out_features", "1 or more", 0));
        }
        let activation = match &config.activation_function {
            Some(name) => Activation::from_class(&path, "activation_function", name)?,
            None => Activation::Tanh,
        };
        let weights = WeightFile::open(folder)?;
        let (inputs, outputs) = (config.in_features, config.out_features);
        let weight = weights.take("linear.weight", &[outputs, inputs])?;
        let bias = match config.bias {
            Some(false) => None,
            _ => Some(weights.take("linear.bias", &[outputs])?),
        };
        let residual = match config.use_residual {
            Some(true) if inputs == outputs => Some(Residual::Input),
            Some(true) => {
                let weight = weights.take("residual.weight", &[outputs, inputs])?;
                Some(Residual::Projection(transposed(&[&weight], inputs)))
            }
            _ => None,
        };
        Ok(Self {
            weight: transposed(&[&weight], inputs),
            bias,
            outputs,
            activation,
            residual,
        })
    }

    /// Layer without bias and activation function, a tensor `[outputs, inputs]` of a weight file.
    pub(super) fn projection(
        weights: &WeightFile,
        tensor: &str,
        inputs: usize,
    ) -> Result<Self, ModelError> {
        let outputs = weights.shape(tensor)?.first().copied().unwrap_or(0);
        if outputs == 0 {
            let field = format!("shape of {tensor}");
            let expected = format!("[dimension, {inputs}]");
            let found = format!("{:?}", weights.shape(tensor)?);
            return Err(ModelError::setting(weights.path(), field, expected, found));
        }
        let weight = weights.take(tensor, &[outputs, inputs])?;
        Ok(Self::without_bias(transposed(&[&weight], inputs), outputs))
    }

    /// Layer without bias and activation function. `weight`: `[inputs, outputs]`.
    pub(super) fn without_bias(weight: Vec<f32>, outputs: usize) -> Self {
        Self {
            weight,
            bias: None,
            outputs,
            activation: Activation::Identity,
            residual: None,
        }
    }

    /// `config.json` of a layer without residual connection that reads and writes the vectors of
    /// tokens.
    pub(super) fn config(&self) -> Map<String, Value> {
        let entries = [
            ("in_features", self.inputs().into()),
            ("out_features", self.outputs.into()),
            ("bias", self.bias.is_some().into()),
            ("activation_function", self.activation.path().into()),
            ("module_input_name", "token_embeddings".into()),
            ("module_output_name", "token_embeddings".into()),
        ];
        let entries = entries.into_iter();
        entries.map(|(name, value)| (name.into(), value)).collect()
    }

    /// Dimension of the output.
    pub(super) fn outputs(&self) -> usize {
        self.outputs
    }

    /// Name of the activation function in `torch.nn`.
    pub(super) fn activation(&self) -> &'static str {
        self.activation.class()
    }

    /// Dimension of the input.
    pub(crate) fn inputs(&self) -> usize {
        self.weight.len() / self.outputs.max(1)
    }

    /// Name, shape and elements of the weights, as in the file of the module.
    pub(super) fn weights(&self) -> Vec<(&'static str, Vec<usize>, Vec<f32>)> {
        let (inputs, outputs) = (self.inputs(), self.outputs);
        let matrix =
            |name, weight: &[f32]| (name, vec![outputs, inputs], transposed(&[weight], outputs));
        let mut weights = vec![matrix("linear.weight", &self.weight)];
        let bias = self.bias.clone();
        weights.extend(bias.map(|bias| ("linear.bias", vec![outputs], bias)));
        if let Some(Residual::Projection(weight)) = &self.residual {
            weights.push(matrix("residual.weight", weight));
        }
        weights
    }

    /// Name, shape and elements of the parameters in memory: matrices are `[inputs, outputs]`.
    pub(super) fn parameters(&self) -> Vec<(&'static str, Vec<usize>, &[f32])> {
        let shape = vec![self.inputs(), self.outputs];
        let mut parameters = vec![("weight", shape.clone(), &self.weight[..])];
        if let Some(bias) = &self.bias {
            parameters.push(("bias", vec![self.outputs], bias));
        }
        if let Some(Residual::Projection(weight)) = &self.residual {
            parameters.push(("residual", shape, weight));
        }
        parameters
    }

    /// Elements of a parameter; `None` if the layer has none of this name.
    pub(super) fn parameter_mut(&mut self, name: &str) -> Option<&mut Vec<f32>> {
        match (name, &mut self.residual) {
            ("weight", _) => Some(&mut self.weight),
            ("bias", _) => self.bias.as_mut(),
            ("residual", Some(Residual::Projection(weight))) => Some(weight),
            _ => None,
        }
    }

    /// Product of a row with a matrix `[inputs, outputs]`.
    fn product(&self, input: &[f32], matrix: &[f32]) -> Vec<f32> {
        let mut out = vec![0.0; self.outputs];
        for (x, weights) in input.iter().zip(matrix.chunks_exact(self.outputs)) {
            out.iter_mut()
                .zip(weights)
                .for_each(|(out, w)| *out += x * w);
        }
        out
    }

    pub(super) fn apply_row(&self, input: &[f32]) -> Vec<f32> {
        let mut out = self.product(input, &self.weight);
        if let Some(bias) = &self.bias {
            out.iter_mut().zip(bias).for_each(|(out, b)| *out += b);
        }
        out.iter_mut()
            .for_each(|out| *out = self.activation.value(*out));
        let added = match &self.residual {
            None => return out,
            Some(Residual::Input) => input.to_vec(),
            Some(Residual::Projection(weight)) => self.product(input, weight),
        };
        out.iter_mut().zip(added).for_each(|(out, x)| *out += x);
        out
    }

    /// `input`: `[texts, inputs]`; result: `[texts, outputs]`.
    pub(super) fn apply(&self, input: Tensor<2>) -> Tensor<2> {
        let device = input.device();
        let shape = [self.inputs(), self.outputs];
        let product = |matrix: &[f32]| input.clone().matmul(constant(matrix, shape, &device));
        let sum = match &self.bias {
            Some(bias) => product(&self.weight) + constant(bias, [1, bias.len()], &device),
            None => product(&self.weight),
        };
        let out = self.activation.apply(sum);
        match &self.residual {
            None => out,
            Some(Residual::Input) => out + input.clone(),
            Some(Residual::Projection(weight)) => out + product(weight),
        }
    }
}

/// Matrix on a device.
pub(super) fn constant(values: &[f32], shape: [usize; 2], device: &Device) -> Tensor<2> {
    Tensor::from_data(TensorData::new(values.to_vec(), shape), device)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(super) mod tests {
    use super::*;

    /// Layer with tanh. `weight` and `residual`: `[inputs, outputs]`.
    pub(in crate::encode) fn layer(
        weight: Vec<f32>,
        bias: Vec<f32>,
        residual: Option<Vec<f32>>,
    ) -> DenseLayer {
        DenseLayer {
            weight,
            outputs: bias.len(),
            bias: Some(bias),
            activation: Activation::Tanh,
            residual: residual.map(Residual::Projection),
        }
    }

    #[test]
    fn residuals_are_added_after_the_activation() {
        let mut dense = layer(vec![0.5, -1.0, 2.0, 0.25], vec![0.1, -0.2], None);
        let input = [3.0, -1.0];
        let plain = dense.apply_row(&input);
        for (residual, added) in [
            (Residual::Input, [3.0, -1.0]),
            (Residual::Projection(vec![1.0, 0.5, 0.0, 2.0]), [3.0, -0.5]),
        ] {
            dense.residual = Some(residual);
            let found = dense.apply_row(&input);
            assert_eq!(found, [plain[0] + added[0], plain[1] + added[1]]);
            let tensor = dense.apply(constant(&input, [1, 2], &Device::flex()));
            let expected = tensor.try_into_vec_as::<f32>().unwrap();
            for (a, b) in found.iter().zip(&expected) {
                assert!((a - b).abs() < 1e-5, "{found:?}, {expected:?}");
            }
        }
        let names = dense.weights().into_iter().map(|(name, ..)| name);
        assert!(names.eq(["linear.weight", "linear.bias", "residual.weight"]));
    }
}
