//! What may be an error in filters and in the values that they test, for warnings.

use std::collections::BTreeSet;
use std::fmt;

use crate::attributes::{AttributeValue, Attributes};
use crate::comparison::Comparable;
use crate::predicate::Predicate;

/// What may be an error in conditions, found by comparing them with the documents: attributes that
/// no document has, values that a range cannot be compared with ([`Predicate::incomparable`]), and
/// malformed dates ([`Predicate::malformed_dates`]).
///
/// ```
/// use ir_core::{Attributes, ConditionCheck, Predicate};
/// let conditions: [Predicate; 2] = ["date<=2020-03-11".parse()?, "yeer=2020".parse()?];
/// let mut check = ConditionCheck::new(&conditions);
/// check.add(&Attributes::from_iter([("date", "2020-03-10")]));
/// check.add(&Attributes::from_iter([("date", 1_583_798_400_000_i64)]));
/// assert_eq!(
///     check.warnings(|_, _| String::new()),
///     [
///         "no document has an attribute \"yeer\"; none passes",
///         "1 document with a \"date\" that cannot be compared with \"2020-03-11\", such as \
///          1583798400000: the limit does not hold (a timestamp? dates are YYYY-MM-DD; in pandas: \
///          to_json(date_format=\"iso\"))",
///     ]
/// );
/// # Ok::<(), ir_core::ParsePredicateError>(())
/// ```
#[derive(Debug, Clone)]
pub struct ConditionCheck<'a> {
    malformed_dates: Vec<&'a str>,
    names: Vec<NamedAttribute<'a>>,
    ranges: Vec<(&'a Predicate, InvalidCount)>,
    /// Attributes of the documents, read as long as `names` has one that no document has.
    known: BTreeSet<String>,
    has_documents: bool,
}

/// Attribute that a condition names.
#[derive(Debug, Clone)]
struct NamedAttribute<'a> {
    condition: &'a Predicate,
    name: &'a str,
    is_known: bool,
}

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

impl<'a> ConditionCheck<'a> {
    /// Starts a check of conditions.
    #[must_use]
    pub fn new(conditions: impl IntoIterator<Item = &'a Predicate>) -> Self {
        let mut malformed_dates = Vec::new();
        let mut names = Vec::new();
        let mut ranges: Vec<(&Predicate, InvalidCount)> = Vec::new();
        for condition in conditions {
            let tests = condition.conditions();
            let named: BTreeSet<&str> = tests.iter().filter_map(|test| test.name()).collect();
            names.extend(named.into_iter().map(|name| NamedAttribute {
                condition,
                name,
                is_known: false,
            }));
            for test in tests {
                malformed_dates.extend(test.malformed_dates());
                let is_range = test.range().is_some();
                if is_range && ranges.iter().all(|(known, _)| *known != test) {
                    ranges.push((test, InvalidCount::default()));
                }
            }
        }
        Self {
            malformed_dates,
            names,
            ranges,
            known: BTreeSet::new(),
            has_documents: false,
        }
    }

