//! Checkpoints: everything that an interrupted training run needs to resume, in one file.
//!
//! The file is a safetensors file, which other programs can read: weights and moments are tensors,
//! everything else is JSON in its metadata.
//!
//! There is no random state: example order, negatives and dropout are functions of seed and step.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use burn::tensor::{Device, Tensor, TensorData};
use ir_core::Fnv1a;
use ir_core::store::{AtomicFile, remove_abandoned};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::gradcache::TrainedTower;
use super::optimizer::AdamWState;
use super::{TrainError, TrainingHistory};
use crate::error::ModelError;
use crate::model_folder::safetensors::{self, checksum};
use crate::model_folder::{NamedTensor, TensorSource, WeightFile};
use crate::precision::Precision;

/// Version of the format and of the arithmetic of training. It is increased when checkpoints record
/// more, and when resumed runs would end with other bits. A checkpoint of another version is
/// rejected.
const VERSION: u32 = 4;
const FORMAT: &str = "ir-dense training checkpoint";

/// Model in training, saved in checkpoints.
pub(super) trait CheckpointedModel {
    /// All parameters, in a fixed order.
    fn parameters(&self) -> Vec<NamedTensor>;

    /// Device of a parameter.
    fn device(&self, parameter: &str) -> Device;

    /// Replaces the elements of the parameters that `values` has.
    fn set_parameters(&mut self, values: HashMap<String, Tensor<1>>);
}

impl CheckpointedModel for TrainedTower {
    fn parameters(&self) -> Vec<NamedTensor> {
        self.model.parameters()
    }

    fn device(&self, _: &str) -> Device {
        self.model.device()
    }

    fn set_parameters(&mut self, mut values: HashMap<String, Tensor<1>>) {
        let model = self.model.clone();
        self.model = model
            .map_parameters(|parameter| values.remove(&parameter.name).unwrap_or(parameter.values));
    }
}

/// Training state without tensors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct TrainingState {
    /// Training configuration as JSON, with the number of `towers`, the fingerprint of the
    /// `training_data` and the checksum of the initial `weights`.
    pub(super) configuration: Value,
    /// What determines the vectors or logits besides weights and configuration: shape of the
    /// transformer, tokenizer, pooling, modules, prompts, maximum lengths.
    pub(super) model: Value,
    /// Number of steps so far. Batches, dropout masks and the learning rate are functions of the
    /// step and the configuration: there is no other random state.
    pub(super) step: u64,
    /// Number of evaluations since the best.
    pub(super) without_best: u64,
    pub(super) history: TrainingHistory,
}

/// Folder with the last checkpoint and the best weights.
#[derive(Debug, Clone)]
pub(super) struct CheckpointFolder(pub(super) PathBuf);

impl CheckpointFolder {
    fn path(&self) -> PathBuf {
        self.0.join("checkpoint.safetensors")
    }

    fn best_path(&self, step: u64) -> PathBuf {
        self.0.join(format!("best-{step}.safetensors"))
    }

    /// Loads the tensors of the last checkpoint into `models` and `optimizers` and returns its
    /// state; `None` if there is no checkpoint.
    pub(super) fn load(
        &self,
        expected: &TrainingState,
        models: &mut [impl CheckpointedModel],
        optimizers: &mut [AdamWState],
    ) -> Result<Option<TrainingState>, TrainError> {
        remove_abandoned(&self.0, |name| {
            let name = name.strip_suffix(".safetensors");
            name.is_some_and(|name| name == "checkpoint" || best_step(name).is_some())
        });
        let path = self.path();
        if !path.exists() {
            return Ok(None);
        }
        let (weights, state) = open(&path)?;
        let differs = difference("", &expected.configuration, &state.configuration);
        let differs = differs.or_else(|| difference("model", &expected.model, &state.model));
        if let Some((field, expected, found)) = differs {
            return Err(TrainError::OtherConfiguration {
                path,
                field,
                expected,
                found,
            });
        }
        load_tensors(&path, &weights, models, Some(optimizers))?;
        Ok(Some(state))
    }

