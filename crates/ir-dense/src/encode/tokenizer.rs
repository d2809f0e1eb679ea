//! Tokenizer of a model.

use std::ops::Range;
use std::path::{Path, PathBuf};

use ir_core::Fnv1a;
use serde_json::{Map, Value, json};
use tokenizers::{ModelWrapper, Tokenizer};

use super::word_boundaries::WordBoundaries;
use crate::error::{ModelError, TokenizerError};
use crate::model_folder::{read_bytes, read_json};

/// Length of the first prefix of a long text that is tokenized, in bytes per token. English has
/// about five.
const BYTES_PER_TOKEN: usize = 8;
/// Maximum number of bytes that are tokenized of a text without boundaries.
const MAX_UNBROKEN: usize = 1 << 20;

/// Tokenizer of a model: text to token ids, by the Hugging Face `tokenizers` library.
///
/// Special tokens in a text, such as `[SEP]`, are recognized.
#[derive(Debug, Clone)]
pub struct ModelTokenizer {
    path: PathBuf,
    tokenizer: Tokenizer,
    /// Special tokens before and after the tokens of a text: `[CLS]` and `[SEP]`.
    special: [Vec<u32>; 2],
    padding: u32,
    pub(super) boundaries: WordBoundaries,
    /// If `true`, texts are lowercased before tokenization.
    pub(crate) lowercase: bool,
    /// `model_max_length` of `tokenizer_config.json`.
    pub(crate) model_max_length: Option<usize>,
}

/// Token ids of a text, with special tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TokenizedText {
    pub(crate) ids: Vec<u32>,
    /// If `true`, the text has more tokens than the limit.
    pub(crate) truncated: bool,
}

/// Special tokens around the texts of a pair, each with its type: for BERT
/// `[CLS] first [SEP] second [SEP]`.
#[derive(Debug, Clone)]
pub(crate) struct PairTemplate {
    pub(crate) before: Vec<(u32, u32)>,
    pub(crate) between: Vec<(u32, u32)>,
    pub(crate) after: Vec<(u32, u32)>,
    /// Types of the tokens of both texts.
    pub(crate) types: [u32; 2],
}

/// Values of `tokenizer_config.json` and `special_tokens_map.json`.
struct TokenizerSettings {
    path: PathBuf,
    values: Map<String, Value>,
}

