//! Words as Lucene's `StandardTokenizer` finds them: the word boundaries of Unicode's annex 29, of which only the
//! segments with a letter, a digit or an emoji are kept.
//!
//! Where Lucene's grammar and the annex differ, this follows Lucene: a run of a script that is written without blanks
//! (Thai, Lao, Khmer, Myanmar) is one token, Han and Hiragana give one token a character, emoji sequences are those of
//! Unicode's report 51, and nothing looks further than the longest allowed token.

use super::classes::{Class, class};

/// For every byte: an ASCII letter or digit.
const ALPHANUMERIC: [bool; 256] = {
    let mut table = [false; 256];
    let mut i = 0;
    while i < 128 {
        table[i] = (i as u8).is_ascii_alphanumeric();
        i += 1;
    }
    table
};

/// Calls `emit` with the start and the end of every token. `max` is the longest token, in UTF-16 units.
pub(super) fn split(text: &str, max: usize, emit: &mut dyn FnMut(usize, usize)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        if ALPHANUMERIC[usize::from(byte)] {
            if let Some(end) = plain_word(bytes, at, max) {
                emit(at, end);
                at = end;
                continue;
            }
        } else if byte.is_ascii() && !matches!(byte, b'_' | b'#' | b'*') {
            at += 1;
            continue;
        }
        match token_at(text, at, max) {
            Some(end) => {
                emit(at, end);
                at = end;
            }
            None => at += text[at..].chars().next().map_or(1, char::len_utf8),
        }
    }
}

/// The end of a word of ASCII letters and digits, when what follows cannot be part of it. The general way would find
/// the same; most words of most texts are found here.
fn plain_word(bytes: &[u8], start: usize, max: usize) -> Option<usize> {
    let mut end = start + 1;
    // One past the longest token is far enough: a run of millions of letters is cut in pieces, and
    // looking to its end for every piece would take for ever.
    let far = bytes.len().min(start + max + 1);
    while end < far && ALPHANUMERIC[usize::from(bytes[end])] {
        end += 1;
    }
    if end - start > max {
        return None;
    }
    match bytes.get(end) {
        None => Some(end),
        // These join when a letter or digit (or something outside ASCII) follows.
        Some(b'.' | b',' | b':' | b';' | b'\'') => match bytes.get(end + 1) {
            Some(&next) if !next.is_ascii() || next.is_ascii_alphanumeric() => None,
            _ => Some(end),
        },
        Some(b'_') => None,
        Some(byte) => byte.is_ascii().then_some(end),
    }
}

/// The end of the longest token that begins at `start`, if any does.
#[inline(never)]
fn token_at(text: &str, start: usize, max: usize) -> Option<usize> {
    use Class::*;
    let mut window = Window {
        text,
        at: start,
        room: max,
    };
    let first = window.next()?;
    match first {
        Letter | Hebrew | Numeric | Katakana | ExtendNumLet => word(window, first),
        EmojiLetter => word(window, first).max(emoji(window, first)),
        Emoji | Modifier | ZeroWidthJoiner => emoji(window, first),
        KeycapBase => keycap(window),
        Regional => flag(window),
        SoutheastAsian | SoutheastAsianMark => {
            Some(window.skip(|c| c == SoutheastAsian || c.extends()))
        }
        Ideograph => Some(window.skip(Class::extends)),
        Other | MidLetter | MidNum | MidNumLet | SingleQuote | DoubleQuote | Extend
        | TextSelector | EmojiSelector | Keycap | Tag | TagEnd => None,
    }
}

/// The characters that a token may still take.
#[derive(Clone, Copy)]
struct Window<'a> {
    text: &'a str,
    /// Where the next character begins.
    at: usize,
    /// How many UTF-16 units are left.
    room: usize,
}

impl Window<'_> {
    fn next(&mut self) -> Option<Class> {
        let c = self.text[self.at..].chars().next()?;
        self.room = self.room.checked_sub(c.len_utf16())?;
        self.at += c.len_utf8();
        Some(class(c))
    }

    /// Where the run of characters that `belongs` allows ends.
    fn skip(mut self, belongs: impl Fn(Class) -> bool) -> usize {
        let mut end = self.at;
        while self.next().is_some_and(&belongs) {
            end = self.at;
        }
        end
    }
}

