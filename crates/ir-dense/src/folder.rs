//! Reading the small files of a model's folder.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{ModelError, Pooling, Similarity};

/// The bytes of a file; `None` when there is no such file.
pub(crate) fn bytes(path: &Path) -> Result<Option<Vec<u8>>, ModelError> {
    match fs::read(path) {
        Ok(bytes) if is_pointer(&bytes) => Err(ModelError::Pointer { path: path.into() }),
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            dangling(path)?;
            Ok(None)
        }
        Err(source) => Err(ModelError::Read {
            path: path.into(),
            source,
        }),
    }
}

/// Whether these bytes stand for a file that Git LFS has not fetched.
pub(crate) fn is_pointer(bytes: &[u8]) -> bool {
    bytes.starts_with(b"version https://git-lfs")
}

/// That a file which is not there is not a link to nothing.
pub(crate) fn dangling(path: &Path) -> Result<(), ModelError> {
    match fs::read_link(path) {
        Ok(target) if !path.exists() => Err(ModelError::Dangling {
            path: path.into(),
            target,
        }),
        _ => Ok(()),
    }
}

/// A JSON file; `None` when there is no such file.
pub(crate) fn json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, ModelError> {
    let Some(bytes) = bytes(path)? else {
        return Ok(None);
    };
    serde_json::from_slice(&bytes)
        .map(Some)
        .map_err(|source| ModelError::Json {
            path: path.into(),
            source,
        })
}

/// What sentence-transformers' files say beside the transformer itself.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sentences {
    pub(crate) pooling: Pooling,
    pub(crate) normalize: bool,
    pub(crate) max_tokens: Option<usize>,
    pub(crate) lowercase: bool,
    pub(crate) query_prompt: String,
    pub(crate) document_prompt: String,
    pub(crate) similarity: Option<Similarity>,
}

/// What sentence-transformers has no place for: `ir_dense.json`. Written when it says something.
#[derive(serde::Serialize, serde::Deserialize, Debug, Clone, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub(crate) struct Own {
    /// Raised when older programs could not read what newer ones write.
    version: u32,
    #[serde(default)]
    pub(crate) query: OwnSide,
    #[serde(default)]
    pub(crate) document: OwnSide,
}

/// What may differ between queries and documents.
#[derive(serde::Serialize, serde::Deserialize, Debug, Clone, Default, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub(crate) struct OwnSide {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_tokens: Option<usize>,
}

impl Own {
    pub(crate) const FILE: &str = "ir_dense.json";
    const VERSION: u32 = 1;

    /// Length limits of both sides.
    pub(crate) fn new([query, document]: [usize; 2]) -> Self {
        let side = |limit| OwnSide {
            max_tokens: Some(limit),
        };
        Self {
            version: Self::VERSION,
            query: side(query),
            document: side(document),
        }
    }

    pub(crate) fn read(folder: &Path) -> Result<Option<Self>, ModelError> {
        let path = folder.join(Self::FILE);
        let Some(value) = json::<Value>(&path)? else {
            return Ok(None);
        };
        // Of another version everything else may be another, too.
        let version = &value["version"];
        if *version != Self::VERSION {
            let expected = Self::VERSION.to_string();
            return Err(ModelError::setting(&path, "version", expected, version));
        }
        let own = serde_json::from_value(value);
        own.map(Some)
            .map_err(|source| ModelError::Json { path, source })
    }
}

/// A line of `modules.json`.
#[derive(serde::Deserialize)]
pub(crate) struct Module {
    pub(crate) path: String,
    #[serde(rename = "type")]
    kind: String,
}

#[derive(serde::Deserialize, Default)]
#[serde(default)]
struct Limits {
    max_seq_length: Option<usize>,
    do_lower_case: bool,
}

