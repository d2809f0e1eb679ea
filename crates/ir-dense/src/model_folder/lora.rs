//! Adapters of the PEFT library: LoRA, which is added to the weights of a base model.

use std::collections::BTreeMap;
use std::path::Path;

use rayon::prelude::*;
use regex::Regex;
use serde_json::Value;

use super::adapter_config::{AdapterConfig, find_tensor};
use super::weights::{TensorSource, WeightAdapter, WeightFile, check_finite, is_number};
use super::{TensorValues, transposed};
use crate::error::ModelError;

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
pub(super) struct LoraAdapter {
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

impl AdapterConfig {
    /// Returns an error unless the adapter is LoRA, which is merged as a whole.
    pub(super) fn check_lora(&self) -> Result<(), ModelError> {
        let merge = "no other adapter is merged when a model is opened; in Python, \
            model.merge_and_unload() merges it";
        let kind = &self.fields.get("peft_type").cloned().unwrap_or_default();
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

impl LoraAdapter {
    /// Opens the adapter of a folder for a base model with the tensors `all`.
    pub(super) fn open(
        folder: &Path,
        config: &AdapterConfig,
        all: &[String],
    ) -> Result<Self, ModelError> {
        let file = config.open_weights(folder)?;
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
            let Some(tensor) = find_tensor(&format!("{module}.weight"), all) else {
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

impl WeightAdapter for LoraAdapter {
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

/// Returns `true` if a part of the name is a number.
fn is_in_layer(module: &str) -> bool {
    module.split('.').any(is_number)
}
