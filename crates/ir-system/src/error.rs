//! Errors of systems and of the files that describe them, with file, line and key.

use std::fmt;
use std::io;
use std::path::PathBuf;

use ir_core::EncodeError;
use ir_data::DataError;

use crate::suggest::did_you_mean;

/// Position of a key in a system or experiment file.
///
/// Displayed as `path:line: `, or as nothing for a value that was built in memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Location {
    /// Path of the file as it was given.
    pub path: Option<PathBuf>,
    /// Line number, from 1.
    pub line: Option<usize>,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.path, self.line) {
            (Some(path), Some(line)) => write!(f, "{}:{line}: ", path.display()),
            (Some(path), None) => write!(f, "{}: ", path.display()),
            (None, Some(line)) => write!(f, "line {line}: "),
            (None, None) => Ok(()),
        }
    }
}

/// Error reading, planning or running a system or an experiment, with the position of its key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum SpecError {
    /// The file cannot be read.
    #[error("{}: cannot be read", .path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The file is not TOML.
    #[error("{location}{message}")]
    Syntax { location: Location, message: String },
    /// The value of a key is invalid, or a key is unknown or missing.
    #[error("{location}{key}: {message}")]
    Key {
        location: Location,
        /// Path of the key, such as `systems[1].k1`, or the option in its place.
        key: String,
        message: String,
    },
    /// Data that a key names do not exist on this machine.
    #[error("{location}{key}: {message}")]
    Missing {
        location: Location,
        key: String,
        message: String,
    },
    /// A stage failed: indexing, encoding, searching.
    #[error("{location}{key}: {stage} failed")]
    Stage {
        location: Location,
        key: String,
        /// What failed, such as "indexing".
        stage: String,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A file of the cache folder cannot be written.
    #[error("{}: cannot be written", .path.display())]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The progress receiver requested a stop. Finished stages remain in the cache.
    #[error("canceled")]
    Canceled,
}

impl SpecError {
    /// Returns whether data do not exist on this machine: a collection that is not in the data
    /// folder, a model, an environment variable.
    #[must_use]
    pub const fn is_missing_data(&self) -> bool {
        matches!(self, Self::Missing { .. })
    }
}

/// Error of a system: an invalid parameter, missing data, or a failed stage. [`SourceMap`] adds the
/// location of the key.
///
/// [`SourceMap`]: crate::SourceMap
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum SystemError {
    /// The value of a parameter is invalid. `key` is empty for the system as a whole.
    #[error("{}{message}", before(key))]
    Parameter { key: String, message: String },
    /// Two parameters that exclude each other are given. The second is the key of the error.
    #[error("{key}: expected either {first} or {key}, found both: {reason}")]
    Conflict {
        first: String,
        key: String,
        reason: String,
    },
    /// A parameter is given without another one that it needs.
    #[error("{key}: expected the key {needed}, found none")]
    Requires { key: String, needed: String },
    /// Data that a parameter names do not exist on this machine.
    #[error("{}{message}", before(key))]
    Missing { key: String, message: String },
    /// A stage failed: indexing, encoding, searching.
    #[error("{stage}")]
    Stage {
        stage: String,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// An error with its location.
    #[error(transparent)]
    Located(Box<SpecError>),
}

/// Start of a message about a key.
fn before(key: &str) -> String {
    match key {
        "" => String::new(),
        key => format!("{key}: "),
    }
}

impl SystemError {
    /// Creates the error of an invalid parameter.
    pub fn parameter(key: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Parameter {
            key: key.into(),
            message: message.into(),
        }
    }

    /// Creates the error of two parameters that exclude each other.
    pub fn conflict(first: &str, key: &str, reason: &str) -> Self {
        Self::Conflict {
            first: first.to_owned(),
            key: key.to_owned(),
            reason: reason.to_owned(),
        }
    }

    /// Creates the error of a parameter that needs another one.
    pub fn requires(key: &str, needed: &str) -> Self {
        Self::Requires {
            key: key.to_owned(),
            needed: needed.to_owned(),
        }
    }

    /// Creates the error of missing data.
    pub fn missing(key: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Missing {
            key: key.into(),
            message: message.into(),
        }
    }

    /// Returns the error of a key of a table within the system.
    pub(crate) fn in_table(self, table: &str) -> Self {
        let join = |key: String| match key.as_str() {
            "" => table.to_owned(),
            key => format!("{table}.{key}"),
        };
        match self {
            Self::Parameter { key, message } => Self::Parameter {
                key: join(key),
                message,
            },
            Self::Conflict { first, key, reason } => Self::Conflict {
                first: join(first),
                key: join(key),
                reason,
            },
            Self::Requires { key, needed } => Self::Requires {
                key: join(key),
                needed: join(needed),
            },
            Self::Missing { key, message } => Self::Missing {
                key: join(key),
                message,
            },
            other => other,
        }
    }

    /// Creates the error of a template: of the key `template` for a field that no document has,
    /// otherwise of the stage.
    pub(crate) fn template(stage: &str, error: DataError) -> Self {
        match &error {
            DataError::TemplateField { field, known, .. } => {
                let hint = did_you_mean(field, known.iter().map(String::as_str));
                Self::parameter("template", format!("{error}{hint}"))
            }
            _ => Self::stage(stage)(error),
        }
    }

    /// Returns a function that wraps the error of a stage.
    pub fn stage<E>(stage: &str) -> impl FnOnce(E) -> Self + use<'_, E>
    where
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        move |source| Self::Stage {
            stage: stage.to_owned(),
            source: source.into(),
        }
    }
}

impl From<EncodeError> for SystemError {
    fn from(error: EncodeError) -> Self {
        Self::stage("encoding")(error)
    }
}

impl From<SpecError> for SystemError {
    fn from(error: SpecError) -> Self {
        Self::Located(Box::new(error))
    }
}
