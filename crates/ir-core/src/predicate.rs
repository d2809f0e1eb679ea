//! Conditions on the attributes of documents.

use std::cmp::Ordering;
use std::collections::HashSet;

use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer, Serialize};

use crate::attributes::{AttributeValue, Attributes};
use crate::comparison::Comparable;
use crate::date::Date;
use crate::ids::{DocNum, DocSet};

/// Returns `true` for the orders of a value and a limit that pass a range.
type PassesOrder = fn(Ordering) -> bool;

/// Condition on attributes that can be stored, sent and printed; evaluates to a [`DocSet`] over the
/// documents of an index.
///
/// Values are compared as [`Comparable::from_attribute`] says: 2015, 2015.0 and `"2015"` are equal,
/// for equality, ranges and lists. A list satisfies a condition if a member of it does.
///
/// ```
/// use ir_core::{Attributes, Predicate};
/// let condition = Predicate::All(vec![
///     Predicate::AtMost { name: "year".into(), limit: 2015.into(), strict: false },
///     Predicate::OneOf { name: "repository".into(), values: vec!["geo".into(), "sra".into()] },
/// ]);
/// let mut attributes: Attributes = [("repository", "geo")].into_iter().collect();
/// assert!(condition.matches(&attributes)); // the year is unknown: it passes
/// attributes.set("year", 2016_i64);
/// assert!(!condition.matches(&attributes));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum Predicate {
    /// The attribute is absent, or a number or date ≤ `limit` (< `limit` if `strict`): a number, or
    /// a text that is a number or a date.
    AtMost {
        name: String,
        #[serde(deserialize_with = "limit")]
        limit: AttributeValue,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        strict: bool,
    },
    /// The attribute is absent, or a number or date ≥ `limit` (> `limit` if `strict`): a number, or
    /// a text that is a number or a date.
    AtLeast {
        name: String,
        #[serde(deserialize_with = "limit")]
        limit: AttributeValue,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        strict: bool,
    },
    /// The attribute equals one of `values`.
    OneOf {
        name: String,
        values: Vec<AttributeValue>,
    },
    /// The attribute is present.
    Known { name: String },
    /// Conjunction: all predicates match.
    All(Vec<Predicate>),
    /// Disjunction: at least one predicate matches.
    Any(Vec<Predicate>),
    /// Negation: the predicate does not match.
    Not(Box<Predicate>),
}

impl Predicate {
    /// Returns whether a document with these attributes passes.
    #[must_use]
    pub fn matches(&self, attributes: &Attributes) -> bool {
        match self {
            Self::AtMost { .. } | Self::AtLeast { .. } => {
                self.range().is_none_or(|(name, limit, passes)| {
                    let limit = Comparable::from_attribute(name, limit);
                    is_in_range(attributes, name, limit, passes)
                })
            }
            Self::OneOf { name, values } => attributes.get(name).is_some_and(|value| {
                let mut members = members(value).iter();
                members.any(|member| values.iter().any(|value| are_equal(name, member, value)))
            }),
            Self::Known { name } => attributes.get(name).is_some(),
            Self::All(parts) => parts.iter().all(|part| part.matches(attributes)),
            Self::Any(parts) => parts.iter().any(|part| part.matches(attributes)),
            Self::Not(part) => !part.matches(attributes),
        }
    }

    /// Returns the attribute and the limit of a range, and tells which orders of a value and the
    /// limit pass; `None` for other conditions.
    #[must_use]
    pub fn range(&self) -> Option<(&str, &AttributeValue, PassesOrder)> {
        let (Self::AtMost { name, limit, .. } | Self::AtLeast { name, limit, .. }) = self else {
            return None;
        };
        let passes: PassesOrder = match self {
            Self::AtMost { strict: true, .. } => Ordering::is_lt,
            Self::AtMost { .. } => Ordering::is_le,
            Self::AtLeast { strict: true, .. } => Ordering::is_gt,
            _ => Ordering::is_ge,
        };
        Some((name, limit, passes))
    }

    /// Returns the conditions on single attributes of which the predicate is made, in its order.
    ///
    /// ```
    /// use ir_core::Predicate;
    /// let year = Predicate::Known { name: "year".into() };
    /// let predicate = Predicate::Not(Box::new(Predicate::All(vec![year.clone(), year.clone()])));
    /// assert_eq!(predicate.conditions(), [&year, &year]);
    /// ```
    #[must_use]
    pub fn conditions(&self) -> Vec<&Self> {
        match self {
            Self::All(parts) | Self::Any(parts) => {
                parts.iter().flat_map(Self::conditions).collect()
            }
            Self::Not(part) => part.conditions(),
            _ => vec![self],
        }
    }

