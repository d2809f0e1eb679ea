//! Configuration files of sentence-transformers, and `ir_dense.json`.

use std::path::{Path, PathBuf};

use ir_core::VectorSimilarity;
use serde_json::{Map, Value, json};

use super::Pooling;
use crate::error::ModelError;
use crate::model_folder::{create_folder, inner_path, read_json, write_json};
use crate::similarity;

/// Values of `modules.json`, the pooling configuration, `sentence_bert_config.json` and
/// `config_sentence_transformers.json`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SentenceTransformersConfig {
    /// Folder of transformer and tokenizer; the model folder itself, unless `modules.json` names
    /// another.
    pub(crate) transformer: PathBuf,
    pub(crate) pooling: Pooling,
    /// Modules between pooling and the vector, in the order of `modules.json`.
    pub(crate) modules: Vec<SentenceTransformersModule>,
    pub(crate) truncate_dim: Option<usize>,
    pub(crate) max_tokens: Option<usize>,
    pub(crate) lowercase: bool,
    /// Prompts of queries and of documents; empty for none.
    pub(crate) prompts: [String; 2],
    /// Similarity function that the folder names.
    pub(crate) similarity: Option<VectorSimilarity>,
    /// If `true`, the folder has a file of sentence-transformers, and the similarity function
    /// defaults to the cosine.
    pub(crate) is_sentence_transformers: bool,
}

/// Maximum lengths of both sides, `ir_dense.json`: sentence-transformers has only one. Written if
/// they differ.
#[derive(serde::Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct LengthLimits {
    #[serde(rename = "version")]
    _version: u32,
    #[serde(default)]
    pub(crate) query: SideLimit,
    #[serde(default)]
    pub(crate) document: SideLimit,
}

#[derive(serde::Deserialize, Debug, Default)]
#[serde(deny_unknown_fields)]
pub(crate) struct SideLimit {
    pub(crate) max_tokens: Option<usize>,
}

impl LengthLimits {
    pub(crate) const FILE_NAME: &str = "ir_dense.json";
    const VERSION: u32 = 1;

    pub(crate) fn write(folder: &Path, [query, document]: [usize; 2]) -> Result<(), ModelError> {
        let value = json!({
            "version": Self::VERSION,
            "query": {"max_tokens": query},
            "document": {"max_tokens": document},
        });
        write_json(&folder.join(Self::FILE_NAME), &value)
    }

    pub(crate) fn read(folder: &Path) -> Result<Option<Self>, ModelError> {
        let path = folder.join(Self::FILE_NAME);
        let Some(value) = read_json::<Value>(&path)? else {
            return Ok(None);
        };
        // Another version may have other fields.
        let version = &value["version"];
        if *version != Self::VERSION {
            let expected = Self::VERSION.to_string();
            return Err(ModelError::setting(&path, "version", expected, version));
        }
        serde_json::from_value(value)
            .map(Some)
            .map_err(|source| ModelError::Json { path, source })
    }
}

/// Entry of `modules.json`.
#[derive(serde::Deserialize, Debug, Clone, PartialEq)]
pub(crate) struct SentenceTransformersModule {
    pub(crate) path: String,
    #[serde(rename = "type")]
    pub(crate) class: String,
}

impl SentenceTransformersModule {
    pub(crate) fn new(path: impl Into<String>, name: &str) -> Self {
        let path = path.into();
        let class = format!("sentence_transformers.models.{name}");
        Self { path, class }
    }

    /// Creates the folder of a Normalize module and returns its entry.
    pub(crate) fn create_normalize(folder: &Path, number: usize) -> Result<Self, ModelError> {
        let path = format!("{number}_Normalize");
        create_folder(&folder.join(&path))?;
        Ok(Self::new(path, "Normalize"))
    }

    /// Name of the class without its Python module, which differs between versions; empty for a
    /// class of another package.
    pub(crate) fn name(&self) -> &str {
        let own = self.class.strip_prefix("sentence_transformers.");
        own.map_or("", |class| class.rsplit('.').next().unwrap_or(class))
    }
}

#[derive(serde::Deserialize, Default)]
#[serde(default)]
struct SentenceBertConfig {
    max_seq_length: Option<usize>,
    do_lower_case: bool,
}

/// Files with the maximum length, in the order in which sentence-transformers looks for them; all
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

#[derive(serde::Deserialize, Default)]
#[serde(default)]
struct PromptConfig {
    prompts: std::collections::BTreeMap<String, Option<String>>,
    default_prompt_name: Option<String>,
    similarity_fn_name: Option<String>,
    truncate_dim: Option<usize>,
}

