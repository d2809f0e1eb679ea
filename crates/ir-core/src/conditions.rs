//! Conditions as files and requests write them.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::predicate::Predicate;

/// Conditions of a file or a request, which documents must all satisfy: a text such as
/// `year>=2015`, a [`Predicate`] as a map, or a list of these.
///
/// ```
/// use ir_core::{Conditions, Predicate};
/// let text: Conditions = serde_json::from_str(r#""year>=2015""#)?;
/// let list: Conditions = serde_json::from_str(r#"["year>=2015", {"known": {"name": "doi"}}]"#)?;
/// let year: Predicate = "year>=2015".parse()?;
/// assert_eq!(Predicate::from(text), year);
/// assert_eq!(Predicate::from(list), Predicate::All(vec![year, "doi".parse()?]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Conditions(pub Vec<Predicate>);

impl From<Conditions> for Predicate {
    fn from(Conditions(mut all): Conditions) -> Self {
        match all.len() {
            1 => all.swap_remove(0),
            _ => Self::All(all),
        }
    }
}

impl<'de> Deserialize<'de> for Conditions {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        input.deserialize_any(ConditionsVisitor).map(Self)
    }
}

struct ConditionsVisitor;

impl<'de> Visitor<'de> for ConditionsVisitor {
    type Value = Vec<Predicate>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a condition such as \"year>=2015\", a list of conditions or a predicate")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Vec<Predicate>, E> {
        Ok(vec![text.parse::<Predicate>().map_err(E::custom)?])
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<Predicate>, A::Error> {
        let mut all = Vec::new();
        while let Some(Conditions(some)) = list.next_element()? {
            all.extend(some);
        }
        Ok(all)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vec<Predicate>, A::Error> {
        let predicate = Predicate::deserialize(MapAccessDeserializer::new(&mut map))?;
        if map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
            return Err(A::Error::custom(
                "expected a predicate with one key, found several",
            ));
        }
        Ok(vec![predicate])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<Predicate, String> {
        let conditions = serde_json::from_str::<Conditions>(json);
        conditions
            .map(Predicate::from)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn texts_lists_and_predicates() {
        let (since, known) = ("year>2015".parse().unwrap(), "doi".parse().unwrap());
        let both = Predicate::All(vec![since, known]);
        for json in [
            r#"["year>2015", "doi"]"#,
            r#"["year>2015", {"known": {"name": "doi"}}]"#,
            r#"[{"at_least": {"name": "year", "limit": 2015, "strict": true}}, "doi"]"#,
            r#"{"all": [{"at_least": {"name": "year", "limit": 2015, "strict": true}},
                        {"known": {"name": "doi"}}]}"#,
        ] {
            assert_eq!(read(json), Ok(both.clone()), "{json}");
        }
        assert_eq!(read("[]"), Ok(Predicate::All(Vec::new())));
        // As versions without strict ranges wrote it.
        assert_eq!(
            read(r#"{"at_most": {"name": "year", "limit": 2015}}"#),
            Ok("year<=2015".parse().unwrap())
        );
        let written = serde_json::to_string(&both).unwrap();
        assert_eq!(read(&written), Ok(both));
    }

    #[test]
    fn errors_name_what_is_expected() {
        for (json, expected) in [
            (r#""year=>2015""#, "expected NAME<=LIMIT"),
            (r#"["doi", "year>=soon"]"#, "found \"year>=soon\""),
            ("5", "expected a condition such as \"year>=2015\""),
            ("[5]", "expected a condition such as \"year>=2015\""),
            ("{}", "expected enum"),
            (r#"{"most": {}}"#, "unknown variant `most`"),
            (
                r#"{"known": {"name": "doi"}, "all": []}"#,
                "with one key, found several",
            ),
            (
                r#"{"at_most": {"name": "year", "limit": "soon"}}"#,
                "expected a number or a date",
            ),
            (
                r#"{"at_most": {"name": "year", "limit": 2015, "strikt": true}}"#,
                "unknown field `strikt`",
            ),
        ] {
            let error = read(json).unwrap_err();
            assert!(error.contains(expected), "{json}: {error}");
        }
    }
}
