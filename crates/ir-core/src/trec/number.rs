//! Numbers as C parses them.

use crate::qrels::Grade;

/// Parses the leading number of a column as C and trec_eval do: `2.5`, `1e-3`, `0x10`, `inf`, 3 of
/// `3,5`. Returns `None` without one, which C treats as 0.
///
/// ```
/// use ir_core::trec::parse_number;
/// assert_eq!(parse_number("2.5"), Some(2.5));
/// assert_eq!(parse_number("3,5"), Some(3.0));
/// assert_eq!(parse_number("high"), None);
/// ```
#[must_use]
pub fn parse_number(text: &str) -> Option<f64> {
    c_number(text).map(|(number, _)| number)
}

/// Parses a leading number as C's `atof`: decimal, hexadecimal, `inf`, `nan`. Returns `None`
/// without one, where `atof` returns 0, and whether the whole string is a finite decimal number.
pub(super) fn c_number(text: &str) -> Option<(f64, bool)> {
    if let Some(number) = short_decimal(text.as_bytes()) {
        return Some((number, true));
    }
    if let Ok(number) = text.parse::<f64>() {
        return Some((number, number.is_finite()));
    }
    let (negative, rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let signed = |magnitude: f64| if negative { -magnitude } else { magnitude };
    let lower = rest.to_ascii_lowercase();
    if lower.starts_with("inf") {
        return Some((signed(f64::INFINITY), false));
    }
    if lower.starts_with("nan") {
        return Some((f64::NAN, false));
    }
    if let Some(hex) = lower.strip_prefix("0x") {
        return Some((signed(hexadecimal(hex).unwrap_or_default()), false));
    }
    // The longest prefix that is a decimal number.
    let decimal = |head: &&str| {
        head.bytes()
            .all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'-' | b'+'))
            && head
                .bytes()
                .next()
                .is_some_and(|b| b.is_ascii_digit() || b == b'.')
    };
    let heads = (1..=lower.len().min(400))
        .rev()
        .filter_map(|n| lower.get(..n));
    heads
        .filter(decimal)
        .find_map(|head| head.parse().ok())
        .map(|magnitude| (signed(magnitude), false))
}

/// Fast path for short decimals without exponent. Digits and power of ten are exact in f64, so
/// their quotient is correctly rounded (Clinger 1990, "How to read floating point numbers
/// accurately"). Returns `None` for other input.
#[inline(always)]
pub(super) fn short_decimal(text: &[u8]) -> Option<f64> {
    const POWERS: [f64; 18] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
        1e17,
    ];
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    // Up to 17 digits fit into 64 bits.
    if digits.len() > 18 {
        return None;
    }
    let mut number = 0_u64;
    let mut read = |digits: &[u8]| {
        let mut count = 0;
        for byte in digits {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            number = number.wrapping_mul(10) + u64::from(digit);
            count += 1;
        }
        count
    };
    let whole = read(digits);
    let (mut at, mut decimals) = (whole, 0);
    if digits.get(at) == Some(&b'.') {
        decimals = digits.len() - at - 1;
        at = digits.len();
        match digits
            .last_chunk()
            .and_then(|tail| parse_digits(tail, decimals))
        {
            Some(fraction) => number = number * POWERS_OF_TEN[decimals] + fraction,
            None if read(&digits[whole + 1..]) < decimals => return None,
            None => {}
        }
    }
    if at < digits.len() || whole + decimals == 0 || number > 1 << 53 {
        return None;
    }
    let number = number as f64 / POWERS[decimals];
    Some(if negative { -number } else { number })
}

const POWERS_OF_TEN: [u64; 9] = [
    1,
    10,
    100,
    1000,
    10_000,
    100_000,
    1_000_000,
    10_000_000,
    100_000_000,
];

/// Parses the last `count` bytes, up to eight, as digits; `None` if one is not a digit.
#[inline]
fn parse_digits(tail: &[u8; 8], count: usize) -> Option<u64> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const TOPS: u64 = 0x80 * ONES;
    if count > 8 {
        return None;
    }
    let others = u32::try_from(8 * (8 - count)).ok()?;
    let mask = u64::MAX.checked_shr(others).unwrap_or(0);
    // Bytes that are not digits become > 9.
    let digits = (u64::from_be_bytes(*tail) ^ (u64::from(b'0') * ONES)) & mask;
    let more = (((digits & !TOPS) + (0x80 - 10) * ONES) | digits) & TOPS;
    (more == 0).then(|| combine_digits(digits))
}

/// Combines eight digits, least significant last: pairs first, then pairs of pairs.
#[inline]
fn combine_digits(digits: u64) -> u64 {
    let pairs = ((digits >> 8) & 0x00FF_00FF_00FF_00FF) * 10 + (digits & 0x00FF_00FF_00FF_00FF);
    let fours = ((pairs >> 16) & 0x0000_FFFF_0000_FFFF) * 100 + (pairs & 0x0000_FFFF_0000_FFFF);
    (fours >> 32) * 10_000 + (fours & 0xFFFF_FFFF)
}

/// Parses a C hexadecimal float after `0x`: `1.8p3` is 12.
fn hexadecimal(text: &str) -> Option<f64> {
    let (mut value, mut scale, mut point, mut digits) = (0.0_f64, 0_i32, false, 0);
    let mut rest = text.char_indices().peekable();
    while let Some(&(_, c)) = rest.peek() {
        match (c.to_digit(16), c) {
            (Some(digit), _) => {
                value = value * 16.0 + f64::from(digit);
                scale -= i32::from(point) * 4;
                digits += 1;
            }
            (None, '.') if !point => point = true,
            _ => break,
        }
        rest.next();
    }
    if digits == 0 {
        return None;
    }
    let exponent = match rest.next() {
        Some((at, 'p')) => parse_integer(&text[at + 1..]).unwrap_or(0),
        _ => 0,
    };
    let exponent = exponent.clamp(-5000, 5000) as i32 + scale;
    Some(value * 2.0_f64.powi(exponent.clamp(-2000, 2000)))
}

/// Parses the leading integer of a column as C and trec_eval do: 1 of `1.9`, saturating at the
/// limits. Returns `None` without one, which C treats as 0.
///
/// ```
/// use ir_core::trec::parse_integer;
/// assert_eq!(parse_integer("-1"), Some(-1));
/// assert_eq!(parse_integer("1.9"), Some(1));
/// assert_eq!(parse_integer("high"), None);
/// ```
#[must_use]
pub fn parse_integer(text: &str) -> Option<Grade> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let digits = unsigned.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return None;
    }
    let end = text.len() - unsigned.len() + digits;
    Some(text[..end].parse().unwrap_or(if text.starts_with('-') {
        Grade::MIN
    } else {
        Grade::MAX
    }))
}

/// Parses an integer, also written as a decimal without a fraction, such as `1.0`. Returns `None`
/// for other text.
///
/// ```
/// use ir_core::trec::parse_whole;
/// assert_eq!(parse_whole("2"), Some(2));
/// assert_eq!(parse_whole("-1.0"), Some(-1));
/// assert_eq!(parse_whole("0.5"), None);
/// ```
#[must_use]
pub fn parse_whole(text: &str) -> Option<Grade> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let is_whole = !fraction.is_empty() && fraction.bytes().all(|digit| digit == b'0');
    is_whole.then(|| whole.parse().ok())?
}
