//! Records of a worker on standard input and output: JSON lines, or Arrow IPC streams.

use std::collections::BTreeSet;
use std::fmt;
use std::io::{self, BufReader, Stdin, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result, anyhow, bail};
use ir_data::{LineReader, parser_message};
use serde::Deserializer as _;
use serde::de::{Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::{Number, Value};

#[cfg(feature = "arrow")]
use super::arrow::{ArrowReader, ArrowWriter};
use super::record_types::{
    InputRecord, OutputKind, OutputRecord, OutputValue, Position, RecordFormat, RecordInput, STDIN,
    Title, VECTOR,
};
use crate::shared::format::grouped;
use crate::shared::output::{OutputSink, failed};
use crate::shared::signals::{check_stopped, stopped};

/// A record in JSON.
#[derive(Debug, Default)]
struct JsonRecord {
    /// Fields that may be the id, the title or the text.
    values: Vec<(String, Value)>,
    vector: Option<Vec<f32>>,
    /// Names of the other fields, which are ignored.
    others: BTreeSet<String>,
}

impl JsonRecord {
    fn names(&self) -> Vec<&str> {
        let names = self.values.iter().map(|(name, _)| name.as_str());
        let vector = self.vector.as_ref().map(|_| VECTOR);
        let others = self.others.iter().map(String::as_str);
        names.chain(vector).chain(others).collect()
    }

    fn take(&mut self, name: &str) -> Value {
        let at = self.values.iter().position(|(known, _)| known == name);
        at.map_or(Value::Null, |at| self.values.swap_remove(at).1)
    }
}

struct RecordVisitor<'a>(&'a RecordInput);

impl<'de> Visitor<'de> for RecordVisitor<'_> {
    type Value = JsonRecord;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<JsonRecord, A::Error> {
        let mut record = JsonRecord::default();
        while let Some(name) = map.next_key::<String>()? {
            let is_known = record.values.iter().any(|(known, _)| *known == name);
            if is_known || name == VECTOR && record.vector.is_some() {
                return Err(A::Error::custom(format_args!("duplicate field `{name}`")));
            }
            if name == VECTOR {
                record.vector = map.next_value()?;
            } else if self.0.is_field(&name) {
                let value = map.next_value()?;
                record.values.push((name, value));
            } else {
                map.next_value::<IgnoredAny>()?;
                record.others.insert(name);
            }
        }
        Ok(record)
    }
}

/// Parses a JSON object.
fn parse(text: &str, input: &RecordInput) -> serde_json::Result<JsonRecord> {
    let mut parser = serde_json::Deserializer::from_str(text);
    let record = parser.deserialize_map(RecordVisitor(input))?;
    parser.end()?;
    Ok(record)
}

/// Id of a field: a text, or an integer, also as `7.0`, as in `ir index`. The error is what was
/// found.
fn id(value: Value) -> Result<String, String> {
    match value {
        Value::String(id) if !id.is_empty() => Ok(id),
        Value::String(_) => Err("an empty string".to_owned()),
        Value::Number(number) => integer(&number).ok_or_else(|| number.to_string()),
        other => Err(other.to_string()),
    }
}

/// Integer as a text; `None` for a number with a fraction.
fn integer(number: &Number) -> Option<String> {
    if !number.is_f64() {
        return Some(number.to_string());
    }
    let value = number.as_f64()?;
    // Larger numbers may be rounded.
    let is_exact = value.fract() == 0.0 && value.abs() < (1_u64 << f64::MANTISSA_DIGITS) as f64;
    is_exact.then(|| (value as i64).to_string())
}

/// Error of a line that is no record. serde_json counts its lines from 1 in each of them.
fn no_record(number: u64, error: &serde_json::Error) -> anyhow::Error {
    let (message, column) = (error.to_string(), error.column());
    let message = parser_message(&message, "an object");
    anyhow!("{STDIN}, line {number}, column {column}: expected a record: {message}")
}

/// Records of standard input.
pub(super) enum InputRecords<'a> {
    /// Blank lines are skipped.
    Json(LineReader<BufReader<Stdin>>, &'a RecordInput),
    #[cfg(feature = "arrow")]
    Arrow(Box<ArrowReader<Stdin>>),
}

impl<'a> InputRecords<'a> {
    pub(super) fn stdin(input: &'a RecordInput) -> Result<Self> {
        match input.format {
            RecordFormat::Json => {
                let reader = BufReader::with_capacity(1 << 16, io::stdin());
                Ok(Self::Json(LineReader::new(reader, STDIN), input))
            }
            #[cfg(feature = "arrow")]
            RecordFormat::Arrow => {
                let reader = ArrowReader::new(io::stdin(), input)?;
                Ok(Self::Arrow(Box::new(reader)))
            }
        }
    }

    /// Reads at most `len` records.
    pub(super) fn batch(&mut self, len: usize) -> Result<Vec<InputRecord>> {
        check_stopped()?;
        self.by_ref().take(len).collect()
    }
}

fn read_line(
    lines: &mut LineReader<BufReader<Stdin>>,
    input: &RecordInput,
) -> Result<Option<InputRecord>> {
    while let Some(line) = lines.read()? {
        if line.text.trim().is_empty() {
            continue;
        }
        let number = line.number;
        if !line.text.trim_start().starts_with('{') {
            let parsed = serde_json::from_str::<IgnoredAny>(line.text);
            parsed.map_err(|error| no_record(number, &error))?;
            bail!("{STDIN}, line {number}: expected an object, found other JSON");
        }
        let parsed = parse(line.text, input);
        let mut record = parsed.map_err(|error| no_record(number, &error))?;
        let position = Position::Line(number);
        let names = input.names(&record.names(), &position)?;
        let id = id(record.take(&names.id)).map_err(|found| {
            let name = &names.id;
            anyhow!("{position}, field {name}: expected a string or an integer, found {found}")
        })?;
        let text = match record.take(&names.text) {
            Value::Null => None,
            Value::String(text) => Some(text),
            other => bail!(
                "{position}, field {}: expected a string, found {other}",
                names.text
            ),
        };
        let title = names.title.map_or(Value::Null, |name| record.take(&name));
        let title = match title {
            Value::Null => Title::Absent,
            Value::String(title) => Title::Text(title),
            other => Title::Other(other.to_string()),
        };
        return Ok(Some(InputRecord {
            id,
            title,
            text,
            vector: record.vector,
            position,
        }));
    }
    Ok(None)
}

impl Iterator for InputRecords<'_> {
    type Item = Result<InputRecord>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Json(lines, input) => read_line(lines, input).transpose(),
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