    /// Removes the files of the folder with an obsolete name.
    fn remove_files(&self, is_obsolete: impl Fn(&str) -> bool) {
        for entry in fs::read_dir(&self.0).into_iter().flatten().flatten() {
            if entry.file_name().to_str().is_some_and(&is_obsolete) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// Replaces the last checkpoint atomically.
    pub(super) fn save(
        &self,
        state: &TrainingState,
        models: &[impl CheckpointedModel],
        optimizers: &[AdamWState],
    ) -> Result<(), TrainError> {
        self.write(&self.path(), state, &tensors(models, Some(optimizers)))?;
        // Weights that are no longer the best.
        let best = state.history.best().map(|best| best.step);
        self.remove_files(|name| {
            let step = name.strip_suffix(".safetensors").and_then(best_step);
            step.is_some() && step != best
        });
        Ok(())
    }

    /// Writes the best weights so far, which the next checkpoint refers to.
    pub(super) fn save_best(
        &self,
        state: &TrainingState,
        models: &[impl CheckpointedModel],
    ) -> Result<(), TrainError> {
        self.write(&self.best_path(state.step), state, &tensors(models, None))
    }

    pub(super) fn load_best(
        &self,
        step: u64,
        models: &mut [impl CheckpointedModel],
    ) -> Result<(), TrainError> {
        let path = self.best_path(step);
        let (weights, _) = open(&path)?;
        load_tensors(&path, &weights, models, None)
    }

    fn write(
        &self,
        path: &Path,
        state: &TrainingState,
        tensors: &[NamedTensor],
    ) -> Result<(), TrainError> {
        let write = || {
            fs::create_dir_all(&self.0)?;
            let state = serde_json::to_string(state).map_err(io::Error::other)?;
            let metadata = BTreeMap::from([
                ("format", FORMAT.to_owned()),
                ("version", VERSION.to_string()),
                ("checksum", format!("{:08x}", checksum(&state, tensors)?)),
                ("state", state),
            ]);
            let mut file = AtomicFile::create(path)?;
            safetensors::write(&mut file, &metadata, tensors)?;
            file.flush()?;
            file.commit()
        };
        Ok(write().map_err(ModelError::write(path))?)
    }
}

/// Step of a file of best weights, `best-STEP`; `None` for other names.
fn best_step(name: &str) -> Option<u64> {
    name.strip_prefix("best-")?.parse().ok()
}

/// Names of the moments of a parameter.
fn moment_names(parameter: &str) -> [String; 2] {
    ["mean", "square"].map(|moment| format!("{parameter}.{moment}"))
}

/// Tensors of a checkpoint: of each parameter the moments, if any, and then the weights.
fn tensors(
    models: &[impl CheckpointedModel],
    optimizers: Option<&[AdamWState]>,
) -> Vec<NamedTensor> {
    let mut tensors = Vec::new();
    for (number, model) in models.iter().enumerate() {
        for mut parameter in model.parameters() {
            let name = format!("{number}.{}", parameter.name);
            if let Some(optimizers) = optimizers {
                let moments = optimizers[number].moments(&parameter);
                for (name, values) in moment_names(&name).into_iter().zip(moments) {
                    let shape = parameter.shape.clone();
                    tensors.push(NamedTensor {
                        name,
                        shape,
                        values,
                    });
                }
            }
            parameter.name = name;
            tensors.push(parameter);
        }
    }
    tensors
}

fn no_checkpoint(path: &Path, source: impl Into<Option<ModelError>>) -> TrainError {
    TrainError::NoCheckpoint {
        path: path.into(),
        source: source.into().map(Into::into),
    }
}

fn open(path: &Path) -> Result<(WeightFile, TrainingState), TrainError> {
    let weights = match WeightFile::open_safetensors(path.into()) {
        Err(error @ ModelError::Read { .. }) => return Err(error.into()),
        other => other.map_err(|source| no_checkpoint(path, source))?,
    };
    let field = |name: &str| {
        weights
            .metadata(name)
            .ok_or_else(|| no_checkpoint(path, None))
    };
    if field("format")? != FORMAT {
        return Err(no_checkpoint(path, None));
    }
    let found: u32 = field("version")?
        .parse()
        .map_err(|_| no_checkpoint(path, None))?;
    if found != VERSION {
        return Err(TrainError::Version {
            path: path.into(),
            expected: VERSION,
            found,
        });
    }
    let state = serde_json::from_str(field("state")?);
    let state = state.map_err(|source| {
        let (field, path) = ("state".to_owned(), path.to_owned());
        let error = ModelError::Json {
            path: path.clone(),
            field,
            source,
        };
        no_checkpoint(&path, error)
    })?;
    Ok((weights, state))
}

/// Returns the first difference of two configurations: field and both values.
fn difference(field: &str, a: &Value, b: &Value) -> Option<(String, String, String)> {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            let names = a
                .keys()
                .chain(b.keys().filter(|name| !a.contains_key(*name)));
            names.into_iter().find_map(|name| {
                let field = match field {
                    "" => name.clone(),
                    _ => format!("{field}.{name}"),
                };
                let value = |map: &serde_json::Map<String, Value>| {
                    let default = match name.as_str() {
                        // Not recorded for f32.
                        "precision" => Precision::F32.name().into(),
                        _ => Value::Null,
                    };
                    map.get(name).cloned().unwrap_or(default)
                };
                difference(&field, &value(a), &value(b))
            })
        }
        (a, b) if a == b => None,
        (a, b) => Some((field.into(), a.to_string(), b.to_string())),
    }
}

