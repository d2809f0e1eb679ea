//! Query cleaning before analysis.

use super::StopWords;
use ir_core::setters;
use serde::{Deserialize, Serialize};

/// Query cleaning: text to text, before analysis. The steps of the DataFinder experiments
/// (Viswanathan et al., ACL 2023), applied in field order.
///
/// ```
/// use ir_bm25::analysis::{QueryCleaning, StopWords};
///
/// let cleaning = QueryCleaning::datafinder();
/// let query = "We study state-of-the-art QA, e.g. on SQuAD.";
/// assert_eq!(cleaning.clean(query), "study state art QA e g SQuAD");
/// assert_eq!(QueryCleaning::default().clean(" As  it is. "), " As  it is. ");
/// assert_eq!(QueryCleaning::default().with_lower_case(true).clean("As IS"), "as is");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct QueryCleaning {
    /// Replaces the 32 ASCII punctuation characters by spaces and collapses white space. Default:
    /// false.
    pub punctuation: bool,
    /// Lowercases the text by Unicode's full case mapping. Default: false.
    pub lower_case: bool,
    /// Stop words to remove, ignoring case; the remaining words are joined by single spaces.
    /// Default: [`StopWords::None`].
    pub stop_words: StopWords,
}

impl Default for QueryCleaning {
    /// Cleaning with every step disabled.
    fn default() -> Self {
        Self {
            punctuation: false,
            lower_case: false,
            stop_words: StopWords::None,
        }
    }
}

impl QueryCleaning {
    /// Cleaning of DataFinder's nearest-neighbor runs: removes punctuation and NLTK's stop words,
    /// keeps case. DataFinder's BM25 runs use no cleaning, which is the default.
    pub fn datafinder() -> Self {
        Self {
            punctuation: true,
            lower_case: false,
            stop_words: StopWords::Nltk179,
        }
    }

    setters! {
        with_punctuation_removed: punctuation, bool;
        with_lower_case: lower_case, bool;
        with_stop_words: stop_words, StopWords;
    }

    /// Applies the enabled steps to a query.
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

/// Splits at white space as Python's `str.split` does, which includes the four ASCII information
/// separators.
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
    fn stop_words_are_removed_in_any_case() {
        let cleaning = QueryCleaning::default().with_stop_words(StopWords::Nltk179);
        assert_eq!(cleaning.clean("The method, isn't IT good"), "method, good");
        // Punctuation removal splits contractions into pieces that are stop words too.
        assert_eq!(QueryCleaning::datafinder().clean("They don't"), "");
    }
}