impl SentenceTransformersConfig {
    /// Writes the files of a model with vectors of `dim` dimensions.
    pub(crate) fn write(&self, folder: &Path, dim: usize) -> Result<(), ModelError> {
        let pooling = folder.join("1_Pooling");
        create_folder(&pooling)?;
        let mode = |mode| self.pooling == mode;
        let modes = json!({
            "word_embedding_dimension": dim,
            "pooling_mode_cls_token": mode(Pooling::Cls),
            "pooling_mode_mean_tokens": mode(Pooling::Mean),
            "pooling_mode_max_tokens": mode(Pooling::Max),
            "pooling_mode_mean_sqrt_len_tokens": mode(Pooling::MeanSqrt),
            "pooling_mode_lasttoken": mode(Pooling::Sep),
            "include_prompt": true,
        });
        write_json(&pooling.join("config.json"), &modes)?;
        let transformer = SentenceTransformersModule::new("", "Transformer");
        let pooling = SentenceTransformersModule::new("1_Pooling", "Pooling");
        let modules = [&transformer, &pooling].into_iter().chain(&self.modules);
        let modules = modules.enumerate().map(|(number, SentenceTransformersModule { path, class })| {
            json!({"idx": number, "name": number.to_string(), "path": path, "type": class})
        });
        write_json(
            &folder.join("modules.json"),
            &Value::Array(modules.collect()),
        )?;
        let limits = json!({
            "max_seq_length": self.max_tokens,
            "do_lower_case": self.lowercase,
        });
        write_json(&folder.join("sentence_bert_config.json"), &limits)?;
        let prompts = ["query", "document"].into_iter().zip(&self.prompts);
        let prompts: Map<String, Value> = prompts
            .filter(|(_, prompt)| !prompt.is_empty())
            .map(|(side, prompt)| (side.into(), prompt.as_str().into()))
            .collect();
        let similarity = self.similarity.map(similarity::name);
        let mut prompts = json!({
            "prompts": prompts, "default_prompt_name": null, "similarity_fn_name": similarity,
        });
        if let Some(dim) = self.truncate_dim {
            prompts["truncate_dim"] = dim.into();
        }
        write_json(&folder.join("config_sentence_transformers.json"), &prompts)
    }

    /// Reads the files. Default without `modules.json`, as in sentence-transformers: mean pooling
    /// and no other modules.
    pub(crate) fn read(folder: &Path) -> Result<Self, ModelError> {
        let path = folder.join("config_sentence_transformers.json");
        let prompts: Option<PromptConfig> = read_json(&path)?;
        let has_prompts = prompts.is_some();
        let prompts = prompts.unwrap_or_default();
        if prompts.truncate_dim == Some(0) {
            return Err(ModelError::setting(&path, "truncate_dim", "1 or more", 0));
        }
        let mut config = Self {
            transformer: folder.into(),
            pooling: Pooling::Mean,
            modules: Vec::new(),
            truncate_dim: prompts.truncate_dim,
            max_tokens: None,
            lowercase: false,
            similarity: prompts.similarity(&path)?,
            prompts: prompts.side_prompts(&path)?,
            is_sentence_transformers: has_prompts,
        };
        let path = folder.join("modules.json");
        if let Some(mut modules) = read_json::<Vec<SentenceTransformersModule>>(&path)? {
            config.is_sentence_transformers = true;
            for (position, expected) in ["Transformer", "Pooling"].into_iter().enumerate() {
                let found = modules.get(position);
                if found.is_none_or(|module| module.name() != expected) {
                    return Err(ModelError::setting(
                        &path,
                        format!("module {position}"),
                        format!("{expected} of sentence_transformers"),
                        found.map_or("missing".into(), |it| {
                            format!("{} in {:?}", it.class, it.path)
                        }),
                    ));
                }
            }
            config.modules = modules.split_off(2);
            let field = |position: usize| move || format!("path of module {position}");
            config.transformer = inner_path(&path, folder, &modules[0].path, field(0))?;
            let pooling = inner_path(&path, folder, &modules[1].path, field(1))?;
            config.pooling = read_pooling(&pooling.join("config.json"))?;
        }
        let limits = SENTENCE_BERT_CONFIGS
            .iter()
            .map(|file| read_json::<SentenceBertConfig>(&config.transformer.join(file)));
        let limits = limits.filter_map(Result::transpose).next().transpose()?;
        let limits = limits.unwrap_or_default();
        config.max_tokens = limits.max_seq_length;
        config.lowercase = limits.do_lower_case;
        Ok(config)
    }
}

