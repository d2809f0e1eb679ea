//! Weights of a model, in a file or in memory, and the form in which inference needs them.

use std::path::Path;
use std::sync::Arc;

use burn::tensor::Device;

use super::Transformer;
use super::cpu::CpuTransformer;
use super::tensor_names::count_layers;
use crate::backend::Backend;
use crate::error::ModelError;
use crate::kernels::low_precision::MAX_DEPTH;
use crate::model_folder::{StaticTable, TransformerConfig, WeightFile, base_folder};
use crate::precision::Precision;

/// Weights of a transformer. Those of a file are in memory only as what was loaded of them.
#[derive(Debug, Clone)]
pub(crate) enum ModelWeights {
    File {
        file: Arc<WeightFile>,
        config: Box<TransformerConfig>,
        device: Device,
    },
    Module(Box<Transformer>),
    /// Static embeddings: an encoder without layers.
    Static {
        table: StaticTable,
        config: Box<TransformerConfig>,
    },
}

/// Weights of a transformer as inference needs them.
#[derive(Debug)]
pub(crate) enum InferenceModel {
    /// Packed for the CPU.
    Cpu(Box<CpuTransformer>),
    /// Of other backends, and of models that cannot be packed.
    Module(Box<Transformer>),
}

/// Returns the device of a backend for weights in a precision.
pub(crate) fn checked_device(backend: Backend, precision: Precision) -> Result<Device, ModelError> {
    if precision != Precision::F32 && backend != Backend::Cpu {
        let reason = format!("expected the backend cpu, found {backend}");
        return Err(ModelError::Precision { precision, reason });
    }
    Ok(backend.device()?)
}

impl ModelWeights {
    /// Opens the weights of a folder with this configuration, without reading them. Also returns
    /// their file.
    pub(crate) fn open(
        folder: &Path,
        config: TransformerConfig,
        device: Device,
    ) -> Result<(Self, Arc<WeightFile>), ModelError> {
        let file = Arc::new(WeightFile::open(folder)?);
        let layers = count_layers(&config, &*file);
        if layers > config.stored_layers() {
            let path = base_folder(folder)?.join("config.json");
            let (field, found, expected) = match config.layer.shared_layers {
                None => ("num_hidden_layers", config.layers, layers),
                Some(it) => (
                    "num_hidden_groups",
                    it.groups,
                    layers.div_ceil(it.group_size),
                ),
            };
            let expected = format!("{expected}, the layers in {}", file.path().display());
            return Err(ModelError::setting(&path, field, expected, found));
        }
        let weights = Self::File {
            file: file.clone(),
            config: Box::new(config),
            device,
        };
        Ok((weights, file))
    }

    pub(crate) fn config(&self) -> &TransformerConfig {
        match self {
            Self::File { config, .. } | Self::Static { config, .. } => config,
            Self::Module(model) => model.config(),
        }
    }

    /// Returns the transformer; reads its weights if they are in a file.
    pub(crate) fn transformer(&self) -> Result<Transformer, ModelError> {
        match self {
            Self::File {
                file,
                config,
                device,
            } => Transformer::load((**config).clone(), &**file, device),
            Self::Module(model) => Ok((**model).clone()),
            Self::Static { table, .. } => Err(ModelError::setting(
                table.file().path(),
                "the model",
                "a transformer: static embeddings are neither trained nor saved",
                "static embeddings",
            )),
        }
    }

    /// Returns an error if the layers of a weight file have tensors that were not read.
    pub(crate) fn check_unread(&self) -> Result<(), ModelError> {
        match self {
            Self::File { file, .. } => file.check_unread(),
            Self::Module(_) | Self::Static { .. } => Ok(()),
        }
    }

    /// Reads the weights of the model in `folder` for inference in a precision.
    pub(crate) fn inference(
        &self,
        precision: Precision,
        folder: &Path,
    ) -> Result<Arc<InferenceModel>, ModelError> {
        let cpu = match self {
            Self::File {
                file,
                config,
                device,
            } if *device == Device::flex() => CpuTransformer::load(config, &**file, precision)?,
            Self::File { .. } => None,
            Self::Module(model) => CpuTransformer::new(model, precision),
            Self::Static { table, config } => CpuTransformer::load(config, table, precision)?,
        };
        let model = match cpu {
            Some(cpu) => Some(InferenceModel::Cpu(Box::new(cpu))),
            None if precision == Precision::F32 => {
                Some(InferenceModel::Module(Box::new(self.transformer()?)))
            }
            None => None,
        };
        self.check_unread()?;
        let model = model.ok_or_else(|| ModelError::Precision {
            precision,
            reason: format!(
                "{}: expected weights in CPU memory, a bias in every linear layer and \
                 normalization, and at most {MAX_DEPTH} inputs of a linear layer",
                folder.display()
            ),
        })?;
        Ok(Arc::new(model))
    }
}
