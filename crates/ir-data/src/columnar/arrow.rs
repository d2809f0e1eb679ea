//! Rows of Arrow files (Feather), and of streams of its messages.
//!
//! A file is a stream between magic bytes and a footer. The messages are read one after the other,
//! so that a length in a damaged file never allocates more memory than the file has bytes.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom, Take};
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowDictionaryKeyType, Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type,
    Decimal256Type, DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType,
    DurationSecondType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::reader::{read_dictionary, read_record_batch};
use arrow_ipc::{CompressionType, Message, MessageHeader, root_as_message};
use arrow_schema::{DataType, SchemaRef, TimeUnit};
use ir_core::AttributeValue;

use crate::lines::MAX_LINE;

use super::cells::{Cell, Cells, Column, ColumnKind, OpenFile};
use super::values::{date, double, duration, single, timestamp, unsigned};

/// Bytes at the start of a file, with padding.
const MAGIC: &[u8; 8] = b"ARROW1\0\0";
/// Longest start of a file with its padding.
const MAX_PADDING: u64 = 64;
/// Length of the footer and magic bytes at the end of a file.
const END: u64 = 10;
/// Marker before the length of a message.
const CONTINUATION: [u8; 4] = [0xff; 4];
/// Most bytes that a byte of LZ4 becomes.
const MAX_LZ4_RATIO: u64 = 255;
/// Most bytes that a buffer compressed with zstd becomes.
const MAX_ZSTD_BUFFER: u64 = 1 << 31;

pub(super) struct ArrowRows {
    messages: Take<BufReader<File>>,
    schema: SchemaRef,
    columns: Vec<usize>,
    dictionaries: HashMap<i64, ArrayRef>,
    batch: RecordBatch,
    /// Next row of the batch.
    row: usize,
}

impl ArrowRows {
    /// Opens a file and reads its schema.
    pub(super) fn open(path: &Path) -> Result<Box<dyn OpenFile>, String> {
        let mut file = File::open(path).map_err(text)?;
        let len = file.metadata().map_err(text)?.len();
        let mut magic = [0; 8];
        file.read_exact(&mut magic).map_err(text)?;
        let (start, end) = if &magic == MAGIC {
            let end = start_of_footer(&mut file, len)?;
            (start_of_messages(&mut file)?.min(end), end)
        } else {
            (0, len)
        };
        file.seek(SeekFrom::Start(start)).map_err(text)?;
        let mut messages = BufReader::new(file).take(end - start);
        let (head, _) = read_message(&mut messages)?.ok_or("no schema")?;
        let message = parsed(&head)?;
        let schema = message.header_as_schema().ok_or("no schema")?;
        let schema = Arc::new(arrow_ipc::convert::try_fb_to_schema(schema).map_err(text)?);
        Ok(Box::new(Self {
            messages,
            batch: RecordBatch::new_empty(Arc::clone(&schema)),
            schema,
            columns: Vec::new(),
            dictionaries: HashMap::new(),
            row: 0,
        }))
    }

    /// Reads the next batch of rows; `false` at the end.
    fn read_batch(&mut self) -> Result<bool, String> {
        while let Some((head, body)) = read_message(&mut self.messages)? {
            let message = parsed(&head)?;
            let version = message.version();
            let body = Buffer::from_vec(body);
            match message.header_type() {
                MessageHeader::RecordBatch => {
                    let batch = message.header_as_record_batch().ok_or("no batch")?;
                    check_lengths(&batch, &body)?;
                    self.batch = read_record_batch(
                        &body,
                        batch,
                        Arc::clone(&self.schema),
                        &self.dictionaries,
                        Some(&self.columns),
                        &version,
                    )
                    .map_err(text)?;
                    self.row = 0;
                    return Ok(true);
                }
                MessageHeader::DictionaryBatch => {
                    let batch = message.header_as_dictionary_batch().ok_or("no values")?;
                    if let Some(data) = batch.data() {
                        check_lengths(&data, &body)?;
                    }
                    let known = &mut self.dictionaries;
                    read_dictionary(&body, batch, &self.schema, known, &version).map_err(text)?;
                }
                other => return Err(format!("a message of type {other:?}")),
            }
        }
        Ok(false)
    }
}

