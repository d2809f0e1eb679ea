//! Messages of serde in words of the formats.

/// Rewrites a message of serde: types of Rust and of serde's data model become types of the format,
/// what was expected comes first, and the position is left out. `object` is the name of a map in
/// the format: `an object` or `a table`.
///
/// ```
/// use ir_data::parser_message;
/// let error = serde_json::from_str::<Vec<u8>>("{}").unwrap_err();
/// assert_eq!(parser_message(&error.to_string(), "an object"), "expected a list, found an object");
/// ```
#[must_use]
pub fn parser_message(message: &str, object: &str) -> String {
    let message = without_position(message);
    if let Some(message) = enum_message(message, object) {
        return message;
    }
    let wrong = ["invalid type: ", "invalid value: ", "invalid length "];
    let found = wrong.iter().find_map(|start| message.strip_prefix(start));
    // The found value may contain any text, what is expected does not.
    if let Some((found, expected)) = found.and_then(|rest| rest.rsplit_once(", expected ")) {
        let found = found_name(found, object);
        let expected = match integer_name(expected, &found) {
            Some(name) => name,
            None => type_name(expected, object),
        };
        return format!("expected {expected}, found {found}");
    }
    match message.rsplit_once("expected ") {
        Some((start, expected)) => {
            let name = integer_name(expected, "").unwrap_or_else(|| type_name(expected, object));
            format!("{start}expected {name}")
        }
        None => message.to_owned(),
    }
}

/// Message without ` at line 1 column 2` at its end.
fn without_position(message: &str) -> &str {
    let Some((text, position)) = message.rsplit_once(" at line ") else {
        return message;
    };
    let is_number = |text: &str| text.parse::<u64>().is_ok();
    match position.split_once(" column ") {
        Some((line, column)) if is_number(line) && is_number(column) => text,
        _ => message,
    }
}

/// Rewrites a message about the variant of an enum; `None` for other messages.
fn enum_message(message: &str, object: &str) -> Option<String> {
    if let Some(rest) = message.strip_prefix("unknown variant ") {
        let (found, expected) = rest.rsplit_once(", expected ")?;
        return Some(format!("expected {expected}, found {found}"));
    }
    Some(match message {
        "invalid type: unit variant, expected string only" | "wanted string or table" => {
            format!("expected a string or {object}")
        }
        "wanted exactly 1 element, found 0 elements" | "invalid type: map, expected enum" => {
            format!("expected {object} with one key, found none")
        }
        "wanted exactly 1 element, more than 1 element" => {
            format!("expected {object} with one key, found several")
        }
        _ if message.starts_with("data did not match any variant of untagged enum ") => {
            "expected a value of another type".to_owned()
        }
        _ => return None,
    })
}

/// Name of an expected integer, with the bound that a found number exceeds; `None` for other types.
fn integer_name(expected: &str, found: &str) -> Option<String> {
    let integer = found.parse::<i128>();
    // The parser of TOML reads integers of 64 bits into any value.
    if matches!(expected, "any valid TOML value" | "f32" | "f64") {
        return integer.is_ok().then(|| "an integer of 64 bits".to_owned());
    }
    let (name, is_nonzero) = match expected.strip_prefix("a nonzero ") {
        Some(name) => (name, true),
        None => (expected, false),
    };
    let bits = match name.get(1..)? {
        "8" => 8,
        "16" => 16,
        "32" => 32,
        "64" | "size" => 64,
        "128" => 128,
        _ => return None,
    };
    let (minimum, maximum) = match name.get(..1)? {
        "u" => (i128::from(is_nonzero), i128::MAX >> (127 - bits.min(127))),
        "i" => {
            let maximum = i128::MAX >> (128 - bits);
            (-maximum - 1, maximum)
        }
        _ => return None,
    };
    let is_above = match integer {
        Ok(integer) => integer > maximum,
        // Numbers beyond 64 bits are read as fractions.
        Err(_) => found
            .parse::<f64>()
            .is_ok_and(|number| number > maximum as f64),
    };
    let is_below = integer.is_ok_and(|integer| integer < minimum);
    Some(if is_above || (is_below && minimum < 0) {
        format!("an integer from {minimum} to {maximum}")
    } else if minimum >= 0 {
        format!("an integer >= {minimum}")
    } else if is_nonzero {
        "an integer other than 0".to_owned()
    } else {
        "an integer".to_owned()
    })
}

/// Name of another expected type.
fn type_name(expected: &str, object: &str) -> String {
    let name = match expected {
        "f32" | "f64" => "a number",
        "a sequence" => "a list",
        "a map" => object,
        "string or map" => return format!("a string or {object}"),
        "unit" => "null",
        "unit variant" => "a string",
        "newtype variant" | "tuple variant" => object,
        _ if expected.starts_with("struct ") => object,
        _ => {
            let lists = ["a tuple of size ", "an array of length "];
            let length = lists.iter().find_map(|list| expected.strip_prefix(list));
            return length.map_or(expected.to_owned(), |length| {
                format!("a list of {length} values")
            });
        }
    };
    name.to_owned()
}

