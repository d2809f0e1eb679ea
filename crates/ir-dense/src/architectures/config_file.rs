//! Fields of `config.json`.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Display;
use std::path::Path;
use std::rc::Rc;

use serde_json::{Map, Value};

use crate::activation::Activation;
use crate::error::ModelError;
use crate::model_folder::{Rotary, RotaryScaling, TransformerConfig};

/// Fields of a `config.json`, or of an object in it. A field that is null is absent.
#[derive(Debug)]
pub(crate) struct ConfigFile<'a> {
    pub(crate) path: &'a Path,
    pub(crate) fields: Map<String, Value>,
    /// Path of the object in the file, such as `rope_parameters.`; empty for the file.
    prefix: String,
    /// Paths of the fields of the file that were asked for.
    asked: Rc<RefCell<BTreeSet<String>>>,
}

/// Kinds of layers in `layer_types` and `rope_parameters`.
pub(crate) const FULL_ATTENTION: &str = "full_attention";
pub(crate) const SLIDING_ATTENTION: &str = "sliding_attention";

/// Fields without effect on vectors: parts of their names.
const NEUTRAL_FIELDS: [&str; 43] = [
    "_name_or_path",
    "_token_id",
    "_token_index",
    "architectures",
    "attn_implementation",
    "auto_map",
    "cache",
    "chunk_size",
    "classifier",
    "cross_attention",
    "decoder_bias",
    "deterministic_flash_attn",
    "dropout",
    "dtype",
    "final_logit",
    "gradient_checkpointing",
    "id2label",
    "init",
    "is_encoder_decoder",
    "label2id",
    "legacy",
    "model_type",
    "num_decoder_layers",
    "num_labels",
    "output_",
    "pdrop",
    "pooler_",
    "pretraining_tp",
    "problem_type",
    "sbert_ce",
    "scale_decoder",
    "sentence_transformers",
    "sinusoidal_pos_embds",
    "sparse_pred",
    "summary_",
    "task_specific_params",
    "tie_",
    "transformers_version",
    "unpad_inputs",
    "use_flash_attn",
    "use_memory_efficient",
    "vocab_size_multiple",
    "xentropy",
];

impl<'a> ConfigFile<'a> {
    pub(crate) fn new(path: &'a Path, fields: Map<String, Value>) -> Self {
        Self {
            path,
            fields,
            prefix: String::new(),
            asked: Rc::default(),
        }
    }

    /// Object of a field.
    fn inner(&self, field: &str, fields: &Map<String, Value>) -> Self {
        Self {
            path: self.path,
            fields: fields.clone(),
            prefix: format!("{}{field}.", self.prefix),
            asked: self.asked.clone(),
        }
    }

    /// Paths of the fields that nobody asked for and that may change vectors.
    pub(crate) fn unread(&self) -> Vec<String> {
        let mut unread = Vec::new();
        for (name, value) in self.fields.iter().filter(|(_, value)| !value.is_null()) {
            let path = format!("{}{name}", self.prefix);
            if NEUTRAL_FIELDS.iter().any(|part| name.contains(part)) {
                continue;
            }
            match value {
                _ if !self.asked.borrow().contains(&path) => unread.push(path),
                Value::Object(fields) => unread.extend(self.inner(name, fields).unread()),
                _ => {}
            }
        }
        unread
    }

    pub(crate) fn get(&self, field: &str) -> Option<&Value> {
        let path = format!("{}{field}", self.prefix);
        self.asked.borrow_mut().insert(path);
        self.fields.get(field).filter(|value| !value.is_null())
    }

    pub(crate) fn has(&self, field: &str) -> bool {
        self.get(field).is_some()
    }

    /// Error of a field.
    pub(crate) fn error(
        &self,
        field: &str,
        expected: impl Into<String>,
        found: impl Display,
    ) -> ModelError {
        ModelError::setting(self.path, field, expected, found)
    }

