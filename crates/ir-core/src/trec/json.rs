//! Runs and qrels in JSON: an object of query ids with an object of document ids and numbers each.
//!
//! The reader is streaming and numbers the lines of all values, for errors and for documents that
//! repeat. Its memory are the query ids.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Cursor, Read};

use super::columnar::{columnar_format, is_incomplete};
use super::scan::{BYTE_ORDER_MARK, encoding_error};
use super::{MAX_LINE, TrecReadError, TrecWarnings};

/// Number of bytes by which JSON is detected. White space may precede it.
const HEAD: usize = 1 << 12;

/// Returns `true` if a file starts with a JSON object or array, `None` if the decision depends on
/// the next byte. A query id may start with a brace, too, but not before a quote or white space.
pub(super) fn is_json(head: &[u8]) -> Option<bool> {
    let text = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head);
    let is_incomplete = BYTE_ORDER_MARK.starts_with(head);
    match *text.trim_ascii_start() {
        _ if is_incomplete => None,
        [] if head.len() < HEAD => None,
        [b'{' | b'['] => None,
        [b'{', next, ..] => Some(is_space(next) || matches!(next, b'"' | b'\'' | b'}')),
        [b'[', next, ..] => Some(is_space(next) || next == b'{'),
        _ => Some(false),
    }
}

/// Returns `true` if the first column of a line is the start of JSON.
pub(super) fn is_json_column(column: &str) -> bool {
    matches!(column, "{" | "[") || is_json(column.as_bytes()) == Some(true)
}

/// Returns `true` if JSON starts with an array, or with an object that has no object as its first
/// value: a record. `None` if the decision depends on further bytes.
fn is_record(head: &[u8]) -> Option<bool> {
    let text = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head);
    let Some(members) = text.trim_ascii_start().strip_prefix(b"{") else {
        return Some(text.trim_ascii_start().starts_with(b"["));
    };
    let (quote, key) = members.trim_ascii_start().split_first()?;
    let mut end = 0;
    while *key.get(end)? != b'"' {
        end += if key[end] == b'\\' { 2 } else { 1 };
    }
    let (colon, value) = key[end + 1..].trim_ascii_start().split_first()?;
    let value = value.trim_ascii_start().first()?;
    Some(*quote == b'"' && *colon == b':' && *value != b'{')
}

/// Start of a source, read ahead.
pub(super) struct Head<R> {
    /// Source from its start.
    pub(super) input: io::Chain<Cursor<Vec<u8>>, R>,
    /// `true` if the source starts with a JSON object or array.
    pub(super) is_json: bool,
    /// `true` if the JSON is an array or records.
    pub(super) has_records: bool,
}

impl<R: Read> Head<R> {
    /// Reads the start. `expected` is the content of the file, for the error of a columnar file.
    pub(super) fn read(
        mut input: R,
        source: &str,
        expected: &'static str,
    ) -> Result<Self, TrecReadError> {
        let mut head = Vec::new();
        let mut is_json = self::is_json(&head);
        let is_open = |head: &[u8], is_json| match is_json {
            None => true,
            Some(true) => is_record(head).is_none() && head.len() < HEAD,
            Some(false) => is_incomplete(head),
        };
        while is_open(&head, is_json) {
            let mut block = [0; 64];
            match input.read(&mut block) {
                Ok(0) => break,
                Ok(count) => head.extend_from_slice(&block[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(cause) => {
                    let lines = head.iter().filter(|&&byte| byte == b'\n').count() as u64;
                    let (path, line) = (source.to_owned(), lines + 1);
                    return Err(TrecReadError::Io { path, line, cause });
                }
            }
            is_json = self::is_json(&head);
        }
        if let Some(found) = columnar_format(&head) {
            let path = source.to_owned();
            return Err(TrecReadError::Columnar {
                path,
                expected,
                found,
            });
        }
        // A file of one brace is incomplete JSON.
        let is_json = is_json.unwrap_or_else(|| matches!(head.trim_ascii(), b"{" | b"["));
        let has_records = is_json && is_record(&head) == Some(true);
        let input = Cursor::new(head).chain(input);
        Ok(Self {
            input,
            is_json,
            has_records,
        })
    }
}

/// White space of JSON.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Number of a document.
pub(super) struct JsonEntry<'t> {
    pub(super) line: u64,
    pub(super) query: &'t str,
    /// `true` for the first document of a query.
    pub(super) starts_query: bool,
    pub(super) doc: &'t str,
    /// A number, as written.
    pub(super) number: &'t str,
}

/// Reads all documents in the order of the file. Returns the number of lines. A query without
/// documents is a warning.
pub(super) fn scan_json<E: From<TrecReadError>>(
    input: impl Read,
    source: &str,
    warnings: &mut TrecWarnings,
    mut each: impl FnMut(JsonEntry<'_>, &mut TrecWarnings) -> Result<(), E>,
) -> Result<u64, E> {
    let mut json = JsonReader::new(input, source)?;
    let mut lines: HashMap<String, u64> = HashMap::new();
    let (mut query, mut doc, mut number) = (Vec::new(), Vec::new(), Vec::new());
    json.expect(b'{', "an object of query ids")?;
    let mut first_query = true;
    while json.next_key(&mut first_query, &mut query, "a query id")? {
        let line = json.line;
        let query = json.text(&query)?;
        if let Some(first) = lines.insert(query.to_owned(), line) {
            return Err(TrecReadError::RepeatedQuery {
                path: source.to_owned(),
                line,
                query: query.to_owned(),
                first,
            }
            .into());
        }
        json.expect(b'{', "an object of document ids")?;
        let mut starts_query = true;
        loop {
            let first = starts_query;
            if !json.next_key(&mut starts_query, &mut doc, "a document id")? {
                if first {
                    warnings.push(line, format!("the query {query:?} has no documents"));
                }
                break;
            }
            json.number(&mut number)?;
            let (doc, number) = (json.text(&doc)?, json.text(&number)?);
            let line = json.line;
            let entry = JsonEntry {
                line,
                query,
                starts_query: first,
                doc,
                number,
            };
            each(entry, warnings)?;
        }
    }
    json.end()?;
    Ok(json.line)
}

/// Streaming reader of JSON values.
pub(super) struct JsonReader<'s, R> {
    pub(super) input: BufReader<R>,
    source: &'s str,
    pub(super) line: u64,
}

impl<'s, R: Read> JsonReader<'s, R> {
    pub(super) fn new(input: R, source: &'s str) -> Result<Self, TrecReadError> {
        let mut json = Self {
            input: BufReader::with_capacity(1 << 16, input),
            source,
            line: 1,
        };
        json.skip_mark()?;
        Ok(json)
    }

