//! Adapters of the PEFT library: LoRA, which is added to the weights of a base model.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use regex::Regex;
use serde_json::{Map, Value};

use super::weights::{TensorSource, TensorUpdate, WeightFile, check_finite, has_weights};
use super::{TensorValues, hub_cache, read_json, transposed};
use crate::error::ModelError;

/// Configuration of an adapter. A folder that has it is an adapter of another model, or of the
/// model in the same folder.
pub(crate) const ADAPTER_CONFIG: &str = "adapter_config.json";

/// Weights of an adapter, one of which is required.
pub(crate) const ADAPTER_WEIGHTS: [&str; 2] = ["adapter_model.safetensors", "adapter_model.bin"];

/// Start of the names of tensors, before the name of the module in the base model.
const PREFIX: &str = "base_model.model.";

/// Endings of the names of A and B, of linear layers and of embeddings.
const MATRICES: [[&str; 2]; 2] = [
    [".lora_A.weight", ".lora_B.weight"],
    [".lora_embedding_A", ".lora_embedding_B"],
];

/// Fields of variants of LoRA that compute something else, or change other weights.
const VARIANTS: [&str; 18] = [
    "alora_invocation_tokens",
    "arrow_config",
    "corda_config",
    "kasa_config",
    "layer_replication",
    "lora_bias",
    "lora_ga_config",
    "loftq_config",
    "megatron_config",
    "modules_to_save",
    "monteclora_config",
    "target_parameters",
    "trainable_token_indices",
    "use_bdlora",
    "use_dora",
    "use_qalora",
    "velora_config",
    "use_mora",
];

/// Initializations that leave the weights of the base model unchanged.
const INITIALIZATIONS: [&str; 3] = ["gaussian", "eva", "orthogonal"];

/// `adapter_config.json` of LoRA.
struct LoraConfig {
    path: PathBuf,
    fields: Map<String, Value>,
}

/// Entry of `rank_pattern` or `alpha_pattern`: the value of the modules with a matching name.
struct ModulePattern<'a> {
    /// Field and key, for errors.
    field: String,
    regex: Regex,
    value: &'a Value,
}

/// LoRA adapter: W' = W + s·B·A for weights W of a base model, with the scale s = α/r, or α/√r.
///
/// # Source
/// Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models", ICLR 2022. The scale α/√r:
/// Kalajdzievski, "A Rank Stabilization Scaling Factor for Fine-Tuning with LoRA", 2023.
pub(crate) struct LoraAdapter {
    file: WeightFile,
    /// Updates of the tensors of the base model, by name.
    updates: BTreeMap<String, LoraUpdate>,
}

struct LoraUpdate {
    /// Names of A and B.
    names: [String; 2],
    rank: usize,
    scale: f64,
    /// If `true`, W is a table of embeddings, and Aᵀ·Bᵀ is added to it.
    is_embedding: bool,
}

impl LoraUpdate {
    /// Shapes of A and B for a tensor `[to, from]`.
    fn shapes(&self, [to, from]: [usize; 2]) -> [[usize; 2]; 2] {
        // B·A has the rows of W; the table of embeddings is its transpose.
        let (rows, columns) = if self.is_embedding {
            (from, to)
        } else {
            (to, from)
        };
        [[self.rank, columns], [rows, self.rank]]
    }
}

/// Returns the folder with `config.json` and weights of a transformer: the base model of an
/// adapter, or else the folder itself.
///
/// # Errors
/// Returns [`ModelError`] if `adapter_config.json` is invalid, or names a model that is neither a
/// folder nor in the cache of the hub.
pub(crate) fn base_folder(folder: &Path) -> Result<PathBuf, ModelError> {
    match LoraConfig::read(folder)? {
        Some(config) => config.base_folder(folder),
        None => Ok(folder.into()),
    }
}