    /// Returns the value of an attribute that the condition cannot compare with its limit: neither
    /// a number nor a date, or a timestamp beside a date; `None` for other conditions than ranges.
    ///
    /// ```
    /// use ir_core::{Attributes, Predicate};
    /// let condition: Predicate = "year>=2015".parse()?;
    /// let spring = Attributes::from_iter([("year", "spring")]);
    /// assert_eq!(condition.incomparable(&spring), Some(&"spring".into()));
    /// assert_eq!(condition.incomparable(&Attributes::from_iter([("year", "2014")])), None);
    /// # Ok::<(), ir_core::ParsePredicateError>(())
    /// ```
    #[must_use]
    pub fn incomparable<'a>(&self, attributes: &'a Attributes) -> Option<&'a AttributeValue> {
        let (name, limit, _) = self.range()?;
        let value = attributes.get(name)?;
        let members = members(value);
        let limit = Comparable::from_attribute(name, limit);
        let is_comparable = |member| order(name, member, limit).is_some();
        let is_comparable = members.iter().any(is_comparable);
        (!is_comparable && !members.is_empty()).then_some(value)
    }

    /// Returns the values of [`Predicate::OneOf`] that have the digits and hyphens of a date, such
    /// as `2018-06-32` and `2018-6-1`, and are none. They are compared as texts.
    ///
    /// ```
    /// use ir_core::Predicate;
    /// let condition: Predicate = "date=2018-06-32,2018-06-30".parse()?;
    /// assert_eq!(condition.malformed_dates().collect::<Vec<_>>(), ["2018-06-32"]);
    /// # Ok::<(), ir_core::ParsePredicateError>(())
    /// ```
    pub fn malformed_dates(&self) -> impl Iterator<Item = &str> {
        let values: &[AttributeValue] = match self {
            Self::OneOf { values, .. } => values,
            _ => &[],
        };
        let texts = values.iter().filter_map(|value| match value {
            AttributeValue::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.filter(|text| is_malformed_date(text))
    }

    /// Returns the attribute of a condition on a single one.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::AtMost { name, .. }
            | Self::AtLeast { name, .. }
            | Self::OneOf { name, .. }
            | Self::Known { name } => Some(name),
            Self::All(_) | Self::Any(_) | Self::Not(_) => None,
        }
    }

    /// Returns the documents that pass, given the attributes of every document in the order of
    /// document numbers.
    #[must_use]
    pub fn select<'a>(&self, documents: impl IntoIterator<Item = &'a Attributes>) -> DocSet {
        let matches = self.matcher();
        let numbered = (0..).map(DocNum::new).zip(documents);
        let passing = numbered.filter(|(_, attributes)| matches(attributes));
        passing.map(|(doc, _)| doc).collect()
    }

    /// [`Self::matches`] for many documents: limits are parsed once, and lists of texts hashed.
    fn matcher(&self) -> Box<dyn Fn(&Attributes) -> bool + '_> {
        match self {
            Self::OneOf { name, values } => {
                let listed = ListedValues::new(name, values);
                Box::new(move |attributes| {
                    let value = attributes.get(name);
                    let mut members = value.into_iter().flat_map(members);
                    members.any(|member| listed.contains(member))
                })
            }
            Self::All(parts) => {
                let parts: Vec<_> = parts.iter().map(Self::matcher).collect();
                Box::new(move |attributes| parts.iter().all(|matches| matches(attributes)))
            }
            Self::Any(parts) => {
                let parts: Vec<_> = parts.iter().map(Self::matcher).collect();
                Box::new(move |attributes| parts.iter().any(|matches| matches(attributes)))
            }
            Self::Not(part) => {
                let matches = part.matcher();
                Box::new(move |attributes| !matches(attributes))
            }
            Self::Known { .. } | Self::AtMost { .. } | Self::AtLeast { .. } => match self.range() {
                Some((name, limit, passes)) => {
                    let limit = Comparable::from_attribute(name, limit);
                    Box::new(move |attributes| is_in_range(attributes, name, limit, passes))
                }
                None => Box::new(|attributes| self.matches(attributes)),
            },
        }
    }
}

