//! First records of a file as JSON.

use ir_core::{AttributeValue, Attributes, Document, Query, excerpt};
use serde_json::{Value, json};

/// Document with excerpts of its texts.
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
