//! SIMD-within-a-register scanner of lines and columns, the hot loop of all readers.

use std::io::{self, Read};

use super::{MAX_LINE, TrecReadError, check_line_end, is_space};

/// Mark that Windows programs put at the start of a file in UTF-8. It is no part of the first id.
pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Bytes per read; fits the L2 cache.
const BLOCK: usize = 256 << 10;

/// Non-blank line: its first `N` columns.
#[derive(Debug, Clone, Copy)]
pub(super) struct TrecLine<'t, const N: usize> {
    /// Line number, from 1.
    pub(super) number: u64,
    /// `true` for the first non-blank line.
    pub(super) first: bool,
    /// Number of columns, at least 1.
    pub(super) columns: usize,
    text: &'t str,
    fields: [Span; N],
}

/// Start and end offset of a column.
type Span = (usize, usize);

impl<'t, const N: usize> TrecLine<'t, N> {
    /// Returns the line without its end.
    pub(super) fn text(&self) -> &'t str {
        let before = &self.text[..self.fields[0].0];
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        self.text[start..].lines().next().unwrap_or_default()
    }

    /// Returns an error if text follows a CR.
    pub(super) fn check_end(&self, source: &str) -> Result<(), TrecReadError> {
        check_line_end(self.text(), source, self.number)
    }

    /// Returns column `n`, from 0; empty if there are fewer columns.
    #[inline(always)]
    pub(super) fn field(&self, n: usize) -> &'t str {
        let (from, to) = self.fields[n];
        &self.text[from..to]
    }
}

/// Progress in a source.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Position {
    /// Number of lines read.
    pub(super) lines: u64,
    /// `true` if one of them was non-blank.
    pub(super) data: bool,
    /// `true` if bytes of the source precede.
    pub(super) started: bool,
}

/// Scans all lines of a source in blocks of whole lines. Skips blank lines and lines that start
/// with `#`.
pub(super) fn scan<const N: usize, E: From<TrecReadError>>(
    mut input: impl Read,
    source: &str,
    position: &mut Position,
    mut each: impl FnMut(TrecLine<'_, N>) -> Result<(), E>,
) -> Result<(), E> {
    let mut buffer = vec![0; BLOCK];
    // Bytes of an incomplete line at the front of `buffer`.
    let mut pending = 0;
    loop {
        if pending == buffer.len() {
            buffer.resize(pending * 2, 0);
        }
        let count = match input.read(&mut buffer[pending..]) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(cause) => {
                let (path, line) = (source.to_owned(), position.lines + 1);
                return Err(TrecReadError::Io { path, line, cause }.into());
            }
        };
        let filled = pending + count;
        if count == 0 {
            if pending > 0 {
                buffer.truncate(filled);
                buffer.push(b'\n');
                block(&buffer, source, position, &mut each)?;
            }
            return Ok(());
        }
        let ends = buffer[pending..filled].iter().rposition(|&b| b == b'\n');
        match ends {
            Some(at) => {
                let whole = pending + at + 1;
                block(&buffer[..whole], source, position, &mut each)?;
                buffer.copy_within(whole..filled, 0);
                pending = filled - whole;
            }
            None if filled as u64 > MAX_LINE => {
                return Err(long_line(source, position.lines + 1).into());
            }
            None => pending = filled,
        }
    }
}

pub(super) fn long_line(source: &str, line: u64) -> TrecReadError {
    TrecReadError::LongLine {
        path: source.to_owned(),
        line,
        limit: MAX_LINE,
    }
}

/// Scans a block of whole lines.
fn block<const N: usize, E: From<TrecReadError>>(
    bytes: &[u8],
    source: &str,
    position: &mut Position,
    each: &mut impl FnMut(TrecLine<'_, N>) -> Result<(), E>,
) -> Result<(), E> {
    let is_start = !std::mem::replace(&mut position.started, true);
    let bytes = bytes
        .strip_prefix(BYTE_ORDER_MARK)
        .filter(|_| is_start)
        .unwrap_or(bytes);
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
            Err(encoding_error(line, source, position.lines + 1).into())
        }
    }
}

