//! Filters in a form that engines translate: typed comparisons of declared attributes and document
//! numbers, without constants inside.

use std::cmp::Ordering;

use ir_core::{AttributeValue, Comparable, DocFilter, DocNum, Predicate};

use crate::RemoteError;
use crate::operands::{exact, found_date, integers, number};
use crate::schema::{AttributeType, CollectionSchema};

/// Maximum number of ranges of document numbers in a filter.
const MAX_RANGES: usize = 64;

/// Maximum number of single document numbers in a filter.
const MAX_NUMBERS: usize = 100_000;

/// Condition on one document. `Always` and `Never` occur only as the whole condition.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Clause {
    Always,
    Never,
    /// The attribute is present.
    Known {
        name: String,
    },
    /// The attribute is present, and an integer from `least` to `most`.
    Integers {
        name: String,
        least: i64,
        most: i64,
    },
    /// The attribute is present, and a number ≤ `limit` (`at_most`) or ≥ `limit`.
    Number {
        name: String,
        at_most: bool,
        limit: f64,
    },
    /// The attribute is present, and one of these integers.
    IntegerIn {
        name: String,
        values: Vec<i64>,
    },
    /// The attribute is present, and one of these texts, or a list with one of them.
    TextIn {
        name: String,
        values: Vec<String>,
    },
    /// The attribute is present, and has this value.
    Boolean {
        name: String,
        value: bool,
    },
    /// Document numbers from `first` to `last`.
    DocRange {
        first: u32,
        last: u32,
    },
    /// One of these document numbers, which are ascending.
    DocIn(Vec<u32>),
    All(Vec<Clause>),
    Any(Vec<Clause>),
    Not(Box<Clause>),
}

impl Clause {
    pub(crate) fn all(clauses: impl IntoIterator<Item = Self>) -> Self {
        Self::joined(clauses, Self::Always, Self::All)
    }

    pub(crate) fn any(clauses: impl IntoIterator<Item = Self>) -> Self {
        Self::joined(clauses, Self::Never, Self::Any)
    }

    /// Joins clauses. `neutral` changes nothing; the other constant is the result.
    fn joined(
        clauses: impl IntoIterator<Item = Self>,
        neutral: Self,
        many: fn(Vec<Self>) -> Self,
    ) -> Self {
        let mut kept = Vec::new();
        for clause in clauses {
            match clause {
                clause if clause == neutral => {}
                Self::Always | Self::Never => return clause,
                Self::All(inner) if neutral == Self::Always => kept.extend(inner),
                Self::Any(inner) if neutral == Self::Never => kept.extend(inner),
                other => kept.push(other),
            }
        }
        match kept.len() {
            0 => neutral,
            1 => kept.swap_remove(0),
            _ => many(kept),
        }
    }

    fn negated(self) -> Self {
        match self {
            Self::Always => Self::Never,
            Self::Never => Self::Always,
            Self::Not(inner) => *inner,
            other => Self::Not(Box::new(other)),
        }
    }

    /// Translates a condition on attributes.
    pub(crate) fn from_predicate(
        predicate: &Predicate,
        schema: &CollectionSchema,
    ) -> Result<Self, RemoteError> {
        let kind = |name: &str| {
            let mut all = schema.attributes.iter();
            match all.find(|known| known.name == name) {
                Some(attribute) => Ok(attribute.kind),
                None => Err(RemoteError::filter(format!(
                    "expected an attribute of the collection ({}), found {name:?}",
                    schema
                        .attributes
                        .iter()
                        .map(|known| known.name.as_str())
                        .collect::<Vec<_>>()
                        .join(", ")
                ))),
            }
        };
        let list = |inner: &[Predicate]| -> Result<Vec<Self>, RemoteError> {
            let clauses = inner.iter().map(|it| Self::from_predicate(it, schema));
            clauses.collect()
        };
        Ok(match predicate {
            Predicate::AtMost { name, limit } => bound(name, kind(name)?, true, limit)?,
            Predicate::AtLeast { name, limit } => bound(name, kind(name)?, false, limit)?,
            Predicate::OneOf { name, values } => one_of(name, kind(name)?, values)?,
            Predicate::Known { name } => {
                kind(name)?;
                Self::Known { name: name.clone() }
            }
            Predicate::All(inner) => Self::all(list(inner)?),
            Predicate::Any(inner) => Self::any(list(inner)?),
            Predicate::Not(inner) => Self::from_predicate(inner, schema)?.negated(),
            other => {
                return Err(RemoteError::filter(format!(
                    "{other:?} cannot be expressed by a remote engine"
                )));
            }
        })
    }

