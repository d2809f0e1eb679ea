//! Weights of a model, in a file or in memory, and the form in which inference needs them.

use std::sync::Arc;

use burn::tensor::Device;

use super::Transformer;
use super::cpu::CpuTransformer;
use crate::error::ModelError;
use crate::model_folder::{TransformerConfig, WeightFile};
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
}

/// Weights of a transformer as inference needs them.
#[derive(Debug)]
pub(crate) enum InferenceModel {
    /// Packed for the CPU.
    Cpu(Box<CpuTransformer>),
    /// Of other backends, and of models that cannot be packed.
    Module(Box<Transformer>),
}

impl ModelWeights {
    pub(crate) fn config(&self) -> &TransformerConfig {
        match self {
            Self::File { config, .. } => config,
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
        }
    }

    /// Returns the weights for inference in a precision; `None` if backend or model lack it.
    pub(crate) fn inference(
        &self,
        precision: Precision,
    ) -> Result<Option<InferenceModel>, ModelError> {
        let cpu = match self {
            Self::File {
                file,
                config,
                device,
            } if *device == Device::flex() => CpuTransformer::load(config, &**file, precision)?,
            Self::File { .. } => None,
            Self::Module(model) => CpuTransformer::new(model, precision),
        };
        Ok(match cpu {
            Some(cpu) => Some(InferenceModel::Cpu(Box::new(cpu))),
            None if precision == Precision::F32 => {
                Some(InferenceModel::Module(Box::new(self.transformer()?)))
            }
            None => None,
        })
    }
}
