//! Added tokens of the settings of a tokenizer, which `tokenizer.json` may lack: they are added as
//! by transformers 5.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Map, Value};
use tokenizers::{AddedToken, Tokenizer};

use super::tokenizer_files::TokenizerSettings;
use crate::error::{ModelError, TokenizerError};

/// Named special tokens, in the order in which those that are not in the vocabulary get ids.
const NAMED_TOKENS: [&str; 7] = [
    "bos_token",
    "eos_token",
    "unk_token",
    "sep_token",
    "pad_token",
    "cls_token",
    "mask_token",
];

/// Lists of special tokens without names, and objects of special tokens with other names.
const EXTRA_TOKENS: [&str; 2] = ["additional_special_tokens", "extra_special_tokens"];

/// Classes that change the pre-tokenizer of `tokenizer.json` according to `add_prefix_space`: of
/// byte-level BPE, and of SentencePiece.
const BYTE_LEVEL_CLASSES: [&str; 10] = [
    "BartTokenizer",
    "BlenderbotTokenizer",
    "CohereTokenizer",
    "DebertaTokenizer",
    "GPT2Tokenizer",
    "GPTNeoXTokenizer",
    "LEDTokenizer",
    "LongformerTokenizer",
    "Qwen2Tokenizer",
    "RobertaTokenizer",
];
const METASPACE_CLASSES: [&str; 7] = [
    "AlbertTokenizer",
    "BarthezTokenizer",
    "BigBirdTokenizer",
    "CamembertTokenizer",
    "CodeLlamaTokenizer",
    "LlamaTokenizer",
    "XLMRobertaTokenizer",
];

impl TokenizerSettings {
    /// Adds the tokens of the settings that the tokenizer lacks, in the order of transformers, so
    /// that they get the same ids; tokens that it has get the flags of the settings. `json`: the
    /// content of `tokenizer.json`.
    pub(super) fn add_tokens(
        &self,
        tokenizer: &mut Tokenizer,
        json: &Value,
        path: &Path,
    ) -> Result<(), ModelError> {
        let by_id = self.tokens_by_id(json)?;
        let by_content: BTreeMap<&str, &AddedToken> =
            by_id.values().map(|it| (it.content.as_str(), it)).collect();
        let mut special = Vec::new();
        let names = self.values.keys().map(String::as_str);
        let others = names.filter(|it| it.ends_with("_token") && !NAMED_TOKENS.contains(it));
        for name in NAMED_TOKENS.into_iter().chain(others) {
            match self.values.get(name) {
                None | Some(Value::Null | Value::Bool(_)) => {}
                Some(value) => special.push(self.special_token(name, value)?),
            }
        }
        for name in EXTRA_TOKENS {
            match self.values.get(name) {
                None | Some(Value::Null) => {}
                Some(Value::Array(values)) => {
                    for value in values {
                        special.push(self.special_token(name, value)?);
                    }
                }
                Some(Value::Object(values)) => {
                    for value in values.values() {
                        special.push(self.special_token(name, value)?);
                    }
                }
                Some(other) => return Err(self.error(name, "a list of tokens", other)),
            }
        }
        let special_contents: BTreeSet<&str> = special.iter().map(|it| &it.content[..]).collect();
        let mut known: BTreeSet<String> = tokenizer
            .get_added_tokens_decoder()
            .into_values()
            .map(|token| token.content)
            .collect();
        let mut added: Vec<AddedToken> = Vec::new();
        for token in by_id.values() {
            let is_special = token.special || special_contents.contains(&token.content[..]);
            added.push(token.clone().special(is_special));
            known.insert(token.content.clone());
        }
        for token in special {
            if known.insert(token.content.clone()) {
                let flags = by_content.get(&token.content[..]);
                added.push(flags.map_or(token, |flags| (*flags).clone()));
            }
        }
        let count = tokenizer.add_tokens(added);
        count.map_err(|source| TokenizerError::Read {
            path: path.into(),
            source,
        })?;
        if self.flag("split_special_tokens")?.unwrap_or(false) {
            tokenizer.set_encode_special_tokens(true);
        }
        Ok(())
    }