impl ModelTokenizer {
    /// Reads `tokenizer.json` or `vocab.txt`, and optionally `tokenizer_config.json` and
    /// `special_tokens_map.json`. Padding and truncation of `tokenizer.json` are ignored.
    ///
    /// # Errors
    /// If both files are missing or a file is invalid.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, ModelError> {
        let folder = folder.as_ref();
        let settings = TokenizerSettings::read(folder)?;
        let path = folder.join("tokenizer.json");
        let (path, mut json) = match read_json::<Value>(&path)? {
            Some(json) => (path, json),
            None => {
                let path = folder.join("vocab.txt");
                let vocabulary = read_bytes(&path)?.ok_or_else(|| ModelError::MissingFile {
                    folder: folder.into(),
                    expected: "tokenizer.json or vocab.txt",
                })?;
                let json = wordpiece_json(&path, &vocabulary, &settings)?;
                (path, json)
            }
        };
        if !json.is_object() {
            let found = match json {
                Value::Array(_) => "a list",
                Value::Null => "null",
                _ => "a single value",
            };
            return Err(ModelError::setting(
                &path,
                "the top level",
                "an object",
                found,
            ));
        }
        settings.apply(&mut json)?;
        Self::new(path, &json, &settings)
    }

    fn new(path: PathBuf, json: &Value, settings: &TokenizerSettings) -> Result<Self, ModelError> {
        let model_max_length = settings.model_max_length()?;
        let read = |source| TokenizerError::Read {
            path: path.clone(),
            source,
        };
        let tokenizer = json.to_string().parse::<Tokenizer>().map_err(read)?;
        // Finds the special tokens around the tokens of a probe text.
        let probe = "a";
        let ids = |special| tokenizer.encode_fast(probe, special);
        let (bare, whole) = (ids(false).map_err(read)?, ids(true).map_err(read)?);
        let (bare, whole) = (bare.get_ids(), whole.get_ids());
        let at = whole
            .windows(bare.len().max(1))
            .position(|window| window == bare);
        let at = at.ok_or_else(|| TokenizerError::Template { path: path.clone() })?;
        let special = [whole[..at].to_vec(), whole[at + bare.len()..].to_vec()];
        let padding = settings.token("pad_token");
        let padding = padding.and_then(|token| tokenizer.token_to_id(&token));
        Ok(Self {
            special,
            padding: padding.unwrap_or(0),
            lowercase: false,
            model_max_length,
            boundaries: WordBoundaries::new(&tokenizer),
            tokenizer,
            path,
        })
    }

    /// Returns the token ids of a text with special tokens, truncated to `limit` tokens. White
    /// space around the text is ignored. Of a long text, only a prefix is tokenized, if the
    /// tokenizer splits at white space, and at most the first MiB without a white space.
    ///
    /// # Errors
    /// If tokenization fails, or `limit` leaves no room for a token besides the special tokens.
    pub fn encode(&self, text: &str, limit: usize) -> Result<Vec<u32>, TokenizerError> {
        Ok(self.tokenize(text, limit)?.ids)
    }

    /// [`Self::encode`], and whether the text has more tokens than the limit.
    pub(crate) fn tokenize(
        &self,
        text: &str,
        limit: usize,
    ) -> Result<TokenizedText, TokenizerError> {
        let mut ids = Vec::new();
        let truncated = self.tokenize_into(text, limit, &mut ids)?;
        Ok(TokenizedText { ids, truncated })
    }

    /// Replaces `ids` by [`Self::encode`], and returns whether the text has more tokens than the
    /// limit. Allocates only in the library, if `ids` has the capacity.
    pub(crate) fn tokenize_into(
        &self,
        text: &str,
        limit: usize,
        ids: &mut Vec<u32>,
    ) -> Result<bool, TokenizerError> {
        let [before, after] = &self.special;
        let least = self.min_tokens();
        if limit < least {
            return Err(TokenizerError::Limit { limit, least });
        }
        let room = limit + 1 - least;
        let text = text.trim();
        let mut bytes = room.saturating_mul(BYTES_PER_TOKEN);
        let (encoding, is_cut) = loop {
            let prefix = self.boundaries.prefix(text, bytes);
            let unbroken = prefix.len() > bytes.max(MAX_UNBROKEN);
            let prefix = if unbroken {
                start(prefix, bytes.max(MAX_UNBROKEN))
            } else {
                prefix
            };
            let lower = self.lowercase.then(|| prefix.to_lowercase());
            let encoding = self
                .tokenizer
                .encode_fast(lower.as_deref().unwrap_or(prefix), false)
                .map_err(|source| TokenizerError::Encode { source })?;
            // One token more than there is room for tells that the text is truncated.
            let is_whole = prefix.len() == text.len();
            if encoding.len() > room || unbroken || is_whole {
                break (encoding, !is_whole);
            }
            bytes = bytes.saturating_mul(2);
        };
        let middle = encoding.get_ids();
        let truncated = is_cut || middle.len() > room;
        let middle = &middle[..middle.len().min(room)];
        ids.clear();
        ids.reserve_exact(before.len() + middle.len() + after.len());
        ids.extend_from_slice(before);
        ids.extend_from_slice(middle);
        ids.extend_from_slice(after);
        // Without special tokens, an empty text has no tokens.
        if ids.is_empty() {
            ids.push(self.padding);
        }
        Ok(truncated)
    }

    /// Returns the token ids of a text without special tokens, and the range of each token in the
    /// text, in bytes.
    pub(crate) fn encode_with_offsets(
        &self,
        text: &str,
    ) -> Result<(Vec<u32>, Vec<Range<usize>>), TokenizerError> {
        let encoding = self.tokenizer.encode(text, false);
        let encoding = encoding.map_err(|source| TokenizerError::Encode { source })?;
        let offsets = encoding.get_offsets().iter();
        let offsets = offsets.map(|&(start, end)| start..end).collect();
        Ok((encoding.get_ids().to_vec(), offsets))
    }

    /// Special tokens and token types of a pair of texts.
    pub(crate) fn pair_template(&self) -> Result<PairTemplate, ModelError> {
        let read = |source| TokenizerError::Read {
            path: self.path.clone(),
            source,
        };
        let probe = self.tokenizer.encode_fast(("a", "a"), true).map_err(read)?;
        let (ids, types) = (probe.get_ids(), probe.get_type_ids());
        let texts = probe.get_sequence_ids();
        let range = |text: usize| {
            let is = |it: &Option<usize>| *it == Some(text);
            let (first, last) = (texts.iter().position(is)?, texts.iter().rposition(is)?);
            Some(first..last + 1)
        };
        let template = || TokenizerError::Template {
            path: self.path.clone(),
        };
        let [first, second] = [0, 1].map(range);
        let (first, second) = first.zip(second).ok_or_else(template)?;
        if first.end > second.start {
            return Err(template().into());
        }
        let special = |range: Range<usize>| {
            let tokens = ids[range.clone()].iter().zip(&types[range]);
            tokens.map(|(&id, &of)| (id, of)).collect()
        };
        Ok(PairTemplate {
            before: special(0..first.start),
            between: special(first.end..second.start),
            after: special(second.end..ids.len()),
            types: [types[first.start], types[second.start]],
        })
    }

    /// Smallest valid limit: the special tokens and one more.
    pub(crate) fn min_tokens(&self) -> usize {
        let [before, after] = &self.special;
        before.len() + after.len() + 1
    }

    /// Id of the padding token.
    pub fn padding(&self) -> u32 {
        self.padding
    }

    /// Checks that the vocabulary fits an embedding table of `rows` rows.
    pub(crate) fn check_vocabulary(&self, rows: usize) -> Result<(), ModelError> {
        let tokens = self.tokenizer.get_vocab(true).into_iter();
        match tokens.map(|(token, id)| (id, token)).max() {
            Some((id, token)) if id as usize >= rows => {
                let expected = format!("below {rows}, the rows of the embedding table");
                let field = format!("id of token {token:?}");
                Err(ModelError::setting(&self.path, field, expected, id))
            }
            // A truncated vocabulary, or the vocabulary of another model. Tables are padded to a
            // multiple of at most 128 rows.
            Some((id, _))
                if self.is_wordpiece() && rows > (id as usize + 1).next_multiple_of(128) =>
            {
                let expected = format!("about {rows}, the rows of the embedding table");
                let (field, found) = ("the number of tokens", id as usize + 1);
                Err(ModelError::setting(&self.path, field, expected, found))
            }
            _ => Ok(()),
        }
    }

    /// Hash of all tokens in the order of their ids.
    pub(crate) fn vocabulary_hash(&self) -> u64 {
        let vocabulary = self.tokenizer.get_vocab(true);
        let mut tokens: Vec<(u32, &str)> = vocabulary
            .iter()
            .map(|(token, &id)| (id, token.as_str()))
            .collect();
        tokens.sort_unstable();
        let mut hash = Fnv1a::new();
        for (id, token) in tokens {
            hash.write(&id.to_le_bytes());
            hash.write(token.as_bytes());
            hash.write(&[0xFF]);
        }
        hash.finish()
    }

    fn is_wordpiece(&self) -> bool {
        matches!(self.tokenizer.get_model(), ModelWrapper::WordPiece(_))
    }
}

