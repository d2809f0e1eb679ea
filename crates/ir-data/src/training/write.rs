use std::io::Write;
use std::path::Path;

use ir_core::training::{TrainingExample, TrainingText};
use serde::Serialize;

use crate::compression::{DataFile, create};
use crate::error::{DataError, name_of, write_error};

/// Writer of training examples in Tevatron format. The write is atomic: [`TrainingWriter::commit`]
/// completes the file. [`TrainingFile`](super::TrainingFile) restores equal examples.
///
/// A passage has `docid`, `text` and an optional `score`; the text includes the title.
#[derive(Debug)]
pub struct TrainingWriter {
    file: DataFile,
    line: u64,
}

#[derive(Serialize)]
struct TevatronLine<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    query_id: Option<&'a str>,
    query: &'a str,
    positive_passages: Vec<TevatronPassage<'a>>,
    negative_passages: Vec<TevatronPassage<'a>>,
}

#[derive(Serialize)]
struct TevatronPassage<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    docid: Option<&'a str>,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f32>,
}

impl<'a> From<&'a TrainingText> for TevatronPassage<'a> {
    fn from(text: &'a TrainingText) -> Self {
        Self {
            docid: text.id.as_deref(),
            text: &text.text,
            score: text.score,
        }
    }
}

impl TrainingWriter {
    /// Creates a file, compressed if its name ends in `.gz` or `.zst`.
    ///
    /// # Errors
    /// The path is a directory, or its directory does not exist or is not writable.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, DataError> {
        Ok(Self {
            file: create(path)?,
            line: 0,
        })
    }

    /// Writes an example.
    ///
    /// # Errors
    /// The file cannot be written, or the example is invalid.
    pub fn example(&mut self, example: &TrainingExample) -> Result<(), DataError> {
        self.line += 1;
        let name = name_of(self.file.path());
        write_example(&mut self.file, example, &name, self.line)
    }

    /// Completes the file.
    ///
    /// # Errors
    /// The file cannot be written. No file is left.
    pub fn commit(self) -> Result<(), DataError> {
        self.file.commit()
    }
}

/// Writes an example as a line in Tevatron format; `name` and `line` name the destination in
/// errors.
///
/// # Errors
/// The line cannot be written, or the example is invalid.
pub fn write_example(
    out: &mut dyn Write,
    example: &TrainingExample,
    name: &str,
    line: u64,
) -> Result<(), DataError> {
    example.check().map_err(|fault| DataError::Example {
        path: name.to_owned(),
        line,
        fault,
    })?;
    let row = TevatronLine {
        query_id: example.query_id.as_deref(),
        query: &example.query,
        positive_passages: example.positives.iter().map(Into::into).collect(),
        negative_passages: example.negatives.iter().map(Into::into).collect(),
    };
    let write = write_error(Path::new(name));
    let mut text = serde_json::to_vec(&row).map_err(|error| write(error.into()))?;
    text.push(b'\n');
    out.write_all(&text).map_err(write)
}
