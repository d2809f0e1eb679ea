//! Token ids of a query with a document, in windows if both do not fit.

use std::ops::Range;
use std::path::Path;

use serde_json::{Value, json};

use super::chat::ChatTemplate;
use super::folder::CrossEncoderFolder;
use super::{CrossEncoderConfig, Windows};
use crate::encode::ModelTokenizer;
use crate::encode::pair_template::{PairTemplate, Window, window_ranges};
use crate::error::ModelError;
use crate::model_folder::TransformerConfig;

/// Builds the sequences of pairs.
#[derive(Debug, Clone)]
pub(crate) struct PairBuilder {
    form: PairForm,
    /// Prompt, which precedes every query, or is the system message of a chat.
    pub(super) prompt: String,
    pub(crate) max_tokens: usize,
    pub(crate) windows: Windows,
    pub(crate) stride: Option<usize>,
}

/// What a pair is written as.
#[derive(Debug, Clone)]
enum PairForm {
    /// Both texts with the special tokens of the tokenizer.
    Template(PairTemplate),
    Chat(Box<ChatTemplate>),
}

/// Query with its tokens, which a chat does not need.
#[derive(Debug, Clone)]
pub(crate) struct PairQuery<'a> {
    text: &'a str,
    ids: Vec<u32>,
}

/// Sequences of a query with a document, one at least.
#[derive(Debug, Clone)]
pub(crate) struct DocumentPairs {
    pub(crate) windows: Vec<Window>,
    /// If `true`, query and document do not fit one sequence.
    pub(crate) is_long: bool,
}

impl PairBuilder {
    /// Resolves the lengths of a configuration for a model. `max_tokens`: maximum sequence length
    /// of the folder.
    pub(super) fn new(
        (folder, files): (&Path, &CrossEncoderFolder),
        shape: &TransformerConfig,
        tokenizer: &ModelTokenizer,
        max_tokens: usize,
        config: &CrossEncoderConfig,
    ) -> Result<Self, ModelError> {
        let path = folder.join("config.json");
        let invalid = |field: &str, expected: String, found: usize| {
            Err(ModelError::setting(&path, field, expected, found))
        };
        let prompt = config.prompt.clone();
        let prompt = prompt.unwrap_or_else(|| files.prompt.clone());
        let max_tokens = config.max_tokens.unwrap_or(max_tokens);
        let positions = shape.position_limit();
        if max_tokens > positions {
            let expected = format!("at most {positions}, the positions of the model");
            return invalid("max_tokens", expected, max_tokens);
        }
        let (form, special) = match &files.chat {
            Some(chat) => {
                let chat = chat.compile(&prompt, tokenizer)?;
                let empty = tokenizer.encode_start(&chat.render("", "")?, usize::MAX)?;
                (PairForm::Chat(Box::new(chat)), empty.0.len())
            }
            None => {
                let mut template = PairTemplate::new(tokenizer)?;
                if shape.token_types < 2 || !files.has_types {
                    template.clear_types();
                }
                template.check_types(&path, shape)?;
                let special = template.len();
                (PairForm::Template(template), special)
            }
        };
        let least = special + 2;
        if max_tokens < least {
            let expected =
                format!("{least} or more: {special} tokens of the template and two more");
            return invalid("max_tokens", expected, max_tokens);
        }
        let room = max_tokens - special;
        let least = room - room / 2;
        if let Some(found) = config.stride.filter(|&stride| stride >= least) {
            let expected = format!("less than {least}, the minimum number of tokens of a window");
            return invalid("stride", expected, found);
        }
        Ok(Self {
            form,
            prompt,
            max_tokens,
            windows: config.windows,
            stride: config.stride,
        })
    }

    /// Chat of the pair of the texts `{query}` and `{document}`; `None` without a chat template.
    pub(super) fn chat(&self) -> Result<Option<String>, ModelError> {
        match &self.form {
            PairForm::Template(_) => Ok(None),
            PairForm::Chat(chat) => chat.render("{query}", "{document}").map(Some),
        }
    }

