//! Values that filters cannot test, counted for warnings.

use std::fmt;

use crate::attributes::{AttributeValue, Attributes};
use crate::predicate::Predicate;

/// Count of the values that conditions cannot compare with their limits
/// ([`Predicate::incomparable`]).
///
/// ```
/// use ir_core::{Attributes, IncomparableValues, Predicate};
/// let condition: Predicate = "date<=2020-03-11".parse()?;
/// let mut values = IncomparableValues::new([&condition]);
/// values.add(&Attributes::from_iter([("date", "2020-03-10")]));
/// values.add(&Attributes::from_iter([("date", 1_583_798_400_000_i64)]));
/// assert_eq!(
///     values.warnings(),
///     ["1 document with a \"date\" that cannot be compared with \"2020-03-11\", such as \
///       1583798400000: the limit does not hold"]
/// );
/// # Ok::<(), ir_core::ParsePredicateError>(())
/// ```
#[derive(Debug, Clone)]
pub struct IncomparableValues<'a>(Vec<(&'a Predicate, InvalidCount)>);

/// Count of invalid values, with the first of them.
#[derive(Debug, Clone, Default)]
struct InvalidCount {
    count: u64,
    first: Option<AttributeValue>,
}

impl InvalidCount {
    fn add(&mut self, value: &AttributeValue) {
        self.count += 1;
        self.first.get_or_insert_with(|| value.clone());
    }
}

impl<'a> IncomparableValues<'a> {
    /// Starts a count for the ranges in conditions.
    #[must_use]
    pub fn new(conditions: impl IntoIterator<Item = &'a Predicate>) -> Self {
        let mut ranges: Vec<(&Predicate, InvalidCount)> = Vec::new();
        for test in conditions.into_iter().flat_map(Predicate::conditions) {
            let is_range = test.range().is_some();
            if is_range && ranges.iter().all(|(known, _)| *known != test) {
                ranges.push((test, InvalidCount::default()));
            }
        }
        Self(ranges)
    }

    /// Returns `true` if the conditions contain no range.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Counts the values of a document.
    pub fn add(&mut self, document: &Attributes) {
        for (range, invalid) in &mut self.0 {
            if let Some(value) = range.incomparable(document) {
                invalid.add(value);
            }
        }
    }

    /// Returns a warning for each range with such values, with their number and the first of them.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let warnings = self.0.iter().filter_map(|(range, invalid)| {
            let (name, limit, _) = range.range()?;
            let found = Shown(invalid.first.as_ref()?);
            let unit = if invalid.count == 1 { "" } else { "s" };
            Some(format!(
                "{} document{unit} with a {name:?} that cannot be compared with {}, such as \
                 {found}: the limit does not hold",
                Grouped(invalid.count),
                Shown(limit),
            ))
        });
        warnings.collect()
    }
}

/// Count of attributes [`Attributes::YEAR`] that are neither years nor dates
/// ([`Attributes::has_invalid_year`]), which time filters ignore.
///
/// ```
/// use ir_core::{Attributes, YearCheck};
/// let years = ["2015", "soon"].map(|year| Attributes::from_iter([("year", year)]));
/// let check: YearCheck = years.iter().collect();
/// assert_eq!(check.years(), 1);
/// assert_eq!(
///     check.warning("queries").unwrap(),
///     "1 of 2 queries have an attribute \"year\" that is neither a year nor a date, such as \
///      \"soon\": no time filter"
/// );
/// ```
#[derive(Debug, Clone, Default)]
pub struct YearCheck {
    total: u64,
    years: u64,
    invalid: InvalidCount,
}

impl YearCheck {
    /// Counts the year of a document or query.
    pub fn add(&mut self, attributes: &Attributes) {
        self.total += 1;
        match (attributes.year(), attributes.get(Attributes::YEAR)) {
            (Some(_), _) => self.years += 1,
            (None, Some(value)) => self.invalid.add(value),
            (None, None) => {}
        }
    }

