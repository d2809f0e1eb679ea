//! Tokens of queries and documents.

use std::ops::Range;

use ir_core::{EncodeError, Fnv1a, Side};
use serde_json::{Value, json};

use super::expansion::QueryExpansion;
use super::mask::TokenMask;
use crate::encode::{SideConfig, Tower};

/// Rules of the tokens of queries and documents.
#[derive(Debug, Clone)]
pub(crate) struct TokenRules {
    pub(super) expansion: Option<QueryExpansion>,
    /// If `true`, the tokens of the expansion have vectors.
    pub(super) keeps_expansion: bool,
    pub(super) mask: TokenMask,
    /// Maximum number of tokens of queries and of documents.
    pub(super) limits: [usize; 2],
}

/// Tokens of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextTokens {
    /// Tokens of the text, then of the expansion.
    pub(crate) ids: Vec<u32>,
    /// Number of tokens that are attended to, the first ones.
    pub(crate) attended: usize,
    /// Tokens that have a vector: indices, ascending.
    pub(crate) kept: Vec<usize>,
    /// Range in the text of every token that has a vector.
    pub(crate) spans: Vec<Range<usize>>,
    /// If `true`, the text has more tokens than the limit.
    pub(crate) truncated: bool,
}

impl TokenRules {
    /// Returns what determines the tokens besides tokenizer and prefixes, for checkpoints.
    pub(crate) fn identity(&self) -> Value {
        let expansion = self
            .expansion
            .map(|it| json!({"length": it.length, "attend": it.attend, "token": it.token}));
        let mask = Fnv1a::hash(format!("{:?}", self.mask).as_bytes());
        json!({
            "query_expansion": expansion,
            "keeps_expansion": self.keeps_expansion,
            "mask": format!("{mask:016x}"),
            "max_tokens": self.limits,
        })
    }

    pub(crate) fn tokenize(
        &self,
        tower: &Tower,
        config: &SideConfig,
        side: Side,
        text: &str,
    ) -> Result<TextTokens, EncodeError> {
        let (prefix, limit) = (tower.prefix(side, config), self.limits[side as usize]);
        let tokens = tower.tokenizer.tokenize_with_spans(prefix, text, limit);
        let (tokens, mut spans) = tokens.map_err(|source| tower.encode_error(source))?;
        let (mut ids, truncated) = (tokens.ids, tokens.truncated);
        let own = ids.len();
        let mut attended = own;
        let mut with_vector = own;
        if let Some(expansion) = self.expansion.filter(|_| side == Side::Query) {
            let length = own.max(expansion.length);
            ids.resize(length, expansion.token);
            spans.resize(length, 0..0);
            if expansion.attend {
                attended = length;
            }
            if self.keeps_expansion {
                with_vector = length;
            }
        }
        let kept = (0..with_vector).filter(|&token| self.mask.keeps(side, ids[token]));
        let kept: Vec<usize> = kept.collect();
        Ok(TextTokens {
            spans: kept.iter().map(|&token| spans[token].clone()).collect(),
            ids,
            attended,
            kept,
            truncated,
        })
    }
}
