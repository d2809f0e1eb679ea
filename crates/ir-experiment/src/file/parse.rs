//! Parsing of experiment files.

use std::fs;
use std::path::Path;

use toml::de::DeTable;

use super::source::line_at;
use super::{Experiment, SourceMap};
use crate::error::{ExperimentError, Location};
use crate::registry::Registry;
use crate::suggest::did_you_mean;

impl Experiment {
    /// Reads an experiment file and [validates](Experiment::validate) it with the built-in types of
    /// systems.
    ///
    /// # Errors
    /// The file cannot be read, is not TOML, or has an unknown key or an invalid value. Errors name
    /// file, line and key.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ExperimentError> {
        Self::open_with(path, &Registry::default())
    }

    /// Reads an experiment file whose systems have the types of a registry.
    ///
    /// # Errors
    /// As [`Experiment::open`].
    pub fn open_with(path: impl AsRef<Path>, registry: &Registry) -> Result<Self, ExperimentError> {
        let path = path.as_ref();
        let text = fs::read_to_string(path).map_err(|source| ExperimentError::Read {
            path: path.to_owned(),
            source,
        })?;
        parse(&text, Some(path), registry)
    }

    /// Parses an experiment and validates it with the built-in types of systems. Paths are relative
    /// to the current folder.
    ///
    /// # Errors
    /// As [`Experiment::open`].
    pub fn from_toml(text: &str) -> Result<Self, ExperimentError> {
        parse(text, None, &Registry::default())
    }
}

fn parse(
    text: &str,
    path: Option<&Path>,
    registry: &Registry,
) -> Result<Experiment, ExperimentError> {
    let syntax = |error: &toml::de::Error| ExperimentError::Syntax {
        location: Location {
            path: path.map(Path::to_owned),
            line: error.span().map(|span| line_at(text, span.start)),
        },
        message: one_line(error.message()),
    };
    let root = DeTable::parse(text).map_err(|error| syntax(&error))?;
    let source = SourceMap::new(path, text, &root);
    let document = toml::Deserializer::parse(text).map_err(|error| syntax(&error))?;
    let mut experiment: Experiment = serde_path_to_error::deserialize(document)
        .map_err(|error| key_error(&error, &source, text))?;
    experiment.source = source;
    experiment.validate(registry)?;
    Ok(experiment)
}

/// Error of a value that does not have the type of its key.
fn key_error(
    error: &serde_path_to_error::Error<toml::de::Error>,
    source: &SourceMap,
    text: &str,
) -> ExperimentError {
    let key = error.path().to_string();
    let inner = error.inner();
    let mut location = source.location(&key);
    if let Some(span) = inner.span() {
        location.line = Some(line_at(text, span.start));
    }
    let message = with_suggestion(&one_line(inner.message()));
    if key.is_empty() || key == "." {
        return ExperimentError::Syntax { location, message };
    }
    ExperimentError::Key {
        location,
        key,
        message,
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Adds the closest known name to serde's error of an unknown field or variant.
pub(crate) fn with_suggestion(message: &str) -> String {
    let mut names = message.split('`').skip(1).step_by(2);
    let hint = match (message.starts_with("unknown "), names.next()) {
        (true, Some(found)) => did_you_mean(found, names),
        _ => String::new(),
    };
    format!("{message}{hint}")
}
