//! Comparison of attribute values: one rule for equality, ranges, lists, years and engines.

use std::cmp::Ordering;
use std::ops::RangeInclusive;

use crate::attributes::{AttributeValue, Attributes};
use crate::date::Date;

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
/// | in `year`: a number from 10000101 to 29991231 | a date, as the text is: 20150601 equals 2015 |
/// | a date and another number, such as a timestamp | not equal: neither is less |
/// | two other texts | equal or not: neither is less |
/// | truth values | equal or not; the texts `true`, `True` and `TRUE` are one, as is `false` |
///
/// In `year`, a number or text YYYYMMDD with a day that the calendar lacks, such as 20150230, is
/// compared like a date; [`Attributes::year`] is `None` for it.
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
    /// Text that is a date as YYYYMMDD, or such a number in the attribute `year`: an integer of
    /// [`Self::BASIC_DATES`].
    BasicDate(i64),
    /// Date, or the start of one.
    Date(Date),
    /// Text that is neither a number nor a date nor a truth value.
    Text(&'a str),
    /// Truth value of JSON, or a text of [`Self::truth_texts`].
    Bool(bool),
}

impl<'a> Comparable<'a> {
    /// Integers that are years.
    pub const YEARS: RangeInclusive<i64> = -9_999..=9_999;
    /// Integers that are compared with dates as YYYYMMDD.
    pub const BASIC_DATES: RangeInclusive<i64> = 10_000_101..=29_991_231;

    /// Returns `true` if dates are compared with a number by their years: from -9999 to 9999,
    /// with fractions.
    ///
    /// ```
    /// use ir_core::Comparable;
    /// assert!(Comparable::is_year(2015.5));
    /// assert!(!Comparable::is_year(20_150_601.0));
    /// ```
    #[must_use]
    pub fn is_year(number: f64) -> bool {
        (*Self::YEARS.start() as f64..=*Self::YEARS.end() as f64).contains(&number)
    }

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

    /// Returns the value of an attribute as it is compared: [`Self::new`], and
    /// [`Self::in_attribute`].
    ///
    /// ```
    /// use std::cmp::Ordering;
    /// use ir_core::{AttributeValue, Comparable};
    ///
    /// let (date, year) = (AttributeValue::from(20_150_601), AttributeValue::from(2015));
    /// let order = |name: &str| {
    ///     let date = Comparable::from_attribute(name, &date)?;
    ///     date.compare(&Comparable::from_attribute(name, &year)?)
    /// };
    /// assert_eq!(order("year"), Some(Ordering::Equal));
    /// assert_eq!(order("views"), Some(Ordering::Greater));
    /// ```
    #[must_use]
    pub fn from_attribute(name: &str, value: &'a AttributeValue) -> Option<Self> {
        Some(Self::new(value)?.in_attribute(name))
    }

