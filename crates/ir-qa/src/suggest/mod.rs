//! Auto-complete: questions and phrases that continue what a user has typed.
//!
//! | match | typed | suggestion |
//! |---|---|---|
//! | [`MatchKind::Prefix`] | `what is` | **what is** dropout? |
//! | [`MatchKind::Words`] | `dropout wh` | **wh**at is **dropout**? |
//! | [`MatchKind::Corrected`] | `whta is drpout` | **what is dropout**? |
//!
//! Prefixes come first, then words in any order, then corrected words; within a kind, the most
//! popular suggestions.
//!
//! ```
//! use ir_qa::suggest::{MatchKind, Suggester};
//!
//! let suggester = Suggester::new([
//!     ("What is dropout?", 12),
//!     ("What is the batch size?", 30),
//!     ("Why does dropout help?", 5),
//! ]);
//! let texts = |typed| -> Vec<&str> {
//!     suggester.complete(typed, 2).iter().map(|completion| completion.text).collect()
//! };
//! assert_eq!(texts("what is"), ["What is the batch size?", "What is dropout?"]);
//! assert_eq!(texts("dropout w"), ["What is dropout?", "Why does dropout help?"]);
//! assert_eq!(texts("drpout hel"), ["Why does dropout help?"]);
//! let corrected = suggester.complete("drpout hel", 1);
//! assert_eq!(corrected[0].kind, MatchKind::Corrected { edits: 1 });
//! ```

mod best_first;
mod phrases;
#[cfg(test)]
mod tests;
mod words;

use std::collections::HashSet;
use std::fmt;

use fst::automaton::{Automaton, Str};
use fst::raw::{Builder, Fst};
use ir_bm25::analysis::{Analysis, AnalysisPipeline};
use ir_core::Analyzer;

use best_first::BestFirst;
pub use phrases::FrequentPhrases;
use words::{TypedWords, WordIndex};

/// Suggestions with their popularity, found by prefix, by words in any order, and with typing
/// errors.
///
/// Texts are compared as Lucene's `StandardAnalyzer` tokenizes them: Unicode words in lower case,
/// without punctuation; an ideograph is a word.
///
/// # Complexity
/// Two finite-state transducers, of the texts and of their words, and a posting list per word. The
/// transducers map to numbers in the order of popularity and are searched best first, so that the
/// time for a prefix or a single word depends on the number and length of the suggestions returned,
/// not on the number that match. Several words intersect posting lists: the worst case, frequent
/// words that no suggestion has together, is linear in their length.
pub struct Suggester {
    analyzer: AnalysisPipeline,
    /// By descending popularity, then by text. The position is the number of an entry.
    entries: Vec<Entry>,
    /// Normalized texts to numbers of entries.
    texts: Fst<Vec<u8>>,
    words: WordIndex,
}

struct Entry {
    text: String,
    /// Words in lower case, separated by spaces.
    normalized: String,
    popularity: u64,
}

/// Suggestion for a typed text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion<'a> {
    /// Text as it was given.
    pub text: &'a str,
    /// Popularity as it was given; the sum for equal texts.
    pub popularity: u64,
    /// How it matches the typed text.
    pub kind: MatchKind,
}

/// How a suggestion matches a typed text, from the best kind to the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MatchKind {
    /// The suggestion starts with the typed text.
    Prefix,
    /// Every typed word is a word of the suggestion, in any order; the last one may be incomplete.
    Words,
    /// As [`MatchKind::Words`], with typing errors: insertions, deletions, substitutions and
    /// transpositions of adjacent characters, not of the first character.
    ///
    /// Words of 1 or 2 characters have no edits, words of 3 to 5 characters at most 1, as with
    /// `fuzziness: AUTO` and `prefix_length: 1` in Elasticsearch.
    Corrected {
        /// Maximum number of edits in a word: 1 or 2.
        edits: u8,
    },
}

/// Maximum number of edits in a word.
const MAX_EDITS: u8 = 2;

