//! Tokenizers: a text to the places of its words.

mod classes;
mod code_points;
mod word_break;

use serde::{Deserialize, Serialize};

/// How a text is cut into words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Tokenizer {
    /// The words of Unicode's annex 29 as Lucene's `StandardTokenizer` (version 9) finds them; what lies between them
    /// is dropped. `state-of-the-art` is four words, `3.14` and `don't` are one, every Han and Hiragana character is
    /// one, a run of Thai, Lao, Khmer or Myanmar is one, an emoji is one.
    ///
    /// The character classes are those of Unicode 12.1, as in Lucene 9, and stay so: characters that were added to
    /// Unicode since (Garay letters, say) separate words, as they do in Lucene.
    #[default]
    Unicode,
    /// Everything between white space, as Lucene's `WhitespaceTokenizer` finds it: the no-break spaces (U+00A0,
    /// U+2007, U+202F) and U+0085 do not separate. For text that was cut into words before.
    Whitespace,
}

impl Tokenizer {
    /// Calls `emit` with the start and end (in bytes) of every word of `text`. A word of more than `max` UTF-16 units
    /// is cut into pieces.
    pub(super) fn split(self, text: &str, max: usize, emit: &mut dyn FnMut(usize, usize)) {
        match self {
            Self::Unicode => word_break::split(text, max, emit),
            Self::Whitespace => split_whitespace(text, max, emit),
        }
    }
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
