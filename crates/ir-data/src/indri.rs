//! Topics in Indri's parameter files, as the bioCADDIE challenge published its own.
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
//! - The text may be a structured query (`#or( #band( .. ) .. )`), over several lines; it is given
//!   as it stands, white space at both ends excepted.
//! - `&amp;`, `&lt;`, `&gt;`, `&quot;` and `&apos;` stand for their characters; any other `&`
//!   stands for itself, as Indri reads it.
//! - Elements other than these four are refused.
//!
//! ```
//! let text = "<parameters><query><number>T1</number><text> p53 &amp; mice </text></query></parameters>";
//! let queries = ir_data::indri::read_queries(text.as_bytes(), "topics")?;
//! assert_eq!((queries[0].id.as_str(), queries[0].text.as_str()), ("T1", "p53 & mice"));
//! # Ok::<(), ir_data::DataError>(())
//! ```

use std::io::BufRead;

use ir_core::Query;

use crate::DataError;
use crate::error::excerpt;
use crate::lines::whole;
use crate::seen::Seen;

/// Reads all queries of a source, which is named in errors.
///
/// # Errors
/// When the source cannot be read, an element is missing, unknown or not where it should be, or two
/// queries have the same number.
pub fn read_queries(reader: impl BufRead, source: &str) -> Result<Vec<Query>, DataError> {
    let text = whole(reader, source)?;
    let mut scan = Scan {
        source,
        rest: &text,
        line: 1,
    };
    let mut queries = Vec::new();
    let mut seen = Seen::default();
    scan.expect("<parameters>")?;
    while !scan.take("</parameters>") {
        scan.expect("<query>")?;
        let (mut id, mut words, mut line) = (None, None, scan.line);
        while !scan.take("</query>") {
            if id.is_none() && scan.take("<number>") {
                line = scan.line;
                id = Some(scan.until("</number>")?);
            } else if words.is_none() && scan.take("<text>") {
                words = Some(scan.until("</text>")?);
            } else {
                return Err(scan.fault("<number>, <text> or </query>"));
            }
        }
        let missing = |field: &str| DataError::MissingField {
            path: source.to_owned(),
            line,
            field: field.to_owned(),
        };
        let id = id
            .filter(|id| !id.is_empty())
            .ok_or_else(|| missing("number"))?;
        let words = words.ok_or_else(|| missing("text"))?;
        seen.new_id(&id, source, line)?;
        queries.push(Query::new(id, words));
    }
    scan.skip();
    if scan.rest.is_empty() {
        return Ok(queries);
    }
    Err(scan.fault("the end after </parameters>"))
}

struct Scan<'a> {
    source: &'a str,
    rest: &'a str,
    line: u64,
}

impl Scan<'_> {
    fn advance(&mut self, bytes: usize) {
        let (passed, rest) = self.rest.split_at(bytes);
        self.line += passed.matches('\n').count() as u64;
        self.rest = rest;
    }

    fn skip(&mut self) {
        self.advance(self.rest.len() - self.rest.trim_start().len());
    }

    /// Passes a tag, if it comes next.
    fn take(&mut self, tag: &str) -> bool {
        self.skip();
        let found = self.rest.starts_with(tag);
        if found {
            self.advance(tag.len());
        }
        found
    }

    fn expect(&mut self, tag: &'static str) -> Result<(), DataError> {
        if self.take(tag) {
            return Ok(());
        }
        Err(self.fault(tag))
    }

    /// The text before a closing tag, which is passed.
    fn until(&mut self, tag: &'static str) -> Result<String, DataError> {
        let Some(end) = self.rest.find(tag) else {
            return Err(self.fault(tag));
        };
        let text = unescaped(self.rest[..end].trim());
        self.advance(end + tag.len());
        Ok(text)
    }

    fn fault(&self, expected: &'static str) -> DataError {
        DataError::Syntax {
            path: self.source.to_owned(),
            line: self.line,
            expected,
            found: excerpt(self.rest.lines().next().unwrap_or("the end of the file")),
        }
    }
}

fn unescaped(text: &str) -> String {
    const NAMES: [(&str, char); 5] = [
        ("&amp;", '&'),
        ("&lt;", '<'),
        ("&gt;", '>'),
        ("&quot;", '"'),
        ("&apos;", '\''),
    ];
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        match NAMES.iter().find(|(name, _)| rest.starts_with(name)) {
            Some((name, character)) => {
                plain.push(*character);
                rest = &rest[name.len()..];
            }
            None => {
                plain.push('&');
                rest = &rest[1..];
            }
        }
    }
    plain.push_str(rest);
    plain
}
