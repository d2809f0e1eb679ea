//! Words of a question that score.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::LazyLock;

use ir_core::stop_words::ENGLISH_FUNCTION_WORDS;

/// Function words of questions that BM25 leaves out. Words between quotation marks always score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum FunctionWords {
    /// All words score, except for the stop words of the index.
    None,
    /// [`ENGLISH_FUNCTION_WORDS`].
    #[default]
    English,
}

impl FunctionWords {
    /// A question without its function words, unless it has no other words.
    ///
    /// ```
    /// use ir_qa::retrieval::FunctionWords;
    /// let words = FunctionWords::English;
    /// assert_eq!(words.without("How many hours does it take?"), "hours take?");
    /// assert_eq!(words.without("Who sang \"How do you do\"?"), "sang \"How do you do\"?");
    /// assert_eq!(words.without("Who leads the WHO in the US?"), "leads WHO US?");
    /// assert_eq!(words.without("What is it?"), "What is it?");
    /// assert_eq!(FunctionWords::None.without("What is tea?"), "What is tea?");
    /// ```
    #[must_use]
    pub fn without(self, question: &str) -> Cow<'_, str> {
        if self == Self::None {
            return Cow::Borrowed(question);
        }
        let phrases = phrases(question);
        let is_quoted = |at: usize| phrases.iter().any(|phrase| phrase.contains(&at));
        let (mut words, mut has_content) = (Vec::new(), false);
        for word in question.split_whitespace() {
            let at = word.as_ptr() as usize - question.as_ptr() as usize;
            if is_quoted(at) || !self.contains(word) {
                has_content |= word.contains(char::is_alphanumeric);
                words.push(word);
            }
        }
        if has_content {
            Cow::Owned(words.join(" "))
        } else {
            Cow::Borrowed(question)
        }
    }

    /// Returns `true` if a word without the punctuation around it is a function word. Acronyms such
    /// as "US" and "WHO" are none.
    pub(super) fn contains(self, word: &str) -> bool {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        if word.chars().skip(1).any(char::is_uppercase) {
            return false;
        }
        match self {
            Self::None => false,
            Self::English => ENGLISH.contains(&*word.to_lowercase().replace('’', "'")),
        }
    }
}

static ENGLISH: LazyLock<HashSet<&str>> =
    LazyLock::new(|| ENGLISH_FUNCTION_WORDS.into_iter().collect());

/// Bytes between pairs of quotation marks, with the opening one.
fn phrases(text: &str) -> Vec<Range<usize>> {
    let mut phrases = Vec::new();
    let mut open: Option<(usize, char)> = None;
    for (at, c) in text.char_indices() {
        match open {
            Some((start, close)) if c == close => {
                phrases.push(start..at);
                open = None;
            }
            Some(_) => {}
            None => {
                let close = match c {
                    '"' => '"',
                    '“' => '”',
                    '„' => '“',
                    '«' => '»',
                    _ => continue,
                };
                open = Some((at, close));
            }
        }
    }
    phrases
}
