//! Comparison of attribute values: one rule for equality, ranges, lists, years and engines.

use std::cmp::Ordering;
use std::ops::RangeInclusive;

use crate::attributes::{AttributeValue, Attributes};

/// Attribute value as it is compared: a number, a date, a text or a truth value.
///
/// Texts that are decimal numbers (`"2015"`, `"-2.50"`) compare as numbers, and texts that are
/// dates of ISO 8601 (`"2015-03"`, `"2015-03-01"`, `"2015-03-01T12:00:00Z"`) as dates; the text
/// `"20150301"` is a date beside dates and years, and a number beside other numbers. Identifiers
/// with leading zeros, exponents or more digits than 64 bits have are texts: `"007"` is not 7.
///
/// | values | comparison |
/// |---|---|
/// | two numbers | by value: the integer 2015 equals 2015.0 and `"2015"` |
/// | two dates | the fields that both have: `2015-03` equals `2015-03-01` |
/// | a date and a number from -9999 to 9999 | the year and the number: `2015-03-01` equals 2015 |
/// | a date and an integer from 10000101 to 29991231 | the integer is a date as YYYYMMDD |
/// | a text that is a date as YYYYMMDD and a number from -9999 to 9999 | the year and the number |
/// | a date and another number, such as a timestamp | not equal: neither is less |
/// | two other texts | equal or not: neither is less |
/// | truth values | equal or not; the texts `true`, `True` and `TRUE` are one, as is `false` |
///
/// ```
/// use std::cmp::Ordering;
/// use ir_core::{AttributeValue, Comparable};
///
/// let compare = |a: AttributeValue, b: AttributeValue| {
///     Comparable::new(&a)?.compare(&Comparable::new(&b)?)
/// };
/// assert_eq!(compare(2015.0.into(), "2015".into()), Some(Ordering::Equal));
/// assert_eq!(compare("2015-03-01".into(), 2016.into()), Some(Ordering::Less));
/// assert_eq!(compare("2015-03-01".into(), "2015-02".into()), Some(Ordering::Greater));
/// assert_eq!(compare("20150301".into(), "2015-03-02".into()), Some(Ordering::Less));
/// assert_eq!(compare("20150301".into(), 2015.into()), Some(Ordering::Equal));
/// assert_eq!(compare("spring".into(), 2015.into()), None);
/// assert_eq!(compare(1_583_798_400_000.into(), "2020-03-11".into()), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Comparable<'a> {
    /// Integer, or a text that is one.
    Integer(i64),
    /// Another number, or a text that is a finite one.
    Number(f64),
    /// Text that is a date as YYYYMMDD: its integer, of [`Self::BASIC_DATES`].
    BasicDate(i64),
    /// Date, or the start of one.
    Date(Date),
    /// Text that is neither a number nor a date nor a truth value.
    Text(&'a str),
    /// Truth value of JSON, or a text of [`Self::truth_texts`].
    Bool(bool),
}

/// Date of ISO 8601, of which month, day and time may be missing. Times with an offset are
/// converted to UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Date {
    /// Year of the Gregorian calendar.
    pub year: i64,
    /// Month, 1 to 12.
    pub month: Option<u8>,
    /// Day of the month, from 1.
    pub day: Option<u8>,
    /// Seconds since midnight in UTC, fractions cut off.
    pub second: Option<u32>,
}

impl<'a> Comparable<'a> {
    /// Integers that are years.
    pub const YEARS: RangeInclusive<i64> = -9_999..=9_999;
    /// Integers that are compared with dates as YYYYMMDD.
    pub const BASIC_DATES: RangeInclusive<i64> = 10_000_101..=29_991_231;

    /// Returns the value as it is compared; `None` for lists, maps and NaN.
    #[must_use]
    pub fn new(value: &'a AttributeValue) -> Option<Self> {
        match value {
            AttributeValue::Bool(value) => Some(Self::Bool(*value)),
            AttributeValue::Int(number) => Some(Self::Integer(*number)),
            AttributeValue::Float(number) => (!number.is_nan()).then(|| Self::of_float(*number)),
            AttributeValue::Text(text) => Some(Self::of_text(text)),
            AttributeValue::List(_) | AttributeValue::Map(_) => None,
        }
    }