    /// Returns `true` if more documents would not change the warnings.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.ranges.is_empty() && self.names.iter().all(|attribute| attribute.is_known)
    }

    /// Compares the conditions with the attributes of a document.
    pub fn add(&mut self, document: &Attributes) {
        self.has_documents = true;
        for (range, invalid) in &mut self.ranges {
            if let Some(value) = range.incomparable(document) {
                invalid.add(value);
            }
        }
        let mut has_unknown = false;
        for attribute in self.names.iter_mut().filter(|it| !it.is_known) {
            attribute.is_known = document.get(attribute.name).is_some();
            has_unknown |= !attribute.is_known;
        }
        if has_unknown {
            for (name, _) in document.iter() {
                if !self.known.contains(name) {
                    self.known.insert(name.to_owned());
                }
            }
        }
    }

    /// Returns the warnings: malformed dates, attributes that no document has, and for each range
    /// the number of the values that cannot be compared with the first of them. `hint` is the end
    /// of the warning of an attribute, given it and the attributes of the documents. Without
    /// documents only malformed dates are found.
    #[must_use]
    pub fn warnings(&self, hint: impl Fn(&str, &BTreeSet<String>) -> String) -> Vec<String> {
        let dates = self.malformed_dates.iter().map(|date| {
            format!("{date:?} is not a date and is compared as text (dates are YYYY-MM-DD)")
        });
        let is_absent = |attribute: &&NamedAttribute<'_>| self.has_documents && !attribute.is_known;
        let absent = self.names.iter().filter(is_absent).map(|attribute| {
            let name = attribute.name;
            let all_or_none = |passes| {
                if passes {
                    "; all pass"
                } else {
                    "; none passes"
                }
            };
            let passing = self.constant(attribute.condition).map_or("", all_or_none);
            let hint = hint(name, &self.known);
            format!("no document has an attribute {name:?}{passing}{hint}")
        });
        let values = self.ranges.iter().filter_map(|(range, invalid)| {
            let (name, limit, _) = range.range()?;
            let first = invalid.first.as_ref()?;
            let found = Shown(first);
            let hint = if is_timestamp(first) { TIMESTAMP } else { "" };
            let unit = if invalid.count == 1 { "" } else { "s" };
            Some(format!(
                "{} document{unit} with a {name:?} that cannot be compared with {}, such as \
                 {found}: the limit does not hold{hint}",
                Grouped(invalid.count),
                Shown(limit),
            ))
        });
        let mut warnings: Vec<String> = Vec::new();
        for warning in dates.chain(absent).chain(values) {
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
        warnings
    }

    /// Value of a condition for all documents; `None` unless attributes that no document has decide
    /// it.
    fn constant(&self, condition: &Predicate) -> Option<bool> {
        // `decisive` is the value of a part that is the value of the whole.
        let combined = |parts: &[Predicate], decisive: bool| {
            let mut all = Some(!decisive);
            for part in parts {
                match self.constant(part) {
                    Some(passes) if passes == decisive => return Some(decisive),
                    Some(_) => {}
                    None => all = None,
                }
            }
            all
        };
        match condition {
            Predicate::All(parts) => combined(parts, false),
            Predicate::Any(parts) => combined(parts, true),
            Predicate::Not(part) => self.constant(part).map(|passes| !passes),
            test => {
                let name = test.name()?;
                let mut named = self.names.iter();
                let is_known = named.any(|attribute| attribute.name == name && attribute.is_known);
                (!is_known).then(|| test.matches(&Attributes::new()))
            }
        }
    }
}

/// End of the warning of an integer that may be a timestamp.
const TIMESTAMP: &str =
    " (a timestamp? dates are YYYY-MM-DD; in pandas: to_json(date_format=\"iso\"))";

/// Returns `true` for an integer of at least 11 digits, such as milliseconds since 1970, which
/// `to_json` of pandas writes by default. Integers are comparable with limits that are numbers, so
/// the limit is a date.
fn is_timestamp(value: &AttributeValue) -> bool {
    match Comparable::new(value) {
        Some(Comparable::Integer(number)) => number.unsigned_abs() >= 10_000_000_000,
        _ => false,
    }
}

