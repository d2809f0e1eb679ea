//! Texts at paths of METADATA.

use std::collections::BTreeMap;

use ir_core::AttributeValue;

use super::repositories::Repository;

pub(super) type Metadata = BTreeMap<String, AttributeValue>;

/// The texts at a path, in the order of the record. Names are compared without case; lists along
/// the path are searched member by member, and everything below its end counts.
pub(super) fn texts_at(metadata: &Metadata, path: &str, texts: &mut Vec<String>) {
    let (name, rest) = match path.split_once('.') {
        Some((name, rest)) => (name, Some(rest)),
        None => (path, None),
    };
    let members = metadata.iter();
    for (_, value) in members.filter(|(member, _)| member.eq_ignore_ascii_case(name)) {
        match rest {
            Some(rest) => descend(value, rest, texts),
            None => all_texts(value, texts),
        }
    }
}

fn descend(value: &AttributeValue, path: &str, texts: &mut Vec<String>) {
    match value {
        AttributeValue::Map(members) => texts_at(members, path, texts),
        AttributeValue::List(members) => {
            for member in members {
                descend(member, path, texts);
            }
        }
        _ => {}
    }
}

/// All strings and numbers of a value.
pub(super) fn all_texts(value: &AttributeValue, texts: &mut Vec<String>) {
    match value {
        AttributeValue::Text(text) if text.trim().is_empty() => {}
        AttributeValue::Text(text) => texts.push(text.trim().to_owned()),
        AttributeValue::Int(number) => texts.push(number.to_string()),
        AttributeValue::Float(number) => texts.push(number.to_string()),
        AttributeValue::Bool(_) => {}
        AttributeValue::List(members) => {
            for member in members {
                all_texts(member, texts);
            }
        }
        AttributeValue::Map(members) => {
            for member in members.values() {
                all_texts(member, texts);
            }
        }
    }
}

/// Returns `true` if `dataItem.dataTypes`, a list of names of other members, contains `dataset`.
fn has_dataset(metadata: &Metadata) -> bool {
    let mut types = Vec::new();
    texts_at(metadata, "dataItem.dataTypes", &mut types);
    types
        .iter()
        .any(|name| name.eq_ignore_ascii_case("dataset"))
}

/// The name in `dataItem` that is in `dataset` if the record has one.
fn described(path: &str) -> Option<&str> {
    let name = path.strip_prefix("dataItem.")?;
    ["title", "keywords", "description"]
        .contains(&name)
        .then_some(name)
}

/// Texts of a record at the paths of its repository. All texts, if the repository is unknown or the
/// record has no text at the paths. If `dataItem.dataTypes` contains `dataset`, title, keywords and
/// description of `dataset`, where present, replace the ones of `dataItem`.
pub(super) fn texts_of(metadata: &Metadata, key: &str) -> Vec<String> {
    let mut texts = Vec::new();
    if let Some(repository) = Repository::find(key) {
        let is_dataset = has_dataset(metadata);
        for path in repository.paths {
            let before = texts.len();
            if let Some(name) = described(path).filter(|_| is_dataset) {
                texts_at(metadata, &format!("dataset.{name}"), &mut texts);
            }
            if texts.len() == before {
                texts_at(metadata, path, &mut texts);
            }
        }
    }
    if texts.is_empty() {
        for value in metadata.values() {
            all_texts(value, &mut texts);
        }
    }
    texts
}