    /// Translates the filter of a search: its condition, if the collection has all attributes of
    /// it, or else its documents.
    pub(crate) fn from_filter(
        filter: &dyn DocFilter,
        documents: usize,
        schema: &CollectionSchema,
    ) -> Result<Self, RemoteError> {
        let condition = filter.condition();
        let condition = condition.map(|condition| Self::from_predicate(&condition, schema));
        match condition {
            Some(Ok(clause)) => Ok(clause),
            Some(Err(_)) | None => Self::from_documents(filter, documents),
        }
    }

    /// Translates a set of documents: asks the filter for each of `documents` numbers.
    fn from_documents(filter: &dyn DocFilter, documents: usize) -> Result<Self, RemoteError> {
        let documents = documents as u32;
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        let mut members = 0_usize;
        for number in 0..documents {
            if !filter.contains(DocNum::new(number)) {
                continue;
            }
            members += 1;
            match ranges.last_mut() {
                Some((_, last)) if *last + 1 == number => *last = number,
                _ => ranges.push((number, number)),
            }
        }
        if members == documents as usize {
            return Ok(Self::Always);
        }
        if ranges.len() <= MAX_RANGES {
            let (single, long): (Vec<_>, Vec<_>) =
                ranges.into_iter().partition(|(first, last)| first == last);
            let single: Vec<u32> = single.into_iter().map(|(first, _)| first).collect();
            let single = (!single.is_empty()).then_some(Self::DocIn(single));
            let long = long.into_iter();
            let long = long.map(|(first, last)| Self::DocRange { first, last });
            return Ok(Self::any(long.chain(single)));
        }
        let others = documents as usize - members;
        if members.min(others) > MAX_NUMBERS {
            return Err(RemoteError::filter(format!(
                "expected at most {MAX_RANGES} ranges of documents, or {MAX_NUMBERS} documents, found {} ranges and {members} of {documents} documents; a condition on attributes has no such limit",
                ranges.len(),
            )));
        }
        let listed = |inside: bool| {
            let numbers = 0..documents;
            let chosen = numbers.filter(|&n| filter.contains(DocNum::new(n)) == inside);
            Self::DocIn(chosen.collect())
        };
        Ok(if members <= others {
            listed(true)
        } else {
            listed(false).negated()
        })
    }
}

/// The attribute is absent, or a number within the limit.
fn bound(
    name: &str,
    kind: AttributeType,
    at_most: bool,
    limit: &AttributeValue,
) -> Result<Clause, RemoteError> {
    let name = name.to_owned();
    let absent = Clause::Known { name: name.clone() }.negated();
    let Some(limit) = Comparable::new(limit).filter(Comparable::is_ordered) else {
        return Ok(absent);
    };
    let passes: fn(Ordering) -> bool = if at_most {
        Ordering::is_le
    } else {
        Ordering::is_ge
    };
    Ok(match kind {
        AttributeType::Integer => match integers(&limit, passes)[..] {
            [(i64::MIN, i64::MAX)] => Clause::Always,
            ref ranges => {
                let ranges = ranges.iter().map(|&(least, most)| Clause::Integers {
                    name: name.clone(),
                    least,
                    most,
                });
                Clause::any([absent].into_iter().chain(ranges))
            }
        },
        AttributeType::Number => match number(&name, &limit)? {
            limit if limit.is_infinite() && (limit > 0.0) == at_most => Clause::Always,
            limit if limit.is_infinite() => absent,
            limit => Clause::any([
                absent,
                Clause::Number {
                    name,
                    at_most,
                    limit,
                },
            ]),
        },
        AttributeType::Boolean => absent,
        AttributeType::Text | AttributeType::Texts => return Err(as_written(&name)),
    })
}

