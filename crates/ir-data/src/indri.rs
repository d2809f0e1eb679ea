//! Topics in Indri parameter files, as published by the bioCADDIE challenge.
//!
//! ```text
//! <parameters>
//! <query>
//!     <number>T14</number>
//!     <text>Search for data on nerve cells in the substantia nigra in mice</text>
//! </query>
//! </parameters>
//! ```
//!
//! - The text may be a structured query (`#or( #band( .. ) .. )`) of several lines. It is returned
//!   unchanged except for leading and trailing white space.
//! - `&amp;`, `&lt;`, `&gt;`, `&quot;` and `&apos;` are decoded; any other `&` is literal, as in
//!   Indri.
//! - Declarations and comments between elements are skipped. Any other element is an error.
//!
//! ```
//! let text = "<parameters><query><number>T1</number>
//!     <text> p53 &amp; mice </text></query></parameters>";
//! let queries = ir_data::indri::read_queries(text.as_bytes(), "topics")?;
//! assert_eq!((queries[0].id.as_str(), queries[0].text.as_str()), ("T1", "p53 & mice"));
//! # Ok::<(), ir_data::DataError>(())
//! ```

use std::io::BufRead;

use ir_core::Query;

use crate::duplicates::DuplicateFinder;
use crate::error::{DataError, Location};
use crate::head::{Declaration, declaration};
use crate::lines::read_all;

/// Reads all queries; `source` names the reader in errors.
///
/// # Errors
/// The source cannot be read, an element is missing, unknown or misplaced, or a query number is not
/// unique.
pub fn read_queries(reader: impl BufRead, source: &str) -> Result<Vec<Query>, DataError> {
    let text = read_all(reader, source)?;
    let mut scan = TagScanner {
        source,
        rest: &text,
        line: 1,
    };
    let mut queries = Vec::new();
    let mut seen = DuplicateFinder::default();
    scan.expect("<parameters>")?;
    while !scan.take("</parameters>") {
        scan.expect("<query>")?;
        let (mut id, mut words, mut at) = (None, None, scan.location());
        while !scan.take("</query>") {
            if id.is_none() && scan.take("<number>") {
                at = scan.location();
                id = Some(scan.until("</number>")?);
            } else if words.is_none() && scan.take("<text>") {
                words = Some(scan.until("</text>")?);
            } else {
                return Err(scan.syntax_error("<number>, <text> or </query>"));
            }
        }
        let id = id
            .filter(|id| !id.is_empty())
            .ok_or_else(|| at.missing_field("number"))?;
        let words = words.ok_or_else(|| at.missing_field("text"))?;
        seen.add_id(&id, at)?;
        queries.push(Query::new(id, words));
    }
    scan.skip();
    if scan.rest.is_empty() {
        return Ok(queries);
    }
    Err(scan.syntax_error("the end after </parameters>"))
}

struct TagScanner<'a> {
    source: &'a str,
    rest: &'a str,
    line: u64,
}

impl<'a> TagScanner<'a> {
    fn location(&self) -> Location<'a> {
        Location::new(self.source, self.line)
    }

    fn advance(&mut self, bytes: usize) {
        let (passed, rest) = self.rest.split_at(bytes);
        self.line += passed.matches('\n').count() as u64;
        self.rest = rest;
    }

    /// Skips white space, declarations and comments.
    fn skip(&mut self) {
        self.advance(self.rest.len() - self.rest.trim_start().len());
        while let Declaration::Closed(length) = declaration(self.rest) {
            self.advance(length);
            self.advance(self.rest.len() - self.rest.trim_start().len());
        }
    }

    /// Consumes a tag if it is next, with its attributes.
    fn take(&mut self, tag: &str) -> bool {
        self.skip();
        let rest = self.rest.strip_prefix(tag.trim_end_matches('>'));
        let is_tag = |rest: &&str| rest.starts_with(|c: char| c == '>' || c.is_whitespace());
        let Some(end) = rest.filter(is_tag).and_then(end_of_tag) else {
            return false;
        };
        self.advance(tag.len() + end);
        true
    }

    fn expect(&mut self, tag: &'static str) -> Result<(), DataError> {
        if self.take(tag) {
            return Ok(());
        }
        Err(self.syntax_error(tag))
    }

    /// Consumes the text up to and including a closing tag and returns it without the tag.
    fn until(&mut self, tag: &'static str) -> Result<String, DataError> {
        let Some(end) = self.rest.find(tag) else {
            return Err(self.syntax_error(tag));
        };
        let text = unescaped(self.rest[..end].trim());
        self.advance(end + tag.len());
        Ok(text)
    }

    fn syntax_error(&self, expected: &'static str) -> DataError {
        let found = self.rest.lines().next().unwrap_or("the end of the file");
        self.location().syntax(expected, found)
    }
}

/// Position of the `>` that ends a tag. Attributes in quotes may contain others.
fn end_of_tag(text: &str) -> Option<usize> {
    let mut quote = None;
    text.find(|c: char| match quote {
        Some(open) => {
            quote = (c != open).then_some(open);
            false
        }
        None if c == '"' || c == '\'' => {
            quote = Some(c);
            false
        }
        None => c == '>',
    })
}

/// Decodes the five entities of XML.
pub(crate) fn unescaped(text: &str) -> String {
    // `&amp;` is the last one, so that `&amp;lt;` becomes `&lt;`.
    const NAMES: [(&str, &str); 5] = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&apos;", "'"),
        ("&amp;", "&"),
    ];
    NAMES.iter().fold(text.to_owned(), |text, (name, plain)| {
        text.replace(name, plain)
    })
}
