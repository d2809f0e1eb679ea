//! Folding of case, accents, width and letter forms.

mod tables;

use std::sync::LazyLock;

use rustc_hash::FxHashMap;
use unicode_normalization::char::decompose_compatible;
use unicode_normalization::{UnicodeNormalization, is_nfc};

use self::tables::{LETTERS, RADICALS, REMOVED, ZEROS};
use super::lowercase::lower;

/// The folding of a token: [`push_folded`] of each character of its form NFC, in form NFC.
pub(super) fn folded(token: &str) -> String {
    let mut folded = String::with_capacity(token.len());
    if is_nfc(token) {
        token.chars().for_each(|c| push_folded(&mut folded, c));
    } else {
        token.nfc().for_each(|c| push_folded(&mut folded, c));
    }
    if folded.is_ascii() || is_nfc(&folded) {
        folded
    } else {
        folded.nfc().collect()
    }
}

/// Appends the folding of a character.
fn push_folded(folded: &mut String, c: char) {
    if c.is_ascii() {
        if !is_removed_ascii(c) {
            folded.push(c.to_ascii_lowercase());
        }
    } else if is_removed(c) {
    } else if let Some(letters) = MAPPED.get(&c) {
        folded.push_str(letters);
    } else if let Some(digit) = digit(c) {
        folded.push(digit);
    } else if is_hangul_syllable(c) {
        folded.push(c);
    } else {
        decompose_compatible(c, |part| match part {
            _ if part == c => push_case_folded(folded, c),
            // The iota subscript of a Greek letter; as a character of its own it is removed.
            '\u{345}' => folded.push('ι'),
            _ => push_folded(folded, part),
        });
    }
}

/// Appends the case folding of a character without a decomposition.
fn push_case_folded(folded: &mut String, c: char) {
    match c {
        'ß' | 'ẞ' => folded.push_str("ss"),
        'ς' => folded.push('σ'),
        // Variant letters of Old Cyrillic.
        'ᲀ' => folded.push('в'),
        'ᲁ' => folded.push('д'),
        'ᲂ' => folded.push('о'),
        'ᲃ' => folded.push('с'),
        'ᲄ' | 'ᲅ' => folded.push('т'),
        'ᲆ' => folded.push('ъ'),
        'ᲇ' => folded.push('ѣ'),
        'ᲈ' => folded.push('ꙋ'),
        // Cherokee is folded to capital letters, which are older in Unicode.
        'Ꭰ'..='Ᏽ' => folded.push(c),
        'ꭰ'..='ꮿ' => folded.extend(char::from_u32(c as u32 - 0xAB70 + 0x13A0)),
        'ᏸ'..='ᏽ' => folded.extend(char::from_u32(c as u32 - 8)),
        _ => match lower(c) {
            same if same == c => folded.push(c),
            lower => push_folded(folded, lower),
        },
    }
}

/// Returns `true` for the ASCII characters that are removed: `^` and the grave accent.
pub(super) fn is_removed_ascii(c: char) -> bool {
    matches!(c, '^' | '`')
}

fn is_removed(c: char) -> bool {
    let c = c as u32;
    let after = REMOVED.partition_point(|&(first, _)| first <= c);
    after > 0 && c <= REMOVED[after - 1].1
}

fn is_hangul_syllable(c: char) -> bool {
    matches!(c, '가'..='힣')
}

/// The ASCII digit of a digit of another script.
fn digit(c: char) -> Option<char> {
    let c = c as u32;
    let zero = ZEROS[..ZEROS.partition_point(|&zero| zero <= c)].last()?;
    char::from_digit(c - zero, 10)
}

/// Characters with a folding of their own.
static MAPPED: LazyLock<FxHashMap<char, &str>> = LazyLock::new(|| {
    let letters = LETTERS
        .iter()
        .flat_map(|(from, to)| from.chars().map(move |c| (c, *to)));
    letters.chain(RADICALS.iter().copied()).collect()
});