impl OpenFile for ArrowRows {
    fn columns(&self) -> Vec<Column> {
        let columns = self.schema.fields().iter().map(|field| Column {
            name: field.name().clone(),
            kind: kind_of(field.data_type()),
        });
        columns.collect()
    }

    fn len(&self) -> Option<u64> {
        None
    }

    fn pandas(&self) -> Option<&str> {
        self.schema.metadata().get("pandas").map(String::as_str)
    }

    fn select(mut self: Box<Self>, columns: &[usize]) -> Result<Box<dyn Cells>, String> {
        self.columns = columns.to_vec();
        Ok(self)
    }
}

impl Cells for ArrowRows {
    fn read(&mut self) -> Result<Option<Vec<Cell>>, String> {
        while self.row >= self.batch.num_rows() {
            if !self.read_batch()? {
                return Ok(None);
            }
        }
        let row = self.row;
        self.row += 1;
        let columns = self.batch.columns().iter();
        Ok(Some(columns.map(|column| cell(column, row)).collect()))
    }
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Where the footer of a file begins: the messages end there.
fn start_of_footer(file: &mut File, len: u64) -> Result<u64, String> {
    let too_short = || "the file is truncated".to_owned();
    let end = len.checked_sub(END).ok_or_else(too_short)?;
    let mut bytes = [0; END as usize];
    file.seek(SeekFrom::Start(end)).map_err(text)?;
    file.read_exact(&mut bytes).map_err(text)?;
    let (footer, magic) = bytes.split_at(4);
    if magic != &MAGIC[..6] {
        return Err(too_short());
    }
    let footer = footer.try_into().map(i32::from_le_bytes).map_err(text)?;
    let footer = u64::try_from(footer).map_err(text)?;
    let start = end.checked_sub(footer).ok_or_else(too_short)?;
    if start < MAGIC.len() as u64 {
        return Err(too_short());
    }
    Ok(start)
}

/// Where the messages of a file begin: after the padding of the magic bytes, up to 64 bytes.
fn start_of_messages(file: &mut File) -> Result<u64, String> {
    let mut head = Vec::new();
    file.seek(SeekFrom::Start(0)).map_err(text)?;
    file.take(MAX_PADDING)
        .read_to_end(&mut head)
        .map_err(text)?;
    let padding = head.iter().skip(MAGIC.len()).take_while(|byte| **byte == 0);
    Ok((MAGIC.len() + padding.count()) as u64)
}

/// Head and body of a message.
type MessageBytes = (Vec<u8>, Vec<u8>);

/// Reads a message; `None` at the end of the stream.
fn read_message(reader: &mut impl Read) -> Result<Option<MessageBytes>, String> {
    let mut length = exactly(reader, 4)?;
    if length == CONTINUATION {
        length = exactly(reader, 4)?;
    }
    let length = match length[..] {
        [] => return Ok(None),
        [a, b, c, d] => i32::from_le_bytes([a, b, c, d]),
        _ => return Err("the file is truncated".to_owned()),
    };
    if length == 0 {
        return Ok(None);
    }
    let head = exactly(reader, length.into())?;
    let body = parsed(&head)?.bodyLength();
    let body = exactly(reader, body)?;
    Ok(Some((head, body)))
}

/// Reads `length` bytes, or none at the end of the file. Memory grows with what is read.
fn exactly(reader: &mut impl Read, length: i64) -> Result<Vec<u8>, String> {
    let length = u64::try_from(length).map_err(|_| format!("a length of {length}"))?;
    let mut bytes = Vec::new();
    let read = reader.take(length).read_to_end(&mut bytes);
    let read = read.map_err(text)? as u64;
    if read > 0 && read < length {
        return Err("the file is truncated".to_owned());
    }
    Ok(bytes)
}

fn parsed(head: &[u8]) -> Result<Message<'_>, String> {
    root_as_message(head).map_err(|_| "a damaged message".to_owned())
}

