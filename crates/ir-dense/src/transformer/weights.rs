//! Weights of a transformer: conversion between weight files, [`Transformer`] and the kernels.

use std::cell::RefCell;

use burn::module::Param;
use burn::nn::{LayerNorm, LayerNormConfig, Linear};
use burn::tensor::{Device, Tensor, TensorData};

use super::tensor_names::{ResolvedNames, RowsName};
use super::{
    AdapterProjections, ConvolutionLayer, PositionProjections, Transformer, TransformerLayer,
};
use crate::architectures::LayerNames;
use crate::error::ModelError;
use crate::model_folder::{
    Convolution, Disentangled, NormPlacement, TensorSource, TensorValues, TransformerConfig,
    WeightFile, transposed,
};

/// Reader of the weights of a transformer, one layer at a time.
pub(crate) struct WeightReader<'a> {
    config: &'a TransformerConfig,
    weights: &'a dyn TensorSource,
    names: ResolvedNames,
}

/// Weights before and after the layers. Tables are row-major `[rows, embedding_size]`.
pub(crate) struct EmbeddingWeights {
    pub(crate) tokens: TensorValues,
    pub(crate) positions: Option<TensorValues>,
    pub(crate) types: Option<TensorValues>,
    /// `[relative_position_buckets, heads]`.
    pub(crate) relative_position_bias: Option<Vec<f32>>,
    pub(crate) norm: Option<NormWeights>,
    pub(crate) projection: Option<LinearWeights>,
    /// Embeddings of relative positions, `[2 · buckets, hidden_size]`.
    pub(crate) relative_positions: Option<Vec<f32>>,
    pub(crate) relative_position_norm: Option<NormWeights>,
    pub(crate) convolution: Option<ConvolutionWeights>,
    pub(crate) final_norm: Option<NormWeights>,
}

/// Weights of a layer; see [`TransformerLayer`].
pub(crate) struct LayerWeights {
    pub(crate) qkv: LinearWeights,
    pub(crate) output: LinearWeights,
    pub(crate) attention_norm: Option<NormWeights>,
    pub(crate) up: LinearWeights,
    pub(crate) down: LinearWeights,
    pub(crate) norm: NormWeights,
    pub(crate) gate: Option<LinearWeights>,
    pub(crate) attention_output_norm: Option<NormWeights>,
    pub(crate) output_norm: Option<NormWeights>,
    pub(crate) query_norm: Option<NormWeights>,
    pub(crate) key_norm: Option<NormWeights>,
    pub(crate) position_key: Option<LinearWeights>,
    pub(crate) position_query: Option<LinearWeights>,
    pub(crate) adapter: Option<AdapterWeights>,
}

/// Weights of the convolution beside the first layer.
pub(crate) struct ConvolutionWeights {
    /// From the vectors of neighboring tokens, one after the other.
    pub(crate) projection: LinearWeights,
    pub(crate) norm: NormWeights,
}

/// Weights of the bottleneck adapter of a layer.
pub(crate) struct AdapterWeights {
    pub(crate) down: LinearWeights,
    pub(crate) up: LinearWeights,
}

/// Weights of a linear layer.
pub(crate) struct LinearWeights {
    /// Row-major `[from, to]`.
    pub(crate) weight: Vec<f32>,
    /// `[to]`.
    pub(crate) bias: Option<Vec<f32>>,
    pub(crate) to: usize,
}

/// Weights of a normalization.
pub(crate) struct NormWeights {
    pub(crate) scale: Vec<f32>,
    pub(crate) shift: Option<Vec<f32>>,
}

/// Weight file of which only names, shapes and element types are read.
struct HeaderSource<'a> {
    file: &'a WeightFile,
    problems: RefCell<Vec<ModelError>>,
}

impl TensorSource for HeaderSource<'_> {
    fn names(&self) -> Vec<String> {
        self.file.names()
    }

    fn tensor(&self, name: &str, shape: &[usize]) -> Result<TensorValues, ModelError> {
        let problem = self.file.check_header(name, shape).err();
        self.problems.borrow_mut().extend(problem);
        Ok(TensorValues::InMemory(Vec::new()))
    }
}

