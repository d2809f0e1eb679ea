use std::io::{BufRead, ErrorKind, Read};
use std::sync::Arc;

use crate::compression_format::StreamError;
use crate::error::{DataError, InvalidText, Location};

/// Default length limit of a line in bytes: 64 MiB.
pub const MAX_LINE: u64 = 64 << 20;

/// Line of a text file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// Line number from 1.
    pub number: u64,
    /// Text without the final `\n`. A preceding `\r` is part of the text.
    pub text: &'a str,
}

/// Reader of UTF-8 lines with a reused buffer.
///
/// Only `\n` ends a line: `\r`, form feed and U+2028 are text, since they occur inside the records
/// of collections. A UTF-8 byte order mark at the start of the file is skipped.
///
/// ```
/// use ir_data::LineReader;
/// let mut lines = LineReader::new("one\u{2028}line\r\nanother".as_bytes(), "notes.txt");
/// assert_eq!(lines.read()?.map(|line| line.text), Some("one\u{2028}line\r"));
/// assert_eq!(lines.read()?.map(|line| line.number), Some(2));
/// assert_eq!(lines.read()?, None);
/// # Ok::<(), ir_data::DataError>(())
/// ```
#[derive(Debug)]
pub struct LineReader<R> {
    pub(crate) reader: R,
    pub(crate) source: Arc<str>,
    pub(crate) limit: u64,
    /// Number of lines that were read.
    pub(crate) number: u64,
    /// Number of bytes of the lines that were read, line ends included.
    pub(crate) consumed: u64,
    /// Number of NUL bytes that were skipped; `None` if they are an error.
    pub(crate) skipped_nul: Option<u64>,
    buffer: Vec<u8>,
}

impl<R: BufRead> LineReader<R> {
    /// Reads from `reader`; `source` names it in errors.
    pub fn new(reader: R, source: &str) -> Self {
        Self {
            reader,
            source: source.into(),
            limit: MAX_LINE,
            number: 0,
            consumed: 0,
            skipped_nul: None,
            buffer: Vec::new(),
        }
    }

    /// Length limit of a line in bytes. Default: [`MAX_LINE`].
    #[must_use]
    pub fn with_limit(mut self, limit: u64) -> Self {
        self.limit = limit;
        self
    }

    /// Skips and counts NUL bytes, which are an error otherwise.
    #[cfg(feature = "html")]
    pub(crate) fn with_skipped_nul(mut self) -> Self {
        self.skipped_nul = Some(0);
        self
    }

    /// Name of the source in errors.
    pub fn source(&self) -> Arc<str> {
        Arc::clone(&self.source)
    }

    /// Reads the next line; `None` at the end.
    ///
    /// # Errors
    /// The source cannot be read, or the line is too long or not UTF-8 text.
    pub fn read(&mut self) -> Result<Option<Line<'_>>, DataError> {
        self.buffer.clear();
        self.number += 1;
        let number = self.number;
        // Files may consist of millions of empty lines.
        match self.reader.fill_buf() {
            Ok([b'\n', ..]) => {
                self.reader.consume(1);
                self.consumed += 1;
                return Ok(Some(Line { number, text: "" }));
            }
            Err(error) if error.kind() != ErrorKind::Interrupted => {
                return Err(at_line(error, &self.source, number));
            }
            _ => {}
        }
        let mut limited = self.reader.by_ref().take(self.limit.saturating_add(1));
        match limited.read_until(b'\n', &mut self.buffer) {
            Ok(bytes) => self.consumed += bytes as u64,
            Err(error) => return Err(at_line(error, &self.source, number)),
        }
        let path = || self.source.as_ref().to_owned();
        match self.buffer.last() {
            None => return Ok(None),
            Some(b'\n') => {
                self.buffer.pop();
            }
            Some(_) if self.buffer.len() as u64 > self.limit => {
                return Err(DataError::LineTooLong {
                    path: path(),
                    line: number,
                    limit: self.limit,
                });
            }
            Some(_) => {}
        }
        if let Some(skipped) = &mut self.skipped_nul
            && self.buffer.contains(&0)
        {
            let before = self.buffer.len();
            self.buffer.retain(|&byte| byte != 0);
            *skipped += (before - self.buffer.len()) as u64;
        }
        let mut bytes = self.buffer.as_slice();
        let invalid = |found| DataError::InvalidText {
            path: path(),
            line: number,
            found,
        };
        if number == 1 {
            if let [0xff, 0xfe, ..] | [0xfe, 0xff, ..] = bytes {
                return Err(invalid(InvalidText::Utf16));
            }
            bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        }
        if bytes.contains(&0) {
            let column = bytes.iter().take_while(|&&byte| byte != 0).count() as u64 + 1;
            return Err(invalid(InvalidText::Nul { column }));
        }
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Some(Line { number, text })),
            Err(error) => Err(invalid(InvalidText::Invalid {
                column: error.valid_up_to() as u64 + 1,
            })),
        }
    }
}

/// Returns an error if text follows a CR in a line: the line may be all lines of a file with CR.
pub(crate) fn check_line_end(text: &str, at: Location<'_>) -> Result<(), DataError> {
    match text.split_once('\r') {
        Some((_, after)) if !after.trim_ascii().is_empty() => Err(DataError::LineEnd {
            path: at.path.to_owned(),
            line: at.line,
        }),
        _ => Ok(()),
    }
}

/// Adds the line number to an error of a stream.
pub(crate) fn at_line(error: std::io::Error, path: &str, line: u64) -> DataError {
    let path = path.to_owned();
    match error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<StreamError>())
    {
        Some(&StreamError::Truncated { compression, .. }) => DataError::Truncated {
            path,
            line,
            compression,
        },
        Some(StreamError::Corrupt {
            compression, found, ..
        }) => DataError::Corrupt {
            path,
            line,
            compression: *compression,
            found: found.clone(),
        },
        Some(&StreamError::Unsupported { found, .. }) => {
            DataError::UnsupportedCompression { path, found }
        }
        None => DataError::ReadLine {
            path,
            line,
            source: error,
        },
    }
}

/// Reads a complete source for a format that is not line-based.
pub(crate) fn read_all(reader: impl BufRead, source: &str) -> Result<String, DataError> {
    let mut lines = LineReader::new(reader, source);
    let mut text = String::new();
    while let Some(line) = lines.read()? {
        if line.number > 1 {
            text.push('\n');
        }
        text.push_str(line.text);
    }
    Ok(text)
}
