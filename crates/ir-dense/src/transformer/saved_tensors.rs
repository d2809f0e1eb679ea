//! Weights of a [`Transformer`] as tensors of a weight file.

use std::path::Path;

use burn::module::Param;
use burn::nn::{LayerNorm, Linear};
use burn::tensor::Tensor;

use super::tensor_names::ResolvedNames;
use super::{ConvolutionLayer, Transformer};
use crate::architectures::LayerNames;
use crate::error::ModelError;
use crate::model_folder::{NamedTensor, TransformerConfig, write_weights};

impl Transformer {
    /// Writes `model.safetensors`, and the files of a bottleneck adapter.
    pub(crate) fn write_weights(&self, folder: &Path) -> Result<(), ModelError> {
        write_weights(folder, &self.named_tensors())?;
        let Some(adapter) = &self.config.layer.adapter else {
            return Ok(());
        };
        let mut saved = SavedTensors::new(&self.config);
        for (number, layer) in self.layers.iter().enumerate() {
            if let Some(projections) = &layer.adapter {
                let [down, up] = saved.names.adapter(number, adapter);
                saved.linear(&down, Some(&projections.down));
                saved.linear(&up, Some(&projections.up));
            }
        }
        saved.tensors.extend(saved.vectors);
        let model_type = self.config.architecture.definition().model_types[0];
        adapter.write(folder, &self.config, model_type, &saved.tensors)
    }

    /// Returns the weights under the names of the architecture, in PyTorch's layout: matrices as
    /// `[out, in]`. A bottleneck adapter is left out.
    pub(crate) fn named_tensors(&self) -> Vec<NamedTensor> {
        let mut saved = SavedTensors::new(&self.config);
        let tables = [
            (
                saved.names.module(|it| it.tokens),
                Some(&self.token_embeddings),
            ),
            (
                saved.names.module(|it| it.positions),
                self.position_embeddings.as_ref(),
            ),
            (
                saved.names.module(|it| it.types),
                self.token_type_embeddings.as_ref(),
            ),
            (
                saved.names.module(|it| it.relative_position_bias),
                self.relative_position_bias.as_ref(),
            ),
            (
                saved.names.module(|it| it.relative_positions),
                self.relative_positions.as_ref(),
            ),
        ];
        for (name, table) in tables {
            saved.table(&name, table);
        }
        let name = saved.names.module(|it| it.embedding_norm);
        saved.norm(&name, self.embedding_norm.as_ref());
        let name = saved.names.module(|it| it.relative_position_norm);
        saved.norm(&name, self.relative_position_norm.as_ref());
        for (number, layer) in self.layers.iter().enumerate() {
            type Name = fn(&LayerNames) -> &'static str;
            let norms: [(Name, Option<&LayerNorm>); 6] = [
                (|it| it.attention_norm, layer.attention_norm.as_ref()),
                (|it| it.norm, Some(&layer.norm)),
                (
                    |it| it.attention_output_norm,
                    layer.attention_output_norm.as_ref(),
                ),
                (|it| it.output_norm, layer.output_norm.as_ref()),
                (|it| it.query_norm, layer.query_norm.as_ref()),
                (|it| it.key_norm, layer.key_norm.as_ref()),
            ];
            for (name, norm) in norms {
                saved.norm(&saved.names.of_layer(number, name), norm);
            }
        }
        let name = saved.names.module(|it| it.final_norm);
        saved.norm(&name, self.final_norm.as_ref());
        let name = saved.names.module(|it| it.embedding_projection);
        saved.linear(&name, self.embedding_projection.as_ref());
        if let Some(convolution) = &self.convolution {
            saved.convolution(convolution);
        }
        for (number, layer) in self.layers.iter().enumerate() {
            saved.qkv(number, &layer.qkv, &self.config);
            let name = saved.names.of_layer(number, |it| it.output);
            saved.linear(&name, Some(&layer.output));
            saved.up_and_gate(number, &layer.up, layer.gate.as_ref());
            let name = saved.names.of_layer(number, |it| it.down);
            saved.linear(&name, Some(&layer.down));
            if let Some(positions) = &layer.positions {
                let name = saved.names.of_layer(number, |it| it.position_key);
                saved.linear(&name, positions.key.as_ref());
                let name = saved.names.of_layer(number, |it| it.position_query);
                saved.linear(&name, positions.query.as_ref());
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
    fn new(config: &TransformerConfig) -> Self {
        Self {
            names: ResolvedNames::written(config),
            tensors: Vec::new(),
            vectors: Vec::new(),
        }
    }

    fn table(&mut self, name: &str, table: Option<&Param<Tensor<2>>>) {
        let table = table.map(|table| NamedTensor::new(format!("{name}.weight"), table.val()));
        self.tensors.extend(table);
    }

    fn norm(&mut self, name: &str, norm: Option<&LayerNorm>) {
        let Some(norm) = norm else { return };
        let [scale, shift] = self.names.norm(name);
        self.vectors.push(NamedTensor::new(scale, norm.gamma.val()));
        if let Some(beta) = &norm.beta {
            self.vectors.push(NamedTensor::new(shift, beta.val()));
        }
    }

    fn linear(&mut self, name: &str, linear: Option<&Linear>) {
        if let Some(linear) = linear {
            let bias = linear.bias.as_ref().map(Param::val);
            self.matrix(name, linear.weight.val(), bias);
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

    /// Convolution, `[to, from, kernel_size]`.
    fn convolution(&mut self, layer: &ConvolutionLayer) {
        let weight = layer.projection.weight.val();
        let [from, to] = weight.dims();
        let weight: Tensor<3> = weight.reshape([from / to, to, to]).permute([2, 1, 0]);
        let name = self.names.module(|it| it.convolution);
        self.tensors
            .push(NamedTensor::new(format!("{name}.weight"), weight));
        let bias = layer.projection.bias.as_ref().map(Param::val);
        let bias = bias.map(|bias| NamedTensor::new(format!("{name}.bias"), bias));
        self.vectors.extend(bias);
        let name = self.names.module(|it| it.convolution_norm);
        self.norm(&name, Some(&layer.norm));
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
        let Some(gate) = gate.filter(|_| up_name.half.is_some()) else {
            self.linear(&up_name.name, Some(up));
            return self.linear(&gate_name.name, gate);
        };
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
