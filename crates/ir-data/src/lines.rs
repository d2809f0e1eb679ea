//! Text files, line by line.

use std::io::{BufRead, Read};
use std::sync::Arc;

use crate::DataError;
use crate::error::NotText;
use crate::open::StreamError;

/// The longest line that [`Lines`] reads unless told otherwise, in bytes: 64 MiB.
pub const MAX_LINE: u64 = 64 << 20;

/// One line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// Its number, from 1.
    pub number: u64,
    /// Its text without the final `\n`. A `\r` before that is part of the text.
    pub text: &'a str,
}

/// Reads lines of UTF-8 into one buffer that is used again and again.
///
/// Lines end with `\n` and nothing else: a `\r`, a form feed or U+2028 is text, since collections
/// have them inside their records. A byte order mark of UTF-8 at the head of a file is passed over.
///
/// ```
/// use ir_data::Lines;
/// let mut lines = Lines::new("one\u{2028}line\r\nanother".as_bytes(), "notes.txt");
/// assert_eq!(lines.read()?.map(|line| line.text), Some("one\u{2028}line\r"));
/// assert_eq!(lines.read()?.map(|line| line.number), Some(2));
/// assert_eq!(lines.read()?, None);
/// # Ok::<(), ir_data::DataError>(())
/// ```
#[derive(Debug)]
pub struct Lines<R> {
    reader: R,
    source: Arc<str>,
    limit: u64,
    number: u64,
    buffer: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    /// Reads from `reader`; `source` names it in errors.
    pub fn new(reader: R, source: &str) -> Self {
        Self {
            reader,
            source: source.into(),
            limit: MAX_LINE,
            number: 0,
            buffer: Vec::new(),
        }
    }

    /// With another limit than [`MAX_LINE`] for the length of a line, in bytes.
    #[must_use]
    pub fn with_limit(mut self, limit: u64) -> Self {
        self.limit = limit;
        self
    }

    /// The name of the source in errors.
    pub fn source(&self) -> Arc<str> {
        Arc::clone(&self.source)
    }

    /// The next line, `None` at the end.
    ///
    /// # Errors
    /// When the source cannot be read, or the line is too long or not UTF-8 text.
    pub fn read(&mut self) -> Result<Option<Line<'_>>, DataError> {
        self.buffer.clear();
        self.number += 1;
        let number = self.number;
        let mut limited = self.reader.by_ref().take(self.limit.saturating_add(1));
        if let Err(error) = limited.read_until(b'\n', &mut self.buffer) {
            return Err(located(error, &self.source, number));
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
        let mut bytes = self.buffer.as_slice();
        let not_text = |found| DataError::NotText {
            path: path(),
            line: number,
            found,
        };
        if number == 1 {
            if let [0xff, 0xfe, ..] | [0xfe, 0xff, ..] = bytes {
                return Err(not_text(NotText::Utf16));
            }
            bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        }
        if bytes.contains(&0) {
            let column = bytes.iter().take_while(|&&byte| byte != 0).count() as u64 + 1;
            return Err(not_text(NotText::Nul { column }));
        }
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Some(Line { number, text })),
            Err(error) => Err(not_text(NotText::Invalid {
                column: error.valid_up_to() as u64 + 1,
            })),
        }
    }
}

/// An error of a stream, at a line.
pub(crate) fn located(error: std::io::Error, path: &str, line: u64) -> DataError {
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
        Some(StreamError::Damaged {
            compression, found, ..
        }) => DataError::Damaged {
            path,
            line,
            compression: *compression,
            found: found.clone(),
        },
        None => DataError::ReadOn {
            path,
            line,
            source: error,
        },
    }
}

/// All lines of a source as one text: for formats that are not made of lines.
pub(crate) fn whole(reader: impl BufRead, source: &str) -> Result<String, DataError> {
    let mut lines = Lines::new(reader, source);
    let mut text = String::new();
    while let Some(line) = lines.read()? {
        if line.number > 1 {
            text.push('\n');
        }
        text.push_str(line.text);
    }
    Ok(text)
}
