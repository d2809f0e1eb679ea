//! Tokens of SGML and HTML: tags, text, and what is neither.

use std::ops::Range;

/// Part of a markup text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// Opening tag: its name, and the attributes after it.
    Open(&'a str, &'a str),
    /// Closing tag, by its name.
    Close(&'a str),
    /// Text with character references.
    Text(&'a str),
    /// Text of a CDATA section, without character references.
    Verbatim(&'a str),
    /// Comment, or content of a script or a style sheet.
    Skipped,
}

/// Elements with content that is no text.
const CODE: [&str; 2] = ["script", "style"];

/// Splits a text into tokens with their byte ranges.
pub(super) fn tokens(text: &str) -> Tokens<'_> {
    Tokens {
        text,
        start: 0,
        code: None,
        unclosed: [false; 4],
    }
}

/// Iterator of [`tokens`].
pub(super) struct Tokens<'a> {
    text: &'a str,
    start: usize,
    /// Position in [`CODE`] of the element that was opened last.
    code: Option<usize>,
    /// Comments, CDATA sections, scripts and style sheets that the rest of the text does not end:
    /// each end is searched once.
    unclosed: [bool; 4],
}

impl<'a> Tokens<'a> {
    /// Range of the mark that ends a part, in the rest of the text.
    fn end_of(
        &mut self,
        part: usize,
        find: impl Fn(&str) -> Option<Range<usize>>,
    ) -> Option<Range<usize>> {
        if self.unclosed[part] {
            return None;
        }
        let found = find(&self.text[self.start..]);
        self.unclosed[part] = found.is_none();
        found
    }

    fn next_token(&mut self) -> Option<(Token<'a>, usize)> {
        let text = self.text;
        let rest = &text[self.start..];
        if let Some(code) = self.code.take() {
            let end = self.end_of(2 + code, |rest| closing_tag(rest, CODE[code]));
            if let Some(end) = end.filter(|end| end.start > 0) {
                return Some((Token::Skipped, end.start));
            }
        }
        let after =
            |end: &'static str| move |rest: &str| rest.find(end).map(|at| at..at + end.len());
        if rest.starts_with("<!--")
            && let Some(end) = self.end_of(0, after("-->"))
        {
            return Some((Token::Skipped, end.end));
        }
        const CDATA: &str = "<![CDATA[";
        if rest.starts_with(CDATA)
            && let Some(end) = self.end_of(1, after("]]>"))
        {
            return Some((Token::Verbatim(&rest[CDATA.len()..end.start]), end.end));
        }
        if let Some((token, length)) = tag(rest) {
            if let Token::Open(name, _) = token {
                let is_code = |code: &&str| code.eq_ignore_ascii_case(name);
                self.code = CODE.iter().position(is_code);
            }
            return Some((token, length));
        }
        let first = rest.chars().next()?.len_utf8();
        let length = rest[first..].find('<').map_or(rest.len(), |at| first + at);
        Some((Token::Text(&rest[..length]), length))
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = (Range<usize>, Token<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let start = self.start;
        let (token, length) = self.next_token()?;
        self.start += length;
        Some((start..self.start, token))
    }
}

/// Closing tag of an element in a text.
fn closing_tag(text: &str, name: &str) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let is_tag = |&(at, _): &(usize, &str)| {
        let found = bytes.get(at + 2..at + 2 + name.len());
        found.is_some_and(|found| found.eq_ignore_ascii_case(name.as_bytes()))
    };
    let (at, _) = text.match_indices("</").find(is_tag)?;
    Some(at..at + 2 + name.len())
}

/// Tag at the start of a text, and its length in bytes.
pub(super) fn tag(text: &str) -> Option<(Token<'_>, usize)> {
    let body = text.strip_prefix('<')?;
    let end = end_of_tag(body)?;
    let tag = &body[..end];
    let (is_closing, tag) = match tag.strip_prefix('/') {
        Some(name) => (true, name),
        None => (false, tag),
    };
    if !tag.starts_with(|c: char| c.is_ascii_alphabetic() || c == '!' || c == '?') {
        return None;
    }
    let length = tag.find([' ', '\t', '\n', '\r', '/']);
    let (name, attributes) = tag.split_at(length.unwrap_or(tag.len()));
    let token = if is_closing {
        Token::Close(name)
    } else {
        Token::Open(name, attributes)
    };
    Some((token, end + 2))
}

