//! Tokenizer of a model.

use std::ops::Range;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};

use ir_core::Fnv1a;
use serde_json::Value;
use tokenizers::{AddedToken, Encoding, ModelWrapper, Tokenizer};

use super::tokenizer_files::{
    TextRules, TokenizerSettings, add_lowercasing, read_tokenizer, tokenizer_folder,
};
use super::word_boundaries::WordBoundaries;
use crate::error::{ModelError, TokenizerError};

/// Length of the first prefix of a long text that is tokenized, in bytes per token. English has
/// about five.
const BYTES_PER_TOKEN: usize = 8;
/// Maximum number of bytes that are tokenized of a text without boundaries.
const MAX_UNBROKEN: usize = 1 << 20;

/// Maximum number of embedding rows without a token, or an eighth of all rows if that is more.
const MAX_UNUSED_ROWS: usize = 1024;

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
    /// If `true`, long texts lose their beginning.
    truncates_left: bool,
    /// Maximum number of tokens in `tokenizer.json`, which static embeddings apply.
    truncation: Option<usize>,
    pub(super) boundaries: WordBoundaries,
    /// Changes of texts before tokenization.
    pub(crate) texts: TextRules,
    /// `model_max_length` of `tokenizer_config.json`.
    pub(crate) model_max_length: Option<usize>,
    /// Id of the mask token, or else of the end of a text.
    pub(crate) mask: Option<u32>,
    /// If `true`, texts are padded at their beginning.
    pub(crate) pads_left: bool,
    /// Rules of static embeddings, which have no special tokens.
    pub(super) bag: Option<BagRules>,
}

/// How texts of static embeddings are tokenized: without special tokens, so that a text may have no
/// token.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BagRules {
    /// Token that is removed.
    pub(crate) removed: Option<u32>,
    /// Number of characters per token of the limit to which a text is cut before it is tokenized.
    pub(crate) characters: Option<usize>,
}

/// Token ids of a text, with special tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TokenizedText {
    pub(crate) ids: Vec<u32>,
    /// If `true`, the text has more tokens than the limit.
    pub(crate) truncated: bool,
}

/// Tokens of a text without special tokens.
struct Truncated {
    encoding: Encoding,
    /// Tokens that there is room for.
    kept: Range<usize>,
    /// If `true`, the text has more tokens.
    is_cut: bool,
}

