//! Conditions on an attribute as text.

use std::str::FromStr;

use crate::attributes::AttributeValue;
use crate::comparison::{Comparable, Date};
use crate::predicate::Predicate;

/// Error of parsing a condition as a [`Predicate`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected NAME<=LIMIT, NAME>=LIMIT, NAME<LIMIT, NAME>LIMIT (a number or a date such as 2015-03-01), NAME=VALUE,..., NAME!=VALUE,... or NAME, found {found:?}{hint}"
)]
pub struct ParsePredicateError {
    /// The text that is not a condition.
    pub found: String,
    /// How to write what the text seems to mean, in parentheses; empty if nothing is known.
    hint: &'static str,
}

const DATES: &str = " (dates are YYYY-MM-DD)";
const NAMES: &str =
    " (NAME=VALUE for equality; an attribute with such a name needs quotation marks)";
const REPEAT: &str = " (for several conditions repeat --filter, or send a list over REST; a value \
                      with an operator needs quotation marks)";

/// Operators; an operator precedes its prefixes, so that the first match is the longest.
const OPERATORS: [&str; 7] = ["<=", ">=", "!=", "==", "<", ">", "="];

/// Parses a condition on one attribute.
///
/// | text | predicate |
/// |---|---|
/// | `year<=2015`, `date>=2015-03-01` | [`Predicate::AtMost`], [`Predicate::AtLeast`] |
/// | `year<2015`, `date>2015-03-01` | [`Predicate::All`] of `year<=2015` and `year!=2015` |
/// | `venue=ACL,EMNLP`, `venue==ACL` | [`Predicate::OneOf`] |
/// | `city="Berlin, Germany",Paris` | the same, with commas inside of quotation marks |
/// | `venue!=ACL,EMNLP` | [`Predicate::Not`] of it |
/// | `venue` | [`Predicate::Known`] |
/// | `"dc:date">=2015` | a name in quotation marks |
///
/// Values are compared as [`Comparable`](crate::Comparable) says: 2015 equals 2015.0 and `"2015"`.
/// A document without the attribute satisfies `<=`, `>=`, `<`, `>` and `!=`.
///
/// ```
/// use ir_core::{Attributes, Predicate};
/// let condition: Predicate = "year>=2015".parse()?;
/// assert_eq!(condition, Predicate::AtLeast { name: "year".into(), limit: 2015.into() });
/// let condition: Predicate = "year=2015".parse()?;
/// assert!(condition.matches(&Attributes::from_iter([("year", 2015_i64)])));
/// let condition: Predicate = "year<2015".parse()?;
/// assert!(!condition.matches(&Attributes::from_iter([("year", 2015_i64)])));
/// assert!("year=>2015".parse::<Predicate>().is_err());
/// # Ok::<(), ir_core::ParsePredicateError>(())
/// ```
impl FromStr for Predicate {
    type Err = ParsePredicateError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = |hint| ParsePredicateError {
            found: text.to_owned(),
            hint,
        };
        let (name, rest) = name(text).map_err(error)?;
        let operators = &mut OPERATORS.iter();
        let Some(operator) = operators.find(|operator| rest.starts_with(**operator)) else {
            return Ok(Self::Known { name });
        };
        let value = rest[operator.len()..].trim();
        // `year=<2015` is not a condition on the text `<2015`.
        if value.starts_with(['<', '>', '=']) {
            return Err(error(""));
        }
        let equal = |values| Self::OneOf {
            name: name.clone(),
            values,
        };
        if let "=" | "==" | "!=" = *operator {
            let equal = equal(values(value).map_err(error)?);
            return Ok(match *operator {
                "!=" => Self::Not(Box::new(equal)),
                _ => equal,
            });
        }
        let limit = limit(value).map_err(error)?;
        let other = Self::Not(Box::new(equal(vec![limit.clone()])));
        let range = if operator.starts_with('<') {
            Self::AtMost { name, limit }
        } else {
            Self::AtLeast { name, limit }
        };
        Ok(match *operator {
            "<" | ">" => Self::All(vec![range, other]),
            _ => range,
        })
    }
}

/// Name of an attribute, and the text from the operator. The first sign decides: values may have
/// others. The error is a hint.
fn name(text: &str) -> Result<(String, &str), &'static str> {
    let text = text.trim();
    if let Some(quoted) = text.strip_prefix('"') {
        let (name, rest) = quoted_value(quoted).ok_or("")?;
        let rest = rest.trim_start();
        let is_condition = rest.is_empty() || OPERATORS.iter().any(|it| rest.starts_with(it));
        let is_valid = is_condition && !name.trim().is_empty();
        return is_valid.then_some((name, rest)).ok_or("");
    }
    let at = text.find(['<', '>', '=']).unwrap_or(text.len());
    let is_negated = text[at..].starts_with('=') && text[..at].ends_with('!');
    let (name, rest) = text.split_at(at - usize::from(is_negated));
    let name = name.trim_end();
    if name.is_empty() {
        return Err("");
    }
    // `year:2018` and `year between 2015 and 2018` are not names of attributes.
    let is_other = |sign: char| sign.is_whitespace() || "!\"&'()*,:;[]{|}~".contains(sign);
    if rest.is_empty() && name.contains(is_other) {
        return Err(NAMES);
    }
    Ok((name.to_owned(), rest))
}

