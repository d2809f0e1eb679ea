//! Modules of sentence-transformers after pooling, or of the vectors of tokens: Dense, LayerNorm,
//! Normalize and Dropout, and the truncation of `truncate_dim`.
//!
//! Inference on the CPU runs row by row, so that a vector does not depend on its batch. Other
//! backends and training use burn's operations. The weights of bi-encoders are not trained.

use std::path::Path;

use burn::tensor::Tensor;
use ir_core::Fnv1a;
use pulp::bytemuck;
use serde_json::{Map, Value};

use super::dense::{DenseLayer, constant};
use super::module_config::{SENTENCE_EMBEDDING, check_input, check_names, parse};
use super::module_entry::SentenceTransformersModule;
use super::pooling::{normalize, normalize_row};
use crate::error::ModelError;
use crate::model_folder::{
    NamedTensor, TensorSource, WeightFile, create_folder, read_json, write_json, write_weights,
};

/// ε of `torch.nn.LayerNorm`.
const LAYER_NORM_EPS: f32 = 1e-5;

/// Modules between pooling and the vector, in the order of `modules.json`.
#[derive(Debug, Clone)]
pub(crate) struct VectorModules {
    modules: Vec<VectorModule>,
    /// Dimension of pooled vectors or of the hidden states of tokens.
    input: usize,
    /// Number of dimensions that are kept of the output of the last module.
    truncate_dim: Option<usize>,
}

/// Module with its `config.json`.
#[derive(Debug, Clone)]
struct VectorModule {
    config: Map<String, Value>,
    operation: Operation,
}

/// Module of the vectors of tokens.
#[derive(Debug, Clone, Copy)]
pub(crate) enum TokenModule<'a> {
    Dense(&'a DenseLayer),
    Normalize,
}

#[derive(Debug, Clone)]
enum Operation {
    Dense(DenseLayer),
    LayerNorm {
        scale: Vec<f32>,
        shift: Vec<f32>,
    },
    Normalize,
    /// No effect in inference.
    Dropout,
}

/// `config.json` of a LayerNorm module.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct LayerNormConfig {
    dimension: usize,
}

/// `config.json` of a Normalize module.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct NormalizeConfig {
    module_input_name: Option<String>,
    module_output_name: Option<String>,
}

impl VectorModules {
    /// Reads the modules of a folder that follow pooling, `[texts, input]`, and their weights. The
    /// last one writes `output`.
    pub(crate) fn read(
        folder: &Path,
        entries: &[SentenceTransformersModule],
        input: usize,
        truncate_dim: Option<usize>,
        output: &str,
    ) -> Result<Self, ModelError> {
        // After Transformer and Pooling.
        Self::read_from(2, folder, entries, input, truncate_dim, output)
    }

    /// [`Self::read`] of modules from the position `first` of `modules.json` on.
    pub(crate) fn read_from(
        first: usize,
        folder: &Path,
        entries: &[SentenceTransformersModule],
        input: usize,
        truncate_dim: Option<usize>,
        output: &str,
    ) -> Result<Self, ModelError> {
        let mut read = Self::new(input);
        for (position, entry) in (first..).zip(entries) {
            let name = entry.name();
            let names = ["Dense", "LayerNorm", "Normalize", "Dropout"];
            if !names.contains(&name) {
                let expected = "Dense, LayerNorm, Normalize or Dropout of sentence_transformers";
                return Err(entry.unexpected(folder, position, expected));
            }
            let own = entry.folder(folder, position)?;
            let is_last = position + 1 == first + entries.len();
            let writes = if is_last && name == "Dense" {
                output
            } else {
                SENTENCE_EMBEDDING
            };
            read.add(&own, name, [SENTENCE_EMBEDDING, writes])?;
        }
        read.truncate(truncate_dim);
        Ok(read)
    }

    /// No modules: vectors are the pooled vectors, or the hidden states of tokens.
    pub(crate) fn new(input: usize) -> Self {
        Self {
            modules: Vec::new(),
            input,
            truncate_dim: None,
        }
    }

