//! Records of a TREC file in SGML.

use std::io::BufRead;
use std::ops::Range;
use std::sync::Arc;

use crate::error::{DataError, Location};
use crate::lines::{LineReader, MAX_LINE};
use crate::sgml::markup::{Token, tag, tokens};

/// Elements that are records.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordElements {
    /// Names and closing tags.
    pub(super) elements: &'static [(&'static str, &'static str)],
    /// Opening tags, for errors.
    pub(super) open: &'static str,
}

/// Reader of the records of a file, which may be the children of a root element.
#[derive(Debug)]
pub(super) struct RecordReader<R> {
    lines: LineReader<R>,
    pub(super) source: Arc<str>,
    kinds: RecordElements,
    line: String,
    number: u64,
    /// Length of the prefix of `line` that belongs to previous records.
    consumed: usize,
    /// Start in `line` of what is between two records.
    between: usize,
    /// Name and closing tag of the element of the current record.
    element: (&'static str, &'static str),
    /// Attributes of the current record.
    pub(super) attributes: String,
    /// Text of the current record between its tags.
    pub(super) markup: String,
}

impl<R: BufRead> RecordReader<R> {
    pub(super) fn new(reader: R, source: &str, kinds: RecordElements) -> Self {
        let lines = LineReader::new(reader, source).with_skipped_nul();
        Self {
            source: lines.source(),
            lines,
            kinds,
            line: String::new(),
            number: 0,
            consumed: 0,
            between: 0,
            element: kinds.elements[0],
            attributes: String::new(),
            markup: String::new(),
        }
    }

    /// Number of NUL bytes that were skipped.
    pub(super) fn skipped_nul(&self) -> u64 {
        self.lines.skipped_nul.unwrap_or(0)
    }

    /// Reads the next record into `markup` and returns the line on which it starts; `None` at the
    /// end.
    pub(super) fn read(&mut self) -> Result<Option<u64>, DataError> {
        let RecordElements { elements, open } = self.kinds;
        self.markup.clear();
        let element = |name: &str| {
            let mut elements = elements.iter();
            elements.find(|(known, _)| known.eq_ignore_ascii_case(name))
        };
        loop {
            // White space is skipped once per line, not once per record of the line.
            let rest = self.line[self.consumed..].trim_start();
            self.consumed = self.line.len() - rest.len();
            if rest.is_empty() {
                if !self.next_line()? {
                    return Ok(None);
                }
                continue;
            }
            match tag(rest) {
                Some((Token::Open(name, attributes), length))
                    if let Some(found) = element(name) =>
                {
                    self.element = *found;
                    attributes.clone_into(&mut self.attributes);
                    self.consumed += length;
                    break;
                }
                _ if rest.starts_with("<!--") => self.skip_comment()?,
                // Tags of a root element, and declarations.
                Some((Token::Close(name), _)) if element(name).is_some() => {
                    return Err(self.unexpected(open));
                }
                Some((_, length)) => self.consumed += length,
                None => return Err(self.unexpected(open)),
            }
        }
        let start = self.number;
        while !self.read_line()? {
            if !self.next_line()? {
                let at = Location::new(&self.source, start);
                return Err(at.syntax(self.element.1, "the end of the file"));
            }
        }
        Ok(Some(start))
    }

    /// Error of a text between records. The rest of the line is skipped.
    fn unexpected(&mut self, expected: &'static str) -> DataError {
        let at = Location::new(&self.source, self.number);
        let error = at.syntax(expected, self.line[self.between..].trim());
        self.consumed = self.line.len();
        error
    }

    /// Skips a comment between records.
    fn skip_comment(&mut self) -> Result<(), DataError> {
        let start = self.number;
        loop {
            if let Some(end) = self.line[self.consumed..].find("-->") {
                self.consumed += end + "-->".len();
                return Ok(());
            }
            if !self.next_line()? {
                let at = Location::new(&self.source, start);
                return Err(at.syntax("-->", "the end of the file"));
            }
        }
    }

    /// Reads the next line into `line`; `false` at the end.
    fn next_line(&mut self) -> Result<bool, DataError> {
        self.line.clear();
        (self.consumed, self.between) = (0, 0);
        let Some(line) = self.lines.read()? else {
            return Ok(false);
        };
        self.line.push_str(line.text);
        self.number = line.number;
        Ok(true)
    }

    /// Appends the current line to `markup` up to the closing tag. Returns whether there is one.
    fn read_line(&mut self) -> Result<bool, DataError> {
        let (open, close) = (self.kinds.open, self.element.1);
        let rest = &self.line[self.consumed..];
        let at = Location::new(&self.source, self.number);
        let mut end = None;
        for (range, token) in tokens(rest) {
            match token {
                Token::Open(name, _) if self.is_record(name) => {
                    let error = at.syntax(close, &rest[range.clone()]);
                    self.consumed += range.start;
                    return Err(error);
                }
                Token::Close(name) if self.is_record(name) => {
                    end = Some(range);
                    break;
                }
                _ => {}
            }
        }
        let is_last = end.is_some();
        let Range { start, end } = end.unwrap_or(rest.len()..rest.len());
        if (self.markup.len() + start) as u64 > MAX_LINE {
            let error = at.syntax("a record of at most 64 MiB", open);
            self.consumed = self.line.len();
            return Err(error);
        }
        self.markup.push_str(&rest[..start]);
        if !is_last {
            self.markup.push('\n');
        }
        self.consumed += end;
        self.between = self.consumed;
        Ok(is_last)
    }

    /// Returns `true` if `name` is the name of the record's element.
    fn is_record(&self, name: &str) -> bool {
        name.eq_ignore_ascii_case(self.element.0)
    }

    /// Returns an error if an opening tag in `markup` starts a record, as `<DOC` and `>` on two
    /// lines do. `start` is the line on which the record starts.
    pub(super) fn check_not_nested(
        &self,
        start: u64,
        range: Range<usize>,
        name: &str,
    ) -> Result<(), DataError> {
        if !self.is_record(name) {
            return Ok(());
        }
        let close = self.element.1;
        let at = self.location(start, range.start);
        Err(at.syntax(close, &self.markup[range]))
    }

    /// Location of a byte of `markup`. `start` is the line on which the record starts.
    pub(super) fn location(&self, start: u64, offset: usize) -> Location<'_> {
        let lines = self.markup[..offset].matches('\n').count() as u64;
        Location::new(&self.source, start + lines)
    }
}

/// Appends a text to a field. After a tag, the words on both sides are separate.
pub(super) fn append(field: &mut String, text: &str, after_tag: bool) {
    let is_word = |char: Option<char>| char.is_some_and(|char| !char.is_whitespace());
    if after_tag && is_word(field.chars().next_back()) && is_word(text.chars().next()) {
        field.push(' ');
    }
    field.push_str(text);
}

/// Joins the words of a text by single spaces.
pub(super) fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}