    /// An integral number below 2^63 is an integer.
    fn of_float(number: f64) -> Self {
        const LIMIT: f64 = 9_223_372_036_854_775_808.0;
        if number.fract() == 0.0 && (-LIMIT..LIMIT).contains(&number) {
            Self::Integer(number as i64)
        } else {
            Self::Number(number)
        }
    }

    fn of_text(text: &'a str) -> Self {
        let trimmed = text.trim();
        let starts = trimmed.as_bytes().first();
        // Most texts are neither numbers nor dates.
        if !starts.is_some_and(|byte| byte.is_ascii_digit() || *byte == b'-') {
            let is_truth = |truth: &bool| Self::truth_texts(*truth).contains(&text);
            let truth = [true, false].into_iter().find(is_truth);
            return truth.map_or(Self::Text(text), Self::Bool);
        }
        if is_decimal(trimmed) {
            if let Ok(number) = trimmed.parse::<i64>() {
                let may_be_date = trimmed.len() == 8 && Self::BASIC_DATES.contains(&number);
                if may_be_date && Date::parse(trimmed).is_some() {
                    return Self::BasicDate(number);
                }
                return Self::Integer(number);
            }
            if trimmed.contains('.')
                && let Ok(number) = trimmed.parse::<f64>()
            {
                return Self::of_float(number);
            }
        }
        Date::parse(trimmed).map_or(Self::Text(text), Self::Date)
    }

    /// Returns the texts of a truth value, as JSON, Python and R write it.
    #[must_use]
    pub const fn truth_texts(truth: bool) -> [&'static str; 3] {
        [["false", "False", "FALSE"], ["true", "True", "TRUE"]][truth as usize]
    }

    /// Returns the order of two values; `None` if they have none and are not equal.
    #[must_use]
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        let equal = |is_equal: bool| is_equal.then_some(Ordering::Equal);
        match (*self, *other) {
            (Self::BasicDate(a), b) => basic_date_and(a, b),
            (a, Self::BasicDate(b)) => basic_date_and(b, a).map(Ordering::reverse),
            (Self::Integer(a), Self::Integer(b)) => Some(a.cmp(&b)),
            (Self::Integer(a), Self::Number(b)) => Some(integer_and_number(a, b)),
            (Self::Number(a), Self::Integer(b)) => Some(integer_and_number(b, a).reverse()),
            (Self::Number(a), Self::Number(b)) => a.partial_cmp(&b),
            (Self::Date(a), Self::Date(b)) => Some(a.compare(b)),
            (Self::Date(a), Self::Integer(b)) => date_and_integer(a, b),
            (Self::Integer(a), Self::Date(b)) => date_and_integer(b, a).map(Ordering::reverse),
            (Self::Date(a), Self::Number(b)) => date_and_number(a, b),
            (Self::Number(a), Self::Date(b)) => date_and_number(b, a).map(Ordering::reverse),
            (Self::Text(a), Self::Text(b)) => equal(a == b),
            (Self::Bool(a), Self::Bool(b)) => equal(a == b),
            _ => None,
        }
    }

    /// Returns the year: an integer of [`Self::YEARS`], or the year of a date, also of an integer
    /// that is a date as YYYYMMDD.
    #[must_use]
    pub fn year(&self) -> Option<i64> {
        match self {
            Self::Integer(year) if Self::YEARS.contains(year) => Some(*year),
            Self::Integer(date) => Some(Date::parse(&date.to_string())?.year),
            Self::BasicDate(date) => Some(date / 10_000),
            Self::Date(date) => Some(date.year),
            _ => None,
        }
    }

    /// Returns `true` for a number or a date, which have an order.
    #[must_use]
    pub const fn is_ordered(&self) -> bool {
        !matches!(self, Self::Text(_) | Self::Bool(_))
    }
}

impl Attributes {
    /// Returns the year of the attribute [`Attributes::YEAR`]: an integral number from -9999 to
    /// 9999, a date, or an integer that is a date as YYYYMMDD, such as `2015.0`, `"2015"`,
    /// `"2015-03-01"` or `20150301`.
    #[must_use]
    pub fn year(&self) -> Option<i64> {
        Comparable::new(self.get(Self::YEAR)?)?.year()
    }

