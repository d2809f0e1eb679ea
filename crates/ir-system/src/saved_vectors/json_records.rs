//! Vectors in JSON: records in lines, or in one array.

use std::fmt::{self, Display};
use std::io::{self, BufRead, Read};

use ir_core::DocIds;
use ir_data::columnar::{VECTOR_NAMES, vector_id_names};
use ir_data::{LineReader, parser_message};
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, de};

use super::vector_ids::{check_unique, full_message, push_id};

/// Ids, dimension and row-major values.
pub(super) type Rows = (DocIds, usize, Vec<f32>);

/// Id and vector of a record, if it has them. Other fields are ignored.
struct Record {
    id: Option<String>,
    vector: Option<Vec<f32>>,
}

impl<'de> Deserialize<'de> for Record {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        input.deserialize_map(RecordVisitor)
    }
}

struct RecordVisitor;

impl<'de> Visitor<'de> for RecordVisitor {
    type Value = Record;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Record, A::Error> {
        let repeated = |content: &str, names: [&str; 2]| {
            let [first, second] = names;
            A::Error::custom(format_args!(
                "expected one field with {content}, found {first:?} and {second:?}"
            ))
        };
        // The id with the precedence and the name of its field.
        let mut id: Option<(usize, String, Id)> = None;
        let mut vector: Option<(String, Vec<f32>)> = None;
        while let Some(name) = map.next_key::<String>()? {
            let is_name = |known: &str| name.eq_ignore_ascii_case(known);
            if VECTOR_NAMES.into_iter().any(is_name) {
                if let Some((first, _)) = &vector {
                    return Err(repeated("a vector", [first, &name]));
                }
                vector = Some((name, map.next_value()?));
            } else if let Some(rank) = vector_id_names().position(is_name) {
                let value = map.next_value()?;
                match &id {
                    Some((known, first, _)) if *known == rank => {
                        return Err(repeated("an id", [first, &name]));
                    }
                    Some((known, ..)) if *known < rank => {}
                    _ => id = Some((rank, name, value)),
                }
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        let vector = vector.map(|(_, vector)| vector);
        let id = match id.map(|(.., id)| id) {
            None => None,
            Some(Id::Number(id)) => Some(id.to_string()),
            Some(Id::Text(id)) => Some(id),
            // A record of another kind may have any id.
            Some(Id::Other(_)) if vector.is_none() => None,
            Some(Id::Other(_)) => {
                return Err(A::Error::custom(
                    "the id is neither a string nor an integer",
                ));
            }
        };
        Ok(Record { id, vector })
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Id {
    Number(i64),
    Text(String),
    Other(IgnoredAny),
}

/// Rows that were read.
#[derive(Default)]
struct RowBuilder {
    ids: DocIds,
    values: Vec<f32>,
    /// Lines, or numbers in an array.
    numbers: Vec<u64>,
    /// Dimension and number of the first row.
    first: Option<(usize, u64)>,
}

impl RowBuilder {
    /// Adds a row. `unit` and `number` are its position in the file, which `at` has, too.
    ///
    /// # Errors
    /// Returns a message if the record lacks a field, or has another dimension than the first.
    fn push(
        &mut self,
        record: Record,
        at: &dyn Display,
        unit: &str,
        number: u64,
    ) -> Result<(), String> {
        let missing = |field: &str| {
            format!("{at}: expected JSON with id and vector, an array of numbers, found no {field}")
        };
        let vector = record.vector.ok_or_else(|| missing("vector"))?;
        let id = record.id.ok_or_else(|| missing("id"))?;
        let &mut (dim, first) = self.first.get_or_insert((vector.len(), number));
        if vector.len() != dim {
            let found = vector.len();
            return Err(format!(
                "{at}: expected {dim} numbers, as in {unit} {first}, found {found}"
            ));
        }
        push_id(&mut self.ids, &id, at)?;
        self.values.extend(vector);
        self.numbers.push(number);
        Ok(())
    }

    /// Rows with unique ids. `unit` and `place` are as in [`check_unique`].
    fn finish(self, unit: &str, place: impl Fn(u64) -> String) -> Result<Rows, String> {
        check_unique(&self.ids, unit, |row| self.numbers[row], place)?;
        Ok((self.ids, self.first.map_or(0, |(dim, _)| dim), self.values))
    }
}

/// Message of an error of the parser in a line.
fn invalid(name: &str, line: u64, error: &serde_json::Error) -> String {
    let found = parser_message(&error.to_string(), "an object");
    format!(
        "{name}:{line}: expected JSON with id and vector, an array of numbers, found an error at \
         column {} ({found})",
        error.column()
    )
}

/// Reads a record per line. `None` if the first one has no vector, such as a query.
pub(super) fn read_json_lines(reader: impl BufRead, name: &str) -> Result<Option<Rows>, String> {
    let mut lines = LineReader::new(reader, name);
    let mut rows = RowBuilder::default();
    while let Some(line) = lines.read().map_err(|error| full_message(&error))? {
        if line.text.trim_ascii().is_empty() {
            continue;
        }
        let number = line.number;
        let record: Record =
            serde_json::from_str(line.text).map_err(|error| invalid(name, number, &error))?;
        if rows.first.is_none() && record.vector.is_none() {
            return Ok(None);
        }
        rows.push(record, &format_args!("{name}:{number}"), "line", number)?;
    }
    rows.finish("line", |line| format!("{name}:{line}"))
        .map(Some)
}

/// Reads an array of records. `None` if the first one has no vector.
pub(super) fn read_json_array(
    mut reader: impl BufRead,
    name: &str,
) -> Result<Option<Rows>, String> {
    const MARK: &[u8] = b"\xef\xbb\xbf";
    let failed = |error: io::Error| format!("{name}: cannot be read: {error}");
    if reader.fill_buf().map_err(failed)?.starts_with(MARK) {
        reader.consume(MARK.len());
    }
    let mut array = ArrayVisitor {
        name,
        rows: RowBuilder::default(),
        failure: None,
        is_other: false,
    };
    let read = read_array(reader, &mut array);
    if array.is_other {
        return Ok(None);
    }
    if let Some(failure) = array.failure {
        return Err(failure);
    }
    read.map_err(|error| invalid(name, error.line() as u64, &error))?;
    let place = |record| format!("{name}: record {record}");
    array.rows.finish("record", place).map(Some)
}

fn read_array(reader: impl Read, array: &mut ArrayVisitor<'_>) -> serde_json::Result<()> {
    let mut parser = serde_json::Deserializer::from_reader(reader);
    parser.deserialize_seq(array)?;
    parser.end()
}

/// Reads the records of an array one at a time.
struct ArrayVisitor<'a> {
    name: &'a str,
    rows: RowBuilder,
    /// Message about a record that is JSON.
    failure: Option<String>,
    /// The first record has no vector.
    is_other: bool,
}

impl<'de> Visitor<'de> for &mut ArrayVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut records: A) -> Result<(), A::Error> {
        let stop = || de::Error::custom("stopped");
        for number in 1.. {
            let Some(record) = records.next_element::<Record>()? else {
                break;
            };
            if number == 1 && record.vector.is_none() {
                self.is_other = true;
                return Err(stop());
            }
            let at = format!("{}: record {number}", self.name);
            if let Err(message) = self.rows.push(record, &at, "record", number) {
                self.failure = Some(message);
                return Err(stop());
            }
        }
        Ok(())
    }
}
