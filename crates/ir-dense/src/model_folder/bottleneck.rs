//! Adapters of the library `adapters`, as in SPECTER2: a bottleneck after every feed-forward
//! network.
//!
//! With the input x of the feed-forward network and the output h of its second projection, a layer
//! of BERT returns LN(h + x). With an adapter it returns LN(A(LN(h + x)) + h + x), where
//! A(v) = up(activation(down(v))) and LN is the same normalization, with the same weights, twice:
//!
//! | setting | where A is |
//! |---|---|
//! | `output_adapter` | after the feed-forward network; `mh_adapter`: after attention |
//! | `original_ln_before` | its input is LN(h + x); otherwise h |
//! | `residual_before_ln` | h is added to its output; otherwise its input |
//! | `original_ln_after` | x is added, and the sum normalized; otherwise neither |
//! | `ln_before`, `ln_after` | normalizations of its own around it |
//! | `adapter_residual_before_ln` | order of `ln_after` and the sum; no effect without `ln_after` |
//!
//! # Source
//! The library `adapters` (github.com/adapter-hub/adapters): `Adapter.pre_forward`, `forward` and
//! `post_forward` in `src/adapters/methods/modeling.py` (commit 12379e3), called for the output of
//! the second projection by `BertOutputWithAdapters` in
//! `src/adapters/models/bert/modeling_bert.py`; defaults of settings in `BnConfig`, and the values
//! of `SeqBnConfig` (`pfeiffer`), in `src/adapters/configuration/adapter_config.py`; names of files
//! in `src/adapters/utils.py`. Pfeiffer et al., "AdapterFusion: Non-Destructive Task Composition
//! for Transfer Learning", EACL 2021. SPECTER2: Singh et al., "SciRepEval: A Multi-Format
//! Benchmark for Scientific Document Representations", EMNLP 2023.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::adapter_config::{ADAPTER_CONFIG, AdapterConfig, BOTTLENECK_WEIGHTS, find_tensor};
use super::weights::{TensorSource, WeightAdapter, WeightFile, is_number};
use super::{BottleneckAdapter, NamedTensor, TransformerConfig, write_json, write_tensors};
use crate::activation::Activation;
use crate::error::ModelError;

/// Module of the adapters in a layer, after its number. The name of the adapter follows.
const MODULE: &str = "output.adapters";

/// Projections of an adapter, after its name.
const PROJECTIONS: [&str; 2] = ["adapter_down.0", "adapter_up"];

/// Settings with the only supported value, and the library's default; `None`: the setting is
/// required.
const FLAGS: [(&str, bool, Option<bool>); 11] = [
    ("mh_adapter", false, None),
    ("output_adapter", true, None),
    ("original_ln_before", true, Some(false)),
    ("original_ln_after", true, Some(true)),
    ("ln_before", false, Some(false)),
    ("ln_after", false, Some(false)),
    ("residual_before_ln", true, Some(true)),
    ("is_parallel", false, Some(false)),
    ("use_gating", false, Some(false)),
    ("cross_adapter", false, Some(false)),
    ("phm_layer", false, Some(false)),
];

/// Settings that must be absent, null or empty: other kinds of adapters, modules after the
/// embeddings, layers without adapter.
const ABSENT: [&str; 4] = [
    "architecture",
    "inv_adapter",
    "invertible_adapter",
    "leave_out",
];

/// Version of the library that is written to `adapter_config.json`. Files without a version have
/// other names of activation functions.
const VERSION: &str = "adapters.1.0.0";

/// Tensors of a bottleneck adapter.
pub(super) struct BottleneckTensors {
    file: WeightFile,
    adapter: BottleneckAdapter,
    /// Names of the tensors of the file.
    names: Vec<String>,
}

