//! Batches of token ids.
//!
//! On the CPU nothing is padded: the tokens of a batch are the rows of one matrix, and attention
//! runs per text. A row of a product does not depend on the other rows, so that a text has the same
//! bytes in any batch. Other backends take the padded form.

use std::ops::Range;

use burn::tensor::{Bool, Device, Tensor, TensorData};

use crate::kernels::memory::on_cpu;
use crate::model_folder::TransformerConfig;

/// Token ids of several texts, concatenated.
///
/// On the CPU, attention and pooling run per text. On other devices, they run per block of
/// consecutive texts of equal length. Everything else runs over all tokens at once. Only
/// [`TokenBatch::padded`] adds padding tokens.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TokenBatch {
    ids: Vec<u32>,
    blocks: Vec<TextBlock>,
    /// Number of tokens of every text that are attended to, its first ones: all but padding. Empty
    /// if all tokens are attended to.
    unpadded: Vec<usize>,
    /// Type of every token; empty if all tokens have type 0.
    types: Vec<u32>,
    /// If `true`, shorter texts end with padding tokens.
    is_padded: bool,
}

/// Consecutive texts of equal length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TextBlock {
    /// Index of the first token in the batch.
    pub(crate) start: usize,
    pub(crate) texts: usize,
    /// Number of tokens of each text.
    pub(crate) length: usize,
}

impl TextBlock {
    pub(crate) fn tokens(self) -> Range<usize> {
        self.start..self.start + self.texts * self.length
    }
}

/// Token ids of a text, and their types as in [`TokenBatch::with_token_types`].
pub(crate) type TokenSequence<'a> = (&'a [u32], &'a [u32]);

