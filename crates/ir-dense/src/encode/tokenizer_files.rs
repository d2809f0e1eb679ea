//! Tokenizer files: settings, and vocabularies without `tokenizer.json`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::error::{ModelError, TokenizerError};
use crate::model_folder::{base_folder, read_bytes, read_json};

/// Files of which one is required.
pub(crate) const VOCABULARIES: &str = "tokenizer.json, vocab.txt, or vocab.json with merges.txt";

/// Models of SentencePiece, which are not read.
const SENTENCE_PIECE_MODELS: [&str; 4] = [
    "sentencepiece.bpe.model",
    "spiece.model",
    "spm.model",
    "tokenizer.model",
];

/// Tokenizers with the rules and special tokens of RoBERTa.
const ROBERTA_CLASSES: [&str; 3] = ["RobertaTokenizer", "BartTokenizer", "LongformerTokenizer"];

/// Values of `tokenizer_config.json` and of files of earlier versions.
pub(crate) struct TokenizerSettings {
    path: PathBuf,
    pub(super) values: Map<String, Value>,
    /// Ids of the tokens of `added_tokens.json`.
    pub(super) added: BTreeMap<String, u64>,
}

impl TokenizerSettings {
    /// Reads `tokenizer_config.json`. If it does not list the added tokens, `added_tokens.json` and
    /// `special_tokens_map.json` count, too; the special tokens of the latter override others.
    pub(crate) fn read(folder: &Path) -> Result<Self, ModelError> {
        let path = folder.join("tokenizer_config.json");
        let mut settings = Self {
            values: read_json(&path)?.unwrap_or_default(),
            added: BTreeMap::new(),
            path,
        };
        if settings
            .values
            .get("added_tokens_decoder")
            .is_none_or(Value::is_null)
        {
            let special = read_json::<Map<_, _>>(&folder.join("special_tokens_map.json"))?;
            settings.values.extend(special.unwrap_or_default());
            let added = read_json(&folder.join("added_tokens.json"))?;
            settings.added = added.unwrap_or_default();
        }
        Ok(settings)
    }

    pub(super) fn error(&self, field: &str, expected: &str, found: &Value) -> ModelError {
        ModelError::setting(&self.path, field, expected, found)
    }

    /// Returns a special token, which is a string or an object with the field `content`.
    pub(crate) fn token(&self, name: &str) -> Option<String> {
        let value = self.values.get(name)?;
        let text = value.as_str().or_else(|| value.get("content")?.as_str());
        text.map(str::to_owned)
    }

