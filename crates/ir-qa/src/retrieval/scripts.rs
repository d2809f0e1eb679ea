//! Superscripts and subscripts as terms of an index.

use std::borrow::Cow;

/// Text as it is indexed and searched. Subscripts are plain characters (`CO₂` is `CO2`). A power of
/// a number is one term: `10⁴` and `10^4` are `10_4`, and `10⁻⁴` is `10__4`.
pub(super) fn indexed_text(text: &str) -> Cow<'_, str> {
    let is_script = |c| c == '^' || subscript(c).is_some() || superscript(c).is_some();
    if !text.contains(is_script) {
        return Cow::Borrowed(text);
    }
    let mut indexed = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        let follows_digit = indexed.ends_with(|c: char| c.is_ascii_digit());
        if let Some(plain) = subscript(c) {
            indexed.push(plain);
        } else if follows_digit && let Some(first) = superscript(c) {
            indexed.push('_');
            indexed.push(first);
            while let Some(next) = characters.peek().copied().and_then(superscript) {
                indexed.push(next);
                characters.next();
            }
        } else if follows_digit
            && c == '^'
            && let Some(next) = characters.next_if(|c| c.is_ascii_digit() || "-−".contains(*c))
        {
            indexed.push('_');
            indexed.push(if next.is_ascii_digit() { next } else { '_' });
        } else {
            indexed.push(c);
        }
    }
    Cow::Owned(indexed)
}

fn subscript(c: char) -> Option<char> {
    matches!(c, '₀'..='₉')
        .then(|| char::from_digit(u32::from(c) - 0x2080, 10))
        .flatten()
}

fn superscript(c: char) -> Option<char> {
    match c {
        '¹' => Some('1'),
        '²' => Some('2'),
        '³' => Some('3'),
        '⁻' => Some('_'),
        '⁰' | '⁴'..='⁹' => char::from_digit(u32::from(c) - 0x2070, 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::indexed_text;

    #[test]
    fn powers_are_one_term() {
        for (text, indexed) in [
            ("10⁴ cells", "10_4 cells"),
            ("10^4 cells", "10_4 cells"),
            ("10⁻⁴ and 10^-4", "10__4 and 10__4"),
            ("CO₂ and H₂O", "CO2 and H2O"),
            ("104 cells, x² and a^b", "104 cells, x² and a^b"),
            ("10^", "10^"),
        ] {
            assert_eq!(indexed_text(text), indexed, "{text}");
        }
    }
}
