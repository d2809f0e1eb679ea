//! All that is needed to go on as if nothing had happened, in one file.
//!
//! The file is a safetensors file, so that other programs can look into it: weights and moments as
//! tensors, everything else as JSON among its metadata.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use burn::tensor::{Tensor, TensorData};
use ir_core::AtomicFile;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::adamw::Moments;
use super::{History, TrainError, TrainingConfig};
use crate::safetensors_file::{self, Entry};
use crate::weights::{Tensors, Weights};
use crate::{ModelError, Tower, Transformer};

/// Raised when older programs could not read what newer ones write, or the other way round.
const VERSION: u32 = 1;
const FORMAT: &str = "ir-dense training checkpoint";

/// Everything but the tensors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct State {
    /// As JSON, so that a difference can be named.
    pub(super) configuration: Value,
    /// The fingerprint of the data.
    pub(super) data: u64,
    /// The checksum of the weights that training began with.
    pub(super) model: u32,
    pub(super) towers: usize,
    /// Steps taken. The sampler, dropout and the learning rate are functions of it and of the
    /// configuration, with its seed: no other random state exists.
    pub(super) step: u64,
    /// Evaluations since the best.
    pub(super) without_best: u64,
    pub(super) history: History,
}

/// A folder with the last checkpoint and the best weights.
#[derive(Debug, Clone)]
pub(super) struct Checkpoints {
    folder: PathBuf,
}

impl Checkpoints {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    fn path(&self) -> PathBuf {
        self.folder.join("checkpoint.safetensors")
    }

    fn best_path(&self, step: u64) -> PathBuf {
        self.folder.join(format!("best-{step}.safetensors"))
    }

    /// Puts the last checkpoint's tensors in place and returns the rest; `None` when there is none.
    pub(super) fn load(
        &self,
        wanted: &State,
        towers: &mut [Tower],
        moments: &mut [Moments],
    ) -> Result<Option<State>, TrainError> {
        self.remove_unfinished();
        let path = self.path();
        if !path.exists() {
            return Ok(None);
        }
        let (weights, state) = open(&path)?;
        check(&path, wanted, &state)?;
        verify(&path, &weights, &state, towers, true)?;
        for (number, (tower, moments)) in towers.iter_mut().zip(moments).enumerate() {
            put(&path, &weights, number, &mut tower.model, Some(moments))?;
        }
        Ok(Some(state))
    }