/// Values of [`Predicate::OneOf`]: texts and integers are found by their hashes.
struct ListedValues<'a> {
    /// Name of the attribute.
    name: &'a str,
    texts: HashSet<&'a str>,
    /// Integers of the list.
    integers: HashSet<i64>,
    /// Integers that are dates as YYYYMMDD.
    basic_dates: Vec<Comparable<'a>>,
    /// Other dates, fractions and truth values.
    others: Vec<Comparable<'a>>,
    /// All values, for maps.
    values: &'a [AttributeValue],
}

impl<'a> ListedValues<'a> {
    fn new(name: &'a str, values: &'a [AttributeValue]) -> Self {
        let mut listed = Self {
            name,
            texts: HashSet::new(),
            integers: HashSet::new(),
            basic_dates: Vec::new(),
            others: Vec::new(),
            values,
        };
        let comparable = |value: &'a AttributeValue| Comparable::from_attribute(name, value);
        for value in values.iter().filter_map(comparable) {
            match value {
                Comparable::Text(text) => drop(listed.texts.insert(text)),
                Comparable::Integer(number) => {
                    listed.integers.insert(number);
                    if Comparable::BASIC_DATES.contains(&number) {
                        listed.basic_dates.push(value);
                    }
                }
                other => listed.others.push(other),
            }
        }
        listed
    }

    fn contains(&self, member: &AttributeValue) -> bool {
        let Some(value) = Comparable::from_attribute(self.name, member) else {
            return self.values.contains(member);
        };
        let is_equal = |other: &Comparable<'_>| value.compare(other) == Some(Ordering::Equal);
        let is_listed = match value {
            Comparable::Text(text) => self.texts.contains(text),
            Comparable::Integer(number) => self.integers.contains(&number),
            Comparable::BasicDate(number) => {
                let is_listed = |year: i64| self.integers.contains(&year);
                is_listed(number) || value.year().is_some_and(is_listed)
            }
            Comparable::Date(date) => {
                let is_year = Comparable::YEARS.contains(&date.year);
                (is_year && self.integers.contains(&date.year))
                    || self.basic_dates.iter().any(is_equal)
            }
            Comparable::Bool(_) | Comparable::Number(_) => false,
        };
        is_listed || self.others.iter().any(is_equal)
    }
}

/// Reads a limit: a number or a date. A date of TOML is one too.
fn limit<'de, D: Deserializer<'de>>(input: D) -> Result<AttributeValue, D::Error> {
    let value = match AttributeValue::deserialize(input)? {
        AttributeValue::Map(map) => match map.get(TOML_DATE) {
            Some(date) if map.len() == 1 => date.clone(),
            _ => AttributeValue::Map(map),
        },
        value => value,
    };
    if Comparable::new(&value).is_some_and(|value| value.is_ordered()) {
        return Ok(value);
    }
    let found = match &value {
        AttributeValue::Bool(truth) => Unexpected::Bool(*truth),
        AttributeValue::Text(text) => Unexpected::Str(text),
        AttributeValue::List(_) => Unexpected::Seq,
        AttributeValue::Map(_) => Unexpected::Map,
        AttributeValue::Int(_) | AttributeValue::Float(_) => Unexpected::Other("not a number"),
    };
    Err(D::Error::invalid_value(
        found,
        &"a number or a date such as 2015-03-01",
    ))
}

/// Key under which the parser of TOML returns a date.
const TOML_DATE: &str = "$__toml_private_datetime";

/// Values of an attribute: the members of a list, or itself.
fn members(value: &AttributeValue) -> &[AttributeValue] {
    match value {
        AttributeValue::List(members) => members,
        value => std::slice::from_ref(value),
    }
}

/// Returns `true` if a text has the digits and hyphens of a date and is none.
fn is_malformed_date(text: &str) -> bool {
    let text = text.trim();
    let fields: Vec<&str> = text.split('-').collect();
    let has_digits = fields
        .iter()
        .flat_map(|field| field.bytes())
        .all(|it| it.is_ascii_digit());
    let has_lengths = match &fields[..] {
        [year, others @ ..] => {
            year.len() == 4
                && matches!(others.len(), 1 | 2)
                && others.iter().all(|field| matches!(field.len(), 1 | 2))
        }
        [] => false,
    };
    has_digits && has_lengths && Date::parse(text).is_none()
}

/// Returns `true` if two values of an attribute are equal.
fn are_equal(name: &str, a: &AttributeValue, b: &AttributeValue) -> bool {
    let comparable = |value| Comparable::from_attribute(name, value);
    match (comparable(a), comparable(b)) {
        (Some(a), Some(b)) => a.compare(&b) == Some(Ordering::Equal),
        _ => a == b,
    }
}

