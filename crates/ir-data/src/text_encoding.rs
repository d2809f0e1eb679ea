//! Character encodings of text files.

use std::io::{self, BufRead, Cursor, Read};
use std::path::Path;

use crate::compression::{open, open_bytes};
use crate::error::{DataError, Location};
use crate::lines::at_line;
use crate::utf16;

/// Maximum length of an XML declaration in bytes.
const MAX_DECLARATION: u64 = 1 << 10;

/// Character encoding of a text file. A byte order mark of UTF-8 or UTF-16 decides otherwise.
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
    /// Windows-1252 (Western European editors of Windows): Latin-1 with quotation marks, dashes and
    /// the euro sign at 0x80 to 0x9F. The five bytes without a character there are as in Latin-1.
    Windows1252,
}

/// Characters of 0x80 to 0x9F in Windows-1252, after the WHATWG Encoding Standard.
const WINDOWS_1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

fn windows_1252(byte: u8) -> char {
    match byte {
        0x80..=0x9f => WINDOWS_1252[usize::from(byte - 0x80)],
        _ => char::from(byte),
    }
}

impl TextEncoding {
    /// Returns a reader of the same text in UTF-8. Text with a byte order mark of UTF-8 or UTF-16
    /// has that encoding instead, and keeps the mark.
    pub fn decode<'a>(self, reader: impl BufRead + Send + 'a) -> Box<dyn BufRead + Send + 'a> {
        match self {
            Self::Utf8 => decode_marked(reader, |reader| reader),
            Self::Latin1 => decode_marked(reader, |reader| {
                Box::new(SingleByteReader::new(reader, <char as From<u8>>::from))
            }),
            Self::Windows1252 => decode_marked(reader, |reader| {
                Box::new(SingleByteReader::new(reader, windows_1252))
            }),
        }
    }

    /// Returns a reader of the same markup in UTF-8, as [`TextEncoding::decode`] does. UTF-8 is the
    /// default of the encoding in an XML declaration at the start. `source` names the reader in
    /// errors; an unknown encoding is one.
    pub(crate) fn decode_markup<'a>(
        self,
        mut reader: impl BufRead + Send + 'a,
        source: &str,
    ) -> Result<Box<dyn BufRead + Send + 'a>, DataError> {
        if self != Self::Utf8 {
            return Ok(self.decode(reader));
        }
        let mut start = Vec::new();
        let mut limited = reader.by_ref().take(MAX_DECLARATION);
        let read = limited.read_until(b'>', &mut start);
        read.map_err(|error| at_line(error, source, 1))?;
        let encoding = Self::declared(&start, source)?;
        Ok(encoding.decode(Cursor::new(start).chain(reader)))
    }

    /// Encoding in an XML declaration; UTF-8 without one, and after a byte order mark.
    fn declared(start: &[u8], source: &str) -> Result<Self, DataError> {
        let start = String::from_utf8_lossy(start);
        let Some(declaration) = start.trim_start().strip_prefix("<?xml") else {
            return Ok(Self::Utf8);
        };
        let (_, encoding) = declaration.split_once("encoding").unwrap_or_default();
        let encoding = encoding.trim_matches([' ', '=', '"', '\'', '\n', '\r', '\t']);
        let encoding = encoding.split(['"', '\'', '?']).next().unwrap_or_default();
        match &*encoding.to_ascii_lowercase() {
            "" | "utf-8" | "utf8" | "us-ascii" | "ascii" => Ok(Self::Utf8),
            "iso-8859-1" | "iso8859-1" | "iso_8859-1" | "latin-1" | "latin1" | "l1" => {
                Ok(Self::Latin1)
            }
            "windows-1252" | "cp1252" => Ok(Self::Windows1252),
            _ => {
                let expected = "the encoding UTF-8, ISO-8859-1 or Windows-1252";
                Err(Location::new(source, 1).syntax(expected, encoding))
            }
        }
    }

    /// Opens a file as [`open`] does, and decodes it.
    pub(crate) fn open(self, path: &Path) -> Result<Box<dyn BufRead + Send>, DataError> {
        match self {
            Self::Utf8 => open(path),
            Self::Latin1 | Self::Windows1252 => Ok(self.decode(open_bytes(path)?)),
        }
    }
}