    /// Adds the module of a folder, by the name of its class: Dense, LayerNorm, Normalize, or
    /// Dropout for any other. The module must read the first of `features` and write the second.
    pub(crate) fn add(
        &mut self,
        own: &Path,
        name: &str,
        features: [&str; 2],
    ) -> Result<(), ModelError> {
        let path = own.join("config.json");
        let config = read_json::<Map<String, Value>>(&path)?;
        let operation = match name {
            "Dense" => Operation::Dense(DenseLayer::read(own, &config, self.dim(), features)?),
            "LayerNorm" => {
                let shape: LayerNormConfig = parse(&path, own, &config)?;
                check_input(&path, "dimension", shape.dimension, self.dim())?;
                let weights = WeightFile::open(own)?;
                let shape = [shape.dimension];
                let scale = weights.take("norm.weight", &shape)?;
                let shift = weights.take("norm.bias", &shape)?;
                Operation::LayerNorm { scale, shift }
            }
            "Normalize" => {
                if config.is_some() {
                    let names: NormalizeConfig = parse(&path, own, &config)?;
                    let names = [&names.module_input_name, &names.module_output_name];
                    check_names(&path, features, names)?;
                }
                Operation::Normalize
            }
            _ => Operation::Dropout,
        };
        let config = config.unwrap_or_default();
        self.modules.push(VectorModule { config, operation });
        Ok(())
    }

    /// Adds a projection without bias, a tensor `[outputs, input]` of a weight file.
    pub(crate) fn add_projection(
        &mut self,
        weights: &WeightFile,
        tensor: &str,
    ) -> Result<(), ModelError> {
        let dense = DenseLayer::projection(weights, tensor, self.dim())?;
        self.add_dense(dense);
        Ok(())
    }

    /// Adds a projection without bias. `weight`: `[input, outputs]`.
    pub(crate) fn add_new_projection(&mut self, weight: Vec<f32>, outputs: usize) {
        self.add_dense(DenseLayer::without_bias(weight, outputs));
    }

    fn add_dense(&mut self, dense: DenseLayer) {
        let (config, operation) = (dense.config(), Operation::Dense(dense));
        self.modules.push(VectorModule { config, operation });
    }

