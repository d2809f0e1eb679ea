//! Conditions on an attribute as text.

use std::str::FromStr;

use crate::attributes::AttributeValue;
use crate::predicate::Predicate;

/// Error of parsing a condition as a [`Predicate`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected NAME<=NUMBER, NAME>=NUMBER, NAME=VALUE,..., NAME!=VALUE,... or NAME, found {found:?}"
)]
pub struct ParsePredicateError {
    /// The text that is not a condition.
    pub found: String,
}

/// Parses a condition on one attribute.
///
/// | text | predicate |
/// |---|---|
/// | `year<=2015`, `year>=2015` | [`Predicate::AtMost`], [`Predicate::AtLeast`] |
/// | `venue=ACL,EMNLP` | [`Predicate::OneOf`] |
/// | `venue!=ACL,EMNLP` | [`Predicate::Not`] of it |
/// | `venue` | [`Predicate::Known`] |
///
/// A value that is a number or a truth value equals texts, and numbers or truth values.
///
/// ```
/// use ir_core::{Attributes, Predicate};
/// let condition: Predicate = "year>=2015".parse()?;
/// assert_eq!(condition, Predicate::AtLeast { name: "year".into(), limit: 2015.0 });
/// let condition: Predicate = "year=2015".parse()?;
/// assert!(condition.matches(&Attributes::from_iter([("year", 2015_i64)])));
/// assert!("year=>2015".parse::<Predicate>().is_err());
/// # Ok::<(), ir_core::ParsePredicateError>(())
/// ```
impl FromStr for Predicate {
    type Err = ParsePredicateError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let expected = || ParsePredicateError {
            found: text.to_owned(),
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
        let (name, predicate) = if let Some((name, limit)) = cut("<=") {
            let limit = number(limit)?;
            (name.clone(), Self::AtMost { name, limit })
        } else if let Some((name, limit)) = cut(">=") {
            let limit = number(limit)?;
            (name.clone(), Self::AtLeast { name, limit })
        } else if let Some((name, list)) = cut("!=") {
            let equal = one_of(name.clone(), list);
            (name, Self::Not(Box::new(equal)))
        } else if let Some((name, list)) = cut("=") {
            (name.clone(), one_of(name, list))
        } else {
            let name = text.trim().to_owned();
            (name.clone(), Self::Known { name })
        };
        // `year=<2015` is not a condition on the text `<2015`.
        let is_transposed =
            matches!(cut("="), Some((_, value)) if value.starts_with(['<', '>', '=']));
        if name.is_empty() || name.contains(['<', '>', '=']) || is_transposed {
            return Err(expected());
        }
        Ok(predicate)
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
