use std::io::{BufRead, Read};

use super::json::is_json_column;
use super::scan::{BYTE_ORDER_MARK, encoding_error, long_line};
use super::{MAX_LINE, TrecReadError, check_line_end, columns, is_space};

/// Line-by-line reader of white-space-separated columns, by the rules of the [module](super): blank
/// lines and lines that start with `#` are skipped.
///
/// ```
/// use ir_core::trec::{ColumnReader, parse_number};
/// let mut rows = ColumnReader::new("# qid measure mean\nq1 map 0.25\n".as_bytes(), "means.txt");
/// while let Some((line, [query, measure, mean])) = rows.next_row("3")? {
///     assert_eq!((line, query, measure, parse_number(mean)), (2, "q1", "map", Some(0.25)));
/// }
/// # Ok::<(), ir_core::trec::TrecReadError>(())
/// ```
#[derive(Debug)]
pub struct ColumnReader<R> {
    input: R,
    path: String,
    bytes: Vec<u8>,
    line: u64,
    /// `true` before the first non-blank line.
    is_start: bool,
}

impl<R: BufRead> ColumnReader<R> {
    /// Creates a reader of `input`; errors name `path`.
    pub fn new(input: R, path: impl Into<String>) -> Self {
        Self {
            input,
            path: path.into(),
            bytes: Vec::new(),
            line: 0,
            is_start: true,
        }
    }

    /// Reads the next non-blank line: its number, from 1, and its columns. Returns `None` at the
    /// end. `expected` is `N` in digits, for the error message.
    ///
    /// # Errors
    /// If the number of columns is not `N`, the line is not UTF-8 or longer than [`MAX_LINE`], or
    /// reading fails.
    pub fn next_row<const N: usize>(
        &mut self,
        expected: &'static str,
    ) -> Result<Option<(u64, [&str; N])>, TrecReadError> {
        while self.read_line()? {
            if self.bytes.iter().all(|&byte| is_space(byte)) || self.bytes.starts_with(b"#") {
                continue;
            }
            let line = self.line;
            let text = match std::str::from_utf8(&self.bytes) {
                Ok(text) if !self.bytes.contains(&0) => text,
                _ => {
                    let bytes = self.bytes.strip_suffix(b"\n").unwrap_or(&self.bytes);
                    return Err(encoding_error(bytes, &self.path, line));
                }
            };
            let mut row = [""; N];
            let mut found = 0;
            for column in columns(text) {
                if let Some(cell) = row.get_mut(found) {
                    *cell = column;
                }
                found += 1;
            }
            let is_start = std::mem::take(&mut self.is_start);
            if is_start || found != N {
                check_line_end(text, &self.path, line)?;
            }
            if is_start && columns(text).next().is_some_and(is_json_column) {
                let path = self.path.clone();
                return Err(TrecReadError::Json { path, expected });
            }
            if found != N {
                return Err(TrecReadError::Columns {
                    path: self.path.clone(),
                    line,
                    expected,
                    found,
                });
            }
            return Ok(Some((line, row)));
        }
        Ok(None)
    }

    fn read_line(&mut self) -> Result<bool, TrecReadError> {
        self.line += 1;
        self.bytes.clear();
        let read = (&mut self.input)
            .take(MAX_LINE + 1)
            .read_until(b'\n', &mut self.bytes)
            .map_err(|cause| TrecReadError::Io {
                path: self.path.clone(),
                line: self.line,
                cause,
            })?;
        if read as u64 > MAX_LINE {
            return Err(long_line(&self.path, self.line));
        }
        if self.line == 1 && self.bytes.starts_with(BYTE_ORDER_MARK) {
            self.bytes.drain(..BYTE_ORDER_MARK.len());
        }
        Ok(read > 0)
    }
}
