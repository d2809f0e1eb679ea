//! Mapping and settings of an index that exists, beside those that loading creates.

use serde_json::{Map, Value, json};

use super::{ATTRIBUTES, CONTENTS, KNOWN, VECTOR};
use crate::EngineKind;

/// Returns the first difference between the body that would create an index and the mapping and
/// settings of an existing index: `mapping` or `setting`, expected and found.
///
/// Members that the body does not have are ignored, because engines add members. Fields of this
/// crate and the graph of vectors are compared even if the body does not have them. The number of
/// shards is not compared: the administrator chooses it.
pub(super) fn difference(
    engine: EngineKind,
    body: &Value,
    mapping: &Value,
    settings: &Value,
) -> Option<(&'static str, String, String)> {
    let mut expected = body["mappings"].clone();
    if let Some(members) = expected.as_object_mut() {
        members.remove("_meta");
    }
    let properties = &mut expected["properties"];
    for name in [CONTENTS, VECTOR, ATTRIBUTES, KNOWN] {
        expect_absent(properties, name);
    }
    if engine == EngineKind::OpenSearch && properties[VECTOR].is_object() {
        expect_absent(&mut properties[VECTOR], "method");
    }
    let others = mapping.pointer(&format!("/properties/{ATTRIBUTES}/properties"));
    if let (Some(others), true) = (others, properties[ATTRIBUTES].is_object()) {
        for name in others.as_object().into_iter().flat_map(Map::keys) {
            expect_absent(&mut properties[ATTRIBUTES]["properties"], name);
        }
    }
    if let Some((path, expected, found)) = first_difference("", &expected, mapping) {
        return Some(("mapping", format!("{path} = {expected}"), found));
    }
    let mut expected = json!({});
    for (name, value) in body["settings"].as_object().into_iter().flatten() {
        if name != "number_of_shards" {
            expected[name.trim_start_matches("index.")] = value.clone();
        }
    }
    let (path, expected, found) = first_difference("", &expected, &settings["index"])?;
    Some(("setting", format!("{path} = {expected}"), found))
}

fn expect_absent(object: &mut Value, name: &str) {
    if let Some(members) = object.as_object_mut() {
        members.entry(name).or_insert(Value::Null);
    }
}

/// Path, expected and found of the first member that differs. A member `null` is expected to be
/// absent.
fn first_difference(
    path: &str,
    expected: &Value,
    found: &Value,
) -> Option<(String, String, String)> {
    match expected {
        Value::Object(members) if found.is_object() => members.iter().find_map(|(name, value)| {
            let path = match path {
                "" => name.clone(),
                path => format!("{path}.{name}"),
            };
            first_difference(&path, value, &found[name])
        }),
        _ if is_same(expected, found) => None,
        _ => Some((path.to_owned(), text(expected), text(found))),
    }
}

/// Returns `true` if two values are the same. Scalars of settings are strings: `"0.9"` for 0.9.
fn is_same(expected: &Value, found: &Value) -> bool {
    match (expected, found) {
        (Value::Array(expected), Value::Array(found)) => {
            let mut pairs = expected.iter().zip(found);
            expected.len() == found.len() && pairs.all(|(one, other)| is_same(one, other))
        }
        // Elasticsearch before 8.11 leaves out `index: false`, its default.
        (Value::Bool(false), Value::Null) => true,
        (Value::Number(_), _) => {
            let number = |value: &Value| text(value).parse::<f64>().ok();
            matches!((number(expected), number(found)), (Some(one), Some(other)) if one == other)
        }
        (Value::Bool(_) | Value::String(_), Value::Bool(_) | Value::String(_)) => {
            text(expected) == text(found)
        }
        _ => expected == found,
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string().chars().take(200).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_of_settings_are_strings() {
        let same = |expected: Value, found: Value| is_same(&expected, &found);
        assert!(same(json!(0.9), json!("0.9")) && same(json!(1.0), json!("1")));
        assert!(same(json!(16), json!(16)) && same(json!(true), json!("true")));
        assert!(same(json!(["a", "b"]), json!(["a", "b"])));
        assert!(!same(json!(0.9), json!("0.8")) && !same(json!(0.9), Value::Null));
        assert!(!same(json!(["a"]), json!(["a", "b"])) && !same(json!(true), json!("false")));
        assert!(same(json!(false), Value::Null) && !same(json!(true), Value::Null));
        assert!(!same(json!("long"), json!({"type": "long"})));
        assert!(same(Value::Null, Value::Null) && !same(Value::Null, json!({})));
    }
}
