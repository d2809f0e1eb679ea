//! Configuration of a module after pooling, `config.json` in its folder.

use std::path::Path;

use serde_json::{Map, Value};

use crate::error::ModelError;

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
    serde_json::from_value(Value::Object(config)).map_err(|source| ModelError::Json {
        path: path.into(),
        source,
    })
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

/// Checks that a module reads and writes `expected`: the vector of the text, or the vectors of its
/// tokens. Without names, it does.
pub(super) fn check_names(
    path: &Path,
    expected: &str,
    names: [&Option<String>; 2],
) -> Result<(), ModelError> {
    let fields = ["module_input_name", "module_output_name"].into_iter();
    for (field, name) in fields.zip(names) {
        if let Some(name) = name.as_deref().filter(|&name| name != expected) {
            return Err(ModelError::setting(path, field, expected, name));
        }
    }
    Ok(())
}
