//! Records in Arrow IPC streams.
//!
//! Damaged messages make the crate arrow-ipc panic in some places (test `arrow`). The panics are
//! caught and are errors that name the batch.

use std::io::{BufReader, Read, Write as _};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use arrow_array::builder::{Float32Builder, ListBuilder, StringBuilder, StructBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema, SchemaRef};
use ir_data::catch_panic;

use super::record_types::{
    InputRecord, OutputKind, OutputValue, Position, RecordInput, STDIN, Title, VECTOR,
};
use crate::shared::output::{OutputSink, failed};

/// Maximum number of rows of a batch that is written.
const MAX_ROWS: usize = 1024;

/// Number of bytes of the rows of a batch after which it is written.
const MAX_BYTES: usize = 16 << 20;

/// Reader of an Arrow IPC stream as records.
pub(super) struct ArrowReader<R> {
    stream: StreamReader<BufReader<R>>,
    columns: Columns,
    batch: Option<RecordBatch>,
    /// Number of batches that were read.
    batches: u64,
    /// Next row of the batch.
    row: usize,
}

/// Positions of the columns.
struct Columns {
    id: usize,
    id_name: String,
    title: Option<usize>,
    /// Type of the column `title`, if it is no text.
    other_title: Option<String>,
    text: Option<usize>,
    vector: Option<usize>,
}

impl<R: Read> ArrowReader<R> {
    pub(super) fn new(reader: R, input: &RecordInput) -> Result<Self> {
        let stream = caught(|| StreamReader::try_new_buffered(reader, None))
            .with_context(|| format!("{STDIN}: expected an Arrow IPC stream"))?;
        let columns = Columns::new(&stream.schema(), input)?;
        Ok(Self {
            stream,
            columns,
            batch: None,
            batches: 0,
            row: 0,
        })
    }

    /// Reads the next record; `None` at the end.
    pub(super) fn read(&mut self) -> Result<Option<InputRecord>> {
        loop {
            if let Some(batch) = &self.batch
                && self.row < batch.num_rows()
            {
                let row = self.row;
                self.row += 1;
                return record(batch, &self.columns, self.batches, row).map(Some);
            }
            let next = caught(|| self.stream.next().transpose());
            let number = self.batches + 1;
            let next =
                next.with_context(|| format!("{STDIN}, batch {number}: expected an Arrow batch"))?;
            let Some(batch) = next else { return Ok(None) };
            self.batch = Some(batch);
            self.batches = number;
            self.row = 0;
        }
    }
}

/// Damaged messages may make the crate panic.
fn caught<T>(read: impl FnOnce() -> Result<T, ArrowError>) -> Result<T> {
    match catch_panic(read) {
        Ok(result) => Ok(result?),
        Err(_) => Err(anyhow!("the message is damaged")),
    }
}

impl Columns {
    fn new(schema: &Schema, input: &RecordInput) -> Result<Self> {
        let find = |name: &str, expected: &str, fits: &dyn Fn(&DataType) -> bool| {
            let mut found = schema.fields().iter().enumerate();
            let mut found = found.by_ref().filter(|(_, field)| field.name() == name);
            let Some((at, field)) = found.next() else {
                return Ok(None);
            };
            let kind = field.data_type();
            if found.next().is_some() {
                bail!("{STDIN}, column {name}: expected one column of this name, found several");
            }
            if !fits(kind) {
                bail!("{STDIN}, column {name}: expected {expected}, found {kind}");
            }
            Ok(Some(at))
        };
        let names = schema.fields().iter().map(|field| field.name().as_str());
        let mut names: Vec<&str> = names.collect();
        names.sort_unstable();
        names.dedup();
        if input.given.id.is_none() && names.contains(&"id") && names.contains(&"_id") {
            bail!("{STDIN}: expected one of the columns id and _id, found both");
        }
        let names = input.names(&names, &STDIN)?;
        let Some(id) = find(&names.id, "text", &is_text)? else {
            bail!("{STDIN}: expected a column {}, found none", names.id);
        };
        let title = match &names.title {
            Some(name) => find(name, "text", &|_| true)?,
            None => None,
        };
        let kind = title.map(|at| schema.field(at).data_type());
        Ok(Self {
            id,
            id_name: names.id.clone(),
            title,
            other_title: kind.filter(|kind| !is_text(kind)).map(DataType::to_string),
            text: find(&names.text, "text", &is_text)?,
            vector: find(VECTOR, "lists of numbers", &is_numbers)?,
        })
    }
}

