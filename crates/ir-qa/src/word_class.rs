//! Sets of words that are constants.

use std::collections::HashSet;
use std::sync::OnceLock;

/// Words of a class, such as the prepositions or the block elements of HTML.
pub(crate) struct WordClass {
    /// Words between white space.
    words: &'static str,
    set: OnceLock<HashSet<&'static str>>,
}

impl WordClass {
    /// Creates a class of words between white space.
    pub(crate) const fn new(words: &'static str) -> Self {
        Self {
            words,
            set: OnceLock::new(),
        }
    }

    /// The word of the class that equals a word.
    pub(crate) fn get(&self, word: &str) -> Option<&'static str> {
        let words = || self.words.split_whitespace().collect();
        self.set.get_or_init(words).get(word).copied()
    }

    /// Returns `true` if a word is in the class.
    pub(crate) fn contains(&self, word: &str) -> bool {
        self.get(word).is_some()
    }

    /// Returns `true` if a word is in a class of words in lower case, in any case.
    pub(crate) fn has(&self, word: &str) -> bool {
        if word.chars().any(char::is_uppercase) {
            return self.contains(&word.to_lowercase());
        }
        self.contains(word)
    }
}
