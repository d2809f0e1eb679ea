//! Word segmentation of Lucene's `StandardTokenizer`: the word boundaries of Unicode Standard Annex
//! 29, keeping the segments with a letter, a digit or an emoji.
//!
//! Where Lucene's grammar and the annex differ, this module follows Lucene: a run of a script
//! written without spaces (Thai, Lao, Khmer, Myanmar) is one token, every Han and Hiragana
//! character is one token, emoji sequences follow Unicode Technical Standard 51, and lookahead is
//! limited to the maximum token length.

use super::classes::{WordBreakClass, class};

/// Membership of a byte in the ASCII letters and digits.
const ALPHANUMERIC: [bool; 256] = {
    let mut table = [false; 256];
    let mut i = 0;
    while i < 128 {
        table[i] = (i as u8).is_ascii_alphanumeric();
        i += 1;
    }
    table
};

/// Calls `emit` with the start and end of every token. `max` is the maximum token length in UTF-16
/// units.
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

/// Fast path of [`token_at`]: the end of a word of ASCII letters and digits, if the next character
/// cannot extend it.
fn plain_word(bytes: &[u8], start: usize, max: usize) -> Option<usize> {
    let mut end = start + 1;
    // One past the maximum length suffices. Scanning a run of millions of letters to its end for
    // every token would take quadratic time.
    let far = bytes.len().min(start + max + 1);
    while end < far && ALPHANUMERIC[usize::from(bytes[end])] {
        end += 1;
    }
    if end - start > max {
        return None;
    }
    match bytes.get(end) {
        None => Some(end),
        // Joiners, if a letter, a digit or a non-ASCII character follows.
        Some(b'.' | b',' | b':' | b';' | b'\'') => match bytes.get(end + 1) {
            Some(&next) if !next.is_ascii() || next.is_ascii_alphanumeric() => None,
            _ => Some(end),
        },
        Some(b'_') => None,
        Some(byte) => byte.is_ascii().then_some(end),
    }
}

/// The end of the longest token that starts at `start`, if there is one.
#[inline(never)]
fn token_at(text: &str, start: usize, max: usize) -> Option<usize> {
    use WordBreakClass::*;
    let mut window = TokenWindow {
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
        Ideograph => Some(window.skip(WordBreakClass::extends)),
        Other | MidLetter | MidNum | MidNumLet | SingleQuote | DoubleQuote | Extend
        | TextSelector | EmojiSelector | Keycap | Tag | TagEnd => None,
    }
}

/// The remaining characters of a token.
#[derive(Clone, Copy)]
struct TokenWindow<'a> {
    text: &'a str,
    /// Byte offset of the next character.
    at: usize,
    /// Number of UTF-16 units left.
    room: usize,
}

impl TokenWindow<'_> {
    fn next(&mut self) -> Option<WordBreakClass> {
        let c = self.text[self.at..].chars().next()?;
        self.room = self.room.checked_sub(c.len_utf16())?;
        self.at += c.len_utf8();
        Some(class(c))
    }

    /// The end of the run of characters that satisfy `belongs`.
    fn skip(mut self, belongs: impl Fn(WordBreakClass) -> bool) -> usize {
        let mut end = self.at;
        while self.next().is_some_and(&belongs) {
            end = self.at;
        }
        end
    }
}

/// State in a word of letters, digits, Katakana and joiners.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Word {
    /// Underscores only: not a word yet.
    Underscores,
    Letter,
    Hebrew,
    /// Hebrew letter and apostrophe: a complete word; letters may follow.
    HebrewQuote,
    /// Hebrew letter and double quote: a Hebrew letter must follow.
    HebrewDoubleQuote,
    /// Hebrew letter after a double quote.
    HebrewAfterDoubleQuote,
    /// Letter and joiner: a letter must follow.
    LetterJoiner,
    Number,
    /// Digit and joiner: a digit must follow.
    NumberJoiner,
    Katakana,
    /// A word followed by underscores.
    Joined,
}

impl Word {
    fn is_complete(self) -> bool {
        !matches!(
            self,
            Self::Underscores | Self::HebrewDoubleQuote | Self::LetterJoiner | Self::NumberJoiner
        )
    }

    fn begin(class: WordBreakClass) -> Option<Self> {
        match class {
            WordBreakClass::Letter | WordBreakClass::EmojiLetter => Some(Self::Letter),
            WordBreakClass::Hebrew => Some(Self::Hebrew),
            WordBreakClass::Numeric => Some(Self::Number),
            WordBreakClass::Katakana => Some(Self::Katakana),
            _ => None,
        }
    }