    /// Returns `true` if there is an attribute [`Attributes::YEAR`] and it is no year: time filters
    /// let the document pass, as they do without a year.
    ///
    /// ```
    /// use ir_core::Attributes;
    ///
    /// assert!(Attributes::from_iter([("year", "spring")]).has_invalid_year());
    /// assert!(Attributes::from_iter([("year", 1_583_798_400_000_i64)]).has_invalid_year());
    /// assert!(!Attributes::from_iter([("year", "2015.0")]).has_invalid_year());
    /// assert!(!Attributes::new().has_invalid_year());
    /// ```
    #[must_use]
    pub fn has_invalid_year(&self) -> bool {
        self.get(Self::YEAR).is_some() && self.year().is_none()
    }
}

/// Returns `true` for digits with a sign or a fraction, without leading zeros: identifiers such as
/// `007` and `1E5` are no numbers.
fn is_decimal(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    are_digits(whole) && are_digits(fraction) && (whole == "0" || !whole.starts_with('0'))
}

/// Order of an integer and a number, without rounding the integer.
fn integer_and_number(integer: i64, number: f64) -> Ordering {
    // The integral part of a number beyond 64 bits saturates, and is then beyond the integer too.
    let floor = number.floor();
    let below = i128::from(integer).cmp(&(floor as i128));
    match below {
        Ordering::Equal if number > floor => Ordering::Less,
        other => other,
    }
}

/// Order of a date and an integer that is a year or a date as YYYYMMDD.
fn date_and_integer(date: Date, integer: i64) -> Option<Ordering> {
    if Comparable::YEARS.contains(&integer) {
        return Some(date.year.cmp(&integer));
    }
    let fields = Date {
        year: integer / 10_000,
        month: Some((integer / 100 % 100) as u8),
        day: Some((integer % 100) as u8),
        second: None,
    };
    let is_date = Comparable::BASIC_DATES.contains(&integer);
    is_date.then(|| date.compare(fields))
}

/// Order of a text that is a date as YYYYMMDD and a value: beside years it is its year.
fn basic_date_and(date: i64, other: Comparable<'_>) -> Option<Ordering> {
    let year = date / 10_000;
    match other {
        Comparable::Integer(other) if Comparable::YEARS.contains(&other) => Some(year.cmp(&other)),
        Comparable::Number(other) if is_fraction_of_year(other) => {
            Some(integer_and_number(year, other))
        }
        Comparable::Integer(other) | Comparable::BasicDate(other) => Some(date.cmp(&other)),
        Comparable::Number(other) => Some(integer_and_number(date, other)),
        Comparable::Date(other) => date_and_integer(other, date).map(Ordering::reverse),
        Comparable::Text(_) | Comparable::Bool(_) => None,
    }
}

/// Order of a date and a number between years. Infinite limits are beyond all dates.
fn date_and_number(date: Date, number: f64) -> Option<Ordering> {
    let has_order = is_fraction_of_year(number) || number.is_infinite();
    has_order.then(|| integer_and_number(date.year, number))
}

fn is_fraction_of_year(number: f64) -> bool {
    (*Comparable::YEARS.start() as f64..=*Comparable::YEARS.end() as f64).contains(&number)
}