/// Limit of a range: a number or a date. The error is a hint.
fn limit(text: &str) -> Result<AttributeValue, &'static str> {
    if let Ok(number) = text.parse::<i64>() {
        // A date as YYYYMMDD stays a text, as it is in a list of values.
        let is_date = Comparable::BASIC_DATES.contains(&number) && Date::parse(text).is_some();
        return Ok(if is_date { text.into() } else { number.into() });
    }
    match text.parse::<f64>() {
        Ok(number) if !number.is_nan() => Ok(number.into()),
        _ if Date::parse(text).is_some() => Ok(text.into()),
        _ if text.contains(['<', '>', '=']) || conjunction(text).is_some() => Err(REPEAT),
        _ if text.contains(|sign: char| sign.is_ascii_digit()) => Err(DATES),
        _ => Err(""),
    }
}

/// The text after the first `and` or `&&`.
fn conjunction(text: &str) -> Option<&str> {
    let lower = text.to_ascii_lowercase();
    let ends = [" and ", "&&"].map(|word| lower.find(word).map(|at| at + word.len()));
    Some(&text[ends.into_iter().flatten().min()?..])
}

/// Values of a list, of which some may be in quotation marks. The error is a hint.
fn values(list: &str) -> Result<Vec<AttributeValue>, &'static str> {
    let is_condition = |text: &str| text.contains(['<', '>', '=']);
    let mut values = Vec::new();
    let mut rest = list;
    loop {
        rest = rest.trim_start();
        let (value, after) = match rest.strip_prefix('"') {
            Some(quoted) => {
                let (value, after) = quoted_value(quoted).ok_or("")?;
                let after = after.trim_start();
                if !after.is_empty() && !after.starts_with(',') {
                    return Err("");
                }
                (value, after)
            }
            None => {
                let (value, after) = rest.split_at(rest.find(',').unwrap_or(rest.len()));
                // `a=1,b=2` and `a=1 and b=2` are not values of `a`.
                let is_next = !values.is_empty() && is_condition(value);
                if is_next || conjunction(value).is_some_and(is_condition) {
                    return Err(REPEAT);
                }
                (value.trim().to_owned(), after)
            }
        };
        values.push(AttributeValue::Text(value));
        match after.strip_prefix(',') {
            Some(next) => rest = next,
            None => return Ok(values),
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
    use crate::attributes::Attributes;

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
            ("name=War and Peace,a&b", texts(&["War and Peace", "a&b"])),
            ("a==b", texts(&["b"])),
            ("\"dc:date\" = b", texts(&["b"])),
            ("a=b,\"c>=2\"", texts(&["b", "c>=2"])),
            ("a=b,c>=2", None),
            ("a=b AND c=2", None),
            ("a===b", None),
            ("a=\"b", None),
            ("a=\"b\"c", None),
            ("a=<2", None),
        ] {
            assert_eq!(values_of(condition), expected, "{condition}");
        }
        let one = Predicate::OneOf {
            name: "a".to_owned(),
            values: vec!["b,c".into()],
        };
        assert_eq!("a!=\"b,c\"".parse(), Ok(Predicate::Not(Box::new(one))));
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
        assert_eq!(limit("date>=20150301"), Some("20150301".into()));
        assert_eq!(limit("views>=20159901"), Some(20_159_901.into()));
        for wrong in [
            "year<=",
            "year<=x",
            "year<=NaN",
            "year<=2015-02-30",
            "<=3",
            "year<>2015",
        ] {
            assert_eq!(limit(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn strict_ranges_exclude_their_limit() {
        let at = |name: &str, value: AttributeValue| Attributes::from_iter([(name, value)]);
        for (condition, passing, failing) in [
            ("x<2018", 2017.into(), 2018.into()),
            ("x < 2018", "2017-12-31".into(), "2018-01-01".into()),
            ("x>2018", "2019".into(), "2018.0".into()),
            ("x>0.5", 1.into(), 0.5.into()),
            ("x>2018-06", "2018-07-01".into(), "2018-06-30".into()),
            ("x<2018-06-01", 2017.into(), "spring".into()),
        ] {
            let predicate: Predicate = condition.parse().unwrap();
            assert!(predicate.matches(&at("x", passing)), "{condition}");
            assert!(!predicate.matches(&at("x", failing)), "{condition}");
            assert!(predicate.matches(&Attributes::new()), "{condition}");
        }
    }

    #[test]
    fn errors_say_what_to_write() {
        for (condition, hint) in [
            ("year>=2018-06-32", DATES),
            ("date<01.06.2018", DATES),
            ("a>=1,b=2", REPEAT),
            ("a>=1 and b=2", REPEAT),
            ("a>=1 and b", REPEAT),
            ("a=1,b=2", REPEAT),
            ("a=1 && b=2", REPEAT),
            ("year:2018", NAMES),
            ("year between 2015 and 2018", NAMES),
            ("!year", NAMES),
            ("a,b", NAMES),
            ("year=>2018", ""),
            ("\"year\"2018", ""),
            ("year>=soon", ""),
        ] {
            let error = condition.parse::<Predicate>().unwrap_err();
            assert_eq!(error.hint, hint, "{condition}");
            let message = error.to_string();
            assert!(
                message.ends_with(&format!("found {condition:?}{hint}")),
                "{message}"
            );
        }
        for (condition, name) in [
            ("\"dc:date\"", "dc:date"),
            ("\"published year\"", "published year"),
            ("published_year", "published_year"),
            ("dc.date-x", "dc.date-x"),
        ] {
            let known = Predicate::Known {
                name: name.to_owned(),
            };
            assert_eq!(condition.parse(), Ok(known), "{condition}");
        }
        let since = Predicate::AtLeast {
            name: "published year".to_owned(),
            limit: 2018.into(),
        };
        assert_eq!("published year>=2018".parse(), Ok(since));
    }
}