    fn typed<'b, T>(
        &'b self,
        field: &str,
        expected: &str,
        read: impl FnOnce(&'b Value) -> Option<T>,
    ) -> Result<Option<T>, ModelError> {
        let value = self
            .get(field)
            .map(|value| read(value).ok_or_else(|| self.error(field, expected, value)));
        value.transpose()
    }

    /// Returns a non-negative integer.
    pub(crate) fn integer(&self, field: &str) -> Result<Option<usize>, ModelError> {
        let read = |value: &Value| usize::try_from(value.as_u64()?).ok();
        self.typed(field, "a non-negative integer", read)
    }

    /// Returns a non-negative integer that the file must have.
    pub(crate) fn required(&self, field: &str) -> Result<usize, ModelError> {
        let value = self.integer(field)?;
        value.ok_or_else(|| self.error(field, "a non-negative integer", "missing"))
    }

    /// Returns the number of layers. A list of layers is as long as this number says.
    pub(crate) fn layers(&self, field: &str) -> Result<usize, ModelError> {
        let layers = self.required(field)?;
        self.check_layers(field, layers, layers)?;
        Ok(layers)
    }

    /// Returns an error if the value of a field, `found`, leads to too many layers.
    pub(crate) fn check_layers(
        &self,
        field: &str,
        found: usize,
        layers: usize,
    ) -> Result<(), ModelError> {
        const MAX_LAYERS: usize = 10_000;
        if layers > MAX_LAYERS {
            let expected = format!("at most {MAX_LAYERS} layers");
            return Err(self.error(field, expected, found));
        }
        Ok(())
    }

    pub(crate) fn number(&self, field: &str) -> Result<Option<f64>, ModelError> {
        self.typed(field, "a number", Value::as_f64)
    }

    pub(crate) fn flag(&self, field: &str) -> Result<Option<bool>, ModelError> {
        self.typed(field, "true or false", Value::as_bool)
    }

    pub(crate) fn text(&self, field: &str) -> Result<Option<&str>, ModelError> {
        self.typed(field, "a text", Value::as_str)
    }

    /// Returns the texts of a list.
    pub(crate) fn texts(&self, field: &str) -> Result<Option<Vec<&str>>, ModelError> {
        self.typed(field, "a list of texts", |value| {
            value.as_array()?.iter().map(Value::as_str).collect()
        })
    }

