//! Rows of Parquet files, by the record API of the crate parquet.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use ir_core::AttributeValue;
use parquet::basic::{ConvertedType, LogicalType, Repetition, TimeUnit, Type as PhysicalType};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use parquet::record::reader::RowIter;
use parquet::schema::types::{Type, TypePtr};

use crate::lines::MAX_LINE;

use super::cells::{Cell, Cells, Column, ColumnKind, OpenFile};
use super::pandas;
use super::values::{date, double, duration, single, timestamp, unsigned};

/// Opened file and the types of its columns.
pub(super) struct ParquetRows {
    reader: SerializedFileReader<File>,
    columns: Vec<TypePtr>,
}

impl ParquetRows {
    pub(super) fn open(path: &Path) -> Result<Box<dyn OpenFile>, String> {
        let file = File::open(path).map_err(|error| error.to_string())?;
        let reader = SerializedFileReader::new(file).map_err(text)?;
        let schema = reader.metadata().file_metadata().schema();
        let columns = schema.get_fields().to_vec();
        Ok(Box::new(Self { reader, columns }))
    }
}

impl ParquetRows {
    /// Returns an error if the cells of a column have more than [`MAX_LINE`] bytes on average: they
    /// are decompressed together.
    fn check_sizes(&self, columns: &[TypePtr]) -> Result<(), String> {
        for group in self.reader.metadata().row_groups() {
            let rows = u64::try_from(group.num_rows()).unwrap_or(0).max(1);
            for chunk in group.columns() {
                let path = chunk.column_path().parts();
                let is_read = columns
                    .iter()
                    .any(|column| path.first().is_some_and(|it| it == column.name()));
                let bytes = u64::try_from(chunk.uncompressed_size()).unwrap_or(u64::MAX);
                if is_read && bytes / rows > MAX_LINE {
                    return Err(format!("{rows} cells of {bytes} bytes in {:?}", path[0]));
                }
            }
        }
        Ok(())
    }
}

impl OpenFile for ParquetRows {
    fn columns(&self) -> Vec<Column> {
        let columns = self.columns.iter().map(|column| Column {
            name: column.name().to_owned(),
            kind: if is_list_of_floats(column) {
                ColumnKind::Vectors
            } else if has_values(column) {
                ColumnKind::Values
            } else if is_binary(column) {
                ColumnKind::Binary
            } else {
                ColumnKind::Other
            },
        });
        columns.collect()
    }

    fn len(&self) -> Option<u64> {
        let rows = self.reader.metadata().file_metadata().num_rows();
        u64::try_from(rows).ok()
    }

    fn pandas(&self) -> Option<&str> {
        let metadata = self.reader.metadata().file_metadata();
        let mut entries = metadata.key_value_metadata()?.iter();
        entries
            .find(|entry| entry.key == "pandas")?
            .value
            .as_deref()
    }

    fn select(self: Box<Self>, columns: &[usize]) -> Result<Box<dyn Cells>, String> {
        let columns: Vec<TypePtr> = columns
            .iter()
            .map(|&column| self.columns[column].clone())
            .collect();
        let durations = self.pandas().map(pandas::durations).unwrap_or_default();
        let units = columns.iter().map(|column| {
            let duration = durations.get(column.name()).copied();
            unit_of(column).or(duration.map(Unit::Duration))
        });
        let units = units.collect();
        self.check_sizes(&columns)?;
        let name = self.reader.metadata().file_metadata().schema().name();
        let schema = Type::group_type_builder(name).with_fields(columns);
        let schema = schema.build().map_err(text)?;
        let rows = RowIter::from_file_into(Box::new(self.reader));
        let rows = rows.project(Some(schema)).map_err(text)?;
        Ok(Box::new(SelectedColumns { rows, units }))
    }
}

/// Cells of the selected columns.
struct SelectedColumns {
    rows: RowIter<'static>,
    /// Units of the columns that are timestamps or durations in integers.
    units: Vec<Option<Unit>>,
}

impl Cells for SelectedColumns {
    fn read(&mut self) -> Result<Option<Vec<Cell>>, String> {
        let Some(row) = self.rows.next().transpose().map_err(text)? else {
            return Ok(None);
        };
        let fields = row.into_columns().into_iter().zip(&self.units);
        let cells = fields.map(|((_, field), &unit)| match field {
            Field::Bytes(bytes) => Cell::from_bytes(bytes.data()),
            field => attribute_value(field, unit).into(),
        });
        Ok(Some(cells.collect()))
    }
}

fn text(error: ParquetError) -> String {
    error.to_string()
}

/// Unit of timestamps and durations that the record API reads as integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    /// Nanoseconds of a timestamp.
    Nanoseconds,
    /// This number of nanoseconds of a duration.
    Duration(i128),
}

/// Unit of a column of timestamps that have no converted type: nanoseconds, as pandas writes them.
fn unit_of(column: &Type) -> Option<Unit> {
    let logical = column.get_basic_info().logical_type_ref();
    let unit = match logical {
        Some(LogicalType::Timestamp(timestamp)) => Some(timestamp.unit),
        _ => None,
    };
    (unit == Some(TimeUnit::NANOS)).then_some(Unit::Nanoseconds)
}

