//! Messages of serde in words of the formats.

use ir_data::parser_message;

use crate::suggest::did_you_mean;

/// Names the types of serde's error as [`parser_message`] does, and adds the closest known name to
/// the error of an unknown field or variant.
pub fn readable(message: &str, object: &str) -> String {
    let mut names = message.split('`').skip(1).step_by(2);
    if message.starts_with("unknown ") {
        let hint = names
            .next()
            .map_or_else(String::new, |found| did_you_mean(found, names));
        return format!("{message}{hint}");
    }
    parser_message(message, object)
}
