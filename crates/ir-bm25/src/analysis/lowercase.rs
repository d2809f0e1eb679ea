//! Lower-casing, one character to one character.

/// The lower-case form of a character by Unicode's simple mapping, as Java's `Character.toLowerCase` gives it: one
/// character for one, whatever its neighbours. The one character whose full mapping is longer, `İ` (U+0130), becomes
/// a plain `i`.
pub(super) fn lower(c: char) -> char {
    match c {
        '\u{130}' => 'i',
        _ => c.to_lowercase().next().unwrap_or(c),
    }
}

/// Appends `word` in lower case.
pub(super) fn push_lower(term: &mut String, word: &str) {
    if word.is_ascii() {
        let from = term.len();
        term.push_str(word);
        if let Some(added) = term.get_mut(from..) {
            added.make_ascii_lowercase();
        }
    } else {
        term.extend(word.chars().map(lower));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_character_has_a_longer_lower_case() {
        let longer: Vec<char> = ('\0'..=char::MAX)
            .filter(|c| c.to_lowercase().count() > 1)
            .collect();
        assert_eq!(longer, ['\u{130}']);
    }

    #[test]
    fn twice_is_once() {
        for c in '\0'..=char::MAX {
            assert_eq!(lower(lower(c)), lower(c), "{c:?}");
        }
    }
}