/// Longest prefix of at most `bytes` bytes.
fn start(text: &str, bytes: usize) -> &str {
    let ends = (0..=bytes.min(text.len())).rev();
    let end = ends.into_iter().find(|&end| text.is_char_boundary(end));
    &text[..end.unwrap_or(0)]
}

impl TokenizerSettings {
    fn read(folder: &Path) -> Result<Self, ModelError> {
        let path = folder.join("tokenizer_config.json");
        let special = read_json::<Map<_, _>>(&folder.join("special_tokens_map.json"))?;
        let mut values = special.unwrap_or_default();
        values.extend(read_json::<Map<_, _>>(&path)?.unwrap_or_default());
        Ok(Self { path, values })
    }

    /// Returns a special token, which is a string or an object with the field `content`.
    fn token(&self, name: &str) -> Option<String> {
        let value = self.values.get(name)?;
        let text = value.as_str().or_else(|| value.get("content")?.as_str());
        text.map(str::to_owned)
    }

    fn flag(&self, name: &str) -> Result<Option<bool>, ModelError> {
        match self.values.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(other) => Err(ModelError::setting(
                &self.path,
                name,
                "true or false",
                other,
            )),
        }
    }

    /// `model_max_length`; without a limit, transformers writes 1e30.
    fn model_max_length(&self) -> Result<Option<usize>, ModelError> {
        let field = "model_max_length";
        match self.values.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match value.as_f64() {
                Some(limit) if limit >= 0.0 => Ok(Some(limit as usize)),
                _ => Err(ModelError::setting(
                    &self.path,
                    field,
                    "a number of tokens",
                    value,
                )),
            },
        }
    }

    /// Overrides values of `tokenizer.json`, as transformers does.
    fn apply(&self, tokenizer: &mut Value) -> Result<(), ModelError> {
        tokenizer["padding"] = Value::Null;
        tokenizer["truncation"] = Value::Null;
        let normalizer = &mut tokenizer["normalizer"];
        if normalizer["type"] == "BertNormalizer" {
            let overrides = [
                ("do_lower_case", "lowercase"),
                ("strip_accents", "strip_accents"),
                ("tokenize_chinese_chars", "handle_chinese_chars"),
            ];
            for (setting, field) in overrides {
                if let Some(flag) = self.flag(setting)? {
                    normalizer[field] = flag.into();
                }
            }
        }
        Ok(())
    }
}

