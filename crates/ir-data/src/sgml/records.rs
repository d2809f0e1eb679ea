//! Records of a TREC file in SGML.

use std::io::BufRead;
use std::ops::Range;
use std::sync::Arc;

use crate::error::{DataError, Location};
use crate::head::{Declaration, declaration};
use crate::lines::{LineReader, MAX_LINE};
use crate::sgml::markup::{
    OpenRecord, Step, Tag, Token, Tokenizer, find_tags, is_self_closing, tag,
};

/// Element that is a record.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordElement {
    pub(super) name: &'static str,
    /// Tag that closes it.
    pub(super) close: &'static str,
    /// Name of the root element; `None` for any element or none.
    pub(super) root: Option<&'static str>,
}

/// Elements that are records.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordElements {
    pub(super) elements: &'static [RecordElement],
    /// Opening tags, for errors.
    pub(super) open: &'static str,
}

/// Reader of the records of a file, which may be the children of a root element.
#[derive(Debug)]
pub(super) struct RecordReader<R> {
    lines: LineReader<R>,
    pub(super) source: Arc<str>,
    kinds: RecordElements,
    /// Lines with their ends: from the current record up to the last line that was read.
    text: String,
    /// If `true`, `text` has the last line.
    is_end: bool,
    /// Length of the prefix of `text` that was read.
    consumed: usize,
    /// Number of the line at `consumed`.
    number: u64,
    /// Start in `text` of what is between two records.
    between: usize,
    /// Name of the last element that is no record.
    root: String,
    /// Attributes of the current record.
    pub(super) attributes: String,
    /// Range in `text` of the current record between its tags.
    markup: Range<usize>,
    /// Number of the line at the start of `markup`.
    markup_line: u64,
    /// Number of records in comments between records.
    pub(super) commented: u64,
}

impl<R: BufRead> RecordReader<R> {
    pub(super) fn new(reader: R, source: &str, kinds: RecordElements) -> Self {
        let lines = LineReader::new(reader, source).with_skipped_nul();
        Self {
            source: lines.source(),
            lines,
            kinds,
            text: String::new(),
            is_end: false,
            consumed: 0,
            number: 1,
            between: 0,
            root: String::new(),
            attributes: String::new(),
            markup: 0..0,
            markup_line: 1,
            commented: 0,
        }
    }

    /// Number of NUL bytes that were skipped.
    pub(super) fn skipped_nul(&self) -> u64 {
        self.lines.skipped_nul.unwrap_or(0)
    }

    /// Text of the current record between its tags.
    pub(super) fn markup(&self) -> &str {
        &self.text[self.markup.clone()]
    }

    /// Reads the next record and returns the line on which it starts; `None` at the end.
    pub(super) fn read(&mut self) -> Result<Option<u64>, DataError> {
        let open = self.kinds.open;
        self.markup = 0..0;
        if self.consumed > self.text.len() / 2 {
            self.text.drain(..self.consumed);
            (self.consumed, self.between) = (0, 0);
        }
        loop {
            // White space is skipped once per line, not once per record of the line.
            let rest = &self.text[self.consumed..];
            let white = rest.len() - rest.trim_start().len();
            self.advance(white);
            let start = self.number;
            let rest = &self.text[self.consumed..];
            let length = rest.len();
            if rest.is_empty() {
                self.text.clear();
                (self.consumed, self.between) = (0, 0);
                if !self.grow(1)? {
                    return Ok(None);
                }
                continue;
            }
            if rest.starts_with("<!--") {
                self.skip_comment()?;
                continue;
            }
            if rest.starts_with("<!") || rest.starts_with("<?") {
                match declaration(rest) {
                    Declaration::Closed(length) => self.advance(length),
                    Declaration::Unfinished if !self.is_complete() => {
                        self.grow(length)?;
                    }
                    _ => return Err(self.unexpected(open)),
                }
                continue;
            }
            let record = OpenRecord {
                name: self.kinds.elements[0].name,
                is_complete: self.is_complete(),
            };
            match tag(rest, Some(record)) {
                Tag::Found(Token::Open(name, attributes), length) => {
                    let Some(element) = self.element(name) else {
                        // Root element.
                        name.clone_into(&mut self.root);
                        self.advance(length);
                        continue;
                    };
                    let is_empty = is_self_closing(attributes);
                    attributes.clone_into(&mut self.attributes);
                    self.advance(length);
                    (self.markup_line, self.between) = (self.number, self.consumed);
                    if !is_empty {
                        self.read_markup(start, element)?;
                    }
                    return Ok(Some(start));
                }
                Tag::Found(Token::Close(name), _) if self.element(name).is_some() => {
                    return Err(self.unexpected(open));
                }
                // Closing tag of a root element.
                Tag::Found(_, length) => self.advance(length),
                Tag::Unfinished => {
                    self.grow(length)?;
                }
                Tag::None => return Err(self.unexpected(open)),
            }
        }
    }

