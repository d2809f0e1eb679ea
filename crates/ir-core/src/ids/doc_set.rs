//! Sets of documents as bitmaps.

use std::iter;

use serde::{Deserialize, Serialize};

use super::DocNum;

/// Set of documents as a bitmap, one bit per document.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Bitmap")]
pub struct DocSet {
    words: Vec<u64>,
    #[serde(skip_serializing)]
    len: usize,
}

/// Serialized form of a [`DocSet`].
#[derive(Deserialize)]
struct Bitmap {
    words: Vec<u64>,
}

impl From<Bitmap> for DocSet {
    fn from(Bitmap { words }: Bitmap) -> Self {
        let len = words.iter().map(|word| word.count_ones() as usize).sum();
        Self { words, len }
    }
}

impl DocSet {
    /// Creates an empty set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Selects the documents below `n` that `keep` accepts.
    #[must_use]
    pub fn select(n: usize, mut keep: impl FnMut(DocNum) -> bool) -> Self {
        (0..n as u32)
            .map(DocNum::new)
            .filter(|&doc| keep(doc))
            .collect()
    }

    /// Number of documents in the set.
    pub(crate) const fn size(&self) -> usize {
        self.len
    }

    /// Returns `true` if the document is a member.
    #[inline]
    pub(crate) fn has(&self, doc: DocNum) -> bool {
        self.words
            .get(doc.index() / 64)
            .is_some_and(|word| word >> (doc.index() % 64) & 1 == 1)
    }

    /// Adds a document to the set and returns whether it is new.
    pub fn insert(&mut self, doc: DocNum) -> bool {
        let word = doc.index() / 64;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        let before = self.words[word];
        self.words[word] |= 1 << (doc.index() % 64);
        let is_new = self.words[word] != before;
        self.len += usize::from(is_new);
        is_new
    }

    /// The first member from `start` on, before `end`.
    pub(crate) fn first_in(&self, start: u32, end: u32) -> Option<u32> {
        let last = end.div_ceil(64).min(self.words.len() as u32);
        let mut bits = u64::MAX << (start % 64);
        for at in start / 64..last {
            let word = self.words[at as usize] & bits;
            if word != 0 {
                let member = at * 64 + word.trailing_zeros();
                return (member < end).then_some(member);
            }
            bits = u64::MAX;
        }
        None
    }

    /// Iterates over the members in ascending order, in time proportional to their number and to a
    /// 64th of the largest one.
    pub fn iter(&self) -> impl Iterator<Item = DocNum> + '_ {
        self.words.iter().enumerate().flat_map(|(at, &word)| {
            let mut rest = word;
            iter::from_fn(move || {
                let bit = rest.trailing_zeros();
                // Without the lowest member; `None` if there is none.
                rest &= rest.checked_sub(1)?;
                Some(DocNum::new(at as u32 * 64 + bit))
            })
        })
    }
}

impl FromIterator<DocNum> for DocSet {
    fn from_iter<I: IntoIterator<Item = DocNum>>(docs: I) -> Self {
        let mut set = Self::new();
        for doc in docs {
            set.insert(doc);
        }
        set
    }
}