    /// Removes what killed processes were writing, where it can be told that they are gone.
    fn remove_unfinished(&self) {
        let processes = Path::new("/proc");
        if !processes.join("self").exists() {
            return;
        }
        for entry in std::fs::read_dir(&self.folder)
            .into_iter()
            .flatten()
            .flatten()
        {
            let name = entry.file_name();
            let process = name.to_str().and_then(writer);
            if process.is_some_and(|id| !processes.join(id.to_string()).exists()) {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }

    /// Writes a checkpoint in place of the last one, which stays until this one is whole.
    pub(super) fn save(
        &self,
        state: &State,
        towers: &[Tower],
        moments: &[Moments],
    ) -> Result<(), TrainError> {
        self.write(&self.path(), state, &entries(towers, Some(moments)))?;
        // Weights that were the best once, until another checkpoint said otherwise.
        let best = state.history.best().map(|best| self.best_path(best.step));
        for entry in std::fs::read_dir(&self.folder)
            .into_iter()
            .flatten()
            .flatten()
        {
            let path = entry.path();
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let step = name
                .strip_prefix("best-")
                .and_then(|n| n.strip_suffix(".safetensors"));
            if step.is_some_and(|step| step.parse::<u64>().is_ok()) && Some(&path) != best.as_ref()
            {
                let _ = std::fs::remove_file(path);
            }
        }
        Ok(())
    }

    /// Keeps the weights that are the best so far; the next checkpoint relies on them.
    pub(super) fn save_best(&self, state: &State, towers: &[Tower]) -> Result<(), TrainError> {
        self.write(&self.best_path(state.step), state, &entries(towers, None))
    }

    /// Puts the best weights in place.
    pub(super) fn load_best(&self, step: u64, towers: &mut [Tower]) -> Result<(), TrainError> {
        let path = self.best_path(step);
        let (weights, state) = open(&path)?;
        verify(&path, &weights, &state, towers, false)?;
        for (number, tower) in towers.iter_mut().enumerate() {
            put(&path, &weights, number, &mut tower.model, None)?;
        }
        Ok(())
    }

    fn write(&self, path: &Path, state: &State, entries: &[Entry]) -> Result<(), TrainError> {
        let write = || {
            std::fs::create_dir_all(&self.folder)?;
            let state = serde_json::to_string(state).map_err(io::Error::other)?;
            let metadata = BTreeMap::from([
                ("format", FORMAT.to_owned()),
                ("version", VERSION.to_string()),
                ("checksum", format!("{:08x}", checksum(&state, entries)?)),
                ("state", state),
            ]);
            let mut file = AtomicFile::create(path)?;
            safetensors_file::write(&mut file, &metadata, entries)?;
            file.flush()?;
            file.commit()
        };
        write().map_err(|source| TrainError::Write {
            path: path.into(),
            source,
        })
    }
}

/// The process that was writing a file of this name, if it is one of those that [`AtomicFile`] leaves
/// when it is killed: `.checkpoint.safetensors.PROCESS.NUMBER.tmp`.
fn writer(name: &str) -> Option<u32> {
    let (file, rest) = name.strip_prefix('.')?.split_once(".safetensors.")?;
    let best = file.strip_prefix("best-");
    if file != "checkpoint" && best.is_none_or(|step| step.parse::<u64>().is_err()) {
        return None;
    }
    let (process, number) = rest.strip_suffix(".tmp")?.split_once('.')?;
    number.parse::<u64>().ok()?;
    process.parse().ok()
}

/// The checksum of all weights of all towers.
pub(super) fn fingerprint(towers: &[Tower]) -> u32 {
    checksum("", &entries(towers, None)).unwrap_or_default()
}

/// CRC-32 of the state and the names and elements of the tensors.
fn checksum(state: &str, entries: &[Entry]) -> io::Result<u32> {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(state.as_bytes());
    for entry in entries {
        hasher.update(entry.name.as_bytes());
        entry.bytes(|bytes| {
            hasher.update(bytes);
            Ok(())
        })?;
    }
    Ok(hasher.finalize())
}

fn entries(towers: &[Tower], moments: Option<&[Moments]>) -> Vec<Entry> {
    let mut entries = Vec::new();
    for (number, tower) in towers.iter().enumerate() {
        let mut model = tower.model.clone();
        for (at, parameter) in model.parameters().into_iter().enumerate() {
            let shape = parameter.shape();
            let entry = |name: String, values: Tensor<1>| Entry {
                name,
                shape: shape.clone(),
                values,
            };
            let name = format!("{number}.{}", parameter.name);
            if let Some(moments) = moments {
                let [mean, square] = &moments[number].parts[at];
                entries.push(entry(format!("{name}.mean"), mean.clone()));
                entries.push(entry(format!("{name}.square"), square.clone()));
            }
            entries.push(entry(name, parameter.values()));
        }
    }
    entries
}

fn no_checkpoint(path: &Path, source: impl Into<Option<ModelError>>) -> TrainError {
    TrainError::NoCheckpoint {
        path: path.into(),
        source: source.into().map(Into::into),
    }
}

fn open(path: &Path) -> Result<(Weights, State), TrainError> {
    let weights = match Weights::safetensors(path.into()) {
        Err(ModelError::Read { path, source }) => return Err(TrainError::Read { path, source }),
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
        let path = path.to_owned();
        no_checkpoint(&path.clone(), ModelError::Json { path, source })
    })?;
    Ok((weights, state))
}

/// That the checkpoint belongs to this training.
fn check(path: &Path, wanted: &State, found: &State) -> Result<(), TrainError> {
    let path = || path.to_owned();
    if let Some((field, expected, found)) =
        difference("", &wanted.configuration, &found.configuration)
    {
        return Err(TrainError::OtherConfiguration {
            path: path(),
            field,
            expected,
            found,
        });
    }
    let towers = [wanted.towers, found.towers];
    if towers[0] != towers[1] {
        let [expected, found] = towers.map(|n| n.to_string());
        return Err(TrainError::OtherConfiguration {
            path: path(),
            field: "towers".into(),
            expected,
            found,
        });
    }
    if wanted.data != found.data {
        return Err(TrainError::OtherData {
            path: path(),
            expected: wanted.data,
            found: found.data,
        });
    }
    if wanted.model != found.model {
        return Err(TrainError::OtherModel {
            path: path(),
            expected: wanted.model,
            found: found.model,
        });
    }
    Ok(())
}

/// The first difference of two configurations: where, and both values.
fn difference(at: &str, a: &Value, b: &Value) -> Option<(String, String, String)> {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            let names = a
                .keys()
                .chain(b.keys().filter(|name| !a.contains_key(*name)));
            names.into_iter().find_map(|name| {
                let at = match at {
                    "" => name.clone(),
                    _ => format!("{at}.{name}"),
                };
                let of = |map: &serde_json::Map<String, Value>| {
                    map.get(name).cloned().unwrap_or(Value::Null)
                };
                difference(&at, &of(a), &of(b))
            })
        }
        (a, b) if a == b => None,
        (a, b) => Some((at.into(), a.to_string(), b.to_string())),
    }
}