/// `tokenizer.json` of a WordPiece tokenizer from `vocab.txt`, which has one token per line.
fn wordpiece_json(
    path: &Path,
    vocabulary: &[u8],
    settings: &TokenizerSettings,
) -> Result<Value, ModelError> {
    let text = std::str::from_utf8(vocabulary).map_err(|error| {
        let line = vocabulary[..error.valid_up_to()]
            .iter()
            .filter(|&&b| b == b'\n')
            .count()
            + 1;
        ModelError::setting(path, format!("line {line}"), "UTF-8", "invalid bytes")
    })?;
    let mut ids = Map::new();
    for (id, token) in text.lines().enumerate() {
        // The last of duplicate tokens counts, as in transformers.
        ids.insert(token.into(), id.into());
    }
    let special =
        SPECIAL_TOKENS.map(|(setting, token)| settings.token(setting).unwrap_or(token.into()));
    let [padding, unknown, start, end, _] = &special;
    for needed in [unknown, end, start, padding] {
        if !ids.contains_key(needed) {
            let token = needed.clone();
            let path = path.into();
            return Err(TokenizerError::Special { path, token }.into());
        }
    }
    let lowercase = settings.flag("do_lower_case")?.unwrap_or(true);
    let special = special.each_ref().map(String::as_str);
    Ok(tokenizer_json(&ids, special, lowercase))
}

/// BERT's special tokens: setting and default.
pub(crate) const SPECIAL_TOKENS: [(&str, &str); 5] = [
    ("pad_token", "[PAD]"),
    ("unk_token", "[UNK]"),
    ("cls_token", "[CLS]"),
    ("sep_token", "[SEP]"),
    ("mask_token", "[MASK]"),
];

/// `tokenizer.json` of a WordPiece tokenizer with these token ids.
pub(crate) fn tokenizer_json(
    ids: &Map<String, Value>,
    special: [&str; 5],
    lowercase: bool,
) -> Value {
    let [_, unknown, start, end, _] = special;
    let mut added: Vec<(u64, Value)> = special
        .iter()
        .filter_map(|&token| {
            let id = ids.get(token)?.as_u64()?;
            let token = json!({
                "id": id, "content": token, "single_word": false, "lstrip": false,
                "rstrip": false, "normalized": false, "special": true,
            });
            Some((id, token))
        })
        .collect();
    added.sort_by_key(|&(id, _)| id);
    let added: Vec<Value> = added.into_iter().map(|(_, token)| token).collect();
    json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": added,
        "normalizer": {
            "type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
            "strip_accents": null, "lowercase": lowercase,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "BertProcessing",
            "sep": [end, ids.get(end)], "cls": [start, ids.get(start)],
        },
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
        "model": {
            "type": "WordPiece", "unk_token": unknown, "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": ids,
        },
    })
}
