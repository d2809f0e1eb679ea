//! Citations in brackets that belong to the sentence before them.

use std::ops::Range;

/// Maximum length of a citation in bytes.
const MAX_LENGTH: usize = 100;

/// Joins citations to the sentences before them: pieces that are citations alone, and numbers in
/// brackets at the start of a piece, such as of `Tea boils. [1, 2] It is hot.`
pub(super) fn joined(text: &str, pieces: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let mut joined: Vec<Range<usize>> = Vec::with_capacity(pieces.len());
    for piece in pieces {
        let Some(last) = joined.last_mut() else {
            joined.push(piece);
            continue;
        };
        let sentence = &text[piece.clone()];
        let (length, is_number) = citations(sentence);
        let rest = sentence[length..].trim_start();
        if rest.is_empty() {
            last.end = piece.end;
        } else if is_number && length > 0 && rest.starts_with(|c: char| !c.is_lowercase()) {
            last.end = piece.start + length;
            joined.push(piece.end - rest.len()..piece.end);
        } else {
            joined.push(piece);
        }
    }
    joined
}

/// Length of the citations at the start of a text with the period or comma after them, and `true`
/// if all of them are numbers.
fn citations(text: &str) -> (usize, bool) {
    let (mut length, mut are_numbers) = (0, true);
    loop {
        let rest = &text[length..];
        let start = rest.len() - rest.trim_start_matches([' ', ',', ';', '.']).len();
        let Some((own, is_number)) = citation(&rest[start..]) else {
            break;
        };
        length += start + own;
        are_numbers &= is_number;
    }
    if length > 0 && text[length..].starts_with('.') {
        length += 1;
    }
    (length, are_numbers)
}

/// Length of a citation at the start of a text: numbers in square brackets, which are a number, or
/// authors with a year in parentheses.
fn citation(text: &str) -> Option<(usize, bool)> {
    let (close, is_number) = match text.chars().next()? {
        '[' => (']', true),
        '(' => (')', false),
        _ => return None,
    };
    let end = text.find(close).filter(|&end| end <= MAX_LENGTH)?;
    let inner = &text[1..end];
    let is_citation = if is_number {
        let is_part = |c: char| c.is_ascii_digit() || ",;-–— ".contains(c);
        inner.starts_with(|c: char| c.is_ascii_digit()) && inner.chars().all(is_part)
    } else {
        ends_with_year(inner) && inner.starts_with(char::is_uppercase)
    };
    is_citation.then_some((end + 1, is_number))
}

/// Returns `true` for a text that ends with a year, possibly with a letter: `Roe et al., 2001a`.
fn ends_with_year(text: &str) -> bool {
    let text = text
        .strip_suffix(|c: char| c.is_ascii_lowercase())
        .unwrap_or(text);
    let digits = text.bytes().rev().take_while(u8::is_ascii_digit).count();
    let year = &text[text.len() - digits..];
    digits == 4 && year.starts_with(['1', '2']) && text.len() > digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn citations_at_the_start_of_a_text() {
        for (text, expected) in [
            ("[1]", (3, true)),
            ("[1, 2–4]. [7] It", (15, true)),
            ("(Roe et al., 2001a).", (20, false)),
            ("[12] (Roe, 2001)", (16, false)),
            ("(2001) is", (0, true)),
            ("(see Table 2001)", (0, true)),
            ("[a] is", (0, true)),
            ("Tea [1]", (0, true)),
            ("[1", (0, true)),
            ("", (0, true)),
        ] {
            assert_eq!(citations(text), expected, "{text}");
        }
    }
}
