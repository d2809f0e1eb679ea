//! Writing training examples.

use std::io::Write;
use std::path::Path;

use ir_core::{TrainingExample, TrainingText};
use serde::Serialize;

use crate::error::name_of;
use crate::{DataError, DataFile, create};

/// Writes training examples in Tevatron's form, into a file that appears when
/// [`TrainingWriter::commit`] is called. [`TrainingFile`](super::TrainingFile) reads them back equal.
///
/// A passage has `docid`, `text` and, where it has one, `score`; its title is in the text already.
#[derive(Debug)]
pub struct TrainingWriter {
    file: DataFile,
    line: u64,
}

#[derive(Serialize)]
struct Row<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    query_id: Option<&'a str>,
    query: &'a str,
    positive_passages: Vec<Passage<'a>>,
    negative_passages: Vec<Passage<'a>>,
}

#[derive(Serialize)]
struct Passage<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    docid: Option<&'a str>,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f32>,
}

impl<'a> From<&'a TrainingText> for Passage<'a> {
    fn from(text: &'a TrainingText) -> Self {
        Self {
            docid: text.id.as_deref(),
            text: &text.text,
            score: text.score,
        }
    }
}

impl TrainingWriter {
    /// Starts a file; compressed if its name ends in `.gz` or `.zst`.
    ///
    /// # Errors
    /// As [`create`].
    pub fn create(path: impl AsRef<Path>) -> Result<Self, DataError> {
        Ok(Self {
            file: create(path)?,
            line: 0,
        })
    }

    /// Writes an example.
    ///
    /// # Errors
    /// When the file cannot be written, or one cannot learn from the example.
    pub fn example(&mut self, example: &TrainingExample) -> Result<(), DataError> {
        self.line += 1;
        let name = name_of(self.file.path());
        write_example(&mut self.file, example, &name, self.line)
    }

    /// Makes the file appear.
    ///
    /// # Errors
    /// When it cannot be written; then nothing appears.
    pub fn commit(self) -> Result<(), DataError> {
        self.file.commit()
    }
}

/// Writes the line of an example to any destination; `name` and `line` say in errors which.
///
/// # Errors
/// When it cannot be written, or one cannot learn from the example.
pub fn write_example(
    out: &mut dyn Write,
    example: &TrainingExample,
    name: &str,
    line: u64,
) -> Result<(), DataError> {
    let path = || name.to_owned();
    example.check().map_err(|fault| DataError::Example {
        path: path(),
        line,
        fault,
    })?;
    let row = Row {
        query_id: example.query_id.as_deref(),
        query: &example.query,
        positive_passages: example.positives.iter().map(Passage::from).collect(),
        negative_passages: example.negatives.iter().map(Passage::from).collect(),
    };
    let write = |source| DataError::Write {
        path: path(),
        source,
    };
    let mut text = serde_json::to_vec(&row).map_err(|error| write(error.into()))?;
    text.push(b'\n');
    out.write_all(&text).map_err(write)
}