/// Compares a weight file with a configuration: returns the errors of all tensors that are missing,
/// have another shape or element type, or belong to layers without being described.
pub(crate) fn tensor_problems(
    config: &TransformerConfig,
    file: &WeightFile,
) -> Result<Vec<ModelError>, ModelError> {
    let source = HeaderSource {
        file,
        problems: RefCell::default(),
    };
    let reader = WeightReader::new(config, &source);
    reader.embeddings()?;
    for number in 0..config.stored_layers() {
        reader.layer(number)?;
    }
    let mut problems = source.problems.into_inner();
    problems.extend(file.check_unread().err());
    Ok(problems)
}

impl Transformer {
    pub(crate) fn load(
        config: TransformerConfig,
        weights: &dyn TensorSource,
        device: &Device,
    ) -> Result<Self, ModelError> {
        let reader = WeightReader::new(&config, weights);
        let embeddings = reader.embeddings()?;
        let width = config.embedding_size().max(1);
        let matrix = |values: Vec<f32>, width: usize| {
            let rows = values.len() / width.max(1);
            parameter(values, [rows, width], device)
        };
        let table = |values: TensorValues| matrix(values.into_vec(), width);
        let norm = |norm: NormWeights| norm.into_module(config.layer_norm_eps, device);
        let layers = (0..config.stored_layers()).map(|number| {
            let layer = reader.layer(number)?;
            let positions = match (layer.position_key, layer.position_query) {
                (None, None) => None,
                (key, query) => Some(PositionProjections {
                    key: key.map(|it| it.into_module(device)),
                    query: query.map(|it| it.into_module(device)),
                }),
            };
            Ok(TransformerLayer {
                qkv: layer.qkv.into_module(device),
                output: layer.output.into_module(device),
                attention_norm: layer.attention_norm.map(norm),
                up: layer.up.into_module(device),
                down: layer.down.into_module(device),
                norm: norm(layer.norm),
                gate: layer.gate.map(|it| it.into_module(device)),
                attention_output_norm: layer.attention_output_norm.map(norm),
                output_norm: layer.output_norm.map(norm),
                query_norm: layer.query_norm.map(norm),
                key_norm: layer.key_norm.map(norm),
                positions,
                adapter: layer.adapter.map(|it| AdapterProjections {
                    down: it.down.into_module(device),
                    up: it.up.into_module(device),
                }),
            })
        });
        Ok(Self {
            layers: layers.collect::<Result<_, ModelError>>()?,
            token_embeddings: table(embeddings.tokens),
            position_embeddings: embeddings.positions.map(table),
            token_type_embeddings: embeddings.types.map(table),
            relative_position_bias: embeddings
                .relative_position_bias
                .map(|values| matrix(values, config.heads)),
            embedding_norm: embeddings.norm.map(norm),
            embedding_projection: embeddings.projection.map(|it| it.into_module(device)),
            relative_positions: embeddings
                .relative_positions
                .map(|values| matrix(values, config.hidden_size)),
            relative_position_norm: embeddings.relative_position_norm.map(norm),
            convolution: embeddings.convolution.map(|it| ConvolutionLayer {
                projection: it.projection.into_module(device),
                norm: norm(it.norm),
            }),
            final_norm: embeddings.final_norm.map(norm),
            config,
        })
    }
}

impl<'a> WeightReader<'a> {
    pub(crate) fn new(config: &'a TransformerConfig, weights: &'a dyn TensorSource) -> Self {
        Self {
            config,
            weights,
            names: ResolvedNames::of_file(config, &weights.names()),
        }
    }