/// Returns an error if a compressed buffer says that it becomes larger than it can.
fn check_lengths(batch: &arrow_ipc::RecordBatch<'_>, body: &[u8]) -> Result<(), String> {
    let Some(compression) = batch.compression() else {
        return Ok(());
    };
    let is_lz4 = compression.codec() == CompressionType::LZ4_FRAME;
    let rows = u64::try_from(batch.length()).unwrap_or(0);
    let cells = rows.max(1).saturating_mul(MAX_LINE);
    for buffer in batch.buffers().into_iter().flatten() {
        let start = usize::try_from(buffer.offset()).ok();
        let bytes = start.and_then(|start| body.get(start..)?.first_chunk());
        let (Some(bytes), Ok(length)) = (bytes, u64::try_from(buffer.length())) else {
            // An empty buffer; other offsets are errors of the library.
            continue;
        };
        // -1: not compressed.
        let unpacked = u64::try_from(i64::from_le_bytes(*bytes)).unwrap_or(0);
        let by_codec = if is_lz4 {
            length.saturating_mul(MAX_LZ4_RATIO)
        } else {
            MAX_ZSTD_BUFFER
        };
        let limit = by_codec.min(cells);
        if length > 0 && unpacked > limit {
            return Err(format!("{length} bytes that become {unpacked} bytes"));
        }
    }
    Ok(())
}

fn kind_of(column: &DataType) -> ColumnKind {
    let is_float = matches!(
        element(column),
        Some(DataType::Float16 | DataType::Float32 | DataType::Float64)
    );
    if is_float {
        ColumnKind::Vectors
    } else if has_values(column) {
        ColumnKind::Values
    } else if matches!(
        column,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView
    ) {
        ColumnKind::Binary
    } else {
        ColumnKind::Other
    }
}

/// Type of the elements of lists.
fn element(column: &DataType) -> Option<&DataType> {
    match column {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            Some(item.data_type())
        }
        _ => None,
    }
}

/// Returns `true` if all leaves of a column are values of attributes.
fn has_values(column: &DataType) -> bool {
    if let Some(element) = element(column) {
        return has_values(element);
    }
    match column {
        DataType::Struct(fields) => fields.iter().all(|field| has_values(field.data_type())),
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) => {
                let [key, value] = &fields[..] else {
                    return false;
                };
                key.data_type().is_string() && has_values(value.data_type())
            }
            _ => false,
        },
        DataType::Dictionary(_, values) => has_values(values),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null => true,
        DataType::Boolean | DataType::Date32 | DataType::Date64 => true,
        DataType::Timestamp(..) | DataType::Duration(_) => true,
        other => other.is_numeric(),
    }
}

fn cell(array: &dyn Array, row: usize) -> Cell {
    let bytes = match array.data_type() {
        _ if array.is_null(row) => return Cell::Null,
        DataType::Binary => array.as_binary::<i32>().value(row),
        DataType::LargeBinary => array.as_binary::<i64>().value(row),
        DataType::BinaryView => array.as_binary_view().value(row),
        _ => return value(array, row).into(),
    };
    Cell::from_bytes(bytes)
}

