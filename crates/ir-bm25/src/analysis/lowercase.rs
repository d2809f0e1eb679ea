//! Lowercasing by Unicode's simple case mapping.

/// Simple case mapping of a character, as in Java's `Character.toLowerCase`: one character to one,
/// independent of context. The only character with a longer full mapping, `İ` (U+0130), maps to
/// `i`.
pub(super) fn lower(c: char) -> char {
    match c {
        '\u{130}' => 'i',
        _ => c.to_lowercase().next().unwrap_or(c),
    }
}

/// Appends `word`, lowercased.
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
    fn lowercasing_is_idempotent() {
        for c in '\0'..=char::MAX {
            assert_eq!(lower(lower(c)), lower(c), "{c:?}");
        }
    }
}