    pub(crate) fn embeddings(&self) -> Result<EmbeddingWeights, ModelError> {
        let (c, layer, names) = (self.config, &self.config.layer, &self.names);
        let (width, hidden) = (c.embedding_size(), c.hidden_size);
        // A table without rows has no tensor.
        let table = |module: String, rows: usize, width| {
            let name = module + ".weight";
            let read = (rows > 0).then(|| self.weights.tensor(&name, &[rows, width]));
            read.transpose()
        };
        let positions = if layer.position_embeddings {
            c.max_positions
        } else {
            0
        };
        let buckets = layer.disentangled.map_or(0, |it| 2 * it.buckets);
        let tokens = names.module(|it| it.tokens) + ".weight";
        let bias = names.module(|it| it.relative_position_bias);
        let relative = names.module(|it| it.relative_positions);
        let norm = |exists: bool, module: String, width| {
            let read = exists.then(|| self.norm(&module, width));
            read.transpose()
        };
        let has_relative_norm = layer.disentangled.is_some_and(|it| it.norm);
        Ok(EmbeddingWeights {
            tokens: self.weights.tensor(&tokens, &[c.vocab_size, width])?,
            positions: table(names.module(|it| it.positions), positions, width)?,
            types: table(names.module(|it| it.types), c.token_types, width)?,
            relative_position_bias: table(bias, c.relative_position_buckets, c.heads)?
                .map(TensorValues::into_vec),
            norm: norm(
                layer.embedding_norm,
                names.module(|it| it.embedding_norm),
                width,
            )?,
            projection: match layer.embedding_size {
                None => None,
                Some(from) => {
                    let name = names.module(|it| it.embedding_projection);
                    Some(self.linear(&[(name, hidden)], from, true)?)
                }
            },
            relative_positions: table(relative, buckets, hidden)?.map(TensorValues::into_vec),
            relative_position_norm: norm(
                has_relative_norm,
                names.module(|it| it.relative_position_norm),
                hidden,
            )?,
            convolution: match layer.convolution {
                None => None,
                Some(convolution) => Some(self.convolution(convolution)?),
            },
            final_norm: norm(layer.final_norm, names.module(|it| it.final_norm), hidden)?,
        })
    }

    pub(crate) fn layer(&self, number: usize) -> Result<LayerWeights, ModelError> {
        let (c, layer, bias) = (self.config, &self.config.layer, self.config.layer.bias);
        let (hidden, inner, attention) = (c.hidden_size, c.intermediate_size, c.attention());
        type Name = fn(&LayerNames) -> &'static str;
        let module = |name: Name, from, to, bias| {
            self.linear(&[(self.names.of_layer(number, name), to)], from, bias)
        };
        let norm = |exists: bool, name: Name, width| {
            let read = exists.then(|| self.norm(&self.names.of_layer(number, name), width));
            read.transpose()
        };
        let qkv = self.names.qkv(number);
        let widths = match qkv.len() {
            1 => vec![attention.qkv()],
            _ => vec![attention.queries(), attention.keys(), attention.keys()],
        };
        let qkv: Vec<(String, usize)> = qkv.into_iter().zip(widths).collect();
        let around = layer.norm_placement == NormPlacement::Around;
        let own_positions = layer.disentangled.filter(|it| !it.shared_projections);
        let position = |wanted: fn(Disentangled) -> bool, name: Name| {
            let exists = own_positions.is_some_and(wanted);
            let read = exists.then(|| module(name, hidden, attention.queries(), true));
            read.transpose()
        };
        let gate = layer.gated.then(|| self.names.gate(number));
        let adapter = layer.adapter.as_ref().map(|it| {
            let [down, up] = self.names.adapter(number, it);
            let down = self.linear(&[(down, it.size)], hidden, true)?;
            let up = self.linear(&[(up, hidden)], it.size, true)?;
            Ok::<_, ModelError>(AdapterWeights { down, up })
        });
        Ok(LayerWeights {
            qkv: self.linear(&qkv, hidden, bias.qkv)?,
            output: module(|it| it.output, attention.queries(), hidden, bias.output)?,
            attention_norm: norm(
                number > 0 || layer.first_attention_norm,
                |it| it.attention_norm,
                hidden,
            )?,
            up: self.rows(self.names.up(number), hidden, inner, bias.up)?,
            down: module(|it| it.down, inner, hidden, bias.down)?,
            norm: self.norm(&self.names.of_layer(number, |it| it.norm), hidden)?,
            gate: gate
                .map(|gate| self.rows(gate, hidden, inner, bias.gate))
                .transpose()?,
            attention_output_norm: norm(around, |it| it.attention_output_norm, hidden)?,
            output_norm: norm(around, |it| it.output_norm, hidden)?,
            query_norm: norm(
                layer.query_key_norm,
                |it| it.query_norm,
                attention.head_size,
            )?,
            key_norm: norm(layer.query_key_norm, |it| it.key_norm, attention.head_size)?,
            position_key: position(|it| it.content_to_position, |it| it.position_key)?,
            position_query: position(|it| it.position_to_content, |it| it.position_query)?,
            adapter: adapter.transpose()?,
        })
    }

