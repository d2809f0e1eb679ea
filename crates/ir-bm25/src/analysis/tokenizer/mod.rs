//! Tokenizers: splitting text into words.

mod classes;
mod code_points;
mod word_break;

use serde::{Deserialize, Serialize};

use self::classes::{WordBreakClass, class};

/// Tokenizer: splits text into words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Tokenizer {
    /// Word boundaries of Unicode Standard Annex 29, as in Lucene 9's `StandardTokenizer`. One
    /// token each: `3.14`, `don't`, a Han or Hiragana character, a run of Thai, Lao, Khmer or
    /// Myanmar, an emoji. `state-of-the-art` is four tokens.
    ///
    /// The character classes are pinned to Unicode 12.1, as in Lucene 9: characters added since
    /// (Garay letters, for example) separate words.
    #[default]
    Unicode,
    /// Splits at white space, as Lucene's `WhitespaceTokenizer`: no-break spaces (U+00A0, U+2007,
    /// U+202F) and U+0085 do not separate. For pretokenized text.
    Whitespace,
}

impl Tokenizer {
    /// Calls `emit` with the start and end (in bytes) of every token of `text`. Tokens of more than
    /// `max` UTF-16 units are split.
    pub(super) fn split(self, text: &str, max: usize, emit: &mut dyn FnMut(usize, usize)) {
        match self {
            Self::Unicode => word_break::split(text, max, emit),
            Self::Whitespace => split_whitespace(text, max, emit),
        }
    }
}

/// Returns `true` for the tokens of the Unicode tokenizer that Lucene's `StandardTokenizer` gives
/// the type of Han, Hiragana, Katakana or Hangul.
pub(super) fn is_cjk(token: &str) -> bool {
    if token.is_ascii() {
        return false;
    }
    let mut script = None;
    for c in token.chars() {
        let next = match class(c) {
            WordBreakClass::Ideograph => return true,
            WordBreakClass::Katakana => WordBreakClass::Katakana,
            WordBreakClass::Letter if is_hangul(c) => WordBreakClass::Letter,
            class if class.extends() => continue,
            _ => return false,
        };
        if *script.get_or_insert(next) != next {
            return false;
        }
    }
    script.is_some()
}

/// Returns `true` for the letters of the script Hangul.
fn is_hangul(c: char) -> bool {
    matches!(c,
        '\u{1100}'..='\u{11ff}' | '\u{3131}'..='\u{318e}' | '\u{3200}'..='\u{321e}'
        | '\u{3260}'..='\u{327e}' | '\u{a960}'..='\u{a97c}' | '\u{ac00}'..='\u{d7a3}'
        | '\u{d7b0}'..='\u{d7fb}' | '\u{ffa0}'..='\u{ffdc}')
}

fn separates(c: char) -> bool {
    match c {
        '\t'..='\r' | '\x1c'..='\x1f' | ' ' => true,
        '\u{85}' | '\u{a0}' | '\u{2007}' | '\u{202f}' => false,
        _ => !c.is_ascii() && c.is_whitespace(),
    }
}

fn split_whitespace(text: &str, max: usize, emit: &mut dyn FnMut(usize, usize)) {
    let (mut start, mut units) = (0, 0);
    for (at, c) in text.char_indices() {
        if separates(c) {
            if units > 0 {
                emit(start, at);
            }
            units = 0;
            continue;
        }
        if units == 0 {
            start = at;
        }
        units += c.len_utf16();
        if units >= max {
            emit(start, at + c.len_utf8());
            units = 0;
        }
    }
    if units > 0 {
        emit(start, text.len());
    }
}
