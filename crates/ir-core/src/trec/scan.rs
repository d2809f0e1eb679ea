//! Scanner of lines and columns, 64 bytes at a time: the hot loop of all readers.

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
    fields: &'t [Span; N],
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

    /// Returns the bytes of column `n`, without the checks for boundaries of characters.
    #[inline(always)]
    pub(super) fn bytes(&self, n: usize) -> &'t [u8] {
        let (from, to) = self.fields[n];
        &self.text.as_bytes()[from..to]
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
    let mut row = Row::default();
    // Offset of the line.
    let mut head = 0;
    while head < bytes.len() {
        let number = position.lines + 1;
        if bytes[head] == b'\n' {
            // Files may consist of millions of empty lines.
            position.lines = number;
            head += 1;
            continue;
        }
        if !row.parse_plain(bytes, head) {
            row.parse_general(bytes, head);
        }
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
                fields: &row.fields,
            })?;
        } else if !position.data {
            // A comment may be all of a file with CR.
            check_line_end(&text[head..row.end], source, number)?;
        }
        head = row.end + 1;
    }
    Ok(())
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

impl<const N: usize> Default for Row<N> {
    fn default() -> Self {
        Self {
            fields: [(0, 0); N],
            columns: 0,
            end: 0,
            nul: false,
        }
    }
}

impl<const N: usize> Row<N> {
    /// Fast path for the line at offset `head`: `N` columns separated by one space or tab each.
    /// Returns `false` for other lines.
    #[inline(always)]
    fn parse_plain(&mut self, bytes: &[u8], head: usize) -> bool {
        let mut separators = Separators::new(bytes, head);
        let Some(ends) = separators.next_all::<N>() else {
            return false;
        };
        let mut start = head;
        let mut plain = true;
        for (n, end) in ends.into_iter().enumerate() {
            let byte = bytes[end];
            plain &= end > start;
            plain &= if n + 1 == N {
                byte == b'\n'
            } else {
                byte == b' ' || byte == b'\t'
            };
            self.fields[n] = (start, end);
            start = end + 1;
        }
        (self.columns, self.end) = (N, start - 1);
        plain
    }

    /// Parses the line at offset `head`, which ends with LF.
    #[inline(never)]
    fn parse_general(&mut self, bytes: &[u8], head: usize) {
        *self = Self {
            end: bytes.len(),
            ..Self::default()
        };
        let mut start = head;
        for at in Separators::new(bytes, head) {
            let byte = bytes[at];
            if byte == 0 {
                let end = bytes[at..].iter().position(|&b| b == b'\n');
                self.end = end.map_or(bytes.len(), |length| at + length);
                self.nul = true;
                return;
            }
            if !is_space(byte) {
                // Other control characters are part of a column.
                continue;
            }
            if at > start {
                if let Some(field) = self.fields.get_mut(self.columns) {
                    *field = (start, at);
                }
                self.columns += 1;
            }
            start = at + 1;
            if byte == b'\n' {
                self.end = at;
                return;
            }
        }
    }
}

/// Positions of the bytes ≤ space: white space and control characters. Found 64 bytes at a time as
/// a bit mask.
struct Separators<'t> {
    bytes: &'t [u8],
    /// Number of bytes searched.
    searched: usize,
    /// Positions not yet consumed in the last 64 bytes searched.
    bits: u64,
}

impl<'t> Separators<'t> {
    #[inline(always)]
    fn new(bytes: &'t [u8], from: usize) -> Self {
        let mut separators = Self {
            bytes,
            searched: from,
            bits: 0,
        };
        separators.search();
        separators
    }

    /// The next `N` positions, mostly all in the 64 bytes searched.
    #[inline(always)]
    fn next_all<const N: usize>(&mut self) -> Option<[usize; N]> {
        let (from, mut bits, mut last) = (self.searched - 64, self.bits, 0);
        let found = std::array::from_fn(|_| {
            last = bits;
            bits &= bits.wrapping_sub(1);
            from + last.trailing_zeros() as usize
        });
        if last != 0 {
            return Some(found);
        }
        let mut found = [0; N];
        for at in &mut found {
            *at = self.next()?;
        }
        Some(found)
    }

