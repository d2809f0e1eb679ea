//! `adapter_config.json`: the adapter of a folder, of either library, and its base model.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::weights::{WeightFile, has_weights};
use super::{hub_cache, read_json};
use crate::error::ModelError;

/// Configuration of an adapter. A folder that has it is an adapter of another model, or of the
/// model in the same folder.
pub(crate) const ADAPTER_CONFIG: &str = "adapter_config.json";

/// Weights of an adapter of PEFT, one of which is required: safetensors or PyTorch.
const PEFT_WEIGHTS: [&str; 2] = ["adapter_model.safetensors", "adapter_model.bin"];

/// Weights of an adapter of the library `adapters`, one of which is required: safetensors or
/// PyTorch.
pub(super) const BOTTLENECK_WEIGHTS: [&str; 2] = ["adapter.safetensors", "pytorch_adapter.bin"];

/// Weights of an adapter of either library.
pub(crate) const ADAPTER_WEIGHTS: [&str; 4] = [
    PEFT_WEIGHTS[0],
    PEFT_WEIGHTS[1],
    BOTTLENECK_WEIGHTS[0],
    BOTTLENECK_WEIGHTS[1],
];

/// `adapter_config.json`.
pub(super) struct AdapterConfig {
    pub(super) path: PathBuf,
    pub(super) fields: Map<String, Value>,
}

impl AdapterConfig {
    /// Reads `adapter_config.json`; `None` if there is no such file.
    pub(super) fn read(folder: &Path) -> Result<Option<Self>, ModelError> {
        let path = folder.join(ADAPTER_CONFIG);
        let fields = read_json::<Map<String, Value>>(&path)?;
        Ok(fields.map(|fields| Self { path, fields }))
    }

    /// Returns `true` for an adapter of the library `adapters`.
    pub(super) fn is_of_adapters(&self) -> bool {
        let is_of_peft = self.fields.get("peft_type").is_some_and(|it| !it.is_null());
        !is_of_peft && self.fields.contains_key("config")
    }

    pub(super) fn error(
        &self,
        field: &str,
        expected: impl Into<String>,
        found: &Value,
    ) -> ModelError {
        ModelError::setting(&self.path, field, expected, found)
    }

    /// Folder of the base model: the folder of the adapter if it has weights, a folder relative to
    /// it, or a model in the cache.
    pub(super) fn base_folder(&self, folder: &Path) -> Result<PathBuf, ModelError> {
        if has_weights(folder) {
            return Ok(folder.into());
        }
        let field = if self.is_of_adapters() {
            "model_name"
        } else {
            "base_model_name_or_path"
        };
        let found = self.fields.get(field).unwrap_or(&Value::Null);
        let Some(name) = found.as_str().filter(|name| !name.is_empty()) else {
            let expected = "the folder or name of the base model, which has no weights here";
            return Err(self.error(field, expected, found));
        };
        let named = folder.join(name);
        let base = if named.join("config.json").is_file() {
            named
        } else {
            let revision = self.fields.get("revision").and_then(Value::as_str);
            let cache = hub_cache::default_folder();
            let cached = cache
                .as_deref()
                .and_then(|cache| hub_cache::find(cache, name, revision.unwrap_or("main")));
            cached.ok_or_else(|| {
                let cache = cache.unwrap_or_else(|| "the cache of the hub".into());
                let revision = revision.map_or(String::new(), |it| format!("@{it}"));
                let expected = format!(
                    "a model folder or a model in {}: `ir models fetch {name}{revision}` \
                     downloads it",
                    cache.display()
                );
                self.error(field, expected, found)
            })?
        };
        if base.join(ADAPTER_CONFIG).exists() {
            let expected = "a model without an adapter of its own";
            return Err(self.error(field, expected, found));
        }
        Ok(base)
    }

    /// Opens the weights of the adapter.
    pub(super) fn open_weights(&self, folder: &Path) -> Result<WeightFile, ModelError> {
        let (names, expected) = if self.is_of_adapters() {
            let expected = "adapter.safetensors or pytorch_adapter.bin";
            (BOTTLENECK_WEIGHTS, expected)
        } else {
            let expected = "adapter_model.safetensors or adapter_model.bin";
            (PEFT_WEIGHTS, expected)
        };
        let [safetensors, pytorch] = names.map(|name| folder.join(name));
        if safetensors.exists() {
            return WeightFile::open_safetensors(safetensors);
        }
        if pytorch.exists() {
            return WeightFile::open_pytorch(pytorch);
        }
        Err(ModelError::MissingFile {
            folder: folder.into(),
            expected,
        })
    }
}

/// Tensor of a weight file with a name. One of the names may start with one more part: the name of
/// the encoder in a model with a head.
pub(super) fn find_tensor<'a>(name: &str, all: &'a [String]) -> Option<&'a String> {
    fn inner(name: &str) -> Option<&str> {
        name.split_once('.').map(|(_, inner)| inner)
    }
    let find = |is_same: &dyn Fn(&str) -> bool| all.iter().find(|it| is_same(it.as_str()));
    find(&|tensor| tensor == name)
        .or_else(|| find(&|tensor| inner(tensor) == Some(name)))
        .or_else(|| find(&|tensor| inner(name) == Some(tensor)))
}

#[cfg(test)]
mod tests {
    use super::find_tensor;

    #[test]
    fn tensors_are_found_by_their_whole_name() {
        let all = [
            "pooler.dense.weight",
            "bert.encoder.layer.0.output.dense.weight",
            "embeddings.word_embeddings.weight",
        ];
        let all = all.map(str::to_owned);
        for (module, expected) in [
            ("pooler.dense", Some(0)),
            ("bert.pooler.dense", Some(0)),
            ("encoder.layer.0.output.dense", Some(1)),
            ("bert.encoder.layer.0.output.dense", Some(1)),
            ("embeddings.word_embeddings", Some(2)),
            // The end of another name.
            ("output.dense", None),
            ("layer.0.output.dense", None),
            ("a.b.pooler.dense", None),
        ] {
            assert_eq!(
                find_tensor(&format!("{module}.weight"), &all),
                expected.map(|at: usize| &all[at]),
                "{module}"
            );
        }
    }
}