/// Decodes a text by its byte order mark, and a text without one by `unmarked`.
fn decode_marked<'a>(
    mut reader: impl BufRead + Send + 'a,
    unmarked: impl FnOnce(Box<dyn BufRead + Send + 'a>) -> Box<dyn BufRead + Send + 'a>,
) -> Box<dyn BufRead + Send + 'a> {
    // Errors persist: the reader of lines reports this one, with its number.
    if !matches!(reader.fill_buf(), Ok([0xef | 0xfe | 0xff, ..])) {
        return unmarked(Box::new(reader));
    }
    let mut head = Vec::new();
    let _ = reader.by_ref().take(utf16::MARK).read_to_end(&mut head);
    let unit = utf16::unit_of(&head);
    let is_utf8 = head.starts_with(utf16::UTF8_MARK);
    let rest = head.split_off(if unit.is_some() { 2 } else { 0 });
    let reader = Cursor::new(rest).chain(reader);
    match unit {
        Some(unit) => utf16::after_mark(reader, unit),
        None if is_utf8 => Box::new(reader),
        None => unmarked(Box::new(reader)),
    }
}

/// Reader that converts bytes that are characters to UTF-8.
struct SingleByteReader<R, F> {
    reader: R,
    decode: F,
    /// Converted text, consumed up to `start`.
    buffer: Vec<u8>,
    start: usize,
}

impl<R, F> SingleByteReader<R, F> {
    const fn new(reader: R, decode: F) -> Self {
        Self {
            reader,
            decode,
            buffer: Vec::new(),
            start: 0,
        }
    }
}

impl<R: BufRead, F: Fn(u8) -> char> BufRead for SingleByteReader<R, F> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.start == self.buffer.len() {
            self.buffer.clear();
            self.start = 0;
            let bytes = self.reader.fill_buf()?;
            for &byte in bytes {
                let mut utf8 = [0; 4];
                let char = (self.decode)(byte).encode_utf8(&mut utf8);
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

impl<R: BufRead, F: Fn(u8) -> char> Read for SingleByteReader<R, F> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(out)?;
        self.consume(count);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(encoding: TextEncoding, bytes: &[u8]) -> Vec<u8> {
        // In pieces, as from a pipe.
        let reader = io::BufReader::with_capacity(1, bytes);
        let mut text = Vec::new();
        encoding.decode(reader).read_to_end(&mut text).unwrap();
        text
    }

    #[test]
    fn byte_order_marks_decide() {
        use TextEncoding::{Latin1, Utf8, Windows1252};
        for (bytes, expected) in [
            (&b"\xef\xbb\xbfcaf\xc3\xa9"[..], "\u{feff}café"),
            (b"\xff\xfec\0\xe9\0", "\u{feff}cé"),
            (b"\xfe\xff\0c\0\xe9", "\u{feff}cé"),
            (b"\xef\xbb\xbf", "\u{feff}"),
        ] {
            for encoding in [Utf8, Latin1, Windows1252] {
                assert_eq!(
                    decoded(encoding, bytes),
                    expected.as_bytes(),
                    "{encoding:?}"
                );
            }
        }
        for (bytes, expected) in [
            (&b"\xef\xbb"[..], "ï»"),
            (b"\xffe", "ÿe"),
            (b"caf\xe9", "café"),
        ] {
            assert_eq!(decoded(Utf8, bytes), bytes);
            for encoding in [Latin1, Windows1252] {
                assert_eq!(
                    decoded(encoding, bytes),
                    expected.as_bytes(),
                    "{encoding:?}"
                );
            }
        }
    }

    /// Against the decoder of Python 3 (`bytes([n]).decode("cp1252")`).
    #[test]
    fn windows_1252_has_the_characters_of_the_standard() {
        let bytes: Vec<u8> = (0x7e..=0xa1).collect();
        let mut text = String::new();
        let mut reader = TextEncoding::Windows1252.decode(&bytes[..]);
        reader.read_to_string(&mut text).unwrap();
        let expected = "~\u{7f}€\u{81}‚ƒ„…†‡ˆ‰Š‹Œ\u{8d}Ž\u{8f}\u{90}‘’“”•–—˜™š›œ\u{9d}žŸ\u{a0}¡";
        assert_eq!(text, expected);
    }
}
