//! Boolean expressions of Milvus.

use std::fmt::Write;
use std::ops::Range;

use super::NUMBER;
use crate::clause::{Bound, Clause};

/// Expression of a range of document numbers; empty for all.
pub(super) fn numbers(range: &Range<u32>) -> String {
    match range {
        Range {
            start: 0,
            end: u32::MAX,
        } => String::new(),
        range => format!("{NUMBER} >= {} and {NUMBER} < {}", range.start, range.end),
    }
}

/// Expression of a clause; empty for all documents.
pub(super) fn expression(clause: &Clause) -> String {
    let mut text = String::new();
    if *clause != Clause::Always {
        write_clause(&mut text, clause);
    }
    text
}

fn write_clause(text: &mut String, clause: &Clause) {
    // Writing to a String does not fail.
    let _ = match clause {
        Clause::Always => write!(text, "{NUMBER} >= 0"),
        Clause::Never => write!(text, "{NUMBER} < 0"),
        Clause::Known { name } => write!(text, "known_{name} == true"),
        Clause::Integers { name, least, most } => {
            // Milvus parses the number without its sign, and 2^63 of i64::MIN is too large.
            let bounds = [
                (*least > i64::MIN)
                    .then(|| format!("attr_{name} > {}", least.saturating_sub(1).max(-i64::MAX))),
                (*most < i64::MAX).then(|| format!("attr_{name} < {}", most + 1)),
            ];
            let exact_minimum = *least == -i64::MAX;
            let mut parts: Vec<String> = vec![format!("known_{name} == true")];
            if exact_minimum {
                parts.push(format!("attr_{name} >= {}", -i64::MAX));
            } else {
                parts.extend(bounds[0].clone());
            }
            parts.extend(bounds[1].clone());
            write!(text, "({})", parts.join(" and "))
        }
        Clause::Number { name, bound, limit } => {
            let sign = match bound {
                Bound::Less => "<",
                Bound::AtMost => "<=",
                Bound::Greater => ">",
                Bound::AtLeast => ">=",
            };
            write!(
                text,
                "(known_{name} == true and attr_{name} {sign} {limit:?})"
            )
        }
        Clause::IntegerIn { name, values } => write!(text, "(known_{name} == true and (")
            .and_then(|()| write_integers(text, name, values))
            .and_then(|()| write!(text, "))")),
        Clause::TextIn { name, values } => {
            // A string of JSON is one of Milvus.
            let values = serde_json::to_string(values).unwrap_or_default();
            write!(text, "(known_{name} == true and attr_{name} in {values})")
        }
        Clause::Boolean { name, value } => {
            write!(text, "(known_{name} == true and attr_{name} == {value})")
        }
        Clause::DocRange { first, last } => {
            write!(text, "({NUMBER} >= {first} and {NUMBER} <= {last})")
        }
        Clause::DocIn(numbers) => write_list(text, numbers, false),
        Clause::All(inner) => write_joined(text, inner, " and "),
        Clause::Any(inner) => write_joined(text, inner, " or "),
        Clause::Not(inner) => match &**inner {
            // `not` takes no boolean field, but takes comparisons.
            Clause::Known { name } => write!(text, "known_{name} == false"),
            Clause::DocIn(numbers) => write_list(text, numbers, true),
            inner => {
                text.push_str("not (");
                write_clause(text, inner);
                text.push(')');
                Ok(())
            }
        },
    };
}

fn write_integers(text: &mut String, name: &str, values: &[i64]) -> std::fmt::Result {
    let usual = values.iter().filter(|&&value| value != i64::MIN);
    let usual: Vec<String> = usual.map(ToString::to_string).collect();
    let minimum = values.contains(&i64::MIN);
    match (usual.is_empty(), minimum) {
        (false, false) => write!(text, "attr_{name} in [{}]", usual.join(",")),
        (true, _) => write!(text, "attr_{name} < {}", -i64::MAX),
        (false, true) => write!(
            text,
            "attr_{name} in [{}] or attr_{name} < {}",
            usual.join(","),
            -i64::MAX
        ),
    }
}

fn write_list(text: &mut String, numbers: &[u32], negated: bool) -> std::fmt::Result {
    let list: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    let sign = if negated { "not in" } else { "in" };
    write!(text, "{NUMBER} {sign} [{}]", list.join(","))
}

fn write_joined(text: &mut String, inner: &[Clause], sign: &str) -> std::fmt::Result {
    text.push('(');
    for (at, clause) in inner.iter().enumerate() {
        if at > 0 {
            text.push_str(sign);
        }
        write_clause(text, clause);
    }
    text.push(')');
    Ok(())
}

#[cfg(test)]
mod tests {
    use ir_core::Predicate;

    use super::*;
    use crate::{AttributeType, CollectionSchema};

    #[test]
    fn expressions_of_conditions() {
        let schema = CollectionSchema::default()
            .with_attribute("year", AttributeType::Integer)
            .with_attribute("age", AttributeType::Integer)
            .with_attribute("venue", AttributeType::Text)
            .with_attribute("x", AttributeType::Number);
        for (condition, expected) in [
            (
                "age<=15.5",
                "(known_age == false or (known_age == true and attr_age < 16))",
            ),
            (
                "year<=2015.5",
                "(known_year == false or (known_year == true and attr_year < 2016) or \
                 (known_year == true and attr_year > 10000100 and attr_year < 20160000))",
            ),
            (
                "age>=15",
                "(known_age == false or (known_age == true and attr_age > 14))",
            ),
            (
                "age>15",
                "(known_age == false or (known_age == true and attr_age > 15))",
            ),
            (
                "x<1.5",
                "(known_x == false or (known_x == true and attr_x < 1.5))",
            ),
            (
                "x>1.5",
                "(known_x == false or (known_x == true and attr_x > 1.5))",
            ),
            (
                "venue=ACL,a\"b",
                r#"(known_venue == true and attr_venue in ["ACL","a\"b"])"#,
            ),
            (
                "age!=15",
                "not ((known_age == true and (attr_age in [15])))",
            ),
            (
                "year=2015",
                "((known_year == true and (attr_year in [2015])) or \
                 (known_year == true and attr_year > 20149999 and attr_year < 20160000))",
            ),
            (
                "x<=1e30",
                "(known_x == false or (known_x == true and attr_x <= 1e30))",
            ),
            ("venue", "known_venue == true"),
        ] {
            let predicate: Predicate = condition.parse().unwrap();
            let clause = Clause::from_predicate(&predicate, &schema).unwrap();
            assert_eq!(expression(&clause), expected, "{condition}");
        }
        let numbers = Clause::Not(Box::new(Clause::DocIn(vec![1, 4])));
        assert_eq!(expression(&numbers), "n not in [1,4]");
        assert_eq!(expression(&Clause::Always), "");
    }
}
