//! Records of a worker on standard input and output: JSON lines, or Arrow IPC streams.

use std::fmt;
use std::io::{self, BufReader, Stdin, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};

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
use crate::shared::format::grouped;
use crate::shared::output::{OutputSink, failed};
use crate::shared::signals::{check_stopped, stopped};

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

/// Number of records that were written to standard output.
static WRITTEN: AtomicU64 = AtomicU64::new(0);

/// Returns `true` if a record was written to standard output.
pub(super) fn has_written() -> bool {
    WRITTEN.load(Ordering::Relaxed) > 0
}

/// Describes how many records were written to standard output.
pub(super) fn written_records() -> String {
    match WRITTEN.load(Ordering::Relaxed) {
        1 => "1 record written".to_owned(),
        count => format!("{} records written", grouped(count)),
    }
}

/// Number of bytes of JSON after which they are written.
const JSON_BYTES: usize = 1 << 16;

/// Writer of records of one type to standard output.
///
/// Dropped after an error, it writes the records before the error; after a signal it does not: the
/// reader of the output may be blocked.
pub(super) struct RecordWriter<'a> {
    records: RecordBuffer<'a>,
    /// Number of records that are not written yet.
    pending: u64,
}

enum RecordBuffer<'a> {
    Json {
        out: &'a mut OutputSink,
        lines: Vec<u8>,
    },
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
        let records = match format {
            RecordFormat::Json => RecordBuffer::Json {
                out,
                lines: Vec::new(),
            },
            #[cfg(feature = "arrow")]
            RecordFormat::Arrow => RecordBuffer::Arrow(Box::new(ArrowWriter::new(kind, out)?)),
        };
        Ok(Self {
            records,
            pending: 0,
        })
    }

    pub(super) fn write(&mut self, id: &str, value: OutputValue<'_>) -> Result<()> {
        let is_full = match &mut self.records {
            RecordBuffer::Json { lines, .. } => {
                serde_json::to_writer(&mut *lines, &OutputRecord { id, value })?;
                lines.push(b'\n');
                lines.len() >= JSON_BYTES
            }
            #[cfg(feature = "arrow")]
            RecordBuffer::Arrow(writer) => writer.write(id, value)?,
        };
        self.pending += 1;
        if is_full { self.flush() } else { Ok(()) }
    }

    /// Writes the records that are not written yet.
    pub(super) fn flush(&mut self) -> Result<()> {
        match &mut self.records {
            RecordBuffer::Json { out, lines } => {
                let written = out.write_all(lines).and_then(|()| out.flush());
                lines.clear();
                written.with_context(|| failed(out.name()))?;
            }
            #[cfg(feature = "arrow")]
            RecordBuffer::Arrow(writer) => writer.flush()?,
        }
        WRITTEN.fetch_add(std::mem::take(&mut self.pending), Ordering::Relaxed);
        Ok(())
    }

    /// Writes the records that are not written yet; an Arrow IPC stream gets its end marker.
    pub(super) fn finish(mut self) -> Result<()> {
        self.flush()?;
        match &mut self.records {
            RecordBuffer::Json { .. } => Ok(()),
            #[cfg(feature = "arrow")]
            RecordBuffer::Arrow(writer) => writer.finish(),
        }
    }
}

impl Drop for RecordWriter<'_> {
    fn drop(&mut self) {
        if self.pending > 0 && !stopped() {
            let _ = self.flush();
        }
    }
}
