//! Lines and columns: the loop that all time of reading is spent in.

use std::io::{self, Read};

use super::{MAX_LINE, TrecError, is_space};

/// How much is read at once: few enough bytes to stay in the cache until they are looked at.
const BLOCK: usize = 256 << 10;

/// A line that holds data: its first `N` columns.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'t, const N: usize> {
    /// From 1.
    pub(super) number: u64,
    /// Whether it is the first one that holds data.
    pub(super) first: bool,
    /// Empty texts where there are fewer.
    pub(super) fields: [&'t str; N],
    /// How many columns there are in all, from 1.
    pub(super) columns: usize,
}

impl<const N: usize> Line<'_, N> {
    /// What may explain a text in place of a number.
    pub(super) fn perhaps(&self) -> &'static str {
        if self.first {
            " (a header line? it counts as data)"
        } else {
            ""
        }
    }
}

/// How far a source was read.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Position {
    /// Lines that were read.
    pub(super) lines: u64,
    /// Whether one of them held data.
    pub(super) data: bool,
}

/// Reads the lines that hold data, all of a source, in blocks of whole lines. Blank lines and those
/// that begin with `#` are passed over.
pub(super) fn scan<const N: usize, E: From<TrecError>>(
    mut input: impl Read,
    source: &str,
    position: &mut Position,
    mut each: impl FnMut(&Line<'_, N>) -> Result<(), E>,
) -> Result<(), E> {
    let mut buffer = vec![0; BLOCK];
    // The bytes of `buffer` that wait for the end of their line.
    let mut waiting = 0;
    loop {
        if waiting == buffer.len() {
            buffer.resize(waiting * 2, 0);
        }
        let count = match input.read(&mut buffer[waiting..]) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(cause) => {
                let (path, line) = (source.to_owned(), position.lines + 1);
                return Err(TrecError::Io { path, line, cause }.into());
            }
        };
        let filled = waiting + count;
        if count == 0 {
            if waiting > 0 {
                buffer.truncate(filled);
                buffer.push(b'\n');
                block(&buffer, source, position, &mut each)?;
            }
            return Ok(());
        }
        let ends = buffer[waiting..filled].iter().rposition(|&b| b == b'\n');
        match ends {
            Some(at) => {
                let whole = waiting + at + 1;
                block(&buffer[..whole], source, position, &mut each)?;
                buffer.copy_within(whole..filled, 0);
                waiting = filled - whole;
            }
            None if filled as u64 > MAX_LINE => {
                return Err(long_line(source, position.lines + 1).into());
            }
            None => waiting = filled,
        }
    }
}

fn long_line(source: &str, line: u64) -> TrecError {
    TrecError::LongLine {
        path: source.to_owned(),
        line,
        limit: MAX_LINE,
    }
}