/// Texts may be numbers and dates, which engines compare as they are written.
fn as_written(name: &str) -> RemoteError {
    RemoteError::filter(format!(
        "attribute {name:?}: expected numbers, found texts, which the engine compares as they are \
         written"
    ))
}

fn one_of(
    name: &str,
    kind: AttributeType,
    values: &[AttributeValue],
) -> Result<Clause, RemoteError> {
    let name = name.to_owned();
    let values = || values.iter().filter_map(Comparable::new);
    // A value of another type equals none of the attribute.
    Ok(match kind {
        AttributeType::Integer => {
            let ranges = values().flat_map(|value| integers(&value, Ordering::is_eq));
            let (single, long): (Vec<_>, Vec<_>) = ranges.partition(|(least, most)| least == most);
            let single: Vec<i64> = single.into_iter().map(|(integer, _)| integer).collect();
            let single = (!single.is_empty()).then(|| Clause::IntegerIn {
                name: name.clone(),
                values: single,
            });
            let long = long.into_iter().map(|(least, most)| Clause::Integers {
                name: name.clone(),
                least,
                most,
            });
            Clause::any(single.into_iter().chain(long))
        }
        AttributeType::Text | AttributeType::Texts => {
            let mut texts = Vec::new();
            for value in values() {
                match value {
                    Comparable::Text(text) => texts.push(text.to_owned()),
                    Comparable::Bool(truth) => {
                        texts.extend(Comparable::truth_texts(truth).map(str::to_owned));
                    }
                    _ => return Err(as_written(&name)),
                }
            }
            if texts.is_empty() {
                Clause::Never
            } else {
                Clause::TextIn {
                    name,
                    values: texts,
                }
            }
        }
        AttributeType::Boolean => {
            let truths = values().filter_map(|value| match value {
                Comparable::Bool(truth) => Some(truth),
                _ => None,
            });
            Clause::any(truths.map(|value| Clause::Boolean {
                name: name.clone(),
                value,
            }))
        }
        AttributeType::Number => {
            let mut clauses = Vec::new();
            for value in values().filter(Comparable::is_ordered) {
                let equal = match value {
                    Comparable::Number(number) => vec![number],
                    value => {
                        let ranges = integers(&value, Ordering::is_eq);
                        // A month is a range of dates.
                        if ranges.iter().any(|(least, most)| least != most) {
                            return Err(found_date(&name));
                        }
                        let equal = ranges.iter().map(|&(integer, _)| exact(&name, integer));
                        equal.collect::<Result<_, _>>()?
                    }
                };
                // Attributes are finite.
                for limit in equal.into_iter().filter(|limit| limit.is_finite()) {
                    clauses.push(Clause::all([true, false].map(|at_most| Clause::Number {
                        name: name.clone(),
                        at_most,
                        limit,
                    })));
                }
            }
            Clause::any(clauses)
        }
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use ir_core::{Attributes, DocSet, WithCondition};
    use proptest::prelude::*;

    use super::*;

    impl Clause {
        /// Evaluates a clause, independently of any engine.
        pub(crate) fn matches(&self, doc: u32, attributes: &Attributes) -> bool {
            match self {
                Self::Always => true,
                Self::Never => false,
                Self::Known { name } => attributes.get(name).is_some(),
                Self::Integers { name, least, most } => attributes
                    .int(name)
                    .is_some_and(|n| (*least..=*most).contains(&n)),
                Self::Number {
                    name,
                    at_most,
                    limit,
                } => {
                    let number = match attributes.get(name) {
                        Some(AttributeValue::Int(n)) => *n as f64,
                        Some(AttributeValue::Float(x)) => *x,
                        _ => return false,
                    };
                    if *at_most {
                        number <= *limit
                    } else {
                        number >= *limit
                    }
                }
                Self::IntegerIn { name, values } => {
                    attributes.int(name).is_some_and(|n| values.contains(&n))
                }
                Self::TextIn { name, values } => match attributes.get(name) {
                    Some(AttributeValue::Text(text)) => values.contains(text),
                    Some(AttributeValue::List(all)) => all.iter().any(|member| {
                        matches!(member, AttributeValue::Text(text) if values.contains(text))
                    }),
                    _ => false,
                },
                Self::Boolean { name, value } => {
                    attributes.get(name) == Some(&AttributeValue::Bool(*value))
                }
                Self::DocRange { first, last } => (*first..=*last).contains(&doc),
                Self::DocIn(all) => all.contains(&doc),
                Self::All(all) => all.iter().all(|it| it.matches(doc, attributes)),
                Self::Any(all) => all.iter().any(|it| it.matches(doc, attributes)),
                Self::Not(inner) => !inner.matches(doc, attributes),
            }
        }
    }

    fn schema() -> CollectionSchema {
        CollectionSchema::default()
            .with_attribute("i", AttributeType::Integer)
            .with_attribute("x", AttributeType::Number)
            .with_attribute("b", AttributeType::Boolean)
            .with_attribute("t", AttributeType::Text)
            .with_attribute("l", AttributeType::Texts)
    }

    fn integer() -> impl Strategy<Value = i64> {
        prop_oneof![
            -3_i64..3,
            any::<i64>(),
            Just(i64::MIN),
            Just(i64::MAX),
            (1_i64 << 53) - 2..(1_i64 << 53) + 3,
            2019_i64..2022,
            prop::sample::select(vec![
                -10_000_i64,
                -9_999,
                9_999,
                10_000,
                10_000_100,
                29_991_232
            ]),
            20_200_108_i64..20_200_113,
            20_200_199_i64..20_200_202,
        ]
    }

    fn limit() -> impl Strategy<Value = AttributeValue> {
        prop_oneof![
            integer().prop_map(AttributeValue::from),
            integer().prop_map(|n| (n as f64).into()),
            (-3.0..3.0).prop_map(AttributeValue::from),
            any::<f64>().prop_map(AttributeValue::from),
            Just(f64::NAN.into()),
            Just(f64::INFINITY.into()),
            "(000[12]-0[12](-10)?|-?[0-3](\\.0)?|a)".prop_map(AttributeValue::from),
            "2020-0[12](-1[01])?|20200[12]1[01]|20200199".prop_map(AttributeValue::from),
        ]
    }

    fn text() -> impl Strategy<Value = String> {
        prop_oneof![
            Just("a".to_owned()),
            Just("b".to_owned()),
            Just("True".to_owned()),
            Just(String::new())
        ]
    }

    fn value() -> impl Strategy<Value = AttributeValue> {
        prop_oneof![
            integer().prop_map(AttributeValue::Int),
            any::<bool>().prop_map(AttributeValue::Bool),
            text().prop_map(AttributeValue::Text),
            limit(),
        ]
    }

    fn predicate() -> impl Strategy<Value = Predicate> {
        let name = || prop::sample::select(vec!["i", "x", "b", "t", "l"]).prop_map(str::to_owned);
        let leaf = prop_oneof![
            (name(), limit()).prop_map(|(name, limit)| Predicate::AtMost { name, limit }),
            (name(), limit()).prop_map(|(name, limit)| Predicate::AtLeast { name, limit }),
            (name(), prop::collection::vec(value(), 0..4))
                .prop_map(|(name, values)| Predicate::OneOf { name, values }),
            name().prop_map(|name| Predicate::Known { name }),
        ];
        leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Predicate::All),
                prop::collection::vec(inner.clone(), 0..3).prop_map(Predicate::Any),
                inner.prop_map(|it| Predicate::Not(Box::new(it))),
            ]
        })
    }

    prop_compose! {
        fn attributes()(
            i in prop::option::of(integer()),
            x in prop::option::of(-3.0..3.0),
            b in prop::option::of(any::<bool>()),
            t in prop::option::of(text()),
            l in prop::option::of(prop::collection::vec(text(), 0..3)),
        ) -> Attributes {
            let mut attributes = Attributes::new();
            if let Some(i) = i { attributes.set("i", i); }
            if let Some(x) = x { attributes.set("x", x); }
            if let Some(b) = b { attributes.set("b", b); }
            if let Some(t) = t { attributes.set("t", t); }
            if let Some(l) = l { attributes.set("l", l); }
            attributes
        }
    }

    proptest! {
        #[test]
        fn clauses_equal_predicates(predicate in predicate(), attributes in attributes()) {
            match Clause::from_predicate(&predicate, &schema()) {
                Ok(clause) => {
                    let expected = predicate.matches(&attributes);
                    prop_assert_eq!(clause.matches(0, &attributes), expected);
                }
                // Numbers of texts, and integers beyond f64, have no clause.
                Err(error) => {
                    let text = error.to_string();
                    let of_texts = text.contains("\"t\"") || text.contains("\"l\"");
                    let is_known = of_texts && text.contains("found texts")
                        || text.contains("\"x\": expected a number of double precision")
                        || text.contains("\"x\": expected a number such as a year, found a date");
                    prop_assert!(is_known, "{}", text);
                }
            }
        }

        #[test]
        fn clauses_equal_sets(
            members in prop::collection::vec(any::<bool>(), 0..400), repeat in 1_usize..5,
        ) {
            let n = members.len() * repeat;
            let set = DocSet::select(n, |doc| members[doc.index() / repeat]);
            let clause = Clause::from_filter(&set, n, &schema()).unwrap();
            for doc in 0..n as u32 {
                let inside = set.contains(DocNum::new(doc));
                prop_assert_eq!(clause.matches(doc, &Attributes::new()), inside);
            }
        }
    }

    #[test]
    fn filters_that_cannot_be_expressed() {
        let unknown = Predicate::Known {
            name: "year".into(),
        };
        let message = Clause::from_predicate(&unknown, &schema())
            .unwrap_err()
            .to_string();
        assert!(
            message.contains("(i, x, b, t, l), found \"year\""),
            "{message}"
        );
        for condition in [
            "t>=2015",
            "t=2015",
            "l=2015-03-01",
            "x<=9007199254740993",
            "x<=2015-03-01",
            "x=2015-03",
        ] {
            let condition: Predicate = condition.parse().unwrap();
            assert!(Clause::from_predicate(&condition, &schema()).is_err());
        }
        for condition in [
            "t=geo",
            "l=true",
            "x=2015",
            "x=20150301",
            "i=2015",
            "i<=9007199254740993",
            "i<=2015-03-01",
        ] {
            let condition: Predicate = condition.parse().unwrap();
            assert!(Clause::from_predicate(&condition, &schema()).is_ok());
        }
        let odd = |doc: DocNum| doc.get() % 2 == 1;
        assert!(Clause::from_documents(&odd, 2 * MAX_NUMBERS).is_ok());
        let message = Clause::from_documents(&odd, 2 * MAX_NUMBERS + 2)
            .unwrap_err()
            .to_string();
        assert!(message.contains("100001 ranges"), "{message}");
        // The condition of a filter has no limit. Without the attribute, its documents are used.
        let described = |name: &str| {
            let condition = Predicate::Known { name: name.into() };
            let filter = WithCondition {
                filter: &odd,
                condition,
            };
            Clause::from_filter(&filter, 2 * MAX_NUMBERS + 2, &schema())
        };
        let known = Clause::Known { name: "i".into() };
        assert_eq!(described("i").unwrap(), known);
        assert!(described("year").is_err());
    }
}