/// Mini-batches of sequences, at most `size` each, sorted by length, so that the sequences of a
/// mini-batch have similar lengths.
pub(crate) fn by_length(sequences: &[TokenSequence<'_>], size: Option<usize>) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..sequences.len()).collect();
    order.sort_by_key(|&at| (std::cmp::Reverse(sequences[at].0.len()), at));
    let size = size.unwrap_or(order.len()).max(1);
    order.chunks(size).map(<[usize]>::to_vec).collect()
}

impl TokenBatch {
    /// Batch of texts with token types, padded with a token id if `padding` has one.
    pub(crate) fn from_sequences(texts: &[TokenSequence<'_>], padding: Option<u32>) -> Self {
        let ids: Vec<&[u32]> = texts.iter().map(|(ids, _)| *ids).collect();
        let types: Vec<&[u32]> = texts.iter().map(|(_, types)| *types).collect();
        let batch = match padding {
            Some(padding) => Self::padded(&ids, padding),
            None => Self::new(&ids),
        };
        batch.with_token_types(&types)
    }

    /// Batch without padding, for the CPU. Other devices compute attention once per run of texts of
    /// equal length.
    pub fn new<T: AsRef<[u32]>>(texts: &[T]) -> Self {
        let mut batch = Self::default();
        batch.replace(texts.iter().map(AsRef::as_ref));
        batch
    }

    /// Replaces the batch by [`TokenBatch::new`] of other texts. Allocates only if it was smaller
    /// before.
    pub(crate) fn replace<'a>(&mut self, texts: impl IntoIterator<Item = &'a [u32]>) {
        self.ids.clear();
        self.blocks.clear();
        self.unpadded.clear();
        self.types.clear();
        self.is_padded = false;
        for text in texts {
            match self.blocks.last_mut() {
                Some(block) if block.length == text.len() => block.texts += 1,
                _ => self.blocks.push(TextBlock {
                    start: self.ids.len(),
                    texts: 1,
                    length: text.len(),
                }),
            }
            self.ids.extend_from_slice(text);
        }
    }

    /// Batch in which every text is padded with the token id `padding` to the length of the
    /// longest, for GPUs and libtorch. Padding is masked in attention.
    pub fn padded<T: AsRef<[u32]>>(texts: &[T], padding: u32) -> Self {
        let unpadded: Vec<usize> = texts.iter().map(|text| text.as_ref().len()).collect();
        let length = unpadded.iter().copied().max().unwrap_or(0);
        let mut ids = vec![padding; length * texts.len()];
        for (text, row) in texts.iter().zip(ids.chunks_exact_mut(length.max(1))) {
            row[..text.as_ref().len()].copy_from_slice(text.as_ref());
        }
        let blocks = match texts.len() {
            0 => Vec::new(),
            texts => vec![TextBlock {
                start: 0,
                texts,
                length,
            }],
        };
        Self {
            ids,
            blocks,
            unpadded,
            types: Vec::new(),
            is_padded: true,
        }
    }

    /// Sets the number of tokens of every text that are attended to: its first ones. The others
    /// have hidden states, too, but are masked like padding.
    #[must_use]
    pub(crate) fn with_attended(mut self, attended: Vec<usize>) -> Self {
        debug_assert_eq!(attended.len(), self.texts(), "one number per text");
        self.unpadded = attended;
        self
    }

    /// Sets the type of every token, one row per text; padding and missing types are 0. Default: 0.
    ///
    /// ```
    /// use ir_dense::TokenBatch;
    /// let texts = [vec![2, 7, 3, 9, 3], vec![2, 8, 3]];
    /// let batch = TokenBatch::padded(&texts, 0).with_token_types(&[vec![0, 0, 0, 1, 1], vec![]]);
    /// assert_eq!(batch.token_types(), [0, 0, 0, 1, 1, 0, 0, 0, 0, 0]);
    /// ```
    #[must_use]
    pub fn with_token_types<T: AsRef<[u32]>>(mut self, types: &[T]) -> Self {
        let mut all = vec![0; self.ids.len()];
        let mut rest = &mut all[..];
        for (length, types) in self.lengths().zip(types) {
            let (row, others) = rest.split_at_mut(length);
            row.iter_mut()
                .zip(types.as_ref())
                .for_each(|(at, of)| *at = *of);
            rest = others;
        }
        self.types = if all.iter().any(|&it| it > 0) {
            all
        } else {
            Vec::new()
        };
        self
    }

    /// Type of every token, in the order of [`TokenBatch::ids`]; empty if all tokens have type 0.
    pub fn token_types(&self) -> &[u32] {
        &self.types
    }

    /// Token ids of all texts, with padding.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// Returns the number of texts.
    pub fn texts(&self) -> usize {
        self.blocks.iter().map(|block| block.texts).sum()
    }

    pub(crate) fn blocks(&self) -> &[TextBlock] {
        &self.blocks
    }

    /// Length of every text, with padding.
    pub(crate) fn lengths(&self) -> impl Iterator<Item = usize> {
        let blocks = self.blocks.iter();
        blocks.flat_map(|block| std::iter::repeat_n(block.length, block.texts))
    }

    /// Number of tokens of every text that are attended to: its length without padding.
    pub(crate) fn unpadded_lengths(&self) -> impl Iterator<Item = usize> {
        let padded = !self.unpadded.is_empty();
        let unpadded = self.unpadded.iter().copied();
        unpadded.chain(self.lengths().filter(move |_| !padded))
    }

    /// Position of every token in its text.
    pub(crate) fn positions(&self) -> impl Iterator<Item = usize> {
        self.lengths().flat_map(|length| 0..length)
    }

    /// Row of every token in the position embeddings.
    pub(crate) fn position_rows(&self, config: &TransformerConfig) -> impl Iterator<Item = usize> {
        let (offset, padding) = (config.position_offset, config.position_padding);
        let mut skipped = 0;
        self.positions().zip(&self.ids).map(move |(position, &id)| {
            if position == 0 {
                skipped = 0;
            }
            if Some(id) == padding {
                skipped += 1;
                return offset.saturating_sub(1);
            }
            offset + position - skipped
        })
    }

    /// Returns `true` if a text has tokens that are not attended to, such as padding.
    pub(crate) fn has_padding(&self) -> bool {
        let mut lengths = self.unpadded.iter().zip(self.lengths());
        lengths.any(|(&unpadded, length)| unpadded != length)
    }

    /// Returns `true` if a text has padding tokens, which the CPU kernels do not take. Tokens of an
    /// unpadded text that are not attended to are not padding tokens.
    pub(crate) fn has_padding_tokens(&self) -> bool {
        self.is_padded && self.has_padding()
    }

    /// Returns `true` if attention and pooling of `x` run text by text, in the kernels of this
    /// crate.
    pub(crate) fn runs_by_text<const D: usize>(&self, x: &Tensor<D>) -> bool {
        on_cpu(x) && !self.has_padding()
    }

    /// Padding mask, `[texts, length]`; `None` without padding.
    pub(crate) fn padding(&self, device: &Device) -> Option<Tensor<2, Bool>> {
        let block = self.blocks.first()?;
        if !self.has_padding() {
            return None;
        }
        let flags: Vec<bool> = self
            .unpadded
            .iter()
            .flat_map(|&length| (0..block.length).map(move |position| position >= length))
            .collect();
        let data = TensorData::new(flags, [block.texts, block.length]);
        Some(Tensor::from_data(data, device))
    }
}