    /// Returns the value as a value of an attribute: in [`Attributes::YEAR`], numbers of
    /// [`Self::BASIC_DATES`] are dates as YYYYMMDD. A fraction of a day is cut off.
    #[must_use]
    pub fn in_attribute(self, name: &str) -> Self {
        let number = match self {
            Self::Integer(number) => number,
            Self::Number(number) => number.floor() as i64,
            _ => return self,
        };
        if name == Attributes::YEAR && Self::BASIC_DATES.contains(&number) {
            return Self::BasicDate(number);
        }
        self
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

    /// Returns a text that counts equal values as one. Values with the same key are equal. Equal
    /// numbers, texts and truth values have the same key, and so have a day as `2015-03-01` and as
    /// 20150301. A year, a month, a day and a time of the day have keys of their own.
    #[must_use]
    pub fn key(&self) -> String {
        match self {
            Self::Integer(number) | Self::BasicDate(number) => number.to_string(),
            Self::Number(number) => format!("{number:?}"),
            Self::Date(date) => match basic_date(*date) {
                Some(number) => number.to_string(),
                None => format!("{date:?}"),
            },
            Self::Text(text) => format!("{text:?}"),
            Self::Bool(truth) => truth.to_string(),
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

/// Integer of a day without a time.
fn basic_date(date: Date) -> Option<i64> {
    let (None, Some(month), Some(day)) = (date.second, date.month, date.day) else {
        return None;
    };
    let number = date.year * 10_000 + i64::from(month) * 100 + i64::from(day);
    Comparable::BASIC_DATES.contains(&number).then_some(number)
}

/// Order of a date as YYYYMMDD and a value: beside years it is its year.
fn basic_date_and(date: i64, other: Comparable<'_>) -> Option<Ordering> {
    let year = date / 10_000;
    match other {
        Comparable::Integer(other) if Comparable::YEARS.contains(&other) => Some(year.cmp(&other)),
        Comparable::Number(other) if Comparable::is_year(other) => {
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
    let has_order = Comparable::is_year(number) || number.is_infinite();
    has_order.then(|| integer_and_number(date.year, number))
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

    /// The attribute `year` compares integers as [`Attributes::year`] reads them.
    #[test]
    fn numbers_of_years_are_dates() {
        let compare = |a: AttributeValue, b: AttributeValue| {
            let a = Comparable::from_attribute("year", &a).unwrap();
            a.compare(&Comparable::from_attribute("year", &b).unwrap())
        };
        // The calendar has no such day.
        for february in [20_150_230.into(), "20150230".into()] {
            let compare = |other: AttributeValue| compare(AttributeValue::clone(&february), other);
            assert_eq!(compare(2015.into()), Some(Ordering::Equal));
            assert_eq!(compare("2015-02".into()), Some(Ordering::Equal));
            assert_eq!(compare("2015-02-01".into()), Some(Ordering::Greater));
            assert_eq!(Attributes::from_iter([("year", february)]).year(), None);
        }
        for date in [
            20_150_601.into(),
            20_150_601.0.into(),
            20_150_601.5.into(),
            "20150601".into(),
        ] {
            let compare = |other: AttributeValue| compare(AttributeValue::clone(&date), other);
            assert_eq!(compare(2015.into()), Some(Ordering::Equal), "{date:?}");
            assert_eq!(compare("2015-06".into()), Some(Ordering::Equal), "{date:?}");
            assert_eq!(
                compare(20_150_601.into()),
                Some(Ordering::Equal),
                "{date:?}"
            );
            assert_eq!(compare("20150602".into()), Some(Ordering::Less), "{date:?}");
            assert_eq!(compare(2015.5.into()), Some(Ordering::Less), "{date:?}");
            assert_eq!(
                compare(1_433_116_800.into()),
                Some(Ordering::Less),
                "{date:?}"
            );
        }
        // Days that are unknown or not in the calendar have a year here, too.
        for number in [20_150_000, 20_159_999] {
            assert_eq!(compare(number.into(), 2015.into()), Some(Ordering::Equal));
        }
        for number in [10_000_100, 29_991_232] {
            assert_eq!(compare(number.into(), 2015.into()), Some(Ordering::Greater));
        }
    }

    #[test]
    fn keys_count_equal_values_as_one() {
        let key = |value: &AttributeValue| Comparable::new(value).map(|value| value.key());
        let groups: [Vec<AttributeValue>; 11] = [
            vec![2015.into(), 2015.0.into(), "2015".into(), "2015.0".into()],
            vec![0.into(), AttributeValue::from(-0.0), "-0".into()],
            vec![20_150_601.into(), "20150601".into(), "2015-06-01".into()],
            vec![true.into(), "true".into(), "TRUE".into()],
            vec!["007".into()],
            vec![7.into(), "7.0".into()],
            vec!["2015-06".into()],
            vec!["2015-06-01T10:00Z".into(), "20150601T1200+0200".into()],
            vec!["0999-03-10".into()],
            vec![9_990_310.into()],
            vec![2015.5.into(), "2015.50".into()],
        ];
        let mut keys: Vec<Option<String>> = Vec::new();
        for equal in &groups {
            keys.push(key(&equal[0]));
            assert!(
                equal.iter().all(|value| key(value) == key(&equal[0])),
                "{equal:?}"
            );
        }
        let count = keys.len();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), count, "groups have keys of their own");
    }

    proptest! {
        /// Values with the same key are equal; equal values without dates have the same key.
        #[test]
        fn keys_agree_with_the_comparison(a in value(), b in value()) {
            let (a, b) = (Comparable::new(&a).unwrap(), Comparable::new(&b).unwrap());
            let is_equal = a.compare(&b) == Some(Ordering::Equal);
            let is_dated = |value: &Comparable<'_>| {
                matches!(value, Comparable::Date(_) | Comparable::BasicDate(_))
            };
            if is_dated(&a) || is_dated(&b) {
                prop_assert!(is_equal || a.key() != b.key());
            } else {
                prop_assert_eq!(is_equal, a.key() == b.key());
            }
        }

        /// A condition on `year` and a time filter agree about dates and years.
        #[test]
        fn years_are_compared_as_they_are_read(value in value(), limit in 2013..2018_i64) {
            let attributes = Attributes::from_iter([(Attributes::YEAR, value.clone())]);
            if let Some(year) = attributes.year() {
                let value = Comparable::from_attribute(Attributes::YEAR, &value).unwrap();
                prop_assert_eq!(value.compare(&Comparable::Integer(limit)), Some(year.cmp(&limit)));
            }
        }

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
