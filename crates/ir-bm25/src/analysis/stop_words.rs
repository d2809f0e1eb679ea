//! Stop-word lists of Lucene and NLTK, and custom ones.

use super::error::AnalysisError;
use super::lowercase::push_lower;
use super::normalization::Normalization;
use ir_core::stop_words::NLTK;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Stop-word list. A removed word leaves a gap in the positions.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StopWords {
    /// No stop words: nothing is removed.
    None,
    /// The 33 English stop words of Lucene's `EnglishAnalyzer`, Anserini and Elasticsearch.
    #[default]
    Lucene33,
    /// The 179 English stop words of NLTK before 2024, when contractions were added.
    Nltk179,
    /// A custom list; in lowercase if tokens are lowercased.
    Custom(BTreeSet<String>),
}

impl StopWords {
    /// Creates a custom list.
    pub fn custom<T: Into<String>>(words: impl IntoIterator<Item = T>) -> Self {
        Self::Custom(words.into_iter().map(Into::into).collect())
    }

    /// Iterates over the words, in arbitrary order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        let (listed, custom): (&[&str], _) = match self {
            Self::None => (&[], None),
            Self::Lucene33 => (&LUCENE, None),
            Self::Nltk179 => (&NLTK, None),
            Self::Custom(words) => (&[], Some(words)),
        };
        let custom = custom.into_iter().flatten().map(String::as_str);
        listed.iter().copied().chain(custom)
    }

    /// Returns whether the list contains `word`.
    pub fn contains(&self, word: &str) -> bool {
        match self {
            Self::Custom(words) => words.contains(word),
            _ => self.iter().any(|w| w == word),
        }
    }

    pub(super) fn check(
        &self,
        normalization: Normalization,
        lower_case: bool,
    ) -> Result<(), AnalysisError> {
        for word in self.iter() {
            if word.is_empty() {
                return Err(AnalysisError::EmptyStopWord);
            }
            let mut term = normalization.apply(word).into_owned();
            if lower_case {
                let normalized = std::mem::take(&mut term);
                push_lower(&mut term, &normalized);
            }
            if term != word {
                return Err(AnalysisError::UnmatchableStopWord {
                    word: word.to_owned(),
                    term,
                });
            }
        }
        Ok(())
    }
}

#[rustfmt::skip]
const LUCENE: [&str; 33] = [
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no", "not",
    "of", "on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to", "was", "will", "with",
];

/// Stop-word set with a fast path: most words are rejected by first byte and length.
#[derive(Debug, Clone)]
pub(super) struct StopSet {
    /// Bit set of the lengths that occur, by first byte; bit 63 stands for 63 and more bytes.
    lengths: Box<[u64; 256]>,
    sorted: Vec<Box<str>>,
}

impl StopSet {
    pub(super) fn new(words: &StopWords) -> Self {
        let mut set = Self {
            lengths: Box::new([0; 256]),
            sorted: words.iter().map(Into::into).collect(),
        };
        set.sorted.sort_unstable();
        for word in &set.sorted {
            if let Some(&first) = word.as_bytes().first() {
                set.lengths[usize::from(first)] |= length_bit(word);
            }
        }
        set
    }

    pub(super) fn contains(&self, word: &str) -> bool {
        let Some(&first) = word.as_bytes().first() else {
            return false;
        };
        self.lengths[usize::from(first)] & length_bit(word) != 0
            && self.sorted.binary_search_by(|w| (**w).cmp(word)).is_ok()
    }
}

fn length_bit(word: &str) -> u64 {
    1 << word.len().min(63)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_the_length_they_claim() {
        for (list, words) in [(StopWords::Lucene33, 33), (StopWords::Nltk179, 179)] {
            assert_eq!(list.iter().collect::<BTreeSet<_>>().len(), words);
            assert_eq!(list.iter().count(), words);
        }
    }

    #[test]
    fn the_set_equals_the_list() {
        let long = "x".repeat(70);
        for list in [
            StopWords::None,
            StopWords::Lucene33,
            StopWords::Nltk179,
            StopWords::custom([&long, "é", "ab"]),
        ] {
            let set = StopSet::new(&list);
            for word in StopWords::Nltk179.iter().chain([
                "",
                "é",
                "è",
                "ab",
                "ac",
                "abc",
                &long,
                &"x".repeat(71),
            ]) {
                assert_eq!(set.contains(word), list.contains(word), "{word:?}");
            }
        }
    }

    #[test]
    fn stop_words_that_cannot_match_are_rejected() {
        assert_eq!(
            StopWords::custom([""]).check(Normalization::None, false),
            Err(AnalysisError::EmptyStopWord)
        );
        assert!(
            StopWords::custom(["The"])
                .check(Normalization::None, false)
                .is_ok()
        );
        assert_eq!(
            StopWords::custom(["The"]).check(Normalization::None, true),
            Err(AnalysisError::UnmatchableStopWord {
                word: "The".into(),
                term: "the".into()
            })
        );
    }
}