/// Returns `true` if all leaves of a column are values of attributes.
fn has_values(column: &Type) -> bool {
    if !column.is_primitive() {
        return column.get_fields().iter().all(|field| has_values(field));
    }
    let info = column.get_basic_info();
    match column.get_physical_type() {
        PhysicalType::BYTE_ARRAY => matches!(
            info.converted_type(),
            ConvertedType::UTF8
                | ConvertedType::ENUM
                | ConvertedType::JSON
                | ConvertedType::DECIMAL
        ),
        PhysicalType::FIXED_LEN_BYTE_ARRAY => {
            info.converted_type() == ConvertedType::DECIMAL || is_half(column)
        }
        PhysicalType::INT32 | PhysicalType::INT64 => {
            let is_time = matches!(info.logical_type_ref(), Some(LogicalType::Time(_)));
            let converted = matches!(
                info.converted_type(),
                ConvertedType::TIME_MILLIS | ConvertedType::TIME_MICROS | ConvertedType::INTERVAL
            );
            !is_time && !converted
        }
        _ => true,
    }
}

/// Returns `true` for byte strings without an annotation, as Impala writes texts.
fn is_binary(column: &Type) -> bool {
    let info = column.get_basic_info();
    column.is_primitive()
        && column.get_physical_type() == PhysicalType::BYTE_ARRAY
        && info.converted_type() == ConvertedType::NONE
        && info.logical_type_ref().is_none()
        && !is_repeated(column)
}

fn is_repeated(column: &Type) -> bool {
    let info = column.get_basic_info();
    info.has_repetition() && info.repetition() == Repetition::REPEATED
}

/// Returns `true` for numbers in half precision.
fn is_half(leaf: &Type) -> bool {
    leaf.get_basic_info().logical_type_ref() == Some(&LogicalType::Float16)
}

/// Returns `true` for a list of floating-point numbers, such as an embedding.
fn is_list_of_floats(column: &Type) -> bool {
    let is_float = |leaf: &Type| {
        leaf.is_primitive()
            && match leaf.get_physical_type() {
                PhysicalType::FLOAT | PhysicalType::DOUBLE => true,
                _ => is_half(leaf),
            }
    };
    if column.is_primitive() {
        return is_float(column) && is_repeated(column);
    }
    let [items] = column.get_fields() else {
        return false;
    };
    if items.is_primitive() {
        return is_float(items) && is_repeated(items);
    }
    is_repeated(items) && matches!(items.get_fields(), [element] if is_float(element))
}

/// Text of a field that is no string. The crate parquet ends decimals of scale 0 with a point.
fn text_of(field: &Field) -> String {
    let mut text = field.to_string();
    if matches!(field, Field::Decimal(_)) && text.ends_with('.') {
        text.pop();
    }
    text
}

/// Value of a cell; `None` for null and NaN.
fn attribute_value(field: Field, unit: Option<Unit>) -> Option<AttributeValue> {
    Some(match field {
        Field::Null => return None,
        Field::Bool(truth) => AttributeValue::Bool(truth),
        Field::Byte(number) => AttributeValue::Int(number.into()),
        Field::Short(number) => AttributeValue::Int(number.into()),
        Field::Int(number) => AttributeValue::Int(number.into()),
        Field::Long(number) => match unit {
            Some(Unit::Nanoseconds) => {
                AttributeValue::Text(timestamp(number.div_euclid(1_000_000_000)))
            }
            Some(Unit::Duration(nanoseconds)) => {
                AttributeValue::Text(duration(i128::from(number) * nanoseconds))
            }
            None => AttributeValue::Int(number),
        },
        Field::UByte(number) => AttributeValue::Int(number.into()),
        Field::UShort(number) => AttributeValue::Int(number.into()),
        Field::UInt(number) => AttributeValue::Int(number.into()),
        Field::ULong(number) => unsigned(number),
        Field::Float16(number) => return double(number.to_f64()),
        Field::Float(number) => return single(number),
        Field::Double(number) => return double(number),
        Field::Str(text) => AttributeValue::Text(text),
        Field::Date(days) => AttributeValue::Text(date(days.into())),
        Field::TimestampMillis(millis) => AttributeValue::Text(timestamp(millis.div_euclid(1_000))),
        Field::TimestampMicros(micros) => {
            AttributeValue::Text(timestamp(micros.div_euclid(1_000_000)))
        }
        decimal @ Field::Decimal(_) => AttributeValue::Text(text_of(&decimal)),
        // Columns of these types are not read here.
        Field::Bytes(_) | Field::TimeMillis(_) | Field::TimeMicros(_) => return None,
        Field::Group(row) => {
            let members = row.into_columns().into_iter();
            let members =
                members.filter_map(|(name, field)| Some((name, attribute_value(field, None)?)));
            AttributeValue::Map(members.collect())
        }
        Field::ListInternal(list) => {
            let elements = list.elements().iter();
            let values = elements.filter_map(|field| attribute_value(field.clone(), unit));
            AttributeValue::List(values.collect())
        }
        Field::MapInternal(map) => {
            let mut members = BTreeMap::new();
            for (key, value) in map.entries() {
                let key = match key {
                    Field::Str(key) => key.clone(),
                    other => text_of(other),
                };
                if let Some(value) = attribute_value(value.clone(), None) {
                    members.insert(key, value);
                }
            }
            AttributeValue::Map(members)
        }
    })
}
