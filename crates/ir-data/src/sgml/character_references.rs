//! Character references of HTML: `&eacute;`, `&#233;`, `&#xE9;`.

use std::borrow::Cow;

use html5gum::{Token, Tokenizer};

/// Maximum length of a reference between `&` and `;`. The longest name of HTML has 31 letters.
const LONGEST: usize = 32;

/// Decodes the character references of a text. An unknown reference stays as it is written. As in
/// HTML, numbers and the names of Latin-1 need no `;`.
pub(super) fn decoded(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('&') {
        plain.push_str(&rest[..start]);
        rest = &rest[start..];
        let name = rest.bytes().skip(1).take(LONGEST);
        let length = 1 + name.take_while(|&byte| is_name(byte)).count();
        let length = length + usize::from(rest[length..].starts_with(';'));
        match html_text(&rest[..length]) {
            Some(characters) => plain.push_str(&characters),
            None => plain.push_str(&rest[..length]),
        }
        rest = &rest[length..];
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'#'
}

/// Text of a reference in HTML; `None` for a number without a character.
fn html_text(reference: &str) -> Option<String> {
    let mut value = String::new();
    for Ok(token) in Tokenizer::new(reference) {
        if let Token::String(text) = token {
            value.push_str(&String::from_utf8_lossy(&text.value));
        }
    }
    Some(value).filter(|value| !value.contains('\u{fffd}'))
}

/// Returns the characters of a reference of HTML, given what is between `&` and `;`; `None` for an
/// unknown one.
///
/// ```
/// use ir_data::sgml::character_reference;
///
/// assert_eq!(character_reference("alpha").as_deref(), Some("α"));
/// assert_eq!(character_reference("#xE9").as_deref(), Some("é"));
/// assert_eq!(character_reference("nothing"), None);
/// ```
#[must_use]
pub fn character_reference(name: &str) -> Option<String> {
    if !name.bytes().all(is_name) {
        return None;
    }
    // A value has one or two characters; an unknown reference is kept, with at least three.
    html_text(&format!("&{name};")).filter(|value| value.chars().count() <= 2)
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
            ("&#xD800;&eacute", "&#xD800;é"),
            (
                "caf&eacute &copy 2020 AT&amp T &#233 &notit; &alpha &ltb",
                "café © 2020 AT& T é ¬it; &alpha <b",
            ),
            ("a &b<c; d", "a &b<c; d"),
            ("&&eacute;;", "&é;"),
            ("", ""),
        ] {
            assert_eq!(decoded(text), plain, "{text}");
        }
    }
}
