//! Lines of running text, joined to paragraphs.

use std::collections::HashSet;

/// Words of a document, by which hyphens at line ends are kept or removed.
pub(super) struct Hyphens {
    words: HashSet<String>,
}

const HYPHENS: [char; 3] = ['-', '\u{ad}', '\u{2010}'];
/// Inner words of compounds such as state-of-the-art, which no syllable is.
const INNER_WORDS: [&str; 14] = [
    "a", "and", "as", "at", "by", "for", "in", "of", "off", "on", "or", "out", "the", "to",
];
/// Words after a hyphen that stands for a part of a later word: pre- and post-test.
const CONJUNCTIONS: [&str; 8] = ["and", "or", "to", "und", "oder", "et", "ou", "y"];

impl Hyphens {
    /// Collects the words of the lines of a document.
    pub(super) fn new<'a>(lines: impl Iterator<Item = &'a str>) -> Self {
        let mut words = HashSet::new();
        for line in lines {
            // The last word of a line may be a part of one.
            let whole = line
                .split_whitespace()
                .filter(|word| !word.ends_with(HYPHENS));
            words.extend(whole.map(trimmed_word).filter(|word| !word.is_empty()));
        }
        Self { words }
    }

    /// Returns `true` if the document contains a word, in any case and punctuation.
    pub(super) fn contains(&self, word: &str) -> bool {
        self.words.contains(&trimmed_word(word))
    }

    /// Joins the lines of a paragraph.
    pub(super) fn join<'a>(&self, lines: impl Iterator<Item = &'a str>) -> String {
        let mut text = String::new();
        for line in lines {
            self.append(&mut text, line.trim());
        }
        text
    }

    /// Appends a line to a paragraph, after a space. Chinese and Japanese lines have no space
    /// between them.
    ///
    /// A word that is hyphenated at the end of the text is joined with its rest: without the
    /// hyphen, unless
    ///
    /// - the document contains the word with the hyphen only, or both parts as words,
    /// - the hyphen follows a digit or an inner word of a compound (`state-of-the-`), or
    /// - the rest starts with an upper-case letter or a digit.
    pub(super) fn append(&self, text: &mut String, line: &str) {
        let before = text.strip_suffix(HYPHENS);
        let before = before.filter(|before| before.ends_with(char::is_alphanumeric));
        let rest = line.split_whitespace().next().unwrap_or_default();
        let continues = rest.starts_with(char::is_alphanumeric) && !CONJUNCTIONS.contains(&rest);
        let Some(before) = before.filter(|_| continues) else {
            let last = text.chars().next_back();
            let is_spaced = !(last.is_some_and(is_unspaced) && line.starts_with(is_unspaced));
            if is_spaced && !text.is_empty() && !line.is_empty() {
                text.push(' ');
            }
            text.push_str(line);
            return;
        };
        let start = before.split_whitespace().next_back().unwrap_or_default();
        let is_soft = text.ends_with('\u{ad}');
        let keeps = !is_soft && self.keeps_hyphen(start, rest);
        text.truncate(before.len());
        if keeps {
            text.push('-');
        }
        text.push_str(line);
    }

    fn keeps_hyphen(&self, start: &str, rest: &str) -> bool {
        if !(start.ends_with(char::is_alphabetic) && rest.starts_with(char::is_lowercase)) {
            return true;
        }
        if let Some((_, inner)) = start.rsplit_once('-')
            && INNER_WORDS.contains(&&*inner.to_lowercase())
        {
            return true;
        }
        let has = |word: &str| self.words.contains(word);
        let are_words = has(&trimmed_word(start)) && has(&trimmed_word(rest));
        !has(&trimmed_word(&format!("{start}{rest}")))
            && (are_words || has(&trimmed_word(&format!("{start}-{rest}"))))
    }
}

/// Returns `true` for characters of scripts that separate no words: Chinese and Japanese, with
/// their punctuation.
fn is_unspaced(character: char) -> bool {
    matches!(character, '\u{3001}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{ff01}'..='\u{ff60}' | '\u{20000}'..='\u{3ffff}')
}

fn trimmed_word(word: &str) -> String {
    word.trim_matches(|c: char| !c.is_alphanumeric())
        .to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(text: &str) -> String {
        Hyphens::new(text.lines()).join(text.lines())
    }

    #[test]
    fn hyphens_of_syllables_are_removed() {
        for (lines, expected) in [
            ("a tem-\nperature", "a temperature"),
            ("a tem\u{ad}\nperature", "a temperature"),
            ("a tem\u{2010}\nperature", "a temperature"),
            (
                "well-known, a well-\nknown cup",
                "well-known, a well-known cup",
            ),
            ("low cups in a low-\ncups row", "low cups in a low-cups row"),
            ("an end-to-\nend test", "an end-to-end test"),
            ("a 3-\nfold rise", "a 3-fold rise"),
            ("of Smith-\nJones", "of Smith-Jones"),
            ("the pre-\nand post-test", "the pre- and post-test"),
            ("a cup --\nor two", "a cup -- or two"),
            ("a cup -\nor two", "a cup - or two"),
            (
                "水被加热\n到九十度。\nIt is hot.",
                "水被加热到九十度。 It is hot.",
            ),
            ("", ""),
        ] {
            assert_eq!(joined(lines), expected);
        }
    }
}