    /// Searches the next 64 bytes.
    #[inline(always)]
    fn search(&mut self) {
        let rest = self.bytes.get(self.searched..).unwrap_or_default();
        self.bits = match rest.first_chunk() {
            Some(chunk) => low_bits(chunk),
            None => {
                let mut padded = [b'~'; 64];
                padded[..rest.len()].copy_from_slice(rest);
                low_bits(&padded)
            }
        };
        self.searched += 64;
    }
}

impl Iterator for Separators<'_> {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        while self.bits == 0 {
            if self.searched >= self.bytes.len() {
                return None;
            }
            self.search();
        }
        let at = self.searched - 64 + self.bits.trailing_zeros() as usize;
        self.bits &= self.bits - 1;
        Some(at)
    }
}

/// Bit mask of the bytes ≤ space.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
#[allow(
    unsafe_code,
    reason = "20 % faster scanning; SSE2 has no safe functions"
)]
fn low_bits(chunk: &[u8; 64]) -> u64 {
    use std::arch::x86_64::{
        _mm_cmpeq_epi8, _mm_loadu_si128, _mm_min_epu8, _mm_movemask_epi8, _mm_set1_epi8,
    };
    let mut bits = 0;
    for (n, sixteen) in chunk.as_chunks::<16>().0.iter().enumerate() {
        // SAFETY: SSE2 is part of x86-64, and the unaligned load reads the 16 bytes of the array.
        let mask = unsafe {
            let bytes = _mm_loadu_si128(sixteen.as_ptr().cast());
            let space = _mm_set1_epi8(b' '.cast_signed());
            _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(bytes, space), bytes))
        };
        bits |= u64::from(mask as u16) << (16 * n);
    }
    bits
}

#[cfg(not(target_arch = "x86_64"))]
use low_bits_by_words as low_bits;

/// Bit mask of the bytes ≤ space, eight bytes at a time.
#[cfg(any(test, not(target_arch = "x86_64")))]
#[inline]
fn low_bits_by_words(chunk: &[u8; 64]) -> u64 {
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
#[cfg(any(test, not(target_arch = "x86_64")))]
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
    use proptest::prelude::*;

    use super::super::columns;
    use super::*;

    proptest! {
        /// Columns of any width and number, with any white space between them.
        #[test]
        fn lines_have_the_columns_of_a_plain_split(
            parts in prop::collection::vec("[a-c#]{0,2}|[a-zé]{0,90}|[ \t]|[ \r\u{1}]{1,2}|\n{1,2}", 0..80)
        ) {
            let text = parts.concat() + "\n";
            let mut found = Vec::new();
            let scanned = scan(text.as_bytes(), "x", &mut Position::default(), |line: TrecLine<'_, 3>| {
                let fields = [0, 1, 2].map(|n| line.field(n).to_owned());
                found.push((line.number, line.columns, fields));
                Ok::<(), TrecReadError>(())
            });
            let is_data = |line: &str| !line.starts_with('#') && columns(line).next().is_some();
            let lines = (1..).zip(text.split('\n')).filter(|(_, line)| is_data(line));
            let expected: Vec<_> = lines
                .map(|(number, line)| {
                    let mut fields = columns(line);
                    let first = [(); 3].map(|()| fields.next().unwrap_or_default().to_owned());
                    (number, columns(line).count(), first)
                })
                .collect();
            match scanned {
                Ok(()) => prop_assert_eq!(found, expected),
                // A comment before the first line may be all of a file with CR.
                Err(error) => {
                    let is_line_end = matches!(error, TrecReadError::LineEnd { .. });
                    prop_assert!(is_line_end && found.is_empty());
                }
            }
        }
    }

    #[test]
    fn low_bits_mark_bytes_up_to_space() {
        for byte in 0..=u8::MAX {
            for position in 0..64 {
                let mut chunk = [b'x'; 64];
                chunk[position] = byte;
                let expected = if byte <= b' ' { 1 << position } else { 0 };
                let others = !(1 << position);
                for low_bits in [low_bits, low_bits_by_words] {
                    assert_eq!(low_bits(&chunk), expected, "{byte} at {position}");
                    let mut chunk = [0xFF; 64];
                    chunk[position] = byte;
                    assert_eq!(low_bits(&chunk), expected, "{byte} at {position}");
                    let mut chunk = [0; 64];
                    chunk[position] = byte;
                    assert_eq!(low_bits(&chunk), others | expected, "{byte} at {position}");
                }
            }
        }
    }
}
