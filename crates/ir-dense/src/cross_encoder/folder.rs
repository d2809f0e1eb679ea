//! Files of a cross-encoder: what sentence-transformers' `CrossEncoder` reads of a folder.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::activation::OutputActivation;
use crate::encode::module_entry::transformer_folder;
use crate::error::ModelError;
use crate::model_folder::read_json;

/// Classes of models with a classification head.
const CLASSIFIER: &str = "ForSequenceClassification";

/// Settings of a folder.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CrossEncoderFolder {
    /// Folder of transformer and tokenizer.
    pub(super) transformer: PathBuf,
    /// Number of labels of the head.
    pub(super) labels: usize,
    /// If `true`, the class of the model has a classification head.
    pub(super) has_head: bool,
    /// Activation function of the scores; `None` for the default.
    pub(super) activation: Option<OutputActivation>,
    /// Id of the padding token according to `config.json`.
    pub(super) padding: Option<u32>,
}

impl CrossEncoderFolder {
    pub(super) fn read(folder: &Path, needs_head: bool) -> Result<Self, ModelError> {
        let transformer = transformer_folder(folder)?;
        let path = transformer.join("config.json");
        let Some(config) = read_json::<Map<String, Value>>(&path)? else {
            return Err(ModelError::MissingFile {
                folder: transformer,
                expected: "config.json",
            });
        };
        let class = config.get("architectures").and_then(|it| it[0].as_str());
        let class = class.unwrap_or_default();
        let has_head = class.ends_with(CLASSIFIER);
        if needs_head && !has_head {
            let expected = format!(
                "a cross-encoder, {CLASSIFIER}; an encoder is read by BiEncoder, and training adds \
                 a head to it"
            );
            return Err(ModelError::setting(&path, "architectures", expected, class));
        }
        let padding = config.get("pad_token_id").and_then(Value::as_u64);
        Ok(Self {
            labels: labels(&path, &config)?,
            has_head,
            activation: activation(&path, &config)?,
            padding: padding.and_then(|id| u32::try_from(id).ok()),
            transformer,
        })
    }
}

/// Number of labels, as in transformers: 2 by default.
fn labels(path: &Path, config: &Map<String, Value>) -> Result<usize, ModelError> {
    let named = config.get("id2label").filter(|it| !it.is_null());
    let number = config.get("num_labels").filter(|it| !it.is_null());
    let labels = match (named, number) {
        (Some(named), _) => named.as_object().map(Map::len),
        (None, Some(number)) => number.as_u64().and_then(|it| usize::try_from(it).ok()),
        (None, None) => Some(2),
    };
    labels.filter(|&labels| labels > 0).ok_or_else(|| {
        let found = named.or(number).unwrap_or(&Value::Null);
        ModelError::setting(path, "id2label", "one label or more", found)
    })
}

/// Activation function in `config.json`. A class of another package than torch has no effect.
fn activation(
    path: &Path,
    config: &Map<String, Value>,
) -> Result<Option<OutputActivation>, ModelError> {
    let current = config
        .get("sentence_transformers")
        .and_then(|it| it.get("activation_fn"));
    let earlier = "sbert_ce_default_activation_function";
    let (field, class) = match current {
        Some(class) => ("sentence_transformers.activation_fn", class),
        None => (earlier, config.get(earlier).unwrap_or(&Value::Null)),
    };
    match class {
        Value::String(class) if class.starts_with("torch.") => {
            OutputActivation::from_class(path, field, class).map(Some)
        }
        _ => Ok(None),
    }
}
