//! Attributes of queries that a system names.

use std::collections::BTreeSet;

use ir_core::Query;

use crate::suggest::{did_you_mean, list_or_none};

/// Returns the error message about an attribute that no query has, or that has no text. It lists
/// the attributes that exist. `None` for an attribute that exists, or without queries.
pub fn unknown_query_attribute(queries: &[Query], name: &str) -> Option<String> {
    let mut texts = queries
        .iter()
        .map(|query| query.attributes.text(name).is_some());
    if queries.is_empty() || texts.any(|has_text| has_text) {
        return None;
    }
    let attributes = queries.iter().flat_map(|query| {
        let names = query.attributes.iter().map(|(name, _)| name);
        names.filter(|name| query.attributes.text(name).is_some())
    });
    let known: BTreeSet<&str> = attributes.collect();
    let hint = did_you_mean(name, known.iter().copied());
    let known = list_or_none(known);
    Some(format!(
        "expected an attribute of the queries ({known}), found {name:?}{hint}"
    ))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn unknown_attributes_are_named_with_the_known_ones() {
        let queries = [
            Query::new("1", "tea").with("task", "brewing"),
            Query::new("2", "milk").with("year", 2010_i64),
        ];
        assert_eq!(unknown_query_attribute(&queries, "task"), None);
        assert_eq!(unknown_query_attribute(&[], "tsak"), None);
        let found = unknown_query_attribute(&queries, "tsak").unwrap();
        assert_eq!(
            found,
            "expected an attribute of the queries (task), found \"tsak\" (did you mean task?)"
        );
        // A number is no text.
        assert!(unknown_query_attribute(&queries, "year").is_some());
        let found = unknown_query_attribute(&queries[1..], "task").unwrap();
        assert!(found.contains("(none)"), "{found}");
    }
}