/// Count of attributes [`Attributes::YEAR`] that are neither years nor dates
/// ([`Attributes::has_invalid_year`]), which time filters ignore.
///
/// ```
/// use ir_core::{Attributes, YearCheck};
/// let years = ["2015", "soon"].map(|year| Attributes::from_iter([("year", year)]));
/// let check: YearCheck = years.iter().collect();
/// assert_eq!(
///     check.warnings(["query", "queries"]),
///     ["1 of 2 queries have an attribute \"year\" that is neither a year nor a date, such as \
///       \"soon\": no time filter"]
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

    /// Number of records with an attribute `year` that is no year.
    #[must_use]
    pub const fn invalid(&self) -> u64 {
        self.invalid.count
    }

    /// Returns warnings of invalid years, and of a time filter without effect if no record has a
    /// year. The records are called `one` and `many`, such as `query` and `queries`.
    #[must_use]
    pub fn warnings(&self, [one, many]: [&str; 2]) -> Vec<String> {
        let invalid = self.invalid.first.as_ref().map(|first| {
            format!(
                "{} of {} {many} have an attribute \"year\" that is neither a year nor a date, such \
                 as {}: no time filter",
                Grouped(self.invalid.count),
                Grouped(self.total),
                Shown(first),
            )
        });
        let none = (self.years == 0)
            .then(|| format!("no {one} has a year; the time filter has no effect"));
        invalid.into_iter().chain(none).collect()
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

    fn parsed(texts: &[&str]) -> Vec<Predicate> {
        let parsed = texts.iter().map(|text| text.parse().unwrap());
        parsed.collect()
    }

    fn warnings(check: &ConditionCheck<'_>) -> Vec<String> {
        check.warnings(|name, known| format!(" [{name}: {}]", known.len()))
    }

    #[test]
    fn incomparable_values_of_each_range() {
        let conditions = parsed(&["year<=2019", "date>=2020-03-11", "year<=2019", "place=x"]);
        let nested = Predicate::Not(Box::new(Predicate::Any(conditions.clone())));
        let mut check = ConditionCheck::new([&conditions[0], &nested]);
        assert!(!check.is_complete() && warnings(&check).is_empty());
        let mut document = Attributes::from_iter([("year", "spring")]);
        for _ in 0..1_234 {
            check.add(&document);
        }
        document.set("year", 2015_i64);
        document.set("date", "20200310");
        document.set("place", true);
        check.add(&document);
        document.set("date", vec!["x", "y"]);
        check.add(&document);
        assert_eq!(
            warnings(&check),
            [
                "1,234 documents with a \"year\" that cannot be compared with 2019, such as \
                 \"spring\": the limit does not hold",
                "1 document with a \"date\" that cannot be compared with \"2020-03-11\", such as \
                 [\"x\", \"y\"]: the limit does not hold",
            ]
        );
    }

    #[test]
    fn timestamps_beside_dates() {
        let conditions = parsed(&["date>=2015-01-01"]);
        for (value, is_hinted) in [
            (AttributeValue::from(1_272_844_800_000_i64), true),
            ("1272844800000".into(), true),
            (10_000_000_000_i64.into(), true),
            (9_999_999_999_i64.into(), false),
            ("spring".into(), false),
        ] {
            let mut check = ConditionCheck::new(&conditions);
            check.add(&Attributes::from_iter([("date", value)]));
            let found = warnings(&check);
            assert_eq!(found.len(), 1);
            assert_eq!(found[0].ends_with(TIMESTAMP), is_hinted, "{found:?}");
        }
    }

    /// A condition on an attribute that no document has says what passes only where the attributes
    /// of the documents do not matter.
    #[test]
    fn conditions_on_unknown_attributes() {
        let document = Attributes::from_iter([("year", 2020_i64), ("place", 1)]);
        let [at_most, other, year, known] =
            ["yeer<=2015", "yeer=2015", "year=2020", "yeer"].map(|text| parsed(&[text])[0].clone());
        let not = |part: &Predicate| Predicate::Not(Box::new(part.clone()));
        for (condition, passing) in [
            (at_most.clone(), "; all pass"),
            (other.clone(), "; none passes"),
            (not(&known), "; all pass"),
            (not(&at_most), "; none passes"),
            (Predicate::Any(vec![year.clone(), other.clone()]), ""),
            (
                Predicate::Any(vec![year.clone(), at_most.clone()]),
                "; all pass",
            ),
            (Predicate::All(vec![year.clone(), at_most]), ""),
            (
                not(&Predicate::All(vec![year.clone(), other])),
                "; all pass",
            ),
        ] {
            let mut check = ConditionCheck::new([&condition, &condition]);
            assert!(warnings(&check).is_empty());
            check.add(&document);
            let expected = format!("no document has an attribute \"yeer\"{passing} [yeer: 2]");
            assert_eq!(warnings(&check), [expected], "{condition:?}");
            assert!(!check.is_complete());
        }
        let mut check = ConditionCheck::new([&year]);
        check.add(&document);
        assert!(check.is_complete() && warnings(&check).is_empty());
    }

    #[test]
    fn malformed_dates_need_no_documents() {
        let conditions = parsed(&["date=2018-06-32,2018-06-30", "date!=2018-06-32"]);
        let expected =
            "\"2018-06-32\" is not a date and is compared as text (dates are YYYY-MM-DD)";
        assert_eq!(warnings(&ConditionCheck::new(&conditions)), [expected]);
    }

    #[test]
    fn years_that_are_none() {
        let mut check = YearCheck::default();
        let warnings = |check: &YearCheck| check.warnings(["document", "documents"]);
        check.add(&Attributes::new());
        let none = "no document has a year; the time filter has no effect";
        assert_eq!(warnings(&check), [none]);
        check.add(&Attributes::from_iter([("year", "20200310")]));
        assert_eq!(check.invalid(), 0);
        assert!(warnings(&check).is_empty());
        check.add(&Attributes::from_iter([("year", 1_583_798_400_000_i64)]));
        assert_eq!(check.invalid(), 1);
        assert_eq!(
            warnings(&check),
            [
                "1 of 3 documents have an attribute \"year\" that is neither a year nor a date, such \
                 as 1583798400000: no time filter"
            ]
        );
    }
}