    /// Returns the fields of an object, such as `rope_parameters`.
    pub(crate) fn object(&self, field: &str) -> Result<Option<ConfigFile<'_>>, ModelError> {
        let fields = self.typed(field, "an object", Value::as_object)?;
        Ok(fields.map(|fields| self.inner(field, fields)))
    }

    /// Returns an error unless a field is absent or has the value.
    pub(crate) fn expect(&self, field: &str, expected: &Value) -> Result<(), ModelError> {
        match self.get(field) {
            Some(found) if found != expected => Err(self.error(field, expected.to_string(), found)),
            _ => Ok(()),
        }
    }

    /// Returns the activation function that a field names.
    pub(crate) fn activation(&self, field: &str, default: &str) -> Result<Activation, ModelError> {
        let name = self.text(field)?.unwrap_or(default);
        Activation::from_transformers(name)
            .ok_or_else(|| self.error(field, Activation::expected(), name))
    }

    /// Sets the fields that have the same names in most architectures: sizes, number of positions
    /// and activation function, which must be there, and ε.
    pub(crate) fn read_common(&self, config: &mut TransformerConfig) -> Result<(), ModelError> {
        config.vocab_size = self.required("vocab_size")?;
        config.hidden_size = self.required("hidden_size")?;
        config.layers = self.layers("num_hidden_layers")?;
        config.heads = self.required("num_attention_heads")?;
        config.intermediate_size = self.required("intermediate_size")?;
        config.max_positions = self.required("max_position_embeddings")?;
        if let Some(epsilon) = self.number("layer_norm_eps")? {
            config.layer_norm_eps = epsilon;
        }
        Ok(())
    }

    /// Layers of `layer_types` with local attention, counted from 0; `None` without the field.
    pub(crate) fn local_layers(&self, layers: usize) -> Result<Option<Vec<usize>>, ModelError> {
        let Some(types) = self.texts("layer_types")? else {
            return Ok(None);
        };
        if types.len() != layers {
            let expected = format!("{layers} names, as many as layers");
            return Err(self.error("layer_types", expected, types.len()));
        }
        let mut local = Vec::new();
        for (layer, kind) in types.into_iter().enumerate() {
            match kind {
                FULL_ATTENTION => {}
                SLIDING_ATTENTION => local.push(layer),
                other => {
                    let expected = format!("{FULL_ATTENTION} or {SLIDING_ATTENTION}");
                    return Err(self.error("layer_types", expected, other));
                }
            }
        }
        Ok(Some(local))
    }

    /// Returns an error if `rope_parameters` has parameters for all kinds of layers together, which
    /// transformers does not apply to layers of several kinds.
    pub(crate) fn expect_rotary_by_kind(&self) -> Result<(), ModelError> {
        let parameters = self.object("rope_parameters")?;
        let names = parameters.iter().flat_map(|it| &it.fields);
        let other = |(name, _): &(&String, &Value)| {
            ![FULL_ATTENTION, SLIDING_ATTENTION].contains(&name.as_str())
        };
        match names.into_iter().find(other) {
            None => Ok(()),
            Some((name, value)) => {
                let expected =
                    format!("in {FULL_ATTENTION} and {SLIDING_ATTENTION}, per kind of layer");
                Err(self.error(&format!("rope_parameters.{name}"), expected, value))
            }
        }
    }

    /// Field of θ in the files of flash-attention's BERT, or of transformers.
    pub(crate) fn theta_field(&self) -> &'static str {
        if self.has("rotary_emb_base") {
            "rotary_emb_base"
        } else {
            "rope_theta"
        }
    }

    /// Rotary position embeddings of all components of a head, of layers of a kind: the parameters
    /// of `rope_scaling` or `rope_parameters`, and θ as older files name it, or a default.
    pub(crate) fn rotary(
        &self,
        kind: &str,
        theta: (&str, f64),
        head_size: usize,
    ) -> Result<Rotary, ModelError> {
        if self.has("rope_scaling") && self.has("rope_parameters") {
            let found = &self.fields["rope_scaling"];
            return Err(self.error("rope_scaling", "null beside rope_parameters", found));
        }
        let field = if self.has("rope_scaling") {
            "rope_scaling"
        } else {
            "rope_parameters"
        };
        self.rotary_of(field, kind, theta, head_size)
    }

    /// [`ConfigFile::rotary`] without `rope_scaling`.
    pub(crate) fn unscaled_rotary(
        &self,
        kind: &str,
        theta: (&str, f64),
        head_size: usize,
    ) -> Result<Rotary, ModelError> {
        self.rotary_of("rope_parameters", kind, theta, head_size)
    }

    fn rotary_of(
        &self,
        field: &str,
        kind: &str,
        (theta_field, default_theta): (&str, f64),
        head_size: usize,
    ) -> Result<Rotary, ModelError> {
        let empty = || self.inner(field, &Map::new());
        let all = self.object(field)?.unwrap_or_else(empty);
        let of_kind = all.object(kind)?;
        let parameters = of_kind.as_ref().unwrap_or(&all);
        let theta = match parameters.number("rope_theta")? {
            Some(theta) => theta,
            None => self.number(theta_field)?.unwrap_or(default_theta),
        };
        let positive = |name: &str| -> Result<f64, ModelError> {
            let found = parameters.number(name)?;
            let valid = found.filter(|factor| *factor > 0.0 && factor.is_finite());
            valid.ok_or_else(|| {
                let found = found.map_or("missing".to_owned(), |found| found.to_string());
                self.error(&format!("{field}.{name}"), "above 0", found)
            })
        };
        let older = parameters.text("type")?;
        let name = parameters.text("rope_type")?.or(older).unwrap_or("default");
        let scaling = match name {
            "default" => None,
            "linear" => Some(RotaryScaling::Linear {
                factor: positive("factor")?,
            }),
            "llama3" => {
                let positions = parameters.integer("original_max_position_embeddings")?;
                let (low, high) = (positive("low_freq_factor")?, positive("high_freq_factor")?);
                if high <= low {
                    let field = format!("{field}.high_freq_factor");
                    return Err(self.error(&field, format!("above low_freq_factor, {low}"), high));
                }
                Some(RotaryScaling::Llama3 {
                    factor: positive("factor")?,
                    low_frequency_factor: low,
                    high_frequency_factor: high,
                    original_positions: match positions {
                        Some(positions) => positions,
                        None => self.required("max_position_embeddings")?,
                    },
                })
            }
            "yarn" => Some(self.yarn(field, parameters)?),
            // Of GTE's own code alone.
            "ntk" if self.text("model_type")? == Some("new") => {
                let factor = positive("factor")?;
                if factor < 1.0 {
                    return Err(self.error(&format!("{field}.factor"), "1 or more", factor));
                }
                Some(RotaryScaling::Ntk {
                    factor,
                    exponent: if parameters.has("mixed_b") {
                        positive("mixed_b")?
                    } else {
                        1.0
                    },
                })
            }
            other => {
                let known = "default, linear, llama3 or yarn";
                let expected = match other {
                    "dynamic" | "longrope" => format!(
                        "{known}: frequencies that depend on the longest text of a batch are not \
                         supported"
                    ),
                    _ => format!("{known}: others are not supported"),
                };
                return Err(self.error(&format!("{field}.rope_type"), expected, other));
            }
        };
        for partial in [parameters, self] {
            if let Some(found) = partial.number("partial_rotary_factor")?
                && found != 1.0
            {
                return Err(self.error("partial_rotary_factor", "1", found));
            }
        }
        Ok(Rotary {
            theta,
            dim: head_size,
            scaling,
        })
    }

    /// Parameters of YaRN; those that transformers infers have its defaults.
    fn yarn(&self, field: &str, parameters: &Self) -> Result<RotaryScaling, ModelError> {
        let positive = |name: &str| -> Result<Option<f64>, ModelError> {
            match parameters.number(name)? {
                Some(value) if !(value > 0.0 && value.is_finite()) => {
                    Err(self.error(&format!("{field}.{name}"), "above 0", value))
                }
                value => Ok(value),
            }
        };
        let positions = self.required("max_position_embeddings")?;
        let original = parameters.integer("original_max_position_embeddings")?;
        let original_positions = original.unwrap_or(positions).max(1);
        let extension = positions as f64 / original_positions as f64;
        let factor = positive("factor")?.unwrap_or(extension);
        let scale = |weight: f64| match factor {
            ..=1.0 => 1.0,
            factor => 0.1 * weight * factor.ln() + 1.0,
        };
        let scales = positive("mscale")?.zip(positive("mscale_all_dim")?);
        let inferred = scales.map_or(scale(1.0), |(one, all)| scale(one) / scale(all));
        let beta_fast = positive("beta_fast")?.unwrap_or(32.0);
        let beta_slow = positive("beta_slow")?.unwrap_or(1.0);
        if beta_fast <= beta_slow {
            let expected = format!("above beta_slow, {beta_slow}");
            return Err(self.error(&format!("{field}.beta_fast"), expected, beta_fast));
        }
        Ok(RotaryScaling::Yarn {
            factor,
            beta_fast,
            beta_slow,
            original_positions,
            attention_factor: positive("attention_factor")?.unwrap_or(inferred),
            truncate: parameters.flag("truncate")?.unwrap_or(true),
        })
    }
}
