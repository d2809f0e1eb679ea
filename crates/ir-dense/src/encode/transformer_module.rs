//! Configuration of the Transformer module of sentence-transformers, `sentence_bert_config.json`.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::error::ModelError;
use crate::model_folder::read_json;

/// Files with the configuration, in the order in which sentence-transformers looks for them; all
/// but the first are names of early versions.
pub(crate) const SENTENCE_BERT_CONFIGS: [&str; 7] = [
    "sentence_bert_config.json",
    "sentence_roberta_config.json",
    "sentence_distilbert_config.json",
    "sentence_camembert_config.json",
    "sentence_albert_config.json",
    "sentence_xlm-roberta_config.json",
    "sentence_xlnet_config.json",
];

/// Keys of `config_kwargs` and `processor_kwargs` that do not change vectors.
const NEUTRAL_KEYS: [&str; 9] = [
    "attn_implementation",
    "cache_dir",
    "dtype",
    "padding_side",
    "reference_compile",
    "torch_dtype",
    "trust_remote_code",
    "use_cache",
    "use_fast",
];

/// Values of the file. Those that would change vectors and are not implemented are an error.
#[derive(serde::Deserialize, Default)]
#[serde(default)]
pub(crate) struct TransformerModule {
    pub(crate) max_seq_length: Option<usize>,
    pub(crate) do_lower_case: bool,
    pub(crate) query_length: Option<usize>,
    pub(crate) document_length: Option<usize>,
    transformer_task: Option<String>,
    module_output_name: Option<String>,
    modality_config: Option<Map<String, Value>>,
    tokenizer_name_or_path: Option<String>,
    pub(crate) query_expansion: Option<Value>,
    /// File of the values.
    #[serde(skip)]
    pub(crate) path: PathBuf,
    processing_kwargs: Option<Map<String, Value>>,
    #[serde(alias = "tokenizer_args")]
    processor_kwargs: Option<Map<String, Value>>,
    #[serde(alias = "config_args")]
    config_kwargs: Option<Map<String, Value>>,
}

impl TransformerModule {
    /// Reads the first of the files that exists; default if none does.
    pub(crate) fn read(folder: &Path) -> Result<Self, ModelError> {
        for name in SENTENCE_BERT_CONFIGS {
            let path = folder.join(name);
            if let Some(module) = read_json::<Self>(&path)? {
                module.check(&path)?;
                return Ok(Self { path, ..module });
            }
        }
        let path = folder.join(SENTENCE_BERT_CONFIGS[0]);
        Ok(Self {
            path,
            ..Self::default()
        })
    }

    /// Returns an error if queries are expanded, which is for vectors of tokens.
    pub(super) fn check_unexpanded(&self) -> Result<(), ModelError> {
        let expansion = self.query_expansion.as_ref().filter(|it| !it.is_null());
        expansion.map_or(Ok(()), |found| {
            let expected = "null: MultiVectorEncoder expands queries";
            Err(ModelError::setting(
                &self.path,
                "query_expansion",
                expected,
                found,
            ))
        })
    }

    fn check(&self, path: &Path) -> Result<(), ModelError> {
        let names = [
            (
                "transformer_task",
                &self.transformer_task,
                "feature-extraction",
            ),
            (
                "module_output_name",
                &self.module_output_name,
                "token_embeddings",
            ),
        ];
        for (field, name, expected) in names {
            if let Some(name) = name.as_deref().filter(|&name| name != expected) {
                return Err(ModelError::setting(path, field, expected, name));
            }
        }
        if let Some(modalities) = &self.modality_config {
            let text = modalities.get("text").unwrap_or(&Value::Null);
            if text["method"] != "forward" || text["method_output_name"] != "last_hidden_state" {
                let expected = "the method forward and its output last_hidden_state";
                let field = "modality_config.text";
                return Err(ModelError::setting(path, field, expected, text));
            }
        }
        if let Some(found) = &self.tokenizer_name_or_path {
            let expected = "no other tokenizer than the one of the folder";
            let field = "tokenizer_name_or_path";
            return Err(ModelError::setting(path, field, expected, found));
        }
        let is_set = |value: &Value| value.as_object().is_none_or(|it| !it.is_empty());
        for name in ["text", "common"] {
            let values = self.processing_kwargs.as_ref().and_then(|it| it.get(name));
            if let Some(values) = values.filter(|it| is_set(it)) {
                let field = format!("processing_kwargs.{name}");
                return Err(ModelError::setting(path, field, "no such key", values));
            }
        }
        for (field, values, file) in [
            (
                "processor_kwargs",
                &self.processor_kwargs,
                "tokenizer_config.json",
            ),
            ("config_kwargs", &self.config_kwargs, "config.json"),
        ] {
            let mut values = values.iter().flatten();
            if let Some((key, value)) = values.find(|(key, _)| !NEUTRAL_KEYS.contains(&&key[..])) {
                let expected = format!("no such key, but the value in {file}");
                let field = format!("{field}.{key}");
                return Err(ModelError::setting(path, field, expected, value));
            }
        }
        Ok(())
    }
}
