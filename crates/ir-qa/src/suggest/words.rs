//! The words of the suggestions, with a posting list each.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use fst::automaton::{Automaton, Str};
use fst::raw::{Builder, Fst};
use fst::{IntoStreamer, Streamer};
use levenshtein_automata::LevenshteinAutomatonBuilder;

use super::MAX_EDITS;
use super::best_first::BestFirst;

/// Words of a typed text.
pub(super) struct TypedWords<'a> {
    /// All but the last one.
    pub(super) complete: &'a [String],
    pub(super) last: &'a str,
    /// If `true`, the last word may be incomplete.
    pub(super) last_is_prefix: bool,
}

impl TypedWords<'_> {
    /// Maximum number of edits of a word.
    pub(super) fn max_edits(&self) -> u8 {
        let words = self.complete.iter().map(|word| &**word);
        words.chain([self.last]).map(max_edits).max().unwrap_or(0)
    }
}

/// Number of edits that a word may have: `AUTO` in Elasticsearch.
fn max_edits(word: &str) -> u8 {
    match word.chars().count() {
        0..=2 => 0,
        3..=5 => 1,
        _ => MAX_EDITS,
    }
}

/// Accepts the words with the same first character.
fn first_character(word: &str) -> impl Automaton {
    let end = word.chars().next().map_or(0, char::len_utf8);
    Str::new(&word[..end]).starts_with()
}

/// First entry of a word, from a value of the transducer or a lower bound of values.
fn first_entry(value: u64) -> u32 {
    (value >> 32) as u32
}

/// Index of words. Entries are numbered by rank, so a posting list is in the order of the ranking.
pub(super) struct WordIndex {
    /// Word to its first entry, in the upper 32 bits, and its number.
    words: Fst<Vec<u8>>,
    /// Start of the posting list of a word.
    starts: Vec<usize>,
    postings: Vec<u32>,
    /// Automata of distance 1, 2, ...
    levenshtein: Vec<LevenshteinAutomatonBuilder>,
}

/// Number of entries with all complete words that are tested for a match of the incomplete word. If
/// more are needed, the entries that match the incomplete word are listed.
const TESTED_ENTRIES: usize = 300;

