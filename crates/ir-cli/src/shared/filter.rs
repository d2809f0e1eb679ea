//! Attribute conditions of `--filter`.

use std::str::FromStr;

use anyhow::{Context, Result, bail};
use ir_bm25::{Index, StoredFields};
use ir_core::{AttributeValue, DocNum, DocSet, Predicate};

use crate::shared::console::Console;

/// A parsed condition: `year<=2015`, `repository=geo,sra`, `language!=German`, `license`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AttributeCondition(pub(crate) Predicate);

impl FromStr for AttributeCondition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || {
            format!(
                "expected NAME<=NUMBER, NAME>=NUMBER, NAME=VALUE,..., NAME!=VALUE,... or NAME, found {text:?}"
            )
        };
        let cut = |sign: &str| {
            let (name, rest) = text.split_once(sign)?;
            Some((name.trim().to_owned(), rest.trim()))
        };
        let number = |text: &str| {
            text.parse()
                .ok()
                .filter(|n: &f64| !n.is_nan())
                .ok_or_else(expected)
        };
        let predicate = if let Some((name, limit)) = cut("<=") {
            let limit = number(limit)?;
            Predicate::AtMost { name, limit }
        } else if let Some((name, limit)) = cut(">=") {
            let limit = number(limit)?;
            Predicate::AtLeast { name, limit }
        } else if let Some((name, list)) = cut("!=") {
            Predicate::Not(Box::new(one_of(name, list)))
        } else if let Some((name, list)) = cut("=") {
            one_of(name, list)
        } else {
            Predicate::Known {
                name: text.trim().to_owned(),
            }
        };
        let name = ConditionSubject::from_predicate(&predicate).map_or("", |subject| subject.name);
        if name.is_empty() || name.contains(['<', '>', '=']) {
            return Err(expected());
        }
        Ok(Self(predicate))
    }
}

/// The attribute that a condition tests.
#[derive(Debug, PartialEq)]
pub(crate) struct ConditionSubject<'a> {
    pub(crate) name: &'a str,
    /// Whether only a number can satisfy the condition.
    pub(crate) number: bool,
    /// Whether a document without the attribute satisfies the condition.
    pub(crate) absent_passes: bool,
}

impl<'a> ConditionSubject<'a> {
    /// Subject of a condition on a single attribute; `None` for a conjunction or disjunction.
    pub(crate) fn from_predicate(condition: &'a Predicate) -> Option<Self> {
        let subject = |name, number, absent_passes| Self {
            name,
            number,
            absent_passes,
        };
        match condition {
            Predicate::AtMost { name, .. } | Predicate::AtLeast { name, .. } => {
                Some(subject(name, true, true))
            }
            Predicate::OneOf { name, .. } | Predicate::Known { name } => {
                Some(subject(name, false, false))
            }
            Predicate::Not(inner) => Self::from_predicate(inner).map(|inner| Self {
                absent_passes: !inner.absent_passes,
                ..inner
            }),
            _ => None,
        }
    }
}

fn one_of(name: String, list: &str) -> Predicate {
    let mut values = Vec::new();
    for text in list.split(',').map(str::trim) {
        // `2015` may be a number or a text in the data.
        values.push(AttributeValue::Text(text.to_owned()));
        if let Ok(number) = text.parse::<i64>() {
            values.push(AttributeValue::Int(number));
        } else if let Ok(truth) = text.parse::<bool>() {
            values.push(AttributeValue::Bool(truth));
        }
    }
    Predicate::OneOf { name, values }
}

/// Selects the documents that satisfy all conditions. Warns about attributes that no document has.
pub(crate) fn select_documents(
    index: &Index,
    conditions: Vec<Predicate>,
    name: &str,
    console: &Console,
) -> Result<DocSet> {
    if index.config().store == StoredFields::Nothing {
        bail!(
            "{name}: --filter needs stored attributes, found an index without them (`ir index --store attributes`)"
        );
    }
    let read = || format!("{name}: could not be read");
    for subject in conditions
        .iter()
        .filter_map(ConditionSubject::from_predicate)
    {
        let (mut there, mut of_use) = (false, false);
        for doc in (0..index.len() as u32).map(DocNum::new) {
            let attributes = index.attributes(doc).with_context(read)?;
            if let Some(value) = attributes.get(subject.name) {
                there = true;
                of_use = !subject.number
                    || matches!(value, AttributeValue::Int(_) | AttributeValue::Float(_));
            }
            if of_use {
                break;
            }
        }
        let (attribute, all) = (subject.name, subject.absent_passes);
        if !there {
            let all = if all { "all pass" } else { "none passes" };
            console.warn(format_args!(
                "--filter: no document has an attribute {attribute:?}; {all}"
            ));
        } else if !of_use {
            console.warn(format_args!(
                "--filter: the attribute {attribute:?} is not numeric in any document; only documents without it pass"
            ));
        }
    }
    index.select(&Predicate::All(conditions)).with_context(read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ir_core::Attributes;

    fn matches(condition: &str, attributes: &Attributes) -> bool {
        condition
            .parse::<AttributeCondition>()
            .unwrap()
            .0
            .matches(attributes)
    }

    #[test]
    fn conditions_as_typed() {
        let mut a = Attributes::new();
        a.set("year", 2015_i64);
        a.set("repository", "geo");
        for holds in [
            "year<=2015",
            "year >= 2015",
            "year=2015",
            "repository=sra, geo",
            "repository!=sra",
            "repository",
            "pages<=3",
        ] {
            assert!(matches(holds, &a), "{holds}");
        }
        for fails in ["year<=2014", "year!=2015", "repository=sra", "license"] {
            assert!(!matches(fails, &a), "{fails}");
        }
        for wrong in [
            "",
            "year<=",
            "year<=x",
            "<=3",
            "year<=NaN",
            "year<2015",
            "=x",
        ] {
            assert!(wrong.parse::<AttributeCondition>().is_err(), "{wrong}");
        }
    }
}