    /// Tokenizes a query with its prompt.
    pub(crate) fn query<'a>(
        &self,
        tokenizer: &ModelTokenizer,
        query: &'a str,
    ) -> Result<PairQuery<'a>, ModelError> {
        let encoded = match (&self.form, &self.prompt[..]) {
            (PairForm::Chat(_), _) => None,
            (PairForm::Template(_), "") => Some(tokenizer.encode_start(query, usize::MAX)?),
            (PairForm::Template(_), prompt) => {
                let text = format!("{prompt}{query}");
                Some(tokenizer.encode_start(&text, usize::MAX)?)
            }
        };
        Ok(PairQuery {
            text: query,
            ids: encoded.map_or(Vec::new(), |(it, _)| it.get_ids().to_vec()),
        })
    }

    /// Returns the sequences of a query with a document.
    pub(crate) fn document(
        &self,
        tokenizer: &ModelTokenizer,
        query: &PairQuery<'_>,
        document: &str,
    ) -> Result<DocumentPairs, ModelError> {
        let mut pairs = match &self.form {
            PairForm::Template(template) => {
                self.template_pairs(template, tokenizer, &query.ids, document)?
            }
            PairForm::Chat(chat) => self.chat_pairs(chat, tokenizer, query.text, document)?,
        };
        for window in &mut pairs.windows {
            // Without special tokens, a pair of empty texts has no tokens.
            if window.ids.is_empty() {
                window.ids.push(tokenizer.padding());
                window.types.push(0);
            }
        }
        Ok(pairs)
    }

    fn template_pairs(
        &self,
        template: &PairTemplate,
        tokenizer: &ModelTokenizer,
        query: &[u32],
        document: &str,
    ) -> Result<DocumentPairs, ModelError> {
        let room = self.max_tokens - template.len();
        if self.windows == Windows::First {
            // As many tokens as decide which of both texts is longer.
            let (encoding, is_cut) = tokenizer.encode_start(document, room.max(query.len()))?;
            let document = encoding.get_ids();
            let is_long = is_cut || query.len() + document.len() > room;
            let lengths = longest_first([query.len(), document.len()], room);
            let [query, document] = if tokenizer.truncates_left() {
                [
                    &query[query.len() - lengths[0]..],
                    &document[document.len() - lengths[1]..],
                ]
            } else {
                [&query[..lengths[0]], &document[..lengths[1]]]
            };
            let windows = vec![template.window(query, document)];
            return Ok(DocumentPairs { windows, is_long });
        }
        let (document, offsets) = tokenizer.encode_with_offsets(document)?;
        let is_long = query.len() + document.len() > room;
        let of_query = if is_long { room / 2 } else { room };
        let query = &query[..query.len().min(of_query)];
        let windows = self.ranges(document.len(), room - query.len());
        let windows = windows.map(|range| Window {
            offsets: offsets[range.clone()].to_vec(),
            ..template.window(query, &document[range])
        });
        let windows = windows.collect();
        Ok(DocumentPairs { windows, is_long })
    }

    fn ranges(&self, tokens: usize, room: usize) -> impl Iterator<Item = Range<usize>> {
        let stride = self.stride.unwrap_or(room / 3);
        window_ranges(tokens, room, stride.min(room.saturating_sub(1)))
    }

    fn chat_pairs(
        &self,
        chat: &ChatTemplate,
        tokenizer: &ModelTokenizer,
        query: &str,
        document: &str,
    ) -> Result<DocumentPairs, ModelError> {
        let encode = |document: &str| {
            let text = chat.render(query, document)?;
            let (encoding, _) = tokenizer.encode_start(&text, usize::MAX)?;
            Ok::<_, ModelError>(encoding.get_ids().to_vec())
        };
        let ids = encode(document)?;
        let is_long = ids.len() > self.max_tokens;
        let of_query = if is_long && self.windows != Windows::First {
            encode("")?.len()
        } else {
            self.max_tokens
        };
        // Without room for the document, the start is scored.
        if of_query >= self.max_tokens {
            let ids = self.chat_window(chat, tokenizer, ids);
            let windows = vec![window(ids, 0..document.len())];
            return Ok(DocumentPairs { windows, is_long });
        }
        let (tokens, offsets) = tokenizer.encode_with_offsets(document)?;
        let windows = self.ranges(tokens.len(), self.max_tokens - of_query);
        let windows = windows.map(|range| {
            let offsets = &offsets[range];
            let [from, to] = [
                offsets.first().map(|it| it.start),
                offsets.last().map(|it| it.end),
            ];
            let bytes = from.unwrap_or(0)..to.unwrap_or(0);
            let ids = encode(document.get(bytes.clone()).unwrap_or_default())?;
            Ok(window(self.chat_window(chat, tokenizer, ids), bytes))
        });
        let windows = windows.collect::<Result<_, ModelError>>()?;
        Ok(DocumentPairs { windows, is_long })
    }

    /// Truncates a sequence and writes the tokens at the end of the template over its last tokens.
    fn chat_window(
        &self,
        chat: &ChatTemplate,
        tokenizer: &ModelTokenizer,
        mut ids: Vec<u32>,
    ) -> Vec<u32> {
        if ids.len() < self.max_tokens {
            return ids;
        }
        if tokenizer.truncates_left() {
            ids.drain(..ids.len() - self.max_tokens);
        }
        ids.truncate(self.max_tokens);
        let kept = chat.suffix.len().min(ids.len());
        let end = ids.len() - kept;
        ids[end..].copy_from_slice(&chat.suffix[chat.suffix.len() - kept..]);
        ids
    }

    /// Format of chat messages; `None` without a chat template.
    pub(super) fn message_format(&self) -> Option<&'static str> {
        match &self.form {
            PairForm::Template(_) => None,
            PairForm::Chat(chat) => Some(chat.format()),
        }
    }

    /// Text that identifies the form of pairs, for fingerprints.
    pub(crate) fn identity(&self) -> Value {
        match &self.form {
            PairForm::Template(template) => json!(format!("{template:?}")),
            PairForm::Chat(chat) => chat.identity(),
        }
    }
}