    /// Reads a convolution, `[to, from, kernel_size]` in PyTorch's layout.
    fn convolution(&self, convolution: Convolution) -> Result<ConvolutionWeights, ModelError> {
        let (size, hidden) = (convolution.kernel_size, self.config.hidden_size);
        let name = self.names.module(|it| it.convolution);
        let taps = self
            .weights
            .tensor(&format!("{name}.weight"), &[hidden, hidden, size])?;
        let mut weight = vec![0.0; taps.len()];
        for (at, value) in taps.iter().enumerate() {
            let (tap, from, to) = (at % size, at / size % hidden, at / size / hidden);
            weight[(tap * hidden + from) * hidden + to] = *value;
        }
        taps.release();
        let projection = LinearWeights {
            weight,
            bias: Some(self.weights.take(&format!("{name}.bias"), &[hidden])?),
            to: hidden,
        };
        let norm = self.norm(&self.names.module(|it| it.convolution_norm), hidden)?;
        Ok(ConvolutionWeights { projection, norm })
    }

    fn norm(&self, module: &str, width: usize) -> Result<NormWeights, ModelError> {
        let [scale, shift] = self.names.norm(module);
        let has_shift = self.config.layer.norm.has_shift();
        let shift = has_shift.then(|| self.weights.take(&shift, &[width]));
        Ok(NormWeights {
            scale: self.weights.take(&scale, &[width])?,
            shift: shift.transpose()?,
        })
    }

    /// Reads projections, each with its output dimension, and concatenates their outputs.
    fn linear(
        &self,
        parts: &[(String, usize)],
        from: usize,
        has_bias: bool,
    ) -> Result<LinearWeights, ModelError> {
        let weights = parts.iter().map(|(name, to)| {
            let name = format!("{name}.weight");
            self.weights.tensor(&name, &[*to, from])
        });
        let weights = weights.collect::<Result<Vec<_>, _>>()?;
        let mut bias = Vec::new();
        for (name, to) in parts.iter().filter(|_| has_bias) {
            bias.extend(self.weights.take(&format!("{name}.bias"), &[*to])?);
        }
        let all: Vec<&[f32]> = weights.iter().map(|weight| &**weight).collect();
        let weight = transposed(&all, from);
        weights.iter().for_each(TensorValues::release);
        Ok(LinearWeights {
            weight,
            bias: has_bias.then_some(bias),
            to: parts.iter().map(|(_, to)| to).sum(),
        })
    }

    /// Reads a projection that may be half of the rows of a tensor.
    fn rows(
        &self,
        part: RowsName,
        from: usize,
        to: usize,
        has_bias: bool,
    ) -> Result<LinearWeights, ModelError> {
        let Some(half) = part.half else {
            return self.linear(&[(part.name, to)], from, has_bias);
        };
        let name = part.name;
        let both = self
            .weights
            .tensor(&format!("{name}.weight"), &[2 * to, from])?;
        // Without elements if only headers are read.
        let rows = both.get(half * to * from..(half + 1) * to * from);
        let weight = transposed(&[rows.unwrap_or_default()], from);
        both.release();
        let bias = has_bias.then(|| self.weights.take(&format!("{name}.bias"), &[2 * to]));
        let bias = bias.transpose()?;
        Ok(LinearWeights {
            weight,
            bias: bias.map(|both| {
                let half = both.get(half * to..(half + 1) * to);
                half.unwrap_or_default().to_vec()
            }),
            to,
        })
    }
}

impl LinearWeights {
    /// Copies some of the outputs.
    pub(crate) fn columns(&self, columns: std::ops::Range<usize>) -> Self {
        let rows = self.weight.chunks_exact(self.to.max(1));
        Self {
            weight: rows
                .flat_map(|row| &row[columns.clone()])
                .copied()
                .collect(),
            bias: self
                .bias
                .as_ref()
                .map(|bias| bias[columns.clone()].to_vec()),
            to: columns.len(),
        }
    }

    fn into_module(self, device: &Device) -> Linear {
        let to = self.to;
        let from = self.weight.len() / to.max(1);
        Linear {
            weight: parameter(self.weight, [from, to], device),
            bias: self.bias.map(|bias| parameter(bias, [to], device)),
        }
    }

    /// Copies the weights of a module; `None` if they are not in CPU memory.
    pub(crate) fn from_module(linear: &Linear) -> Option<Self> {
        let [_, to] = linear.weight.val().dims();
        Some(Self {
            weight: values(&linear.weight)?,
            bias: optional(linear.bias.as_ref(), values)?,
            to,
        })
    }
}

