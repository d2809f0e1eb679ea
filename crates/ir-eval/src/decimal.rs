//! Exact decimal numbers, the parameters of measures.

use std::fmt;
use std::str::FromStr;

/// Exact decimal number with at most nine decimal places.
///
/// Measures use it for their parameters, so that they can be compared, hashed and printed exactly.
/// Range: ±9,000,000.
///
/// ```
/// use ir_eval::Decimal;
/// let p: Decimal = "0.90".parse()?;
/// assert_eq!(p, Decimal::new(9, 1));
/// assert_eq!(p.to_string(), "0.9");
/// assert_eq!(p.to_f64(), 0.9);
/// # Ok::<(), ir_eval::ParseDecimalError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Decimal(i64);

const PLACES: u32 = 9;
const UNIT: i64 = 1_000_000_000;
/// Largest magnitude. Up to it, [`Decimal::to_f64`] is correctly rounded.
const MAX: i64 = 9_000_000 * UNIT;

impl Decimal {
    #[allow(missing_docs)]
    pub const ZERO: Self = Self(0);
    #[allow(missing_docs)]
    pub const ONE: Self = Self(UNIT);

    /// Creates `digits` / 10^`places`: `Decimal::new(25, 2)` is 0.25.
    ///
    /// # Panics
    /// If `places` exceeds nine or the magnitude exceeds nine million. In a constant, that is a
    /// compile-time error.
    #[must_use]
    pub const fn new(digits: i64, places: u32) -> Self {
        assert!(places <= PLACES, "a decimal has at most nine places");
        let scale = 10_i64.pow(PLACES - places);
        assert!(
            digits <= MAX / scale && digits >= -MAX / scale,
            "expected a magnitude of at most nine million"
        );
        Self(digits * scale)
    }

    /// Converts to the nearest `f64`.
    #[must_use]
    pub fn to_f64(self) -> f64 {
        self.0 as f64 / UNIT as f64
    }

    /// Returns `true` if the number is between 0 and 1.
    pub(crate) const fn is_fraction(self) -> bool {
        0 <= self.0 && self.0 <= UNIT
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let magnitude = self.0.unsigned_abs();
        let (whole, rest) = (magnitude / UNIT as u64, magnitude % UNIT as u64);
        if self.0 < 0 {
            f.write_str("-")?;
        }
        write!(f, "{whole}")?;
        if rest > 0 {
            let digits = format!("{rest:09}");
            write!(f, ".{}", digits.trim_end_matches('0'))?;
        }
        Ok(())
    }
}

impl fmt::Debug for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Error parsing a [`Decimal`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected a number between -9000000 and 9000000 with at most nine decimal places, found {found:?}"
)]
pub struct ParseDecimalError {
    #[allow(missing_docs)]
    pub found: String,
}

impl FromStr for Decimal {
    type Err = ParseDecimalError;

    /// Parses `0.9`, `.9`, `-1`, `+4.50`, `3.`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text).ok_or_else(|| ParseDecimalError {
            found: text.to_owned(),
        })
    }
}

fn parse(text: &str) -> Option<Decimal> {
    let (sign, unsigned) = match text.as_bytes().first()? {
        b'-' => (-1, &text[1..]),
        b'+' => (1, &text[1..]),
        _ => (1, text),
    };
    let (whole, rest) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if whole.len() + rest.len() == 0 || !digits(whole) || !digits(rest) {
        return None;
    }
    let rest = rest.trim_end_matches('0');
    let places = u32::try_from(rest.len()).ok().filter(|&n| n <= PLACES)?;
    let number = |digits: &str| match digits {
        "" => Some(0),
        digits => digits.parse::<i64>().ok(),
    };
    let rest = number(rest)? * 10_i64.pow(PLACES - places);
    let magnitude = number(whole)?.checked_mul(UNIT)?.checked_add(rest)?;
    (magnitude <= MAX).then_some(Decimal(sign * magnitude))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parses_common_spellings() {
        for (text, printed) in [
            (".25", "0.25"),
            ("0.10", "0.1"),
            ("-1", "-1"),
            ("+4.50", "4.5"),
            ("3.", "3"),
            ("-0.000000001", "-0.000000001"),
            ("0", "0"),
        ] {
            assert_eq!(text.parse::<Decimal>().unwrap().to_string(), printed);
        }
        for text in [
            "",
            ".",
            "-",
            "1e3",
            "nan",
            "0.1234567891",
            "1.2.3",
            " 1",
            "99999999999999999999",
        ] {
            assert!(text.parse::<Decimal>().is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn text_round_trips(raw in -MAX..=MAX) {
            let number = Decimal(raw);
            prop_assert_eq!(number.to_string().parse::<Decimal>().unwrap(), number);
        }

        #[test]
        fn to_f64_is_correctly_rounded(digits in -9_000_000_i64..9_000_000, places in 0_u32..=6) {
            let number = Decimal::new(digits, places);
            prop_assert_eq!(number.to_f64(), number.to_string().parse::<f64>().unwrap());
        }
    }
}
