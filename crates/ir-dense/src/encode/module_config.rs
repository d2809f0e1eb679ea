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

/// Checks that a module reads and writes the vector of the text.
pub(super) fn check_names(
    path: &Path,
    input: &Option<String>,
    output: &Option<String>,
) -> Result<(), ModelError> {
    let expected = "sentence_embedding";
    let names = [("module_input_name", input), ("module_output_name", output)];
    for (field, name) in names {
        if let Some(name) = name.as_deref().filter(|&name| name != expected) {
            return Err(ModelError::setting(path, field, expected, name));
        }
    }
    Ok(())
}
