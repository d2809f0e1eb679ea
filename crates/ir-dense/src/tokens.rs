//! From text to token numbers.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use tokenizers::{ModelWrapper, Tokenizer};

use crate::ModelError;
use crate::folder;

/// Cuts text into the numbers that a model was trained with, as the Hugging Face tokenisers do.
///
/// Special tokens that are written out in a text, `[SEP]` say, are taken as such.
#[derive(Debug, Clone)]
pub struct Tokens {
    path: PathBuf,
    tokenizer: Tokenizer,
    /// What stands before and after the tokens of a text: `[CLS]` and `[SEP]`.
    around: [Vec<u32>; 2],
    padding: u32,
    lowercase: bool,
    /// What `tokenizer_config.json` says of the length of texts.
    longest: Option<usize>,
}

/// What `tokenizer_config.json` and `special_tokens_map.json` say.
struct Settings {
    path: PathBuf,
    values: Map<String, Value>,
}

impl Tokens {
    /// Reads `tokenizer.json`, or else `vocab.txt`, with `tokenizer_config.json` and
    /// `special_tokens_map.json` where they are there. Padding and truncation that a file
    /// prescribes are switched off: they belong to whoever makes batches.
    ///
    /// # Errors
    /// When neither is there or a file is not as it should be.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, ModelError> {
        let folder = folder.as_ref();
        let settings = Settings::read(folder)?;
        let path = folder.join("tokenizer.json");
        let (path, mut json) = match folder::json::<Value>(&path)? {
            Some(json) => (path, json),
            None => {
                let path = folder.join("vocab.txt");
                let vocabulary = folder::bytes(&path)?.ok_or_else(|| ModelError::Missing {
                    folder: folder.into(),
                    expected: "tokenizer.json or vocab.txt",
                })?;
                let json = word_pieces(&path, &vocabulary, &settings)?;
                (path, json)
            }
        };
        if !json.is_object() {
            let found = match json {
                Value::Array(_) => "a list",
                Value::Null => "null",
                _ => "a single value",
            };
            return Err(ModelError::setting(&path, "the whole", "an object", found));
        }
        settings.apply(&mut json)?;
        let longest = settings.longest()?;
        let tokens = Self::new(path, &json, &settings)?;
        Ok(Self { longest, ..tokens })
    }

    fn new(path: PathBuf, json: &Value, settings: &Settings) -> Result<Self, TokenError> {
        let read = |source| TokenError::Read {
            path: path.clone(),
            source,
        };
        let tokenizer = Tokenizer::from_bytes(json.to_string()).map_err(read)?;
        // The tokens of this text stand in the middle of what the whole tokeniser makes of it.
        let probe = "a";
        let ids = |special| tokenizer.encode_fast(probe, special);
        let (bare, whole) = (ids(false).map_err(read)?, ids(true).map_err(read)?);
        let (bare, whole) = (bare.get_ids(), whole.get_ids());
        let at = whole
            .windows(bare.len().max(1))
            .position(|window| window == bare);
        let at = at.ok_or_else(|| TokenError::Template { path: path.clone() })?;
        let around = [whole[..at].to_vec(), whole[at + bare.len()..].to_vec()];
        let padding = settings.token("pad_token");
        let padding = padding.and_then(|token| tokenizer.token_to_id(&token));
        Ok(Self {
            around,
            padding: padding.unwrap_or(0),
            lowercase: false,
            longest: None,
            tokenizer,
            path,
        })
    }

    /// Puts every text into lower case first.
    pub(crate) fn with_lowercase(mut self, lowercase: bool) -> Self {
        self.lowercase = lowercase;
        self
    }

    /// Whether it does.
    pub(crate) fn lowercase(&self) -> bool {
        self.lowercase
    }

    /// The token numbers of a text, at most `limit` with the special ones: of a longer text, the
    /// first. White space around the text is no part of it.
    ///
    /// # Errors
    /// When the tokeniser fails, or `limit` leaves no room between the special tokens.
    pub fn encode(&self, text: &str, limit: usize) -> Result<Vec<u32>, TokenError> {
        let [before, after] = &self.around;
        let least = self.least();
        if limit < least {
            return Err(TokenError::Limit { limit, least });
        }
        let room = limit + 1 - least;
        let lower = self.lowercase.then(|| text.to_lowercase());
        let text = lower.as_deref().unwrap_or(text).trim();
        let encoding = self.tokenizer.encode_fast(text, false);
        let encoding = encoding.map_err(|source| TokenError::Encode { source })?;
        let middle = encoding.get_ids();
        let middle = &middle[..middle.len().min(room)];
        let ids = [before, middle, after].concat();
        // A tokeniser without special tokens makes nothing of an empty text.
        Ok(if ids.is_empty() {
            vec![self.padding]
        } else {
            ids
        })
    }

    /// The lowest limit: the special tokens and one more.
    pub(crate) fn least(&self) -> usize {
        let [before, after] = &self.around;
        before.len() + after.len() + 1
    }

    /// The most tokens of a text by the folder's settings.
    pub(crate) fn longest(&self) -> Option<usize> {
        self.longest
    }

    /// The number of the token that fills up texts.
    pub fn padding(&self) -> u32 {
        self.padding
    }

    /// That every token has a row in a table of embeddings.
    pub(crate) fn check(&self, rows: usize) -> Result<(), ModelError> {
        let tokens = self.tokenizer.get_vocab(true).into_iter();
        match tokens.map(|(token, id)| (id, token)).max() {
            Some((id, token)) if id as usize >= rows => Err(ModelError::Vocabulary {
                path: self.path.clone(),
                token,
                id,
                rows,
            }),
            // A list of tokens may have lost its end, or be another model's; rows are added up to a
            // round number at most.
            Some((id, _))
                if self.has_word_pieces() && rows > (id as usize + 1).next_multiple_of(128) =>
            {
                let expected = format!("about {rows}, the rows of the table of embeddings");
                let (field, found) = ("the number of tokens", id as usize + 1);
                Err(ModelError::setting(&self.path, field, expected, found))
            }
            _ => Ok(()),
        }
    }

    /// Whether the vocabulary is a list of word pieces, whichever file it is in.
    fn has_word_pieces(&self) -> bool {
        matches!(self.tokenizer.get_model(), ModelWrapper::WordPiece(_))
    }
}