/// Where sentence-transformers looks for a limit of length, the first that is there; all but one are
/// names of its early days.
pub(crate) const LIMITS: [&str; 7] = [
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
struct Prompts {
    prompts: std::collections::BTreeMap<String, String>,
    default_prompt_name: Option<String>,
    similarity_fn_name: Option<String>,
}

impl Sentences {
    /// Reads the files that are there. Without any: mean of the tokens, not normalised, as
    /// sentence-transformers does.
    pub(crate) fn read(folder: &Path) -> Result<Self, ModelError> {
        let limits = LIMITS.iter().map(|file| json::<Limits>(&folder.join(file)));
        let limits = limits.filter_map(Result::transpose).next().transpose()?;
        let limits = limits.unwrap_or_default();
        let path = folder.join("config_sentence_transformers.json");
        let prompts: Prompts = json(&path)?.unwrap_or_default();
        let similarity = prompts.similarity(&path)?;
        let (query_prompt, document_prompt) = prompts.of_sides(&path)?;
        let mut sentences = Self {
            pooling: Pooling::Mean,
            normalize: false,
            max_tokens: limits.max_seq_length,
            lowercase: limits.do_lower_case,
            query_prompt,
            document_prompt,
            similarity,
        };
        let path = folder.join("modules.json");
        let Some(modules) = json::<Vec<Module>>(&path)? else {
            return Ok(sentences);
        };
        for (position, module) in modules.iter().enumerate() {
            // Newer versions write the full path of the class, which moved between versions.
            match module.kind.rsplit('.').next().unwrap_or_default() {
                "Transformer" if position == 0 && module.path.is_empty() => {}
                "Pooling" if position == 1 => {
                    sentences.pooling = pooling(&folder.join(&module.path).join("config.json"))?;
                }
                "Normalize" if position > 1 => sentences.normalize = true,
                _ => {
                    return Err(ModelError::setting(
                        &path,
                        format!("module {position}"),
                        "Transformer in the folder itself, then Pooling, then Normalize or nothing",
                        format!("{} in {:?}", module.kind, module.path),
                    ));
                }
            }
        }
        Ok(sentences)
    }
}

impl Prompts {
    fn similarity(&self, path: &Path) -> Result<Option<Similarity>, ModelError> {
        let Some(name) = &self.similarity_fn_name else {
            return Ok(None);
        };
        let field = "similarity_fn_name";
        match (Similarity::named(name), &name[..]) {
            (Some(similarity), _) => Ok(Some(similarity)),
            // Distances are none of ours; the vectors are the same.
            (None, "euclidean" | "manhattan") => Ok(None),
            (None, _) => {
                let expected = "cosine, dot, euclidean or manhattan";
                Err(ModelError::setting(path, field, expected, name))
            }
        }
    }

    fn of_sides(&self, path: &Path) -> Result<(String, String), ModelError> {
        let prompts = &self.prompts;
        let default = match &self.default_prompt_name {
            None => None,
            Some(name) => Some(prompts.get(name).ok_or_else(|| {
                let known: Vec<&str> = prompts.keys().map(String::as_str).collect();
                let expected = match known[..] {
                    [] => "none, as there are no prompts".to_owned(),
                    _ => format!("one of the prompts: {}", known.join(", ")),
                };
                ModelError::setting(path, "default_prompt_name", expected, name)
            })?),
        };
        let first = |names: &[&str]| {
            let named = names.iter().find_map(|&name| prompts.get(name));
            named.or(default).cloned().unwrap_or_default()
        };
        Ok((first(&["query"]), first(&["document", "passage", "corpus"])))
    }
}

fn pooling(path: &Path) -> Result<Pooling, ModelError> {
    let config: serde_json::Map<String, Value> =
        json(path)?.ok_or_else(|| ModelError::Missing {
            folder: path.parent().unwrap_or(path).into(),
            expected: "config.json",
        })?;
    let on = |name: &str| config.get(name).and_then(Value::as_bool) == Some(true);
    let mut chosen: Vec<&str> = config
        .keys()
        .filter(|name| name.starts_with("pooling_mode_") && on(name))
        .map(String::as_str)
        .collect();
    // What is left out is off, the mean alone is on.
    let mean = "pooling_mode_mean_tokens";
    if !config.contains_key(mean) && !config.contains_key("pooling_mode") {
        chosen.push(mean);
    }
    // The newest versions write the name alone.
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
        _ => Err(ModelError::setting(
            path,
            "pooling_mode",
            "one of cls_token, mean_tokens, max_tokens and mean_sqrt_len_tokens",
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
    fn pooling_as_sentence_transformers_reads_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.json");
        for (text, expected) in [
            (r#"{"word_embedding_dimension": 8}"#, Ok(Pooling::Mean)),
            (
                r#"{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}"#,
                Ok(Pooling::Cls),
            ),
            (r#"{"pooling_mode": "max"}"#, Ok(Pooling::Max)),
            // It joins the two.
            (
                r#"{"pooling_mode_cls_token": true}"#,
                Err("pooling_mode_cls_token and pooling_mode_mean_tokens"),
            ),
            (r#"{"pooling_mode_mean_tokens": false}"#, Err("none")),
        ] {
            std::fs::write(&path, text).unwrap();
            match (pooling(&path), expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{text}"),
                (Err(error), Err(expected)) => {
                    assert!(error.to_string().contains(expected), "{error}");
                }
                (found, _) => panic!("{text}: {found:?}"),
            }
        }
    }
}