    /// Checks that the file ends.
    pub(super) fn end(&mut self) -> Result<(), TrecReadError> {
        match self.peek()? {
            None => Ok(()),
            Some(_) => Err(self.unexpected("the end of the file")),
        }
    }

    /// The next byte, which is not consumed.
    #[inline]
    pub(super) fn byte(&mut self) -> Result<Option<u8>, TrecReadError> {
        loop {
            match self.input.fill_buf() {
                Ok(bytes) => return Ok(bytes.first().copied()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(cause) => {
                    let (path, line) = (self.source.to_owned(), self.line);
                    return Err(TrecReadError::Io { path, line, cause });
                }
            }
        }
    }

    /// The next byte after white space, which is not consumed.
    pub(super) fn peek(&mut self) -> Result<Option<u8>, TrecReadError> {
        while let Some(byte) = self.byte()? {
            if !is_space(byte) {
                return Ok(Some(byte));
            }
            self.line += u64::from(byte == b'\n');
            self.input.consume(1);
        }
        Ok(None)
    }

    fn skip_mark(&mut self) -> Result<(), TrecReadError> {
        for mark in BYTE_ORDER_MARK {
            if self.byte()? == Some(*mark) {
                self.input.consume(1);
            }
        }
        Ok(())
    }

    pub(super) fn expect(&mut self, byte: u8, expected: &'static str) -> Result<(), TrecReadError> {
        if self.peek()? != Some(byte) {
            return Err(self.unexpected(expected));
        }
        self.input.consume(1);
        Ok(())
    }

    /// Reads a comma, unless the member is the first one, the next key into `key`, and a colon.
    /// `false` at the end of the object.
    pub(super) fn next_key(
        &mut self,
        first: &mut bool,
        key: &mut Vec<u8>,
        expected: &'static str,
    ) -> Result<bool, TrecReadError> {
        let is_first = std::mem::take(first);
        if self.peek()? == Some(b'}') {
            self.input.consume(1);
            return Ok(false);
        }
        if !is_first {
            self.expect(b',', "a comma or the end of the object")?;
        }
        self.expect(b'"', expected)?;
        key.clear();
        self.string(key)?;
        if key.is_empty() {
            return Err(self.error(expected, "an empty string".to_owned()));
        }
        self.expect(b':', "a colon")?;
        Ok(true)
    }

    /// Reads the rest of a string after its first quote.
    pub(super) fn string(&mut self, out: &mut Vec<u8>) -> Result<(), TrecReadError> {
        loop {
            let bytes = match self.byte()? {
                Some(_) => self.input.buffer(),
                None => return Err(self.unexpected("the end of the string")),
            };
            let plain = |byte: &u8| !matches!(byte, b'"' | b'\\' | ..b' ');
            let count = bytes.iter().take_while(|byte| plain(byte)).count();
            out.extend_from_slice(&bytes[..count]);
            self.input.consume(count);
            if out.len() as u64 > MAX_LINE {
                let expected = "a string of at most 1,048,576 bytes";
                return Err(self.error(expected, "a longer one".to_owned()));
            }
            match self.byte()? {
                Some(b'"') => {
                    self.input.consume(1);
                    return Ok(());
                }
                Some(b'\\') => self.escape(out)?,
                Some(byte @ ..b' ') => {
                    let found = format!("{:?}", char::from(byte));
                    return Err(self.error("a string without control characters", found));
                }
                // The end of the buffer or of the file.
                _ => {}
            }
        }
    }

    fn escape(&mut self, out: &mut Vec<u8>) -> Result<(), TrecReadError> {
        const EXPECTED: &str = "an escape sequence";
        self.input.consume(1);
        let Some(byte) = self.byte()? else {
            return Err(self.unexpected(EXPECTED));
        };
        let escaped = match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                self.input.consume(1);
                let mut units = vec![self.code_unit()?];
                // The second half of a pair of surrogates.
                if matches!(units[0], 0xD800..=0xDBFF) && self.byte()? == Some(b'\\') {
                    self.input.consume(1);
                    if self.byte()? != Some(b'u') {
                        return Err(self.unexpected(EXPECTED));
                    }
                    self.input.consume(1);
                    units.push(self.code_unit()?);
                }
                let Ok(text) = String::from_utf16(&units) else {
                    return Err(self.error(EXPECTED, format!("a surrogate {:#06x}", units[0])));
                };
                out.extend_from_slice(text.as_bytes());
                return Ok(());
            }
            _ => return Err(self.unexpected(EXPECTED)),
        };
        self.input.consume(1);
        out.extend_from_slice(escaped.encode_utf8(&mut [0; 4]).as_bytes());
        Ok(())
    }