/// Where a word of letters, digits, Katakana and joiners stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Word {
    /// Underscores only: not a word yet.
    Underscores,
    Letter,
    Hebrew,
    /// Hebrew letter and apostrophe: a word as it is, and more letters may follow.
    HebrewQuote,
    /// Hebrew letter and double quote: a Hebrew letter must follow.
    HebrewDoubleQuote,
    /// The Hebrew letter after that.
    HebrewAfterDoubleQuote,
    /// Letter and joiner: a letter must follow.
    LetterJoiner,
    Number,
    /// Digit and joiner: a digit must follow.
    NumberJoiner,
    Katakana,
    /// A word, and underscores behind it.
    Joined,
}

impl Word {
    fn is_complete(self) -> bool {
        !matches!(
            self,
            Self::Underscores | Self::HebrewDoubleQuote | Self::LetterJoiner | Self::NumberJoiner
        )
    }

    fn begin(class: Class) -> Option<Self> {
        match class {
            Class::Letter | Class::EmojiLetter => Some(Self::Letter),
            Class::Hebrew => Some(Self::Hebrew),
            Class::Numeric => Some(Self::Number),
            Class::Katakana => Some(Self::Katakana),
            _ => None,
        }
    }

    fn step(self, next: Class) -> Option<Self> {
        use Class as C;
        if next.extends() {
            return Some(self);
        }
        let begin = Self::begin(next);
        match self {
            Self::Underscores => begin.or((next == C::ExtendNumLet).then_some(self)),
            Self::Joined => begin.or((next == C::ExtendNumLet).then_some(self)),
            // A letter behind a joiner is taken as a plain one, Hebrew or not.
            Self::LetterJoiner => {
                matches!(next, C::Letter | C::EmojiLetter | C::Hebrew).then_some(Self::Letter)
            }
            Self::NumberJoiner => (next == C::Numeric).then_some(Self::Number),
            Self::HebrewDoubleQuote => (next == C::Hebrew).then_some(Self::HebrewAfterDoubleQuote),
            Self::Katakana => match next {
                C::Katakana => Some(self),
                C::ExtendNumLet => Some(Self::Joined),
                _ => None,
            },
            Self::Letter
            | Self::Hebrew
            | Self::HebrewQuote
            | Self::HebrewAfterDoubleQuote
            | Self::Number => match next {
                C::Letter | C::EmojiLetter | C::Hebrew | C::Numeric => begin,
                C::ExtendNumLet => Some(Self::Joined),
                C::SingleQuote if self == Self::Hebrew => Some(Self::HebrewQuote),
                C::DoubleQuote if self == Self::Hebrew => Some(Self::HebrewDoubleQuote),
                C::MidLetter | C::MidNumLet | C::SingleQuote
                    if matches!(self, Self::Letter | Self::Hebrew) =>
                {
                    Some(Self::LetterJoiner)
                }
                C::MidNum | C::MidNumLet | C::SingleQuote if self == Self::Number => {
                    Some(Self::NumberJoiner)
                }
                _ => None,
            },
        }
    }
}

fn word(mut window: Window<'_>, first: Class) -> Option<usize> {
    let mut state = Word::begin(first).unwrap_or(Word::Underscores);
    let mut end = state.is_complete().then_some(window.at);
    while let Some(next) = window.next().and_then(|class| state.step(class)) {
        state = next;
        if state.is_complete() {
            end = Some(window.at);
        }
    }
    end
}

/// Where an emoji sequence stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Emoji {
    /// Joiners at the very beginning: a pictograph must follow.
    Leading,
    /// A pictograph with its marks.
    Pictograph,
    /// The same, a joiner last: a further pictograph may follow.
    PictographJoiner,
    /// A skin tone that has no pictograph of its own, with its marks.
    Tone,
    /// The same, a joiner last.
    ToneJoiner,
    /// The selector of the emoji form behind a pictograph.
    Selected,
    /// One joiner behind it: a pictograph or a skin tone must follow.
    SelectedJoiner,
    /// More joiners: a pictograph must follow.
    SelectedJoiners,
    /// Tags behind the selector: the end of the tags must follow.
    Tags,
    /// The end of the tags: nothing follows.
    Tagged,
}

impl Emoji {
    fn is_complete(self) -> bool {
        !matches!(
            self,
            Self::Leading | Self::SelectedJoiner | Self::SelectedJoiners | Self::Tags
        )
    }

