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

/// What a model of transformers is loaded for: `transformer_task`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TransformerTask {
    /// Hidden states of the last layer.
    Features,
    /// Logits of a classification head.
    Classification,
    /// Logits of the vocabulary at the last token.
    Generation,
    /// Logits of the vocabulary at every token.
    MaskedLanguageModel,
}

impl TransformerTask {
    /// Every task with its name and the names of two outputs: of the module, of the model.
    const NAMES: [(Self, &'static str, &'static str, &'static str); 4] = [
        (
            Self::Features,
            "feature-extraction",
            "token_embeddings",
            "last_hidden_state",
        ),
        (
            Self::Classification,
            "sequence-classification",
            "scores",
            "logits",
        ),
        (
            Self::Generation,
            "text-generation",
            "causal_logits",
            "logits",
        ),
        (
            Self::MaskedLanguageModel,
            "fill-mask",
            "token_embeddings",
            "logits",
        ),
    ];
}

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
    /// Reads the first of the files that exists; default if none does. The task is hidden states.
    pub(crate) fn read(folder: &Path) -> Result<Self, ModelError> {
        let (module, _) = Self::read_task(folder, &[TransformerTask::Features])?;
        Ok(module)
    }

    /// [`Self::read`] for one of several tasks.
    pub(crate) fn read_task(
        folder: &Path,
        tasks: &[TransformerTask],
    ) -> Result<(Self, TransformerTask), ModelError> {
        for name in SENTENCE_BERT_CONFIGS {
            let path = folder.join(name);
            if let Some(module) = read_json::<Self>(&path)? {
                let task = module.check(&path, tasks)?;
                return Ok((Self { path, ..module }, task));
            }
        }
        let path = folder.join(SENTENCE_BERT_CONFIGS[0]);
        let module = Self {
            path,
            ..Self::default()
        };
        Ok((module, TransformerTask::Features))
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

    /// Modality of chat messages; `None` if texts are read without a chat template.
    pub(crate) fn messages(&self) -> Option<&Value> {
        self.modality_config.as_ref()?.get("message")
    }

    /// Values for the chat template.
    pub(crate) fn template_values(&self) -> Map<String, Value> {
        let values = self.processing_kwargs.as_ref();
        let values = values.and_then(|it| it.get("chat_template")?.as_object());
        values.cloned().unwrap_or_default()
    }

    fn check(&self, path: &Path, tasks: &[TransformerTask]) -> Result<TransformerTask, ModelError> {
        let known = TransformerTask::NAMES.iter();
        let known: Vec<_> = known.filter(|(task, ..)| tasks.contains(task)).collect();
        let name = self.transformer_task.as_deref();
        let name = name.unwrap_or(TransformerTask::NAMES[0].1);
        let Some((task, _, output, of_model)) = known.iter().find(|it| it.1 == name) else {
            let expected: Vec<&str> = known.iter().map(|it| it.1).collect();
            let field = "transformer_task";
            return Err(ModelError::setting(
                path,
                field,
                expected.join(" or "),
                name,
            ));
        };
        let output_name = self.module_output_name.as_deref();
        if let Some(found) = output_name.filter(|found| found != output) {
            return Err(ModelError::setting(
                path,
                "module_output_name",
                *output,
                found,
            ));
        }
        for name in ["text", "message"] {
            let Some(modalities) = &self.modality_config else {
                continue;
            };
            // The model may have no chat template.
            if name == "message"
                && (*task == TransformerTask::Features || !modalities.contains_key(name))
            {
                continue;
            }
            let found = modalities.get(name).unwrap_or(&Value::Null);
            if found["method"] != "forward" || found["method_output_name"] != *of_model {
                let expected = format!("the method forward and its output {of_model}");
                let field = format!("modality_config.{name}");
                return Err(ModelError::setting(path, field, expected, found));
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
        Ok(*task)
    }
}