/// Returns the order of a number or date of an attribute and a limit; `None` for others.
fn order(name: &str, value: &AttributeValue, limit: Option<Comparable<'_>>) -> Option<Ordering> {
    let value = Comparable::from_attribute(name, value)?;
    value.compare(&limit?).filter(|_| value.is_ordered())
}

/// Returns `true` if a member of an attribute is within a limit, or the attribute is absent.
fn is_in_range(
    attributes: &Attributes,
    name: &str,
    limit: Option<Comparable<'_>>,
    passes: PassesOrder,
) -> bool {
    attributes.get(name).is_none_or(|value| {
        let orders = members(value).iter();
        let mut orders = orders.filter_map(|member| order(name, member, limit));
        orders.any(passes)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::filter::DocFilter;

    proptest! {
        /// The selected documents are those that match one by one.
        #[test]
        fn selection_matches_each_document(
            documents in proptest::collection::vec((0..4_i64, "[ab]?|TRUE|000[0-3](-0[1-2])?|10000[1-2]01|1000(-0[1-2](-01)?)?", any::<bool>()), 0..12),
            numbers in proptest::collection::vec(prop_oneof![0..4_i64, Just(10_000_101), Just(1000)], 0..3),
            texts in proptest::collection::vec("[ab]?|[0-3](\\.0)?|true|True|000[0-3]-0[1-2]|10000[1-2]01|1000(-0[1-2](-01)?)?", 0..3),
            limit in 0..4_i64,
        ) {
            let documents = documents.into_iter().map(|(number, text, is_list)| {
                let mut attributes = Attributes::new();
                if is_list {
                    attributes.set("x", vec![text, number.to_string()]);
                } else if number == 0 {
                    attributes.set("x", text);
                } else if number == 2 {
                    attributes.set("x", true);
                } else {
                    attributes.set("x", if number == 3 { 10_000_201 } else { number });
                }
                if number != 1 {
                    attributes.set("y", number);
                }
                attributes
            });
            let documents: Vec<Attributes> = documents.collect();
            let numbers = numbers.into_iter().map(AttributeValue::from);
            let values = texts.into_iter().map(AttributeValue::from).chain(numbers);
            let one_of = Predicate::OneOf { name: "x".into(), values: values.collect() };
            let least = Predicate::AtLeast { name: "y".into(), limit: limit.into(), strict: false };
            let greater = Predicate::AtLeast { name: "x".into(), limit: limit.into(), strict: true };
            let not = Predicate::Not(Box::new(one_of.clone()));
            for predicate in [
                Predicate::All(vec![one_of.clone(), least.clone()]),
                Predicate::Any(vec![not.clone(), least]),
                greater,
                not,
                one_of,
            ] {
                let selected = predicate.select(&documents);
                for (n, attributes) in (0..).zip(&documents) {
                    prop_assert_eq!(selected.contains(DocNum::new(n)), predicate.matches(attributes));
                }
            }
        }
    }

    #[test]
    fn malformed_dates() {
        for text in [
            "2018-06-32",
            "2018-13",
            "2018-6-1",
            "2018-02-29",
            " 2018-00",
        ] {
            assert!(is_malformed_date(text), "{text}");
        }
        for text in [
            "2018-06-30",
            "2018-06",
            "2018",
            "978-3-16",
            "2018-06-32-a",
            "2018-",
            "a-1",
        ] {
            assert!(!is_malformed_date(text), "{text}");
        }
    }

    #[test]
    fn limits_are_numbers_or_dates() {
        let read = |limit: &str| {
            let text = format!("{{\"at_most\": {{\"name\": \"year\", \"limit\": {limit}}}}}");
            serde_json::from_str::<Predicate>(&text)
        };
        for (limit, expected) in [
            ("2015", AttributeValue::from(2015)),
            ("2015.5", 2015.5.into()),
            ("\"2015-03-01\"", "2015-03-01".into()),
            (
                "{\"$__toml_private_datetime\": \"2015-03-01\"}",
                "2015-03-01".into(),
            ),
        ] {
            let name = "year".to_owned();
            let limit_read = Predicate::AtMost {
                name,
                limit: expected,
                strict: false,
            };
            assert_eq!(read(limit).unwrap(), limit_read, "{limit}");
        }
        for wrong in ["\"spring\"", "true", "[2015]", "{}", "{\"a\": 1}"] {
            let error = read(wrong).unwrap_err().to_string();
            assert!(
                error.contains("expected a number or a date"),
                "{wrong}: {error}"
            );
        }
    }
}
