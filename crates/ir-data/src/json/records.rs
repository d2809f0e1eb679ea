//! Records of a JSON file: one per line, or the elements of an array.

use std::io::{BufRead, ErrorKind};
use std::sync::Arc;

use crate::error::{DataError, InvalidText, Location};
use crate::lines::{LineReader, at_line};

/// Reader of the texts of JSON records: lines, or the elements of one array, which may be on one
/// line. Holds one record at a time.
#[derive(Debug)]
pub(crate) struct RecordReader<R> {
    lines: LineReader<R>,
    form: Form,
    /// Text of an element.
    element: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Before the first record.
    Unknown,
    Lines,
    /// Before the first element, or the end of the array.
    ArrayStart,
    /// Behind an element of the array.
    Array,
    End,
}

impl<R: BufRead> RecordReader<R> {
    pub(crate) fn new(lines: LineReader<R>) -> Self {
        Self {
            lines,
            form: Form::Unknown,
            element: Vec::new(),
        }
    }

    pub(crate) fn source(&self) -> Arc<str> {
        self.lines.source()
    }

    /// Reads the next record: its text and the line on which it starts. `None` at the end. The text
    /// of a blank line is blank.
    pub(crate) fn read(&mut self) -> Result<Option<(&str, u64)>, DataError> {
        if self.form == Form::Unknown {
            self.form = match self.lines.skip_blank()? {
                Some(b'[') => {
                    self.lines.skip_byte()?;
                    Form::ArrayStart
                }
                _ => Form::Lines,
            };
        }
        if self.form == Form::Lines {
            return Ok(self.lines.read()?.map(|line| (line.text, line.number)));
        }
        self.read_element()
    }

    fn read_element(&mut self) -> Result<Option<(&str, u64)>, DataError> {
        const SEPARATOR: &str = "`,` or `]` after an element of the array";
        let mut next = self.lines.skip_blank()?;
        if self.form == Form::Array {
            next = match next {
                Some(b',') => {
                    self.lines.skip_byte()?;
                    match self.lines.skip_blank()? {
                        Some(other @ (b']' | b',')) => {
                            let found = char::from(other).to_string();
                            return Err(self.syntax("a value after `,`", &found));
                        }
                        next => next,
                    }
                }
                Some(b']') => next,
                Some(other) => {
                    let found = char::from(other).to_string();
                    return Err(self.syntax(SEPARATOR, &found));
                }
                None => return Err(self.syntax(SEPARATOR, "the end of the file")),
            };
        }
        match next {
            Some(b']') if self.form != Form::End => {
                self.lines.skip_byte()?;
                self.form = Form::End;
                return self.read_element();
            }
            None if self.form == Form::End => return Ok(None),
            Some(_) if self.form == Form::End => {
                return Err(self.syntax("the end of the file after the array", "more text"));
            }
            None => return Err(self.syntax("`]` at the end of the array", "the end of the file")),
            Some(_) => {}
        }
        self.form = Form::Array;
        let line = self.lines.line();
        self.lines.take_json_value(&mut self.element)?;
        match std::str::from_utf8(&self.element) {
            Ok(text) => Ok(Some((text, line))),
            Err(error) => {
                let valid = &self.element[..error.valid_up_to()];
                let lines = valid.iter().filter(|&&byte| byte == b'\n').count() as u64;
                let start = valid.iter().rposition(|&byte| byte == b'\n');
                Err(DataError::InvalidText {
                    path: self.source().as_ref().to_owned(),
                    line: line + lines,
                    found: InvalidText::Invalid {
                        column: (valid.len() - start.map_or(0, |start| start + 1)) as u64 + 1,
                    },
                })
            }
        }
    }

    fn syntax(&self, expected: &'static str, found: &str) -> DataError {
        Location::new(&self.lines.source(), self.lines.line()).syntax(expected, found)
    }
}

impl<R: BufRead> LineReader<R> {
    /// Number of the line at which the reader stands.
    fn line(&self) -> u64 {
        self.number + 1
    }

    /// Next byte; `None` at the end.
    fn peek(&mut self) -> Result<Option<u8>, DataError> {
        loop {
            match self.reader.fill_buf() {
                Ok(bytes) => return Ok(bytes.first().copied()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(at_line(error, &self.source, self.number + 1)),
            }
        }
    }

    fn skip_byte(&mut self) -> Result<(), DataError> {
        if self.peek()? == Some(b'\n') {
            self.number += 1;
        }
        self.reader.consume(1);
        self.consumed += 1;
        Ok(())
    }

    /// Skips a byte order mark at the start, and white space. Returns the byte after it, which is
    /// not consumed.
    fn skip_blank(&mut self) -> Result<Option<u8>, DataError> {
        const MARK: &[u8] = b"\xef\xbb\xbf";
        if self.consumed == 0 {
            for &byte in MARK {
                if self.peek()? != Some(byte) {
                    break;
                }
                self.skip_byte()?;
            }
        }
        loop {
            match self.peek()? {
                Some(b' ' | b'\t' | b'\r' | b'\n') => self.skip_byte()?,
                next => return Ok(next),
            }
        }
    }

    /// Reads a JSON value up to its end: the closing bracket of an object or array, or for other
    /// values the byte before a comma, a closing bracket or white space. Only brackets and strings
    /// are recognized; the parser of the record reports other errors.
    fn take_json_value(&mut self, value: &mut Vec<u8>) -> Result<(), DataError> {
        value.clear();
        let start = self.number + 1;
        let (mut depth, mut in_string, mut escaped) = (0_u64, false, false);
        loop {
            let bytes = match self.reader.fill_buf() {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(at_line(error, &self.source, self.number + 1)),
                Ok(bytes) => bytes,
            };
            if bytes.is_empty() {
                // The parser of the record reports the missing end.
                return Ok(());
            }
            let (mut taken, mut is_end) = (0, false);
            for &byte in bytes {
                if in_string {
                    match byte {
                        _ if escaped => escaped = false,
                        b'\\' => escaped = true,
                        b'"' => in_string = false,
                        _ => {}
                    }
                } else {
                    match byte {
                        b'"' => in_string = true,
                        b'{' | b'[' => depth += 1,
                        b'}' | b']' if depth > 0 => {
                            depth -= 1;
                            if depth == 0 {
                                taken += 1;
                                is_end = true;
                                break;
                            }
                        }
                        b',' | b']' | b' ' | b'\t' | b'\r' | b'\n' if depth == 0 => {
                            is_end = true;
                            break;
                        }
                        _ => {}
                    }
                }
                taken += 1;
                if byte == b'\n' {
                    self.number += 1;
                }
            }
            value.extend_from_slice(&bytes[..taken]);
            self.reader.consume(taken);
            self.consumed += taken as u64;
            if value.len() as u64 > self.limit {
                return Err(DataError::LineTooLong {
                    path: self.source.as_ref().to_owned(),
                    line: start,
                    limit: self.limit,
                });
            }
            if is_end {
                return Ok(());
            }
        }
    }
}

/// Calls `read` with the text and line number of every record: JSON lines, or the elements of one
/// JSON array.
pub(crate) fn for_each_record(
    reader: impl BufRead,
    source: &str,
    mut read: impl FnMut(&str, u64) -> Result<(), DataError>,
) -> Result<(), DataError> {
    let mut records = RecordReader::new(LineReader::new(reader, source));
    while let Some((text, line)) = records.read()? {
        if !text.trim_ascii().is_empty() {
            read(text, line)?;
        }
    }
    Ok(())
}
