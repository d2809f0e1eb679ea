//! Parsing of experiment files.

use std::path::Path;

use ir_system::{Registry, SpecError, parse_toml, read_text};
use serde::Deserialize;

use super::Experiment;

impl Experiment {
    /// Reads an experiment file and [validates](Experiment::validate) it with the built-in types of
    /// systems.
    ///
    /// # Errors
    /// Returns a [`SpecError`] if the file cannot be read, is not TOML, or contains an unknown key
    /// or an invalid value. Errors name file, line and key.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, SpecError> {
        Self::open_with(path, &Registry::default())
    }

    /// Reads an experiment file with the system types of a registry.
    ///
    /// # Errors
    /// Returns the errors of [`Experiment::open`].
    pub fn open_with(path: impl AsRef<Path>, registry: &Registry) -> Result<Self, SpecError> {
        let path = path.as_ref();
        parse(&read_text(path)?, Some(path), registry)
    }

    /// Parses an experiment and validates it with the built-in types of systems. Paths are relative
    /// to the current folder.
    ///
    /// # Errors
    /// Returns the errors of [`Experiment::open`].
    pub fn from_toml(text: &str) -> Result<Self, SpecError> {
        parse(text, None, &Registry::default())
    }
}

/// Version of system files. An experiment file may have their tables.
const VERSION: i64 = 1;

/// Version of a file, read before its other keys.
#[derive(Deserialize)]
struct FileHead {
    version: Option<toml::Value>,
}

fn parse(text: &str, path: Option<&Path>, registry: &Registry) -> Result<Experiment, SpecError> {
    // Another version may have keys that are unknown here.
    let (head, source): (FileHead, _) = parse_toml(text, path)?;
    if let Some(found) = head.version.as_ref().and_then(toml::Value::as_integer)
        && found != VERSION
    {
        let message = format!("expected {VERSION}, found {found}");
        return Err(source.error("version", message));
    }
    let (mut experiment, source): (Experiment, _) = parse_toml(text, path)?;
    experiment.source = source;
    experiment.validate(registry)?;
    Ok(experiment)
}