/// Sequence of a chat about some bytes of a document.
fn window(ids: Vec<u32>, bytes: Range<usize>) -> Window {
    Window {
        types: vec![0; ids.len()],
        ids,
        first: 0,
        offsets: vec![bytes],
    }
}

/// Returns the lengths of two texts after truncation to `room` tokens: the longer one loses its
/// tokens first, as with the strategy `longest_first` of the library `tokenizers`.
fn longest_first([first, second]: [usize; 2], room: usize) -> [usize; 2] {
    if first + second <= room {
        return [first, second];
    }
    let is_longer = first > second;
    let shorter = first.min(second);
    let (shorter, longer) = if shorter <= room / 2 {
        (shorter, room - shorter)
    } else {
        (room / 2, room - room / 2)
    };
    if is_longer {
        [longer, shorter]
    } else {
        [shorter, longer]
    }
}

#[cfg(test)]
mod tests {
    use tokenizers::utils::truncation::{
        TruncationDirection, TruncationParams, TruncationStrategy, truncate_encodings,
    };
    use tokenizers::{Encoding, Token};

    use super::longest_first;

    #[test]
    fn truncation_equals_the_library() {
        let encoding = |tokens: usize| {
            let tokens = (0..tokens).map(|id| Token::new(id as u32, "a".into(), (0, 1)));
            Encoding::from_tokens(tokens.collect(), 0)
        };
        for room in 0..9 {
            let params = TruncationParams {
                max_length: room,
                strategy: TruncationStrategy::LongestFirst,
                stride: 0,
                direction: TruncationDirection::Right,
            };
            for lengths in (0..121).map(|pair| [pair / 11, pair % 11]) {
                let [first, second] = lengths.map(encoding);
                let truncated = truncate_encodings(first, Some(second), &params);
                let (first, second) = truncated.ok().unwrap_or_default();
                let expected = [first.len(), second.map_or(0, |it| it.len())];
                assert_eq!(longest_first(lengths, room), expected, "{lengths:?} {room}");
            }
        }
    }
}
