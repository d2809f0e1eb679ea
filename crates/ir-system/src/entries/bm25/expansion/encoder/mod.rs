//! Encoders by model, prefixes, pooling and training.

pub(crate) mod training;

use std::borrow::Cow;

use ir_data::DocTemplate;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize};

use self::training::{RandomEntry, TrainingEntry};
use crate::error::SystemError;
use crate::string_or_table::string_or_table;
use crate::suggest::did_you_mean;

/// Encoder: a model or random weights, options that differ from the model, and its training.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EncoderEntry {
    /// Model folder in Hugging Face layout, or the name of a downloaded model (`ir models`). A path
    /// may start with an environment variable: `$IR_MODEL`.
    pub model: Option<String>,
    /// Randomly initialized model, instead of `model`.
    pub random: Option<RandomEntry>,
    /// Fine-tuning of the model on labeled queries.
    pub training: Option<TrainingEntry>,
    /// Template of the document texts. Default: `{title} {text}`.
    pub template: Option<String>,
    /// Maximum sequence length in tokens. Range: ≥ 1. Default: from the model.
    #[schemars(range(min = 1))]
    pub max_tokens: Option<usize>,
    /// Prefix of every query. Default: from the model.
    pub query_prefix: Option<String>,
    /// Prefix of every document. Default: from the model.
    pub document_prefix: Option<String>,
    /// Pooling of token vectors. Default: from the model.
    pub pooling: Option<PoolingName>,
    /// Normalizes vectors to unit length. Default: from the model.
    pub normalize: Option<bool>,
    /// Number of dimensions that are kept of every vector (Matryoshka), up to the dimension of the
    /// model. Range: ≥ 1. Default: from the model.
    #[schemars(range(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncate_dim: Option<usize>,
    /// Number format of the linear layers when encoding; `training` has its own. Default: `f32`.
    pub precision: Option<PrecisionName>,
}

/// Number format of the linear layers of an encoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PrecisionName {
    /// Single precision, IEEE 754 binary32.
    F32,
    /// bfloat16, with sums in f32.
    Bf16,
    /// 8-bit integers, quantized per output channel and per token, with integer sums.
    Int8,
}

/// Pooling of token vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PoolingName {
    /// Vector of the first token.
    Cls,
    /// Vector of the last token, such as `[SEP]`.
    #[serde(rename = "lasttoken")]
    LastToken,
    /// Mean of the token vectors.
    Mean,
    /// Elementwise maximum of the token vectors.
    Max,
    /// Sum divided by the square root of the number of tokens.
    #[serde(rename = "mean_sqrt_len_tokens")]
    MeanSqrt,
    /// Mean with the positions 1 to n of the tokens as weights.
    #[serde(rename = "weightedmean")]
    WeightedMean,
}

/// Encoder of a system: the name of an entry of `[encoders]`, or a table with the keys of one.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum EncoderReference {
    /// Name of an entry of `[encoders]`.
    Name(String),
    /// Encoder of this system alone.
    Table(Box<EncoderEntry>),
}

impl EncoderEntry {
    /// Checks what [`check_ranges`](crate::check_ranges) does not: keys that exclude or need one
    /// another. Keys of errors are relative to the entry.
    ///
    /// # Errors
    /// Returns [`SystemError::Parameter`] with the key of the first invalid parameter.
    pub fn check(&self) -> Result<(), SystemError> {
        match (&self.model, &self.random) {
            (Some(_), Some(_)) => {
                let message = "expected either model or random, found both";
                return Err(SystemError::parameter("random", message));
            }
            (None, None) => {
                let message = "expected the key model or random, found neither";
                return Err(SystemError::parameter("", message));
            }
            _ => {}
        }
        self.template()?;
        if let Some(random) = &self.random {
            random.check()?;
        }
        self.training.as_ref().map_or(Ok(()), TrainingEntry::check)
    }

    /// Template of the document texts.
    pub(crate) fn template(&self) -> Result<DocTemplate, SystemError> {
        crate::entries::template(self.template.as_deref().unwrap_or("{title} {text}"))
    }

    /// Returns key and path of the model, if the entry has one.
    #[must_use]
    pub fn file(&self) -> Option<(String, String)> {
        let model = self.model.as_ref()?;
        Some(("model".to_owned(), model.clone()))
    }

    /// Name of the weights, for descriptions.
    #[cfg_attr(not(feature = "dense"), allow(dead_code))]
    pub(crate) fn label(&self) -> String {
        let model = self.model.as_deref().unwrap_or("random model");
        let name = model.rsplit('/').next().unwrap_or(model);
        match &self.training {
            None => name.to_owned(),
            Some(_) => format!("{name}, fine-tuned"),
        }
    }
}

impl EncoderReference {
    /// Checks the parameters of a table.
    pub(crate) fn check(&self) -> Result<(), SystemError> {
        match self {
            Self::Name(_) => Ok(()),
            Self::Table(entry) => entry.check().map_err(in_table),
        }
    }

    /// Key and path of the model of a table.
    pub(crate) fn file(&self) -> Option<(String, String)> {
        match self {
            Self::Name(_) => None,
            Self::Table(entry) => {
                let (key, path) = entry.file()?;
                Some((format!("encoder.{key}"), path))
            }
        }
    }

    /// Key and name of a named encoder.
    pub(crate) fn named(&self) -> Option<(String, String)> {
        match self {
            Self::Name(name) => Some(("encoder".to_owned(), name.clone())),
            Self::Table(_) => None,
        }
    }
}

/// Error of a reference to an encoder that does not exist.
pub fn unknown_encoder<'a>(
    key: &str,
    name: &str,
    known: impl Iterator<Item = &'a str> + Clone,
) -> SystemError {
    let hint = did_you_mean(name, known.clone());
    let known = known.collect::<Vec<_>>().join(", ");
    let message = if known.is_empty() {
        format!(
            "expected an entry of [encoders], which is empty, or a table with the key model, found \
             {name:?}"
        )
    } else {
        format!("expected an entry of [encoders] ({known}), found {name:?}{hint}")
    };
    SystemError::parameter(key, message)
}

/// Error of the table of a system.
pub(crate) fn in_table(error: SystemError) -> SystemError {
    error.in_table("encoder")
}

impl<'de> Deserialize<'de> for EncoderReference {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        string_or_table(
            input,
            "the name of an entry of [encoders], or a table",
            |name| Self::Name(name.to_owned()),
            |entry| Self::Table(Box::new(entry)),
        )
    }
}

impl JsonSchema for EncoderReference {
    fn schema_name() -> Cow<'static, str> {
        "EncoderReference".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = generator.subschema_for::<EncoderEntry>();
        let description = "Name of an entry of [encoders], or a table with its keys.";
        schemars::json_schema!({
            "description": description,
            "anyOf": [{ "type": "string" }, table],
        })
    }
}
