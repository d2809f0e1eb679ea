//! Layers of heads: functions of one vector, with weights in CPU memory.

use crate::error::ModelError;
use crate::model_folder::{NamedTensor, TensorSource};

/// Linear layer, with or without bias.
#[derive(Debug, Clone)]
pub(crate) struct HeadLinear {
    pub(crate) name: LayerName,
    /// Row-major `[outputs, inputs]`.
    pub(crate) weight: Vec<f32>,
    pub(crate) bias: Option<Vec<f32>>,
    pub(crate) inputs: usize,
}

/// Name of a layer without `.weight` and `.bias`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LayerName {
    pub(crate) name: &'static str,
    /// If `true`, the name follows the prefix of the encoder, such as `bert.`.
    pub(crate) in_encoder: bool,
}

/// Layer normalization after the linear layer.
#[derive(Debug, Clone)]
pub(crate) struct HeadLayerNorm {
    pub(crate) name: LayerName,
    pub(crate) scale: Vec<f32>,
    pub(crate) shift: Option<Vec<f32>>,
    pub(crate) epsilon: f64,
}

impl LayerName {
    /// Name of a layer outside of the encoder.
    pub(crate) fn new(name: &'static str) -> Self {
        let in_encoder = false;
        Self { name, in_encoder }
    }

    pub(crate) fn in_file(self, prefix: &str) -> String {
        let prefix = if self.in_encoder { prefix } else { "" };
        format!("{prefix}{}", self.name)
    }
}

impl HeadLinear {
    /// Reads a layer of the shape `[outputs, inputs]`.
    pub(crate) fn load(
        weights: &dyn TensorSource,
        name: LayerName,
        prefix: &str,
        [outputs, inputs]: [usize; 2],
        bias: bool,
    ) -> Result<Self, ModelError> {
        let in_file = name.in_file(prefix);
        let weight = weights.take(&format!("{in_file}.weight"), &[outputs, inputs])?;
        let bias = bias.then(|| weights.take(&format!("{in_file}.bias"), &[outputs]));
        Ok(Self {
            name,
            weight,
            bias: bias.transpose()?,
            inputs,
        })
    }

    pub(crate) fn outputs(&self) -> usize {
        self.weight.len() / self.inputs.max(1)
    }

    /// Returns the outputs of one vector; sums are f64.
    pub(crate) fn apply(&self, input: &[f32]) -> Vec<f32> {
        let rows = self.weight.chunks_exact(self.inputs.max(1)).enumerate();
        let row = |(output, row): (usize, &[f32])| {
            let products = row.iter().zip(input);
            let sum: f64 = products.map(|(w, x)| f64::from(*w) * f64::from(*x)).sum();
            let bias = self.bias.as_ref().map_or(0.0, |bias| bias[output]);
            (sum + f64::from(bias)) as f32
        };
        rows.map(row).collect()
    }

    /// Elements of a tensor outside of an encoder; `None` if the layer has none of this name.
    pub(crate) fn elements_mut(&mut self, name: &str) -> Option<&mut Vec<f32>> {
        match name.strip_prefix(self.name.name)? {
            ".weight" => Some(&mut self.weight),
            ".bias" => self.bias.as_mut(),
            _ => None,
        }
    }

    /// Adds name, shape and elements of the weights in a file.
    pub(crate) fn add_weights<'a>(
        &'a self,
        prefix: &str,
        weights: &mut Vec<(String, Vec<usize>, &'a [f32])>,
    ) {
        let (name, outputs) = (self.name.in_file(prefix), self.outputs());
        let shape = vec![outputs, self.inputs];
        weights.push((format!("{name}.weight"), shape, &self.weight[..]));
        if let Some(bias) = &self.bias {
            weights.push((format!("{name}.bias"), vec![outputs], bias));
        }
    }
}

impl HeadLayerNorm {
    /// Elements of a tensor; `None` if the layer has none of this name.
    pub(crate) fn elements_mut(&mut self, name: &str) -> Option<&mut Vec<f32>> {
        match name.strip_prefix(self.name.name)? {
            ".weight" => Some(&mut self.scale),
            ".bias" => self.shift.as_mut(),
            _ => None,
        }
    }

    /// Adds name, shape and elements of the weights in a file.
    pub(crate) fn add_weights<'a>(
        &'a self,
        prefix: &str,
        weights: &mut Vec<(String, Vec<usize>, &'a [f32])>,
    ) {
        let (name, width) = (self.name.in_file(prefix), self.scale.len());
        weights.push((format!("{name}.weight"), vec![width], &self.scale[..]));
        if let Some(shift) = &self.shift {
            weights.push((format!("{name}.bias"), vec![width], shift));
        }
    }

    pub(crate) fn apply(&self, row: &mut [f32]) {
        let count = row.len().max(1) as f64;
        let mean = row.iter().map(|x| f64::from(*x)).sum::<f64>() / count;
        let squares = row.iter().map(|x| (f64::from(*x) - mean).powi(2));
        let factor = (squares.sum::<f64>() / count + self.epsilon).sqrt().recip();
        for (at, x) in row.iter_mut().enumerate() {
            let shift = self.shift.as_ref().map_or(0.0, |shift| shift[at]);
            *x = ((f64::from(*x) - mean) * factor) as f32 * self.scale[at] + shift;
        }
    }
}

/// Tensors of names, shapes and elements.
pub(crate) fn named_tensors(weights: Vec<(String, Vec<usize>, &[f32])>) -> Vec<NamedTensor> {
    let tensor = |(name, shape, values): (String, Vec<usize>, &[f32])| {
        NamedTensor::of_values(name, shape, values.to_vec())
    };
    weights.into_iter().map(tensor).collect()
}
