//! Conditions on an attribute as text.

use std::str::FromStr;

use crate::attributes::AttributeValue;
use crate::comparison::Comparable;
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
const QUOTED: &str = " (a value in quotation marks is a text, a number has none)";
const REPEAT: &str = " (for several conditions repeat --filter, or send a list over REST; a value \
                      with an operator needs quotation marks)";

/// Operators; an operator precedes its prefixes, so that the first match is the longest.
const OPERATORS: [&str; 7] = ["<=", ">=", "!=", "==", "<", ">", "="];

/// Parses a condition on one attribute.
///
/// | text | predicate |
/// |---|---|
/// | `year<=2015`, `date>=2015-03-01` | [`Predicate::AtMost`], [`Predicate::AtLeast`] |
/// | `year<2015`, `date>2015-03-01` | the same, with `strict` |
/// | `venue=ACL,EMNLP`, `venue==ACL` | [`Predicate::OneOf`] |
/// | `city="Berlin, Germany",Paris` | the same, with commas inside of quotation marks |
/// | `code=007,1e3` | the texts `007` and `1e3`, and the numbers 7 and 1000 |
/// | `code="007"` | only the text `007` |
/// | `venue!=ACL,EMNLP` | [`Predicate::Not`] of it |
/// | `venue` | [`Predicate::Known`] |
/// | `"dc:date">=2015` | a name in quotation marks |
///
/// Numbers may have a sign, a fraction, an exponent and leading zeros: `+5`, `.5`, `1e3`, `007`. In
/// quotation marks a value is a text as documents contain it: `year>="2015"` is a limit, because
/// the text `2015` is a number, and `n>="1e3"` is an error.
///
/// Values are compared as [`Comparable`](crate::Comparable) says: 2015 equals 2015.0 and `"2015"`.
/// A value of `=` and `!=` is the text as it is written, and a number if it is one: an identifier
/// such as `007` is found as text. A document without the attribute satisfies `<=`, `>=`, `<`, `>`
/// and `!=`.
///
/// ```
/// use ir_core::{Attributes, Predicate};
/// let condition: Predicate = "year>=2015".parse()?;
/// let (name, limit) = ("year".to_owned(), 2015.into());
/// assert_eq!(condition, Predicate::AtLeast { name, limit, strict: false });
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
        if let "=" | "==" | "!=" = *operator {
            let values = values(value).map_err(error)?;
            let equal = Self::OneOf { name, values };
            return Ok(match *operator {
                "!=" => Self::Not(Box::new(equal)),
                _ => equal,
            });
        }
        let limit = limit(value).map_err(error)?;
        let strict = !operator.ends_with('=');
        Ok(if operator.starts_with('<') {
            Self::AtMost {
                name,
                limit,
                strict,
            }
        } else {
            Self::AtLeast {
                name,
                limit,
                strict,
            }
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
    let is_next = |text: &str| text.contains(['<', '>', '=']) || conjunction(text).is_some();
    let (text, is_quoted) = match text.strip_prefix('"') {
        Some(quoted) => {
            let (value, after) = quoted_value(quoted).ok_or("")?;
            if is_next(after) {
                return Err(REPEAT);
            }
            if !after.is_empty() {
                return Err("");
            }
            (value, true)
        }
        None => (text.to_owned(), false),
    };
    let number = number(&text);
    let limit = AttributeValue::Text(text.clone());
    let compared = Comparable::new(&limit).filter(Comparable::is_ordered);
    // A date stays a text, as it is in a list of values.
    let is_date = matches!(
        compared,
        Some(Comparable::Date(_) | Comparable::BasicDate(_))
    );
    let is_ordered = compared.is_some();
    match number {
        Some(number) if !is_quoted && !is_date => Ok(number),
        _ if is_ordered => Ok(limit),
        Some(_) => Err(QUOTED),
        None if !is_quoted && is_next(&text) => Err(REPEAT),
        None if text.contains(|sign: char| sign.is_ascii_digit()) => Err(DATES),
        None => Err(""),
    }
}

/// Finite number of a text, which may have a sign, an exponent and leading zeros: JSON, in which
/// conditions are sent and cached, has no infinity.
fn number(text: &str) -> Option<AttributeValue> {
    if let Ok(number) = text.parse::<i64>() {
        return Some(number.into());
    }
    let number = text.parse::<f64>().ok()?;
    number.is_finite().then(|| number.into())
}

/// The text after the first `and` or `&&`.
fn conjunction(text: &str) -> Option<&str> {
    let lower = text.to_ascii_lowercase();
    let ends = [" and ", "&&"].map(|word| lower.find(word).map(|at| at + word.len()));
    Some(&text[ends.into_iter().flatten().min()?..])
}

/// Values of a list, of which some may be in quotation marks. A text that only conditions read as a
/// number, such as `1e3`, precedes its number. The error is a hint.
fn values(list: &str) -> Result<Vec<AttributeValue>, &'static str> {
    let is_condition = |text: &str| text.contains(['<', '>', '=']);
    let mut values = Vec::new();
    let mut rest = list;
    loop {
        rest = rest.trim_start();
        let (value, number, after) = match rest.strip_prefix('"') {
            Some(quoted) => {
                let (value, after) = quoted_value(quoted).ok_or("")?;
                let after = after.trim_start();
                if !after.is_empty() && !after.starts_with(',') {
                    return Err("");
                }
                (value, None, after)
            }
            None => {
                let (value, after) = rest.split_at(rest.find(',').unwrap_or(rest.len()));
                // `a=1,b=2` and `a=1 and b=2` are not values of `a`.
                let is_next = !values.is_empty() && is_condition(value);
                if is_next || conjunction(value).is_some_and(is_condition) {
                    return Err(REPEAT);
                }
                let value = value.trim();
                (value.to_owned(), number(value), after)
            }
        };
        let value = AttributeValue::Text(value);
        let is_text = matches!(Comparable::new(&value), Some(Comparable::Text(_)));
        values.push(value);
        values.extend(number.filter(|_| is_text));
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
    use std::cmp::Ordering;

    use proptest::prelude::*;

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
            ("a=2015,20150301,0.5", texts(&["2015", "20150301", "0.5"])),
            ("a=inf,nan", texts(&["inf", "nan"])),
            ("a=\"1e3\"", texts(&["1e3"])),
            (
                "a=1e3,007,x,.5",
                Some(vec![
                    "1e3".into(),
                    1000.0.into(),
                    "007".into(),
                    7.into(),
                    "x".into(),
                    ".5".into(),
                    0.5.into(),
                ]),
            ),
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
        assert_eq!(limit("x<=+.5"), Some(0.5.into()));
        assert_eq!(limit("x<=007"), Some(7.into()));
        assert_eq!(limit("date>=\"2015-03\""), Some("2015-03".into()));
        assert_eq!(limit("year>\"2015\""), Some("2015".into()));
        for wrong in [
            "year<=",
            "year<=x",
            "year<=NaN",
            "year<=inf",
            "x<=1e999",
            "year<=\"2015",
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

    /// Each member of a list is compared by itself.
    #[test]
    fn strict_ranges_of_lists() {
        for (condition, years, expected) in [
            ("year>2014", vec![2014, 2016], true),
            ("year<2016", vec![2015, 2016], true),
            ("year>2016", vec![2014, 2016], false),
            ("year<2014", vec![2014, 2016], false),
        ] {
            let predicate: Predicate = condition.parse().unwrap();
            let attributes = Attributes::from_iter([("year", years)]);
            assert_eq!(predicate.matches(&attributes), expected, "{condition}");
        }
    }

    type Holds = fn(Ordering) -> bool;

    const COMPARISONS: [(&str, Holds); 6] = [
        ("=", Ordering::is_eq),
        ("!=", Ordering::is_ne),
        ("<", Ordering::is_lt),
        ("<=", Ordering::is_le),
        (">", Ordering::is_gt),
        (">=", Ordering::is_ge),
    ];

    /// Evaluates a condition on one document, with and without the hashes of lists.
    fn holds(condition: &str, attributes: &Attributes) -> bool {
        let predicate: Predicate = condition.parse().unwrap();
        let found = predicate.matches(attributes);
        let selected = predicate.select([attributes]).iter().count();
        assert_eq!(selected, usize::from(found), "{condition}");
        found
    }

    /// Spelling of a number that documents have only as text.
    fn identifier(n: i64, form: usize) -> String {
        let spellings = [
            format!("0{n}"),
            format!("+{n}"),
            format!("{n}."),
            format!(".{n}"),
            format!("{n}e1"),
        ];
        spellings[form % spellings.len()].clone()
    }

    /// Value of a document, and its number.
    fn value() -> impl Strategy<Value = (AttributeValue, Option<f64>)> {
        let half = |n: i64| n as f64 / 2.0;
        prop_oneof![
            (-9..9_i64).prop_map(|n| (AttributeValue::from(n), Some(n as f64))),
            (-9..9_i64).prop_map(move |n| (AttributeValue::from(half(n)), Some(half(n)))),
            (-9..9_i64).prop_map(|n| (AttributeValue::from(n.to_string()), Some(n as f64))),
            (-9..9_i64).prop_map(move |n| {
                let text = format!("{:.1}", half(n));
                (AttributeValue::from(text), Some(half(n)))
            }),
            (0..9_i64, 0..5_usize)
                .prop_map(|(n, form)| (AttributeValue::from(identifier(n, form)), None)),
        ]
    }

    /// Number in a condition.
    fn written() -> impl Strategy<Value = String> {
        prop_oneof![
            (0..9_i64, 0..5_usize).prop_map(|(n, form)| identifier(n, form)),
            (-9..9_i64).prop_map(|n| n.to_string()),
            (-9..9_i64).prop_map(|n| format!("{n}5e-1")),
            (-9..9_i64).prop_map(|n| format!("{n}.50")),
        ]
    }

    /// A date in the attribute `year`: value of a document, text of a condition, and fields.
    fn date() -> impl Strategy<Value = (AttributeValue, String, Vec<i64>)> {
        let fields = (2014..2017_i64, 1..3_i64, 10..12_i64, 0..7_usize);
        fields.prop_map(|(year, month, day, form)| {
            let number = year * 10_000 + month * 100 + day;
            let iso = format!("{year}-{month:02}-{day}");
            let all = vec![year, month, day];
            let (value, text, fields): (AttributeValue, String, Vec<i64>) = match form {
                0 => (year.into(), year.to_string(), vec![year]),
                1 => ((year as f64).into(), format!("{year}.0"), vec![year]),
                2 => (year.to_string().into(), format!("+{year}"), vec![year]),
                3 => {
                    let month_of = iso[..7].to_owned();
                    (month_of.clone().into(), month_of, vec![year, month])
                }
                4 => (number.into(), number.to_string(), all),
                5 => (number.to_string().into(), format!("\"{number}\""), all),
                _ => (iso.clone().into(), format!("\"{iso}\""), all),
            };
            (value, text, fields)
        })
    }

    proptest! {
        /// Equality, ranges, lists and `!=` agree with the numbers. A value equals a number, or the
        /// same text.
        #[test]
        fn numbers_compare_by_value(
            members in proptest::collection::vec(value(), 1..4),
            texts in proptest::collection::vec(written(), 1..4),
        ) {
            let values = members.iter().map(|(value, _)| value.clone());
            let list = AttributeValue::List(values.collect());
            let value = match &*members {
                [(value, _)] => value.clone(),
                _ => list,
            };
            let attributes = Attributes::from_iter([("x", value)]);
            let equals = |text: &String| members.iter().any(|(value, number)| {
                *number == text.parse::<f64>().ok() || *value == AttributeValue::from(text.as_str())
            });
            for (sign, passes) in COMPARISONS {
                let limit: f64 = texts[0].parse().unwrap();
                let in_range = members.iter().any(|(_, number)| {
                    number.and_then(|number| number.partial_cmp(&limit)).is_some_and(passes)
                });
                let expected = match sign {
                    "=" => equals(&texts[0]),
                    "!=" => !equals(&texts[0]),
                    _ => in_range,
                };
                let condition = format!("x{sign}{}", texts[0]);
                prop_assert_eq!(holds(&condition, &attributes), expected, "{}", condition);
            }
            let condition = format!("x={}", texts.join(","));
            prop_assert_eq!(holds(&condition, &attributes), texts.iter().any(equals));
        }

        /// Dates and years compare by the fields that both have.
        #[test]
        fn dates_compare_by_common_fields((value, _, a) in date(), (_, text, b) in date()) {
            let attributes = Attributes::from_iter([("year", value)]);
            let common = a.len().min(b.len());
            let order = a[..common].cmp(&b[..common]);
            for (sign, passes) in COMPARISONS {
                let condition = format!("year{sign}{text}");
                prop_assert_eq!(holds(&condition, &attributes), passes(order), "{}", condition);
            }
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
            ("year>=\"soon\"", ""),
            ("year>=\"2015\"x", ""),
            ("year>=\"2018-06-32\"", DATES),
            ("n>=\"1e3\"", QUOTED),
            ("year>=\"2015\" and year<=2018", REPEAT),
            ("year>=\"2015\",kind=drink", REPEAT),
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
            strict: false,
        };
        assert_eq!("published year>=2018".parse(), Ok(since));
    }
}
