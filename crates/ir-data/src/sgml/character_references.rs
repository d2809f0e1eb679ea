//! Character references of HTML: `&eacute;`, `&#233;`, `&#xE9;`.

use std::borrow::Cow;

use html5gum::{Token, Tokenizer};

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
        let found = end.and_then(|end| Some((character_reference(&rest[1..end])?, end + 1)));
        let (character, length) = found.unwrap_or_else(|| ("&".to_owned(), 1));
        plain.push_str(&character);
        rest = &rest[length..];
    }
    plain.push_str(rest);
    Cow::Owned(plain)
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
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'#';
    if !name.bytes().all(is_name) {
        return None;
    }
    let reference = format!("&{name};");
    let mut value = String::new();
    for Ok(token) in Tokenizer::new(&reference) {
        if let Token::String(text) = token {
            value.push_str(&String::from_utf8_lossy(&text.value));
        }
    }
    // A value has one or two characters; an unknown reference is kept, with at least three, and an
    // invalid number is the replacement character.
    let is_known = value.chars().count() <= 2 && !value.contains('\u{fffd}');
    is_known.then_some(value)
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
            ("a &b<c; d", "a &b<c; d"),
            ("&&eacute;;", "&é;"),
            ("", ""),
        ] {
            assert_eq!(decoded(text), plain, "{text}");
        }
    }
}