/// Error for a line with a NUL byte or invalid UTF-8.
pub(super) fn encoding_error(line: &[u8], source: &str, number: u64) -> TrecReadError {
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
    each: &mut impl FnMut(TrecLine<'_, N>) -> Result<(), E>,
) -> Result<(), E> {
    let bytes = text.as_bytes();
    let mut low = SeparatorScanner::new(bytes);
    // Offset of the line.
    let mut head = 0;
    loop {
        // Files may consist of millions of empty lines.
        let empty = bytes[head..].iter().take_while(|&&b| b == b'\n').count();
        if empty > 0 {
            position.lines += empty as u64;
            head += empty;
            low.skip_to(head);
        }
        let Some(row) = Row::next(bytes, head, &mut low) else {
            return Ok(());
        };
        let number = position.lines + 1;
        if row.nul {
            return Err(encoding_error(&bytes[head..row.end], source, number).into());
        }
        if (row.end + 1 - head) as u64 > MAX_LINE {
            return Err(long_line(source, number).into());
        }
        position.lines = number;
        if row.columns > 0 && bytes[head] != b'#' {
            let first = !position.data;
            position.data = true;
            each(TrecLine {
                number,
                first,
                columns: row.columns,
                text,
                fields: row.fields,
            })?;
        } else if !position.data {
            // A comment may be all of a file with CR.
            check_line_end(&text[head..row.end], source, number)?;
        }
        head = row.end + 1;
    }
}

/// Columns of a line.
struct Row<const N: usize> {
    fields: [Span; N],
    columns: usize,
    /// End offset of the line.
    end: usize,
    /// `true` if the line contains a NUL byte; scanning stops there.
    nul: bool,
}

impl<const N: usize> Row<N> {
    /// Parses the line at offset `head`.
    #[inline(always)]
    fn next(bytes: &[u8], head: usize, separators: &mut SeparatorScanner<'_>) -> Option<Self> {
        if let Some(ends) = separators.peek::<N>()
            && let Some(row) = Self::parse_plain(bytes, head, ends)
        {
            separators.consume(N);
            return Some(row);
        }
        Self::parse_general(bytes, head, separators)
    }

    /// Fast path: `N` columns separated by one space or tab each.
    #[inline(always)]
    fn parse_plain(bytes: &[u8], head: usize, ends: &[u32; N]) -> Option<Self> {
        let mut fields = [(0, 0); N];
        let mut start = head;
        let mut plain = true;
        for (n, &end) in ends.iter().enumerate() {
            let end = end as usize;
            let byte = bytes[end];
            plain &= end > start;
            plain &= if n + 1 == N {
                byte == b'\n'
            } else {
                byte == b' ' || byte == b'\t'
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
    fn parse_general(
        bytes: &[u8],
        head: usize,
        separators: &mut SeparatorScanner<'_>,
    ) -> Option<Self> {
        let mut row = Self {
            fields: [(0, 0); N],
            columns: 0,
            end: head,
            nul: false,
        };
        let mut start = head;
        loop {
            let at = separators.next()?;
            let byte = bytes[at];
            if byte == 0 {
                let end = bytes[at..].iter().position(|&b| b == b'\n');
                row.end = end.map_or(bytes.len(), |length| at + length);
                row.nul = true;
                return Some(row);
            }
            if !is_space(byte) {
                // Other control characters are part of a column.
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

/// Capacity of the position buffer.
const CAPACITY: usize = 1024;

/// Positions of the bytes ≤ space: white space and control characters. Found 64 bytes at a time as
/// a bit mask and buffered, which avoids a branch misprediction per line.
struct SeparatorScanner<'t> {
    bytes: &'t [u8],
    /// Number of bytes searched.
    searched: usize,
    /// Buffered positions; a block is far smaller than 4 GiB.
    found: [u32; CAPACITY],
    /// Range of `found` not yet consumed.
    from: usize,
    to: usize,
}

impl<'t> SeparatorScanner<'t> {
    const fn new(bytes: &'t [u8]) -> Self {
        Self {
            bytes,
            searched: 0,
            found: [0; CAPACITY],
            from: 0,
            to: 0,
        }
    }

    /// Returns the next `N` positions, if there are as many.
    #[inline(always)]
    fn peek<const N: usize>(&mut self) -> Option<&[u32; N]> {
        if self.to - self.from < N {
            self.fill();
        }
        self.found[self.from..self.to].first_chunk()
    }

    #[inline(always)]
    fn consume(&mut self, count: usize) {
        self.from += count;
    }

    /// Drops the positions before `offset`.
    fn skip_to(&mut self, offset: usize) {
        if offset >= self.searched {
            (self.searched, self.from, self.to) = (offset, 0, 0);
        } else {
            let before = |&at: &u32| (at as usize) < offset;
            self.from += self.found[self.from..self.to].partition_point(before);
        }
    }

    fn next(&mut self) -> Option<usize> {
        let [at] = *self.peek()?;
        self.consume(1);
        Some(at as usize)
    }

    #[inline(never)]
    fn fill(&mut self) {
        self.found.copy_within(self.from..self.to, 0);
        (self.from, self.to) = (0, self.to - self.from);
        while self.searched < self.bytes.len() && self.to + 64 <= CAPACITY {
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
            // Writes 16 positions unconditionally, the usual maximum; surplus is overwritten.
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

/// Bit mask of the bytes ≤ space.
#[inline]
fn low_bits(chunk: &[u8; 64]) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const TOPS: u64 = 0x80 * ONES;
    // Bit k of byte j: whether byte j of word k is > space.
    let mut above = 0;
    for eight in chunk.as_chunks::<8>().0 {
        let word = u64::from_le_bytes(*eight);
        // The top bit of a byte is set where its low 7 bits exceed 0x20; no carry between bytes.
        let more = ((word & !TOPS) + (0x80 - 0x21) * ONES) | word;
        above = above >> 1 | more & TOPS;
    }
    !transposed(above)
}

/// Transposes an 8 × 8 bit matrix: single bits, then 2 × 2 and 4 × 4 blocks.
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
    fn low_bits_mark_bytes_up_to_space() {
        for byte in 0..=u8::MAX {
            for position in 0..64 {
                let mut chunk = [b'x'; 64];
                chunk[position] = byte;
                let expected = if byte <= b' ' { 1 << position } else { 0 };
                assert_eq!(low_bits(&chunk), expected, "{byte} at {position}");
                let mut chunk = [0xFF; 64];
                chunk[position] = byte;
                assert_eq!(low_bits(&chunk), expected, "{byte} at {position}");
                let mut chunk = [0; 64];
                chunk[position] = byte;
                let others = !(1 << position);
                assert_eq!(low_bits(&chunk), others | expected, "{byte} at {position}");
            }
        }
    }
}