/// Suggestions that start with a word and are examined as continuations.
const MAX_CONTINUATIONS: usize = 1_000;

/// Maximum number of words of a continuation.
const CONTINUED_WORDS: usize = 3;

impl Suggester {
    /// Creates a suggester of texts and their popularity, such as how often a question was asked.
    ///
    /// Texts that differ in case, punctuation and white space only are one suggestion: it has the
    /// most popular spelling and the sum of the popularities. Texts without words are left out. At
    /// most `u32::MAX` suggestions are kept, the most popular ones.
    #[expect(clippy::expect_used, reason = "keys are sorted")]
    pub fn new<T: Into<String>>(texts: impl IntoIterator<Item = (T, u64)>) -> Self {
        let analyzer = analyzer();
        let mut entries: Vec<Entry> = Vec::new();
        for (text, popularity) in texts {
            let text = text.into();
            let normalized = analyzer.terms(&text).join(" ");
            if !normalized.is_empty() {
                entries.push(Entry {
                    text,
                    normalized,
                    popularity,
                });
            }
        }
        merge_equal_texts(&mut entries);
        entries.sort_unstable_by(|a, b| {
            let order = b.popularity.cmp(&a.popularity);
            order.then_with(|| a.text.cmp(&b.text))
        });
        entries.truncate(u32::MAX as usize);

        let mut by_text: Vec<u32> = (0..entries.len() as u32).collect();
        by_text.sort_unstable_by_key(|&entry| &*entries[entry as usize].normalized);
        let mut texts = Builder::memory();
        for entry in by_text {
            let key = &entries[entry as usize].normalized;
            texts.insert(key, entry.into()).expect("keys are sorted");
        }
        let words = WordIndex::new(entries.iter().map(|entry| &*entry.normalized));
        Self {
            analyzer,
            texts: texts.into_fst(),
            words,
            entries,
        }
    }

    /// Returns the function that normalizes texts for comparison: texts with equal results are one
    /// suggestion.
    pub fn normalizer() -> impl Fn(&str) -> String {
        let analyzer = analyzer();
        move |text| analyzer.terms(text).join(" ")
    }

    /// Normalizes a text as [`Suggester::normalizer`] does.
    pub fn normalized(&self, text: &str) -> String {
        self.analyzer.terms(text).join(" ")
    }

    /// Number of distinct suggestions.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns `true` if there are no suggestions.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns at most `limit` suggestions for a typed text: by kind of match, then by descending
    /// popularity, then by text.
    ///
    /// The last word is incomplete unless white space or punctuation follows it. Words are
    /// corrected only if there are no suggestions with fewer edits. Without a word, the most
    /// popular suggestions are returned, as [`MatchKind::Prefix`].
    pub fn complete(&self, typed: &str, limit: usize) -> Vec<Completion<'_>> {
        let mut words = Vec::new();
        let mut end = 0;
        self.analyzer.analyze(typed, &mut |token| {
            words.push(token.term.to_owned());
            end = token.end;
        });
        let last_is_prefix = end == typed.len();
        let mut found = CompletionList {
            limit,
            entries: Vec::new(),
            distinct: HashSet::new(),
        };
        let mut prefix = words.join(" ");
        if !last_is_prefix && !words.is_empty() {
            prefix.push(' ');
        }
        let prefix = Str::new(&prefix).starts_with();
        let texts = BestFirst::new(&self.texts, prefix);
        found.extend(MatchKind::Prefix, texts.map(|entry| entry as u32));

        if let Some((last, complete)) = words.split_last() {
            let typed = TypedWords {
                complete,
                last,
                last_is_prefix,
            };
            for edits in 0..=MAX_EDITS.min(typed.max_edits()) {
                let is_enough = match edits {
                    0 => found.is_full(),
                    _ => !found.entries.is_empty(),
                };
                if is_enough {
                    break;
                }
                let kind = match edits {
                    0 => MatchKind::Words,
                    edits => MatchKind::Corrected { edits },
                };
                let text = |entry: u32| &*self.entries[entry as usize].normalized;
                self.words.search(&typed, edits, &text, &mut |entry| {
                    found.push(kind, entry);
                    !found.is_full()
                });
            }
        }
        let completion = |(entry, kind): (u32, MatchKind)| {
            let entry = &self.entries[entry as usize];
            Completion {
                text: &entry.text,
                popularity: entry.popularity,
                kind,
            }
        };
        found.entries.into_iter().map(completion).collect()
    }
}