impl Date {
    /// Parses `YYYY-MM`, `YYYY-MM-DD`, and `YYYY-MM-DDThh:mm[:ss[.fraction]]` with `Z`, an offset
    /// such as `+02:00`, or neither; a space may stand for `T`. The basic format of ISO 8601 has no
    /// hyphens and colons: `YYYYMMDD`, `YYYYMMDDThhmmss`, with years from 1000 to 2999. `None` for
    /// other texts, and for days that are not in the calendar.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (date, time) = match text.find(['T', 't', ' ']) {
            Some(at) => (&text[..at], Some(&text[at + 1..])),
            None => (text, None),
        };
        let (year, rest) = date.split_at_checked(4)?;
        let year = digits(year, 4)?;
        let (month, day) = match digits(rest, 4) {
            // Eight digits that start with 0 are identifiers.
            Some(_) if (1000..3000).contains(&year) => (&rest[..2], Some(&rest[2..])),
            _ => match rest.strip_prefix('-')?.split_once('-') {
                Some((month, day)) => (month, Some(day)),
                None => (&rest[1..], None),
            },
        };
        let month = digits(month, 2)?;
        let day = day.map(|day| digits(day, 2).ok_or(()));
        let day = day.transpose().ok()?;
        let in_calendar = (1..=12).contains(&month)
            && day.is_none_or(|day| (1..=days_of_month(year, month)).contains(&day));
        if !in_calendar || (time.is_some() && day.is_none()) {
            return None;
        }
        let date = Self {
            year: i64::from(year),
            month: Some(month as u8),
            day: day.map(|day| day as u8),
            second: None,
        };
        match time {
            Some(time) => date.at(time),
            None => Some(date),
        }
    }

    /// The date at a time of the day, in UTC.
    fn at(self, time: &str) -> Option<Self> {
        let (time, offset) = match time.find(['Z', 'z', '+', '-']) {
            Some(at) => (&time[..at], offset_minutes(&time[at..])?),
            None => (time, 0),
        };
        let mut fields = time.split(':');
        let first = fields.next()?;
        let (hour, minute, seconds) = match first.len() {
            2 => (first, fields.next()?, fields.next()),
            _ => {
                let seconds = first.get(4..).filter(|seconds| !seconds.is_empty());
                (first.get(..2)?, first.get(2..4)?, seconds)
            }
        };
        let hour = digits(hour, 2).filter(|hour| *hour < 24)?;
        let minute = digits(minute, 2).filter(|minute| *minute < 60)?;
        let second = match seconds {
            None => 0,
            Some(seconds) => {
                let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, "0"));
                if fraction.is_empty() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
                    return None;
                }
                // 60 is a leap second.
                digits(whole, 2).filter(|second| *second <= 60)?
            }
        };
        if fields.next().is_some() {
            return None;
        }
        let second = (hour * 60 + minute) as i64 * 60 + i64::from(second) - offset * 60;
        let days = second.div_euclid(86_400);
        let mut date = match days {
            0 => self,
            days => self.neighbor(days > 0),
        };
        date.second = Some(second.rem_euclid(86_400) as u32);
        Some(date)
    }

    /// The day after or before.
    fn neighbor(mut self, is_after: bool) -> Self {
        let (month, day) = (self.month.unwrap_or(1), self.day.unwrap_or(1));
        let last = |year: i64, month: u8| days_of_month(year as u32, u32::from(month)) as u8;
        let year = self.year;
        let (year, month, day) = if is_after {
            match (month, day) {
                _ if day < last(year, month) => (year, month, day + 1),
                (12, _) => (year + 1, 1, 1),
                _ => (year, month + 1, 1),
            }
        } else {
            match (month, day) {
                (1, 1) => (year - 1, 12, 31),
                (_, 1) => (year, month - 1, last(year, month - 1)),
                _ => (year, month, day - 1),
            }
        };
        (self.year, self.month, self.day) = (year, Some(month), Some(day));
        self
    }

    /// Compares the fields that both dates have.
    fn compare(self, other: Self) -> Ordering {
        fn both<T: Ord>(a: Option<T>, b: Option<T>) -> Ordering {
            a.zip(b).map_or(Ordering::Equal, |(a, b)| a.cmp(&b))
        }
        (self.year.cmp(&other.year))
            .then(both(self.month, other.month))
            .then(both(self.day, other.day))
            .then(both(self.second, other.second))
    }
}

/// Number of exactly `count` digits.
fn digits(text: &str, count: usize) -> Option<u32> {
    let are_digits = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    are_digits.then(|| text.parse().ok()).flatten()
}

/// Minutes of `Z`, `+02:00`, `-0530` or `+02`.
fn offset_minutes(text: &str) -> Option<i64> {
    let sign = match text.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return (text.len() == 1).then_some(0),
    };
    let (hours, minutes) = match text[1..].split_once(':') {
        Some(parts) => parts,
        None if text.len() == 3 => (&text[1..], "00"),
        None => text.get(1..3).zip(text.get(3..))?,
    };
    let hours = digits(hours, 2).filter(|hours| *hours < 24)?;
    let minutes = digits(minutes, 2).filter(|minutes| *minutes < 60)?;
    Some(sign * i64::from(hours * 60 + minutes))
}

