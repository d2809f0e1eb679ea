//! Configuration of a module after pooling, `config.json` in its folder.

use std::path::Path;

use serde_json::{Map, Value};

use crate::error::ModelError;
use crate::model_folder::from_value;

/// Parses the `config.json` of a module.
pub(super) fn parse<T: serde::de::DeserializeOwned>(
    path: &Path,
    folder: &Path,
    config: &Option<Map<String, Value>>,
) -> Result<T, ModelError> {
    let config = config.clone().ok_or_else(|| ModelError::MissingFile {
        folder: folder.into(),
        expected: "config.json",
    })?;
    from_value(path, Value::Object(config))
}

pub(super) fn check_input(
    path: &Path,
    field: &str,
    found: usize,
    input: usize,
) -> Result<(), ModelError> {
    if found == input {
        return Ok(());
    }
    let expected = format!("{input}, the dimension of the module before");
    Err(ModelError::setting(path, field, expected, found))
}

/// Name of the vector of a text.
pub(crate) const SENTENCE_EMBEDDING: &str = "sentence_embedding";

/// Checks that a module reads and writes the expected values: the vector of the text, the vectors
/// of its tokens, or scores. By default it reads the first one and writes what it reads.
pub(super) fn check_names(
    path: &Path,
    [reads, writes]: [&str; 2],
    [input, output]: [&Option<String>; 2],
) -> Result<(), ModelError> {
    let input = input.as_deref().unwrap_or(reads);
    let output = output.as_deref().unwrap_or(input);
    for (field, name, expected) in [
        ("module_input_name", input, reads),
        ("module_output_name", output, writes),
    ] {
        if name != expected {
            return Err(ModelError::setting(path, field, expected, name));
        }
    }
    Ok(())
}
