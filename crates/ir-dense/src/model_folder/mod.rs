//! Files of a model folder in the Hugging Face layout.
//!
//! - `config`: `config.json`
//! - `remote_code`: error of an unknown architecture, and code in the folder
//! - `weights`: reader of `model.safetensors`, its shards, and `pytorch_model.bin`
//! - `tensor_values`: elements of a tensor, in memory or in a memory-mapped file
//! - `static_table`: reader of static embeddings
//! - `adapter`: adapters of a folder, with the configuration `adapter_config`: `lora` is added to
//!   the weights, `bottleneck` adds layers
//! - `hub_cache`: folders of models in the cache of the hub
//! - `safetensors`: writer of safetensors files
//! - this module: JSON files, and atomic writes of files and folders

mod adapter;
mod adapter_config;
mod bottleneck;
mod config;
pub(crate) mod hub_cache;
mod lora;
pub(crate) mod remote_code;
pub(crate) mod safetensors;
mod static_table;
mod tensor_values;
mod weights;

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Component, Path, PathBuf};

use ir_core::store::{AtomicFile, AtomicFolder};
use serde::de::DeserializeOwned;
use serde_json::Value;

pub(crate) use adapter::{base_folder, bottleneck_adapter};
pub(crate) use adapter_config::{ADAPTER_CONFIG, ADAPTER_WEIGHTS};
pub(crate) use config::AttentionShape;
pub use config::{
    Architecture, Biases, BottleneckAdapter, Convolution, Disentangled, LayerConfig, Norm,
    NormPlacement, Rotary, RotaryScaling, SharedLayers, TransformerConfig,
};
pub(crate) use safetensors::NamedTensor;
pub(crate) use static_table::{Model2VecConfig, StaticTable};
pub(crate) use tensor_values::{TensorValues, transposed};
pub(crate) use weights::{SAFETENSORS_INDEX, TensorSource, WeightFile, shard_names};

use crate::error::ModelError;

/// Returns the bytes of a file; `None` if there is no such file.
pub(crate) fn read_bytes(path: &Path) -> Result<Option<Vec<u8>>, ModelError> {
    match fs::read(path) {
        Ok(bytes) if is_lfs_pointer(&bytes) => Err(ModelError::Pointer { path: path.into() }),
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            check_link(path)?;
            Ok(None)
        }
        Err(source) => Err(ModelError::Read {
            path: path.into(),
            source,
        }),
    }
}

fn is_lfs_pointer(bytes: &[u8]) -> bool {
    bytes.starts_with(b"version https://git-lfs")
}

/// Returns an error if the path is a symbolic link without target.
fn check_link(path: &Path) -> Result<(), ModelError> {
    match fs::read_link(path) {
        Ok(target) if !path.exists() => Err(ModelError::Dangling {
            path: path.into(),
            target,
        }),
        _ => Ok(()),
    }
}

/// Returns the path of a file or folder that `file` names relative to `folder`.
///
/// # Errors
/// Returns [`ModelError::Setting`] with `field` if the path is absolute or leads out of `folder`.
pub(crate) fn inner_path(
    file: &Path,
    folder: &Path,
    path: &str,
    field: impl FnOnce() -> String,
) -> Result<PathBuf, ModelError> {
    if path.is_empty() {
        return Ok(folder.into());
    }
    let mut parts = Path::new(path).components();
    if parts.all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
        return Ok(folder.join(path));
    }
    let expected = "a path inside the model folder";
    Err(ModelError::setting(
        file,
        field(),
        expected,
        format!("{path:?}"),
    ))
}

/// Reads a JSON file; `None` if there is no such file.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, ModelError> {
    let Some(bytes) = read_bytes(path)? else {
        return Ok(None);
    };
    let read = serde_json::from_slice(&bytes);
    read.map(Some).map_err(|source| {
        // Only an error needs the path of its field.
        let deserializer = &mut serde_json::Deserializer::from_slice(&bytes);
        match serde_path_to_error::deserialize::<_, T>(deserializer) {
            Err(error) if source.is_data() => json_error(path, error),
            _ => ModelError::Json {
                path: path.into(),
                field: String::new(),
                source,
            },
        }
    })
}

/// Deserializes a value of a JSON file.
pub(crate) fn from_value<T: DeserializeOwned>(path: &Path, value: Value) -> Result<T, ModelError> {
    serde_path_to_error::deserialize(value).map_err(|error| json_error(path, error))
}

fn json_error(path: &Path, error: serde_path_to_error::Error<serde_json::Error>) -> ModelError {
    let field = error.path().to_string();
    ModelError::Json {
        path: path.into(),
        // The top level is a dot.
        field: if field == "." { String::new() } else { field },
        source: error.into_inner(),
    }
}

/// Writes a JSON file atomically.
pub(crate) fn write_json(path: &Path, value: &Value) -> Result<(), ModelError> {
    let text = serde_json::to_string_pretty(value).map_err(io::Error::other);
    let text = text.map_err(ModelError::write(path))?;
    write_bytes(path, (text + "\n").as_bytes())
}

/// Writes a file atomically and syncs it to disk.
pub(crate) fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), ModelError> {
    write_file(path, |file| file.write_all(bytes))
}

/// Writes `model.safetensors` atomically.
pub(crate) fn write_weights(folder: &Path, tensors: &[NamedTensor]) -> Result<(), ModelError> {
    write_tensors(&folder.join("model.safetensors"), tensors)
}

/// Writes a safetensors file atomically.
pub(crate) fn write_tensors(path: &Path, tensors: &[NamedTensor]) -> Result<(), ModelError> {
    let metadata = [("format", "pt".to_owned())].into();
    write_file(path, |file| safetensors::write(file, &metadata, tensors))
}

fn write_file(
    path: &Path,
    write: impl FnOnce(&mut AtomicFile) -> io::Result<()>,
) -> Result<(), ModelError> {
    let write = || {
        let mut file = AtomicFile::create(path)?;
        write(&mut file)?;
        file.commit()
    };
    write().map_err(ModelError::write(path))
}

/// Writes a folder atomically: `write` fills a temporary folder ([`AtomicFolder`]).
///
/// # Errors
/// If `folder` exists and is not empty, or cannot be written.
pub(crate) fn write_folder<E: From<ModelError>>(
    folder: &Path,
    write: impl FnOnce(&Path) -> Result<(), E>,
) -> Result<(), E> {
    let temporary = AtomicFolder::create(folder).map_err(ModelError::write(folder))?;
    write(temporary.path())?;
    Ok(temporary.commit().map_err(ModelError::write(folder))?)
}

/// Creates a folder and its parents.
pub(crate) fn create_folder(folder: &Path) -> Result<(), ModelError> {
    fs::create_dir_all(folder).map_err(ModelError::write(folder))
}