fn days_of_month(year: u32, month: u32) -> u32 {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn compare(a: impl Into<AttributeValue>, b: impl Into<AttributeValue>) -> Option<Ordering> {
        Comparable::new(&a.into())?.compare(&Comparable::new(&b.into())?)
    }

    #[test]
    fn years_in_all_forms() {
        let year = |value: AttributeValue| Comparable::new(&value).and_then(|it| it.year());
        for value in [
            2020.into(),
            2020.0.into(),
            "2020".into(),
            " 2020 ".into(),
            "2020.0".into(),
            "2020-01".into(),
            "2020-12-31".into(),
            "2020-01-01T00:00:00Z".into(),
            "2019-12-31T23:30:00-01:00".into(),
            "2021-01-01T00:30+01:00".into(),
            "20200310".into(),
            20_200_310.into(),
            "20200310T120000Z".into(),
            "20210101T0030+0100".into(),
        ] {
            assert_eq!(year(AttributeValue::clone(&value)), Some(2020), "{value:?}");
        }
        for value in [
            "spring".into(),
            "c2020".into(),
            "2020.5".into(),
            "2020-13".into(),
            "2020-02-30".into(),
            "2020-1-1".into(),
            "2020-01-01T25:00".into(),
            "2020-01T10:00".into(),
            "inf".into(),
            "02020".into(),
            "2.02e3".into(),
            "20200000000000000000".into(),
            "1583798400000".into(),
            1_583_798_400_000.into(),
            20_200_230.into(),
            "20200230".into(),
            "2020-0310".into(),
            "202003-10".into(),
            "20200310T12".into(),
            "20200310T12000".into(),
            "20200310T1200:00".into(),
            "2020-03-10-01".into(),
            "".into(),
            true.into(),
            f64::NAN.into(),
            vec![2020_i64].into(),
        ] {
            assert_eq!(year(AttributeValue::clone(&value)), None, "{value:?}");
        }
    }

    #[test]
    fn large_integers_are_not_rounded() {
        let large = 1_i64 << 53;
        assert_eq!(compare(large + 1, large as f64), Some(Ordering::Greater));
        assert_eq!(compare(i64::MAX, 1e300), Some(Ordering::Less));
        assert_eq!(compare(i64::MIN, -1e300), Some(Ordering::Greater));
        assert_eq!(compare(3, 3.5), Some(Ordering::Less));
        assert_eq!(compare(-3, -3.5), Some(Ordering::Greater));
        assert_eq!(compare("0.5", 0.5), Some(Ordering::Equal));
    }

    #[test]
    fn dates_compare_by_what_both_have() {
        assert_eq!(compare("2015-03", "2015-03-09"), Some(Ordering::Equal));
        assert_eq!(compare("2015-03-10", "2015-03-09"), Some(Ordering::Greater));
        assert_eq!(
            compare("2015-03-10T12:00+02:00", "2015-03-10T10:00Z"),
            Some(Ordering::Equal)
        );
        assert_eq!(
            compare("2016-03-01T00:00+01:00", "2016-02-29"),
            Some(Ordering::Equal)
        );
        assert_eq!(compare("2015-03-10", 2014.5), Some(Ordering::Greater));
        assert_eq!(
            compare("20150310T1200+0200", "2015-03-10T10:00:00Z"),
            Some(Ordering::Equal)
        );
        assert_eq!(compare("geo", "geo"), Some(Ordering::Equal));
        assert_eq!(compare("geo", "sra"), None);
        assert_eq!(compare("true", true), Some(Ordering::Equal));
        assert_eq!(compare("true", false), None);
        for truth in ["True", "TRUE"] {
            assert_eq!(compare(truth, true), Some(Ordering::Equal), "{truth}");
            assert_eq!(compare(truth, "true"), Some(Ordering::Equal), "{truth}");
            assert_eq!(compare(truth, "False"), None, "{truth}");
        }
        assert_eq!(compare("tRUE", true), None);
        assert_eq!(compare("1", true), None);
    }

    /// Dates as eight digits are dates beside dates and, as texts, beside years; they are numbers
    /// beside other numbers.
    #[test]
    fn dates_of_eight_digits() {
        for (a, b, expected) in [
            ("20200310", "2020-03-11", Some(Ordering::Less)),
            ("20200310", "2020-03", Some(Ordering::Equal)),
            ("20200310", "2020", Some(Ordering::Equal)),
            ("20200310", "2021", Some(Ordering::Less)),
            ("20200310", "2020.0", Some(Ordering::Equal)),
            ("20200310", "2019.5", Some(Ordering::Greater)),
            ("20200310", "2020.5", Some(Ordering::Less)),
            ("20200310", "spring", None),
            ("20200310", "true", None),
            ("20200310", "9999", Some(Ordering::Less)),
            ("20200399", "2020", Some(Ordering::Greater)),
            ("20200310", "20200309", Some(Ordering::Greater)),
            // Not in the calendar: a number.
            ("20200310", "20200399", Some(Ordering::Less)),
            ("20200310", "10000", Some(Ordering::Greater)),
            ("20200310", "20200310.5", Some(Ordering::Less)),
            ("20200310", "1583798400000", Some(Ordering::Less)),
            ("2020-03-10", "20200399", Some(Ordering::Less)),
            ("2020-03-10", "1583798400000", None),
            ("2020-03-10", "10000", None),
            ("2020-03-10", "-10000", None),
            ("2020-03-10", "20200310.5", None),
            ("2020-03-10", "9999.5", None),
            ("0999-03-10", "09990310", None),
        ] {
            assert_eq!(compare(a, b), expected, "{a} {b}");
        }
        assert_eq!(compare(20_200_310, "20200310"), Some(Ordering::Equal));
        assert_eq!(compare(20_200_310, "2020-03-11"), Some(Ordering::Less));
        assert_eq!(compare(20_200_310, 2020), Some(Ordering::Greater));
        assert_eq!(compare("20200310", 2020.5), Some(Ordering::Less));
        assert_eq!(compare("20200310", f64::INFINITY), Some(Ordering::Less));
        assert_eq!(compare("2020-03-10", f64::INFINITY), Some(Ordering::Less));
        assert_eq!(compare(1_583_798_400_000, "2020-03-10"), None);
    }

    fn value() -> impl Strategy<Value = AttributeValue> {
        prop_oneof![
            "201[56]0[12](1[12])?(T1000Z)?".prop_map(AttributeValue::from),
            (20_150_109..20_150_115_i64).prop_map(AttributeValue::from),
            (-3..3_i64).prop_map(AttributeValue::from),
            (-6..6_i64).prop_map(|n| AttributeValue::from(n as f64 / 2.0)),
            "-?[0-3](\\.[05])?".prop_map(AttributeValue::from),
            "201[56](-0[12](-1[12])?)?".prop_map(AttributeValue::from),
            "[a-c]?".prop_map(AttributeValue::from),
            any::<bool>().prop_map(AttributeValue::from),
        ]
    }

    proptest! {
        #[test]
        fn comparison_is_symmetric(a in value(), b in value()) {
            let (a, b) = (Comparable::new(&a).unwrap(), Comparable::new(&b).unwrap());
            prop_assert_eq!(a.compare(&b), b.compare(&a).map(Ordering::reverse));
            prop_assert_eq!(a.compare(&a), Some(Ordering::Equal));
        }

        /// A text is compared with a year as its year is.
        #[test]
        fn texts_compare_with_years_by_their_year(
            text in "201[4-6](-?0[1-9](-?1[0-9])?)?", year in 2013..2018_i64,
        ) {
            let value = AttributeValue::from(text);
            let found = Comparable::new(&value).and_then(|value| value.year());
            if let Some(found) = found {
                prop_assert_eq!(compare(value, year), Some(found.cmp(&year)));
            }
        }

        /// The number of a text is the number of its value.
        #[test]
        fn texts_of_numbers(a in -9..9_i64, b in -9..9_i64) {
            let order = a.cmp(&b);
            let (x, y) = (a as f64, b as f64);
            prop_assert_eq!(compare(a, y), Some(order));
            prop_assert_eq!(compare(a.to_string(), b), Some(order));
            prop_assert_eq!(compare(format!("{x:.1}"), b.to_string()), Some(order));
        }
    }
}
