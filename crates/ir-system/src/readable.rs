//! Messages of serde in words of the formats.

use ir_data::parser_message;
use toml::{Table, Value};

use crate::suggest::did_you_mean;

/// Names the types of serde's error as [`parser_message`] does, and adds the closest known name to
/// the error of an unknown field or variant.
pub fn readable(message: &str, object: &str) -> String {
    let mut names = message.split('`').skip(1).step_by(2);
    if message.starts_with("unknown ") {
        let hint = names
            .next()
            .map_or_else(String::new, |found| did_you_mean(found, names));
        return format!("{}{hint}", parser_message(message, object));
    }
    parser_message(message, object)
}

/// [`readable`] for a key of a table, with the value of the key if serde does not name it.
pub(crate) fn readable_of_key(message: &str, root: &Table, key: &str) -> String {
    let message = readable(message, "a table");
    match value_at(root, key) {
        Some(value) if message == "expected a string or a table" => {
            format!("{message}, found {}", value_name(value))
        }
        _ => message,
    }
}

/// Value of a key, such as `systems[0].analyzer`.
fn value_at<'v>(root: &'v Table, key: &str) -> Option<&'v Value> {
    let mut parts = key.split(['.', '[']);
    let mut value = root.get(parts.next()?)?;
    for part in parts {
        value = match part.strip_suffix(']') {
            Some(index) => value.get(index.parse::<usize>().ok()?)?,
            None => value.get(part)?,
        };
    }
    Some(value)
}

fn value_name(value: &Value) -> String {
    match value {
        Value::Array(_) => "a list".to_owned(),
        Value::Table(_) => "a table".to_owned(),
        Value::String(text) => format!("{text:?}"),
        other => other.to_string(),
    }
}
