//! Initials over several lines, which extraction of text separates from their words.

use super::hyphens::Hyphens;

/// Initial over several lines.
pub(super) struct DropCap {
    letter: String,
}

impl DropCap {
    /// Initial on a line of its own: an upper-case letter, possibly after an opening quote.
    pub(super) fn new(line: &str) -> Option<Self> {
        let line = line.trim();
        let letter = line.strip_prefix(['"', '“', '‘', '\'']).unwrap_or(line);
        let mut characters = letter.chars();
        let is_letter = characters.next().is_some_and(char::is_uppercase);
        (is_letter && characters.next().is_none()).then(|| Self {
            letter: line.to_owned(),
        })
    }

    /// Returns `true` if the document has the word that the initial and the start of a line form.
    pub(super) fn starts_known_word(&self, line: &str, words: &Hyphens) -> bool {
        let word = line.split_whitespace().next().unwrap_or_default();
        words.contains(&format!("{}{word}", self.letter))
    }

    /// Returns `true` if the initial starts the first word of a line. A, I and O are words: they
    /// start one that the document has.
    fn starts(&self, line: &str, words: &Hyphens) -> bool {
        let is_word = self.letter.ends_with(['A', 'I', 'O']);
        // Small capitals follow many initials.
        line.trim_start().starts_with(char::is_alphabetic)
            && (!is_word || self.starts_known_word(line, words))
    }
}

/// A line after the initial of its paragraph.
pub(super) fn with_drop_cap(cap: Option<DropCap>, line: &str, words: &Hyphens) -> String {
    match cap {
        None => line.to_owned(),
        Some(cap) if cap.starts(line, words) => cap.letter + line.trim_start(),
        Some(cap) => cap.letter + " " + line.trim_start(),
    }
}

/// A line such as `T he cup` with its first word joined, if the word occurs in the document.
pub(super) fn with_first_word(line: &str, words: &Hyphens) -> Option<String> {
    let (first, rest) = line.split_once(' ')?;
    let cap = DropCap::new(first).filter(|cap| !cap.letter.ends_with(['A', 'I', 'O']))?;
    let is_word = rest.starts_with(char::is_lowercase) && cap.starts_known_word(rest, words);
    is_word.then(|| cap.letter + rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn initials_start_words() {
        let words = Hyphens::new(["the analysis of cups: a test"].into_iter());
        let joined = |cap: &str, line: &str| with_drop_cap(DropCap::new(cap), line, &words);
        assert_eq!(joined("T", "he cup"), "The cup");
        assert_eq!(joined("“T", "HE CUP"), "“THE CUP");
        assert_eq!(joined("A", "nalysis of cups"), "Analysis of cups");
        assert_eq!(joined("A", "cup"), "A cup");
        assert_eq!(joined("S", "5 cups"), "S 5 cups");
        assert_eq!(joined("t", "he"), "he");
        assert_eq!(with_first_word("T he cup", &words).unwrap(), "The cup");
        for line in ["X is low", "A cup", "The cup", "T HE"] {
            assert_eq!(with_first_word(line, &words), None, "{line}");
        }
    }
}
