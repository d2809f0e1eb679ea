//! Attribute values of cells.

use std::collections::BTreeMap;

use ir_core::AttributeValue;
use parquet::basic::{ConvertedType, LogicalType, Repetition, TimeUnit, Type as PhysicalType};
use parquet::record::Field;
use parquet::schema::types::Type;

/// Unit of timestamps that the record API reads as integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Nanoseconds,
}

/// Unit of a column of timestamps that have no converted type: nanoseconds, as pandas writes them.
pub(super) fn unit_of(column: &Type) -> Option<Unit> {
    let logical = column.get_basic_info().logical_type_ref();
    let unit = match logical {
        Some(LogicalType::Timestamp(timestamp)) => Some(timestamp.unit),
        _ => None,
    };
    (unit == Some(TimeUnit::NANOS)).then_some(Unit::Nanoseconds)
}

/// Returns `true` if all leaves of a column are values of attributes, and it is no list of
/// floating-point numbers.
pub(super) fn is_readable(column: &Type) -> bool {
    !is_list_of_floats(column) && has_values(column)
}

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
        PhysicalType::FIXED_LEN_BYTE_ARRAY => info.converted_type() == ConvertedType::DECIMAL,
        PhysicalType::INT32 | PhysicalType::INT64 => !matches!(
            info.converted_type(),
            ConvertedType::TIME_MILLIS | ConvertedType::TIME_MICROS | ConvertedType::INTERVAL
        ),
        _ => true,
    }
}

/// Returns `true` for a list of floating-point numbers, such as an embedding.
pub(super) fn is_list_of_floats(column: &Type) -> bool {
    let is_float = |leaf: &Type| {
        leaf.is_primitive()
            && matches!(
                leaf.get_physical_type(),
                PhysicalType::FLOAT | PhysicalType::DOUBLE
            )
    };
    let is_repeated = |column: &Type| {
        let info = column.get_basic_info();
        info.has_repetition() && info.repetition() == Repetition::REPEATED
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

/// Value of a cell; `None` for null and NaN.
pub(super) fn attribute_value(field: Field, unit: Option<Unit>) -> Option<AttributeValue> {
    let float = |number: f64| (!number.is_nan()).then_some(AttributeValue::Float(number));
    Some(match field {
        Field::Null => return None,
        Field::Bool(truth) => AttributeValue::Bool(truth),
        Field::Byte(number) => AttributeValue::Int(number.into()),
        Field::Short(number) => AttributeValue::Int(number.into()),
        Field::Int(number) => AttributeValue::Int(number.into()),
        Field::Long(nanoseconds) if unit == Some(Unit::Nanoseconds) => {
            AttributeValue::Text(timestamp(nanoseconds.div_euclid(1_000_000_000)))
        }
        Field::Long(number) => AttributeValue::Int(number),
        Field::UByte(number) => AttributeValue::Int(number.into()),
        Field::UShort(number) => AttributeValue::Int(number.into()),
        Field::UInt(number) => AttributeValue::Int(number.into()),
        Field::ULong(number) => match i64::try_from(number) {
            Ok(number) => AttributeValue::Int(number),
            Err(_) => AttributeValue::Float(number as f64),
        },
        Field::Float16(number) => return float(number.to_f64()),
        // The shortest decimal number, as JSON has it: 0.1 and not 0.10000000149011612.
        Field::Float(number) => return float(number.to_string().parse().unwrap_or(f64::NAN)),
        Field::Double(number) => return float(number),
        Field::Str(text) => AttributeValue::Text(text),
        Field::Date(days) => AttributeValue::Text(date(days.into())),
        Field::TimestampMillis(millis) => AttributeValue::Text(timestamp(millis.div_euclid(1_000))),
        Field::TimestampMicros(micros) => {
            AttributeValue::Text(timestamp(micros.div_euclid(1_000_000)))
        }
        decimal @ Field::Decimal(_) => AttributeValue::Text(decimal.to_string()),
        // Columns of these types are not read.
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
                    other => other.to_string(),
                };
                if let Some(value) = attribute_value(value.clone(), None) {
                    members.insert(key, value);
                }
            }
            AttributeValue::Map(members)
        }
    })
}

const DAY: i64 = 86_400;

/// Seconds since 1970 as `2017-03-01T12:00:00Z`. Fractions of a second are cut off.
fn timestamp(seconds: i64) -> String {
    let time = seconds.rem_euclid(DAY);
    let (hour, minute, second) = (time / 3_600, time / 60 % 60, time % 60);
    let date = date(seconds.div_euclid(DAY));
    format!("{date}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Days since 1970 as `2017-03-01` in the Gregorian calendar.
fn date(days: i64) -> String {
    // Years start in March, so that a leap day is the last day of a year.
    const DAYS_OF_400_YEARS: i64 = 146_097;
    let days = days + 719_468;
    let day_of_era = days.rem_euclid(DAYS_OF_400_YEARS);
    let leap_days = day_of_era / 1_460 - day_of_era / 36_524 + day_of_era / 146_096;
    let year_of_era = (day_of_era - leap_days) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + 400 * days.div_euclid(DAYS_OF_400_YEARS) + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Dates computed by Python's datetime.
    #[test]
    fn dates() {
        for (days, expected) in [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (11_016, "2000-02-29"),
            (11_017, "2000-03-01"),
            (17_226, "2017-03-01"),
            (-25_509, "1900-02-28"),
            (-25_508, "1900-03-01"),
            (2_932_896, "9999-12-31"),
            (-719_162, "0001-01-01"),
        ] {
            assert_eq!(date(days), expected);
        }
        assert_eq!(timestamp(1_488_370_245), "2017-03-01T12:10:45Z");
        assert_eq!(timestamp(-1), "1969-12-31T23:59:59Z");
    }
}