    fn step(self, next: Class) -> Option<Self> {
        use Class as C;
        let pictograph = matches!(next, C::Emoji | C::EmojiLetter);
        let joiner = next == C::ZeroWidthJoiner;
        match self {
            Self::Leading if joiner => Some(self),
            Self::SelectedJoiner | Self::SelectedJoiners if joiner => Some(Self::SelectedJoiners),
            Self::SelectedJoiner if next == C::Modifier => Some(Self::Tone),
            Self::Leading
            | Self::PictographJoiner
            | Self::ToneJoiner
            | Self::SelectedJoiner
            | Self::SelectedJoiners
                if pictograph =>
            {
                Some(Self::Pictograph)
            }
            Self::Pictograph | Self::PictographJoiner => match next {
                C::ZeroWidthJoiner => Some(Self::PictographJoiner),
                C::EmojiSelector => Some(Self::Selected),
                _ => next.extends_emoji().then_some(Self::Pictograph),
            },
            Self::Tone | Self::ToneJoiner => match next {
                C::ZeroWidthJoiner => Some(Self::ToneJoiner),
                _ => next.extends_emoji().then_some(Self::Tone),
            },
            Self::Selected => match next {
                C::ZeroWidthJoiner => Some(Self::SelectedJoiner),
                C::Tag => Some(Self::Tags),
                _ => None,
            },
            Self::Tags => match next {
                C::Tag => Some(self),
                C::TagEnd => Some(Self::Tagged),
                _ => None,
            },
            Self::Leading | Self::SelectedJoiner | Self::SelectedJoiners | Self::Tagged => None,
        }
    }
}

fn emoji(mut window: Window<'_>, first: Class) -> Option<usize> {
    let mut state = match first {
        Class::ZeroWidthJoiner => Emoji::Leading,
        Class::Modifier => Emoji::Tone,
        _ => Emoji::Pictograph,
    };
    let mut end = state.is_complete().then_some(window.at);
    while let Some(next) = window.next().and_then(|class| state.step(class)) {
        state = next;
        if state.is_complete() {
            end = Some(window.at);
        }
    }
    end
}

/// `#` or `*` as a key: the frame must follow, after marks and the selector of the emoji form.
fn keycap(mut window: Window<'_>) -> Option<usize> {
    let mut end = None;
    let (mut framed, mut selected) = (false, false);
    while let Some(next) = window.next() {
        match next {
            Class::EmojiSelector if !selected => (selected, framed) = (true, false),
            Class::Keycap => framed = true,
            // Behind the selector, the frame comes first.
            _ if next.extends_emoji() && (framed || !selected) => {}
            _ => break,
        }
        if framed {
            end = Some(window.at);
        }
    }
    end
}

/// Two regional letters.
fn flag(mut window: Window<'_>) -> Option<usize> {
    loop {
        let next = window.next()?;
        if next == Class::Regional {
            return Some(window.skip(Class::extends));
        }
        if !next.extends() {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tokens(text: &str, max: usize) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        split(text, max, &mut |start, end| found.push((start, end)));
        found
    }

    /// The general way alone: try a token at every character.
    fn tokens_without_shortcuts(text: &str, max: usize) -> Vec<(usize, usize)> {
        let (mut found, mut at) = (Vec::new(), 0);
        while let Some(c) = text[at..].chars().next() {
            match token_at(text, at, max) {
                Some(end) => {
                    found.push((at, end));
                    at = end;
                }
                None => at += c.len_utf8(),
            }
        }
        found
    }

    proptest! {
        #[test]
        fn the_short_cut_for_ascii_changes_nothing(
            text in "[a-c0-1A ._,:;'\"#*@\n\0-]{0,40}",
            any in any::<String>(),
            max in 2_usize..8,
        ) {
            for text in [&text, &any, &format!("{text}{any}{text}")] {
                for max in [max, 255] {
                    prop_assert_eq!(tokens(text, max), tokens_without_shortcuts(text, max));
                }
            }
        }
    }

    /// Ends at once; looking to the end of the run for every piece would take an hour.
    #[test]
    fn a_run_of_millions_of_letters_is_cut_in_one_pass() {
        let text = "x".repeat(10_000_000);
        let mut pieces = 0;
        split(&text, 255, &mut |start, end| {
            pieces += 1;
            assert!(end - start <= 255);
        });
        assert_eq!(pieces, text.len().div_ceil(255));
    }

    #[test]
    fn nothing_looks_further_than_the_longest_token() {
        let text = format!("{}'s", "x".repeat(255));
        assert_eq!(tokens(&text, 255), [(0, 255), (256, 257)]);
        assert_eq!(tokens(&text, 300), [(0, 257)]);
        assert_eq!(
            tokens(&"𐐀".repeat(200), 255),
            [(0, 127 * 4), (127 * 4, 200 * 4)]
        );
    }
}
