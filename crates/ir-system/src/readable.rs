//! Messages of serde in words of TOML.

use crate::suggest::did_you_mean;

/// Names the types of serde's error in words of TOML, and adds the closest known name to the error
/// of an unknown field or variant.
pub fn readable(message: &str) -> String {
    let mut names = message.split('`').skip(1).step_by(2);
    if message.starts_with("unknown ") {
        let hint = names
            .next()
            .map_or_else(String::new, |found| did_you_mean(found, names));
        return format!("{message}{hint}");
    }
    match message.rsplit_once("expected ") {
        Some((start, kind)) => format!("{start}expected {}", type_name(kind)),
        None => message.to_owned(),
    }
}

/// Name of a type for users.
fn type_name(kind: &str) -> &str {
    match kind {
        "usize" | "u8" | "u16" | "u32" | "u64" | "u128" => "an integer >= 0",
        "isize" | "i8" | "i16" | "i32" | "i64" | "i128" => "an integer",
        "f32" | "f64" => "a number",
        "a sequence" => "a list",
        "a map" => "a table",
        kind if kind.starts_with("struct ") && !kind[7..].contains(' ') => "a table",
        kind => kind,
    }
}