/// Position of the `>` that ends a tag. Values of attributes in quotes may contain `<` and `>`;
/// without a closing quote, a quote is a character, and a tag contains no `<`. Tags are limited in
/// length, so that a text of many `<` is split in linear time.
fn end_of_tag(body: &str) -> Option<usize> {
    const LONGEST: usize = 4096;
    let bytes = &body.as_bytes()[..body.len().min(LONGEST)];
    let (mut quote, mut last) = (None, b' ');
    for (at, &byte) in bytes.iter().enumerate() {
        match (quote, byte) {
            (Some(mark), _) if byte == mark => quote = None,
            (Some(_), _) => {}
            (None, b'"' | b'\'') if last == b'=' => quote = Some(byte),
            (None, b'>') => return Some(at),
            (None, b'<') => return None,
            (None, _) => {}
        }
        if !byte.is_ascii_whitespace() {
            last = byte;
        }
    }
    let end = bytes.iter().position(|byte| matches!(byte, b'<' | b'>'))?;
    (bytes[end] == b'>').then_some(end)
}

/// Value of an attribute of a tag, in quotes or without.
pub(super) fn attribute<'a>(attributes: &'a str, name: &str) -> Option<&'a str> {
    let mut rest = attributes;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '/');
        let length = rest.find(|c: char| c.is_whitespace() || c == '=' || c == '/');
        let (found, after) = rest.split_at(length.unwrap_or(rest.len()));
        if found.is_empty() && after.is_empty() {
            return None;
        }
        let value = after.trim_start().strip_prefix('=').map(str::trim_start);
        let (value, after) = match value {
            None => ("", after),
            Some(value) => match value.strip_prefix(['"', '\'']) {
                Some(inner) => inner.split_once(&value[..1]).unwrap_or((inner, "")),
                None => value.split_at(value.find(char::is_whitespace).unwrap_or(value.len())),
            },
        };
        if found.eq_ignore_ascii_case(name) {
            return Some(value);
        }
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        tokens(text)
            .map(|(_, token)| format!("{token:?}"))
            .collect()
    }

    #[test]
    fn tokens_of_html() {
        for (text, expected) in [
            (
                "a<B c=\"x > y\">d",
                &[
                    "Text(\"a\")",
                    "Open(\"B\", \" c=\\\"x > y\\\"\")",
                    "Text(\"d\")",
                ][..],
            ),
            (
                "<a b='<i>'>x</a>",
                &["Open(\"a\", \" b='<i>'\")", "Text(\"x\")", "Close(\"a\")"],
            ),
            // A quote that does not end is a character.
            ("<a b=\"c>d", &["Open(\"a\", \" b=\\\"c\")", "Text(\"d\")"]),
            (
                "1 < 2 <3> x",
                &["Text(\"1 \")", "Text(\"< 2 \")", "Text(\"<3> x\")"],
            ),
            (
                "x<!-- <b> a > c -->y",
                &["Text(\"x\")", "Skipped", "Text(\"y\")"],
            ),
            (
                "<![CDATA[a &amp; <b>]]>c",
                &["Verbatim(\"a &amp; <b>\")", "Text(\"c\")"],
            ),
            (
                "<Script src='x'>if (a<b) write('</p>')</SCRIPT>z",
                &[
                    "Open(\"Script\", \" src='x'\")",
                    "Skipped",
                    "Close(\"SCRIPT\")",
                    "Text(\"z\")",
                ],
            ),
            (
                "<style></style>",
                &["Open(\"style\", \"\")", "Close(\"style\")"],
            ),
            (
                "<script>a<p>b",
                &[
                    "Open(\"script\", \"\")",
                    "Text(\"a\")",
                    "Open(\"p\", \"\")",
                    "Text(\"b\")",
                ],
            ),
            ("<!-- a <b>", &["Text(\"<!-- a \")", "Open(\"b\", \"\")"]),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn attributes_of_tags() {
        for (attributes, name, value) in [
            (" number=\"1\" type='faceted'", "type", Some("faceted")),
            (" ID = d1 lang=en", "id", Some("d1")),
            (" hidden id=\"a b\" /", "id", Some("a b")),
            (" title=\"id=3\"", "id", None),
            (" id=\"open", "id", Some("open")),
            ("", "id", None),
            (" = =", "id", None),
        ] {
            assert_eq!(attribute(attributes, name), value, "{attributes}");
        }
    }

    #[test]
    fn long_markup_is_split_in_linear_time() {
        for part in ["<!--", "<![CDATA[", "<script>", "<a b=\"<", "<", "</script"] {
            let text = part.repeat(20_000);
            let length: usize = tokens(&text).map(|(range, _)| range.len()).sum();
            assert_eq!(length, text.len(), "{part}");
        }
    }
}