/// Loads the weights of all models, and the moments of `optimizers`, if the checksum matches.
fn load_tensors(
    path: &Path,
    weights: &WeightFile,
    models: &mut [impl CheckpointedModel],
    mut optimizers: Option<&mut [AdamWState]>,
) -> Result<(), TrainError> {
    let invalid = |source| no_checkpoint(path, source);
    let expected = weights.metadata("checksum");
    let expected = expected.and_then(|text| u32::from_str_radix(text, 16).ok());
    let expected = expected.ok_or_else(|| no_checkpoint(path, None))?;
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(weights.metadata("state").unwrap_or_default().as_bytes());
    // In the order of `tensors`, without zero moments.
    for (number, model) in models.iter().enumerate() {
        for parameter in model.parameters() {
            let name = format!("{number}.{}", parameter.name);
            let moments = optimizers.as_ref().map(|_| moment_names(&name));
            for name in moments.into_iter().flatten().chain([name]) {
                hasher.update(name.as_bytes());
                hasher.update(weights.raw(&name).map_err(invalid)?.as_ref());
            }
        }
    }
    let found = hasher.finalize();
    if found != expected {
        return Err(TrainError::Damaged {
            path: path.into(),
            expected,
            found,
        });
    }
    for (number, model) in models.iter_mut().enumerate() {
        let mut loaded = HashMap::new();
        for parameter in model.parameters() {
            let device = model.device(&parameter.name);
            let name = format!("{number}.{}", parameter.name);
            let take = |name: &str| -> Result<Tensor<1>, TrainError> {
                let values = weights.take(name, &parameter.shape).map_err(invalid)?;
                let length = values.len();
                let values = TensorData::new(values, [length]);
                Ok(Tensor::from_data(values, &device))
            };
            let values = take(&name)?;
            if let Some(optimizers) = &mut optimizers {
                let [mean, square] = moment_names(&name);
                let moments = [take(&mean)?, take(&square)?];
                optimizers[number]
                    .moments
                    .insert(parameter.name.clone(), moments);
            }
            loaded.insert(parameter.name, values);
        }
        model.set_parameters(loaded);
    }
    Ok(())
}

impl TrainingState {
    /// State before the first step.
    pub(super) fn new(
        config: &impl Serialize,
        data: u64,
        model: Value,
        models: &[impl CheckpointedModel],
    ) -> Self {
        let mut configuration = serde_json::to_value(config).unwrap_or_default();
        configuration["towers"] = models.len().into();
        configuration["training_data"] = data.into();
        let weights = checksum("", &tensors(models, None));
        configuration["weights"] = weights.unwrap_or_default().into();
        Self {
            configuration,
            model,
            step: 0,
            without_best: 0,
            history: TrainingHistory::default(),
        }
    }

    /// Hash of configuration and model.
    pub(super) fn fingerprint(&self) -> u64 {
        Fnv1a::hash(format!("{}{}", self.configuration, self.model).as_bytes())
    }
}
