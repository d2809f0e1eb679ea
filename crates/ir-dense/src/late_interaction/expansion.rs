//! Query expansion: mask tokens at the end of a query, up to a length.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::encode::{ModelTokenizer, Tower};
use crate::error::ModelError;

/// Query expansion according to the files of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ExpansionSettings {
    /// File of the settings, and name of its field.
    pub(super) path: PathBuf,
    pub(super) field: String,
    /// Number of tokens after expansion.
    pub(super) length: usize,
    /// If `true`, longer queries are truncated to `length`.
    pub(super) is_fixed: bool,
    /// If `true`, tokens attend to the tokens of the expansion.
    pub(super) attend: bool,
    /// Token of the expansion. `None`: the mask token, or else the end of a text.
    pub(super) token: Option<String>,
}

/// Query expansion with the ids of a tokenizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct QueryExpansion {
    pub(super) length: usize,
    pub(super) attend: bool,
    pub(super) token: u32,
}

impl ExpansionSettings {
    /// Reads `query_expansion` of sentence-transformers; `None` for null.
    pub(super) fn read(path: &Path, value: &Value) -> Result<Option<Self>, ModelError> {
        let error = |field: &str, expected: &str, found: &Value| {
            let field = match field {
                "" => "query_expansion".to_owned(),
                field => format!("query_expansion.{field}"),
            };
            Err(ModelError::setting(path, field, expected, found))
        };
        let values = match value {
            Value::Null => return Ok(None),
            Value::Object(values) => values,
            other => return error("", "null or an object", other),
        };
        let known = ["strategy", "attend", "token", "length"];
        if let Some((key, value)) = values.iter().find(|(key, _)| !known.contains(&&key[..])) {
            return error(key, "strategy, attend, token or length", value);
        }
        let is_fixed = match value["strategy"].as_str() {
            Some("fixed") => true,
            Some("min") => false,
            _ => return error("strategy", "fixed or min", &value["strategy"]),
        };
        let attend = match &value["attend"] {
            Value::Null => false,
            Value::Bool(attend) => *attend,
            other => return error("attend", "true or false", other),
        };
        let token = match &value["token"] {
            Value::Null => None,
            Value::String(token) => Some(token.clone()),
            other => return error("token", "a token or null", other),
        };
        let Some(length @ 1..) = value["length"].as_u64() else {
            return error("length", "a number of tokens, 1 or more", &value["length"]);
        };
        Ok(Some(Self {
            path: path.into(),
            field: "query_expansion.length".into(),
            length: length as usize,
            is_fixed,
            attend,
            token,
        }))
    }

    /// Checks the settings and finds the token. `limit` is the maximum length that overrides the
    /// folder.
    pub(super) fn resolve(
        &self,
        tower: &Tower,
        limit: Option<usize>,
    ) -> Result<QueryExpansion, ModelError> {
        let tokenizer = &tower.tokenizer;
        let length = match limit {
            Some(limit) if self.is_fixed => limit,
            Some(limit) if limit < self.length => {
                let expected = format!("{} or more, the length of expanded queries", self.length);
                return Err(ModelError::setting(
                    &self.path,
                    "max_tokens",
                    expected,
                    limit,
                ));
            }
            _ => self.length,
        };
        let positions = tower.config().position_limit();
        if length > positions {
            let expected = format!("at most {positions}, the positions of the model");
            return Err(ModelError::setting(
                &self.path,
                &self.field,
                expected,
                length,
            ));
        }
        if tokenizer.pads_left {
            let path = tower.transformer_folder.join("tokenizer_config.json");
            let expected = "right: queries are expanded at their end";
            return Err(ModelError::setting(&path, "padding_side", expected, "left"));
        }
        if !self.attend && tower.config().layer.disentangled.is_some() {
            let expected = "attention to the tokens of the expansion: in DeBERTa, tokens that are \
                            not attended to have no embedding";
            let found = "no attention (attend)";
            return Err(ModelError::setting(
                &self.path,
                "query_expansion",
                expected,
                found,
            ));
        }
        Ok(QueryExpansion {
            length,
            attend: self.attend,
            token: self.token_id(tokenizer)?,
        })
    }

    fn token_id(&self, tokenizer: &ModelTokenizer) -> Result<u32, ModelError> {
        let Some(token) = &self.token else {
            return tokenizer.mask.ok_or_else(|| {
                let expected = "a token that expands queries";
                ModelError::setting(tokenizer.path(), "mask_token", expected, "missing")
            });
        };
        tokenizer.token_id(token).ok_or_else(|| {
            let (field, expected) = ("query_expansion.token", "a token of the vocabulary");
            ModelError::setting(&self.path, field, expected, format!("{token:?}"))
        })
    }
}
