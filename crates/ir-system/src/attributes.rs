//! Attributes of queries that a system names.

use std::collections::BTreeSet;

use ir_core::Query;

use crate::suggest::did_you_mean;

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
    let known = if known.is_empty() {
        "none".to_owned()
    } else {
        known.into_iter().collect::<Vec<_>>().join(", ")
    };
    Some(format!(
        "expected an attribute of the queries ({known}), found {name:?}{hint}"
    ))
}