impl ModelTokenizer {
    /// Reads `tokenizer.json`, `vocab.txt` (WordPiece), or `vocab.json` and `merges.txt` (BPE of
    /// RoBERTa), and optionally `tokenizer_config.json` and `special_tokens_map.json`. Of
    /// padding and truncation in `tokenizer.json`, only the side of truncation is used.
    ///
    /// # Errors
    /// If all files are missing, a file is invalid, or the only one is a SentencePiece model.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, ModelError> {
        Self::open_with(folder, TextRules::default())
    }

    pub(crate) fn open_with(
        folder: impl AsRef<Path>,
        texts: TextRules,
    ) -> Result<Self, ModelError> {
        let folder = tokenizer_folder(folder.as_ref())?;
        let mut settings = TokenizerSettings::read(&folder)?;
        let (path, mut json) = read_tokenizer(&folder, &mut settings)?;
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
        let truncates_left = settings.truncates_left(&json)?;
        let truncation = json["truncation"]["max_length"].as_u64();
        settings.apply(&mut json)?;
        if texts.lowercase && texts.is_unchanged {
            add_lowercasing(&mut json);
        }
        let mut tokenizer = Self::new(path, &json, &settings)?;
        tokenizer.truncates_left = truncates_left;
        tokenizer.truncation = truncation.and_then(|limit| usize::try_from(limit).ok());
        tokenizer.texts = texts;
        Ok(tokenizer)
    }

    fn new(path: PathBuf, json: &Value, settings: &TokenizerSettings) -> Result<Self, ModelError> {
        let model_max_length = settings.model_max_length()?;
        let read = |source| TokenizerError::Read {
            path: path.clone(),
            source,
        };
        settings.check_prefix_space(json)?;
        let parsed = caught(&path, || json.to_string().parse::<Tokenizer>())?;
        let mut tokenizer = parsed.map_err(read)?;
        caught(&path, || settings.add_tokens(&mut tokenizer, json, &path))??;
        // Finds the special tokens around the tokens of a probe text.
        let probe = "a";
        let ids = |special| -> Result<Encoding, TokenizerError> {
            caught(&path, || tokenizer.encode_fast(probe, special))?.map_err(read)
        };
        let (bare, whole) = (ids(false)?, ids(true)?);
        let (bare, whole) = (bare.get_ids(), whole.get_ids());
        let at = whole
            .windows(bare.len().max(1))
            .position(|window| window == bare);
        let at = at.ok_or_else(|| TokenizerError::Template { path: path.clone() })?;
        let special = [whole[..at].to_vec(), whole[at + bare.len()..].to_vec()];
        let named = |name| tokenizer.token_to_id(&settings.token(name)?);
        let defaults = ["[MASK]", "<mask>"];
        let masks = || defaults.iter().find_map(|mask| tokenizer.token_to_id(mask));
        Ok(Self {
            special,
            padding: named("pad_token").unwrap_or(0),
            mask: named("mask_token").or_else(masks).or(named("eos_token")),
            texts: TextRules::default(),
            truncates_left: false,
            truncation: None,
            pads_left: settings.pads_left(),
            bag: None,
            model_max_length,
            boundaries: caught(&path, || WordBoundaries::new(&tokenizer))?,
            tokenizer,
            path,
        })
    }

    /// Returns the token ids of a text with special tokens, truncated to `limit` tokens. White
    /// space around the text is ignored, unless sentence-transformers 5.4 or later wrote the
    /// folder. Of a long text, only a prefix is tokenized, if the tokenizer splits at white space,
    /// and at most the first MiB without a white space. With `truncation_side` left, the whole text
    /// is tokenized.
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
        if let Some(rules) = self.bag {
            return self.tokenize_bag(text, limit, rules, ids);
        }
        let text = self.stripped(text);
        let truncated = self.truncate(text, limit, |part| self.encode_part(part))?;
        let [before, after] = &self.special;
        let middle = &truncated.encoding.get_ids()[truncated.kept];
        ids.clear();
        ids.reserve_exact(before.len() + middle.len() + after.len());
        ids.extend_from_slice(before);
        ids.extend_from_slice(middle);
        ids.extend_from_slice(after);
        // Without special tokens, an empty text has no tokens.
        if ids.is_empty() {
            ids.push(self.padding);
        }
        Ok(truncated.is_cut)
    }

    /// Replaces `ids` by the tokens of a text of static embeddings.
    fn tokenize_bag(
        &self,
        text: &str,
        limit: usize,
        rules: BagRules,
        ids: &mut Vec<u32>,
    ) -> Result<bool, TokenizerError> {
        if limit == 0 {
            return Err(TokenizerError::Limit { limit, least: 1 });
        }
        let characters = rules.characters.map(|it| it.saturating_mul(limit));
        let end = characters.and_then(|count| text.char_indices().nth(count));
        let cut = end.map_or(text, |(end, _)| &text[..end]);
        let encoding = self.encode_part(cut)?;
        let tokens = encoding.get_ids();
        // model2vec replaces the truncation of the tokenizer by its own.
        let (room, cuts_start) = match rules.characters {
            Some(_) => (limit, false),
            None => (self.truncation.unwrap_or(usize::MAX), self.truncates_left),
        };
        let beyond = tokens.len().saturating_sub(room);
        let kept = if cuts_start {
            &tokens[beyond..]
        } else {
            &tokens[..tokens.len() - beyond]
        };
        ids.clear();
        ids.extend(kept.iter().filter(|&&id| rules.removed != Some(id)));
        let is_cut = cut.len() < text.len() || beyond > 0 || ids.len() > limit;
        ids.truncate(limit);
        Ok(is_cut)
    }

    /// [`Self::encode`] of `prefix` and `text`, which must be tokenized as they are, and the range
    /// of each token in `text`, in bytes, without white space around it. The range of special
    /// tokens and of the prefix is empty.
    pub(crate) fn tokenize_with_spans(
        &self,
        prefix: &str,
        text: &str,
        limit: usize,
    ) -> Result<(TokenizedText, Vec<Range<usize>>), TokenizerError> {
        let whole = format!("{prefix}{text}");
        let encode = |part: &str| {
            let encoding = caught(&self.path, || self.tokenizer.encode(part, false))?;
            encoding.map_err(|source| TokenizerError::Encode { source })
        };
        let truncated = self.truncate(&whole, limit, encode)?;
        let [before, after] = &self.special;
        let (encoding, kept) = (&truncated.encoding, truncated.kept);
        let ids = [&before[..], &encoding.get_ids()[kept.clone()], after].concat();
        let no_span = |_: &u32| 0..0;
        let offsets = encoding.get_offsets()[kept].iter();
        let spans = offsets.map(|&(start, end)| span(text, prefix.len(), start..end));
        let spans = before.iter().map(no_span).chain(spans);
        let spans = spans.chain(after.iter().map(no_span)).collect();
        let truncated = truncated.is_cut;
        Ok((TokenizedText { ids, truncated }, spans))
    }

    /// Tokens of a text without special tokens, of which as many are kept as `limit` has room for.
    fn truncate(
        &self,
        text: &str,
        limit: usize,
        encode: impl Fn(&str) -> Result<Encoding, TokenizerError>,
    ) -> Result<Truncated, TokenizerError> {
        let least = self.min_tokens();
        if limit < least {
            return Err(TokenizerError::Limit { limit, least });
        }
        let room = limit + 1 - least;
        let (encoding, is_cut) = self.start_of(text, room, encode)?;
        let tokens = encoding.len();
        Ok(Truncated {
            kept: if self.truncates_left {
                tokens.saturating_sub(room)..tokens
            } else {
                0..tokens.min(room)
            },
            is_cut: is_cut || tokens > room,
            encoding,
        })
    }

    /// Makes a text one special token, if the vocabulary has it and it is several tokens. Returns
    /// `true` if the tokenizer changed.
    pub(crate) fn add_special_token(&mut self, token: &str) -> Result<bool, TokenizerError> {
        let read = |source| TokenizerError::Read {
            path: self.path.clone(),
            source,
        };
        let encode = || self.tokenizer.encode_fast(token, false);
        let encoding = caught(&self.path, encode)?.map_err(read)?;
        if self.token_id(token).is_none() || encoding.get_tokens() == [token] {
            return Ok(false);
        }
        let added = AddedToken::from(token, true);
        self.tokenizer.add_special_tokens([added]).map_err(read)?;
        self.boundaries = caught(&self.path, || WordBoundaries::new(&self.tokenizer))?;
        Ok(true)
    }

    /// Content of a `tokenizer.json`, with all special tokens.
    pub(crate) fn json(&self) -> Result<String, TokenizerError> {
        let json = self.tokenizer.to_string(true);
        json.map_err(|source| TokenizerError::Read {
            path: self.path.clone(),
            source,
        })
    }

    /// Tokens of a text without special tokens: all, or the first ones, more than `room`. Returns
    /// whether the text may have others. With `truncation_side` left, these are all tokens.
    pub(crate) fn encode_start(
        &self,
        text: &str,
        room: usize,
    ) -> Result<(Encoding, bool), TokenizerError> {
        self.start_of(self.stripped(text), room, |part| self.encode_part(part))
    }

    /// [`Self::encode_start`] with the function that encodes a part of the text.
    fn start_of(
        &self,
        text: &str,
        room: usize,
        encode: impl Fn(&str) -> Result<Encoding, TokenizerError>,
    ) -> Result<(Encoding, bool), TokenizerError> {
        let mut bytes = if self.truncates_left {
            text.len()
        } else {
            room.saturating_mul(BYTES_PER_TOKEN)
        };
        loop {
            let prefix = self.boundaries.prefix(text, bytes);
            let unbroken = prefix.len() > bytes.max(MAX_UNBROKEN);
            let prefix = if unbroken {
                start(prefix, bytes.max(MAX_UNBROKEN))
            } else {
                prefix
            };
            let encoding = encode(prefix)?;
            // One token more than there is room for tells that the text is truncated.
            let is_whole = prefix.len() == text.len();
            if encoding.len() > room || unbroken || is_whole {
                return Ok((encoding, !is_whole));
            }
            bytes = bytes.saturating_mul(2);
        }
    }

    /// Number of tokens of a prompt, with the special tokens of a text but the last.
    pub(super) fn prompt_tokens(&self, prompt: &str) -> Result<usize, TokenizerError> {
        let encoding = self.encode_part(self.stripped(prompt))?;
        let [before, after] = &self.special;
        Ok(before.len() + encoding.len() + after.len().saturating_sub(1))
    }

    /// Smallest valid limit of texts with a prompt: the special tokens, the prompt and one more.
    pub(crate) fn min_tokens_with(&self, prompt: &str) -> Result<usize, TokenizerError> {
        Ok(self.min_tokens() + self.encode_part(prompt)?.len())
    }

    /// Returns `true` if white space around a text has tokens.
    fn keeps_spaces(&self) -> bool {
        let ids = |text| self.encode_part(text).map(|it| it.get_ids().to_vec());
        self.texts.is_unchanged && ids(" a ").ok() != ids("a").ok()
    }

    /// Returns `true` if texts are lowercased before the tokenizer reads them, special tokens, too.
    fn lowercases_all(&self) -> bool {
        self.texts.lowercase && !self.texts.is_unchanged
    }

    fn stripped<'a>(&self, text: &'a str) -> &'a str {
        if self.texts.is_unchanged {
            text
        } else {
            text.trim()
        }
    }

    /// Tokens of a part of a text, without special tokens.
    fn encode_part(&self, text: &str) -> Result<Encoding, TokenizerError> {
        let lower = self.lowercases_all().then(|| text.to_lowercase());
        let text = lower.as_deref().unwrap_or(text);
        let encoding = caught(&self.path, || self.tokenizer.encode_fast(text, false))?;
        encoding.map_err(|source| TokenizerError::Encode { source })
    }

    /// Returns `true` if long texts lose their beginning, `truncation_side`.
    pub(crate) fn truncates_left(&self) -> bool {
        self.truncates_left
    }

    /// Returns `true` if the settings of sentence-transformers lowercase texts.
    pub(crate) fn lowercases(&self) -> bool {
        self.texts.lowercase
    }

    /// Id of a token; `None` if the vocabulary does not have it.
    pub(crate) fn token_id(&self, token: &str) -> Option<u32> {
        self.tokenizer.token_to_id(token)
    }

    /// Token of an id; `None` if the vocabulary does not have it.
    pub(crate) fn token(&self, id: u32) -> Option<String> {
        self.tokenizer.id_to_token(id)
    }

    /// File of the vocabulary.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Name of the model: `WordPiece`, `BPE`, `Unigram` or `WordLevel`.
    pub(super) fn model_name(&self) -> &'static str {
        match self.tokenizer.get_model() {
            ModelWrapper::WordPiece(_) => "WordPiece",
            ModelWrapper::BPE(_) => "BPE",
            ModelWrapper::Unigram(_) => "Unigram",
            ModelWrapper::WordLevel(_) => "WordLevel",
        }
    }

    /// The tokenizer without special tokens around a text.
    pub(crate) fn with_bag(mut self, rules: BagRules) -> Self {
        self.special = Default::default();
        self.bag = Some(rules);
        self
    }

    /// Id of the token of unknown words; [`None`] for Unigram and vocabularies without one.
    pub(super) fn unknown_token(&self) -> Option<u32> {
        let token = match self.tokenizer.get_model() {
            ModelWrapper::WordPiece(model) => Some(&model.unk_token),
            ModelWrapper::BPE(model) => model.unk_token.as_ref(),
            ModelWrapper::WordLevel(model) => Some(&model.unk_token),
            ModelWrapper::Unigram(_) => None,
        };
        token.and_then(|token| self.token_id(token))
    }

    /// Median number of characters of the tokens, rounded down.
    pub(super) fn median_token_length(&self) -> usize {
        let tokens = self.tokenizer.get_vocab(true);
        let mut lengths: Vec<usize> = tokens.keys().map(|token| token.chars().count()).collect();
        lengths.sort_unstable();
        match lengths.len() {
            0 => 0,
            count if count % 2 == 1 => lengths[count / 2],
            count => (lengths[count / 2 - 1] + lengths[count / 2]) / 2,
        }
    }

    /// Number of tokens, with added tokens.
    pub(super) fn vocabulary_size(&self) -> usize {
        self.tokenizer.get_vocab_size(true)
    }

    /// Returns the token ids of a text without special tokens, and the range of each token in the
    /// text, in bytes.
    pub(crate) fn encode_with_offsets(
        &self,
        text: &str,
    ) -> Result<(Vec<u32>, Vec<Range<usize>>), TokenizerError> {
        let encoding = caught(&self.path, || self.tokenizer.encode(text, false))?;
        let encoding = encoding.map_err(|source| TokenizerError::Encode { source })?;
        let offsets = encoding.get_offsets().iter();
        let offsets = offsets.map(|&(start, end)| start..end).collect();
        Ok((encoding.get_ids().to_vec(), offsets))
    }

    /// Tokens of a pair of short texts, with special tokens.
    pub(super) fn encode_pair(&self, pair: (&str, &str)) -> Result<Encoding, TokenizerError> {
        let encoding = caught(&self.path, || self.tokenizer.encode_fast(pair, true))?;
        encoding.map_err(|source| TokenizerError::Encode { source })
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

    /// Checks that the vocabulary fits an embedding table of `rows` rows. Returns a note if many
    /// rows have no token.
    pub(crate) fn check_vocabulary(&self, rows: usize) -> Result<Option<String>, ModelError> {
        let tokens = self.tokenizer.get_vocab(true).into_iter();
        let last = tokens.map(|(token, id)| (id, token)).max();
        let too_high = |field: String, id: u32| {
            let expected = format!("below {rows}, the rows of the embedding table");
            Err(ModelError::setting(&self.path, field, expected, id))
        };
        let count = last.as_ref().map_or(0, |(id, _)| *id as usize + 1);
        if let Some((id, token)) = last
            && count > rows
        {
            return too_high(format!("id of token {token:?}"), id);
        }
        let [before, after] = &self.special;
        let pair = self.encode_pair(("a", "a")).ok();
        let pair = pair.iter().flat_map(|it| it.get_ids());
        let special = before
            .iter()
            .chain(after)
            .chain([&self.padding])
            .chain(pair);
        if let Some(id) = special.max().filter(|id| **id as usize >= rows) {
            return too_high("id of a special token".to_owned(), *id);
        }
        // A truncated vocabulary, or the vocabulary of another model. Tables are padded to a
        // multiple of at most 128 rows; of other models than BERT, some have more rows for tokens
        // that were never added.
        let unused = rows.saturating_sub(count.next_multiple_of(128));
        if unused == 0 {
            return Ok(None);
        }
        if self.is_wordpiece() || unused > MAX_UNUSED_ROWS.max(rows / 8) {
            let expected = format!("about {rows}, the rows of the embedding table");
            let field = "the number of tokens";
            return Err(ModelError::setting(&self.path, field, expected, count));
        }
        Ok(Some(format!(
            "the embedding table has {rows} rows for {count} tokens"
        )))
    }

    /// Hash of everything that determines the token ids of texts: the tokenizer as the library
    /// writes it (normalizer, pre-tokenizer, vocabulary, merges, special tokens) and the rules that
    /// it does not know. Files of vectors and checkpoints record it.
    pub(crate) fn identity(&self) -> String {
        // A tokenizer that was read can be written.
        let library = self.tokenizer.to_string(false).unwrap_or_default();
        let mut hash = Fnv1a::new();
        hash.write(library.as_bytes());
        let rules = format!(
            "{:?}",
            (
                (
                    &self.special,
                    self.padding,
                    self.truncates_left,
                    self.pads_left
                ),
                (self.truncation, self.bag),
                (self.keeps_spaces(), self.lowercases_all()),
                self.tokenizer.get_encode_special_tokens(),
            )
        );
        hash.write(rules.as_bytes());
        format!("{:016x}", hash.finish())
    }

    fn is_wordpiece(&self) -> bool {
        matches!(self.tokenizer.get_model(), ModelWrapper::WordPiece(_))
    }
}

