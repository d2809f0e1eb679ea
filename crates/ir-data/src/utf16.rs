//! Conversion of UTF-16 text to UTF-8.

use std::io::{self, BufRead, Cursor, ErrorKind, Read};

/// Number of bytes that show UTF-16.
pub(crate) const MARK: u64 = 4;

/// Byte order mark of UTF-8.
pub(crate) const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";

/// Decoder of a unit.
pub(crate) type Unit = fn([u8; 2]) -> u16;

/// Byte order of text that starts with a byte order mark of UTF-16, by its first [`MARK`] bytes.
///
/// The mark of UTF-32 and a vector dimension of the same bytes are followed by a zero unit, which
/// text does not have.
pub(crate) fn unit_of(head: &[u8]) -> Option<Unit> {
    match head {
        [_, _, 0, 0, ..] => None,
        [0xff, 0xfe, ..] => Some(u16::from_le_bytes),
        [0xfe, 0xff, ..] => Some(u16::from_be_bytes),
        _ => None,
    }
}

/// Converts text that starts with a byte order mark of UTF-16; returns other data as it is. The
/// text keeps its mark, in UTF-8: it is not decoded again by another encoding.
pub(crate) fn decode<'a>(
    mut reader: Box<dyn BufRead + Send + 'a>,
) -> io::Result<Box<dyn BufRead + Send + 'a>> {
    // Errors persist: the reader of lines reports this one, with its number.
    if !matches!(reader.fill_buf(), Ok([0xfe | 0xff, ..])) {
        return Ok(reader);
    }
    let mut head = Vec::new();
    reader.by_ref().take(MARK).read_to_end(&mut head)?;
    let unit = unit_of(&head);
    let rest = head.split_off(if unit.is_some() { 2 } else { 0 });
    let reader = Cursor::new(rest).chain(reader);
    let Some(unit) = unit else {
        return Ok(Box::new(reader));
    };
    Ok(after_mark(reader, unit))
}

/// Converts the text after a byte order mark, and puts the mark before it.
pub(crate) fn after_mark<'a>(
    reader: impl BufRead + Send + 'a,
    unit: Unit,
) -> Box<dyn BufRead + Send + 'a> {
    Box::new(Utf16Reader {
        reader,
        unit,
        offset: 2,
        pending: None,
        text: String::new(),
        start: 0,
        is_started: false,
        error: None,
    })
}

/// Reader of UTF-16 text as UTF-8.
struct Utf16Reader<R> {
    reader: R,
    /// Decodes the bytes of a unit.
    unit: Unit,
    /// Number of bytes of the converted units.
    offset: u64,
    /// First unit of a surrogate pair, if the second one was not read yet.
    pending: Option<u16>,
    /// Converted text, consumed up to `start`.
    text: String,
    start: usize,
    /// If `true`, the mark was converted.
    is_started: bool,
    /// Description of an error, which ends the text.
    error: Option<String>,
}

/// Number of units that are converted at once.
const UNITS: usize = 1 << 13;

impl<R: BufRead> Utf16Reader<R> {
    fn convert(&mut self) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(2 * UNITS);
        let count = 2 * UNITS as u64;
        self.reader.by_ref().take(count).read_to_end(&mut bytes)?;
        let (pairs, rest) = bytes.as_chunks();
        let is_last = bytes.len() < 2 * UNITS;
        let mut units: Vec<u16> = self.pending.take().into_iter().collect();
        units.extend(pairs.iter().map(|&pair| (self.unit)(pair)));
        let is_first_of_pair = |unit: &u16| (0xd800..0xdc00).contains(unit);
        if !is_last && units.last().is_some_and(is_first_of_pair) {
            self.pending = units.pop();
        }
        for char in char::decode_utf16(units) {
            let at = self.offset;
            match char {
                Ok(char) => {
                    self.offset += 2 * char.len_utf16() as u64;
                    self.text.push(char);
                }
                Err(error) => {
                    let unit = error.unpaired_surrogate();
                    let found = format!("the unpaired surrogate {unit:#06x} at byte {at}");
                    self.error = Some(found);
                    return Ok(());
                }
            }
        }
        if !rest.is_empty() {
            self.error = Some(format!("half of a unit at byte {}", self.offset));
        }
        Ok(())
    }
}

impl<R: BufRead> BufRead for Utf16Reader<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.start == self.text.len() {
            self.text.clear();
            self.start = 0;
            if !std::mem::replace(&mut self.is_started, true) {
                self.text.push('\u{feff}');
            }
            if self.error.is_none() {
                self.convert()?;
            }
            if self.text.is_empty()
                && let Some(found) = &self.error
            {
                let message = format!("expected UTF-16 text, found {found}");
                return Err(io::Error::new(ErrorKind::InvalidData, message));
            }
        }
        Ok(&self.text.as_bytes()[self.start..])
    }

    fn consume(&mut self, bytes: usize) {
        self.start += bytes;
    }
}

impl<R: BufRead> Read for Utf16Reader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(out)?;
        self.consume(count);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        // In pieces, as from a pipe.
        let reader = io::BufReader::with_capacity(1, bytes);
        decode(Box::new(reader))?.read_to_end(&mut out)?;
        Ok(out)
    }

    fn encoded(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        let units = ["\u{feff}", text].into_iter().flat_map(str::encode_utf16);
        units.flat_map(bytes).collect()
    }

    #[test]
    fn text_is_converted() {
        let long = "a".repeat(UNITS - 1) + "😀" + &"é".repeat(2 * UNITS);
        for text in ["", "é", "tea\r\nmilk 😀", &long] {
            for bytes in [u16::to_le_bytes, u16::to_be_bytes] {
                let expected = format!("\u{feff}{text}");
                assert_eq!(decoded(&encoded(text, bytes)).unwrap(), expected.as_bytes());
            }
        }
    }

    #[test]
    fn other_data_is_not_converted() {
        let dimension_65279 = b"\xff\xfe\0\0\0\0\x80\x3f";
        for bytes in [
            &b""[..],
            b"\xff",
            b"\xfe",
            b"tea",
            b"\xfe\xfe",
            dimension_65279,
        ] {
            assert_eq!(decoded(bytes).unwrap(), bytes);
        }
    }

    #[test]
    fn damaged_text_is_an_error() {
        for (bytes, expected) in [
            (
                &b"\xff\xfet\0\0\xd8t\0"[..],
                "the unpaired surrogate 0xd800 at byte 4",
            ),
            (
                b"\xff\xfet\0\0\xdc",
                "the unpaired surrogate 0xdc00 at byte 4",
            ),
            (b"\xff\xfe\0\xdc", "the unpaired surrogate 0xdc00 at byte 2"),
            (b"\xfe\xff\0t\0", "half of a unit at byte 4"),
        ] {
            let error = decoded(bytes).unwrap_err().to_string();
            assert_eq!(error, format!("expected UTF-16 text, found {expected}"));
        }
    }
}
