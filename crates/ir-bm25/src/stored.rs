//! What is stored of a document.

use ir_core::{Attributes, Document, Value};

use crate::Store;
use crate::codec::{Input, put};

/// Appends the stored form. The name of an attribute with a number that JSON cannot hold is the error.
pub(crate) fn write(doc: &Document, store: Store, to: &mut Vec<u8>) -> Result<(), String> {
    if store == Store::Nothing {
        return Ok(());
    }
    if store == Store::Everything {
        for part in [&doc.title, &doc.text] {
            put(to, part.len() as u64);
            to.extend(part.as_bytes());
        }
    }
    if doc.attributes.is_empty() {
        return Ok(());
    }
    if let Some((name, _)) = doc.attributes.iter().find(|(_, value)| !finite(value)) {
        return Err(name.to_owned());
    }
    // Finite numbers and string keys: there is nothing that could fail but memory.
    serde_json::to_writer(to, &doc.attributes).map_err(|error| error.to_string())
}

fn finite(value: &Value) -> bool {
    match value {
        Value::Float(x) => x.is_finite(),
        Value::List(members) => members.iter().all(finite),
        Value::Map(members) => members.values().all(finite),
        _ => true,
    }
}

pub(crate) fn document(id: &str, bytes: &[u8]) -> Option<Document> {
    let mut input = Input::new(bytes);
    let mut text = || Some(std::str::from_utf8(input.sized()?).ok()?.to_owned());
    let mut doc = Document::new(id).with_title(text()?).with_text(text()?);
    doc.attributes = json(input.rest())?;
    Some(doc)
}

pub(crate) fn attributes(store: Store, bytes: &[u8]) -> Option<Attributes> {
    let mut input = Input::new(bytes);
    if store == Store::Everything {
        input.sized()?;
        input.sized()?;
    }
    json(input.rest())
}

fn json(bytes: &[u8]) -> Option<Attributes> {
    if bytes.is_empty() {
        return Some(Attributes::new());
    }
    serde_json::from_slice(bytes).ok()
}
