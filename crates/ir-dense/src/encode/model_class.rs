//! Class of a model, `architectures` in `config.json`.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::error::ModelError;
use crate::model_folder::{ADAPTER_CONFIG, base_folder, read_json};

/// Endings of classes with a head in place of an encoder, and what reads them.
const HEADS: [(&str, &str); 4] = [
    (
        "ForQuestionAnswering",
        "an extractive reader is read by ExtractiveReader (`ir ask --reader`)",
    ),
    (
        "ForSequenceClassification",
        "a cross-encoder is read by CrossEncoder (`ir search --rerank`)",
    ),
    (
        "ForTokenClassification",
        "token classifiers are not supported",
    ),
    (
        "ForMultipleChoice",
        "multiple-choice models are not supported",
    ),
];

/// Class of a model of transformers.
#[derive(serde::Deserialize, Default)]
#[serde(default)]
pub(crate) struct ModelClass {
    architectures: Option<Vec<String>>,
    is_causal: Option<bool>,
    /// File of the class.
    #[serde(skip)]
    path: PathBuf,
}

impl ModelClass {
    /// Reads the class of the transformer of a folder.
    pub(crate) fn read(folder: &Path) -> Result<Self, ModelError> {
        let path = base_folder(folder)?.join("config.json");
        let class = read_json::<Self>(&path)?.unwrap_or_default();
        Ok(Self { path, ..class })
    }

    pub(crate) fn name(&self) -> &str {
        let classes = self.architectures.as_deref().unwrap_or_default();
        classes.first().map_or("", String::as_str)
    }

    /// Returns `true` if sentence-transformers pools the last token of a folder without
    /// `modules.json`.
    pub(super) fn is_causal_lm(&self) -> bool {
        self.name().ends_with("ForCausalLM") && self.is_causal != Some(false)
    }

    /// Returns an error if the model was trained for a head, so that pooled hidden states are not
    /// vectors of texts.
    pub(crate) fn check_encoder(&self) -> Result<(), ModelError> {
        let class = self.name();
        let Some((_, what)) = HEADS.iter().find(|(end, _)| class.ends_with(end)) else {
            return Ok(());
        };
        let expected = format!(
            "an encoder: {what}; with a modules.json of sentence-transformers, or without \
             architectures, the transformer is opened without its head"
        );
        let field = "architectures";
        Err(ModelError::setting(&self.path, field, expected, class))
    }
}

/// Returns an error if a model has an adapter, which is neither merged nor applied.
pub(crate) fn check_adapter(folder: &Path) -> Result<(), ModelError> {
    let path = folder.join(ADAPTER_CONFIG);
    let Some(adapted) = read_json::<Map<String, Value>>(&path)? else {
        return Ok(());
    };
    let expected = "no adapter: merge LoRA into the model, in Python model.merge_and_unload()";
    let found = adapted.get("peft_type");
    let found = found.map_or("missing (not an adapter of PEFT)".into(), Value::to_string);
    Err(ModelError::setting(&path, "peft_type", expected, found))
}
