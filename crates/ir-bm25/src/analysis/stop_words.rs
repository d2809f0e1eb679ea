//! Stop-word lists of Lucene and NLTK, and custom ones.

use super::error::AnalysisError;
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
    /// A custom list; in lowercase if tokens are lowercased. Its words are normalized as tokens
    /// are.
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
            if !normalization.has_case_of_terms(word, lower_case) {
                let mut term = String::new();
                normalization.push_term(&mut term, word, false, lower_case);
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
        let list = StopWords::custom(["e\u{301}te\u{301}", "à", "ｋ"]);
        for normalization in [
            Normalization::Nfc,
            Normalization::Width,
            Normalization::Fold,
        ] {
            assert_eq!(list.check(normalization, true), Ok(()));
        }
        assert!(
            StopWords::custom(["É"])
                .check(Normalization::Fold, false)
                .is_err()
        );
    }
}
