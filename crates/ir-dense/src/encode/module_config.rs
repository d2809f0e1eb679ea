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

/// Checks that a module reads the vector of the text and writes `expected`; by default it writes
/// what it reads.
pub(super) fn check_names(
    path: &Path,
    input: &Option<String>,
    output: &Option<String>,
    expected: &str,
) -> Result<(), ModelError> {
    let input = input.as_deref().unwrap_or(SENTENCE_EMBEDDING);
    let output = output.as_deref().unwrap_or(input);
    for (field, name, expected) in [
        ("module_input_name", input, SENTENCE_EMBEDDING),
        ("module_output_name", output, expected),
    ] {
        if name != expected {
            return Err(ModelError::setting(path, field, expected, name));
        }
    }
    Ok(())
}
