//! Attribute values of numbers, dates and times.

use ir_core::AttributeValue;

/// Value of an unsigned integer.
pub(super) fn unsigned(number: u64) -> AttributeValue {
    match i64::try_from(number) {
        Ok(number) => AttributeValue::Int(number),
        Err(_) => AttributeValue::Float(number as f64),
    }
}

/// Value of a number of 32 bits: the shortest decimal number, as JSON has it, 0.1 and not
/// 0.10000000149011612. `None` for NaN.
pub(super) fn single(number: f32) -> Option<AttributeValue> {
    double(number.to_string().parse().ok()?)
}

/// Value of a number; `None` for NaN.
pub(super) fn double(number: f64) -> Option<AttributeValue> {
    (!number.is_nan()).then_some(AttributeValue::Float(number))
}

const DAY: i64 = 86_400;

/// Seconds since 1970 as `2017-03-01T12:00:00Z`. Fractions of a second are cut off.
pub(super) fn timestamp(seconds: i64) -> String {
    let time = seconds.rem_euclid(DAY);
    let (hour, minute, second) = (time / 3_600, time / 60 % 60, time % 60);
    let date = date(seconds.div_euclid(DAY));
    format!("{date}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Days since 1970 as `2017-03-01` in the Gregorian calendar.
pub(super) fn date(days: i64) -> String {
    // Years start in March, so that a leap day is the last day of a year.
    const DAYS_OF_400_YEARS: i64 = 146_097;
    let days = days + 719_468;
    let day_of_era = days.rem_euclid(DAYS_OF_400_YEARS);
    let leap_days = day_of_era / 1_460 - day_of_era / 36_524 + day_of_era / 146_096;
    let year_of_era = (day_of_era - leap_days) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + 400 * days.div_euclid(DAYS_OF_400_YEARS) + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Nanoseconds as a duration in seconds of ISO 8601: `PT90S`, `-PT0.5S`.
pub(super) fn duration(nanoseconds: i128) -> String {
    const SECOND: u128 = 1_000_000_000;
    let sign = if nanoseconds < 0 { "-" } else { "" };
    let length = nanoseconds.unsigned_abs();
    let (seconds, fraction) = (length / SECOND, length % SECOND);
    let fraction = format!(".{fraction:09}");
    let fraction = fraction.trim_end_matches('0').trim_end_matches('.');
    format!("{sign}PT{seconds}{fraction}S")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        for (nanoseconds, expected) in [
            (0, "PT0S"),
            (90_000_000_000, "PT90S"),
            (100_000_000_000, "PT100S"),
            (-500_000_000, "-PT0.5S"),
            (1, "PT0.000000001S"),
            (86_400_000_000_010, "PT86400.00000001S"),
            (
                i128::from(i64::MIN) * 1_000_000_000,
                "-PT9223372036854775808S",
            ),
        ] {
            assert_eq!(duration(nanoseconds), expected);
        }
    }

    /// Dates computed by Python's datetime.
    #[test]
    fn dates() {
        for (days, expected) in [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (11_016, "2000-02-29"),
            (11_017, "2000-03-01"),
            (17_226, "2017-03-01"),
            (-25_509, "1900-02-28"),
            (-25_508, "1900-03-01"),
            (2_932_896, "9999-12-31"),
            (-719_162, "0001-01-01"),
        ] {
            assert_eq!(date(days), expected);
        }
        assert_eq!(timestamp(1_488_370_245), "2017-03-01T12:10:45Z");
        assert_eq!(timestamp(-1), "1969-12-31T23:59:59Z");
    }
}
