//! What is done to a query before any analysis sees it.

use super::StopWords;
use serde::{Deserialize, Serialize};

/// Tidies a query as text: text in, text out. The steps are those of the DataFinder experiments (Viswanathan et al.,
/// ACL 2023), each off unless asked for, and taken in the order of the fields.
///
/// ```
/// use ir_bm25::analysis::{QueryCleaning, StopWords};
///
/// let cleaning = QueryCleaning::datafinder();
/// assert_eq!(cleaning.clean("We study state-of-the-art QA, e.g. on SQuAD."), "study state art QA e g SQuAD");
/// assert_eq!(QueryCleaning::default().clean(" As  it is. "), " As  it is. ");
/// assert_eq!(QueryCleaning::default().with_lower_case(true).clean("As IS"), "as is");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct QueryCleaning {
    /// Whether the 32 ASCII punctuation characters become blanks, and runs of white space one blank.
    pub punctuation: bool,
    /// Whether the text is lower-cased, by Unicode's full mapping.
    pub lower_case: bool,
    /// Words (between white space) to take out, whatever their case; the others are then parted by one blank.
    pub stop_words: StopWords,
}

impl Default for QueryCleaning {
    /// Leaves every query as it is.
    fn default() -> Self {
        Self {
            punctuation: false,
            lower_case: false,
            stop_words: StopWords::None,
        }
    }
}

impl QueryCleaning {
    /// What DataFinder's nearest-neighbour runs do: punctuation and NLTK's stop words out, case kept. Its BM25 runs
    /// do nothing, which is the default.
    pub fn datafinder() -> Self {
        Self {
            punctuation: true,
            lower_case: false,
            stop_words: StopWords::Nltk179,
        }
    }

    /// The same with or without punctuation.
    #[must_use]
    pub fn with_punctuation_removed(self, punctuation: bool) -> Self {
        Self {
            punctuation,
            ..self
        }
    }

    /// The same with or without lower-casing.
    #[must_use]
    pub fn with_lower_case(self, lower_case: bool) -> Self {
        Self { lower_case, ..self }
    }

    /// The same with other stop words.
    #[must_use]
    pub fn with_stop_words(self, stop_words: StopWords) -> Self {
        Self { stop_words, ..self }
    }

    /// The cleaned query.
    pub fn clean(&self, query: &str) -> String {
        let mut text = query.to_owned();
        if self.punctuation {
            text = join(words(
                &text.replace(|c: char| c.is_ascii_punctuation(), " "),
            ));
        }
        if self.lower_case {
            text = text.to_lowercase();
        }
        if self.stop_words != StopWords::None {
            text = join(words(&text).filter(|w| !self.stop_words.contains(&w.to_lowercase())));
        }
        text
    }
}

/// Between white space as Python sees it, which counts the four information separators of ASCII in.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || ('\x1c'..='\x1f').contains(&c))
        .filter(|w| !w.is_empty())
}

fn join<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn punctuation_is_pythons() {
        let cleaning = QueryCleaning::default().with_punctuation_removed(true);
        let all: String = ('!'..='~').filter(|c| !c.is_ascii_alphanumeric()).collect();
        assert_eq!(all.len(), 32);
        assert_eq!(cleaning.clean(&all), "");
        assert_eq!(
            cleaning.clean("it\u{2019}s  \u{1c}a—b\u{a0}c"),
            "it\u{2019}s a—b c"
        );
    }

    #[test]
    fn stop_words_go_whatever_their_case() {
        let cleaning = QueryCleaning::default().with_stop_words(StopWords::Nltk179);
        assert_eq!(cleaning.clean("The method, isn't IT good"), "method, good");
        // Without its apostrophe a contraction falls to pieces, which are on the list themselves.
        assert_eq!(QueryCleaning::datafinder().clean("They don't"), "");
    }
}
