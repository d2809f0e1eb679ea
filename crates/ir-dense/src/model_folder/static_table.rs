//! Weight file of static embeddings: a vector per token, or per cluster of tokens.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::weights::check_finite;
use super::{
    Architecture, LayerConfig, TensorSource, TensorValues, TransformerConfig, WeightFile, read_json,
};
use crate::error::ModelError;

/// Tensor of the vectors in folders of model2vec.
const MODEL2VEC_TENSOR: &str = "embeddings";
/// Tensor of the vectors in modules of sentence-transformers.
const MODULE_TENSOR: &str = "embedding.weight";
/// Weight of every token.
const WEIGHTS: &str = "weights";
/// Row of every token.
const MAPPING: &str = "mapping";

impl Architecture {
    /// Static embeddings: a table of token vectors without a transformer, as model2vec and the
    /// module StaticEmbedding of sentence-transformers write it.
    pub const STATIC: Self = Self("static-embedding");
}

/// Table of token vectors in a weight file: f32, f16, bf16, f64 or int8, `[tokens, dim]`. With
/// vocabulary quantization, tokens share rows, and have a weight each.
#[derive(Debug, Clone)]
pub(crate) struct StaticTable {
    file: Arc<WeightFile>,
    /// Name of the tensor of the vectors.
    tensor: &'static str,
    /// Rows and columns of the tensor.
    shape: [usize; 2],
    /// Number of tokens: of the mapping, or else of the rows.
    tokens: usize,
}

impl StaticTable {
    /// Opens the weights of a folder. Elements are read by [`TensorSource::tensor`].
    pub(crate) fn open(folder: &Path) -> Result<Self, ModelError> {
        let file = Arc::new(WeightFile::open(folder)?);
        let has = |name: &str| file.shape(name).is_ok();
        let tensor = if has(MODEL2VEC_TENSOR) {
            MODEL2VEC_TENSOR
        } else {
            MODULE_TENSOR
        };
        let (element, found) = file.info(tensor)?;
        let error = |field: String, expected: String, found: String| {
            Err(ModelError::setting(file.path(), field, expected, found))
        };
        let elements = ["f64", "f32", "f16", "bf16", "i8"];
        if !elements.contains(&&*element) {
            let expected = "f32, f16, bf16, f64 or i8".to_owned();
            return error(format!("element type of {tensor}"), expected, element);
        }
        let &[rows, dim] = found else {
            let expected = "[tokens, dimensions]".to_owned();
            return error(format!("shape of {tensor}"), expected, format!("{found:?}"));
        };
        if rows == 0 || dim == 0 {
            let expected = "at least one token and one dimension".to_owned();
            return error(format!("shape of {tensor}"), expected, format!("{found:?}"));
        }
        let mut table = Self {
            file: Arc::clone(&file),
            tensor,
            shape: [rows, dim],
            tokens: rows,
        };
        if tensor != MODEL2VEC_TENSOR {
            return Ok(table);
        }
        if has(MAPPING) {
            let (element, found) = file.info(MAPPING)?;
            if !["i64", "i32"].contains(&&*element) {
                let expected = "i64 or i32".to_owned();
                return error(format!("element type of {MAPPING}"), expected, element);
            }
            let &[tokens] = found else {
                let expected = "[tokens]".to_owned();
                return error(
                    format!("shape of {MAPPING}"),
                    expected,
                    format!("{found:?}"),
                );
            };
            table.tokens = tokens;
        }
        if has(WEIGHTS) {
            file.check_header(WEIGHTS, &[table.tokens])?;
        }
        Ok(table)
    }

    /// Configuration of an encoder without layers that reads the table.
    pub(crate) fn config(&self, max_tokens: usize) -> TransformerConfig {
        let mut config = TransformerConfig::new(Architecture::STATIC);
        config.vocab_size = self.tokens;
        config.hidden_size = self.shape[1];
        config.heads = 1;
        config.intermediate_size = 1;
        config.max_positions = max_tokens;
        config.layer = LayerConfig {
            embedding_norm: false,
            position_embeddings: false,
            ..LayerConfig::default()
        };
        config
    }

    /// Returns `true` for the layout of model2vec.
    pub(crate) fn is_model2vec(&self) -> bool {
        self.tensor == MODEL2VEC_TENSOR
    }

    pub(crate) fn file(&self) -> &Arc<WeightFile> {
        &self.file
    }

    /// Rows of the file.
    fn rows(&self) -> Result<TensorValues, ModelError> {
        if self.file.info(self.tensor)?.0 != "i8" {
            return self.file.tensor(self.tensor, &self.shape);
        }
        let bytes = self.file.raw(self.tensor)?;
        let values = bytes.as_ref().iter();
        let values = values.map(|&byte| f32::from(byte.cast_signed())).collect();
        bytes.release();
        Ok(TensorValues::InMemory(values))
    }