impl NormWeights {
    fn into_module(self, epsilon: f64, device: &Device) -> LayerNorm {
        let width = self.scale.len();
        let config = LayerNormConfig::new(width).with_epsilon(epsilon);
        let mut norm = config.init(device);
        norm.gamma = parameter(self.scale, [width], device);
        norm.beta = self.shift.map(|shift| parameter(shift, [width], device));
        norm
    }

    /// Copies the weights of a module; `None` if they are not in CPU memory.
    pub(crate) fn from_module(norm: &LayerNorm) -> Option<Self> {
        Some(Self {
            scale: values(&norm.gamma)?,
            shift: optional(norm.beta.as_ref(), values)?,
        })
    }
}

impl EmbeddingWeights {
    /// Copies the weights before and after the layers of a model.
    pub(crate) fn from_model(model: &Transformer) -> Option<Self> {
        let table = |table: &Option<Param<Tensor<2>>>| optional(table.as_ref(), values);
        let in_memory = |table: Option<Vec<f32>>| table.map(TensorValues::InMemory);
        let norm = |norm: &Option<LayerNorm>| optional(norm.as_ref(), NormWeights::from_module);
        Some(Self {
            tokens: TensorValues::InMemory(values(&model.token_embeddings)?),
            positions: in_memory(table(&model.position_embeddings)?),
            types: in_memory(table(&model.token_type_embeddings)?),
            relative_position_bias: table(&model.relative_position_bias)?,
            norm: norm(&model.embedding_norm)?,
            projection: optional(
                model.embedding_projection.as_ref(),
                LinearWeights::from_module,
            )?,
            relative_positions: table(&model.relative_positions)?,
            relative_position_norm: norm(&model.relative_position_norm)?,
            convolution: optional(model.convolution.as_ref(), |it| {
                Some(ConvolutionWeights {
                    projection: LinearWeights::from_module(&it.projection)?,
                    norm: NormWeights::from_module(&it.norm)?,
                })
            })?,
            final_norm: norm(&model.final_norm)?,
        })
    }
}

impl LayerWeights {
    /// Copies the weights of a layer; `None` if they are not in CPU memory.
    pub(crate) fn from_layer(layer: &TransformerLayer) -> Option<Self> {
        let norm = |norm: &Option<LayerNorm>| optional(norm.as_ref(), NormWeights::from_module);
        let linear = |it: Option<&Linear>| optional(it, LinearWeights::from_module);
        let positions = layer.positions.as_ref();
        let adapter = |it: &AdapterProjections| {
            let down = LinearWeights::from_module(&it.down)?;
            let up = LinearWeights::from_module(&it.up)?;
            Some(AdapterWeights { down, up })
        };
        Some(Self {
            qkv: LinearWeights::from_module(&layer.qkv)?,
            output: LinearWeights::from_module(&layer.output)?,
            attention_norm: norm(&layer.attention_norm)?,
            up: LinearWeights::from_module(&layer.up)?,
            down: LinearWeights::from_module(&layer.down)?,
            norm: NormWeights::from_module(&layer.norm)?,
            gate: linear(layer.gate.as_ref())?,
            attention_output_norm: norm(&layer.attention_output_norm)?,
            output_norm: norm(&layer.output_norm)?,
            query_norm: norm(&layer.query_norm)?,
            key_norm: norm(&layer.key_norm)?,
            position_key: linear(positions.and_then(|it| it.key.as_ref()))?,
            position_query: linear(positions.and_then(|it| it.query.as_ref()))?,
            adapter: optional(layer.adapter.as_ref(), adapter)?,
        })
    }
}

/// Copies what exists; `None` if it exists and cannot be copied.
fn optional<T, U>(value: Option<&T>, copy: impl FnOnce(&T) -> Option<U>) -> Option<Option<U>> {
    match value {
        None => Some(None),
        Some(value) => copy(value).map(Some),
    }
}

fn values<const D: usize>(parameter: &Param<Tensor<D>>) -> Option<Vec<f32>> {
    parameter.val().try_into_vec_as::<f32>().ok()
}

fn parameter<const D: usize>(
    values: Vec<f32>,
    shape: [usize; D],
    device: &Device,
) -> Param<Tensor<D>> {
    Param::from_tensor(Tensor::from_data(TensorData::new(values, shape), device))
}
