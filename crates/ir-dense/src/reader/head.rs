//! Span head: start and end logits of every token.

use crate::error::ModelError;
use crate::head_layers::{HeadLinear, LayerName, named_tensors};
use crate::model_folder::{NamedTensor, TensorSource};

/// Name of the layer in all architectures of transformers, and of its weight.
const HEAD: &str = "qa_outputs";
pub(crate) const HEAD_WEIGHT: &str = "qa_outputs.weight";

/// Linear layer from a hidden state to the logits of start and end.
#[derive(Debug, Clone)]
pub(crate) struct SpanHead(pub(crate) HeadLinear);

impl SpanHead {
    pub(crate) fn load(weights: &dyn TensorSource, hidden: usize) -> Result<Self, ModelError> {
        let shape = [2, hidden];
        HeadLinear::load(weights, LayerName::new(HEAD), "", shape, true).map(Self)
    }

    /// Returns the logits of start and end for every token; `states` is row-major
    /// `[tokens, hidden_size]`. The logits of a token do not depend on other tokens.
    pub(crate) fn logits(&self, states: &[f32]) -> Vec<[f32; 2]> {
        let logits = |row: &[f32]| {
            let logits = self.0.apply(row);
            [logits[0], logits[1]]
        };
        states
            .chunks_exact(self.0.inputs.max(1))
            .map(logits)
            .collect()
    }

    /// Returns the gradients of weight and bias, and of `states`, given the gradients of the
    /// logits.
    pub(crate) fn backward(
        &self,
        states: &[f32],
        d_logits: &[[f32; 2]],
    ) -> ([Vec<f32>; 2], Vec<f32>) {
        let hidden = self.0.inputs;
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
                let of_head = d_row.iter_mut().zip(&self.0.weight[columns]);
                of_head.for_each(|(at, w)| *at += d * w);
            }
        }
        let weight = weight.into_iter().map(|x| x as f32).collect();
        ([weight, bias.map(|x| x as f32).into()], d_states)
    }

    pub(crate) fn named_tensors(&self) -> Vec<NamedTensor> {
        let mut weights = Vec::new();
        self.0.add_weights("", &mut weights);
        named_tensors(weights)
    }
}