/// That the bytes are those that were written.
fn verify(
    path: &Path,
    weights: &Weights,
    state: &State,
    towers: &[Tower],
    with_moments: bool,
) -> Result<(), TrainError> {
    let wrong = |source| no_checkpoint(path, source);
    let written = weights.metadata("checksum");
    let expected = written.and_then(|text| u32::from_str_radix(text, 16).ok());
    let expected = expected.ok_or_else(|| no_checkpoint(path, None))?;
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(weights.metadata("state").unwrap_or_default().as_bytes());
    debug_assert_eq!(state.towers, towers.len());
    for (number, tower) in towers.iter().enumerate() {
        for parameter in tower.model.clone().parameters() {
            let name = format!("{number}.{}", parameter.name);
            let names = match with_moments {
                true => vec![format!("{name}.mean"), format!("{name}.square"), name],
                false => vec![name],
            };
            for name in names {
                hasher.update(name.as_bytes());
                hasher.update(&weights.raw(&name).map_err(wrong)?);
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
    Ok(())
}

fn put(
    path: &Path,
    weights: &Weights,
    number: usize,
    model: &mut Transformer,
    mut moments: Option<&mut Moments>,
) -> Result<(), TrainError> {
    let device = model.device();
    for (at, parameter) in model.parameters().into_iter().enumerate() {
        let shape = parameter.shape();
        let name = format!("{number}.{}", parameter.name);
        let take = |name: &str| -> Result<Tensor<1>, TrainError> {
            let values = weights.take(name, &shape);
            let values = values.map_err(|source| no_checkpoint(path, source))?;
            let length = values.len();
            Ok(Tensor::from_data(
                TensorData::new(values, [length]),
                &device,
            ))
        };
        if let Some(moments) = &mut moments {
            let mean = take(&format!("{name}.mean"))?;
            moments.parts[at] = [mean, take(&format!("{name}.square"))?];
        }
        let values = take(&name)?;
        parameter.change(|_| values);
    }
    Ok(())
}

impl State {
    pub(super) fn new(
        config: &TrainingConfig,
        data: u64,
        towers: &[Tower],
    ) -> Result<Self, TrainError> {
        let configuration = serde_json::to_value(config);
        Ok(Self {
            configuration: configuration.unwrap_or(Value::Null),
            data,
            model: fingerprint(towers),
            towers: towers.len(),
            step: 0,
            without_best: 0,
            history: History::default(),
        })
    }
}