impl WordIndex {
    #[expect(clippy::expect_used, reason = "keys are sorted")]
    pub(super) fn new<'t>(texts: impl Iterator<Item = &'t str>) -> Self {
        let mut lists: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
        for (entry, text) in (0_u32..).zip(texts) {
            for word in text.split(' ') {
                let list = lists.entry(word).or_default();
                if list.last() != Some(&entry) {
                    list.push(entry);
                }
            }
        }
        let mut words = Builder::memory();
        let mut starts = vec![0];
        let mut postings = Vec::new();
        for (number, (word, list)) in (0_u64..).zip(lists) {
            let first = u64::from(list[0]) << 32;
            words.insert(word, first | number).expect("keys are sorted");
            postings.extend(list);
            starts.push(postings.len());
        }
        let builder = |edits| LevenshteinAutomatonBuilder::new(edits, true);
        Self {
            words: words.into_fst(),
            starts,
            postings,
            levenshtein: (1..=MAX_EDITS).map(builder).collect(),
        }
    }

    /// Entries of a word, which is a value of the transducer.
    fn postings(&self, word: u64) -> &[u32] {
        let number = word as u32 as usize;
        &self.postings[self.starts[number]..self.starts[number + 1]]
    }

    /// Calls `emit` for the entries that have all words, each with at most this number of edits, by
    /// rank, until it returns false.
    ///
    /// `text` returns the normalized text of an entry.
    pub(super) fn search<'t>(
        &self,
        typed: &TypedWords<'_>,
        edits: u8,
        text: &dyn Fn(u32) -> &'t str,
        emit: &mut dyn FnMut(u32) -> bool,
    ) {
        let mut complete: Vec<&str> = typed.complete.iter().map(|word| &**word).collect();
        if !typed.last_is_prefix {
            complete.push(typed.last);
        }
        // Rare words first: long ones.
        complete.sort_unstable_by_key(|word| (Reverse(word.len()), *word));
        complete.dedup();
        let mut lists = Vec::with_capacity(complete.len());
        for word in complete {
            let entries = self.entries_of(word, edits);
            if entries.postings() == 0 {
                return;
            }
            lists.push(entries);
        }
        if !typed.last_is_prefix {
            return intersect(&lists, 0, emit);
        }
        match self.levenshtein(typed.last, edits) {
            None => {
                let prefix = Str::new(typed.last).starts_with();
                self.search_prefix(lists, &prefix, text, emit);
            }
            Some(builder) => {
                // `build_prefix_dfa` rejects some continuations of accepted prefixes.
                let prefix = builder.build_dfa(typed.last).starts_with();
                let prefix = prefix.intersection(first_character(typed.last));
                self.search_prefix(lists, &prefix, text, emit);
            }
        }
    }

    /// Builder of the automaton of a word; `None` if the word has no edits.
    fn levenshtein(&self, word: &str, edits: u8) -> Option<&LevenshteinAutomatonBuilder> {
        let edits = usize::from(edits.min(max_edits(word)));
        self.levenshtein.get(edits.checked_sub(1)?)
    }

    /// Entries with a word.
    fn entries_of(&self, word: &str, edits: u8) -> WordEntries<'_> {
        let Some(builder) = self.levenshtein(word, edits) else {
            let list = self.words.get(word).map(|word| self.postings(word.value()));
            return WordEntries {
                long: list.into_iter().collect(),
                merged: Vec::new(),
            };
        };
        let automaton = builder.build_dfa(word);
        self.entries_of_all(automaton.intersection(first_character(word)))
    }

    /// Entries of all words that an automaton accepts.
    fn entries_of_all(&self, automaton: impl Automaton) -> WordEntries<'_> {
        let mut words = self.words.search(automaton).into_stream();
        let (mut long, mut merged) = (Vec::new(), Vec::new());
        while let Some((_, word)) = words.next() {
            let list = self.postings(word.value());
            if list.len() > LONG_LIST {
                long.push(list)
            } else {
                merged.extend(list)
            }
        }
        merged.sort_unstable();
        WordEntries { long, merged }
    }

    /// Searches a prefix and complete words with the given entries.
    fn search_prefix<'t, 'w, A: Automaton>(
        &'w self,
        mut lists: Vec<WordEntries<'w>>,
        prefix: &A,
        text: &dyn Fn(u32) -> &'t str,
        emit: &mut dyn FnMut(u32) -> bool,
    ) {
        if lists.is_empty() {
            let mut entries = Union::new(self, prefix);
            while let Some(entry) = entries.next()
                && emit(entry)
            {}
            return;
        }
        let mut tested = 0;
        let mut untested = None;
        intersect(&lists, 0, &mut |entry| {
            tested += 1;
            if tested > TESTED_ENTRIES {
                untested = Some(entry);
                return false;
            }
            !has_word(text(entry), prefix) || emit(entry)
        });
        if let Some(entry) = untested {
            lists.push(self.entries_of_all(prefix));
            intersect(&lists, entry, emit);
        }
    }
}

/// The entries of all words that an automaton accepts, ascending and distinct.
struct Union<'a, A: Automaton> {
    index: &'a WordIndex,
    words: BestFirst<'a, A>,
    /// Next entries of the words reached so far, with their remaining entries.
    lists: BinaryHeap<Reverse<(u32, &'a [u32])>>,
    last: Option<u32>,
}

impl<'a, A: Automaton> Union<'a, A> {
    fn new(index: &'a WordIndex, automaton: A) -> Self {
        Self {
            index,
            words: BestFirst::new(&index.words, automaton),
            lists: BinaryHeap::new(),
            last: None,
        }
    }

