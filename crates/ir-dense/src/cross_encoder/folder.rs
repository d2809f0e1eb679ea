//! Files of a cross-encoder: what sentence-transformers' `CrossEncoder` reads of a folder.

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::chat::ChatSettings;
use crate::activation::Activation;
use crate::encode::module_entry::{SentenceTransformersModule, transformer_folder};
use crate::encode::sentence_transformers::PromptConfig;
use crate::encode::transformer_module::{TransformerModule, TransformerTask};
use crate::error::ModelError;
use crate::model_folder::read_json;

/// `model_type` of a cross-encoder.
const CROSS_ENCODER: &str = "CrossEncoder";
/// Endings of classes with a classification head, and with logits of the vocabulary.
const CLASSIFIER: &str = "ForSequenceClassification";
const LANGUAGE_MODEL: &str = "ForCausalLM";

/// Settings of a folder.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CrossEncoderFolder {
    /// Folder of transformer and tokenizer.
    pub(super) transformer: PathBuf,
    pub(super) scoring: Scoring,
    /// Activation function of the scores; `None` for the default.
    pub(super) activation: Option<Activation>,
    /// Default prompt; empty for none.
    pub(super) prompt: String,
    /// Maximum sequence length of the transformer module.
    pub(super) max_tokens: Option<usize>,
    /// If `true`, texts are lowercased.
    pub(super) lowercase: bool,
    /// Id of the padding token according to `config.json`.
    pub(super) padding: Option<u32>,
    /// If `false`, the tokenizer of the folder has no token types.
    pub(super) has_types: bool,
    /// Chat template of pairs; `None` for pairs of the tokenizer.
    pub(super) chat: Option<ChatSettings>,
}

/// How a folder scores a pair.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Scoring {
    /// Classification head with this number of labels.
    Classification { labels: usize },
    /// Logit of a token after the pair, minus the logit of another one.
    TokenLogits {
        yes: VocabularyToken,
        no: Option<VocabularyToken>,
        /// If `true`, the token embeddings are the output layer.
        tied: Option<bool>,
    },
    /// Pooling, then modules of which the last one has the scores as its output.
    Modules {
        /// Folder of the pooling module.
        pooling: PathBuf,
        modules: Vec<SentenceTransformersModule>,
    },
}

/// Token of the vocabulary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum VocabularyToken {
    Id(u32),
    Text(&'static str),
}

/// `config.json` of a LogitScore module.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct LogitScoreConfig {
    true_token_id: u32,
    false_token_id: Option<u32>,
    module_input_name: Option<String>,
}

impl CrossEncoderFolder {
    /// Returns `true` if a folder is a cross-encoder by its `model_type` or, without modules, by a
    /// class with a classification head.
    pub(super) fn is_cross_encoder(folder: &Path) -> Result<bool, ModelError> {
        let read = |file: &str| read_json::<Map<String, Value>>(&folder.join(file));
        if folder.join("modules.json").is_file() {
            let config = read("config_sentence_transformers.json")?.unwrap_or_default();
            let model_type = config.get("model_type").and_then(Value::as_str);
            return Ok(model_type == Some(CROSS_ENCODER));
        }
        let config = read("config.json")?.unwrap_or_default();
        let class = config.get("architectures").and_then(|it| it[0].as_str());
        Ok(class.is_some_and(|class| class.ends_with(CLASSIFIER)))
    }

    /// Reads the files. Without `needs_head`, a model without a head is a classifier with one
    /// label.
    pub(super) fn read(folder: &Path, needs_head: bool) -> Result<Self, ModelError> {
        let list = folder.join("modules.json");
        let modules = read_json::<Vec<SentenceTransformersModule>>(&list)?;
        let path = folder.join("config_sentence_transformers.json");
        let config = PromptConfig::read(&path)?.unwrap_or_default();
        let is_cross_encoder = config.model_type.as_deref() == Some(CROSS_ENCODER);
        match modules {
            Some(modules) if needs_head || is_cross_encoder => {
                Self::read_modules(folder, modules, config)
            }
            _ => Self::read_plain(&transformer_folder(folder)?, needs_head),
        }
    }

