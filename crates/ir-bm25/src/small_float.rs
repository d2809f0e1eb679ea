//! One-byte encoding of document lengths, as in Lucene (`SmallFloat.intToByte4`), and the residuals
//! that make it exact.

use ir_core::store::{ByteReader, write_varint};

/// Lengths below this are encoded exactly.
const EXACT: u32 = 24;

/// Maximum number of tokens in a field of a document: the largest decoded length.
pub(crate) const MAX_TOKENS: u32 = decode(u8::MAX);

/// Encodes a length, rounded down: exact up to 40, a float of four significant bits above.
pub(crate) const fn encode(length: u32) -> u8 {
    if length < EXACT {
        return length as u8;
    }
    let rest = length - EXACT;
    let code = if rest < 8 {
        rest
    } else {
        let shift = 32 - rest.leading_zeros() - 4;
        ((shift + 1) << 3) | ((rest >> shift) & 7)
    };
    let byte = EXACT + code;
    if byte > u8::MAX as u32 {
        u8::MAX
    } else {
        byte as u8
    }
}

/// Encodes a number, rounded up.
pub(crate) const fn encode_up(count: u32) -> u8 {
    let byte = encode(count);
    if decode(byte) < count && byte < u8::MAX {
        byte + 1
    } else {
        byte
    }
}

/// Inverse of [`encode`], up to rounding.
pub(crate) const fn decode(byte: u8) -> u32 {
    if (byte as u32) < EXACT {
        return byte as u32;
    }
    let code = byte as u32 - EXACT;
    EXACT
        + if code < 8 {
            code
        } else {
            ((code & 7) | 8) << ((code >> 3) - 1)
        }
}

/// The largest length that has a code.
pub(crate) const fn largest(code: u8) -> u32 {
    match code {
        u8::MAX => u32::MAX,
        _ => decode(code + 1) - 1,
    }
}

/// Number of lengths that have a code, less one: the largest residual.
const fn max_residual(code: u8) -> u32 {
    match code.checked_add(1) {
        Some(next) => decode(next) - decode(code) - 1,
        None => 0,
    }
}

/// Appends the residual of a length: the difference from its decoded [`encode`], as a varint;
/// nothing if the code is exact.
pub(crate) fn write_residual(length: u32, to: &mut Vec<u8>) {
    let code = encode(length);
    if max_residual(code) > 0 {
        write_varint(to, u64::from(length - decode(code)));
    }
}

/// Decodes an exact length; [`None`] if the residual is missing or too large.
pub(crate) fn read_residual(code: u8, residuals: &mut ByteReader<'_>) -> Option<u32> {
    let length = decode(code);
    match max_residual(code) {
        0 => Some(length),
        max => {
            let residual = residuals.varint32().filter(|&residual| residual <= max)?;
            Some(length + residual)
        }
    }
}

/// The first code with a residual.
const FIRST_INEXACT: u8 = first_with_residual_above(0);
/// The first code with a residual that may take more than one byte.
const FIRST_LONG: u8 = first_with_residual_above(0x7f);

const fn first_with_residual_above(max: u32) -> u8 {
    let mut code = 0;
    while max_residual(code) <= max {
        code += 1;
    }
    code
}

/// Skips the residuals of codes, which takes much less time than reading them; [`None`] if one is
/// missing.
pub(crate) fn skip_residuals(codes: &[u8], residuals: &mut ByteReader<'_>) -> Option<()> {
    for codes in codes.chunks(512) {
        if codes.iter().fold(0, |max, &code| max.max(code)) < FIRST_LONG {
            let inexact = codes.iter().filter(|&&code| code >= FIRST_INEXACT);
            residuals.take(inexact.count())?;
        } else {
            for &code in codes {
                read_residual(code, residuals)?;
            }
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoded_values_are_lucenes() {
        // lucene-core 9.9.1, SmallFloat.byte4ToInt of the bytes from 40 on.
        let expected = [
            40, 42, 44, 46, 48, 50, 52, 54, 56, 60, 64, 68, 72, 76, 80, 84, 88, 96, 104, 112, 120,
            128, 136, 144, 152, 168, 184, 200, 216, 232, 248, 264, 280, 312, 344, 376, 408, 440,
            472, 504, 536, 600, 664, 728, 792, 856, 920, 984, 1048, 1176,
        ];
        for (byte, length) in (40..).zip(expected) {
            assert_eq!(decode(byte), length, "byte {byte}");
        }
        assert!((0..=40).all(|n| decode(encode(n)) == n));
    }

    #[test]
    fn rounding_goes_down_and_up() {
        let near = (0..=255).flat_map(|byte| {
            let at = decode(byte);
            [at.saturating_sub(1), at, at + 1]
        });
        for n in near.filter(|&n| n <= MAX_TOKENS) {
            assert!(decode(encode(n)) <= n && decode(encode_up(n)) >= n, "{n}");
            assert!(encode_up(n) - encode(n) <= 1);
        }
        assert!((0..255).all(|byte| decode(byte) < decode(byte + 1)));
        assert!((0..=255).all(|byte| encode(decode(byte)) == byte));
        assert_eq!(encode(u32::MAX), 255);
    }

    #[test]
    fn codes_and_residuals_are_exact() {
        let lengths: Vec<u32> = (0..5000)
            .chain([1 << 20, MAX_TOKENS - 1, MAX_TOKENS])
            .collect();
        let mut bytes = Vec::new();
        lengths
            .iter()
            .for_each(|&length| write_residual(length, &mut bytes));
        let mut residuals = ByteReader::new(&bytes);
        for length in lengths {
            assert_eq!(read_residual(encode(length), &mut residuals), Some(length));
        }
        assert!(residuals.is_empty());
        assert_eq!(read_residual(encode(41), &mut ByteReader::new(&[2])), None);
        assert_eq!(read_residual(encode(41), &mut ByteReader::new(&[])), None);
    }

    #[test]
    fn skipped_residuals_are_those_that_are_read() {
        let codes: Vec<u8> = (0..=255).collect();
        let is_inexact = |&code: &u8| max_residual(code) > 0;
        // All codes from the first on have a residual, but the last, so that they can be counted.
        assert!(
            codes[..usize::from(FIRST_INEXACT)]
                .iter()
                .all(|c| !is_inexact(c))
        );
        assert!(
            codes[usize::from(FIRST_INEXACT)..255]
                .iter()
                .all(is_inexact)
        );
        for lengths in [
            (0..3_000).collect::<Vec<u32>>(),
            (0..3_000).map(|n| n * 7_919 % 100_000).collect(),
            vec![5; 2_000],
        ] {
            let mut bytes = Vec::new();
            for &length in &lengths {
                write_residual(length, &mut bytes);
            }
            let codes: Vec<u8> = lengths.iter().map(|&length| encode(length)).collect();
            for end in [0, 1, 511, 513, 1_999, codes.len()] {
                let (mut skipped, mut read) = (ByteReader::new(&bytes), ByteReader::new(&bytes));
                skip_residuals(&codes[..end], &mut skipped).unwrap();
                for &code in &codes[..end] {
                    read_residual(code, &mut read).unwrap();
                }
                assert_eq!(skipped.position(), read.position(), "{end}");
            }
            if let Some((_, missing)) = bytes.split_last() {
                assert!(skip_residuals(&codes, &mut ByteReader::new(missing)).is_none());
            }
        }
    }
}