    /// Modules of the vectors of tokens; folders of late-interaction models have no others.
    pub(crate) fn token_modules(&self) -> impl Iterator<Item = TokenModule<'_>> {
        let modules = self.modules.iter();
        modules.filter_map(|module| match &module.operation {
            Operation::Dense(dense) => Some(TokenModule::Dense(dense)),
            Operation::Normalize => Some(TokenModule::Normalize),
            Operation::LayerNorm { .. } | Operation::Dropout => None,
        })
    }

    /// Name, shape and elements of the parameters of Dense modules, in order.
    pub(crate) fn parameters(&self) -> Vec<(String, Vec<usize>, &[f32])> {
        let mut parameters = Vec::new();
        for (number, module) in self.modules.iter().enumerate() {
            if let Operation::Dense(dense) = &module.operation {
                let own = dense.parameters().into_iter();
                let named = own.map(|(name, shape, values)| {
                    (format!("modules.{number}.{name}"), shape, values)
                });
                parameters.extend(named);
            }
        }
        parameters
    }

    /// Elements of a parameter of [`Self::parameters`]; `None` if there is none of this name.
    pub(crate) fn parameter_mut(&mut self, name: &str) -> Option<&mut Vec<f32>> {
        let (number, name) = name.strip_prefix("modules.")?.split_once('.')?;
        let module = self.modules.get_mut(number.parse::<usize>().ok()?)?;
        match &mut module.operation {
            Operation::Dense(dense) => dense.parameter_mut(name),
            _ => None,
        }
    }

    /// Names what every module reads and writes in its configuration.
    pub(crate) fn with_feature(mut self, feature: &str) -> Self {
        for module in &mut self.modules {
            for name in ["module_input_name", "module_output_name"] {
                module.config.insert(name.into(), feature.into());
            }
        }
        self
    }

    /// Keeps at most `dim` dimensions of the output of the last module.
    pub(crate) fn truncate(&mut self, dim: Option<usize>) {
        self.truncate_dim = dim.filter(|&dim| dim < self.dim());
    }

    /// Returns `true` if a module projects.
    pub(crate) fn has_projection(&self) -> bool {
        let mut modules = self.modules.iter();
        modules.any(|module| matches!(module.operation, Operation::Dense(_)))
    }

    /// Dimension of the vectors.
    pub(crate) fn dim(&self) -> usize {
        self.truncate_dim.unwrap_or(self.full_dim())
    }

    /// Dimension of the vectors before truncation.
    pub(crate) fn full_dim(&self) -> usize {
        let outputs = |module: &VectorModule| match &module.operation {
            Operation::Dense(dense) => Some(dense.outputs()),
            _ => None,
        };
        let output = self.modules.iter().rev().find_map(outputs);
        output.unwrap_or(self.input)
    }

    /// Dimension of pooled vectors or of the hidden states of tokens.
    pub(crate) fn input_dim(&self) -> usize {
        self.input
    }

    /// Name of every module, its output dimension, and the activation function of Dense modules.
    pub(crate) fn describe(&self) -> Vec<(&'static str, usize, Option<&'static str>)> {
        let mut dim = self.input;
        let modules = self.modules.iter().map(|module| {
            let mut activation = None;
            if let Operation::Dense(dense) = &module.operation {
                (dim, activation) = (dense.outputs(), Some(dense.activation()));
            }
            (module.operation.name(), dim, activation)
        });
        modules.collect()
    }

    /// Maximum dimension of the vectors, if the folder sets it below the output of the modules.
    pub(crate) fn truncate_dim(&self) -> Option<usize> {
        self.truncate_dim
    }

    /// Removes Normalize modules at the end; returns `true` if there are any.
    pub(crate) fn remove_last_normalize(&mut self) -> bool {
        let before = self.modules.len();
        while let Some(Operation::Normalize) = self.modules.last().map(|it| &it.operation) {
            self.modules.pop();
        }
        self.modules.len() < before
    }

    /// Returns `true` if vectors are the pooled vectors.
    pub(crate) fn is_identity(&self) -> bool {
        self.truncate_dim.is_none() && self.effective().next().is_none()
    }

    fn effective(&self) -> impl Iterator<Item = &VectorModule> {
        let modules = self.modules.iter();
        modules.filter(|it| !matches!(it.operation, Operation::Dropout))
    }

    /// Hash of configuration, weights and truncation; `None` if vectors are the pooled vectors.
    pub(crate) fn hash(&self) -> Option<u64> {
        if self.is_identity() {
            return None;
        }
        let mut hash = Fnv1a::new();
        for module in self.effective() {
            hash.write(format!("{:?}", module.operation.name()).as_bytes());
            hash.write(Value::Object(module.config.clone()).to_string().as_bytes());
            for (name, _, values) in module.operation.weights() {
                hash.write(name.as_bytes());
                hash.write(bytemuck::cast_slice(&values));
            }
        }
        hash.write(format!("{:?}", self.truncate_dim).as_bytes());
        Some(hash.finish())
    }

    /// Writes one vector per pooled vector.
    ///
    /// # Shapes
    /// `pooled`: `[texts, input]`; `out`: `[texts, dim]`.
    pub(crate) fn apply_rows(&self, pooled: &[f32], out: &mut [f32]) {
        let pooled = pooled.chunks_exact(self.input.max(1));
        for (pooled, out) in pooled.zip(out.chunks_exact_mut(self.dim().max(1))) {
            let mut vector = pooled.to_vec();
            for module in &self.modules {
                match &module.operation {
                    Operation::Dense(dense) => vector = dense.apply_row(&vector),
                    Operation::LayerNorm { scale, shift } => {
                        layer_norm_row(&mut vector, scale, shift);
                    }
                    Operation::Normalize => normalize_row(&mut vector),
                    Operation::Dropout => {}
                }
            }
            out.copy_from_slice(&vector[..out.len()]);
        }
    }

    /// Returns one vector per pooled vector. Differentiable with respect to `pooled`.
    ///
    /// # Shapes
    /// `pooled`: `[texts, input]`; result: `[texts, dim]`.
    pub(crate) fn apply(&self, pooled: Tensor<2>) -> Tensor<2> {
        let mut vectors = pooled;
        for module in &self.modules {
            let device = vectors.device();
            let row = |values: &[f32]| constant(values, [1, values.len()], &device);
            vectors = match &module.operation {
                Operation::Dense(dense) => dense.apply(vectors),
                Operation::LayerNorm { scale, shift } => {
                    let centered = vectors.clone() - vectors.mean_dim(1);
                    let variance = centered.clone().powi_scalar(2).mean_dim(1);
                    let normalized = centered / (variance + LAYER_NORM_EPS).sqrt();
                    normalized * row(scale) + row(shift)
                }
                Operation::Normalize => normalize(vectors),
                Operation::Dropout => vectors,
            };
        }
        match self.truncate_dim {
            Some(dim) => {
                let [texts, _] = vectors.dims();
                vectors.slice([0..texts, 0..dim])
            }
            None => vectors,
        }
    }

    /// Writes the modules to a folder, numbered from `first`; returns their entries in
    /// `modules.json`.
    pub(crate) fn write(
        &self,
        folder: &Path,
        first: usize,
    ) -> Result<Vec<SentenceTransformersModule>, ModelError> {
        let write = |(number, module): (usize, &VectorModule)| {
            let name = module.operation.name();
            let entry = SentenceTransformersModule::new(format!("{number}_{name}"), name);
            let own = folder.join(&entry.path);
            create_folder(&own)?;
            if !module.config.is_empty() {
                let config = Value::Object(module.config.clone());
                write_json(&own.join("config.json"), &config)?;
            }
            let weights = module.operation.weights();
            if !weights.is_empty() {
                let named = |(name, shape, values): (&str, Vec<usize>, Vec<f32>)| {
                    NamedTensor::of_values(name.into(), shape, values)
                };
                let tensors: Vec<NamedTensor> = weights.into_iter().map(named).collect();
                write_weights(&own, &tensors)?;
            }
            Ok(entry)
        };
        let modules = self.modules.iter().enumerate();
        modules
            .map(|(at, module)| write((first + at, module)))
            .collect()
    }
}