    /// Reads a folder of transformers.
    fn read_plain(folder: &Path, needs_head: bool) -> Result<Self, ModelError> {
        let (path, config) = config_file::<Map<String, Value>>(folder)?;
        let class = config.get("architectures").and_then(|it| it[0].as_str());
        let class = class.unwrap_or_default();
        let scoring = if class.ends_with(CLASSIFIER) {
            let labels = labels(&path, &config)?;
            Scoring::Classification { labels }
        } else if !needs_head {
            Scoring::Classification { labels: 1 }
        } else if class.ends_with(LANGUAGE_MODEL) {
            check_logits(&path, &config)?;
            Scoring::TokenLogits {
                yes: VocabularyToken::Text("yes"),
                no: Some(VocabularyToken::Text("no")),
                tied: tied(&config),
            }
        } else {
            let expected = format!(
                "a cross-encoder, {CLASSIFIER} or {LANGUAGE_MODEL}; an encoder is read by \
                 BiEncoder (`ir encode`)"
            );
            return Err(ModelError::setting(&path, "architectures", expected, class));
        };
        let chat = if needs_head {
            ChatSettings::read(folder, &Map::new(), None)?
        } else {
            None
        };
        Ok(Self {
            transformer: folder.into(),
            scoring,
            activation: activation(&path, &config)?,
            prompt: String::new(),
            max_tokens: None,
            lowercase: false,
            padding: padding(&config),
            has_types: has_types(folder)?,
            chat,
        })
    }

    /// Reads a folder of sentence-transformers.
    fn read_modules(
        folder: &Path,
        modules: Vec<SentenceTransformersModule>,
        config: PromptConfig,
    ) -> Result<Self, ModelError> {
        let path = folder.join("config_sentence_transformers.json");
        let model_type = config
            .model_type
            .as_deref()
            .unwrap_or("SentenceTransformer");
        if model_type != CROSS_ENCODER {
            let what = match model_type {
                "SentenceTransformer" => "; a bi-encoder is read by BiEncoder (`ir encode`)",
                _ => "",
            };
            let expected = format!("{CROSS_ENCODER}{what}");
            return Err(ModelError::setting(
                &path,
                "model_type",
                expected,
                model_type,
            ));
        }
        let activation = match &config.activation_fn {
            Some(class) => torch_activation(&path, "activation_fn", class)?,
            None => None,
        };
        let prompt = config.default_prompt(&path)?;

        let unexpected = |position: usize, expected: &str| {
            let expected = format!("{expected} of sentence_transformers");
            let Some(found) = modules.get(position) else {
                let (list, field) = (folder.join("modules.json"), format!("module {position}"));
                return Err(ModelError::setting(&list, field, expected, "missing"));
            };
            Err(found.unexpected(folder, position, expected))
        };
        let Some(first) = modules.first().filter(|it| it.name() == "Transformer") else {
            return unexpected(0, "Transformer");
        };
        let transformer = first.folder(folder, 0)?;
        let tasks = [
            TransformerTask::Features,
            TransformerTask::Classification,
            TransformerTask::Generation,
        ];
        let (module, task) = TransformerModule::read_task(&transformer, &tasks)?;
        let (config_path, of_model) = config_file::<Map<String, Value>>(&transformer)?;
        let second = modules.get(1).map_or("", SentenceTransformersModule::name);
        let scoring = match (task, second, modules.len()) {
            (TransformerTask::Classification, _, 1) => Scoring::Classification {
                labels: labels(&config_path, &of_model)?,
            },
            (TransformerTask::Classification, ..) => return unexpected(1, "no module"),
            (TransformerTask::Generation, "LogitScore", 2) => {
                check_logits(&config_path, &of_model)?;
                logit_score(&modules[1].folder(folder, 1)?, tied(&of_model))?
            }
            (TransformerTask::Generation, "LogitScore", _) => return unexpected(2, "no module"),
            (TransformerTask::Generation, ..) => return unexpected(1, "LogitScore"),
            (TransformerTask::Features, "Pooling", _) => {
                let last = modules.len() - 1;
                if modules[last].name() != "Dense" {
                    return unexpected(last.max(2), "Dense");
                }
                Scoring::Modules {
                    pooling: modules[1].folder(folder, 1)?,
                    modules: modules[2..].to_vec(),
                }
            }
            (TransformerTask::Features | TransformerTask::MaskedLanguageModel, ..) => {
                return unexpected(1, "Pooling");
            }
        };
        let chat = match module.messages() {
            None => None,
            Some(messages) => {
                let format = messages["format"].as_str();
                let chat = ChatSettings::read(&transformer, &module.template_values(), format)?;
                Some(chat.ok_or_else(|| ModelError::MissingFile {
                    folder: transformer.clone(),
                    expected: "chat_template.jinja or chat_template in tokenizer_config.json",
                })?)
            }
        };
        let of_model_activation = self::activation(&config_path, &of_model)?;
        Ok(Self {
            scoring,
            activation: activation.or(of_model_activation),
            prompt,
            max_tokens: module.max_seq_length,
            lowercase: module.do_lower_case,
            padding: padding(&of_model),
            has_types: has_types(&transformer)?,
            chat,
            transformer,
        })
    }
}

