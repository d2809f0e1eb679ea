//! Term counts of texts.

use std::hash::Hasher;

use ir_core::Analyzer;
use rustc_hash::FxHasher;

use super::TfidfConfig;

/// Counts the terms of texts. Buffers are reused between texts.
pub(super) struct TermCounter<'a, A> {
    analyzer: &'a A,
    config: &'a TfidfConfig,
    /// Words of the current text, each followed by a space.
    words: String,
    /// Offsets of the words, and the end of the last.
    starts: Vec<usize>,
    /// Last text that contains each term, by term number, and the term's index in the counts.
    last_seen: Vec<(usize, usize)>,
    text: usize,
}

impl<'a, A: Analyzer> TermCounter<'a, A> {
    pub(super) fn new(analyzer: &'a A, config: &'a TfidfConfig) -> Self {
        Self {
            analyzer,
            config,
            words: String::new(),
            starts: Vec::new(),
            last_seen: Vec::new(),
            text: 0,
        }
    }

    /// Appends (number, count) of every term of `text` to `counts`, in order of first occurrence.
    /// Terms to which `number` assigns none are skipped.
    pub(super) fn count(
        &mut self,
        text: &str,
        mut number: impl FnMut(&str) -> Option<u32>,
        counts: &mut Vec<(u32, u32)>,
    ) {
        let Self {
            analyzer,
            config,
            words,
            starts,
            last_seen,
            ..
        } = self;
        self.text += 1;
        let this = self.text;
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
        let stops = &config.stop_words;
        if (config.min_n, config.max_n) == (1, 1) {
            analyzer.analyze(text, &mut |token| {
                if stops.is_empty() || !stops.contains(token.term) {
                    add(token.term);
                }
            });
            return;
        }
        words.clear();
        starts.clear();
        analyzer.analyze(text, &mut |token| {
            if stops.is_empty() || !stops.contains(token.term) {
                starts.push(words.len());
                words.push_str(token.term);
                words.push(' ');
            }
        });
        starts.push(words.len());
        let count = starts.len() - 1;
        for length in config.min_n..=config.max_n.min(count) {
            for first in 0..=count - length {
                add(&words[starts[first]..starts[first + length] - 1]);
            }
        }
    }
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
