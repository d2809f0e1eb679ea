//! Records of a TREC file in SGML, their tags and text.

use std::io::BufRead;
use std::ops::Range;
use std::sync::Arc;

use crate::error::{DataError, Location};
use crate::indri::unescaped;
use crate::lines::{LineReader, MAX_LINE};

/// Reader of the records between two tags.
#[derive(Debug)]
pub(super) struct RecordReader<R> {
    lines: LineReader<R>,
    pub(super) source: Arc<str>,
    tags: [&'static str; 2],
    line: String,
    number: u64,
    /// Length of the prefix of `line` that belongs to previous records.
    consumed: usize,
    /// Text of the current record between its tags.
    pub(super) markup: String,
}

impl<R: BufRead> RecordReader<R> {
    pub(super) fn new(reader: R, source: &str, tags: [&'static str; 2]) -> Self {
        let lines = LineReader::new(reader, source);
        Self {
            source: lines.source(),
            lines,
            tags,
            line: String::new(),
            number: 0,
            consumed: 0,
            markup: String::new(),
        }
    }

    /// Reads the next record into `markup` and returns the line on which it starts; `None` at the
    /// end.
    pub(super) fn read(&mut self) -> Result<Option<u64>, DataError> {
        let [open, close] = self.tags;
        self.markup.clear();
        loop {
            // White space is skipped once per line, not once per record of the line.
            let rest = self.line[self.consumed..].trim_start();
            self.consumed = self.line.len() - rest.len();
            if starts_with(rest, open) {
                self.consumed += open.len();
                break;
            }
            if !rest.is_empty() {
                let at = Location::new(&self.source, self.number);
                let error = at.syntax(open, rest.trim_end());
                self.consumed = self.line.len();
                return Err(error);
            }
            if !self.next_line()? {
                return Ok(None);
            }
        }
        let start = self.number;
        while !self.read_line()? {
            if !self.next_line()? {
                let at = Location::new(&self.source, start);
                return Err(at.syntax(close, "the end of the file"));
            }
        }
        Ok(Some(start))
    }

    /// Reads the next line into `line`; `false` at the end.
    fn next_line(&mut self) -> Result<bool, DataError> {
        self.line.clear();
        self.consumed = 0;
        let Some(line) = self.lines.read()? else {
            return Ok(false);
        };
        self.line.push_str(line.text);
        self.number = line.number;
        Ok(true)
    }

    /// Appends the current line to `markup` up to the closing tag. Returns whether there is one.
    fn read_line(&mut self) -> Result<bool, DataError> {
        let [open, close] = self.tags;
        let rest = &self.line[self.consumed..];
        let at = Location::new(&self.source, self.number);
        let mut end = None;
        for (range, token) in tokens(rest) {
            match token {
                Token::Open(name) if self.is_record(name) => {
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
        Ok(is_last)
    }

    /// Returns `true` if `name` is the name of the record's element.
    fn is_record(&self, name: &str) -> bool {
        let [open, _] = self.tags;
        name.eq_ignore_ascii_case(open.trim_matches(['<', '>']))
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
        let [_, close] = self.tags;
        let at = self.location(start, range.start);
        Err(at.syntax(close, &self.markup[range]))
    }

    /// Location of a byte of `markup`. `start` is the line on which the record starts.
    pub(super) fn location(&self, start: u64, offset: usize) -> Location<'_> {
        let lines = self.markup[..offset].matches('\n').count() as u64;
        Location::new(&self.source, start + lines)
    }
}

fn starts_with(text: &str, tag: &str) -> bool {
    let start = text.as_bytes().get(..tag.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(tag.as_bytes()))
}

/// Appends a text to a field. After a tag, the words on both sides are separate.
pub(super) fn append(field: &mut String, text: &str, after_tag: bool) {
    let is_word = |char: Option<char>| char.is_some_and(|char| !char.is_whitespace());
    if after_tag && is_word(field.chars().next_back()) && is_word(text.chars().next()) {
        field.push(' ');
    }
    field.push_str(text);
}

/// Joins the words of a text by single spaces and decodes entities.
pub(super) fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    unescaped(&words.join(" "))
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Token<'a> {
    Open(&'a str),
    Close(&'a str),
    Text(&'a str),
}

/// Splits a text into names of tags and the text between them, with their byte ranges.
pub(super) fn tokens(text: &str) -> impl Iterator<Item = (Range<usize>, Token<'_>)> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let rest = &text[start..];
        let (token, length) = match tag(rest) {
            Some(found) => found,
            None => {
                let first = rest.chars().next()?.len_utf8();
                let length = rest[first..].find('<').map_or(rest.len(), |at| first + at);
                (Token::Text(&rest[..length]), length)
            }
        };
        let range = start..start + length;
        start = range.end;
        Some((range, token))
    })
}

/// Tag at the start of a text, and its length in bytes. A tag contains no `<`, so that a text of
/// many `<` is split in linear time.
fn tag(text: &str) -> Option<(Token<'_>, usize)> {
    const LONGEST: usize = 4096;
    let body = text.strip_prefix('<')?;
    let is_end = |byte| matches!(byte, b'<' | b'>');
    let end = body.bytes().take(LONGEST).position(is_end)?;
    let tag = body[end..].starts_with('>').then_some(&body[..end])?;
    let (is_closing, name) = match tag.strip_prefix('/') {
        Some(name) => (true, name),
        None => (false, tag),
    };
    if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '!' || c == '?') {
        return None;
    }
    let name = name.split([' ', '\t', '\n', '\r', '/']).next()?;
    let token = if is_closing {
        Token::Close(name)
    } else {
        Token::Open(name)
    };
    Some((token, end + 2))
}
