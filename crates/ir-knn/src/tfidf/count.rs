//! Texts to counted terms.

use std::hash::Hasher;

use ir_core::Analyzer;
use rustc_hash::FxHasher;

use super::TfIdfConfig;

/// The terms of a text with how often each occurs, under numbers that `number` gives.
///
/// Buffers are kept between texts.
pub(super) struct Counter<'a, A> {
    analyzer: &'a A,
    config: &'a TfIdfConfig,
    /// The words of one text, each with a blank behind it, and where they begin.
    words: String,
    starts: Vec<usize>,
    /// For each number: the text in which it was last seen, and its place among the counts.
    seen: Vec<(usize, usize)>,
    text: usize,
}

impl<'a, A: Analyzer> Counter<'a, A> {
    pub(super) fn new(analyzer: &'a A, config: &'a TfIdfConfig) -> Self {
        Self {
            analyzer,
            config,
            words: String::new(),
            starts: Vec::new(),
            seen: Vec::new(),
            text: 0,
        }
    }

    /// Appends (number, count) of every term of `text` to `counts`, in the order of first
    /// occurrence. Terms without a number are passed over.
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
            seen,
            ..
        } = self;
        self.text += 1;
        let this = self.text;
        let mut add = |term: &str| {
            let Some(number) = number(term) else { return };
            let at = number as usize;
            if at >= seen.len() {
                seen.resize((at + 1).next_power_of_two(), (0, 0));
            }
            let (text, place) = &mut seen[at];
            if *text == this {
                let count = &mut counts[*place].1;
                *count = count.saturating_add(1);
            } else {
                (*text, *place) = (this, counts.len());
                counts.push((number, 1));
            }
        };
        let stops = &config.stop_words;
        if (config.shortest, config.longest) == (1, 1) {
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
        for length in config.shortest..=config.longest.min(count) {
            for first in 0..=count - length {
                add(&words[starts[first]..starts[first + length] - 1]);
            }
        }
    }
}

/// Terms in the order in which they came, numbered from 0.
#[derive(Debug, Default)]
pub(super) struct Terms {
    /// The terms, one behind the other, and where each ends.
    text: String,
    ends: Vec<usize>,
    /// Of each term, its hash and its number from 1, from the place that the hash names on; 0 where
    /// a place is free. A power of two, at most half full.
    places: Vec<(u32, u32)>,
}

impl Terms {
    /// The number of a term, a new one where it has none.
    pub(super) fn number(&mut self, term: &str) -> u32 {
        if 2 * self.ends.len() >= self.places.len() {
            self.grow();
        }
        let hash = hash(term);
        match self.find(hash, term) {
            Ok(number) => number,
            Err(free) => {
                let number = self.ends.len() as u32;
                self.text.push_str(term);
                self.ends.push(self.text.len());
                self.places[free] = (hash, number + 1);
                number
            }
        }
    }

    pub(super) fn get(&self, term: &str) -> Option<u32> {
        if self.places.is_empty() {
            return None;
        }
        self.find(hash(term), term).ok()
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The term of a number.
    pub(super) fn term(&self, number: usize) -> Option<&str> {
        let end = *self.ends.get(number)?;
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        Some(&self.text[start..end])
    }

    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.len()).map(|number| self.term(number).unwrap_or_default())
    }

    /// The number of a term, or the free place where it belongs.
    fn find(&self, hash: u32, term: &str) -> Result<u32, usize> {
        let mask = self.places.len() - 1;
        let mut place = hash as usize & mask;
        loop {
            match self.places[place] {
                (_, 0) => return Err(place),
                (other, number)
                    if other == hash && self.term(number as usize - 1) == Some(term) =>
                {
                    return Ok(number - 1);
                }
                _ => {}
            }
            place = (place + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let size = (2 * self.places.len()).max(64);
        let old = std::mem::replace(&mut self.places, vec![(0, 0); size]);
        for (hash, number) in old.into_iter().filter(|&(_, number)| number > 0) {
            let mut place = hash as usize & (size - 1);
            while self.places[place].1 > 0 {
                place = (place + 1) & (size - 1);
            }
            self.places[place] = (hash, number);
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
        let mut terms = Terms::default();
        assert_eq!(
            (terms.get("a"), terms.len(), terms.term(0)),
            (None, 0, None)
        );
        for round in 0..2 {
            for number in 0..5_000 {
                // The empty term, and terms whose bytes are those of two others.
                let term =
                    "ab".repeat(number % 7) + &(number / 7).to_string().repeat(number.min(1));
                assert_eq!(terms.number(&term), number as u32, "{round}, {term}");
            }
        }
        assert_eq!((terms.len(), terms.get("no such term")), (5_000, None));
        assert_eq!((terms.term(0), terms.term(5_000)), (Some(""), None));
        for (number, term) in terms.iter().enumerate() {
            assert_eq!(terms.get(term), Some(number as u32));
        }
    }
}
