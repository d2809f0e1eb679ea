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
const COMMENT: &str = "<!--";
const CDATA: &str = "<![CDATA[";

/// Record that a text is the start of.
#[derive(Debug, Clone, Copy)]
pub(super) struct OpenRecord {
    /// Name of the record's element.
    pub(super) name: &'static str,
    /// If `true`, no text follows.
    pub(super) is_complete: bool,
}

/// Result of [`Tokenizer::next`].
#[derive(Debug)]
pub(super) enum Step<'a> {
    Token(Range<usize>, Token<'a>),
    /// The token that starts here needs more text. Only for records that are not complete.
    Unfinished,
    /// The text has no further token.
    End,
}

/// More text decides on a token.
struct NeedsText;

/// Splits a text into tokens. The text may grow between two calls.
///
/// Comments, CDATA sections, scripts and style sheets without an end are text. In a record, the
/// markup has no end, either, if the closing tag of the record and then a second opening, or the
/// opening tag of a record, follow before the end: `<!-- tea </DOC> <DOC> milk -->`.
#[derive(Debug, Default)]
pub(super) struct Tokenizer {
    start: usize,
    /// Position in [`CODE`] of the element that was opened last.
    code: Option<usize>,
    /// By comment, CDATA section, script and style sheet: openings before this offset have no end.
    /// Each end is searched once.
    unclosed: [usize; 4],
}

impl Tokenizer {
    /// Offset of the next token.
    pub(super) fn start(&self) -> usize {
        self.start
    }

    /// Next token of a text, which starts with the text of the previous calls. `record` is the
    /// record that the text starts, if the end of the record is not known.
    pub(super) fn next<'a>(&mut self, text: &'a str, record: Option<OpenRecord>) -> Step<'a> {
        if self.start == text.len() {
            return Step::End;
        }
        let start = self.start;
        let code = self.code.take();
        let Ok((token, length)) = self.token(&text[start..], code, record) else {
            self.code = code;
            return Step::Unfinished;
        };
        if let Token::Open(name, attributes) = token
            && !is_self_closing(attributes)
        {
            self.code = CODE.iter().position(|code| code.eq_ignore_ascii_case(name));
        }
        self.start += length;
        Step::Token(start..self.start, token)
    }

    /// Token at the start of a text, and its length in bytes.
    fn token<'a>(
        &mut self,
        rest: &'a str,
        code: Option<usize>,
        record: Option<OpenRecord>,
    ) -> Result<(Token<'a>, usize), NeedsText> {
        let mark =
            |mark: &'static str| move |rest: &str| rest.find(mark).map(|at| at..at + mark.len());
        if let Some(code) = code {
            let name = CODE[code];
            let close = |rest: &str| find_tag(rest, "</", name);
            let end = self.end_of(2 + code, rest, record, close, |rest| {
                find_tag(rest, "<", name)
            });
            if let Some(end) = end?.filter(|end| end.start > 0) {
                return Ok((Token::Skipped, end.start));
            }
        }
        if rest.starts_with(COMMENT)
            && let Some(end) = self.end_of(0, rest, record, mark("-->"), mark(COMMENT))?
        {
            return Ok((Token::Skipped, end.end));
        }
        if rest.starts_with(CDATA)
            && let Some(end) = self.end_of(1, rest, record, mark("]]>"), mark(CDATA))?
        {
            return Ok((Token::Verbatim(&rest[CDATA.len()..end.start]), end.end));
        }
        match tag(rest, record) {
            Tag::Found(token, length) => return Ok((token, length)),
            Tag::Unfinished => return Err(NeedsText),
            Tag::None => {}
        }
        let first = rest.chars().next().map_or(0, char::len_utf8);
        let length = rest[first..].find('<').map_or(rest.len(), |at| first + at);
        Ok((Token::Text(&rest[..length]), length))
    }

    /// Range of the mark that ends a part at the start of a text.
    fn end_of(
        &mut self,
        part: usize,
        rest: &str,
        record: Option<OpenRecord>,
        close: impl Fn(&str) -> Option<Range<usize>>,
        open: impl Fn(&str) -> Option<Range<usize>>,
    ) -> Result<Option<Range<usize>>, NeedsText> {
        if self.start < self.unclosed[part] {
            return Ok(None);
        }
        let found = close(rest);
        let inner = &rest[..found.as_ref().map_or(rest.len(), |found| found.start)];
        let end_of_record = record.and_then(|record| find_tag(inner, "</", record.name));
        let is_reopened = record
            .zip(end_of_record.as_ref())
            .is_some_and(|(record, end)| {
                let after = &inner[end.end..];
                open(after).is_some() || find_tag(after, "<", record.name).is_some()
            });
        if found.is_some() && !is_reopened {
            return Ok(found);
        }
        if !is_reopened && record.is_some_and(|record| !record.is_complete) {
            return Err(NeedsText);
        }
        let until = end_of_record.map_or(rest.len(), |end| end.start);
        self.unclosed[part] = self.start + until;
        Ok(None)
    }
}

/// Splits a complete text into tokens with their byte ranges.
pub(super) fn tokens(text: &str) -> impl Iterator<Item = (Range<usize>, Token<'_>)> {
    let mut tokenizer = Tokenizer::default();
    std::iter::from_fn(move || match tokenizer.next(text, None) {
        Step::Token(range, token) => Some((range, token)),
        Step::Unfinished | Step::End => None,
    })
}

/// First tag of an element in a text, up to the name. `open` is `<` or `</`.
pub(super) fn find_tag(text: &str, open: &str, name: &str) -> Option<Range<usize>> {
    find_tags(text, open, name).next()
}