fn is_text(kind: &DataType) -> bool {
    matches!(
        kind,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
    )
}

fn is_numbers(kind: &DataType) -> bool {
    match kind {
        DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _) => {
            matches!(field.data_type(), DataType::Float32 | DataType::Float64)
        }
        _ => false,
    }
}

fn record(batch: &RecordBatch, columns: &Columns, number: u64, row: usize) -> Result<InputRecord> {
    let position = Position::Row {
        batch: number,
        row: row + 1,
    };
    let Some(id) = text(batch.column(columns.id), row) else {
        bail!(
            "{position}, column {}: expected text, found null",
            columns.id_name
        );
    };
    if id.is_empty() {
        bail!(
            "{position}, column {}: expected an id, found an empty text",
            columns.id_name
        );
    }
    let optional = |at: Option<usize>| at.and_then(|at| text(batch.column(at), row));
    let text = optional(columns.text);
    let title = match &columns.other_title {
        Some(kind) => Title::Other(kind.clone()),
        None => optional(columns.title).map_or(Title::Absent, Title::Text),
    };
    let vector = match columns.vector.map(|at| batch.column(at)) {
        Some(column) if column.is_valid(row) => {
            Some(numbers(column, row).ok_or_else(|| {
                anyhow!("{position}, column vector: expected numbers, found null")
            })?)
        }
        _ => None,
    };
    Ok(InputRecord {
        id,
        title,
        text,
        vector,
        position,
    })
}

/// Text of a row; `None` for null.
fn text(column: &ArrayRef, row: usize) -> Option<String> {
    if column.is_null(row) {
        return None;
    }
    let value = match column.data_type() {
        DataType::Utf8 => column.as_string::<i32>().value(row),
        DataType::LargeUtf8 => column.as_string::<i64>().value(row),
        _ => column.as_string_view().value(row),
    };
    Some(value.to_owned())
}

/// Numbers of a list that is not null; `None` if one of them is.
fn numbers(column: &ArrayRef, row: usize) -> Option<Vec<f32>> {
    let list = match column.data_type() {
        DataType::List(_) => column.as_list::<i32>().value(row),
        DataType::LargeList(_) => column.as_list::<i64>().value(row),
        _ => column.as_fixed_size_list().value(row),
    };
    if list.null_count() > 0 {
        return None;
    }
    Some(match list.as_primitive_opt::<Float32Type>() {
        Some(values) => values.values().to_vec(),
        None => {
            let values = list.as_primitive::<Float64Type>().values().iter();
            values.map(|&value| value as f32).collect()
        }
    })
}

/// Writer of records: a batch at each flush.
pub(super) struct ArrowWriter<'a> {
    stream: StreamWriter<&'a mut OutputSink>,
    schema: SchemaRef,
    ids: StringBuilder,
    values: Values,
    rows: usize,
    /// Approximate size of the rows.
    bytes: usize,
}

/// Column of the results.
enum Values {
    Vectors(ListBuilder<Float32Builder>),
    Tokens(ListBuilder<StringBuilder>),
    Hits(ListBuilder<StructBuilder>),
}

