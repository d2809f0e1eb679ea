//! Stored fields: encoding of a document's title, text and attributes.
//!
//! With [`StoredFields::Everything`]: title and text, each preceded by its length as a varint.
//! Then, unless there are none, the attributes as JSON.

use ir_core::store::{ByteReader, write_varint};
use ir_core::{AttributeValue, Attributes, Document};

use crate::StoredFields;

/// Appends the stored fields of a document. The error is the name of an attribute with a number
/// that JSON cannot represent.
pub(crate) fn write(doc: &Document, stored: StoredFields, to: &mut Vec<u8>) -> Result<(), String> {
    if stored == StoredFields::Nothing {
        return Ok(());
    }
    if stored == StoredFields::Everything {
        for text in [&doc.title, &doc.text] {
            write_varint(to, text.len() as u64);
            to.extend(text.as_bytes());
        }
    }
    if doc.attributes.is_empty() {
        return Ok(());
    }
    if let Some((name, _)) = doc.attributes.iter().find(|(_, value)| !is_finite(value)) {
        return Err(name.to_owned());
    }
    // Finite numbers and string keys always serialize.
    serde_json::to_writer(to, &doc.attributes).map_err(|error| error.to_string())
}

fn is_finite(value: &AttributeValue) -> bool {
    match value {
        AttributeValue::Float(x) => x.is_finite(),
        AttributeValue::List(members) => members.iter().all(is_finite),
        AttributeValue::Map(members) => members.values().all(is_finite),
        _ => true,
    }
}

/// Decodes a document written with [`StoredFields::Everything`]. [`None`] if damaged.
pub(crate) fn document(id: &str, bytes: &[u8]) -> Option<Document> {
    let mut reader = ByteReader::new(bytes);
    let mut text = || Some(std::str::from_utf8(reader.sized()?).ok()?.to_owned());
    let mut doc = Document::new(id).with_title(text()?).with_text(text()?);
    doc.attributes = parse_attributes(reader.rest())?;
    Some(doc)
}

/// Decodes only the attributes of a document. [`None`] if damaged.
pub(crate) fn attributes(stored: StoredFields, bytes: &[u8]) -> Option<Attributes> {
    let mut reader = ByteReader::new(bytes);
    if stored == StoredFields::Everything {
        reader.sized()?;
        reader.sized()?;
    }
    parse_attributes(reader.rest())
}

fn parse_attributes(bytes: &[u8]) -> Option<Attributes> {
    if bytes.is_empty() {
        return Some(Attributes::new());
    }
    serde_json::from_slice(bytes).ok()
}