impl Operation {
    /// Name of the class in sentence-transformers.
    fn name(&self) -> &'static str {
        match self {
            Self::Dense(_) => "Dense",
            Self::LayerNorm { .. } => "LayerNorm",
            Self::Normalize => "Normalize",
            Self::Dropout => "Dropout",
        }
    }

    /// Name, shape and elements of the weights, as in the file of the module.
    fn weights(&self) -> Vec<(&'static str, Vec<usize>, Vec<f32>)> {
        match self {
            Self::Dense(dense) => dense.weights(),
            Self::LayerNorm { scale, shift } => vec![
                ("norm.weight", vec![scale.len()], scale.clone()),
                ("norm.bias", vec![shift.len()], shift.clone()),
            ],
            Self::Normalize | Self::Dropout => Vec::new(),
        }
    }
}

fn layer_norm_row(row: &mut [f32], scale: &[f32], shift: &[f32]) {
    let count = row.len() as f32;
    let mean = row.iter().sum::<f32>() / count;
    row.iter_mut().for_each(|x| *x -= mean);
    let variance = row.iter().map(|x| x * x).sum::<f32>() / count;
    let factor = (variance + LAYER_NORM_EPS).sqrt().recip();
    let weights = scale.iter().zip(shift);
    row.iter_mut()
        .zip(weights)
        .for_each(|(x, (scale, shift))| *x = *x * factor * scale + shift);
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use burn::tensor::Device;

    use super::super::dense::tests::layer;
    use super::*;

    fn modules(truncate_dim: Option<usize>) -> VectorModules {
        let weight = vec![0.5, -1.0, 2.0, 0.25, 1.5, -0.75];
        let dense = layer(weight, vec![0.1, 0.0, -0.2], None);
        let norm = Operation::LayerNorm {
            scale: vec![1.0, 2.0],
            shift: vec![0.0, 0.5],
        };
        let operations = [norm, Operation::Dropout, Operation::Dense(dense)];
        let operations = operations.into_iter().chain([Operation::Normalize]);
        let module = |operation| VectorModule {
            config: Map::new(),
            operation,
        };
        VectorModules {
            modules: operations.map(module).collect(),
            input: 2,
            truncate_dim,
        }
    }

    #[test]
    fn rows_equal_tensors() {
        let pooled = [3.0, -1.0, 0.25, 0.5];
        for truncate_dim in [None, Some(1), Some(2)] {
            let modules = modules(truncate_dim);
            let dim = modules.dim();
            assert_eq!(dim, truncate_dim.unwrap_or(3));
            let mut found = vec![0.0; 2 * dim];
            modules.apply_rows(&pooled, &mut found);
            let expected = modules.apply(constant(&pooled, [2, 2], &Device::flex()));
            assert_eq!(expected.dims(), [2, dim]);
            let expected = expected.try_into_vec_as::<f32>().unwrap();
            for (a, b) in found.iter().zip(&expected) {
                assert!((a - b).abs() < 1e-5, "{found:?}, {expected:?}");
            }
        }
        // LayerNorm maps (3, -1) to (1, -1.5).
        let mut found = vec![0.0; 6];
        let mut without = modules(None);
        assert!(without.remove_last_normalize() && !without.remove_last_normalize());
        without.apply_rows(&pooled, &mut found);
        let sums: [f32; 3] = [0.5 - 0.375 + 0.1, -1.0 - 2.25, 2.0 + 1.125 - 0.2];
        for (x, sum) in found.iter().zip(sums) {
            assert!((x - sum.tanh()).abs() < 1e-4, "{found:?}");
        }
    }

    #[test]
    fn hashes_ignore_dropout() {
        let all = modules(None);
        let mut other = all.clone();
        other.modules.remove(1);
        assert_eq!(all.hash(), other.hash());
        assert_ne!(all.hash(), modules(Some(2)).hash());
        other.modules.clear();
        assert_eq!(other.hash(), None);
        assert!(other.is_identity() && other.dim() == 2);
    }
}
