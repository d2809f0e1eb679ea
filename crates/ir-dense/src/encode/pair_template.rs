//! Pairs of texts as one sequence: special tokens, token types, windows of the second text.

use std::ops::Range;
use std::path::Path;

use super::ModelTokenizer;
use crate::error::{ModelError, TokenizerError};
use crate::model_folder::TransformerConfig;
use crate::transformer::batch::TokenSequence;

/// Special tokens around the texts of a pair, each with its type: for BERT
/// `[CLS] first [SEP] second [SEP]`.
#[derive(Debug, Clone)]
pub(crate) struct PairTemplate {
    before: Vec<(u32, u32)>,
    between: Vec<(u32, u32)>,
    after: Vec<(u32, u32)>,
    /// Types of the tokens of both texts.
    types: [u32; 2],
}

/// First text with a window of the second.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) ids: Vec<u32>,
    pub(crate) types: Vec<u32>,
    /// Number of tokens before the second text.
    pub(crate) first: usize,
    /// Ranges of the tokens of the second text, in bytes; empty if they are not needed.
    pub(crate) offsets: Vec<Range<usize>>,
}

impl Window {
    pub(crate) fn tokens(&self) -> TokenSequence<'_> {
        (&self.ids, &self.types)
    }
}

impl PairTemplate {
    pub(crate) fn new(tokenizer: &ModelTokenizer) -> Result<Self, TokenizerError> {
        let probe = tokenizer.encode_pair(("a", "a"))?;
        let (ids, types) = (probe.get_ids(), probe.get_type_ids());
        let texts = probe.get_sequence_ids();
        let range = |text: usize| {
            let is = |it: &Option<usize>| *it == Some(text);
            let (first, last) = (texts.iter().position(is)?, texts.iter().rposition(is)?);
            Some(first..last + 1)
        };
        let template = || TokenizerError::Template {
            path: tokenizer.path().into(),
        };
        let [first, second] = [0, 1].map(range);
        let (first, second) = first.zip(second).ok_or_else(template)?;
        if first.end > second.start {
            return Err(template());
        }
        let special = |range: Range<usize>| {
            let tokens = ids[range.clone()].iter().zip(&types[range]);
            tokens.map(|(&id, &of)| (id, of)).collect()
        };
        Ok(Self {
            before: special(0..first.start),
            between: special(first.end..second.start),
            after: special(second.end..ids.len()),
            types: [types[first.start], types[second.start]],
        })
    }

    /// Number of special tokens.
    pub(crate) fn len(&self) -> usize {
        self.before.len() + self.between.len() + self.after.len()
    }

    fn special(&self) -> impl Iterator<Item = &(u32, u32)> {
        let tokens = self.before.iter().chain(&self.between);
        tokens.chain(&self.after)
    }

    /// Gives every token type 0, for models without types, or with one.
    pub(crate) fn clear_types(&mut self) {
        self.types = [0; 2];
        let tokens = self.before.iter_mut().chain(&mut self.between);
        tokens.chain(&mut self.after).for_each(|(_, of)| *of = 0);
    }

    /// Returns an error if the template has a token type without an embedding. `path` is the
    /// `config.json` of the model.
    pub(crate) fn check_types(
        &self,
        path: &Path,
        shape: &TransformerConfig,
    ) -> Result<(), ModelError> {
        let types = self.special().map(|(_, of)| *of).chain(self.types);
        let last = types.max().unwrap_or(0);
        if last == 0 || (last as usize) < shape.token_types {
            return Ok(());
        }
        let expected = format!("{} or more, for pairs of texts", last + 1);
        let (field, found) = ("type_vocab_size", shape.token_types);
        Err(ModelError::setting(path, field, expected, found))
    }

    /// Returns the sequence of two texts without special tokens.
    pub(crate) fn window(&self, first: &[u32], second: &[u32]) -> Window {
        let [first_type, second_type] = self.types;
        let first = first.iter().map(|&id| (id, first_type));
        let second = second.iter().map(|&id| (id, second_type));
        let start = self.before.iter().copied().chain(first);
        let start: Vec<(u32, u32)> = start.chain(self.between.iter().copied()).collect();
        let first = start.len();
        let tokens = start.into_iter().chain(second);
        let (ids, types) = tokens.chain(self.after.iter().copied()).unzip();
        Window {
            ids,
            types,
            first,
            offsets: Vec::new(),
        }
    }
}

/// Returns the ranges of the windows of `tokens` tokens, one at least: each has at most `room`
/// tokens and shares `stride` tokens, fewer than `room`, with the window before.
pub(crate) fn window_ranges(
    tokens: usize,
    room: usize,
    stride: usize,
) -> impl Iterator<Item = Range<usize>> {
    let step = room.saturating_sub(stride).max(1);
    let count = tokens.saturating_sub(room).div_ceil(step) + 1;
    (0..count).map(move |window| {
        let start = window * step;
        start..tokens.min(start + room)
    })
}

#[cfg(test)]
mod tests {
    use super::window_ranges;

    #[test]
    fn windows_overlap_and_end_with_the_text() {
        let ranges = |tokens, room, stride| {
            let ranges = window_ranges(tokens, room, stride);
            ranges.map(|it| (it.start, it.end)).collect::<Vec<_>>()
        };
        assert_eq!(ranges(0, 4, 1), [(0, 0)]);
        assert_eq!(ranges(4, 4, 1), [(0, 4)]);
        assert_eq!(ranges(5, 4, 1), [(0, 4), (3, 5)]);
        assert_eq!(ranges(7, 4, 1), [(0, 4), (3, 7)]);
        assert_eq!(ranges(8, 4, 1), [(0, 4), (3, 7), (6, 8)]);
        assert_eq!(ranges(3, 1, 0), [(0, 1), (1, 2), (2, 3)]);
    }
}
