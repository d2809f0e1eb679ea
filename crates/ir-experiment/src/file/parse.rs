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
    let mut key = error.path().to_string();
    let inner = error.inner();
    let mut message = one_line(inner.message());
    if let Some((common, rest)) = key_of_system(&key, &message, source) {
        key = format!("{key}.{common}");
        message = rest.to_owned();
    }
    let mut location = source.location(&key);
    // The span of an error inside of a system is that of the first system.
    if !key.starts_with(SYSTEM)
        && let Some(span) = inner.span()
    {
        location.line = Some(line_at(text, span.start));
    }
    let message = readable(&message);
    if key.is_empty() || key == "." {
        return ExperimentError::Syntax { location, message };
    }
    ExperimentError::Key {
        location,
        key,
        message,
    }
}

/// Start of the path of a system.
const SYSTEM: &str = "systems[";

/// Splits the error of a system, whose deserializer puts a key of the system before the message.
fn key_of_system<'a>(
    path: &str,
    message: &'a str,
    source: &SourceMap,
) -> Option<(&'a str, &'a str)> {
    let (key, rest) = message.split_once(": ")?;
    let is_key = path.starts_with(SYSTEM) && source.has(&format!("{path}.{key}"));
    is_key.then_some((key, rest))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Names the types of serde's error in words of TOML, and adds the closest known name to the error
/// of an unknown field or variant.
pub(crate) fn readable(message: &str) -> String {
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
        "usize" | "u8" | "u16" | "u32" | "u64" => "an integer >= 0",
        "isize" | "i8" | "i16" | "i32" | "i64" => "an integer",
        "f32" | "f64" => "a number",
        "a sequence" => "a list",
        "a map" => "a table",
        kind if kind.starts_with("struct ") && !kind[7..].contains(' ') => "a table",
        kind => kind,
    }
}
