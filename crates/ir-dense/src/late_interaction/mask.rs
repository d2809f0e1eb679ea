//! Tokens without a vector: skip list and allowlist.

use std::path::Path;

use ir_core::Side;
use serde_json::Value;

use crate::encode::ModelTokenizer;
use crate::error::ModelError;

/// Characters of Python's `string.punctuation`.
const PUNCTUATION: &str = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";

/// `config.json` of a MultiVectorMask module.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct MaskSettings {
    skiplist_words: Vec<String>,
    skiplist_tasks: Option<Value>,
    keep_only_token_ids: Option<Vec<u32>>,
}

/// Tokens that have a vector.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TokenMask {
    /// Ids without a vector in queries and in documents, sorted.
    skipped: [Vec<u32>; 2],
    /// If not empty, the only ids with a vector in documents, sorted.
    kept: Vec<u32>,
}

impl MaskSettings {
    /// Skips these words in documents.
    pub(super) fn skipping(words: Vec<String>) -> Self {
        Self {
            skiplist_words: words,
            ..Self::default()
        }
    }

    /// Skips punctuation in documents.
    pub(super) fn punctuation() -> Self {
        Self::skipping(PUNCTUATION.chars().map(String::from).collect())
    }

    /// Finds the ids of the words. Words that are not a token are ignored, as in
    /// sentence-transformers. `path` is the file of the settings.
    pub(super) fn resolve(
        &self,
        path: &Path,
        tokenizer: &ModelTokenizer,
    ) -> Result<TokenMask, ModelError> {
        let ids = self.skiplist_words.iter();
        let ids = sorted(ids.filter_map(|word| tokenizer.token_id(word)));
        let tasks = match &self.skiplist_tasks {
            None | Some(Value::Null) => vec!["document"],
            Some(Value::String(task)) => vec![&task[..]],
            Some(Value::Array(tasks)) if tasks.iter().all(Value::is_string) => {
                tasks.iter().filter_map(Value::as_str).collect()
            }
            Some(other) => {
                let expected = "a list of query and document";
                return Err(ModelError::setting(path, "skiplist_tasks", expected, other));
            }
        };
        if let Some(task) = tasks.iter().find(|it| !["query", "document"].contains(it)) {
            let field = "skiplist_tasks";
            return Err(ModelError::setting(path, field, "query or document", task));
        }
        let skipped = ["query", "document"].map(|side| {
            let is_skipped = tasks.contains(&side);
            if is_skipped { ids.clone() } else { Vec::new() }
        });
        let kept = self.keep_only_token_ids.iter().flatten().copied();
        Ok(TokenMask {
            skipped,
            kept: sorted(kept),
        })
    }
}

impl TokenMask {
    /// Returns `true` if a token of a side has a vector.
    pub(super) fn keeps(&self, side: Side, id: u32) -> bool {
        let is_skipped = self.skipped[side as usize].binary_search(&id).is_ok();
        let is_kept = side == Side::Query || self.kept.is_empty();
        !is_skipped && (is_kept || self.kept.binary_search(&id).is_ok())
    }

    /// Ids without a vector in a side, sorted.
    pub(super) fn skipped(&self, side: Side) -> &[u32] {
        &self.skipped[side as usize]
    }

    /// If not empty, the only ids with a vector in documents, sorted.
    pub(super) fn kept(&self) -> &[u32] {
        &self.kept
    }
}

fn sorted(ids: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut ids: Vec<u32> = ids.collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}
