//! Configuration files of sentence-transformers, and `ir_dense.json`.

use std::path::{Path, PathBuf};

use ir_core::{Side, VectorSimilarity};
use serde_json::{Map, Value, json};

use super::late_interaction_format::LateInteractionFormat;
use super::model_class::ModelClass;
use super::module_entry::SentenceTransformersModule;
use super::tokenizer_files::TextRules;
use super::transformer_module::TransformerModule;
use super::{Pooling, PoolingModes, router};
use crate::error::ModelError;
use crate::model_folder::{
    Model2VecConfig, create_folder, from_value, inner_path, read_json, write_json,
};
use crate::similarity;

/// First version of sentence-transformers that does not remove white space around a text, and
/// lowercases in the tokenizer, after special tokens were found.
const UNCHANGED_SINCE: [u32; 2] = [5, 4];
const UNCHANGED_SINCE_TEXT: &str = "5.4.0";

/// Version of sentence-transformers with the layout in which cross-encoders and multi-vector
/// encoders are saved.
pub(crate) const LAYOUT_VERSION: &str = "6.0.0";

/// Fields of pooling modes in early versions of sentence-transformers, in the order in which these
/// versions concatenate.
const POOLING_FIELDS: [(Pooling, &str); 6] = [
    (Pooling::Cls, "pooling_mode_cls_token"),
    (Pooling::Max, "pooling_mode_max_tokens"),
    (Pooling::Mean, "pooling_mode_mean_tokens"),
    (Pooling::MeanSqrt, "pooling_mode_mean_sqrt_len_tokens"),
    (Pooling::WeightedMean, "pooling_mode_weightedmean_tokens"),
    (Pooling::LastToken, "pooling_mode_lasttoken"),
];

/// Values of `modules.json`, the pooling configuration, `sentence_bert_config.json` and
/// `config_sentence_transformers.json`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SentenceTransformersConfig {
    /// Folder of transformer and tokenizer; the model folder itself, unless `modules.json` names
    /// another.
    pub(crate) transformer: PathBuf,
    pub(crate) pooling: PoolingModes,
    /// If `false`, the tokens of the prompt are not pooled.
    pub(crate) include_prompt: bool,
    /// If `true`, the folder has static embeddings in place of a transformer.
    pub(crate) is_static: bool,
    /// If `true`, `modules.json` names pooling and modules.
    pub(crate) has_modules: bool,
    /// Values of the files without effect, one sentence each.
    pub(crate) notes: Vec<String>,
    /// Modules between pooling and the vector, in the order of `modules.json`.
    pub(crate) modules: Vec<SentenceTransformersModule>,
    pub(crate) truncate_dim: Option<usize>,
    pub(crate) max_tokens: Option<usize>,
    /// Maximum lengths of queries and of documents in `sentence_bert_config.json`.
    pub(crate) side_tokens: [Option<usize>; 2],
    pub(crate) texts: TextRules,
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
        from_value(&path, value).map(Some)
    }
}

#[derive(serde::Deserialize, Default)]
#[serde(default)]
pub(crate) struct PromptConfig {
    pub(crate) prompts: std::collections::BTreeMap<String, Option<String>>,
    default_prompt_name: Option<String>,
    similarity_fn_name: Option<String>,
    truncate_dim: Option<usize>,
    pub(crate) model_type: Option<String>,
    /// Activation function of a cross-encoder.
    pub(crate) activation_fn: Option<String>,
    #[serde(rename = "__version__")]
    versions: Map<String, Value>,
}

impl SentenceTransformersConfig {
    /// Writes the files of a model with vectors of `dim` dimensions.
    pub(crate) fn write(&self, folder: &Path, dim: usize) -> Result<(), ModelError> {
        let pooling = folder.join("1_Pooling");
        create_folder(&pooling)?;
        let mut modes = Map::new();
        modes.insert("word_embedding_dimension".into(), dim.into());
        for (mode, field) in POOLING_FIELDS {
            modes.insert(field.into(), self.pooling.modes().contains(&mode).into());
        }
        // Early versions have one order.
        if self.pooling != in_legacy_order(|mode, _| self.pooling.modes().contains(&mode)) {
            let names: Vec<&str> = self.pooling.modes().iter().map(|it| it.name()).collect();
            modes.insert("pooling_mode".into(), names.into());
        }
        modes.insert("include_prompt".into(), self.include_prompt.into());
        let modes = Value::Object(modes);
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
        let mut limits = json!({
            "max_seq_length": self.max_tokens,
            "do_lower_case": self.texts.lowercase,
        });
        for (field, limit) in ["query_length", "document_length"]
            .into_iter()
            .zip(self.side_tokens)
        {
            if let Some(limit) = limit {
                limits[field] = limit.into();
            }
        }
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
        if self.texts.is_unchanged {
            prompts["__version__"] = json!({"sentence_transformers": UNCHANGED_SINCE_TEXT});
        }
        write_json(&folder.join("config_sentence_transformers.json"), &prompts)
    }

