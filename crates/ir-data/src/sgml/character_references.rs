//! Character references of HTML: `&eacute;`, `&#233;`, `&#xE9;`.

use std::borrow::Cow;

use quick_xml::escape::resolve_html5_entity;

/// Characters of Windows-1252 that browsers read for the references `&#128;` to `&#159;`; a blank
/// stands for a number without a character.
const WINDOWS_1252: &str = "€ ‚ƒ„…†‡ˆ‰Š‹Œ Ž  ‘’“”•–—˜™š›œ žŸ";

/// Maximum length of a reference between `&` and `;`. The longest name of HTML has 31 letters.
const LONGEST: usize = 32;

/// Decodes the character references of a text. An unknown reference stays as it is written.
pub(super) fn decoded(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('&') {
        plain.push_str(&rest[..start]);
        rest = &rest[start..];
        let end = rest.bytes().take(LONGEST + 2).position(|byte| byte == b';');
        let end = match end {
            Some(end) if push_character(&rest[1..end], &mut plain) => end + 1,
            _ => {
                plain.push('&');
                1
            }
        };
        rest = &rest[end..];
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

/// Appends the characters of a reference. Returns `false` if it is unknown.
fn push_character(name: &str, plain: &mut String) -> bool {
    let Some(number) = name.strip_prefix('#') else {
        let found = resolve_html5_entity(name);
        plain.push_str(found.unwrap_or_default());
        return found.is_some();
    };
    let code = match number.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => number.parse(),
    };
    let character = match code {
        Ok(code @ 128..160) => WINDOWS_1252.chars().nth(code as usize - 128),
        // A reference to NUL has no character.
        Ok(code @ 1..) => char::from_u32(code),
        _ => None,
    };
    plain.extend(character);
    character.is_some()
}

#[cfg(test)]
mod tests {
    use super::decoded;

    /// By hand, after the table of named character references of HTML.
    #[test]
    fn references_are_characters() {
        for (text, plain) in [
            (
                "caf&eacute; caf&#233; caf&#xE9; caf&#Xe9;",
                "café café café café",
            ),
            (
                "&amp;lt; &lt;b&gt; &quot;&apos;&nbsp;",
                "&lt; <b> \"'\u{a0}",
            ),
            ("&sect; 5 &ndash; &#150; &#x93;x&#148;", "§ 5 – – “x”"),
            (
                "AT&T R&D &unknown; & &; &#; &#x; &#0; &#99999999;",
                "AT&T R&D &unknown; & &; &#; &#x; &#0; &#99999999;",
            ),
            ("&#xD800;&eacute", "&#xD800;&eacute"),
            ("&&eacute;;", "&é;"),
            ("", ""),
        ] {
            assert_eq!(decoded(text), plain, "{text}");
        }
        assert_eq!(super::WINDOWS_1252.chars().count(), 32);
    }
}
