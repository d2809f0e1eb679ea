//! TOML files, with errors that name file, line and key.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use serde::de::DeserializeOwned;
use toml::de::DeTable;

use crate::error::{Location, SpecError};
use crate::readable::readable_of_key;
use crate::source::{SourceMap, line_at};

/// Maximum size of a file that [`read_text`] reads, in bytes.
pub const MAX_TEXT: u64 = 16 << 20;

/// Reads a file as text, such as a system file, without its byte order mark: at most [`MAX_TEXT`]
/// bytes, uncompressed or compressed with gzip or zstd.
///
/// # Errors
/// Returns [`SpecError::Read`] if the file cannot be read, is larger, or is not UTF-8.
pub fn read_text(path: &Path) -> Result<String, SpecError> {
    let read = || {
        let mut bytes = Vec::new();
        let file = BufReader::new(File::open(path)?);
        let file = ir_data::decompress(file, &path.display().to_string())?;
        file.take(MAX_TEXT + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MAX_TEXT {
            return Err(io::Error::other("expected at most 16 MiB, found more"));
        }
        let text = String::from_utf8(bytes);
        let text = text.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        Ok(match text.strip_prefix('\u{feff}') {
            Some(unmarked) => unmarked.to_owned(),
            None => text,
        })
    };
    read().map_err(|source| SpecError::Read {
        path: path.to_owned(),
        source,
    })
}

/// Parses TOML into a value, and returns the positions of its keys. `path` is the file of the text.
///
/// # Errors
/// Returns [`SpecError::Syntax`] for text that is not TOML, and [`SpecError::Key`] for an unknown
/// key or a value of another type.
fn parse_toml<T: DeserializeOwned>(
    text: &str,
    path: Option<&Path>,
) -> Result<(T, SourceMap), SpecError> {
    let syntax = |error: &toml::de::Error| SpecError::Syntax {
        location: Location {
            path: path.map(Path::to_owned),
            line: error.span().map(|span| line_at(text, span.start)),
        },
        message: one_line(error.message()),
    };
    let root = DeTable::parse(text).map_err(|error| syntax(&error))?;
    let source = SourceMap::new(path, text, &root);
    let document = toml::Deserializer::parse(text).map_err(|error| syntax(&error))?;
    let value = serde_path_to_error::deserialize(document)
        .map_err(|error| key_error(&error, &source, text))?;
    Ok((value, source))
}

/// Version of system files and experiment files.
pub const FILE_VERSION: u32 = 1;

/// Parses TOML into a value and the lines of its keys. The key `version` is read first: a file of
/// another version may have keys that are unknown here.
///
/// # Errors
/// Returns [`SpecError::Syntax`] for text that is not TOML, and [`SpecError::Key`] for another
/// version than [`FILE_VERSION`], an unknown key or a value of another type.
pub fn parse_versioned_toml<T: DeserializeOwned>(
    text: &str,
    path: Option<&Path>,
) -> Result<(T, SourceMap), SpecError> {
    let (head, source): (toml::Table, _) = parse_toml(text, path)?;
    let version = head.get("version").and_then(toml::Value::as_integer);
    if let Some(found) = version.filter(|&found| found != i64::from(FILE_VERSION)) {
        let message = format!("expected {FILE_VERSION}, found {found}");
        return Err(source.error("version", message));
    }
    parse_toml(text, path)
}

/// Error of a value that does not have the type of its key.
fn key_error(
    error: &serde_path_to_error::Error<toml::de::Error>,
    source: &SourceMap,
    text: &str,
) -> SpecError {
    let mut key = error.path().to_string();
    let inner = error.inner();
    let mut message = one_line(inner.message());
    if let Some((common, rest)) = key_of_system(&key, &message, source) {
        key = format!("{key}.{common}");
        message = rest.to_owned();
    }
    let mut location = source.location(&key);
    // The span of an error inside of a system is the span of the first system.
    if !key.starts_with(SYSTEM)
        && let Some(span) = inner.span()
    {
        location.line = Some(line_at(text, span.start));
    }
    let root: toml::Table = text.parse().unwrap_or_default();
    let message = readable_of_key(&message, &root, &key);
    if key.is_empty() || key == "." {
        return SpecError::Syntax { location, message };
    }
    SpecError::Key {
        location,
        key,
        message,
    }
}

/// Start of the path of a system.
const SYSTEM: &str = "systems[";

/// Splits the error of a system. Its deserializer puts a key of the system before the message.
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