    /// Reads the files for both sides, or for one if there is a Router. Default without
    /// `modules.json`, as in sentence-transformers: no other modules and mean pooling, or the last
    /// token of a causal language model.
    pub(crate) fn read(folder: &Path, side: Option<Side>) -> Result<Self, ModelError> {
        LateInteractionFormat::check_bi_encoder(folder)?;
        let path = folder.join("config_sentence_transformers.json");
        let prompts = PromptConfig::read(&path)?;
        let has_prompts = prompts.is_some();
        let prompts = prompts.unwrap_or_default();
        if prompts.truncate_dim == Some(0) {
            return Err(ModelError::setting(&path, "truncate_dim", "1 or more", 0));
        }
        let expected = match prompts.model_type.as_deref() {
            Some("CrossEncoder") => {
                "SentenceTransformer; a cross-encoder is read by CrossEncoder (`ir search --rerank`)"
            }
            Some("SparseEncoder") => {
                "SentenceTransformer; a sparse encoder is read by SparseEncoder \
                 (`ir encode --kind sparse` without --add)"
            }
            _ => "SentenceTransformer",
        };
        let found = prompts.model_type.as_deref();
        if let Some(found) = found.filter(|&it| it != "SentenceTransformer") {
            return Err(ModelError::setting(&path, "model_type", expected, found));
        }
        let mut config = Self {
            transformer: folder.into(),
            truncate_dim: prompts.truncate_dim,
            similarity: prompts.similarity(&path)?,
            prompts: prompts.side_prompts(&path)?,
            texts: TextRules {
                lowercase: false,
                is_unchanged: prompts.is_since_5_4(),
            },
            is_sentence_transformers: has_prompts,
            ..Self::default()
        };
        if let Some(name) = &prompts.default_prompt_name {
            config.notes.push(format!(
                "default_prompt_name is {name:?}: without effect on queries and documents"
            ));
        }
        let path = folder.join("modules.json");
        if let Some(modules) = read_json::<Vec<SentenceTransformersModule>>(&path)? {
            config.is_sentence_transformers = true;
            config.has_modules = true;
            let mut modules = router::resolve(folder, modules, side)?;
            if modules.first().map(|it| it.name()) == Some("StaticEmbedding") {
                config.modules = modules.split_off(1);
                let field = || "path of module 0".to_owned();
                config.transformer = inner_path(&path, folder, &modules[0].path, field)?;
                return Ok(config.with_static_embeddings());
            }
            for (position, expected) in ["Transformer", "Pooling"].into_iter().enumerate() {
                let found = modules.get(position);
                if found.is_none_or(|module| module.name() != expected) {
                    let code = match found.map(SentenceTransformersModule::name) {
                        Some("") => "; code of the folder is not executed",
                        _ => "",
                    };
                    return Err(ModelError::setting(
                        &path,
                        format!("module {position}"),
                        format!("{expected} of sentence_transformers{code}"),
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
            (config.pooling, config.include_prompt) = read_pooling(&pooling.join("config.json"))?;
        } else if Model2VecConfig::is_in(folder)? {
            return Ok(config.with_static_embeddings());
        } else if ModelClass::read(folder)?.is_causal_lm() {
            config.pooling = Pooling::LastToken.into();
        }
        let module = TransformerModule::read(&config.transformer)?;
        module.check_unexpanded()?;
        config.max_tokens = module.max_seq_length;
        config.side_tokens = [module.query_length, module.document_length];
        config.texts.lowercase = module.do_lower_case;
        Ok(config)
    }
}

impl SentenceTransformersConfig {
    /// Configuration of static embeddings: texts are tokenized unchanged, and pooled by the mean.
    fn with_static_embeddings(mut self) -> Self {
        self.is_static = true;
        self.has_modules = true;
        self.is_sentence_transformers = true;
        self.texts.is_unchanged = true;
        self
    }
}

impl Default for SentenceTransformersConfig {
    fn default() -> Self {
        Self {
            transformer: PathBuf::new(),
            pooling: Pooling::Mean.into(),
            include_prompt: true,
            is_static: false,
            has_modules: false,
            notes: Vec::new(),
            modules: Vec::new(),
            truncate_dim: None,
            max_tokens: None,
            side_tokens: [None; 2],
            texts: TextRules::default(),
            prompts: Default::default(),
            similarity: None,
            is_sentence_transformers: true,
        }
    }
}

impl PromptConfig {
    pub(crate) fn read(path: &Path) -> Result<Option<Self>, ModelError> {
        read_json(path)
    }

    /// Returns `true` if a version that does not change texts wrote the file.
    pub(crate) fn is_since_5_4(&self) -> bool {
        let version = self.versions.get("sentence_transformers");
        let version = version.and_then(Value::as_str).unwrap_or_default();
        let mut numbers = version.split('.').map(|number| number.parse().unwrap_or(0));
        let version = [numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)];
        version >= UNCHANGED_SINCE
    }

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

    /// Default prompt; empty for none.
    pub(crate) fn default_prompt(&self, path: &Path) -> Result<String, ModelError> {
        let Some(name) = &self.default_prompt_name else {
            return Ok(String::new());
        };
        let prompt = self.prompts.get(name);
        let prompt = prompt.ok_or_else(|| self.unknown_prompt(path, name))?;
        Ok(prompt.clone().unwrap_or_default())
    }

    fn unknown_prompt(&self, path: &Path, name: &str) -> ModelError {
        let known: Vec<&str> = self.prompts.keys().map(String::as_str).collect();
        let expected = match known[..] {
            [] => "none, as there are no prompts".to_owned(),
            _ => format!("one of the prompts: {}", known.join(", ")),
        };
        ModelError::setting(path, "default_prompt_name", expected, name)
    }

    /// Prompts of queries and of documents. The default prompt is for texts without a side, as in
    /// `encode` of sentence-transformers; `encode_query` and `encode_document` ignore it.
    pub(crate) fn side_prompts(&self, path: &Path) -> Result<[String; 2], ModelError> {
        let prompts = &self.prompts;
        // sentence-transformers adds empty prompts with these names.
        let is_known =
            |name: &str| prompts.contains_key(name) || ["query", "document"].contains(&name);
        let name = self.default_prompt_name.as_deref();
        if let Some(name) = name.filter(|name| !is_known(name)) {
            return Err(self.unknown_prompt(path, name));
        }
        let first = |names: &[&str]| {
            let named = names.iter().find_map(|&name| prompts.get(name));
            named.cloned().flatten().unwrap_or_default()
        };
        Ok([first(&["query"]), first(&["document", "passage", "corpus"])])
    }
}

/// Modes of the chosen fields in the order of early versions; mean pooling without any.
fn in_legacy_order(is_chosen: impl Fn(Pooling, &str) -> bool) -> PoolingModes {
    let chosen = POOLING_FIELDS.iter();
    let chosen = chosen.filter(|(mode, field)| is_chosen(*mode, field));
    let modes = PoolingModes::new(chosen.map(|(mode, _)| *mode));
    modes.unwrap_or_else(|| Pooling::Mean.into())
}

/// Reads the pooling modes, and whether the tokens of the prompt are pooled.
pub(crate) fn read_pooling(path: &Path) -> Result<(PoolingModes, bool), ModelError> {
    let config: Map<String, Value> = read_json(path)?.ok_or_else(|| ModelError::MissingFile {
        folder: path.parent().unwrap_or(path).into(),
        expected: "config.json",
    })?;
    let invalid = |field: &str, found: &dyn std::fmt::Display| {
        let expected = match field {
            "include_prompt" => "true or false".to_owned(),
            _ => POOLING_FIELDS.map(|(mode, _)| mode.name()).join(", "),
        };
        Err(ModelError::setting(path, field, expected, found))
    };
    let include_prompt = match config.get("include_prompt") {
        None | Some(Value::Null) => true,
        Some(Value::Bool(include)) => *include,
        Some(other) => return invalid("include_prompt", other),
    };
    // Newer versions write a name or a list of names.
    let names = match config.get("pooling_mode") {
        None | Some(Value::Null) => None,
        Some(Value::Array(names)) => Some(&names[..]),
        Some(name) => Some(std::slice::from_ref(name)),
    };
    if let Some(names) = names {
        let known = |name: &Value| name.as_str()?.parse::<Pooling>().ok();
        if let Some(unknown) = names.iter().find(|name| known(name).is_none()) {
            return invalid("pooling_mode", unknown);
        }
        return match PoolingModes::new(names.iter().filter_map(known)) {
            Some(modes) => Ok((modes, include_prompt)),
            None => invalid("pooling_mode", &"none"),
        };
    }
    let is_on = |field: &str| config.get(field) == Some(&Value::Bool(true));
    let is_known = |name: &str| POOLING_FIELDS.iter().any(|(_, field)| *field == name);
    let fields = || config.keys().filter(|it| it.starts_with("pooling_mode_"));
    let is_flag = |field: &str| matches!(config.get(field), Some(Value::Bool(_) | Value::Null));
    if let Some(field) = fields().find(|field| !is_flag(field)) {
        return Err(ModelError::setting(
            path,
            field,
            "true or false",
            &config[field],
        ));
    }
    if let Some(unknown) = fields().find(|it| is_on(it) && !is_known(it)) {
        return invalid("pooling_mode", unknown);
    }
    let mean = "pooling_mode_mean_tokens";
    if config.contains_key(mean) && !fields().any(|field| is_on(field)) {
        return invalid("pooling_mode", &"none");
    }
    let modes = in_legacy_order(|_, field| is_on(field));
    Ok((modes, include_prompt))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pooling_modes_of_early_and_current_versions() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.json");
        for (text, expected) in [
            (r#"{"word_embedding_dimension": 8}"#, Ok("mean")),
            (
                r#"{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}"#,
                Ok("cls"),
            ),
            (r#"{"pooling_mode_cls_token": true}"#, Ok("cls")),
            (r#"{"pooling_mode_cls_token": false}"#, Ok("mean")),
            (
                r#"{"pooling_mode_lasttoken": true, "pooling_mode_mean_tokens": true,
                    "pooling_mode_weightedmean_tokens": true, "pooling_mode_max_tokens": true,
                    "pooling_mode_mean_sqrt_len_tokens": true, "pooling_mode_cls_token": true}"#,
                Ok("cls+max+mean+mean_sqrt_len_tokens+weightedmean+lasttoken"),
            ),
            (r#"{"pooling_mode": "max"}"#, Ok("max")),
            (
                r#"{"pooling_mode": "lasttoken", "pooling_mode_mean_tokens": true}"#,
                Ok("lasttoken"),
            ),
            (
                r#"{"pooling_mode": ["weightedmean", "cls", "cls"]}"#,
                Ok("weightedmean+cls+cls"),
            ),
            (r#"{"pooling_mode": ["cls", "median"]}"#, Err("\"median\"")),
            (r#"{"pooling_mode": []}"#, Err("none")),
            (r#"{"pooling_mode": 3}"#, Err("3")),
            (r#"{"pooling_mode_mean_tokens": false}"#, Err("none")),
            (
                r#"{"pooling_mode_median_tokens": true}"#,
                Err("pooling_mode_median_tokens"),
            ),
            (r#"{"include_prompt": "no"}"#, Err("include_prompt")),
        ] {
            std::fs::write(&path, text).unwrap();
            match (read_pooling(&path), expected) {
                (Ok((found, include_prompt)), Ok(expected)) => {
                    assert_eq!(found.to_string(), expected, "{text}");
                    assert!(include_prompt);
                }
                (Err(error), Err(expected)) => {
                    assert!(error.to_string().contains(expected), "{error}");
                }
                (found, _) => panic!("{text}: {found:?}"),
            }
        }
        std::fs::write(&path, r#"{"include_prompt": false}"#).unwrap();
        assert_eq!(read_pooling(&path).unwrap(), (Pooling::Mean.into(), false));
    }
}
