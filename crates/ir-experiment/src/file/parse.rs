//! Parsing of experiment files.

use std::path::Path;

use ir_system::{Registry, SpecError, parse_versioned_toml, read_text};

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

fn parse(text: &str, path: Option<&Path>, registry: &Registry) -> Result<Experiment, SpecError> {
    let (mut experiment, source): (Experiment, _) = parse_versioned_toml(text, path)?;
    experiment.source = source;
    experiment.validate(registry)?;
    Ok(experiment)
}
