//! Files in TREC format that an experiment reads: runs and qrels.

use std::borrow::Cow;
use std::collections::HashSet;
use std::io::{BufRead, Write};
use std::path::Path;

use ir_core::trec::{HeaderLine, TrecReadError};
use ir_data::DataError;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};

use crate::string_or_table::string_or_table;

/// Mark that Windows programs put at the start of a file in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Run or qrels file in TREC format or JSON: a path, or a table with a path and options.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TrecFile {
    /// Path, which may start with an environment variable. Compressed files are read as such.
    pub file: String,
    /// Skips the first line if it has text in a numeric column. Default: false, data with grade or
    /// score 0, as in trec_eval.
    pub header: bool,
    /// Ignores lines that equal an earlier line; a document that repeats within a query is an error
    /// otherwise. No effect on JSON, Parquet and Arrow. Default: false.
    pub unique_lines: bool,
}

/// Error reading a TREC file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum TrecFileError {
    #[error(transparent)]
    Open(#[from] DataError),
    #[error(transparent)]
    Read(#[from] std::io::Error),
    #[error(transparent)]
    Parse(#[from] TrecReadError),
}

impl TrecFile {
    /// Creates a reference to a file without options.
    pub fn new(file: impl Into<String>) -> Self {
        Self {
            file: file.into(),
            header: false,
            unique_lines: false,
        }
    }

    /// Returns the bytes of the file at a path, without repeated lines if they are ignored.
    ///
    /// # Errors
    /// Returns the error of opening or reading the file.
    pub fn read(&self, path: &Path) -> Result<Vec<u8>, TrecFileError> {
        let mut reader = ir_data::open(path)?;
        let mut bytes = Vec::new();
        // Equal lines of JSON may belong to different queries.
        if !self.unique_lines || is_json(reader.fill_buf()?) {
            reader.read_to_end(&mut bytes)?;
            return Ok(bytes);
        }
        let mut seen = HashSet::new();
        for (number, line) in reader.split(b'\n').enumerate() {
            let mut line = line?;
            if number == 0 && line.starts_with(BYTE_ORDER_MARK) {
                line.drain(..BYTE_ORDER_MARK.len());
            }
            if !seen.contains(&line) {
                bytes.write_all(&line)?;
                seen.insert(line);
            }
            // An empty line keeps the line numbers of messages.
            bytes.push(b'\n');
        }
        Ok(bytes)
    }

    /// Returns the treatment of the first line.
    #[must_use]
    pub const fn header_line(&self) -> HeaderLine {
        if self.header {
            HeaderLine::Skip
        } else {
            HeaderLine::AsData
        }
    }
}

/// Returns `true` if a file starts with a brace or a bracket, after white space.
fn is_json(head: &[u8]) -> bool {
    let text = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head);
    matches!(text.trim_ascii_start(), [b'{' | b'[', ..])
}

/// Table of a [`TrecFile`].
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    file: String,
    #[serde(default)]
    header: bool,
    #[serde(default)]
    unique_lines: bool,
}

impl<'de> Deserialize<'de> for TrecFile {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        string_or_table(
            input,
            "the path of a file, or a table with the key file",
            |file| Self::new(file),
            |table: Table| Self {
                file: table.file,
                header: table.header,
                unique_lines: table.unique_lines,
            },
        )
    }
}

impl JsonSchema for TrecFile {
    fn schema_name() -> Cow<'static, str> {
        "TrecFile".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "File in TREC format: a path, or a table with a path and options.",
            "anyOf": [
                { "type": "string" },
                {
                    "type": "object",
                    "properties": {
                        "file": {
                            "type": "string",
                            "description": "Path; it may start with an environment variable.",
                        },
                        "header": {
                            "type": "boolean",
                            "description": "Skips the first line if it has text in a numeric column. Default: false.",
                        },
                        "unique_lines": {
                            "type": "boolean",
                            "description": "Ignores lines that equal an earlier line. Default: false.",
                        },
                    },
                    "required": ["file"],
                    "additionalProperties": false,
                },
            ],
        })
    }
}
