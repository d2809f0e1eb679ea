//! Records that `ir inspect` prints: JSON of the first ones, and types of their attributes.

use std::collections::BTreeMap;

use ir_core::{AttributeValue, Attributes, Document, Query, excerpt};
use serde_json::{Value, json};

use crate::shared::format::grouped;

/// A document, with excerpts of long texts.
pub(super) fn document_json(doc: &Document) -> Value {
    let mut record = json!({"id": doc.id, "text": excerpt(&doc.text)});
    if !doc.title.is_empty() {
        record["title"] = json!(excerpt(&doc.title));
    }
    if !doc.attributes.is_empty() {
        record["attributes"] = attributes_json(&doc.attributes);
    }
    record
}

/// Query with excerpts of its texts.
pub(super) fn query_json(query: &Query) -> Value {
    let mut record = json!({"id": query.id, "text": excerpt(&query.text)});
    if !query.attributes.is_empty() {
        record["attributes"] = attributes_json(&query.attributes);
    }
    record
}

/// Attributes, with excerpts of long texts.
fn attributes_json(attributes: &Attributes) -> Value {
    let attributes = attributes.iter().map(|(name, value)| {
        let value = match value {
            AttributeValue::Text(text) => json!(excerpt(text)),
            other => json!(other),
        };
        (name.to_owned(), value)
    });
    Value::Object(attributes.collect())
}

/// Types of the attributes of records.
#[derive(Default)]
pub(super) struct AttributeTypes(BTreeMap<String, BTreeMap<&'static str, u64>>);

impl AttributeTypes {
    pub(super) fn add(&mut self, attributes: &Attributes) {
        for (name, value) in attributes.iter() {
            let kind = match value {
                AttributeValue::Bool(_) => "truth value",
                AttributeValue::Int(_) => "integer",
                AttributeValue::Float(_) => "number",
                AttributeValue::Text(_) => "text",
                AttributeValue::List(_) => "list",
                AttributeValue::Map(_) => "object",
            };
            let kinds = self.0.entry(name.to_owned()).or_default();
            *kinds.entry(kind).or_default() += 1;
        }
    }

    /// Name and types with their counts.
    pub(super) fn rows(&self) -> impl Iterator<Item = (String, String)> {
        self.0.iter().map(|(name, kinds)| {
            let kinds = kinds
                .iter()
                .map(|(kind, count)| format!("{kind} {}", grouped(*count)));
            let kinds = kinds.collect::<Vec<_>>().join(", ");
            (name.clone(), format!("attribute: {kinds}"))
        })
    }
}