/// Value of a cell; `None` for null and NaN.
fn value(array: &dyn Array, row: usize) -> Option<AttributeValue> {
    if array.is_null(row) {
        return None;
    }
    macro_rules! cell {
        ($type:ty) => {
            array.as_primitive::<$type>().value(row)
        };
    }
    let time = |seconds: i64| AttributeValue::Text(timestamp(seconds));
    let decimal = AttributeValue::Text;
    Some(match array.data_type() {
        DataType::Boolean => AttributeValue::Bool(array.as_boolean().value(row)),
        DataType::Int8 => AttributeValue::Int(cell!(Int8Type).into()),
        DataType::Int16 => AttributeValue::Int(cell!(Int16Type).into()),
        DataType::Int32 => AttributeValue::Int(cell!(Int32Type).into()),
        DataType::Int64 => AttributeValue::Int(cell!(Int64Type)),
        DataType::UInt8 => AttributeValue::Int(cell!(UInt8Type).into()),
        DataType::UInt16 => AttributeValue::Int(cell!(UInt16Type).into()),
        DataType::UInt32 => AttributeValue::Int(cell!(UInt32Type).into()),
        DataType::UInt64 => unsigned(cell!(UInt64Type)),
        DataType::Float16 => return double(cell!(Float16Type).to_f64()),
        DataType::Float32 => return single(cell!(Float32Type)),
        DataType::Float64 => return double(cell!(Float64Type)),
        DataType::Utf8 => AttributeValue::Text(array.as_string::<i32>().value(row).to_owned()),
        DataType::LargeUtf8 => AttributeValue::Text(array.as_string::<i64>().value(row).to_owned()),
        DataType::Utf8View => AttributeValue::Text(array.as_string_view().value(row).to_owned()),
        DataType::Date32 => AttributeValue::Text(date(cell!(Date32Type).into())),
        DataType::Date64 => AttributeValue::Text(date(cell!(Date64Type).div_euclid(86_400_000))),
        DataType::Timestamp(unit, _) => time(match unit {
            TimeUnit::Second => cell!(TimestampSecondType),
            TimeUnit::Millisecond => cell!(TimestampMillisecondType).div_euclid(1_000),
            TimeUnit::Microsecond => cell!(TimestampMicrosecondType).div_euclid(1_000_000),
            TimeUnit::Nanosecond => cell!(TimestampNanosecondType).div_euclid(1_000_000_000),
        }),
        DataType::Duration(unit) => {
            let (count, nanoseconds) = match unit {
                TimeUnit::Second => (cell!(DurationSecondType), 1_000_000_000),
                TimeUnit::Millisecond => (cell!(DurationMillisecondType), 1_000_000),
                TimeUnit::Microsecond => (cell!(DurationMicrosecondType), 1_000),
                TimeUnit::Nanosecond => (cell!(DurationNanosecondType), 1),
            };
            AttributeValue::Text(duration(i128::from(count) * nanoseconds))
        }
        DataType::Decimal32(..) => {
            decimal(array.as_primitive::<Decimal32Type>().value_as_string(row))
        }
        DataType::Decimal64(..) => {
            decimal(array.as_primitive::<Decimal64Type>().value_as_string(row))
        }
        DataType::Decimal128(..) => {
            decimal(array.as_primitive::<Decimal128Type>().value_as_string(row))
        }
        DataType::Decimal256(..) => {
            decimal(array.as_primitive::<Decimal256Type>().value_as_string(row))
        }
        DataType::List(_) => values(&array.as_list::<i32>().value(row)),
        DataType::LargeList(_) => values(&array.as_list::<i64>().value(row)),
        DataType::FixedSizeList(..) => values(&array.as_fixed_size_list().value(row)),
        DataType::Struct(fields) => {
            let columns = array.as_struct().columns();
            let members = fields
                .iter()
                .zip(columns)
                .filter_map(|(field, column)| Some((field.name().clone(), value(column, row)?)));
            AttributeValue::Map(members.collect())
        }
        DataType::Map(..) => {
            let entries = array.as_map().value(row);
            let [keys, cells] = entries.columns() else {
                return None;
            };
            let members = (0..entries.len()).filter_map(|entry| {
                let AttributeValue::Text(key) = value(keys, entry)? else {
                    return None;
                };
                Some((key, value(cells, entry)?))
            });
            AttributeValue::Map(members.collect::<BTreeMap<_, _>>())
        }
        DataType::Dictionary(keys, _) => return dictionary_value(array, keys, row),
        // Columns of other types are not read, and Null has no values.
        _ => return None,
    })
}

fn values(list: &dyn Array) -> AttributeValue {
    let values = (0..list.len()).filter_map(|row| value(list, row));
    AttributeValue::List(values.collect())
}

/// Value of a cell that is a position in a list of values, as of a category of pandas.
fn dictionary_value(array: &dyn Array, keys: &DataType, row: usize) -> Option<AttributeValue> {
    fn of_key<K: ArrowDictionaryKeyType>(array: &dyn Array, row: usize) -> Option<AttributeValue> {
        let array = array.as_dictionary::<K>();
        value(array.values(), array.key(row)?)
    }
    match keys {
        DataType::Int8 => of_key::<Int8Type>(array, row),
        DataType::Int16 => of_key::<Int16Type>(array, row),
        DataType::Int32 => of_key::<Int32Type>(array, row),
        DataType::Int64 => of_key::<Int64Type>(array, row),
        DataType::UInt8 => of_key::<UInt8Type>(array, row),
        DataType::UInt16 => of_key::<UInt16Type>(array, row),
        DataType::UInt32 => of_key::<UInt32Type>(array, row),
        DataType::UInt64 => of_key::<UInt64Type>(array, row),
        _ => None,
    }
}