    /// Number of records with a year.
    #[must_use]
    pub const fn years(&self) -> u64 {
        self.years
    }

    /// Number of records with an attribute `year` that is no year.
    #[must_use]
    pub const fn invalid(&self) -> u64 {
        self.invalid.count
    }

    /// Returns a warning of invalid years, if there are any. `unit` is the plural of the records,
    /// such as `queries`.
    #[must_use]
    pub fn warning(&self, unit: &str) -> Option<String> {
        let first = Shown(self.invalid.first.as_ref()?);
        Some(format!(
            "{} of {} {unit} have an attribute \"year\" that is neither a year nor a date, such as \
             {first}: no time filter",
            Grouped(self.invalid.count),
            Grouped(self.total),
        ))
    }
}

impl<'a> FromIterator<&'a Attributes> for YearCheck {
    fn from_iter<I: IntoIterator<Item = &'a Attributes>>(records: I) -> Self {
        let mut check = Self::default();
        records.into_iter().for_each(|record| check.add(record));
        check
    }
}

/// Value in messages, as in JSON.
struct Shown<'a>(&'a AttributeValue);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            AttributeValue::Bool(value) => value.fmt(f),
            AttributeValue::Int(number) => number.fmt(f),
            AttributeValue::Float(number) => fmt::Debug::fmt(number, f),
            AttributeValue::Text(text) => fmt::Debug::fmt(text, f),
            AttributeValue::List(members) => {
                f.write_str("[")?;
                for (n, member) in members.iter().enumerate() {
                    write!(f, "{}{}", if n == 0 { "" } else { ", " }, Self(member))?;
                }
                f.write_str("]")
            }
            AttributeValue::Map(_) => f.write_str("an object"),
        }
    }
}

/// Number with a comma before each group of three digits.
struct Grouped(u64);

impl fmt::Display for Grouped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 1000 {
            return write!(f, "{}", self.0);
        }
        write!(f, "{},{:03}", Self(self.0 / 1000), self.0 % 1000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn incomparable_values_of_each_range() {
        let conditions: Vec<Predicate> =
            ["year<=2019", "date>=2020-03-11", "year<=2019", "place=x"]
                .iter()
                .map(|text| text.parse().unwrap())
                .collect();
        let nested = Predicate::Not(Box::new(Predicate::Any(conditions.clone())));
        assert!(IncomparableValues::new([&conditions[3]]).is_empty());
        let mut values = IncomparableValues::new([&conditions[0], &nested]);
        assert!(!values.is_empty() && values.warnings().is_empty());
        let mut document = Attributes::from_iter([("year", "spring")]);
        for _ in 0..1_234 {
            values.add(&document);
        }
        document.set("year", 2015_i64);
        document.set("date", "20200310");
        document.set("place", true);
        values.add(&document);
        document.set("date", vec!["x", "y"]);
        values.add(&document);
        assert_eq!(
            values.warnings(),
            [
                "1,234 documents with a \"year\" that cannot be compared with 2019, such as \
                 \"spring\": the limit does not hold",
                "1 document with a \"date\" that cannot be compared with \"2020-03-11\", such as \
                 [\"x\", \"y\"]: the limit does not hold",
            ]
        );
    }

    #[test]
    fn years_that_are_none() {
        let mut check = YearCheck::default();
        check.add(&Attributes::new());
        check.add(&Attributes::from_iter([("year", "20200310")]));
        assert_eq!((check.years(), check.invalid()), (1, 0));
        assert_eq!(check.warning("documents"), None);
        check.add(&Attributes::from_iter([("year", 1_583_798_400_000_i64)]));
        assert_eq!((check.years(), check.invalid()), (1, 1));
        assert_eq!(
            check.warning("documents").unwrap(),
            "1 of 3 documents have an attribute \"year\" that is neither a year nor a date, such \
             as 1583798400000: no time filter"
        );
    }
}
