//! Token ids of a query with a document, in windows if both do not fit.

use std::path::Path;

use super::{CrossEncoderConfig, Windows};
use crate::encode::ModelTokenizer;
use crate::encode::pair_template::{PairTemplate, Window, window_ranges};
use crate::error::{ModelError, TokenizerError};
use crate::model_folder::TransformerConfig;

/// Builds the sequences of pairs.
#[derive(Debug, Clone)]
pub(crate) struct PairBuilder {
    template: PairTemplate,
    pub(crate) max_tokens: usize,
    pub(crate) windows: Windows,
    pub(crate) stride: Option<usize>,
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
    pub(crate) fn new(
        folder: &Path,
        shape: &TransformerConfig,
        tokenizer: &ModelTokenizer,
        has_types: bool,
        max_tokens: usize,
        config: &CrossEncoderConfig,
    ) -> Result<Self, ModelError> {
        let path = folder.join("config.json");
        let invalid = |field: &str, expected: String, found: usize| {
            Err(ModelError::setting(&path, field, expected, found))
        };
        let mut template = PairTemplate::new(tokenizer)?;
        if shape.token_types < 2 || !has_types {
            template.clear_types();
        }
        let found = template.last_type();
        if found > 0 && found as usize >= shape.token_types {
            let expected = format!("{} or more, for pairs of texts", found + 1);
            return invalid("type_vocab_size", expected, shape.token_types);
        }
        let max_tokens = config.max_tokens.unwrap_or(max_tokens);
        let positions = shape.position_limit();
        if max_tokens > positions {
            let expected = format!("at most {positions}, the positions of the model");
            return invalid("max_tokens", expected, max_tokens);
        }
        let least = template.len() + 2;
        if max_tokens < least {
            let special = template.len();
            let expected = format!("{least} or more: {special} special tokens and two more");
            return invalid("max_tokens", expected, max_tokens);
        }
        let room = max_tokens - template.len();
        let least = room - room / 2;
        if let Some(found) = config.stride.filter(|&stride| stride >= least) {
            let expected = format!("less than {least}, the least tokens of a window");
            return invalid("stride", expected, found);
        }
        Ok(Self {
            template,
            max_tokens,
            windows: config.windows,
            stride: config.stride,
        })
    }

    /// Number of tokens of query and document in a sequence.
    fn room(&self) -> usize {
        self.max_tokens - self.template.len()
    }

    /// Returns the tokens of a query.
    pub(crate) fn query(
        tokenizer: &ModelTokenizer,
        query: &str,
    ) -> Result<Vec<u32>, TokenizerError> {
        let (encoding, _) = tokenizer.encode_start(query, usize::MAX)?;
        Ok(encoding.get_ids().to_vec())
    }

    /// Returns the sequences of a query, given its tokens, with a document.
    pub(crate) fn document(
        &self,
        tokenizer: &ModelTokenizer,
        query: &[u32],
        document: &str,
    ) -> Result<DocumentPairs, TokenizerError> {
        let room = self.room();
        if self.windows == Windows::First {
            // As many tokens as decide which of both texts is longer.
            let (encoding, is_cut) = tokenizer.encode_start(document, room.max(query.len()))?;
            let document = encoding.get_ids();
            let is_long = is_cut || query.len() + document.len() > room;
            let lengths = longest_first([query.len(), document.len()], room);
            let [query, document] = match tokenizer.truncates_left() {
                true => [
                    &query[query.len() - lengths[0]..],
                    &document[document.len() - lengths[1]..],
                ],
                false => [&query[..lengths[0]], &document[..lengths[1]]],
            };
            let windows = vec![self.template.window(query, document)];
            return Ok(DocumentPairs { windows, is_long });
        }
        let (document, offsets) = tokenizer.encode_with_offsets(document)?;
        let is_long = query.len() + document.len() > room;
        let query = match is_long {
            true => &query[..query.len().min(room / 2)],
            false => query,
        };
        let room = room - query.len();
        let stride = self.stride.unwrap_or(room / 3);
        let windows = window_ranges(document.len(), room, stride).map(|range| Window {
            offsets: offsets[range.clone()].to_vec(),
            ..self.template.window(query, &document[range])
        });
        let windows = windows.collect();
        Ok(DocumentPairs { windows, is_long })
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
