//! Token numbers of several texts, ready for a transformer.

use std::ops::Range;

use burn::tensor::{Bool, Device, Tensor, TensorData};

/// Token numbers of several texts, laid out one after the other.
///
/// Texts that stand together and have as many tokens form a block: attention
/// treats a block at once, everything else treats all tokens at once. No token is padding, unless
/// [`Batch::padded`] made the texts of one length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    ids: Vec<u32>,
    blocks: Vec<Block>,
    /// Tokens of every text without padding; empty when nothing is padded.
    real: Vec<usize>,
}

/// Texts of as many tokens, next to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Block {
    /// The first token, among all of the batch.
    pub(crate) start: usize,
    /// Texts.
    pub(crate) texts: usize,
    /// Tokens of each.
    pub(crate) length: usize,
}

impl Block {
    pub(crate) fn tokens(self) -> Range<usize> {
        self.start..self.start + self.texts * self.length
    }
}

impl Batch {
    /// Texts as they are; fastest when those of one length stand together.
    pub fn new<T: AsRef<[u32]>>(texts: &[T]) -> Self {
        let mut batch = Self {
            ids: Vec::new(),
            blocks: Vec::new(),
            real: Vec::new(),
        };
        for text in texts {
            let text = text.as_ref();
            match batch.blocks.last_mut() {
                Some(block) if block.length == text.len() => block.texts += 1,
                _ => batch.blocks.push(Block {
                    start: batch.ids.len(),
                    texts: 1,
                    length: text.len(),
                }),
            }
            batch.ids.extend_from_slice(text);
        }
        batch
    }

    /// Texts made as long as the longest one with `padding`, which nothing attends to. One large
    /// block suits training and graphics cards.
    pub fn padded<T: AsRef<[u32]>>(texts: &[T], padding: u32) -> Self {
        let real: Vec<usize> = texts.iter().map(|text| text.as_ref().len()).collect();
        let length = real.iter().copied().max().unwrap_or(0);
        let mut ids = vec![padding; length * texts.len()];
        for (text, row) in texts.iter().zip(ids.chunks_exact_mut(length.max(1))) {
            row[..text.as_ref().len()].copy_from_slice(text.as_ref());
        }
        let blocks = match texts.len() {
            0 => Vec::new(),
            texts => vec![Block {
                start: 0,
                texts,
                length,
            }],
        };
        Self { ids, blocks, real }
    }

    /// All token numbers.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// How many texts.
    pub fn texts(&self) -> usize {
        self.blocks.iter().map(|block| block.texts).sum()
    }

    pub(crate) fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// The tokens of every text.
    pub(crate) fn lengths(&self) -> impl Iterator<Item = usize> {
        let blocks = self.blocks.iter();
        blocks.flat_map(|block| std::iter::repeat_n(block.length, block.texts))
    }

    /// The tokens of every text that are no padding.
    pub(crate) fn real_lengths(&self) -> impl Iterator<Item = usize> {
        let padded = !self.real.is_empty();
        let real = self.real.iter().copied();
        real.chain(self.lengths().filter(move |_| !padded))
    }

    /// The place of every token within its text.
    pub(crate) fn places(&self) -> impl Iterator<Item = usize> {
        self.lengths().flat_map(|length| 0..length)
    }

    /// Which tokens are padding, `[texts, length]`; `None` when none is.
    pub(crate) fn padding(&self, device: &Device) -> Option<Tensor<2, Bool>> {
        let block = self.blocks.first()?;
        if self.real.iter().all(|&real| real == block.length) {
            return None;
        }
        let flags: Vec<bool> = self
            .real
            .iter()
            .flat_map(|&real| (0..block.length).map(move |place| place >= real))
            .collect();
        let data = TensorData::new(flags, [block.texts, block.length]);
        Some(Tensor::from_data(data, device))
    }
}
