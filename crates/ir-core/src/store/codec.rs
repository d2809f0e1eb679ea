//! Encoding of integers and byte strings.

/// Appends an integer as a varint: seven bits per byte, least significant first.
#[inline]
pub fn write_varint(to: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

/// Bounds-checked reader of integers and byte strings. Every method returns [`None`] past the end.
///
/// ```
/// use ir_core::store::{ByteReader, write_varint};
/// let mut bytes = Vec::new();
/// write_varint(&mut bytes, 300);
/// let mut reader = ByteReader::new(&bytes);
/// assert_eq!((reader.varint(), reader.u8()), (Some(300), None));
/// ```
#[derive(Debug, Clone)]
pub struct ByteReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> ByteReader<'a> {
    /// A reader at the start of `bytes`.
    #[inline]
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Returns whether all bytes have been read.
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// Reads `n` bytes.
    #[inline]
    pub fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(n)?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    /// Number of bytes read.
    #[inline]
    #[must_use]
    pub const fn position(&self) -> usize {
        self.at
    }

    /// Reads all remaining bytes.
    #[inline]
    pub fn rest(&mut self) -> &'a [u8] {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        self.at = self.bytes.len();
        rest
    }

    /// Reads an integer that was written by [`write_varint`].
    #[inline]
    pub fn varint(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let &byte = self.bytes.get(self.at)?;
            self.at += 1;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    /// Reads a varint of at most 32 bits.
    #[inline]
    pub fn varint32(&mut self) -> Option<u32> {
        u32::try_from(self.varint()?).ok()
    }

    /// Reads a byte string that is preceded by its length as a varint.
    #[inline]
    pub fn sized(&mut self) -> Option<&'a [u8]> {
        let n = usize::try_from(self.varint()?).ok()?;
        self.take(n)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    /// Reads a single byte.
    #[inline]
    pub fn u8(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    /// Reads a little-endian `u32`.
    #[inline]
    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// Reads a little-endian `u64`.
    #[inline]
    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }
}

/// Appends a byte string, preceded by its length as a varint.
pub fn write_sized(to: &mut Vec<u8>, bytes: &[u8]) {
    write_varint(to, bytes.len() as u64);
    to.extend(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_round_trip() {
        let numbers = [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX];
        let mut bytes = Vec::new();
        numbers.iter().for_each(|&n| write_varint(&mut bytes, n));
        let mut reader = ByteReader::new(&bytes);
        assert!(numbers.iter().all(|&n| reader.varint() == Some(n)));
        assert_eq!(reader.varint(), None);
        assert_eq!(ByteReader::new(&[0xff; 12]).varint(), None);
    }

    #[test]
    fn nothing_is_read_past_the_end() {
        assert_eq!(ByteReader::new(&[1, 0, 0]).u32(), None);
        assert_eq!(ByteReader::new(&[0; 7]).u64(), None);
        assert_eq!(ByteReader::new(&[5, 1]).sized(), None);
        assert_eq!(ByteReader::new(&[5, 1]).take(usize::MAX), None);
    }

    #[test]
    fn byte_strings_round_trip() {
        let mut bytes = Vec::new();
        for content in [&b""[..], b"a", &[0xff; 200]] {
            bytes.clear();
            write_sized(&mut bytes, content);
            let mut reader = ByteReader::new(&bytes);
            assert_eq!((reader.sized(), reader.is_empty()), (Some(content), true));
        }
    }
}
