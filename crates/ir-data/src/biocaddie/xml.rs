//! The elements of a record in the XML form.

use std::io::BufRead;

use crate::error::{DataError, Location};
use crate::lines::read_all;
use crate::text_encoding::TextEncoding;

/// The rest of an XML text after its prolog: declaration, comments, processing instructions and
/// DOCTYPE. The error has the delimiter that is missing, and the rest from the markup that it ends.
pub(super) fn after_prolog(text: &str) -> Result<&str, (&'static str, &str)> {
    let mut rest = text.trim_start();
    loop {
        let (expected, after) = if let Some(content) = rest.strip_prefix("<?") {
            ("?>", content.split_once("?>"))
        } else if let Some(content) = rest.strip_prefix("<!--") {
            ("-->", content.split_once("-->"))
        } else if let Some(content) = rest.strip_prefix("<!DOCTYPE") {
            // An internal subset has declarations in brackets.
            let head = content.split('>').next().unwrap_or_default();
            let after_subset = if head.contains('[') {
                content.split_once(']').map(|(_, after)| after)
            } else {
                Some(content)
            };
            let after = after_subset.and_then(|after| after.split_once('>'));
            ("> of DOCTYPE", after)
        } else {
            return Ok(rest);
        };
        let Some((_, after)) = after else {
            return Err((expected, rest));
        };
        rest = after.trim_start();
    }
}

/// Returns the text after the start tag of DOC. Attributes of the tag are ignored. [`None`] if the
/// text does not begin with the tag.
pub(super) fn after_start_tag(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("<DOC")?;
    let (attributes, rest) = rest.split_once('>')?;
    let is_tag = attributes.is_empty() || attributes.starts_with(|c: char| c.is_ascii_whitespace());
    (is_tag && !attributes.ends_with('/')).then_some(rest)
}

/// Reads the text of an XML file. Default of `encoding`: the encoding in the XML declaration, or
/// UTF-8.
pub(super) fn read_text(
    reader: impl BufRead + Send,
    source: &str,
    encoding: Option<TextEncoding>,
) -> Result<String, DataError> {
    let reader = match encoding {
        Some(encoding) => encoding.decode(reader),
        None => TextEncoding::Utf8.decode_markup(reader, source)?,
    };
    read_all(reader, source)
}

/// Reader of the child elements of a DOC.
pub(super) struct XmlElements<'a> {
    source: &'a str,
    text: &'a str,
    rest: &'a str,
    at_end: bool,
}

/// An element without children or attributes.
#[derive(Clone, Copy)]
pub(super) struct XmlElement<'a> {
    pub(super) name: &'a str,
    /// Content with its entities, as in the file.
    pub(super) raw: &'a str,
    pub(super) at: Location<'a>,
}

impl XmlElement<'_> {
    /// The content, un-escaped and without surrounding white space.
    pub(super) fn text(&self) -> String {
        let raw = self.raw.trim();
        let cdata = raw
            .strip_prefix("<![CDATA[")
            .and_then(|raw| raw.strip_suffix("]]>"));
        match cdata {
            Some(plain) => plain.trim().to_owned(),
            None => unescaped(raw).trim().to_owned(),
        }
    }
}

impl<'a> XmlElements<'a> {
    /// Starts at the first child of the DOC.
    pub(super) fn new(text: &'a str, source: &'a str) -> Result<Self, DataError> {
        let mut elements = Self {
            source,
            text,
            rest: text.trim_start(),
            at_end: false,
        };
        elements.rest = match after_prolog(elements.rest) {
            Ok(rest) => rest,
            Err((expected, rest)) => {
                elements.rest = rest;
                return Err(elements.syntax_error(expected));
            }
        };
        elements.rest = match after_start_tag(elements.rest) {
            Some(rest) => rest,
            None => return Err(elements.syntax_error("<DOC>")),
        };
        Ok(elements)
    }

    pub(super) fn location(&self) -> Location<'a> {
        let passed = &self.text[..self.text.len() - self.rest.len()];
        Location::new(self.source, 1 + passed.matches('\n').count() as u64)
    }

    /// The next child; [`None`] after the last.
    pub(super) fn next(&mut self) -> Result<Option<XmlElement<'a>>, DataError> {
        self.skip_comments()?;
        if self.at_end {
            return Ok(None);
        }
        if let Some(rest) = self.rest.strip_prefix("</DOC>") {
            self.rest = rest;
            self.at_end = true;
            self.skip_comments()?;
            return match self.rest {
                "" => Ok(None),
                _ => Err(self.syntax_error("the end after </DOC>")),
            };
        }
        let tag = self
            .rest
            .strip_prefix('<')
            .and_then(|rest| rest.split_once('>'));
        let tag = tag.filter(|(name, _)| !name.starts_with('/'));
        let Some((name, content)) = tag else {
            return Err(self.syntax_error("an element or </DOC>"));
        };
        let at = self.location();
        if let Some(name) = name.strip_suffix('/') {
            self.rest = content;
            let (name, raw) = (name.trim_end(), "");
            return Ok(Some(XmlElement { name, raw, at }));
        }
        // METADATA may contain markup, but not its own end.
        let end = content.match_indices("</").find(|(end, _)| {
            let after = content[end + 2..].strip_prefix(name);
            after.is_some_and(|after| after.starts_with('>'))
        });
        let Some((end, _)) = end else {
            return Err(at.syntax("the end of the element", &self.rest[..name.len() + 2]));
        };
        self.rest = &content[end + name.len() + 3..];
        let raw = &content[..end];
        Ok(Some(XmlElement { name, raw, at }))
    }

    /// Skips white space and comments.
    fn skip_comments(&mut self) -> Result<(), DataError> {
        self.rest = self.rest.trim_start();
        while let Some(comment) = self.rest.strip_prefix("<!--") {
            let Some((_, rest)) = comment.split_once("-->") else {
                return Err(self.syntax_error("-->"));
            };
            self.rest = rest.trim_start();
        }
        Ok(())
    }

    fn syntax_error(&self, expected: &'static str) -> DataError {
        let found = self.rest.lines().next().unwrap_or("the end of the file");
        self.location().syntax(expected, found)
    }
}

/// Decodes the five entities of XML and character references; any other `&` is literal.
pub(super) fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        // The longest reference is `&#1114111;` or `&#x10FFFF;`.
        let end = rest.bytes().take(10).position(|byte| byte == b';');
        let decoded = end.and_then(|end| Some((end, decoded(&rest[1..end])?)));
        let (length, char) = decoded.map_or((0, '&'), |(end, char)| (end, char));
        plain.push(char);
        rest = &rest[length + 1..];
    }
    plain.push_str(rest);
    plain
}

fn decoded(name: &str) -> Option<char> {
    Some(match name {
        "lt" => '<',
        "gt" => '>',
        "amp" => '&',
        "quot" => '"',
        "apos" => '\'',
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?)?
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entities() {
        for (text, expected) in [
            (
                "a &lt;b&gt; &amp;amp; &quot;c&quot; &apos;",
                "a <b> &amp; \"c\" '",
            ),
            ("&#946; &#x3B2; &#x3b2;", "β β β"),
            (
                "AT&T &unknown; & &#xD800; &#;",
                "AT&T &unknown; & &#xD800; &#;",
            ),
            ("&", "&"),
            ("β&β;", "β&β;"),
        ] {
            assert_eq!(unescaped(text), expected);
        }
    }
}
