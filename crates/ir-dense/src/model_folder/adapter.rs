//! Adapters of a folder: LoRA of PEFT, and bottleneck adapters of the library `adapters`.

use std::path::{Path, PathBuf};

use super::adapter_config::AdapterConfig;
use super::bottleneck::BottleneckTensors;
use super::lora::LoraAdapter;
use super::weights::{TensorSource, WeightAdapter, WeightFile};
use super::{BottleneckAdapter, TransformerConfig};
use crate::error::ModelError;

/// Adapter of a folder, with the layers that it adds; `None` for LoRA, which adds none.
type FolderAdapter = (AdapterConfig, Option<BottleneckAdapter>);

/// Reads and checks `adapter_config.json`; `None` if there is no such file.
fn read(folder: &Path) -> Result<Option<FolderAdapter>, ModelError> {
    let Some(config) = AdapterConfig::read(folder)? else {
        return Ok(None);
    };
    let bottleneck = if config.is_of_adapters() {
        Some(config.bottleneck()?)
    } else {
        config.check_lora()?;
        None
    };
    Ok(Some((config, bottleneck)))
}

/// Returns the folder with `config.json` and weights of a transformer: the base model of an
/// adapter, or else the folder itself.
///
/// # Errors
/// Returns [`ModelError`] if `adapter_config.json` is invalid, or names a model that is neither a
/// folder nor in the cache of the hub.
pub(crate) fn base_folder(folder: &Path) -> Result<PathBuf, ModelError> {
    match read(folder)? {
        Some((config, _)) => config.base_folder(folder),
        None => Ok(folder.into()),
    }
}

/// Returns the bottleneck adapter of a folder with the base model `base`; `None` if it has none.
/// `model_types`: the values of `model_type` that an adapter of this base model may have.
///
/// # Errors
/// Returns [`ModelError`] if `adapter_config.json` is invalid, or of another base model.
pub(crate) fn bottleneck_adapter(
    folder: &Path,
    base: &TransformerConfig,
    model_types: &[&str],
) -> Result<Option<BottleneckAdapter>, ModelError> {
    match read(folder)? {
        Some((config, Some(adapter))) => {
            config.check_base(base, model_types)?;
            Ok(Some(adapter))
        }
        _ => Ok(None),
    }
}

impl WeightFile {
    /// Opens the weights of a folder, or of the base model of its adapter, with the adapter.
    pub(crate) fn open(folder: &Path) -> Result<Self, ModelError> {
        let Some((config, bottleneck)) = read(folder)? else {
            return Self::open_base(folder);
        };
        let mut file = Self::open_base(&config.base_folder(folder)?)?;
        let adapter: Box<dyn WeightAdapter> = match bottleneck {
            Some(adapter) => Box::new(BottleneckTensors::open(folder, &config, adapter)?),
            None => Box::new(LoraAdapter::open(folder, &config, &file.names())?),
        };
        file.adapter = Some(adapter);
        Ok(file)
    }
}
