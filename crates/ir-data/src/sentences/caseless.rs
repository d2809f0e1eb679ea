//! Cuts between sentences of scripts without upper case: Chinese, Japanese, Korean, Arabic, Hindi.

use super::english;

/// Terminators that need no white space after them.
const TERMINATORS: [char; 11] = ['。', '！', '？', '．', '｡', '﹖', '﹗', '।', '॥', '۔', '؟'];
const CLOSING: [char; 19] = [
    '”', '’', '」', '』', '）', '》', '】', '〉', '〕', '］', '｝', '｣', '»', '"', '\'', ')', ']',
    '}', '〗',
];
/// Punctuation that continues a sentence after a closing quote or bracket.
const CONTINUING: [char; 10] = ['，', '、', '；', '：', ',', ';', ':', '…', '—', '،'];
/// Japanese particles after a quotation: 「…。」と
const PARTICLES: [char; 4] = ['と', 'っ', 'の', 'を'];

/// Returns `true` if more than a quarter of the letters of a text are in a script without case.
pub(super) fn is_caseless(text: &str) -> bool {
    if text.is_ascii() {
        return false;
    }
    let letters = || text.chars().filter(|c| c.is_alphabetic());
    let caseless = letters().filter(|&c| is_caseless_letter(c)).count();
    caseless * 4 > letters().count()
}

fn is_caseless_letter(character: char) -> bool {
    character.is_alphabetic() && !character.is_lowercase() && !character.is_uppercase()
}

/// Abbreviations, without their period: Hindi for doctor, professor, for example, page, number,
/// before Christ and company; Arabic for doctor of medicine and others.
const ABBREVIATIONS: [&str; 9] = ["डॉ", "प्रो", "उदा", "पृ", "सं", "ई.पू", "कं", "أ.د", "د.م"];

/// End of a sentence, if one follows.
#[derive(Default)]
struct Ending {
    /// Last terminator; `None` within a sentence.
    terminator: Option<char>,
    /// If `true`, one of the terminators is in [`TERMINATORS`].
    is_direct: bool,
    /// If `true`, a closing quote or bracket follows the terminators.
    is_closed: bool,
    /// If `true`, one letter and a period precede, such as د. for doctor.
    is_initial: bool,
}

/// Byte offsets of the cuts, ascending: the English ones; after [`TERMINATORS`] with the closing
/// quotes and brackets behind them; and in white space between `.`, `!` or `?` and a letter without
/// case.
pub(super) fn cuts(text: &str, abbreviations: &[String]) -> Vec<usize> {
    let mut cuts = english::cuts(text, abbreviations);
    let mut ending = Ending::default();
    let mut characters = text.char_indices().peekable();
    // Number of letters and digits since the last other character.
    let mut word = 0_usize;
    while let Some((at, character)) = characters.next() {
        if is_terminator(character) {
            ending.is_initial = character == '.' && word == 1 && ending.terminator.is_none();
            ending.is_direct |= TERMINATORS.contains(&character);
            ending.terminator = Some(character);
            ending.is_closed = false;
        } else if ending.terminator.is_some() && CLOSING.contains(&character) {
            ending.is_closed = true;
        } else if character.is_whitespace() {
            while characters.next_if(|(_, c)| c.is_whitespace()).is_some() {}
            let next = characters.peek().copied();
            if next.is_some_and(|(start, next)| {
                ending.is_before_gap(next)
                    && !is_abbreviated(&text[..at])
                    && !english::is_abbreviated(&text[..at], &text[start..], abbreviations)
            }) {
                cuts.push(at);
            }
            ending = Ending::default();
        } else {
            if ending.is_before(character) {
                cuts.push(at);
            }
            ending = Ending::default();
        }
        word = if character.is_alphanumeric() {
            word + 1
        } else {
            0
        };
    }
    cuts.sort_unstable();
    cuts.dedup();
    cuts
}

/// Returns `true` if a text ends with one of [`ABBREVIATIONS`] as a word.
fn is_abbreviated(text: &str) -> bool {
    let word = text.split_whitespace().next_back().unwrap_or_default();
    let word = word.trim_start_matches(['(', '[', '«', '“', '"']);
    let word = word.strip_suffix('.').unwrap_or_default();
    ABBREVIATIONS.contains(&word)
}

fn is_terminator(character: char) -> bool {
    matches!(character, '.' | '!' | '?') || TERMINATORS.contains(&character)
}

impl Ending {
    /// Returns `true` if a sentence starts with `next`, which follows without white space.
    fn is_before(&self, next: char) -> bool {
        match self.terminator {
            Some('．') if !self.is_closed && next.is_numeric() => false,
            Some(_) if self.is_direct => {
                let is_quotation = self.is_closed && PARTICLES.contains(&next);
                !is_quotation && !CONTINUING.contains(&next)
            }
            Some('!' | '?') => !self.is_closed && is_caseless_letter(next),
            _ => false,
        }
    }

    /// Returns `true` if a sentence starts with `next`, which follows after white space.
    fn is_before_gap(&self, next: char) -> bool {
        self.terminator.is_some()
            && (self.is_direct || (is_caseless_letter(next) && !self.is_initial))
    }
}