    /// Row of every token; `None` without a mapping.
    fn mapping(&self) -> Result<Option<Vec<usize>>, ModelError> {
        if !self.is_model2vec() || self.file.shape(MAPPING).is_err() {
            return Ok(None);
        }
        let bytes = self.file.raw(MAPPING)?;
        let numbers: Vec<i64> = match &*self.file.info(MAPPING)?.0 {
            "i64" => {
                let (numbers, _) = bytes.as_ref().as_chunks::<8>();
                numbers.iter().map(|&it| i64::from_le_bytes(it)).collect()
            }
            _ => {
                let (numbers, _) = bytes.as_ref().as_chunks::<4>();
                let numbers = numbers.iter().map(|&it| i32::from_le_bytes(it));
                numbers.map(i64::from).collect()
            }
        };
        let rows = self.shape[0];
        let row = |(token, &number): (usize, &i64)| {
            let row = usize::try_from(number).ok().filter(|&row| row < rows);
            row.ok_or_else(|| {
                let field = format!("element {token} of {MAPPING}");
                let expected = format!("a row of {MODEL2VEC_TENSOR}, 0 to {}", rows - 1);
                ModelError::setting(self.file.path(), field, expected, number)
            })
        };
        let mapping = numbers.iter().enumerate().map(row);
        mapping.collect::<Result<_, _>>().map(Some)
    }

    /// Weight of every token; `None` without weights.
    fn weights(&self) -> Result<Option<Vec<f32>>, ModelError> {
        let has_weights = self.is_model2vec() && self.file.shape(WEIGHTS).is_ok();
        let read = has_weights.then(|| self.file.take(WEIGHTS, &[self.tokens]));
        read.transpose()
    }
}

impl TensorSource for StaticTable {
    fn names(&self) -> Vec<String> {
        Vec::new()
    }

    /// Vectors of all tokens, with their weights. The only tensor of an encoder without layers.
    fn tensor(&self, _: &str, _: &[usize]) -> Result<TensorValues, ModelError> {
        let rows = self.rows()?;
        let (mapping, weights) = (self.mapping()?, self.weights()?);
        if mapping.is_none() && weights.is_none() {
            return Ok(rows);
        }
        let dim = self.shape[1];
        let mut table = Vec::new();
        let size = self.tokens.saturating_mul(dim);
        if table.try_reserve_exact(size).is_err() {
            let expected = "a table that fits into memory";
            let found = format!("{} vectors of {dim} dimensions", self.tokens);
            return Err(ModelError::setting(
                self.file.path(),
                MAPPING,
                expected,
                found,
            ));
        }
        for token in 0..self.tokens {
            let row = mapping.as_ref().map_or(token, |mapping| mapping[token]);
            let row = &rows[row * dim..][..dim];
            match &weights {
                None => table.extend(row),
                Some(weights) => table.extend(row.iter().map(|value| value * weights[token])),
            }
        }
        rows.release();
        check_finite(self.file.path(), "weighted embeddings", &table)?;
        Ok(TensorValues::InMemory(table))
    }
}

/// Settings of a folder of model2vec, in `config.json`.
#[derive(Debug, Clone, Default, serde::Deserialize)]
#[serde(default)]
pub(crate) struct Model2VecConfig {
    /// If `true`, vectors are L2-normalized.
    normalize: Option<bool>,
    /// Maximum length of a text in tokens, which null switches off.
    #[serde(deserialize_with = "given")]
    max_length: Option<Option<usize>>,
}

/// A value that is given, which may be null.
fn given<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Option<usize>>, D::Error> {
    serde::Deserialize::deserialize(from).map(Some)
}

impl Model2VecConfig {
    /// Default maximum length of a text in tokens.
    const MAX_TOKENS: usize = 512;

    /// Reads the settings of a folder; the default without a file.
    pub(crate) fn read(folder: &Path) -> Result<Self, ModelError> {
        let path = folder.join("config.json");
        let config = read_json::<Self>(&path)?.unwrap_or_default();
        if config.max_length == Some(Some(0)) {
            return Err(ModelError::setting(
                &path,
                "max_length",
                "1 or more, or null",
                0,
            ));
        }
        Ok(config)
    }

    /// Maximum length of a text in tokens; [`None`] for texts of any length.
    pub(crate) fn max_tokens(&self) -> Option<usize> {
        self.max_length.unwrap_or(Some(Self::MAX_TOKENS))
    }

    /// Returns `true` for a folder of model2vec, according to `model_type` of `config.json`.
    pub(crate) fn is_in(folder: &Path) -> Result<bool, ModelError> {
        let config = read_json::<Value>(&folder.join("config.json"))?;
        Ok(config.is_some_and(|config| config["model_type"] == "model2vec"))
    }

    /// Returns `true` if vectors are L2-normalized.
    pub(crate) fn normalizes(&self) -> bool {
        self.normalize.unwrap_or(false)
    }
}
