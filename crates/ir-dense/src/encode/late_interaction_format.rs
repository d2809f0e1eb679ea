//! Folder formats of late-interaction models, which a bi-encoder does not read.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::model_class::ModelClass;
use super::module_entry::SentenceTransformersModule;
use crate::error::ModelError;
use crate::model_folder::read_json;

pub(crate) const CONFIG: &str = "config_sentence_transformers.json";
pub(crate) const MODULES: &str = "modules.json";
/// Class of Stanford's ColBERT.
pub(crate) const STANFORD_CLASS: &str = "HF_ColBERT";
/// Keys of [`CONFIG`] that only PyLate writes.
const PYLATE_KEYS: [&str; 9] = [
    "query_prefix",
    "document_prefix",
    "query_length",
    "document_length",
    "query_expansion",
    "do_query_expansion",
    "attend_to_expansion_tokens",
    "attend_to_mask_tokens",
    "skiplist_words",
];

/// Folder format of a late-interaction model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LateInteractionFormat {
    /// Layout of `MultiVectorEncoder.save_pretrained`.
    SentenceTransformers,
    PyLate,
    /// Stanford's ColBERT: the projection is in the weight file of the transformer.
    Stanford,
}

/// Values of a JSON file.
pub(crate) struct Values {
    pub(crate) path: PathBuf,
    pub(crate) map: Map<String, Value>,
}

impl Values {
    pub(crate) fn read(path: PathBuf) -> Result<Self, ModelError> {
        let map = read_json(&path)?.unwrap_or_default();
        Ok(Self { path, map })
    }

    /// Returns a value that is neither missing nor null.
    pub(crate) fn get(&self, key: &str) -> Option<&Value> {
        self.map.get(key).filter(|value| !value.is_null())
    }

    pub(crate) fn typed<'a, T>(
        &'a self,
        key: &str,
        expected: &str,
        convert: impl Fn(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, ModelError> {
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        let converted = convert(value);
        let error = || ModelError::setting(&self.path, key, expected, value);
        converted.map(Some).ok_or_else(error)
    }

    pub(crate) fn text(&self, key: &str) -> Result<Option<&str>, ModelError> {
        self.typed(key, "a text", Value::as_str)
    }

    pub(crate) fn flag(&self, key: &str) -> Result<Option<bool>, ModelError> {
        self.typed(key, "true or false", Value::as_bool)
    }

    pub(crate) fn count(&self, key: &str) -> Result<Option<usize>, ModelError> {
        let count = |value: &Value| value.as_u64().filter(|&it| it > 0);
        let count = self.typed(key, "a number of tokens, 1 or more", count)?;
        Ok(count.map(|it| it as usize))
    }

    pub(crate) fn words(&self, key: &str) -> Result<Option<Vec<String>>, ModelError> {
        self.typed(key, "a list of words", |value| {
            serde_json::from_value(value.clone()).ok()
        })
    }

    pub(crate) fn is_pylate(&self) -> bool {
        PYLATE_KEYS.iter().any(|key| self.map.contains_key(*key))
    }
}

impl LateInteractionFormat {
    /// Name of the program that writes the format.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::SentenceTransformers => "sentence-transformers",
            Self::PyLate => "PyLate",
            Self::Stanford => "ColBERT",
        }
    }

    /// Returns the format of a folder; `None` if it is not of a late-interaction model.
    pub(crate) fn read(folder: &Path) -> Result<Option<Self>, ModelError> {
        let config = Values::read(folder.join(CONFIG))?;
        let modules = read_json::<Vec<SentenceTransformersModule>>(&folder.join(MODULES))?;
        let is_stanford = modules.is_none() && ModelClass::read(folder)?.name() == STANFORD_CLASS;
        Ok(match config.text("model_type")? {
            Some("MultiVectorEncoder") if is_stanford => Some(Self::Stanford),
            Some("MultiVectorEncoder") => Some(Self::SentenceTransformers),
            Some("ColBERT") => Some(Self::PyLate),
            Some(_) => None,
            None if modules.is_some() && config.is_pylate() => Some(Self::PyLate),
            None => match modules {
                Some(modules) => {
                    let has_mask = modules.iter().any(|it| it.name() == "MultiVectorMask");
                    has_mask.then_some(Self::SentenceTransformers)
                }
                None => is_stanford.then_some(Self::Stanford),
            },
        })
    }

    /// Returns an error if the folder is of a late-interaction model.
    pub(crate) fn check_bi_encoder(folder: &Path) -> Result<(), ModelError> {
        let Some(format) = Self::read(folder)? else {
            return Ok(());
        };
        let what = match format {
            Self::SentenceTransformers => "MultiVectorEncoder",
            Self::PyLate => "ColBERT of PyLate",
            Self::Stanford => STANFORD_CLASS,
        };
        let expected = "a bi-encoder: MultiVectorEncoder reads late-interaction models, which have \
                        one vector per token";
        Err(ModelError::setting(folder, "the model", expected, what))
    }
}