/// Tags of an element in a text, up to the name. `open` is `<` or `</`.
pub(super) fn find_tags(text: &str, open: &str, name: &str) -> impl Iterator<Item = Range<usize>> {
    let bytes = text.as_bytes();
    text.match_indices(open).filter_map(move |(at, _)| {
        let start = at + open.len();
        let end = start + name.len();
        let found = bytes.get(start..end)?;
        let is_name_end = bytes.get(end).is_none_or(|byte| !is_name_byte(*byte));
        (is_name_end && found.eq_ignore_ascii_case(name.as_bytes())).then_some(at..end)
    })
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':')
}

/// Result of [`tag`].
#[derive(Debug)]
pub(super) enum Tag<'a> {
    /// The tag, and its length in bytes.
    Found(Token<'a>, usize),
    /// More text decides. Only for records that are not complete.
    Unfinished,
    None,
}

/// Tag at the start of a text. `record` is the record that the text continues.
pub(super) fn tag(text: &str, record: Option<OpenRecord>) -> Tag<'_> {
    let Some(body) = text.strip_prefix('<') else {
        return Tag::None;
    };
    let is_closing = body.starts_with('/');
    let name = &body[usize::from(is_closing)..];
    if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '!' || c == '?') {
        return Tag::None;
    }
    let end = match end_of_tag(body, record) {
        Ok(Some(end)) => end,
        Ok(None) => return Tag::None,
        Err(NeedsText) => return Tag::Unfinished,
    };
    let tag = &body[usize::from(is_closing)..end];
    let length = tag.find([' ', '\t', '\n', '\r', '/']);
    let (name, attributes) = tag.split_at(length.unwrap_or(tag.len()));
    let token = if is_closing {
        Token::Close(name)
    } else {
        Token::Open(name, attributes)
    };
    Tag::Found(token, end + 2)
}

/// Position of the `>` that ends a tag. Values of attributes in quotes may contain `<` and `>`;
/// without a closing quote, a quote is a character, and a tag contains no `<`. A tag is limited in
/// length without the values, so that a text of many `<` is split in linear time. A value of
/// several lines does not contain the closing tag of the record.
fn end_of_tag(body: &str, record: Option<OpenRecord>) -> Result<Option<usize>, NeedsText> {
    const LONGEST: usize = 4096;
    let bytes = body.as_bytes();
    let is_growing = record.is_some_and(|record| !record.is_complete);
    let (mut at, mut last) = (0, b' ');
    for _ in 0..LONGEST {
        let Some(&byte) = bytes.get(at) else {
            if is_growing {
                return Err(NeedsText);
            }
            break;
        };
        match byte {
            b'>' => return Ok(Some(at)),
            b'<' => return Ok(None),
            b'"' | b'\'' if last == b'=' => {
                let value = &body[at + 1..];
                let end = value.find(char::from(byte));
                let value = &value[..end.unwrap_or(value.len())];
                let has_record_end = record.is_some_and(|record| {
                    value.contains('\n') && find_tag(value, "</", record.name).is_some()
                });
                match end {
                    _ if has_record_end => break,
                    Some(end) => at += 1 + end,
                    None if is_growing => return Err(NeedsText),
                    None => break,
                }
            }
            _ => {}
        }
        if !byte.is_ascii_whitespace() {
            last = byte;
        }
        at += 1;
    }
    let mut start = bytes.iter().take(LONGEST);
    let end = start.position(|byte| matches!(byte, b'<' | b'>'));
    Ok(end.filter(|&end| bytes[end] == b'>'))
}

/// Returns `true` if the attributes of a tag end in `/`, which is not the end of a value without
/// quotes.
pub(super) fn is_self_closing(attributes: &str) -> bool {
    attributes.strip_suffix('/').is_some_and(|before| {
        let is_value = |c: char| !c.is_whitespace() && !matches!(c, '"' | '\'' | '/');
        !before.ends_with(is_value) || !before.contains('=')
    })
}

/// Value of an attribute of a tag.
pub(super) fn attribute<'a>(attributes: &'a str, name: &str) -> Option<&'a str> {
    let mut found = named_attributes(attributes);
    found.find_map(|(found, value)| found.eq_ignore_ascii_case(name).then_some(value))
}

/// Names and values of the attributes of a tag. Values are in quotes or without.
pub(super) fn named_attributes(attributes: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = attributes;
    std::iter::from_fn(move || {
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
        rest = after;
        Some((found, value))
    })
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
                "<script src='a'/>tea</script>",
                &[
                    "Open(\"script\", \" src='a'/\")",
                    "Text(\"tea\")",
                    "Close(\"script\")",
                ],
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
    fn self_closing_tags() {
        for (attributes, expected) in [
            ("/", true),
            (" /", true),
            (" id=\"a\"/", true),
            (" id='a' /", true),
            (" hidden/", true),
            (" url=http://x/", false),
            (" id=a", false),
            ("", false),
        ] {
            assert_eq!(is_self_closing(attributes), expected, "{attributes}");
        }
    }

    #[test]
    fn values_in_quotes_have_any_length() {
        let value = "x".repeat(100_000);
        let text = format!("<img src=\"data:{value}\">tea");
        let found = shown(&text);
        assert_eq!(found.len(), 2);
        assert_eq!(found[1], "Text(\"tea\")");
    }

    #[test]
    fn long_markup_is_split_in_linear_time() {
        for part in [
            "<!--",
            "<![CDATA[",
            "<script>",
            "<a b=\"<",
            "<a b=\"\" c=\">",
            "<",
            "</script",
        ] {
            let text = part.repeat(20_000);
            let length: usize = tokens(&text).map(|(range, _)| range.len()).sum();
            assert_eq!(length, text.len(), "{part}");
        }
    }
}
