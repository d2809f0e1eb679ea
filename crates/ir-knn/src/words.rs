//! scikit-learn's rule for words.

use std::ops::Range;

use ir_core::{Analyzer, Token};
use serde::{Deserialize, Serialize};
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

/// scikit-learn's default way from text to words: lower case, then every run of at least two
/// letters, digits or underscores (`\w\w+` as Python reads it).
///
/// Letters and digits are Unicode's; combining marks are neither and end a word. Words of one
/// character vanish, "don't" becomes "don", "co-operative" becomes "co" and "operative". Nothing is
/// stemmed and no accent is stripped.
///
/// ```
/// use ir_core::Analyzer;
/// use ir_knn::Words;
/// assert_eq!(Words::default().terms("A co-operative don't x Ünï_2"), ["co", "operative", "don", "ünï_2"]);
/// ```
///
/// # Source
/// `token_pattern` and `lowercase` of scikit-learn's `CountVectorizer`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Words {
    /// Whether words are lower-cased first (by Unicode's full mapping, as Python does).
    pub lower_case: bool,
}

impl Default for Words {
    /// In lower case.
    fn default() -> Self {
        Self { lower_case: true }
    }
}

/// What a byte of ASCII becomes inside a word in lower case; 0 where it ends one.
const LOWER: [u8; 128] = {
    let mut table = [0; 128];
    let mut byte = 0_u8;
    while byte < 128 {
        if byte.is_ascii_alphanumeric() || byte == b'_' {
            table[byte as usize] = byte.to_ascii_lowercase();
        }
        byte += 1;
    }
    table
};

impl Analyzer for Words {
    fn analyze(&self, text: &str, emit: &mut dyn FnMut(Token<'_>)) {
        if text.is_ascii() {
            ascii(text, self.lower_case, emit);
        } else {
            unicode(text, self.lower_case, emit);
        }
    }
}

fn ascii(text: &str, lower_case: bool, emit: &mut dyn FnMut(Token<'_>)) {
    let lowered = if lower_case {
        text.to_ascii_lowercase()
    } else {
        String::new()
    };
    let lowered = if lower_case { &lowered } else { text };
    let bytes = text.as_bytes();
    let inside = |at: usize| LOWER[usize::from(bytes[at] & 127)] != 0;
    let (mut at, mut position) = (0, 0);
    while at < bytes.len() {
        if !inside(at) {
            at += 1;
            continue;
        }
        let start = at;
        while at < bytes.len() && inside(at) {
            at += 1;
        }
        if at - start > 1 {
            emit(Token {
                term: &lowered[start..at],
                start,
                end: at,
                position,
            });
            position += 1;
        }
    }
}

fn unicode(text: &str, lower_case: bool, emit: &mut dyn FnMut(Token<'_>)) {
    // The final sigma depends on its neighbours, so that the text is lowered as a whole.
    let lowered = if lower_case {
        text.to_lowercase()
    } else {
        text.to_owned()
    };
    let mut word = Word::default();
    let mut position = 0;
    let mut end_word = |word: &mut Word| {
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
    // Walks both texts at once: each character of `text` has its piece of `lowered`.
    let (mut at, mut start) = (0, 0);
    while let Some(&byte) = text.as_bytes().get(start) {
        if byte.is_ascii() {
            if LOWER[usize::from(byte)] != 0 {
                word.add(at..at + 1, start..start + 1);
            } else {
                end_word(&mut word);
            }
            (at, start) = (at + 1, start + 1);
            continue;
        }
        let Some(original) = text[start..].chars().next() else {
            break;
        };
        let end = start + original.len_utf8();
        let piece = if lower_case {
            original.to_lowercase().map(char::len_utf8).sum()
        } else {
            original.len_utf8()
        };
        for c in lowered[at..at + piece].chars() {
            if is_word(c) {
                word.add(at..at + c.len_utf8(), start..end);
            } else {
                end_word(&mut word);
            }
            at += c.len_utf8();
        }
        start = end;
    }
    end_word(&mut word);
}

/// A word that may go on.
#[derive(Default)]
struct Word {
    characters: usize,
    /// In the lowered text.
    from: usize,
    to: usize,
    /// In the text.
    start: usize,
    end: usize,
}

impl Word {
    /// One more character: where it is in the lowered text, and what it comes from in the text.
    #[inline]
    fn add(&mut self, lowered: Range<usize>, text: Range<usize>) {
        if self.characters == 0 {
            (self.from, self.start) = (lowered.start, text.start);
        }
        self.characters += 1;
        (self.to, self.end) = (lowered.end, text.end);
    }
}

/// Whether Python's `\w` matches: letters, every kind of number, the underscore.
fn is_word(c: char) -> bool {
    if c.is_ascii() {
        return LOWER[c as usize & 127] != 0;
    }
    matches!(
        c.general_category_group(),
        GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str, lower_case: bool) -> Vec<(String, String, u32)> {
        let mut tokens = Vec::new();
        Words { lower_case }.analyze(text, &mut |token| {
            tokens.push((
                token.term.to_owned(),
                text[token.start..token.end].to_owned(),
                token.position,
            ));
        });
        tokens
    }

    #[test]
    fn terms_with_their_places() {
        let own =
            |term: &str, source: &str, position| (term.to_owned(), source.to_owned(), position);
        let text = "The A-Team's x İZMİR ΟΔΟΣ, Straße!";
        assert_eq!(
            tokens(text, true),
            [
                own("the", "The", 0),
                own("team", "Team", 1),
                // The dot above that İ leaves is a mark, which ends a word.
                own("zmi", "ZMİ", 2),
                own("οδος", "ΟΔΟΣ", 3),
                own("straße", "Straße", 4),
            ]
        );
        assert_eq!(tokens("Ab aB", false)[0].0, "Ab");
        assert_eq!(tokens("Äb aB é", false).len(), 2);
    }

    #[test]
    fn both_ways_agree_on_ascii() {
        let text: String = (0..128_u8).map(char::from).cycle().take(700).collect();
        for lower_case in [true, false] {
            let (mut one, mut other) = (Vec::new(), Vec::new());
            ascii(&text, lower_case, &mut |t| {
                one.push((t.term.to_owned(), t.start, t.end))
            });
            unicode(&text, lower_case, &mut |t| {
                other.push((t.term.to_owned(), t.start, t.end))
            });
            assert_eq!(one, other);
        }
    }
}
