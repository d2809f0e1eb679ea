//! Span head: start and end logits of every token.

use burn::tensor::{Device, Tensor, TensorData};

use crate::error::ModelError;
use crate::model_folder::{NamedTensor, TensorSource};

/// Names of the tensors, in all architectures of transformers.
pub(crate) const HEAD_WEIGHT: &str = "qa_outputs.weight";
pub(crate) const HEAD_BIAS: &str = "qa_outputs.bias";

/// Linear layer from a hidden state to the logits of start and end.
#[derive(Debug, Clone)]
pub(crate) struct SpanHead {
    /// Row-major `[2, hidden_size]`.
    pub(crate) weight: Vec<f32>,
    pub(crate) bias: Vec<f32>,
}

impl SpanHead {
    pub(crate) fn load(weights: &dyn TensorSource, hidden: usize) -> Result<Self, ModelError> {
        Ok(Self {
            weight: weights.take(HEAD_WEIGHT, &[2, hidden])?,
            bias: weights.take(HEAD_BIAS, &[2])?,
        })
    }

    fn hidden(&self) -> usize {
        self.weight.len() / 2
    }

    /// Returns the logits of start and end for every token; `states` is row-major
    /// `[tokens, hidden_size]`. The logits of a token do not depend on other tokens.
    pub(crate) fn logits(&self, states: &[f32]) -> Vec<[f32; 2]> {
        let (start, end) = self.weight.split_at(self.hidden());
        let dot = |row: &[f32], weight: &[f32], bias: f32| {
            let products = row
                .iter()
                .zip(weight)
                .map(|(x, w)| f64::from(*x) * f64::from(*w));
            (products.sum::<f64>() + f64::from(bias)) as f32
        };
        let rows = states.chunks_exact(self.hidden().max(1));
        rows.map(|row| [dot(row, start, self.bias[0]), dot(row, end, self.bias[1])])
            .collect()
    }

    /// Returns the gradients of weight and bias, and of `states`, given the gradients of the
    /// logits.
    pub(crate) fn backward(
        &self,
        states: &[f32],
        d_logits: &[[f32; 2]],
    ) -> ([Vec<f32>; 2], Vec<f32>) {
        let hidden = self.hidden();
        let mut weight = vec![0.0_f64; 2 * hidden];
        let mut bias = [0.0_f64; 2];
        let mut d_states = vec![0.0; states.len()];
        let rows = states.chunks_exact(hidden.max(1));
        let rows = rows.zip(d_states.chunks_exact_mut(hidden.max(1)));
        for (&d, (row, d_row)) in d_logits.iter().zip(rows) {
            for (side, d) in d.into_iter().enumerate() {
                bias[side] += f64::from(d);
                let columns = side * hidden..(side + 1) * hidden;
                let sums = weight[columns.clone()].iter_mut().zip(row);
                sums.for_each(|(sum, x)| *sum += f64::from(d) * f64::from(*x));
                let of_head = d_row.iter_mut().zip(&self.weight[columns]);
                of_head.for_each(|(at, w)| *at += d * w);
            }
        }
        let weight = weight.into_iter().map(|x| x as f32).collect();
        ([weight, bias.map(|x| x as f32).into()], d_states)
    }

    pub(crate) fn named_tensors(&self) -> [NamedTensor; 2] {
        let tensor = |name: &str, values: &[f32], shape: Vec<usize>| {
            let data = TensorData::new(values.to_vec(), [values.len()]);
            let values: Tensor<1> = Tensor::from_data(data, &Device::flex());
            let name = name.to_owned();
            NamedTensor {
                name,
                shape,
                values,
            }
        };
        [
            tensor(HEAD_WEIGHT, &self.weight, vec![2, self.hidden()]),
            tensor(HEAD_BIAS, &self.bias, vec![2]),
        ]
    }
}
