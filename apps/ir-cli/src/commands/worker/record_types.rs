//! Types of the records of a worker.

use std::fmt;

use anyhow::{Result, anyhow, bail};
use ir_core::Document;
use ir_data::{DataError, DocTemplate, FieldNames, GivenNames, RecordKind};
use serde::Serialize;

pub(super) const STDIN: &str = "standard input";

/// Format of the records that are read and written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "arrow", derive(clap::ValueEnum))]
pub(super) enum RecordFormat {
    /// One JSON object per line.
    #[default]
    Json,
    /// Rows of an Arrow IPC stream.
    #[cfg(feature = "arrow")]
    Arrow,
}

/// Records that are read: their format, and the names of their fields or columns.
#[derive(Debug)]
pub(super) struct RecordInput {
    pub(super) format: RecordFormat,
    /// Decides which names stand for ids and texts.
    pub(super) kind: RecordKind,
    pub(super) given: GivenNames,
}

/// Field with a vector.
pub(super) const VECTOR: &str = "vector";

impl RecordInput {
    /// Returns `true` if a field may be the id, the title or the text.
    pub(super) fn is_field(&self, name: &str) -> bool {
        let is_equal = |known: &str| known.eq_ignore_ascii_case(name);
        let mut known = self.kind.id_names().chain(self.kind.text_names());
        let mut given = self.given.id.iter().chain(&self.given.text);
        is_equal("title") || known.any(is_equal) || given.any(|given| is_equal(given))
    }

    /// Returns the names of id, title and text among the names of a record. A record without a text
    /// has the name `text`: records may have vectors. `place` starts the error.
    pub(super) fn names(&self, found: &[&str], place: &dyn fmt::Display) -> Result<FieldNames> {
        let has = |name: &str| found.iter().any(|found| found.eq_ignore_ascii_case(name));
        let has_text = match &self.given.text {
            Some(name) => has(name),
            None => self.kind.text_names().any(has),
        };
        let mut names = found.to_vec();
        match &self.given.text {
            _ if has_text => {}
            None => names.push("text"),
            Some(name) if has(VECTOR) => names.push(name),
            Some(_) => {}
        }
        let detected = FieldNames::detect_in(&names, self.kind, &self.given, STDIN, 1);
        detected.map_err(|error| match error {
            DataError::FieldNames { expected, .. } => {
                anyhow!("{place}: expected {expected}, found {found:?}")
            }
            DataError::MissingField { field, .. } => {
                anyhow!("{place}: expected a field {field:?}, found {found:?}")
            }
            other => other.into(),
        })
    }
}

/// Type of the records that are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputKind {
    #[cfg_attr(not(feature = "dense"), allow(dead_code))]
    Vectors,
    Tokens,
    Hits,
}

/// Result of a record; all of a worker are of one [`OutputKind`]. In JSON, the name of the variant
/// is the name of the field.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum OutputValue<'a> {
    #[cfg_attr(not(feature = "dense"), allow(dead_code))]
    Vector(&'a [f32]),
    Tokens(&'a [String]),
    Hits(&'a [HitRecord<'a>]),
}

/// A record that is written.
#[derive(Serialize)]
pub(super) struct OutputRecord<'a> {
    pub(super) id: &'a str,
    #[serde(flatten)]
    pub(super) value: OutputValue<'a>,
}

/// Position of a record in the input, for messages.
#[derive(Debug, Clone, Copy)]
pub(super) enum Position {
    Line(u64),
    #[cfg(feature = "arrow")]
    Row {
        batch: u64,
        row: usize,
    },
}

impl Position {
    /// `field text` or `column text`.
    fn named(self, field: &str) -> String {
        match self {
            Self::Line(_) => format!("field {field}"),
            #[cfg(feature = "arrow")]
            Self::Row { .. } => format!("column {field}"),
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(number) => write!(f, "{STDIN}, line {number}"),
            #[cfg(feature = "arrow")]
            Self::Row { batch, row } => write!(f, "{STDIN}, batch {batch}, row {row}"),
        }
    }
}

/// A record that is read.
#[derive(Debug)]
pub(super) struct InputRecord {
    pub(super) id: String,
    pub(super) title: Title,
    pub(super) text: Option<String>,
    #[cfg_attr(not(feature = "dense"), allow(dead_code))]
    pub(super) vector: Option<Vec<f32>>,
    pub(super) position: Position,
}

/// Title of a record. Tasks that do not read titles accept any.
#[derive(Debug, Default)]
pub(super) enum Title {
    #[default]
    Absent,
    Text(String),
    /// Found in place of a text.
    Other(String),
}

impl InputRecord {
    /// Id and text, which must be present.
    pub(super) fn into_text(self) -> Result<(String, String)> {
        let position = self.position;
        match self.text {
            Some(text) => Ok((self.id, text)),
            None => {
                let name = position.named("text");
                bail!("{position}: expected the {name}, found none")
            }
        }
    }

    /// Id and rendered template of a document. The text must be present.
    pub(super) fn into_document_text(mut self, template: &DocTemplate) -> Result<(String, String)> {
        let title = match std::mem::take(&mut self.title) {
            Title::Absent => String::new(),
            Title::Text(title) => title,
            Title::Other(found) => {
                bail!("{}: title: expected text, found {found}", self.position)
            }
        };
        let (id, text) = self.into_text()?;
        let document = Document::new(id).with_title(title).with_text(text);
        let text = template.render(&document);
        Ok((document.id, text))
    }

    /// Id and vector, which must be present, finite and of this dimension.
    #[cfg(feature = "dense")]
    pub(super) fn into_vector(self, dim: usize) -> Result<(String, Vec<f32>)> {
        let position = self.position;
        let name = position.named("vector");
        let Some(vector) = self.vector else {
            let text = position.named("text");
            bail!("{position}: expected the {name} (--encoder encodes the {text}), found none");
        };
        if vector.len() != dim {
            let found = vector.len();
            bail!("{position}, {name}: expected a vector of {dim} dimensions, found {found}");
        }
        if let Some(value) = vector.iter().find(|value| !value.is_finite()) {
            bail!("{position}, {name}: expected finite values, found {value}");
        }
        Ok((self.id, vector))
    }
}

/// Id of a document and its score.
#[derive(Serialize)]
pub(super) struct HitRecord<'a> {
    pub(super) id: &'a str,
    pub(super) score: f32,
}