    fn step(self, next: WordBreakClass) -> Option<Self> {
        use WordBreakClass as C;
        if next.extends() {
            return Some(self);
        }
        let begin = Self::begin(next);
        match self {
            Self::Underscores | Self::Joined => begin.or((next == C::ExtendNumLet).then_some(self)),
            // After a joiner, a Hebrew letter counts as any letter.
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

fn word(window: TokenWindow<'_>, first: WordBreakClass) -> Option<usize> {
    let start = Word::begin(first).unwrap_or(Word::Underscores);
    longest_match(window, start, Word::step, Word::is_complete)
}

/// The end of the longest complete match of an automaton that is in the state `state` after the
/// first character.
fn longest_match<S: Copy>(
    mut window: TokenWindow<'_>,
    mut state: S,
    step: impl Fn(S, WordBreakClass) -> Option<S>,
    is_complete: impl Fn(S) -> bool,
) -> Option<usize> {
    let mut end = is_complete(state).then_some(window.at);
    while let Some(next) = window.next().and_then(|class| step(state, class)) {
        state = next;
        if is_complete(state) {
            end = Some(window.at);
        }
    }
    end
}

/// State in an emoji sequence.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Emoji {
    /// Leading zero-width joiners: a pictograph must follow.
    Leading,
    /// Pictograph with its marks.
    Pictograph,
    /// Pictograph and joiner: another pictograph may follow.
    PictographJoiner,
    /// Skin tone modifier without a pictograph before it, with its marks.
    Tone,
    /// Skin tone modifier and joiner: a pictograph may follow.
    ToneJoiner,
    /// Pictograph and emoji presentation selector.
    Selected,
    /// Selector and one joiner: a pictograph or a skin tone modifier must follow.
    SelectedJoiner,
    /// Selector and several joiners: a pictograph must follow.
    SelectedJoiners,
    /// Selector and tags: the cancel tag must follow.
    Tags,
    /// Complete tag sequence: nothing follows.
    Tagged,
}

impl Emoji {
    fn is_complete(self) -> bool {
        !matches!(
            self,
            Self::Leading | Self::SelectedJoiner | Self::SelectedJoiners | Self::Tags
        )
    }

    fn step(self, next: WordBreakClass) -> Option<Self> {
        use WordBreakClass as C;
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

fn emoji(window: TokenWindow<'_>, first: WordBreakClass) -> Option<usize> {
    let start = match first {
        WordBreakClass::ZeroWidthJoiner => Emoji::Leading,
        WordBreakClass::Modifier => Emoji::Tone,
        _ => Emoji::Pictograph,
    };
    longest_match(window, start, Emoji::step, Emoji::is_complete)
}

/// Keycap sequence: `#` or `*`, marks and an emoji presentation selector, and the enclosing keycap.
fn keycap(mut window: TokenWindow<'_>) -> Option<usize> {
    let mut end = None;
    let (mut framed, mut selected) = (false, false);
    while let Some(next) = window.next() {
        match next {
            WordBreakClass::EmojiSelector if !selected => (selected, framed) = (true, false),
            WordBreakClass::Keycap => framed = true,
            // After the selector, the keycap precedes any other mark.
            _ if next.extends_emoji() && (framed || !selected) => {}
            _ => break,
        }
        if framed {
            end = Some(window.at);
        }
    }
    end
}

/// Flag: two regional indicators.
fn flag(mut window: TokenWindow<'_>) -> Option<usize> {
    loop {
        let next = window.next()?;
        if next == WordBreakClass::Regional {
            return Some(window.skip(WordBreakClass::extends));
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

    /// Reference: tries a token at every character.
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
        fn the_ascii_fast_path_equals_the_full_grammar(
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

    /// Quadratic time would take about an hour.
    #[test]
    fn long_runs_of_letters_are_split_in_linear_time() {
        let text = "x".repeat(10_000_000);
        let mut pieces = 0;
        split(&text, 255, &mut |start, end| {
            pieces += 1;
            assert!(end - start <= 255);
        });
        assert_eq!(pieces, text.len().div_ceil(255));
    }

    #[test]
    fn lookahead_ends_at_the_maximum_token_length() {
        let text = format!("{}'s", "x".repeat(255));
        assert_eq!(tokens(&text, 255), [(0, 255), (256, 257)]);
        assert_eq!(tokens(&text, 300), [(0, 257)]);
        assert_eq!(
            tokens(&"𐐀".repeat(200), 255),
            [(0, 127 * 4), (127 * 4, 200 * 4)]
        );
    }
}
