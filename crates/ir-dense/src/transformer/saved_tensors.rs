//! Weights of a [`Transformer`] as tensors of a weight file.

use burn::module::Param;
use burn::nn::{LayerNorm, Linear};
use burn::tensor::Tensor;

use super::Transformer;
use super::tensor_names::{Part, ResolvedNames, TensorName};
use crate::model_folder::{NamedTensor, TransformerConfig};

impl Transformer {
    /// Returns the weights under the names of the architecture, in PyTorch's layout: matrices as
    /// `[out, in]`.
    pub(crate) fn named_tensors(&self) -> Vec<NamedTensor> {
        let mut saved = SavedTensors {
            names: ResolvedNames::written(&self.config),
            tensors: Vec::new(),
            vectors: Vec::new(),
        };
        saved.table(Part::Tokens, Some(&self.token_embeddings));
        saved.table(Part::Positions, self.position_embeddings.as_ref());
        saved.table(Part::Types, self.token_type_embeddings.as_ref());
        let bias = self.relative_position_bias.as_ref();
        saved.table(Part::RelativePositionBias, bias);
        saved.table(Part::RelativePositions, self.relative_positions.as_ref());
        saved.norm(Part::EmbeddingNorm, self.embedding_norm.as_ref());
        let norm = self.relative_position_norm.as_ref();
        saved.norm(Part::RelativePositionNorm, norm);
        for (number, layer) in self.layers.iter().enumerate() {
            let norms = [
                (Part::AttentionNorm, layer.attention_norm.as_ref()),
                (Part::Norm, Some(&layer.norm)),
                (
                    Part::AttentionOutputNorm,
                    layer.attention_output_norm.as_ref(),
                ),
                (Part::OutputNorm, layer.output_norm.as_ref()),
                (Part::QueryNorm, layer.query_norm.as_ref()),
                (Part::KeyNorm, layer.key_norm.as_ref()),
            ];
            for (part, norm) in norms {
                saved.norm(part.of_layer(number), norm);
            }
        }
        saved.norm(Part::FinalNorm, self.final_norm.as_ref());
        let projection = self.embedding_projection.as_ref();
        saved.linear(Part::EmbeddingProjection, projection);
        for (number, layer) in self.layers.iter().enumerate() {
            saved.qkv(number, &layer.qkv, &self.config);
            saved.linear(Part::Output.of_layer(number), Some(&layer.output));
            saved.up_and_gate(number, &layer.up, layer.gate.as_ref());
            saved.linear(Part::Down.of_layer(number), Some(&layer.down));
            if let Some(positions) = &layer.positions {
                saved.linear(Part::PositionKey.of_layer(number), positions.key.as_ref());
                let query = positions.query.as_ref();
                saved.linear(Part::PositionQuery.of_layer(number), query);
            }
        }
        saved.tensors.extend(saved.vectors);
        saved.tensors
    }
}

/// Tensors of a weight file.
struct SavedTensors {
    names: ResolvedNames,
    tensors: Vec<NamedTensor>,
    /// Biases, scales and shifts, which follow the matrices.
    vectors: Vec<NamedTensor>,
}

impl SavedTensors {
    fn table(&mut self, part: Part, table: Option<&Param<Tensor<2>>>) {
        if let Some(table) = table {
            let name = self.names.weight(part);
            self.tensors.push(NamedTensor::new(name, table.val()));
        }
    }

    fn norm(&mut self, part: impl Into<TensorName>, norm: Option<&LayerNorm>) {
        let Some(norm) = norm else { return };
        let [scale, shift] = self.names.norm(part);
        self.vectors.push(NamedTensor::new(scale, norm.gamma.val()));
        if let Some(beta) = &norm.beta {
            self.vectors.push(NamedTensor::new(shift, beta.val()));
        }
    }

    fn linear(&mut self, part: impl Into<TensorName>, linear: Option<&Linear>) {
        if let Some(linear) = linear {
            let bias = linear.bias.as_ref().map(Param::val);
            let name = self.names.module(part);
            self.matrix(&name, linear.weight.val(), bias);
        }
    }

    /// `weight`: `[from, to]`.
    fn matrix(&mut self, name: &str, weight: Tensor<2>, bias: Option<Tensor<1>>) {
        let weight = NamedTensor::new(format!("{name}.weight"), weight.transpose());
        self.tensors.push(weight);
        if let Some(bias) = bias {
            self.vectors
                .push(NamedTensor::new(format!("{name}.bias"), bias));
        }
    }

    /// Projections of queries, keys and values: one tensor, or three.
    fn qkv(&mut self, number: usize, qkv: &Linear, config: &TransformerConfig) {
        let names = self.names.qkv(number);
        let attention = config.attention();
        let mut widths = vec![attention.queries(), attention.keys(), attention.keys()];
        if names.len() == 1 {
            widths = vec![attention.qkv()];
        }
        let mut first = 0;
        for (name, width) in names.into_iter().zip(widths) {
            let columns = first..first + width;
            let weight = qkv.weight.val();
            let [from, _] = weight.dims();
            let weight = weight.slice([0..from, columns.clone()]);
            let bias = qkv.bias.as_ref();
            let bias = bias.map(|bias| bias.val().slice([columns.clone()]));
            self.matrix(&name, weight, bias);
            first = columns.end;
        }
    }

    /// Projections of a gated feed-forward network may be one tensor.
    fn up_and_gate(&mut self, number: usize, up: &Linear, gate: Option<&Linear>) {
        let (up_name, gate_name) = (self.names.up(number), self.names.gate(number));
        let Some(gate) = gate else {
            let bias = up.bias.as_ref().map(Param::val);
            return self.matrix(&up_name.name, up.weight.val(), bias);
        };
        if up_name.half.is_none() {
            for (name, linear) in [(up_name.name, up), (gate_name.name, gate)] {
                let bias = linear.bias.as_ref().map(Param::val);
                self.matrix(&name, linear.weight.val(), bias);
            }
            return;
        }
        let both = if up_name.half == Some(0) {
            [up, gate]
        } else {
            [gate, up]
        };
        let weight = Tensor::cat(both.map(|it| it.weight.val()).into(), 1);
        let biases = both.map(|it| it.bias.as_ref().map(Param::val));
        let bias = match biases {
            [Some(first), Some(second)] => Some(Tensor::cat(vec![first, second], 0)),
            _ => None,
        };
        self.matrix(&up_name.name, weight, bias);
    }
}