impl<'a> ArrowWriter<'a> {
    pub(super) fn new(kind: OutputKind, out: &'a mut OutputSink) -> Result<Self> {
        let (name, item, values) = match kind {
            OutputKind::Vectors => {
                let values = Values::Vectors(ListBuilder::new(Float32Builder::new()));
                ("vector", DataType::Float32, values)
            }
            OutputKind::Tokens => {
                let values = Values::Tokens(ListBuilder::new(StringBuilder::new()));
                ("tokens", DataType::Utf8, values)
            }
            OutputKind::Hits => {
                let fields = Fields::from(vec![
                    Field::new("id", DataType::Utf8, true),
                    Field::new("score", DataType::Float32, true),
                ]);
                let values = ListBuilder::new(StructBuilder::from_fields(fields.clone(), 0));
                ("hits", DataType::Struct(fields), Values::Hits(values))
            }
        };
        // Nullable, as the fields of Spark and pyarrow are by default.
        let list = DataType::List(Arc::new(Field::new_list_field(item, true)));
        let schema = Arc::new(Schema::new(vec![
            Field::new("id", DataType::Utf8, true),
            Field::new(name, list, true),
        ]));
        let name = out.name().to_owned();
        let stream = StreamWriter::try_new(out, &schema).with_context(|| failed(&name))?;
        Ok(Self {
            stream,
            schema,
            ids: StringBuilder::new(),
            values,
            rows: 0,
            bytes: 0,
        })
    }

    /// Adds a result of the type of this writer. Offsets of Arrow lists and texts have 32 bits.
    /// Returns `true` if the batch is full.
    pub(super) fn write(&mut self, id: &str, value: OutputValue<'_>) -> Result<bool> {
        let bytes = match value {
            OutputValue::Vector(vector) => size_of_val(vector),
            OutputValue::Tokens(tokens) => tokens.iter().map(|token| token.len() + 4).sum(),
            OutputValue::Hits(hits) => hits.iter().map(|hit| hit.id.len() + 8).sum(),
        };
        let bytes = bytes.saturating_add(id.len());
        if bytes > (i32::MAX as usize) - 2 * MAX_BYTES {
            let id: String = id.chars().take(80).collect();
            bail!("record {id:?}: expected a result below 2 GiB for Arrow, found {bytes} bytes");
        }
        self.ids.append_value(id);
        self.rows += 1;
        self.bytes += bytes;
        match (&mut self.values, value) {
            (Values::Vectors(lists), OutputValue::Vector(vector)) => {
                lists.values().append_slice(vector);
                lists.append(true);
            }
            (Values::Tokens(lists), OutputValue::Tokens(tokens)) => {
                for token in tokens {
                    lists.values().append_value(token);
                }
                lists.append(true);
            }
            (Values::Hits(lists), OutputValue::Hits(hits)) => {
                for hit in hits {
                    let fields = lists.values();
                    if let Some(ids) = fields.field_builder::<StringBuilder>(0) {
                        ids.append_value(hit.id);
                    }
                    if let Some(scores) = fields.field_builder::<Float32Builder>(1) {
                        scores.append_value(hit.score);
                    }
                    fields.append(true);
                }
                lists.append(true);
            }
            _ => bail!("record {id:?}: expected results of one type, found two"),
        }
        Ok(self.rows >= MAX_ROWS || self.bytes >= MAX_BYTES)
    }

    fn write_batch(&mut self) -> Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        let ids: ArrayRef = Arc::new(self.ids.finish());
        let values: ArrayRef = match &mut self.values {
            Values::Vectors(lists) => Arc::new(lists.finish()),
            Values::Tokens(lists) => Arc::new(lists.finish()),
            Values::Hits(lists) => Arc::new(lists.finish()),
        };
        self.rows = 0;
        self.bytes = 0;
        let schema = Arc::clone(&self.schema);
        let batch = RecordBatch::try_new(schema, vec![ids, values])?;
        let written = self.stream.write(&batch);
        written.with_context(|| failed(self.stream.get_ref().name()))
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        self.write_batch()?;
        let flushed = self.stream.get_mut().flush();
        flushed.with_context(|| failed(self.stream.get_ref().name()))
    }

    /// Writes the end of the stream.
    pub(super) fn finish(&mut self) -> Result<()> {
        let finished = self.stream.finish();
        finished.with_context(|| failed(self.stream.get_ref().name()))?;
        self.flush()
    }
}
