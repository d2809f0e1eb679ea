//! Lines and columns: the loop that all time of reading is spent in.

use std::io::{self, Read};

use super::{MAX_LINE, TrecReadError, is_space};

/// How much is read at once: few enough bytes to stay in the cache until they are looked at.
const BLOCK: usize = 256 << 10;

/// A line that holds data: its first `N` columns.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'t, const N: usize> {
    /// From 1.
    pub(super) number: u64,
    /// Whether it is the first one that holds data.
    pub(super) first: bool,
    /// How many columns there are in all, from 1.
    pub(super) columns: usize,
    text: &'t str,
    fields: [Span; N],
}

/// Where a column begins and ends.
type Span = (usize, usize);

impl<'t, const N: usize> Line<'t, N> {
    /// The text of a column, from 0; empty where there are fewer.
    #[inline(always)]
    pub(super) fn field(&self, n: usize) -> &'t str {
        let (from, to) = self.fields[n];
        &self.text[from..to]
    }

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
pub(super) fn scan<const N: usize, E: From<TrecReadError>>(
    mut input: impl Read,
    source: &str,
    position: &mut Position,
    mut each: impl FnMut(Line<'_, N>) -> Result<(), E>,
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
                return Err(TrecReadError::Io { path, line, cause }.into());
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

fn long_line(source: &str, line: u64) -> TrecReadError {
    TrecReadError::LongLine {
        path: source.to_owned(),
        line,
        limit: MAX_LINE,
    }
}

/// Reads whole lines.
fn block<const N: usize, E: From<TrecReadError>>(
    bytes: &[u8],
    source: &str,
    position: &mut Position,
    each: &mut impl FnMut(Line<'_, N>) -> Result<(), E>,
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
fn no_text(line: &[u8], source: &str, number: u64) -> TrecReadError {
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
    TrecReadError::Encoding {
        path: source.to_owned(),
        line: number,
        found,
    }
}

fn lines<const N: usize, E: From<TrecReadError>>(
    text: &str,
    source: &str,
    position: &mut Position,
    each: &mut impl FnMut(Line<'_, N>) -> Result<(), E>,
) -> Result<(), E> {
    let bytes = text.as_bytes();
    let mut low = Low::of(bytes);
    // Where the line begins.
    let mut head = 0;
    while let Some(row) = Row::next(bytes, head, &mut low) {
        let number = position.lines + 1;
        if row.nul {
            return Err(no_text(&bytes[head..row.end], source, number).into());
        }
        if (row.end + 1 - head) as u64 > MAX_LINE {
            return Err(long_line(source, number).into());
        }
        position.lines = number;
        if row.columns > 0 && bytes[head] != b'#' {
            let first = !position.data;
            position.data = true;
            each(Line {
                number,
                first,
                columns: row.columns,
                text,
                fields: row.fields,
            })?;
        }
        head = row.end + 1;
    }
    Ok(())
}

/// The columns of a line.
struct Row<const N: usize> {
    fields: [Span; N],
    columns: usize,
    /// Where the line ends.
    end: usize,
    /// Whether there is a NUL byte, behind which nothing was looked at.
    nul: bool,
}

impl<const N: usize> Row<N> {
    /// The line that begins at `head`.
    #[inline(always)]
    fn next(bytes: &[u8], head: usize, low: &mut Low<'_>) -> Option<Self> {
        if let Some(ends) = low.ahead::<N>()
            && let Some(row) = Self::plain(bytes, head, ends)
        {
            low.pass(N);
            return Some(row);
        }
        Self::any(bytes, head, low)
    }

    /// A line as most are, if it is one: `N` columns with one space or tab between them.
    #[inline(always)]
    fn plain(bytes: &[u8], head: usize, ends: &[u32; N]) -> Option<Self> {
        let mut fields = [(0, 0); N];
        let mut start = head;
        let mut plain = true;
        for (n, &end) in ends.iter().enumerate() {
            let end = end as usize;
            let byte = bytes[end];
            plain &= end > start;
            plain &= match n + 1 == N {
                true => byte == b'\n',
                false => byte == b' ' || byte == b'\t',
            };
            fields[n] = (start, end);
            start = end + 1;
        }
        plain.then_some(Self {
            fields,
            columns: N,
            end: start - 1,
            nul: false,
        })
    }

    #[inline(never)]
    fn any(bytes: &[u8], head: usize, low: &mut Low<'_>) -> Option<Self> {
        let mut row = Self {
            fields: [(0, 0); N],
            columns: 0,
            end: head,
            nul: false,
        };
        let mut start = head;
        loop {
            let at = low.next()?;
            let byte = bytes[at];
            if byte == 0 {
                let end = bytes[at..].iter().position(|&b| b == b'\n');
                row.end = end.map_or(bytes.len(), |length| at + length);
                row.nul = true;
                return Some(row);
            }
            if !is_space(byte) {
                // Another control character is part of a text.
                continue;
            }
            if at > start {
                if let Some(field) = row.fields.get_mut(row.columns) {
                    *field = (start, at);
                }
                row.columns += 1;
            }
            start = at + 1;
            if byte == b'\n' {
                row.end = at;
                return Some(row);
            }
        }
    }
}

/// How many positions are held at once.
const AHEAD: usize = 1024;

/// The positions of the bytes up to the space: white space, and other control characters. They are
/// found 64 bytes at a time, as the bits of a word, and held for a while: to go from bits to lines
/// at once would be to guess, for each line, in which word it ends.
struct Low<'t> {
    bytes: &'t [u8],
    /// Up to where they were found.
    searched: usize,
    /// A block is far smaller than 4 GB.
    found: [u32; AHEAD],
    /// Which of `found` are to come.
    from: usize,
    to: usize,
}

impl<'t> Low<'t> {
    const fn of(bytes: &'t [u8]) -> Self {
        Self {
            bytes,
            searched: 0,
            found: [0; AHEAD],
            from: 0,
            to: 0,
        }
    }

    /// The next `N`, if there are as many.
    #[inline(always)]
    fn ahead<const N: usize>(&mut self) -> Option<&[u32; N]> {
        if self.to - self.from < N {
            self.fill();
        }
        self.found[self.from..self.to].first_chunk()
    }

    #[inline(always)]
    fn pass(&mut self, count: usize) {
        self.from += count;
    }

    fn next(&mut self) -> Option<usize> {
        let [at] = *self.ahead()?;
        self.pass(1);
        Some(at as usize)
    }

    #[inline(never)]
    fn fill(&mut self) {
        self.found.copy_within(self.from..self.to, 0);
        (self.from, self.to) = (0, self.to - self.from);
        while self.searched < self.bytes.len() && self.to + 64 <= AHEAD {
            let rest = &self.bytes[self.searched..];
            let mut bits = match rest.first_chunk::<64>() {
                Some(chunk) => low_bits(chunk),
                None => {
                    let mut padded = [b'~'; 64];
                    padded[..rest.len()].copy_from_slice(rest);
                    low_bits(&padded)
                }
            };
            let first = self.searched as u32;
            let count = bits.count_ones() as usize;
            let room = &mut self.found[self.to..self.to + 64];
            // As many as there mostly are without asking how many; what is too much is overwritten.
            let mut put = |at: &mut u32| {
                *at = first + bits.trailing_zeros();
                bits &= bits.wrapping_sub(1);
            };
            room[..16].iter_mut().for_each(&mut put);
            if count > 16 {
                room[16..count].iter_mut().for_each(put);
            }
            self.to += count;
            self.searched += 64;
        }
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
