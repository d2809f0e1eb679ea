//! Character encodings of text files.

use std::io::{self, BufRead, Read};
use std::path::Path;

use crate::compression::{open, open_bytes};
use crate::error::DataError;

/// Character encoding of a text file.
///
/// ```
/// use std::io::Read;
/// let mut text = String::new();
/// let mut reader = ir_data::TextEncoding::Latin1.decode(&b"caf\xe9"[..]);
/// reader.read_to_string(&mut text)?;
/// assert_eq!(text, "café");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum TextEncoding {
    /// UTF-8, or UTF-16 with a byte order mark. Other bytes are an error of the reader.
    #[default]
    Utf8,
    /// Latin-1 (ISO 8859-1): every byte is the Unicode character of the same number.
    Latin1,
}

impl TextEncoding {
    /// Returns a reader of the same text in UTF-8.
    pub fn decode<'a>(self, reader: impl BufRead + Send + 'a) -> Box<dyn BufRead + Send + 'a> {
        match self {
            Self::Utf8 => Box::new(reader),
            Self::Latin1 => Box::new(Latin1Reader {
                reader,
                buffer: Vec::new(),
                start: 0,
            }),
        }
    }

    /// Opens a file as [`open`] does, and decodes it.
    pub(crate) fn open(self, path: &Path) -> Result<Box<dyn BufRead + Send>, DataError> {
        match self {
            Self::Utf8 => open(path),
            Self::Latin1 => Ok(self.decode(open_bytes(path)?)),
        }
    }
}

/// Reader that converts Latin-1 to UTF-8.
struct Latin1Reader<R> {
    reader: R,
    /// Converted text, consumed up to `start`.
    buffer: Vec<u8>,
    start: usize,
}

impl<R: BufRead> BufRead for Latin1Reader<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.start == self.buffer.len() {
            self.buffer.clear();
            self.start = 0;
            let bytes = self.reader.fill_buf()?;
            for &byte in bytes {
                let mut utf8 = [0; 2];
                let char = char::from(byte).encode_utf8(&mut utf8);
                self.buffer.extend_from_slice(char.as_bytes());
            }
            let count = bytes.len();
            self.reader.consume(count);
        }
        Ok(&self.buffer[self.start..])
    }

    fn consume(&mut self, bytes: usize) {
        self.start += bytes;
    }
}

impl<R: BufRead> Read for Latin1Reader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(out)?;
        self.consume(count);
        Ok(count)
    }
}