impl AdapterConfig {
    /// Reads the description of a bottleneck adapter.
    ///
    /// # Errors
    /// Returns [`ModelError`] if a value is missing or not supported.
    pub(super) fn bottleneck(&self) -> Result<BottleneckAdapter, ModelError> {
        let null = &Value::Null;
        let get = |field: &str| self.fields.get(field).unwrap_or(null);
        let settings = get("config");
        let Some(settings) = settings.as_object() else {
            let expected = "an object with the settings of the adapter";
            return Err(self.error("config", expected, settings));
        };
        self.check_settings(settings)?;
        let name = get("name").as_str().filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| {
            let expected = "the name of the adapter in the names of its tensors";
            self.error("name", expected, get("name"))
        })?;
        let hidden = get("hidden_size").as_u64().filter(|it| *it > 0);
        let hidden = hidden.ok_or_else(|| {
            let expected = "the hidden_size of the base model";
            self.error("hidden_size", expected, get("hidden_size"))
        })?;
        let setting = |key: &str| settings.get(key).unwrap_or(null);
        let factor = setting("reduction_factor");
        let size = factor.as_f64().and_then(|it| inner_size(hidden as f64, it));
        let size = size.ok_or_else(|| {
            let expected = "a number above 0, the same for all layers";
            self.error("config.reduction_factor", expected, factor)
        })?;
        let function = setting("non_linearity");
        let is_versioned = self.fields.contains_key("version");
        let activation = function.as_str().map(str::to_lowercase);
        let activation = activation.and_then(|name| match &name[..] {
            "gelu" if !is_versioned => Some(Activation::GeluTanh),
            "gelu_orig" if !is_versioned => Some(Activation::Gelu),
            name => Activation::from_transformers(name),
        });
        let activation = activation
            .ok_or_else(|| self.error("config.non_linearity", Activation::expected(), function))?;
        Ok(BottleneckAdapter {
            name: name.to_owned(),
            size,
            activation,
        })
    }

    /// Returns an error if an adapter of the library computes something else.
    fn check_settings(&self, settings: &Map<String, Value>) -> Result<(), ModelError> {
        let error = |key: &str, expected: &str, found: &Value| {
            Err(self.error(&format!("config.{key}"), expected, found))
        };
        for key in ABSENT {
            let is_absent = match settings.get(key) {
                None | Some(Value::Null) => true,
                Some(Value::Array(values)) => values.is_empty(),
                Some(_) => false,
            };
            if !is_absent {
                let expected = "none: only bottlenecks after all feed-forward networks are \
                    supported";
                return error(key, expected, &settings[key]);
            }
        }
        for (key, expected, default) in FLAGS {
            let found = settings.get(key);
            let value = found.map_or(default, Value::as_bool);
            if value != Some(expected) {
                let missing = default.map_or(Value::Null, Value::Bool);
                return error(key, &expected.to_string(), found.unwrap_or(&missing));
            }
        }
        match settings.get("scaling") {
            Some(found) if found.as_f64() != Some(1.0) => error("scaling", "1", found),
            _ => Ok(()),
        }
    }

    /// Returns an error if the adapter is of another base model.
    pub(super) fn check_base(
        &self,
        base: &TransformerConfig,
        model_types: &[&str],
    ) -> Result<(), ModelError> {
        let null = &Value::Null;
        let found = self.fields.get("hidden_size").unwrap_or(null);
        if found.as_u64() != Some(base.hidden_size as u64) {
            let expected = format!("{}, as of the base model", base.hidden_size);
            return Err(self.error("hidden_size", expected, found));
        }
        let found = self.fields.get("model_type").unwrap_or(null);
        if !found.as_str().is_some_and(|it| model_types.contains(&it)) {
            let expected = format!("{}, as of the base model", model_types.join(" or "));
            return Err(self.error("model_type", expected, found));
        }
        Ok(())
    }
}

/// Inner dimension of an adapter: ⌊hidden_size / reduction_factor⌋ as Python computes it, or 1.
fn inner_size(hidden: f64, factor: f64) -> Option<usize> {
    let size = ((hidden - hidden % factor) / factor).round().max(1.0);
    (factor > 0.0 && size <= f64::from(i32::MAX)).then_some(size as usize)
}

/// A reduction factor that gives an inner dimension.
fn reduction_factor(hidden: usize, size: usize) -> Value {
    if hidden.is_multiple_of(size) {
        json!(hidden / size)
    } else {
        json!(hidden as f64 / (size as f64 + 0.5))
    }
}

impl BottleneckAdapter {
    /// Names of the down- and up-projection in a layer, after its number, without `.weight` and
    /// `.bias`.
    pub(crate) fn projections(&self) -> [String; 2] {
        PROJECTIONS.map(|part| format!("{MODULE}.{}.{part}", self.name))
    }

    /// Returns `true` for the names of the adapter's tensors, which follow the number of a layer.
    fn has_tensor(&self, tensor: &str) -> bool {
        let mut ends = [".weight", ".bias"].into_iter();
        let Some(module) = ends.find_map(|end| tensor.strip_suffix(end)) else {
            return false;
        };
        self.projections().iter().any(|projection| {
            let start = module.strip_suffix(&projection[..]);
            let start = start.and_then(|start| start.strip_suffix('.'));
            start
                .and_then(|start| start.rsplit('.').next())
                .is_some_and(is_number)
        })
    }