/// Runs a function of the `tokenizers` library, which panics if its file is damaged.
fn caught<T>(path: &Path, run: impl FnOnce() -> T) -> Result<T, TokenizerError> {
    // A tokenizer does not change after it was read, except for a cache of tokens.
    panic::catch_unwind(AssertUnwindSafe(run)).map_err(|payload| {
        let message = payload.downcast_ref::<String>().map(String::as_str);
        let message = message.or_else(|| payload.downcast_ref::<&str>().copied());
        TokenizerError::Panic {
            path: path.into(),
            message: message.unwrap_or("an unknown error").to_owned(),
        }
    })
}

/// Range of a token in `text`, which follows a prefix of `prefix` bytes, without white space around
/// it. `range` is in bytes of both, and may split a character.
fn span(text: &str, prefix: usize, range: Range<usize>) -> Range<usize> {
    let inside = |at: usize| at.saturating_sub(prefix).min(text.len());
    let (mut start, mut end) = (inside(range.start), inside(range.end));
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    while !text.is_char_boundary(end) {
        end += 1;
    }
    if start >= end {
        return 0..0;
    }
    let token = &text[start..end];
    match token.trim() {
        "" => start..end,
        trimmed => {
            let start = start + token.len() - token.trim_start().len();
            start..start + trimmed.len()
        }
    }
}

/// Longest prefix of at most `bytes` bytes.
fn start(text: &str, bytes: usize) -> &str {
    let ends = (0..=bytes.min(text.len())).rev();
    let end = ends.into_iter().find(|&end| text.is_char_boundary(end));
    &text[..end.unwrap_or(0)]
}
