//! Word tokenization of scikit-learn.

use std::borrow::Cow;
use std::ops::Range;

use ir_core::{Analyzer, Token};
use serde::{Deserialize, Serialize};
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

/// scikit-learn's default word analyzer: lowercasing, then every run of at least two letters,
/// digits or underscores (Python's `\w\w+`).
///
/// Letters and digits follow Unicode. Combining marks are neither and end a word. Words of
/// one character are dropped: "don't" becomes "don", "co-operative" becomes "co" and "operative".
/// There is no stemming and no accent stripping.
///
/// ```
/// use ir_core::Analyzer;
/// use ir_knn::WordAnalyzer;
/// let terms = WordAnalyzer::default().terms("A co-operative don't x Ünï_2");
/// assert_eq!(terms, ["co", "operative", "don", "ünï_2"]);
/// ```
///
/// # Source
/// `token_pattern` and `lowercase` of scikit-learn's `CountVectorizer`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WordAnalyzer {
    /// Lowercasing before tokenization, by Unicode's full case mapping. Default: true.
    pub lower_case: bool,
}

impl Default for WordAnalyzer {
    fn default() -> Self {
        Self { lower_case: true }
    }
}

impl Analyzer for WordAnalyzer {
    fn analyze(&self, text: &str, emit: &mut dyn FnMut(Token<'_>)) {
        // The lowercase form of a final sigma depends on its context, so the whole text is
        // lowercased.
        let lowered = if self.lower_case {
            Cow::Owned(text.to_lowercase())
        } else {
            Cow::Borrowed(text)
        };
        let mut word = OpenWord::default();
        let mut position = 0;
        let mut end_word = |word: &mut OpenWord| {
            if word.characters > 1 {
                emit(Token {
                    term: &lowered[word.from..word.to],
                    start: word.start,
                    end: word.end,
                    position,
                });
                position += 1;
            }
            word.characters = 0;
        };
        // Walks both texts at once: each character of `text` corresponds to a slice of `lowered`.
        let (mut at, mut start) = (0, 0);
        let bytes = text.as_bytes();
        while let Some(&byte) = bytes.get(start) {
            if is_ascii_word(byte) {
                let mut end = start + 1;
                while bytes.get(end).is_some_and(|&byte| is_ascii_word(byte)) {
                    end += 1;
                }
                let length = end - start;
                word.add(length, at..at + length, start..end);
                (at, start) = (at + length, end);
                continue;
            }
            if byte.is_ascii() {
                end_word(&mut word);
                (at, start) = (at + 1, start + 1);
                continue;
            }
            let Some(original) = text[start..].chars().next() else {
                break;
            };
            let end = start + original.len_utf8();
            let piece = if self.lower_case {
                original.to_lowercase().map(char::len_utf8).sum()
            } else {
                original.len_utf8()
            };
            for c in lowered[at..at + piece].chars() {
                if is_word(c) {
                    word.add(1, at..at + c.len_utf8(), start..end);
                } else {
                    end_word(&mut word);
                }
                at += c.len_utf8();
            }
            start = end;
        }
        end_word(&mut word);
    }
}

/// Word that has not ended yet.
#[derive(Default)]
struct OpenWord {
    characters: usize,
    /// Byte range in the lowercased text.
    from: usize,
    to: usize,
    /// Byte range in the text.
    start: usize,
    end: usize,
}

impl OpenWord {
    /// Appends characters, given their byte ranges in the lowercased text and in the text.
    #[inline]
    fn add(&mut self, characters: usize, lowered: Range<usize>, text: Range<usize>) {
        if self.characters == 0 {
            (self.from, self.start) = (lowered.start, text.start);
        }
        self.characters += characters;
        (self.to, self.end) = (lowered.end, text.end);
    }
}

/// Returns `true` if Python's `\w` matches: letters, numbers of every category, the underscore.
fn is_word(c: char) -> bool {
    match u8::try_from(c) {
        Ok(byte) if byte.is_ascii() => is_ascii_word(byte),
        _ => matches!(
            c.general_category_group(),
            GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number
        ),
    }
}

/// Returns `true` if a byte is an ASCII letter, digit or underscore. A table is faster than
/// comparisons.
#[inline]
fn is_ascii_word(byte: u8) -> bool {
    const IS_WORD: [bool; 256] = {
        let mut table = [false; 256];
        let mut byte = 0_u8;
        while byte < 128 {
            table[byte as usize] = byte.is_ascii_alphanumeric() || byte == b'_';
            byte += 1;
        }
        table
    };
    IS_WORD[usize::from(byte)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str, lower_case: bool) -> Vec<(String, String, u32)> {
        let mut tokens = Vec::new();
        WordAnalyzer { lower_case }.analyze(text, &mut |token| {
            tokens.push((
                token.term.to_owned(),
                text[token.start..token.end].to_owned(),
                token.position,
            ));
        });
        tokens
    }

    #[test]
    fn terms_have_offsets_and_positions() {
        let token =
            |term: &str, source: &str, position| (term.to_owned(), source.to_owned(), position);
        let text = "The A-Team's x İZMİR ΟΔΟΣ, Straße!";
        assert_eq!(
            tokens(text, true),
            [
                token("the", "The", 0),
                token("team", "Team", 1),
                // The combining dot above from İ ends a word.
                token("zmi", "ZMİ", 2),
                token("οδος", "ΟΔΟΣ", 3),
                token("straße", "Straße", 4),
            ]
        );
        assert_eq!(tokens("Ab aB", false)[0].0, "Ab");
        assert_eq!(tokens("Äb aB é", false).len(), 2);
    }

    /// ASCII words are scanned by runs, other words by characters.
    #[test]
    fn every_ascii_character_is_classified() {
        let text: String = (0..128_u8).map(char::from).cycle().take(700).collect();
        for lower_case in [true, false] {
            let mut found = Vec::new();
            WordAnalyzer { lower_case }.analyze(&text, &mut |token| {
                found.push((token.term.to_owned(), token.start, token.end));
            });
            let mut expected = Vec::new();
            for word in text.split(|c| !is_word(c)).filter(|word| word.len() > 1) {
                let start = word.as_ptr() as usize - text.as_ptr() as usize;
                let term = if lower_case {
                    word.to_ascii_lowercase()
                } else {
                    word.to_owned()
                };
                expected.push((term, start, start + word.len()));
            }
            assert_eq!(found, expected);
        }
    }
}