    /// Reads up to the closing tag of a record, which starts on a line.
    fn read_markup(&mut self, start: u64, element: RecordElement) -> Result<(), DataError> {
        let is_record = |name: &str| name.eq_ignore_ascii_case(element.name);
        let mut tokens = Tokenizer::default();
        loop {
            let record = OpenRecord {
                name: element.name,
                is_complete: self.is_complete(),
            };
            let text = &self.text[self.consumed..];
            match tokens.next(text, Some(record)) {
                Step::Token(range, Token::Open(name, _)) if is_record(name) => {
                    let found = text[range.clone()].to_owned();
                    self.advance(range.start);
                    let at = Location::new(&self.source, self.number);
                    return Err(at.syntax(element.close, &found));
                }
                Step::Token(range, Token::Close(name)) if is_record(name) => {
                    if range.start as u64 > MAX_LINE {
                        return Err(self.too_long(start));
                    }
                    self.markup = self.consumed..self.consumed + range.start;
                    self.advance(range.end);
                    self.between = self.consumed;
                    return Ok(());
                }
                Step::Token(..) => {}
                Step::Unfinished => {
                    // At least as much as was read, so that the time is linear.
                    let length = text.len() - tokens.start();
                    self.grow(length)?;
                }
                Step::End if text.len() as u64 > MAX_LINE => return Err(self.too_long(start)),
                Step::End => {
                    if !self.grow(1)? {
                        self.advance(self.text.len() - self.consumed);
                        let at = Location::new(&self.source, start);
                        return Err(at.syntax(element.close, "the end of the file"));
                    }
                }
            }
        }
    }

    /// Element of a record by its name.
    fn element(&self, name: &str) -> Option<RecordElement> {
        let is_element = |element: &&RecordElement| {
            let root = element.root;
            element.name.eq_ignore_ascii_case(name)
                && root.is_none_or(|root| root.eq_ignore_ascii_case(&self.root))
        };
        self.kinds.elements.iter().find(is_element).copied()
    }

    /// Error of a text between records. The rest of the line is skipped.
    fn unexpected(&mut self, expected: &'static str) -> DataError {
        let before = &self.text[self.between..self.consumed];
        let start = self.between + before.rfind('\n').map_or(0, |at| at + 1);
        let rest = &self.text[self.consumed..];
        let length = rest.find('\n').unwrap_or(rest.len());
        let at = Location::new(&self.source, self.number);
        let error = at.syntax(expected, self.text[start..self.consumed + length].trim());
        self.advance(length);
        error
    }

    /// Error of a record that starts on a line. The lines that were read are skipped.
    fn too_long(&mut self, start: u64) -> DataError {
        self.advance(self.text.len() - self.consumed);
        let at = Location::new(&self.source, start);
        at.syntax("a record of at most 64 MiB", self.kinds.open)
    }

    /// Skips a comment between records, and counts the records in it. A second opening after a
    /// record is an error: the first comment has no end, and the records in it would be skipped.
    fn skip_comment(&mut self) -> Result<(), DataError> {
        let start = self.number;
        let mut has_record = false;
        self.advance("<!".len());
        loop {
            let rest = &self.text[self.consumed..];
            let end = rest.find("-->");
            let inner = &rest[..end.unwrap_or(rest.len())];
            let elements = self.kinds.elements.iter();
            let records = elements.flat_map(|element| find_tags(inner, "<", element.name));
            let ends: Vec<usize> = records.map(|range| range.end).collect();
            self.commented += ends.len() as u64;
            let record = ends.into_iter().min();
            let record = record.filter(|_| !has_record).or(has_record.then_some(0));
            let is_reopened = record.is_some_and(|end| inner[end..].contains("<!--"));
            has_record |= record.is_some();
            let length = end.map_or(rest.len(), |end| end + "-->".len());
            self.advance(length);
            let at = Location::new(&self.source, start);
            if is_reopened {
                return Err(at.syntax("-->", "<!--"));
            }
            if end.is_some() {
                return Ok(());
            }
            self.text.clear();
            (self.consumed, self.between) = (0, 0);
            if !self.grow(1)? {
                let at = Location::new(&self.source, start);
                return Err(at.syntax("-->", "the end of the file"));
            }
        }
    }

    /// Returns `true` if no text follows that may be of the current record.
    fn is_complete(&self) -> bool {
        self.is_end || (self.text.len() - self.consumed) as u64 > MAX_LINE
    }

    /// Moves the position in `text` forward.
    fn advance(&mut self, bytes: usize) {
        let end = self.consumed + bytes;
        self.number += line_ends(&self.text[self.consumed..end]);
        self.consumed = end;
    }

    /// Reads lines until `text` has at least `bytes` more; `false` at the end.
    fn grow(&mut self, bytes: usize) -> Result<bool, DataError> {
        let before = self.text.len();
        while self.text.len() < before + bytes && !self.is_end {
            match self.lines.read()? {
                Some(line) => {
                    self.text.push_str(line.text);
                    self.text.push('\n');
                }
                None => self.is_end = true,
            }
        }
        Ok(self.text.len() > before)
    }

    /// Location of a byte of the current record.
    pub(super) fn location(&self, offset: usize) -> Location<'_> {
        let lines = line_ends(&self.markup()[..offset]);
        Location::new(&self.source, self.markup_line + lines)
    }
}

/// Number of line ends in a text.
fn line_ends(text: &str) -> u64 {
    text.bytes().filter(|&byte| byte == b'\n').count() as u64
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
