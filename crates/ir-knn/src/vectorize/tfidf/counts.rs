//! Term counts of texts.

use std::hash::Hasher;

use ir_core::{Analyzer, Flow, Progress};
use rayon::prelude::*;
use rustc_hash::FxHasher;
use serde::{Serialize, Serializer};

use super::TfidfConfig;

/// Term counts of consecutive texts.
#[derive(Debug)]
pub(super) struct TextCounts {
    /// (term number or column, count), text after text.
    pub(super) counts: Vec<(u32, u32)>,
    /// End of each text in `counts`.
    pub(super) ends: Vec<usize>,
}

impl TextCounts {
    /// Counts the terms of each text, in order of first occurrence. Terms to which `number` assigns
    /// none are skipped.
    pub(super) fn new<T: AsRef<str>>(
        analyzer: &impl Analyzer,
        config: &TfidfConfig,
        texts: &[T],
        mut number: impl FnMut(&str) -> Option<u32>,
    ) -> Self {
        let mut counts: Vec<(u32, u32)> = Vec::new();
        let mut ends = Vec::with_capacity(texts.len());
        let stops = &config.stop_words;
        let only_words = (config.min_n, config.max_n) == (1, 1);
        // Words of a text, each followed by a space; their offsets and the end of the last.
        let (mut words, mut starts) = (String::new(), Vec::new());
        // Last text that contains each term, by term number, and the term's index in the counts.
        let mut last_seen: Vec<(usize, usize)> = Vec::new();
        for (this, text) in (1..).zip(texts) {
            let mut add = |term: &str| {
                let Some(number) = number(term) else { return };
                let at = number as usize;
                if at >= last_seen.len() {
                    last_seen.resize((at + 1).next_power_of_two(), (0, 0));
                }
                let (text, index) = &mut last_seen[at];
                if *text == this {
                    let count = &mut counts[*index].1;
                    *count = count.saturating_add(1);
                } else {
                    (*text, *index) = (this, counts.len());
                    counts.push((number, 1));
                }
            };
            words.clear();
            starts.clear();
            analyzer.analyze(text.as_ref(), &mut |token| {
                if !stops.is_empty() && stops.contains(token.term) {
                    return;
                }
                if only_words {
                    add(token.term);
                } else {
                    starts.push(words.len());
                    words.push_str(token.term);
                    words.push(' ');
                }
            });
            let count = starts.len();
            starts.push(words.len());
            for length in config.min_n..=config.max_n.min(count) {
                for first in 0..=count - length {
                    add(&words[starts[first]..starts[first + length] - 1]);
                }
            }
            ends.push(counts.len());
        }
        Self { counts, ends }
    }
}

/// Counts the terms of texts in parallel, one task per chunk. Results do not depend on the size of
/// a chunk.
pub(super) fn count_chunks<T: Sync, C: Send>(
    texts: &[T],
    count: impl Fn(&[T]) -> C + Sync,
) -> Vec<C> {
    texts.par_chunks(chunk_size(texts)).map(&count).collect()
}

/// [`count_chunks`], and reports the number of counted texts after every chunk per thread. `None`
/// if `progress` cancels.
pub(super) fn count_chunks_with_progress<T: Sync, C: Send>(
    texts: &[T],
    count: impl Fn(&[T]) -> C + Sync,
    progress: &mut dyn Progress,
) -> Option<Vec<C>> {
    let (size, total) = (chunk_size(texts), Some(texts.len() as u64));
    let (mut counted, mut done) = (Vec::new(), 0);
    let mut report = |done| progress.report("counting terms", done, total) == Flow::Continue;
    for group in texts.chunks(size * rayon::current_num_threads()) {
        report(done).then_some(())?;
        counted.par_extend(group.par_chunks(size).map(&count));
        done += group.len() as u64;
    }
    report(done).then_some(counted)
}

/// Number of texts in a chunk. Every task may build a separate vocabulary, so tasks are few.
fn chunk_size<T>(texts: &[T]) -> usize {
    let size = texts.len().div_ceil(4 * rayon::current_num_threads());
    size.max(256)
}

/// Vocabulary: terms numbered from 0 in order of insertion.
#[derive(Debug, Default)]
pub(super) struct Vocabulary {
    /// Concatenation of all terms.
    text: String,
    /// End of each term in `text`.
    ends: Vec<usize>,
    /// Open-addressing hash table with linear probing: hash and number + 1 of a term; (0, 0) in
    /// free slots. Its size is a power of two, its load factor at most one half.
    slots: Vec<(u32, u32)>,
}

impl Vocabulary {
    /// Returns the number of a term, inserting it if needed.
    pub(super) fn insert(&mut self, term: &str) -> u32 {
        if 2 * self.ends.len() >= self.slots.len() {
            self.grow();
        }
        let hash = hash(term);
        match self.find(hash, term) {
            Ok(number) => number,
            Err(free) => {
                let number = self.ends.len() as u32;
                self.text.push_str(term);
                self.ends.push(self.text.len());
                self.slots[free] = (hash, number + 1);
                number
            }
        }
    }

    /// Numbers terms in this order. Returns the first repeated term as an error.
    pub(super) fn from_distinct(terms: &[String]) -> Result<Self, String> {
        let mut vocabulary = Self::default();
        let mut columns = (0..).zip(terms);
        match columns.find(|&(column, term)| vocabulary.insert(term) != column) {
            Some((_, repeated)) => Err(repeated.clone()),
            None => Ok(vocabulary),
        }
    }

    pub(super) fn get(&self, term: &str) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        self.find(hash(term), term).ok()
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the term of a number.
    pub(super) fn term(&self, number: usize) -> Option<&str> {
        let end = *self.ends.get(number)?;
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        Some(&self.text[start..end])
    }

    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.len()).map(|number| self.term(number).unwrap_or_default())
    }

    /// Returns the number of a term, or the free slot for it.
    fn find(&self, hash: u32, term: &str) -> Result<u32, usize> {
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            match self.slots[slot] {
                (_, 0) => return Err(slot),
                (other, number)
                    if other == hash && self.term(number as usize - 1) == Some(term) =>
                {
                    return Ok(number - 1);
                }
                _ => {}
            }
            slot = (slot + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let size = (2 * self.slots.len()).max(64);
        let old = std::mem::replace(&mut self.slots, vec![(0, 0); size]);
        for (hash, number) in old.into_iter().filter(|&(_, number)| number > 0) {
            let mut slot = hash as usize & (size - 1);
            while self.slots[slot].1 > 0 {
                slot = (slot + 1) & (size - 1);
            }
            self.slots[slot] = (hash, number);
        }
    }
}

/// The list of terms.
impl Serialize for Vocabulary {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

fn hash(term: &str) -> u32 {
    let mut hasher = FxHasher::default();
    hasher.write(term.as_bytes());
    hasher.finish() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_keep_their_numbers() {
        let mut terms = Vocabulary::default();
        assert_eq!(
            (terms.get("a"), terms.len(), terms.term(0)),
            (None, 0, None)
        );
        for round in 0..2 {
            for number in 0..5_000 {
                // The empty term, and terms that are concatenations of two others.
                let term =
                    "ab".repeat(number % 7) + &(number / 7).to_string().repeat(number.min(1));
                assert_eq!(terms.insert(&term), number as u32, "{round}, {term}");
            }
        }
        assert_eq!((terms.len(), terms.get("no such term")), (5_000, None));
        assert_eq!((terms.term(0), terms.term(5_000)), (Some(""), None));
        for (number, term) in terms.iter().enumerate() {
            assert_eq!(terms.get(term), Some(number as u32));
        }
    }
}