impl LoraConfig {
    /// Reads `adapter_config.json`; `None` if there is no such file.
    fn read(folder: &Path) -> Result<Option<Self>, ModelError> {
        let path = folder.join(ADAPTER_CONFIG);
        let Some(fields) = read_json::<Map<String, Value>>(&path)? else {
            return Ok(None);
        };
        let config = Self { path, fields };
        config.check()?;
        Ok(Some(config))
    }

    fn error(&self, field: &str, expected: impl Into<String>, found: &Value) -> ModelError {
        ModelError::setting(&self.path, field, expected, found)
    }

    fn check(&self) -> Result<(), ModelError> {
        let merge = "no other adapter is merged when a model is opened; in Python, \
            model.merge_and_unload() merges it";
        let kind = &self.fields.get("peft_type").cloned().unwrap_or_default();
        if kind.is_null() && self.fields.contains_key("config") {
            // Bottleneck layers after attention and feed-forward network, as of SPECTER2.
            let name = &self.fields["config"];
            let name = name.get("architecture").filter(|it| !it.is_null());
            let found = match name {
                Some(name) => format!("missing (adapter of the adapters library: {name})"),
                None => "missing (bottleneck adapter of the adapters library)".to_owned(),
            };
            let expected = "LORA of the PEFT library: adapters with layers of their own are not \
                supported";
            return Err(ModelError::setting(
                &self.path,
                "peft_type",
                expected,
                found,
            ));
        }
        if kind != "LORA" {
            return Err(self.error("peft_type", format!("\"LORA\": {merge}"), kind));
        }
        let is_neutral = |value: &Value| match value {
            Value::Null | Value::Bool(false) => true,
            Value::Array(values) => values.is_empty(),
            Value::Object(values) => values.is_empty(),
            _ => false,
        };
        let set = |field: &&&str| self.fields.get(**field).is_some_and(|it| !is_neutral(it));
        if let Some(field) = VARIANTS.iter().find(set) {
            let expected = format!("none: {merge}");
            return Err(self.error(field, expected, &self.fields[*field]));
        }
        match self.fields.get("bias") {
            None | Some(Value::Null) => {}
            Some(bias) if bias == "none" => {}
            Some(bias) => return Err(self.error("bias", "\"none\"", bias)),
        }
        match self.fields.get("init_lora_weights") {
            None | Some(Value::Null | Value::Bool(_)) => Ok(()),
            Some(Value::String(name)) if INITIALIZATIONS.contains(&&name[..]) => Ok(()),
            Some(other) => {
                let names = INITIALIZATIONS.join(", ");
                let expected =
                    format!("true, false, {names}: others change the weights of the base model");
                Err(self.error("init_lora_weights", expected, other))
            }
        }
    }

    /// Folder of the base model: the folder of the adapter if it has weights, a folder relative to
    /// it, or a model in the cache.
    fn base_folder(&self, folder: &Path) -> Result<PathBuf, ModelError> {
        if has_weights(folder) {
            return Ok(folder.into());
        }
        let field = "base_model_name_or_path";
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

    /// Entries of a field with regular expressions as keys, such as `rank_pattern`.
    fn patterns(&self, field: &str) -> Result<Vec<ModulePattern<'_>>, ModelError> {
        let patterns = match self.fields.get(field) {
            None | Some(Value::Null) => return Ok(Vec::new()),
            Some(Value::Object(patterns)) => patterns,
            Some(other) => return Err(self.error(field, "an object", other)),
        };
        let mut all = Vec::new();
        for (pattern, value) in patterns {
            let field = format!("{field}.{pattern}");
            let regex = Regex::new(&format!(r"^(?:.*\.)?(?:{pattern})$")).map_err(|_| {
                ModelError::setting(&self.path, field.as_str(), "a regular expression", pattern)
            })?;
            all.push(ModulePattern {
                field,
                regex,
                value,
            });
        }
        Ok(all)
    }

