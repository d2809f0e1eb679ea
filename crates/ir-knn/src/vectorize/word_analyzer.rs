//! Word tokenization of scikit-learn.

use std::ops::Range;

use ir_core::{Analyzer, Token};
use serde::{Deserialize, Serialize};
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

/// scikit-learn's default word analyzer: lowercasing, then every run of at least two letters,
/// digits or underscores (Python's `\w\w+`).
///
/// Letters and digits are those of Unicode. Combining marks are neither and end a word. Words of
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

/// Lowercase form of every ASCII word character; 0 for characters that end a word.
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

impl Analyzer for WordAnalyzer {
    fn analyze(&self, text: &str, emit: &mut dyn FnMut(Token<'_>)) {
        if text.is_ascii() {
            tokenize_ascii(text, self.lower_case, emit);
        } else {
            tokenize_unicode(text, self.lower_case, emit);
        }
    }
}

fn tokenize_ascii(text: &str, lower_case: bool, emit: &mut dyn FnMut(Token<'_>)) {
    let lowered = if lower_case {
        text.to_ascii_lowercase()
    } else {
        String::new()
    };
    let lowered = if lower_case { &lowered } else { text };
    let bytes = text.as_bytes();
    let is_word = |at: usize| LOWER[usize::from(bytes[at] & 127)] != 0;
    let (mut at, mut position) = (0, 0);
    while at < bytes.len() {
        if !is_word(at) {
            at += 1;
            continue;
        }
        let start = at;
        while at < bytes.len() && is_word(at) {
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

fn tokenize_unicode(text: &str, lower_case: bool, emit: &mut dyn FnMut(Token<'_>)) {
    // The lowercase form of a final sigma depends on its context, so the whole text is lowercased.
    let lowered = if lower_case {
        text.to_lowercase()
    } else {
        text.to_owned()
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
    /// Appends a character, given its byte ranges in the lowercased text and in the text.
    #[inline]
    fn add(&mut self, lowered: Range<usize>, text: Range<usize>) {
        if self.characters == 0 {
            (self.from, self.start) = (lowered.start, text.start);
        }
        self.characters += 1;
        (self.to, self.end) = (lowered.end, text.end);
    }
}

/// Whether Python's `\w` matches: letters, numbers of every category, the underscore.
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

    #[test]
    fn both_tokenizers_agree_on_ascii() {
        let text: String = (0..128_u8).map(char::from).cycle().take(700).collect();
        for lower_case in [true, false] {
            let (mut one, mut other) = (Vec::new(), Vec::new());
            tokenize_ascii(&text, lower_case, &mut |t| {
                one.push((t.term.to_owned(), t.start, t.end))
            });
            tokenize_unicode(&text, lower_case, &mut |t| {
                other.push((t.term.to_owned(), t.start, t.end))
            });
            assert_eq!(one, other);
        }
    }
}
