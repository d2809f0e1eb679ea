//! Conditions on an attribute as text.

use std::str::FromStr;

use crate::attributes::AttributeValue;
use crate::comparison::Date;
use crate::predicate::Predicate;

/// Error of parsing a condition as a [`Predicate`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected NAME<=LIMIT, NAME>=LIMIT (a number or a date such as 2015-03-01), NAME=VALUE,..., NAME!=VALUE,... or NAME, found {found:?}"
)]
pub struct ParsePredicateError {
    /// The text that is not a condition.
    pub found: String,
}

/// Parses a condition on one attribute.
///
/// | text | predicate |
/// |---|---|
/// | `year<=2015`, `date>=2015-03-01` | [`Predicate::AtMost`], [`Predicate::AtLeast`] |
/// | `venue=ACL,EMNLP` | [`Predicate::OneOf`] |
/// | `city="Berlin, Germany",Paris` | the same, with commas inside of quotation marks |
/// | `venue!=ACL,EMNLP` | [`Predicate::Not`] of it |
/// | `venue` | [`Predicate::Known`] |
///
/// Values are compared as [`Comparable`](crate::Comparable) says: 2015 equals 2015.0 and `"2015"`.
///
/// ```
/// use ir_core::{Attributes, Predicate};
/// let condition: Predicate = "year>=2015".parse()?;
/// assert_eq!(condition, Predicate::AtLeast { name: "year".into(), limit: 2015.into() });
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
        let limit = |text: &str| {
            if let Ok(number) = text.parse::<i64>() {
                return Ok(number.into());
            }
            match text.parse::<f64>() {
                Ok(number) if !number.is_nan() => Ok(number.into()),
                _ if Date::parse(text).is_some() => Ok(text.into()),
                _ => Err(expected()),
            }
        };
        // The first sign decides: values may have others.
        let at = text.find(['<', '>', '=']).unwrap_or(text.len());
        let (name, rest) = text.split_at(at);
        let (name, is_negated) = match name.strip_suffix('!').filter(|_| rest.starts_with('=')) {
            Some(name) => (name.trim(), true),
            None => (name.trim(), false),
        };
        if name.is_empty() {
            return Err(expected());
        }
        let name = name.to_owned();
        if let Some(rest) = rest.strip_prefix("<=") {
            let limit = limit(rest.trim())?;
            return Ok(Self::AtMost { name, limit });
        }
        if let Some(rest) = rest.strip_prefix(">=") {
            let limit = limit(rest.trim())?;
            return Ok(Self::AtLeast { name, limit });
        }
        let Some(list) = rest.strip_prefix('=').map(str::trim) else {
            return rest
                .is_empty()
                .then_some(Self::Known { name })
                .ok_or_else(expected);
        };
        // `year=<2015` is not a condition on the text `<2015`.
        if list.starts_with(['<', '>', '=']) {
            return Err(expected());
        }
        let values = values(list).ok_or_else(expected)?;
        let equal = Self::OneOf { name, values };
        Ok(if is_negated {
            Self::Not(Box::new(equal))
        } else {
            equal
        })
    }
}

/// Values of a list, of which some may be in quotation marks; `None` if these are not in pairs.
fn values(list: &str) -> Option<Vec<AttributeValue>> {
    let mut values = Vec::new();
    let mut rest = list;
    loop {
        rest = rest.trim_start();
        let (value, after) = match rest.strip_prefix('"') {
            Some(quoted) => {
                let (value, after) = quoted_value(quoted)?;
                let after = after.trim_start();
                if !after.is_empty() && !after.starts_with(',') {
                    return None;
                }
                (value, after)
            }
            None => {
                let (value, after) = rest.split_at(rest.find(',').unwrap_or(rest.len()));
                (value.trim().to_owned(), after)
            }
        };
        values.push(AttributeValue::Text(value));
        match after.strip_prefix(',') {
            Some(next) => rest = next,
            None => return Some(values),
        }
    }
}

/// Value up to its closing quotation mark, and what follows. `""` is a quotation mark.
fn quoted_value(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut rest = text;
    loop {
        let (before, after) = rest.split_once('"')?;
        value.push_str(before);
        match after.strip_prefix('"') {
            Some(next) => {
                value.push('"');
                rest = next;
            }
            None => return Some((value, after)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values_of(condition: &str) -> Option<Vec<AttributeValue>> {
        match condition.parse() {
            Ok(Predicate::OneOf { values, .. }) => Some(values),
            _ => None,
        }
    }

    #[test]
    fn quoted_values() {
        let texts = |values: &[&str]| Some(values.iter().copied().map(Into::into).collect());
        for (condition, expected) in [
            (
                "city=\"Berlin, Germany\",Paris",
                texts(&["Berlin, Germany", "Paris"]),
            ),
            ("city = \"a \"\"b\"\"\" , c", texts(&["a \"b\"", "c"])),
            ("formula=\"a<=b\"", texts(&["a<=b"])),
            ("a=b=c", texts(&["b=c"])),
            ("a=", texts(&[""])),
            ("a=\"b", None),
            ("a=\"b\"c", None),
            ("a=<2", None),
        ] {
            assert_eq!(values_of(condition), expected, "{condition}");
        }
        assert!("a!=\"b,c\"".parse::<Predicate>().is_ok());
    }

    #[test]
    fn limits_are_numbers_or_dates() {
        let limit = |condition: &str| match condition.parse() {
            Ok(Predicate::AtMost { limit, .. } | Predicate::AtLeast { limit, .. }) => Some(limit),
            _ => None,
        };
        assert_eq!(limit("year<=2015"), Some(2015.into()));
        assert_eq!(limit("x>=1e-3"), Some(1e-3.into()));
        assert_eq!(limit("date>=2015-03-01"), Some("2015-03-01".into()));
        for wrong in [
            "year<=",
            "year<=x",
            "year<=NaN",
            "year<=2015-02-30",
            "<=3",
            "year<2015",
        ] {
            assert_eq!(limit(wrong), None, "{wrong}");
        }
    }
}