    /// Value of a module; `None` if no pattern matches its name.
    fn value_of(
        &self,
        patterns: &[ModulePattern<'_>],
        module: &str,
    ) -> Result<Option<f64>, ModelError> {
        let mut found: Option<f64> = None;
        for pattern in patterns.iter().filter(|it| it.regex.is_match(module)) {
            let (field, value) = (&pattern.field, pattern.value);
            let number = value.as_f64();
            let number = number.ok_or_else(|| self.error(field, "a number", value))?;
            if found.is_some_and(|other| other != number) {
                let expected = format!("the value of the other patterns that match {module}");
                return Err(self.error(field, expected, value));
            }
            found = Some(number);
        }
        Ok(found)
    }

    fn number(&self, field: &str, default: f64) -> Result<f64, ModelError> {
        match self.fields.get(field) {
            None | Some(Value::Null) => Ok(default),
            Some(value) => {
                let number = value.as_f64();
                number.ok_or_else(|| self.error(field, "a number", value))
            }
        }
    }

    /// Rank and scale of a module, with the entries of `rank_pattern` and `alpha_pattern`.
    fn scale(
        &self,
        [ranks, alphas]: &[Vec<ModulePattern<'_>>; 2],
        module: &str,
    ) -> Result<(usize, f64), ModelError> {
        let rank = match self.value_of(ranks, module)? {
            Some(rank) => rank,
            None => self.number("r", 8.0)?,
        };
        if !(1.0..=f64::from(u32::MAX)).contains(&rank) || rank.fract() != 0.0 {
            let expected = format!("1 or more in module {module}");
            return Err(ModelError::setting(&self.path, "r", expected, rank));
        }
        let alpha = match self.value_of(alphas, module)? {
            Some(alpha) => alpha,
            None => self.number("lora_alpha", 8.0)?,
        };
        let divisor = match self.fields.get("use_rslora") {
            Some(Value::Bool(true)) => rank.sqrt(),
            None | Some(Value::Null | Value::Bool(false)) => rank,
            Some(other) => return Err(self.error("use_rslora", "true or false", other)),
        };
        Ok((rank as usize, alpha / divisor))
    }
}

impl WeightFile {
    /// Opens the weights of a folder, or of the base model of its adapter, to which the adapter is
    /// added.
    pub(crate) fn open(folder: &Path) -> Result<Self, ModelError> {
        let Some(config) = LoraConfig::read(folder)? else {
            return Self::open_base(folder);
        };
        let mut file = Self::open_base(&config.base_folder(folder)?)?;
        let adapter = LoraAdapter::open(folder, &config, &file.names())?;
        file.adapter = Some(Box::new(adapter));
        Ok(file)
    }
}

impl LoraAdapter {
    /// Opens the adapter of a folder for a base model with the tensors `all`.
    fn open(folder: &Path, config: &LoraConfig, all: &[String]) -> Result<Self, ModelError> {
        let path = ADAPTER_WEIGHTS.map(|name| folder.join(name));
        let file = match &path {
            [path, _] if path.exists() => WeightFile::open_safetensors(path.clone())?,
            [_, path] if path.exists() => WeightFile::open_pytorch(path.clone())?,
            _ => {
                return Err(ModelError::MissingFile {
                    folder: folder.into(),
                    expected: "adapter_model.safetensors or adapter_model.bin",
                });
            }
        };
        let patterns = [
            config.patterns("rank_pattern")?,
            config.patterns("alpha_pattern")?,
        ];
        let mut updates: BTreeMap<String, LoraUpdate> = BTreeMap::new();
        let mut names = file.names();
        names.sort_unstable();
        for name in &names {
            let (module, [a, b]) = matrices(name).ok_or_else(|| {
                let expected = "the matrices lora_A and lora_B of modules of the base model";
                ModelError::setting(file.path(), "tensor", expected, name)
            })?;
            let names = [a, b].map(|end| format!("{PREFIX}{module}{end}"));
            let Some(tensor) = tensor_of(module, all) else {
                if is_in_layer(module) {
                    let tensor = format!("{module}.weight, which {name} changes");
                    let path = folder.into();
                    return Err(ModelError::Tensor { path, tensor });
                }
                // Heads and poolers are not read.
                continue;
            };
            // A and B of a module have the same update.
            if updates.contains_key(tensor) {
                continue;
            }
            let (rank, scale) = config.scale(&patterns, module)?;
            let update = LoraUpdate {
                names,
                rank,
                scale,
                is_embedding: a == MATRICES[1][0],
            };
            updates.insert(tensor.clone(), update);
        }
        Ok(Self { file, updates })
    }
}

impl TensorUpdate for LoraAdapter {
    fn path(&self) -> &Path {
        self.file.path()
    }

    fn check(&self, name: &str, shape: &[usize]) -> Result<(), ModelError> {
        if let (Some(update), &[to, from]) = (self.updates.get(name), shape) {
            for (name, shape) in update.names.iter().zip(update.shapes([to, from])) {
                self.file.check_header(name, &shape)?;
            }
        }
        Ok(())
    }

    fn apply(
        &self,
        name: &str,
        shape: &[usize],
        values: TensorValues,
    ) -> Result<TensorValues, ModelError> {
        let (Some(update), &[to, from]) = (self.updates.get(name), shape) else {
            return Ok(values);
        };
        let (rank, scale) = (update.rank, update.scale as f32);
        let [a, b] = &update.names;
        let [shape_a, shape_b] = update.shapes([to, from]);
        let a = self.file.take(a, &shape_a)?;
        let b = self.file.take(b, &shape_b)?;
        let (left, right) = if update.is_embedding {
            (transposed(&[&a], to), transposed(&[&b], rank))
        } else {
            (b, a)
        };
        let mut values = values.into_vec();
        let rows = values
            .par_chunks_mut(from.max(1))
            .zip(left.par_chunks(rank));
        rows.for_each_init(
            || vec![0.0; from],
            |sum, (row, left)| {
                sum.fill(0.0);
                for (factor, right) in left.iter().zip(right.chunks_exact(from.max(1))) {
                    sum.iter_mut()
                        .zip(right)
                        .for_each(|(sum, right)| *sum += factor * right);
                }
                row.iter_mut()
                    .zip(&*sum)
                    .for_each(|(x, sum)| *x += scale * sum);
            },
        );
        check_finite(self.path(), name, &values)?;
        Ok(TensorValues::InMemory(values))
    }
}

/// Module of a tensor of an adapter, and the endings of the names of its matrices.
fn matrices(name: &str) -> Option<(&str, [&'static str; 2])> {
    let name = name.strip_prefix(PREFIX)?;
    MATRICES.into_iter().find_map(|ends| {
        let module = ends.iter().find_map(|end| name.strip_suffix(end))?;
        Some((module, ends))
    })
}

/// Tensor of a module in the weight file. One of the names may start with one more part: the name
/// of the encoder in a model with a head.
fn tensor_of<'a>(module: &str, all: &'a [String]) -> Option<&'a String> {
    fn inner(name: &str) -> Option<&str> {
        name.split_once('.').map(|(_, inner)| inner)
    }
    let name = format!("{module}.weight");
    let find = |is_same: &dyn Fn(&str) -> bool| all.iter().find(|it| is_same(it.as_str()));
    find(&|tensor| tensor == name)
        .or_else(|| find(&|tensor| inner(tensor) == Some(&name[..])))
        .or_else(|| find(&|tensor| inner(&name) == Some(tensor)))
}

/// Returns `true` if a part of the name is a number.
fn is_in_layer(module: &str) -> bool {
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    module.split('.').any(is_number)
}

#[cfg(test)]
mod tests {
    use super::tensor_of;

    #[test]
    fn modules_are_found_by_their_whole_name() {
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
                tensor_of(module, &all),
                expected.map(|at: usize| &all[at]),
                "{module}"
            );
        }
    }
}