    fn push(&mut self, list: &'a [u32]) {
        if let Some((&next, rest)) = list.split_first() {
            self.lists.push(Reverse((next, rest)));
        }
    }
}

impl<A: Automaton> Iterator for Union<'_, A> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        loop {
            let next = self.lists.peek().map(|Reverse((next, _))| *next);
            // Words that may have an entry before the next one come first.
            if let Some(bound) = self.words.bound()
                && next.is_none_or(|next| first_entry(bound) < next)
            {
                if let Some(word) = self.words.step() {
                    self.push(self.index.postings(word));
                }
                continue;
            }
            let Reverse((next, rest)) = self.lists.pop()?;
            self.push(rest);
            if self.last != Some(next) {
                self.last = Some(next);
                return self.last;
            }
        }
    }
}

/// Returns `true` if an automaton accepts a word of a normalized text.
fn has_word(text: &str, automaton: &impl Automaton) -> bool {
    let accepts = |word: &[u8]| {
        let mut state = automaton.start();
        for &byte in word {
            state = automaton.accept(&state, byte);
            if !automaton.can_match(&state) {
                return false;
            }
        }
        automaton.is_match(&state)
    };
    text.as_bytes().split(|&byte| byte == b' ').any(accepts)
}

/// A posting list with more entries is not copied.
const LONG_LIST: usize = 128;

/// Entries with any word of a set.
struct WordEntries<'a> {
    /// Posting lists with many entries.
    long: Vec<&'a [u32]>,
    /// The entries of all others, ascending, some of them repeated.
    merged: Vec<u32>,
}

impl WordEntries<'_> {
    /// Number of postings of all words, which orders the sets of an intersection.
    fn postings(&self) -> usize {
        self.merged.len() + self.long.iter().map(|list| list.len()).sum::<usize>()
    }

    /// The lists from an entry on.
    fn lists_from(&self, start: u32) -> Vec<&[u32]> {
        let lists = self.long.iter().copied().chain([&*self.merged]);
        let lists = lists.map(|list| skip_to(list, start));
        lists.filter(|list| !list.is_empty()).collect()
    }
}

/// Drops what is below `entry` from lists. Returns the first entry left.
fn advance(lists: &mut Vec<&[u32]>, entry: u32) -> Option<u32> {
    let mut first = None;
    lists.retain_mut(|list| {
        *list = skip_to(list, entry);
        let next = list.first().copied();
        first = first.into_iter().chain(next).min();
        next.is_some()
    });
    first
}

/// Calls `emit` for the entries that all sets have, ascending from `start`, until it returns
/// false.
fn intersect(sets: &[WordEntries<'_>], start: u32, emit: &mut dyn FnMut(u32) -> bool) {
    let mut sets: Vec<_> = sets
        .iter()
        .map(|set| (set.postings(), set.lists_from(start)))
        .collect();
    sets.sort_by_key(|&(postings, _)| postings);
    let Some(((_, rarest), others)) = sets.split_first_mut() else {
        return;
    };
    let mut from = start;
    'entries: while let Some(entry) = advance(rarest, from) {
        for (_, lists) in &mut *others {
            match advance(lists, entry) {
                None => return,
                Some(next) if next != entry => {
                    from = next;
                    continue 'entries;
                }
                Some(_) => {}
            }
        }
        if !emit(entry) {
            return;
        }
        let Some(next) = entry.checked_add(1) else {
            return;
        };
        from = next;
    }
}

/// The part of an ascending list from the first number that is not below `entry`, found by
/// galloping.
fn skip_to(list: &[u32], entry: u32) -> &[u32] {
    let mut bound = 1;
    while bound < list.len() && list[bound] < entry {
        bound *= 2;
    }
    let end = (bound + 1).min(list.len());
    let start = bound / 2;
    let skipped = start.min(end) + list[start.min(end)..end].partition_point(|&next| next < entry);
    &list[skipped..]
}