impl Settings {
    fn read(folder: &Path) -> Result<Self, ModelError> {
        let path = folder.join("tokenizer_config.json");
        let special = folder::json::<Map<_, _>>(&folder.join("special_tokens_map.json"))?;
        let mut values = special.unwrap_or_default();
        values.extend(folder::json::<Map<_, _>>(&path)?.unwrap_or_default());
        Ok(Self { path, values })
    }

    /// A special token: its text, or an object with it.
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

    /// `model_max_length`; without a limit, transformers writes 10 to the 30.
    fn longest(&self) -> Result<Option<usize>, ModelError> {
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

    /// Lets the settings overrule `tokenizer.json`, as transformers does.
    fn apply(&self, tokenizer: &mut Value) -> Result<(), ModelError> {
        tokenizer["padding"] = Value::Null;
        tokenizer["truncation"] = Value::Null;
        let normalizer = &mut tokenizer["normalizer"];
        if normalizer["type"] == "BertNormalizer" {
            let overrule = [
                ("do_lower_case", "lowercase"),
                ("strip_accents", "strip_accents"),
                ("tokenize_chinese_chars", "handle_chinese_chars"),
            ];
            for (setting, field) in overrule {
                if let Some(flag) = self.flag(setting)? {
                    normalizer[field] = flag.into();
                }
            }
        }
        Ok(())
    }
}

/// The `tokenizer.json` of BERT's word pieces, from a vocabulary of one token a line.
fn word_pieces(path: &Path, vocabulary: &[u8], settings: &Settings) -> Result<Value, ModelError> {
    let text = std::str::from_utf8(vocabulary).map_err(|error| {
        let line = vocabulary[..error.valid_up_to()]
            .iter()
            .filter(|&&b| b == b'\n')
            .count()
            + 1;
        ModelError::setting(path, format!("line {line}"), "UTF-8", "something else")
    })?;
    let mut numbers = Map::new();
    for (number, token) in text.lines().enumerate() {
        // As transformers reads it: of a token that is there twice, the later number counts.
        numbers.insert(token.into(), number.into());
    }
    let special = SPECIAL.map(|(setting, usual)| settings.token(setting).unwrap_or(usual.into()));
    let [padding, unknown, start, end, _] = &special;
    for needed in [unknown, end, start, padding] {
        if !numbers.contains_key(needed) {
            let token = needed.clone();
            let path = path.into();
            return Err(TokenError::Special { path, token }.into());
        }
    }
    let lowercase = settings.flag("do_lower_case")?.unwrap_or(true);
    let special = special.each_ref().map(String::as_str);
    Ok(tokenizer_json(&numbers, special, lowercase))
}

/// BERT's special tokens: the names of their settings, and what they are unless set.
pub(crate) const SPECIAL: [(&str, &str); 5] = [
    ("pad_token", "[PAD]"),
    ("unk_token", "[UNK]"),
    ("cls_token", "[CLS]"),
    ("sep_token", "[SEP]"),
    ("mask_token", "[MASK]"),
];

/// The `tokenizer.json` of BERT's word pieces with these numbers.
pub(crate) fn tokenizer_json(
    numbers: &Map<String, Value>,
    special: [&str; 5],
    lowercase: bool,
) -> Value {
    let [_, unknown, start, end, _] = special;
    let mut added: Vec<(u64, Value)> = special
        .iter()
        .filter_map(|&token| {
            let id = numbers.get(token)?.as_u64()?;
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
            "sep": [end, numbers.get(end)], "cls": [start, numbers.get(start)],
        },
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
        "model": {
            "type": "WordPiece", "unk_token": unknown, "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": numbers,
        },
    })
}

/// Why text cannot be cut into tokens.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// A file is no tokeniser.
    #[error("{} is not a tokeniser", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the library says.
        #[source]
        source: tokenizers::Error,
    },
    /// The vocabulary lacks a token that frames every text or stands for unknown words.
    #[error("{} has no {token}", path.display())]
    Special {
        /// The file.
        path: PathBuf,
        /// The token.
        token: String,
    },
    /// The tokens of a text do not stand together between the special ones.
    #[error("{}: the tokens of a text are not framed by special tokens", path.display())]
    Template {
        /// The file.
        path: PathBuf,
    },
    /// The limit leaves no room for text.
    #[error("the limit of {limit} tokens is too low, the least is {least}")]
    Limit {
        /// What was asked for.
        limit: usize,
        /// The special tokens and one more.
        least: usize,
    },
    /// A text makes the tokeniser fail.
    #[error("the tokeniser failed")]
    Encode {
        /// What the library says.
        #[source]
        source: tokenizers::Error,
    },
}
