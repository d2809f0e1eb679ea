//! Filters in a form that engines translate: typed comparisons of declared attributes and document
//! numbers, without constants inside.

use std::cmp::Ordering;

use ir_core::{AttributeValue, Attributes, Comparable, DocFilter, DocNum, Predicate};

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
    /// The attribute is present, and a number within `limit`.
    Number {
        name: String,
        bound: Bound,
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

/// Comparison of a number with a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bound {
    Less,
    AtMost,
    Greater,
    AtLeast,
}

impl Bound {
    /// Returns `true` if numbers below the limit pass.
    const fn is_upper(self) -> bool {
        matches!(self, Self::Less | Self::AtMost)
    }

    /// Tells which orders of a number and the limit pass.
    fn passes(self) -> fn(Ordering) -> bool {
        match self {
            Self::Less => Ordering::is_lt,
            Self::AtMost => Ordering::is_le,
            Self::Greater => Ordering::is_gt,
            Self::AtLeast => Ordering::is_ge,
        }
    }
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
            Predicate::AtMost {
                name,
                limit,
                strict,
            } => {
                let bound = if *strict { Bound::Less } else { Bound::AtMost };
                within(name, kind(name)?, bound, limit)?
            }
            Predicate::AtLeast {
                name,
                limit,
                strict,
            } => {
                let bound = if *strict {
                    Bound::Greater
                } else {
                    Bound::AtLeast
                };
                within(name, kind(name)?, bound, limit)?
            }
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
fn within(
    name: &str,
    kind: AttributeType,
    bound: Bound,
    limit: &AttributeValue,
) -> Result<Clause, RemoteError> {
    let name = name.to_owned();
    let absent = Clause::Known { name: name.clone() }.negated();
    let limit = Comparable::from_attribute(&name, limit);
    let Some(limit) = limit.filter(Comparable::is_ordered) else {
        return Ok(absent);
    };
    let ranges = || integers(&name, &limit, bound.passes());
    Ok(match kind {
        AttributeType::Integer => match ranges()[..] {
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
            limit if limit.is_infinite() && (limit > 0.0) == bound.is_upper() => Clause::Always,
            limit if limit.is_infinite() => absent,
            limit if name == Attributes::YEAR && Comparable::is_year(limit) => {
                Clause::any([absent, years(bound, limit, &ranges())])
            }
            limit => Clause::any([absent, Clause::Number { name, bound, limit }]),
        },
        AttributeType::Boolean => absent,
        AttributeType::Text | AttributeType::Texts => return Err(as_written(&name)),
    })
}

/// Numbers of the attribute `year` within a limit that is a year: years, and dates as YYYYMMDD with
/// a fraction of a day. `ranges` are the integers within the limit.
fn years(bound: Bound, limit: f64, ranges: &[(i64, i64)]) -> Clause {
    let number = |bound: Bound, limit: f64| Clause::Number {
        name: Attributes::YEAR.to_owned(),
        bound,
        limit,
    };
    let ranges = ranges.iter().enumerate().map(|(n, &(least, most))| {
        // The limit is an end of the first range, and may be a fraction.
        let own = (n == 0).then(|| number(bound, limit));
        let (lower, upper) = if bound.is_upper() {
            (None, own)
        } else {
            (own, None)
        };
        let has_lower = least > i64::MIN;
        let has_upper = most < i64::MAX;
        let lower = lower.or_else(|| has_lower.then(|| number(Bound::AtLeast, least as f64)));
        let upper = upper.or_else(|| has_upper.then(|| number(Bound::Less, (most + 1) as f64)));
        Clause::all(lower.into_iter().chain(upper))
    });
    Clause::any(ranges)
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
    let comparable = |value| Comparable::from_attribute(&name, value);
    let values = || values.iter().filter_map(comparable);
    // A value of another type equals none of the attribute.
    Ok(match kind {
        AttributeType::Integer => {
            let ranges = values().flat_map(|value| integers(&name, &value, Ordering::is_eq));
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
            let between = |least: f64, bound: Bound, most: f64| {
                Clause::all(
                    [(bound, most), (Bound::AtLeast, least)].map(|(bound, limit)| Clause::Number {
                        name: name.clone(),
                        bound,
                        limit,
                    }),
                )
            };
            let mut clauses = Vec::new();
            for value in values().filter(Comparable::is_ordered) {
                if let Comparable::Number(number) = value {
                    // Attributes are finite.
                    if number.is_finite() {
                        clauses.push(between(number, Bound::AtMost, number));
                    }
                    continue;
                }
                for (least, most) in integers(&name, &value, Ordering::is_eq) {
                    let is_date =
                        name == Attributes::YEAR && Comparable::BASIC_DATES.contains(&least);
                    // A month is a range of dates.
                    if least != most && !is_date {
                        return Err(found_date(&name));
                    }
                    let (bound, end) = if is_date {
                        (Bound::Less, most + 1)
                    } else {
                        (Bound::AtMost, most)
                    };
                    clauses.push(between(exact(&name, least)?, bound, exact(&name, end)?));
                }
            }
            Clause::any(clauses)
        }
    })
}

#[cfg(test)]
mod tests;