    /// Tokens of `added_tokens_decoder`; without it, of `added_tokens.json` and `tokenizer.json`.
    fn tokens_by_id(&self, json: &Value) -> Result<BTreeMap<u64, AddedToken>, ModelError> {
        let field = "added_tokens_decoder";
        let mut tokens = BTreeMap::new();
        match self.values.get(field) {
            None | Some(Value::Null) => {}
            Some(Value::Object(all)) => {
                for (id, value) in all {
                    let field = format!("{field}.{id}");
                    let number = id.parse();
                    let number = number.map_err(|_| self.error(&field, "an id", value))?;
                    let token = value
                        .as_object()
                        .and_then(|flags| added_token(flags, false));
                    let expected = "an object with the content and the flags of a token";
                    let token = token.ok_or_else(|| self.error(&field, expected, value))?;
                    tokens.insert(number, token);
                }
                return Ok(tokens);
            }
            Some(other) => return Err(self.error(field, "an object", other)),
        }
        for (content, id) in &self.added {
            let contents = |value: &Value| {
                let value = value.get("content").unwrap_or(value);
                value.as_str() == Some(content)
            };
            let named = NAMED_TOKENS
                .iter()
                .filter_map(|name| self.values.get(*name));
            let extra = EXTRA_TOKENS
                .iter()
                .filter_map(|name| self.values.get(*name)?.as_array());
            let is_special = named.chain(extra.flatten()).any(contents);
            tokens.insert(*id, AddedToken::from(content.as_str(), is_special));
        }
        for value in json["added_tokens"].as_array().into_iter().flatten() {
            let id = value["id"].as_u64();
            let token = value
                .as_object()
                .and_then(|flags| added_token(flags, false));
            // Others are errors of the tokenizer.
            tokens.extend(id.zip(token));
        }
        Ok(tokens)
    }

    /// Special token, which is a text or an object with the field `content`.
    fn special_token(&self, field: &str, value: &Value) -> Result<AddedToken, ModelError> {
        let token = match value {
            Value::String(content) => Some(AddedToken::from(content.as_str(), true)),
            Value::Object(flags) => added_token(flags, true),
            _ => None,
        };
        token.ok_or_else(|| self.error(field, "a token", value))
    }

    /// Returns an error if `add_prefix_space` differs from `tokenizer.json` and the class of the
    /// tokenizer applies it.
    pub(super) fn check_prefix_space(&self, json: &Value) -> Result<(), ModelError> {
        let field = "add_prefix_space";
        let Some(flag) = self.flag(field)? else {
            return Ok(());
        };
        let class = self.values.get("tokenizer_class").and_then(Value::as_str);
        let class = class.unwrap_or_default().trim_end_matches("Fast");
        let pre_tokenizer = &json["pre_tokenizer"];
        let all = pre_tokenizer["pretokenizers"].as_array();
        let all = all.map_or(std::slice::from_ref(pre_tokenizer), Vec::as_slice);
        let own = all.iter().find_map(|it| match it["type"].as_str()? {
            "ByteLevel" if BYTE_LEVEL_CLASSES.contains(&class) => it[field].as_bool(),
            "Metaspace" if METASPACE_CLASSES.contains(&class) => {
                Some(it["prepend_scheme"] != "never")
            }
            _ => None,
        });
        match own {
            Some(own) if own != flag => {
                let expected = format!("{own} as in tokenizer.json, or another tokenizer_class");
                Err(self.error(field, &expected, &flag.into()))
            }
            _ => Ok(()),
        }
    }
}

/// Token with its flags; `None` without content.
fn added_token(flags: &Map<String, Value>, special: bool) -> Option<AddedToken> {
    let content = flags.get("content")?.as_str()?;
    let flag = |name: &str| flags.get(name).and_then(Value::as_bool);
    let special = flag("special").unwrap_or(special);
    let token = AddedToken::from(content, special)
        .single_word(flag("single_word").unwrap_or(false))
        .lstrip(flag("lstrip").unwrap_or(false))
        .rstrip(flag("rstrip").unwrap_or(false));
    Some(match flag("normalized") {
        Some(normalized) => token.normalized(normalized),
        None => token,
    })
}
