//! Conversion of UTF-16 text to UTF-8.

use std::io::{self, BufRead, BufReader, Cursor, ErrorKind, Read};

/// Converts text that starts with a byte order mark of UTF-16; returns other data as it is.
///
/// The mark of UTF-32 and a vector dimension of the same bytes are followed by a zero unit, which
/// text does not have: such data is not converted.
pub(crate) fn decode<'a>(
    mut reader: Box<dyn BufRead + Send + 'a>,
) -> io::Result<Box<dyn BufRead + Send + 'a>> {
    let unit: fn([u8; 2]) -> u16 = match reader.fill_buf() {
        Ok([0xff, 0xfe, ..] | [0xff]) => u16::from_le_bytes,
        Ok([0xfe, 0xff, ..] | [0xfe]) => u16::from_be_bytes,
        Ok(_) => return Ok(reader),
        // Reported when the first line is read, with its number.
        Err(error) => return Ok(Box::new(BufReader::new(Failed(Some(error))))),
    };
    let mut head = Vec::new();
    reader.by_ref().take(4).read_to_end(&mut head)?;
    let is_utf16 = head.len() >= 2
        && unit([head[0], head[1]]) == 0xfeff
        && (head.len() < 4 || head[2..] != [0, 0]);
    let rest = head.split_off(if is_utf16 { 2 } else { 0 });
    let reader = Cursor::new(rest).chain(reader);
    if !is_utf16 {
        return Ok(Box::new(reader));
    }
    Ok(Box::new(Utf16Reader {
        reader,
        unit,
        offset: 2,
        pending: None,
        text: String::new(),
        start: 0,
    }))
}

/// Reader of UTF-16 text as UTF-8.
struct Utf16Reader<R> {
    reader: R,
    /// Decodes the bytes of a unit.
    unit: fn([u8; 2]) -> u16,
    /// Number of bytes of the units that were read.
    offset: u64,
    /// First unit of a surrogate pair, whose second one was not read yet.
    pending: Option<u16>,
    /// Converted text, consumed up to `start`.
    text: String,
    start: usize,
}

/// Reader that fails once.
struct Failed(Option<io::Error>);

impl Read for Failed {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
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
        self.offset -= 2 * units.len() as u64;
        units.extend(pairs.iter().map(|&pair| (self.unit)(pair)));
        if !is_last
            && let Some(&unit) = units.last()
            && (0xd800..0xdc00).contains(&unit)
        {
            self.pending = units.pop();
        }
        for char in char::decode_utf16(units) {
            let char = char.map_err(|error| {
                let unit = error.unpaired_surrogate();
                invalid(format!("the unpaired surrogate {unit:#06x}"), self.offset)
            })?;
            self.offset += 2 * char.len_utf16() as u64;
            self.text.push(char);
        }
        if !rest.is_empty() {
            return Err(invalid("half of a unit".to_owned(), self.offset));
        }
        self.offset += 2 * u64::from(self.pending.is_some());
        Ok(())
    }
}

fn invalid(found: String, offset: u64) -> io::Error {
    let message = format!("expected UTF-16 text, found {found} at byte {offset}");
    io::Error::new(ErrorKind::InvalidData, message)
}

impl<R: BufRead> BufRead for Utf16Reader<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.start == self.text.len() {
            self.text.clear();
            self.start = 0;
            self.convert()?;
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
        let reader = BufReader::with_capacity(1, bytes);
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
                assert_eq!(decoded(&encoded(text, bytes)).unwrap(), text.as_bytes());
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
            (b"\xfe\xff\0t\0", "half of a unit at byte 4"),
        ] {
            let error = decoded(bytes).unwrap_err().to_string();
            assert_eq!(error, format!("expected UTF-16 text, found {expected}"));
        }
    }
}