    /// Writes the adapter of a model in the folder of the model as the library `adapters` does:
    /// configuration and weights.
    pub(crate) fn write(
        &self,
        folder: &Path,
        base: &TransformerConfig,
        model_type: &str,
        tensors: &[NamedTensor],
    ) -> Result<(), ModelError> {
        let mut settings = Map::new();
        for (key, value, _) in FLAGS {
            settings.insert(key.to_owned(), value.into());
        }
        let factor = reduction_factor(base.hidden_size, self.size);
        settings.insert("reduction_factor".into(), factor);
        let name = self.activation.transformers_name();
        settings.insert("non_linearity".into(), name.into());
        settings.insert("scaling".into(), json!(1.0));
        let config = json!({
            "config": settings,
            "hidden_size": base.hidden_size,
            "model_name": null,
            "model_type": model_type,
            "name": self.name,
            "version": VERSION,
        });
        write_json(&folder.join(ADAPTER_CONFIG), &config)?;
        write_tensors(&folder.join(BOTTLENECK_WEIGHTS[0]), tensors)
    }
}

impl BottleneckTensors {
    /// Opens the weights of an adapter.
    pub(super) fn open(
        folder: &Path,
        config: &AdapterConfig,
        adapter: BottleneckAdapter,
    ) -> Result<Self, ModelError> {
        let file = config.open_weights(folder)?;
        let mut names = file.names();
        names.sort_unstable();
        if let Some(other) = names.iter().find(|name| !adapter.has_tensor(name)) {
            let [down, up] = adapter.projections();
            let expected = format!("the weights and biases of {down} and {up} of every layer");
            return Err(ModelError::setting(file.path(), "tensor", expected, other));
        }
        Ok(Self {
            file,
            adapter,
            names,
        })
    }
}

impl WeightAdapter for BottleneckTensors {
    fn path(&self) -> &Path {
        self.file.path()
    }

    fn own<'a>(&'a self, name: &'a str) -> Option<(&'a WeightFile, &'a str)> {
        self.adapter.has_tensor(name).then(|| {
            // A missing tensor is the error of the adapter's file.
            let found = find_tensor(name, &self.names);
            (&self.file, found.map_or(name, String::as_str))
        })
    }

    fn check_unread(&self) -> Result<(), ModelError> {
        self.file.check_unread()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `int(hidden // factor)` in Python 3.
    #[test]
    fn inner_dimensions_are_those_of_python() {
        for (hidden, factor, expected) in [
            (768.0, 16.0, Some(48)),
            (768.0, 7.0, Some(109)),
            (24.0, 5.5, Some(4)),
            (1.0, 0.1, Some(9)),
            (24.0, 25.0, Some(1)),
            (24.0, 0.5, Some(48)),
            (24.0, 0.0, None),
            (24.0, -2.0, None),
            (24.0, f64::NAN, None),
            (24.0, 1e-9, None),
        ] {
            assert_eq!(inner_size(hidden, factor), expected, "{hidden}, {factor}");
        }
    }

    #[test]
    fn reduction_factors_give_their_inner_dimension() {
        for hidden in [1, 24, 384, 768, 1000] {
            for size in 1..=2 * hidden {
                let factor = reduction_factor(hidden, size).as_f64();
                let found = inner_size(hidden as f64, factor.unwrap_or_default());
                assert_eq!(found, Some(size), "{hidden}");
            }
        }
    }

    #[test]
    fn tensors_of_other_modules_and_adapters_are_not_of_an_adapter() {
        let adapter = BottleneckAdapter {
            name: "[PRX]".to_owned(),
            size: 4,
            activation: Activation::Relu,
        };
        for (tensor, expected) in [
            (
                "bert.encoder.layer.0.output.adapters.[PRX].adapter_down.0.weight",
                true,
            ),
            (
                "encoder.layer.11.output.adapters.[PRX].adapter_up.bias",
                true,
            ),
            (
                "encoder.layer.0.output.adapters.[QRY].adapter_up.bias",
                false,
            ),
            (
                "encoder.layer.0.output.adapters.[PRX].adapter_up.scale",
                false,
            ),
            (
                "encoder.layer.0.attention.output.adapters.[PRX].adapter_up.bias",
                false,
            ),
            ("output.adapters.[PRX].adapter_up.bias", false),
            ("encoder.layer.0.output.dense.bias", false),
        ] {
            assert_eq!(adapter.has_tensor(tensor), expected, "{tensor}");
        }
    }
}