/// Reads whole lines.
fn block<const N: usize, E: From<TrecError>>(
    bytes: &[u8],
    source: &str,
    position: &mut Position,
    each: &mut impl FnMut(&Line<'_, N>) -> Result<(), E>,
) -> Result<(), E> {
    match std::str::from_utf8(bytes) {
        Ok(text) => lines(text, source, position, each),
        Err(error) => {
            let valid = &bytes[..error.valid_up_to()];
            let whole = valid
                .iter()
                .rposition(|&b| b == b'\n')
                .map_or(0, |at| at + 1);
            let before = std::str::from_utf8(&bytes[..whole]).unwrap_or_default();
            lines(before, source, position, each)?;
            let rest = &bytes[whole..];
            let end = rest.iter().position(|&b| b == b'\n');
            let line = &rest[..end.unwrap_or(rest.len())];
            Err(no_text(line, source, position.lines + 1).into())
        }
    }
}

/// What is wrong with a line that has a NUL byte or is not UTF-8.
fn no_text(line: &[u8], source: &str, number: u64) -> TrecError {
    if line.len() as u64 >= MAX_LINE {
        return long_line(source, number);
    }
    let utf16 = line.starts_with(&[0xFF, 0xFE]) || line.starts_with(&[0xFE, 0xFF]);
    let found = if utf16 {
        "UTF-16"
    } else if line.contains(&0) {
        "a NUL byte"
    } else {
        "other bytes"
    };
    TrecError::Encoding {
        path: source.to_owned(),
        line: number,
        found,
    }
}

fn lines<const N: usize, E: From<TrecError>>(
    text: &str,
    source: &str,
    position: &mut Position,
    each: &mut impl FnMut(&Line<'_, N>) -> Result<(), E>,
) -> Result<(), E> {
    let bytes = text.as_bytes();
    let mut line = Line {
        number: position.lines + 1,
        first: !position.data,
        fields: [""; N],
        columns: 0,
    };
    // Where the line and the column that is being read begin.
    let (mut head, mut start) = (0, 0);
    let mut low = Low::of(bytes);
    while let Some(at) = low.next() {
        let byte = bytes[at];
        if !is_space(byte) {
            if byte == 0 {
                let end = bytes[at..].iter().position(|&b| b == b'\n');
                let end = end.map_or(bytes.len(), |length| at + length);
                return Err(no_text(&bytes[head..end], source, line.number).into());
            }
            // Another control character is part of a text.
            continue;
        }
        if at > start {
            if let Some(field) = line.fields.get_mut(line.columns) {
                *field = &text[start..at];
            }
            line.columns += 1;
        }
        start = at + 1;
        if byte == b'\n' {
            if (start - head) as u64 > MAX_LINE {
                return Err(long_line(source, line.number).into());
            }
            position.lines = line.number;
            if line.columns > 0 && bytes[head] != b'#' {
                position.data = true;
                if line.columns < N {
                    line.fields[line.columns..].fill("");
                }
                each(&line)?;
                line.first = false;
            }
            line.number += 1;
            line.columns = 0;
            head = start;
        }
    }
    Ok(())
}

/// The positions of the bytes up to the space: white space, and other control characters. They are
/// found 64 bytes at a time, as the bits of a word.
struct Low<'t> {
    bytes: &'t [u8],
    /// Where the bits belong.
    at: usize,
    bits: u64,
}

impl<'t> Low<'t> {
    fn of(bytes: &'t [u8]) -> Self {
        let mut low = Self {
            bytes,
            at: 0,
            bits: 0,
        };
        low.load();
        low
    }

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        while self.bits == 0 {
            self.at += 64;
            if self.at >= self.bytes.len() {
                return None;
            }
            self.load();
        }
        let bit = self.bits.trailing_zeros() as usize;
        self.bits &= self.bits - 1;
        Some(self.at + bit)
    }

    // Once for about two lines, and `next` is short without it.
    #[inline(never)]
    fn load(&mut self) {
        let rest = &self.bytes[self.at..];
        self.bits = match rest.first_chunk::<64>() {
            Some(chunk) => low_bits(chunk),
            None => {
                let mut padded = [b'~'; 64];
                padded[..rest.len()].copy_from_slice(rest);
                low_bits(&padded)
            }
        };
    }
}

/// A bit for each byte: whether it is at most a space.
#[inline]
fn low_bits(chunk: &[u8; 64]) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const TOPS: u64 = 0x80 * ONES;
    // Bit k of byte j: whether byte j of word k is more than a space.
    let mut above = 0;
    for eight in chunk.as_chunks::<8>().0 {
        let word = u64::from_le_bytes(*eight);
        // The top bit of a byte of the sum is set where that is more than 0x20: no sum carries.
        let more = ((word & !TOPS) + (0x80 - 0x21) * ONES) | word;
        above = above >> 1 | more & TOPS;
    }
    !transposed(above)
}

/// Exchanges bit k of byte j with bit j of byte k: first single bits, then squares of 2 and of 4.
#[inline]
fn transposed(mut bits: u64) -> u64 {
    for (shift, mask) in [
        (7, 0x00AA_00AA_00AA_00AA),
        (14, 0x0000_CCCC_0000_CCCC),
        (28, 0x0000_0000_F0F0_F0F0),
    ] {
        let other = (bits ^ bits >> shift) & mask;
        bits ^= other ^ other << shift;
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_stand_for_bytes_up_to_the_space() {
        for byte in 0..=u8::MAX {
            for place in 0..64 {
                let mut chunk = [b'x'; 64];
                chunk[place] = byte;
                let expected = if byte <= b' ' { 1 << place } else { 0 };
                assert_eq!(low_bits(&chunk), expected, "{byte} at {place}");
                let mut chunk = [0xFF; 64];
                chunk[place] = byte;
                assert_eq!(low_bits(&chunk), expected, "{byte} at {place}");
                let mut chunk = [0; 64];
                chunk[place] = byte;
                let others = !(1 << place);
                assert_eq!(low_bits(&chunk), others | expected, "{byte} at {place}");
            }
        }
    }
}