impl Suggester {
    /// Returns at most `limit` texts that start with the typed text, which has at least two words,
    /// and complete its last word by a suggestion in lower case, such as a frequent phrase, of at
    /// most three words: the most popular ones first.
    ///
    /// ```
    /// use ir_qa::suggest::Suggester;
    /// let suggester = Suggester::new([("crop rotation", 5), ("crows", 3), ("Crop yields", 9)]);
    /// let typed = "How many Cro";
    /// let expected = ["How many Crop rotation", "How many Crows"];
    /// assert_eq!(suggester.continuations(typed, 5), expected);
    /// assert!(suggester.continuations("cro", 5).is_empty());
    /// assert!(suggester.continuations("How many cro ", 5).is_empty());
    /// ```
    pub fn continuations(&self, typed: &str, limit: usize) -> Vec<String> {
        let (mut words, mut last, mut end) = (0, String::new(), 0);
        self.analyzer.analyze(typed, &mut |token| {
            words += 1;
            token.term.clone_into(&mut last);
            end = token.end;
        });
        if words < 2 || end < typed.len() {
            return Vec::new();
        }
        let found = BestFirst::new(&self.texts, Str::new(&last).starts_with());
        let entries = found
            .take(MAX_CONTINUATIONS)
            .map(|entry| &self.entries[entry as usize]);
        // The text has the words of the analyzer, and nothing else.
        let phrases = entries.filter(|entry| {
            entry.text == entry.normalized && entry.text.split(' ').count() <= CONTINUED_WORDS
        });
        let rest = phrases.filter_map(|entry| entry.text.strip_prefix(last.as_str()));
        rest.filter(|rest| !rest.is_empty())
            .take(limit)
            .map(|rest| format!("{typed}{rest}"))
            .collect()
    }
}

impl fmt::Debug for Suggester {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut suggester = f.debug_struct("Suggester");
        suggester.field("len", &self.len()).finish_non_exhaustive()
    }
}

/// Analysis of suggestions and typed texts.
#[expect(clippy::expect_used, reason = "the analysis is a preset")]
fn analyzer() -> AnalysisPipeline {
    let preset = Analysis::lucene_standard();
    preset.build().expect("presets are valid")
}

/// Keeps the most popular of the entries with equal normalized texts, with the sum of the
/// popularities.
fn merge_equal_texts(entries: &mut Vec<Entry>) {
    entries.sort_unstable_by(|a, b| {
        let order = a.normalized.cmp(&b.normalized);
        let order = order.then_with(|| b.popularity.cmp(&a.popularity));
        order.then_with(|| a.text.cmp(&b.text))
    });
    entries.dedup_by(|entry, kept| {
        let is_equal = entry.normalized == kept.normalized;
        if is_equal {
            kept.popularity = kept.popularity.saturating_add(entry.popularity);
        }
        is_equal
    });
}

/// Suggestions found so far.
struct CompletionList {
    limit: usize,
    entries: Vec<(u32, MatchKind)>,
    distinct: HashSet<u32>,
}

impl CompletionList {
    fn is_full(&self) -> bool {
        self.entries.len() >= self.limit
    }

    fn push(&mut self, kind: MatchKind, entry: u32) {
        if !self.is_full() && self.distinct.insert(entry) {
            self.entries.push((entry, kind));
        }
    }

    fn extend(&mut self, kind: MatchKind, entries: impl Iterator<Item = u32>) {
        for entry in entries.take(self.limit) {
            self.push(kind, entry);
        }
    }
}