/// Name of a found value.
fn found_name(found: &str, object: &str) -> String {
    // Integers of more than 64 bits.
    let wide = [" as i128", " as u128"];
    let wide = wide.iter().find_map(|end| found.strip_suffix(end));
    let found = wide
        .filter(|it| it.starts_with("integer `"))
        .unwrap_or(found);
    let quoted = |kind: &str| found.strip_prefix(kind)?.strip_suffix('`');
    let number = ["integer `", "floating point `", "boolean `", "character `"];
    if let Some(value) = number.iter().find_map(|kind| quoted(kind)) {
        return value.to_owned();
    }
    match found {
        "sequence" => "a list".to_owned(),
        "unit variant" => "a string".to_owned(),
        "map" | "newtype struct" | "newtype variant" | "tuple variant" | "struct variant" => {
            object.to_owned()
        }
        "null" | "unit value" | "Option value" => "null".to_owned(),
        _ => found.strip_prefix("string ").unwrap_or(found).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde::de::DeserializeOwned;

    use super::*;

    fn message<T: DeserializeOwned>(json: &str) -> String {
        let error = serde_json::from_str::<T>(json).err().unwrap();
        parser_message(&error.to_string(), "an object")
    }

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code, reason = "only its errors are read")]
    struct Record {
        name: String,
        #[serde(default)]
        count: Option<i128>,
    }

    #[derive(Deserialize, Debug)]
    #[serde(rename_all = "lowercase")]
    #[allow(dead_code, reason = "only its errors are read")]
    enum Choice {
        Plain,
        Number(u8),
        Named { size: u8 },
    }

    #[test]
    fn variants_are_values() {
        assert_eq!(
            message::<Choice>("\"x\""),
            "expected one of `plain`, `number`, `named`, found `x`"
        );
        assert_eq!(
            message::<Choice>("\"number\""),
            "expected an object, found a string"
        );
        assert_eq!(
            message::<Choice>("\"named\""),
            "expected an object, found a string"
        );
        for (serde, expected) in [
            (
                "invalid type: unit variant, expected string only",
                "expected a string or a table",
            ),
            ("wanted string or table", "expected a string or a table"),
            (
                "invalid type: map, expected enum",
                "expected a table with one key, found none",
            ),
            (
                "wanted exactly 1 element, more than 1 element",
                "expected a table with one key, found several",
            ),
            (
                "invalid type: unit variant, expected newtype variant",
                "expected a table, found a string",
            ),
            (
                "data did not match any variant of untagged enum Choice",
                "expected a value of another type",
            ),
        ] {
            assert_eq!(parser_message(serde, "a table"), expected);
        }
    }

    #[test]
    fn types_are_those_of_json() {
        for (found, expected) in [
            (message::<Record>("3"), "expected an object, found 3"),
            (
                message::<Record>("\"a\""),
                "expected an object, found \"a\"",
            ),
            (
                message::<Record>(r#"{"name": {}}"#),
                "expected a string, found an object",
            ),
            (
                message::<Record>(r#"{"name": [1]}"#),
                "expected a string, found a list",
            ),
            (
                message::<Record>(r#"{"name": null}"#),
                "expected a string, found null",
            ),
            (
                message::<Record>(r#"{"name": 1.5}"#),
                "expected a string, found 1.5",
            ),
            (
                message::<Record>(r#"{"name": "a", "count": "x"}"#),
                "invalid number",
            ),
            (message::<Record>("{}"), "missing field `name`"),
            (
                message::<Record>(r#"{"x": 1}"#),
                "unknown field `x`, expected `name` or `count`",
            ),
            (message::<usize>("-1"), "expected an integer >= 0, found -1"),
            (
                message::<u8>("true"),
                "expected an integer >= 0, found true",
            ),
            (
                message::<u32>("99999999999"),
                "expected an integer from 0 to 4294967295, found 99999999999",
            ),
            (
                message::<i8>("-129"),
                "expected an integer from -128 to 127, found -129",
            ),
            (message::<i64>("1.5"), "expected an integer, found 1.5"),
            (message::<u8>("1.5"), "expected an integer >= 0, found 1.5"),
            (
                message::<std::num::NonZeroU16>("0"),
                "expected an integer >= 1, found 0",
            ),
            (
                message::<std::num::NonZeroU16>("65536"),
                "expected an integer from 1 to 65535, found 65536",
            ),
            (message::<f32>("[]"), "expected a number, found a list"),
            (
                message::<bool>("\"expected , expected x\""),
                "expected a boolean, found \"expected , expected x\"",
            ),
            (message::<Record>("{"), "EOF while parsing an object"),
            (
                message::<(u8, u8)>("[1]"),
                "expected a list of 2 values, found 1",
            ),
        ] {
            assert_eq!(found, expected);
        }
        let toml = parser_message("invalid type: map, expected a string", "a table");
        assert_eq!(toml, "expected a string, found a table");
        for (expected, words) in [
            ("any valid TOML value", "an integer of 64 bits"),
            ("f32", "an integer of 64 bits"),
            ("u32", "an integer from 0 to 4294967295"),
            ("a string", "a string"),
        ] {
            let message = format!(
                "invalid type: integer `99999999999999999999` as i128, expected {expected}"
            );
            assert_eq!(
                parser_message(&message, "a table"),
                format!("expected {words}, found 99999999999999999999")
            );
        }
        let large = message::<u64>("99999999999999999999");
        let expected = "expected an integer from 0 to 18446744073709551615, found 1";
        assert!(large.starts_with(expected), "{large}");
        // A position in the text of a message stays.
        assert_eq!(parser_message("bad at line 1", "a table"), "bad at line 1");
    }
}
