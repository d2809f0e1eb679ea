//! Records of a worker on standard input and output: JSON lines, or Arrow IPC streams.

use std::fmt;
use std::io::{self, BufReader, Stdin, Write as _};

use anyhow::{Context, Result, anyhow, bail};
use ir_data::{LineReader, parser_message};
use serde::de::{IgnoredAny, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

#[cfg(feature = "arrow")]
use super::arrow::{ArrowReader, ArrowWriter};
use super::record_types::{
    InputRecord, OutputKind, OutputRecord, OutputValue, Position, RecordFormat, STDIN, Title,
};
use crate::shared::console::check_stopped;
use crate::shared::output::{OutputSink, failed};

/// A record in JSON. Other fields are ignored.
#[derive(Debug, Deserialize)]
struct JsonRecord {
    #[serde(alias = "_id", deserialize_with = "id")]
    id: String,
    #[serde(default)]
    title: Value,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    vector: Option<Vec<f32>>,
}

/// Reads an id: a text, or an integer, as in `ir index`.
fn id<'de, D: Deserializer<'de>>(input: D) -> Result<String, D::Error> {
    struct Id;

    impl Visitor<'_> for Id {
        type Value = String;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a string or an integer as the id")
        }

        fn visit_str<E: serde::de::Error>(self, id: &str) -> Result<String, E> {
            Ok(id.to_owned())
        }

        fn visit_string<E: serde::de::Error>(self, id: String) -> Result<String, E> {
            Ok(id)
        }

        fn visit_u64<E: serde::de::Error>(self, id: u64) -> Result<String, E> {
            Ok(id.to_string())
        }

        fn visit_i64<E: serde::de::Error>(self, id: i64) -> Result<String, E> {
            Ok(id.to_string())
        }
    }

    input.deserialize_any(Id)
}

/// Error of a line that is no record. serde_json counts its lines from 1 in each of them.
fn no_record(number: u64, error: &serde_json::Error) -> anyhow::Error {
    let (message, column) = (error.to_string(), error.column());
    let message = parser_message(&message, "an object");
    anyhow!("{STDIN}, line {number}, column {column}: expected a record: {message}")
}

/// Records of standard input.
pub(super) enum InputRecords {
    /// Blank lines are skipped.
    Json(LineReader<BufReader<Stdin>>),
    #[cfg(feature = "arrow")]
    Arrow(Box<ArrowReader<Stdin>>),
}

impl InputRecords {
    pub(super) fn stdin(format: RecordFormat) -> Result<Self> {
        match format {
            RecordFormat::Json => {
                let input = BufReader::with_capacity(1 << 16, io::stdin());
                Ok(Self::Json(LineReader::new(input, STDIN)))
            }
            #[cfg(feature = "arrow")]
            RecordFormat::Arrow => Ok(Self::Arrow(Box::new(ArrowReader::new(io::stdin())?))),
        }
    }

    /// Reads at most `len` records.
    pub(super) fn batch(&mut self, len: usize) -> Result<Vec<InputRecord>> {
        check_stopped()?;
        self.by_ref().take(len).collect()
    }
}

fn read_line(lines: &mut LineReader<BufReader<Stdin>>) -> Result<Option<InputRecord>> {
    while let Some(line) = lines.read()? {
        if line.text.trim().is_empty() {
            continue;
        }
        let number = line.number;
        // serde reads an array as the fields in their order.
        if !line.text.trim_start().starts_with('{') {
            let parsed = serde_json::from_str::<IgnoredAny>(line.text);
            parsed.map_err(|error| no_record(number, &error))?;
            bail!("{STDIN}, line {number}: expected an object, found other JSON");
        }
        let record = serde_json::from_str(line.text).map_err(|error| no_record(number, &error))?;
        let JsonRecord {
            id,
            title,
            text,
            vector,
        } = record;
        let title = match title {
            Value::Null => Title::Absent,
            Value::String(title) => Title::Text(title),
            other => Title::Other(other.to_string()),
        };
        return Ok(Some(InputRecord {
            id,
            title,
            text,
            vector,
            position: Position::Line(number),
        }));
    }
    Ok(None)
}

impl Iterator for InputRecords {
    type Item = Result<InputRecord>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Json(lines) => read_line(lines).transpose(),
            #[cfg(feature = "arrow")]
            Self::Arrow(reader) => reader.read().transpose(),
        }
    }
}

/// Writer of records of one type to standard output.
pub(super) enum RecordWriter<'a> {
    Json(&'a mut OutputSink),
    #[cfg(feature = "arrow")]
    Arrow(Box<ArrowWriter<'a>>),
}

impl<'a> RecordWriter<'a> {
    /// Creates a writer of records of one type.
    pub(super) fn new(
        format: RecordFormat,
        #[cfg_attr(not(feature = "arrow"), allow(unused_variables))] kind: OutputKind,
        out: &'a mut OutputSink,
    ) -> Result<Self> {
        match format {
            RecordFormat::Json => Ok(Self::Json(out)),
            #[cfg(feature = "arrow")]
            RecordFormat::Arrow => Ok(Self::Arrow(Box::new(ArrowWriter::new(kind, out)?))),
        }
    }

    pub(super) fn write(&mut self, id: &str, value: OutputValue<'_>) -> Result<()> {
        match self {
            Self::Json(out) => {
                let mut line = serde_json::to_vec(&OutputRecord { id, value })?;
                line.push(b'\n');
                out.write_all(&line).with_context(|| failed(out.name()))
            }
            #[cfg(feature = "arrow")]
            Self::Arrow(writer) => writer.write(id, value),
        }
    }

    /// Flushes the records that were written.
    pub(super) fn flush(&mut self) -> Result<()> {
        match self {
            Self::Json(out) => flush(out),
            #[cfg(feature = "arrow")]
            Self::Arrow(writer) => writer.flush(),
        }
    }

    /// Flushes the output; an Arrow IPC stream gets its end marker.
    pub(super) fn finish(self) -> Result<()> {
        match self {
            Self::Json(out) => flush(out),
            #[cfg(feature = "arrow")]
            Self::Arrow(writer) => writer.finish(),
        }
    }
}

fn flush(out: &mut OutputSink) -> Result<()> {
    out.flush().with_context(|| failed(out.name()))
}