    fn code_unit(&mut self) -> Result<u16, TrecReadError> {
        let mut unit = 0;
        for _ in 0..4 {
            let digit = self.byte()?.and_then(|byte| char::from(byte).to_digit(16));
            let Some(digit) = digit else {
                return Err(self.unexpected("four hexadecimal digits"));
            };
            unit = unit << 4 | digit as u16;
            self.input.consume(1);
        }
        Ok(unit)
    }

    /// Reads a number, or `NaN` or `Infinity`, which Python writes.
    pub(super) fn number(&mut self, out: &mut Vec<u8>) -> Result<(), TrecReadError> {
        const EXPECTED: &str = "a number";
        out.clear();
        match self.peek()? {
            Some(b'-' | b'0'..=b'9' | b'N' | b'I') => {}
            _ => return Err(self.unexpected(EXPECTED)),
        }
        while let Some(byte) = self.byte()? {
            if !byte.is_ascii_alphanumeric() && !matches!(byte, b'-' | b'+' | b'.') {
                break;
            }
            out.push(byte);
            self.input.consume(1);
            if out.len() > 400 {
                break;
            }
        }
        let text = self.text(out)?;
        let is_name = matches!(text, "NaN" | "Infinity" | "-Infinity");
        let has_letters = text.contains(|c: char| c.is_ascii_alphabetic() && c != 'e' && c != 'E');
        if !is_name && (has_letters || text.parse::<f64>().is_err()) {
            return Err(self.error(EXPECTED, text.to_owned()));
        }
        Ok(())
    }

    /// Checks that the bytes of a string are UTF-8 without NUL.
    pub(super) fn text<'b>(&self, bytes: &'b [u8]) -> Result<&'b str, TrecReadError> {
        match std::str::from_utf8(bytes) {
            Ok(text) if !bytes.contains(&0) => Ok(text),
            _ => Err(encoding_error(bytes, self.source, self.line)),
        }
    }

    /// Error for the next byte after white space, and the start of its word.
    pub(super) fn unexpected(&mut self, expected: &'static str) -> TrecReadError {
        let start = match self.peek() {
            Ok(None) => return self.error(expected, "the end of the file".to_owned()),
            Ok(Some(_)) => String::from_utf8_lossy(self.input.buffer()),
            Err(error) => return error,
        };
        let end = |c: char| matches!(c, ',' | '}' | ']') || c.is_ascii_whitespace();
        let mut chars = start.chars();
        let first = chars.next().into_iter();
        let found = first
            .chain(chars.take_while(|&c| !end(c)).take(19))
            .collect();
        self.error(expected, found)
    }

    fn error(&self, expected: &'static str, found: String) -> TrecReadError {
        TrecReadError::JsonValue {
            path: self.source.to_owned(),
            line: self.line,
            expected,
            found,
        }
    }
}