impl PromptConfig {
    fn similarity(&self, path: &Path) -> Result<Option<VectorSimilarity>, ModelError> {
        let Some(name) = &self.similarity_fn_name else {
            return Ok(None);
        };
        if let Some(similarity) = similarity::from_name(name) {
            return Ok(Some(similarity));
        }
        let expected = match &name[..] {
            "euclidean" | "manhattan" => "cosine or dot: an order by distance is not supported",
            _ => "cosine or dot",
        };
        Err(ModelError::setting(
            path,
            "similarity_fn_name",
            expected,
            name,
        ))
    }

    /// Prompts of queries and of documents. The default prompt is for texts without a side, as in
    /// `encode` of sentence-transformers; `encode_query` and `encode_document` ignore it.
    fn side_prompts(&self, path: &Path) -> Result<[String; 2], ModelError> {
        let prompts = &self.prompts;
        // sentence-transformers adds empty prompts with these names.
        let is_known =
            |name: &str| prompts.contains_key(name) || ["query", "document"].contains(&name);
        if let Some(name) = self
            .default_prompt_name
            .as_deref()
            .filter(|name| !is_known(name))
        {
            let known: Vec<&str> = prompts.keys().map(String::as_str).collect();
            let expected = match known[..] {
                [] => "none, as there are no prompts".to_owned(),
                _ => format!("one of the prompts: {}", known.join(", ")),
            };
            return Err(ModelError::setting(
                path,
                "default_prompt_name",
                expected,
                name,
            ));
        }
        let first = |names: &[&str]| {
            let named = names.iter().find_map(|&name| prompts.get(name));
            named.cloned().flatten().unwrap_or_default()
        };
        Ok([first(&["query"]), first(&["document", "passage", "corpus"])])
    }
}

fn read_pooling(path: &Path) -> Result<Pooling, ModelError> {
    let config: Map<String, Value> = read_json(path)?.ok_or_else(|| ModelError::MissingFile {
        folder: path.parent().unwrap_or(path).into(),
        expected: "config.json",
    })?;
    let on = |name: &str| config.get(name).and_then(Value::as_bool) == Some(true);
    let mut chosen: Vec<&str> = config
        .keys()
        .filter(|name| name.starts_with("pooling_mode_") && on(name))
        .map(String::as_str)
        .collect();
    // Mean pooling is on by default, the others are off.
    let mean = "pooling_mode_mean_tokens";
    if !config.contains_key(mean) && !config.contains_key("pooling_mode") {
        chosen.push(mean);
    }
    // The newest versions write the mode as a string.
    if let Some(Value::String(name)) = config.get("pooling_mode") {
        chosen.push(name);
    }
    if config.get("include_prompt").and_then(Value::as_bool) == Some(false) {
        let expected = "true: the tokens of a prompt are pooled too";
        return Err(ModelError::setting(path, "include_prompt", expected, false));
    }
    match chosen[..] {
        ["pooling_mode_cls_token" | "cls"] => Ok(Pooling::Cls),
        ["pooling_mode_mean_tokens" | "mean"] => Ok(Pooling::Mean),
        ["pooling_mode_max_tokens" | "max"] => Ok(Pooling::Max),
        ["pooling_mode_mean_sqrt_len_tokens" | "mean_sqrt_len_tokens"] => Ok(Pooling::MeanSqrt),
        ["pooling_mode_lasttoken" | "lasttoken"] => Ok(Pooling::Sep),
        _ => Err(ModelError::setting(
            path,
            "pooling_mode",
            "one of cls_token, mean_tokens, max_tokens, mean_sqrt_len_tokens and lasttoken",
            if chosen.is_empty() {
                "none".into()
            } else {
                chosen.join(" and ")
            },
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pooling_defaults_to_mean() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.json");
        for (text, expected) in [
            (r#"{"word_embedding_dimension": 8}"#, Ok(Pooling::Mean)),
            (
                r#"{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}"#,
                Ok(Pooling::Cls),
            ),
            (r#"{"pooling_mode": "max"}"#, Ok(Pooling::Max)),
            (r#"{"pooling_mode": "lasttoken"}"#, Ok(Pooling::Sep)),
            // sentence-transformers concatenates the two.
            (
                r#"{"pooling_mode_cls_token": true}"#,
                Err("pooling_mode_cls_token and pooling_mode_mean_tokens"),
            ),
            (r#"{"pooling_mode_mean_tokens": false}"#, Err("none")),
        ] {
            std::fs::write(&path, text).unwrap();
            match (read_pooling(&path), expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{text}"),
                (Err(error), Err(expected)) => {
                    assert!(error.to_string().contains(expected), "{error}");
                }
                (found, _) => panic!("{text}: {found:?}"),
            }
        }
    }
}