    pub(super) fn flag(&self, name: &str) -> Result<Option<bool>, ModelError> {
        match self.values.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(other) => Err(self.error(name, "true or false", other)),
        }
    }

    /// `model_max_length`; without a limit, transformers writes 1e30.
    pub(super) fn model_max_length(&self) -> Result<Option<usize>, ModelError> {
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

    /// Returns `true` if texts are truncated at their beginning: `truncation_side`, or else the
    /// direction of truncation in `tokenizer.json`.
    pub(super) fn truncates_left(&self, tokenizer: &Value) -> Result<bool, ModelError> {
        let field = "truncation_side";
        let side = self.values.get(field).filter(|side| !side.is_null());
        let side = side.unwrap_or(&tokenizer["truncation"]["direction"]);
        match side.as_str() {
            None if side.is_null() => Ok(false),
            Some("right" | "Right") => Ok(false),
            Some("left" | "Left") => Ok(true),
            _ => Err(ModelError::setting(
                &self.path,
                field,
                "left or right",
                side,
            )),
        }
    }

    /// Returns `true` if texts are padded at their beginning, `padding_side`.
    pub(super) fn pads_left(&self) -> bool {
        let side = self.values.get("padding_side").and_then(Value::as_str);
        side.is_some_and(|side| side.eq_ignore_ascii_case("left"))
    }

    /// Overrides values of `tokenizer.json`, as transformers does.
    pub(super) fn apply(&self, tokenizer: &mut Value) -> Result<(), ModelError> {
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

/// How sentence-transformers changes a text before tokenization.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct TextRules {
    /// If `true`, texts are lowercased.
    pub(crate) lowercase: bool,
    /// If `false`, white space around a text is removed, and special tokens in it are lowercased,
    /// too. Default.
    pub(crate) is_unchanged: bool,
}

/// Adds lowercasing to a tokenizer without any.
pub(super) fn add_lowercasing(tokenizer: &mut Value) {
    let lowercase = json!({"type": "Lowercase"});
    let normalizer = tokenizer["normalizer"].take();
    let mut all = match normalizer["normalizers"].as_array() {
        Some(all) if normalizer["type"] == "Sequence" => all.clone(),
        _ if normalizer.is_null() => Vec::new(),
        _ => vec![normalizer.clone()],
    };
    if all.contains(&lowercase) {
        tokenizer["normalizer"] = normalizer;
        return;
    }
    all.insert(0, lowercase);
    tokenizer["normalizer"] = json!({"type": "Sequence", "normalizers": all});
}

/// Returns the folder of the tokenizer of a transformer: an adapter without one has the tokenizer
/// of its base model.
pub(super) fn tokenizer_folder(folder: &Path) -> Result<PathBuf, ModelError> {
    let names = ["tokenizer.json", "vocab.txt", "vocab.json"];
    let mut names = names.iter().chain(&SENTENCE_PIECE_MODELS);
    if names.any(|name| folder.join(name).symlink_metadata().is_ok()) {
        return Ok(folder.into());
    }
    base_folder(folder)
}

/// Reads the vocabulary of a folder as the JSON of `tokenizer.json`; returns the path of its file.
pub(super) fn read_tokenizer(
    folder: &Path,
    settings: &mut TokenizerSettings,
) -> Result<(PathBuf, Value), ModelError> {
    let path = folder.join("tokenizer.json");
    if let Some(json) = read_json::<Value>(&path)? {
        return Ok((path, json));
    }
    let path = folder.join("vocab.txt");
    if let Some(vocabulary) = read_bytes(&path)? {
        let json = wordpiece_json(&path, &vocabulary, settings)?;
        return Ok((path, json));
    }
    let path = folder.join("vocab.json");
    if let Some(vocabulary) = read_json::<Map<_, _>>(&path)?
        && let Some(merges) = read_bytes(&folder.join("merges.txt"))?
    {
        let json = byte_level_json(&path, vocabulary, &merges, settings)?;
        return Ok((path, json));
    }
    let mut models = SENTENCE_PIECE_MODELS.iter().map(|name| folder.join(name));
    match models.find(|path| path.exists()) {
        Some(path) => Err(TokenizerError::SentencePiece { path }.into()),
        None => Err(ModelError::MissingFile {
            folder: folder.into(),
            expected: VOCABULARIES,
        }),
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
            Some((id, special_token(id, token)))
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

/// `tokenizer.json` of RoBERTa's byte-level BPE from `vocab.json` and `merges.txt`.
fn byte_level_json(
    path: &Path,
    vocabulary: Map<String, Value>,
    merges: &[u8],
    settings: &mut TokenizerSettings,
) -> Result<Value, ModelError> {
    let class = settings.values.get("tokenizer_class");
    let class = class.and_then(Value::as_str).unwrap_or(ROBERTA_CLASSES[0]);
    if !ROBERTA_CLASSES.contains(&class.trim_end_matches("Fast")) {
        let (path, class) = (path.into(), class.into());
        return Err(TokenizerError::UnknownClass { path, class }.into());
    }
    let special = [
        ("cls_token", "<s>"),
        ("sep_token", "</s>"),
        ("pad_token", "<pad>"),
        ("unk_token", "<unk>"),
        ("mask_token", "<mask>"),
    ];
    let mut added = BTreeMap::new();
    for (setting, default) in special {
        let token = settings.token(setting).unwrap_or(default.into());
        let Some(id) = vocabulary.get(&token).and_then(Value::as_u64) else {
            let path = path.into();
            return Err(TokenizerError::Special { path, token }.into());
        };
        added.insert(id, special_token(id, &token));
        settings.values.insert(setting.into(), token.into());
    }
    let added: Vec<Value> = added.into_values().collect();
    let with_id = |setting: &str| {
        let token = settings.token(setting).unwrap_or_default();
        let id = vocabulary.get(&token);
        json!([token, id])
    };
    let (cls, sep) = (with_id("cls_token"), with_id("sep_token"));
    let prefix_space = settings.flag("add_prefix_space")?.unwrap_or(false);
    let merges = String::from_utf8_lossy(merges);
    let merges: Vec<&str> = merges
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with("#version"))
        .collect();
    Ok(json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": added,
        "normalizer": null,
        "pre_tokenizer": {
            "type": "ByteLevel", "add_prefix_space": prefix_space, "trim_offsets": true,
            "use_regex": true,
        },
        "post_processor": {
            "type": "RobertaProcessing", "sep": sep, "cls": cls, "trim_offsets": true,
            "add_prefix_space": prefix_space,
        },
        "decoder": {
            "type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true,
        },
        "model": {
            "type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": "",
            "end_of_word_suffix": "", "fuse_unk": false, "vocab": vocabulary, "merges": merges,
        },
    }))
}

/// Special token of `tokenizer.json`.
fn special_token(id: u64, content: &str) -> Value {
    json!({
        "id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false,
        "normalized": false, "special": true,
    })
}
