//! Texts to counted terms.

use ir_core::Analyzer;
use rustc_hash::FxHashMap;

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
    numbers: FxHashMap<Box<str>, u32>,
    terms: Vec<Box<str>>,
}

impl Terms {
    /// The number of a term, a new one where it has none.
    pub(super) fn number(&mut self, term: &str) -> u32 {
        if let Some(&number) = self.numbers.get(term) {
            return number;
        }
        let number = self.terms.len() as u32;
        self.numbers.insert(term.into(), number);
        self.terms.push(term.into());
        number
    }

    pub(super) fn get(&self, term: &str) -> Option<u32> {
        self.numbers.get(term).copied()
    }

    pub(super) fn terms(&self) -> &[Box<str>] {
        &self.terms
    }
}