/// `config.json` of a folder with its path.
fn config_file<T: DeserializeOwned>(folder: &Path) -> Result<(PathBuf, T), ModelError> {
    let path = folder.join("config.json");
    match read_json(&path)? {
        Some(config) => Ok((path, config)),
        None => Err(ModelError::MissingFile {
            folder: folder.into(),
            expected: "config.json",
        }),
    }
}

fn logit_score(folder: &Path, tied: Option<bool>) -> Result<Scoring, ModelError> {
    let (path, config) = config_file::<LogitScoreConfig>(folder)?;
    let expected = "causal_logits";
    let input = config.module_input_name.as_deref();
    if let Some(found) = input.filter(|&it| it != expected) {
        return Err(ModelError::setting(
            &path,
            "module_input_name",
            expected,
            found,
        ));
    }
    Ok(Scoring::TokenLogits {
        yes: VocabularyToken::Id(config.true_token_id),
        no: config.false_token_id.map(VocabularyToken::Id),
        tied,
    })
}

/// Returns an error if the model changes the logits of the vocabulary.
fn check_logits(path: &Path, config: &Map<String, Value>) -> Result<(), ModelError> {
    let field = "final_logit_softcapping";
    match config.get(field) {
        None | Some(Value::Null) => Ok(()),
        Some(found) => Err(ModelError::setting(path, field, "null", found)),
    }
}

fn tied(config: &Map<String, Value>) -> Option<bool> {
    config.get("tie_word_embeddings").and_then(Value::as_bool)
}

fn padding(config: &Map<String, Value>) -> Option<u32> {
    let id = config.get("pad_token_id").and_then(Value::as_u64);
    id.and_then(|id| u32::try_from(id).ok())
}

/// Returns `false` if the inputs of the tokenizer are listed without token types.
fn has_types(folder: &Path) -> Result<bool, ModelError> {
    let config = read_json::<Map<String, Value>>(&folder.join("tokenizer_config.json"))?;
    let names = config
        .as_ref()
        .and_then(|it| it.get("model_input_names")?.as_array());
    Ok(names.is_none_or(|names| names.iter().any(|it| it == "token_type_ids")))
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

/// Activation function in `config.json`.
fn activation(path: &Path, config: &Map<String, Value>) -> Result<Option<Activation>, ModelError> {
    let current = config
        .get("sentence_transformers")
        .and_then(|it| it.get("activation_fn"));
    let earlier = "sbert_ce_default_activation_function";
    let (field, class) = match current {
        Some(class) => ("sentence_transformers.activation_fn", class),
        None => (earlier, config.get(earlier).unwrap_or(&Value::Null)),
    };
    class
        .as_str()
        .map_or(Ok(None), |class| torch_activation(path, field, class))
}

/// Activation function of a class. A class of another package than torch has no effect.
fn torch_activation(
    path: &Path,
    field: &str,
    class: &str,
) -> Result<Option<Activation>, ModelError> {
    if !class.starts_with("torch.") {
        return Ok(None);
    }
    Activation::from_class(path, field, class).map(Some)
}
