//! Runs in JSON records: JSON lines, or one array.

use std::borrow::Cow;
use std::io::{BufRead, Read};

use super::json::JsonReader;
use super::number::parse_whole;
use super::run_columns::{NAMED_RANKS, RunColumns, field_error};
use super::{TrecReadError, TrecWarnings};

/// Record of a run.
pub(super) struct RunRecord<'t> {
    pub(super) line: u64,
    pub(super) query: &'t str,
    pub(super) doc: &'t str,
    pub(super) score: f64,
    /// Empty in a record without a tag.
    pub(super) tag: &'t str,
}

/// Reads all records of a run. Returns the number of lines.
pub(super) fn scan_records<E: From<TrecReadError>>(
    input: impl Read,
    source: &str,
    warnings: &mut TrecWarnings,
    mut each: impl FnMut(RunRecord<'_>) -> Result<(), E>,
) -> Result<u64, E> {
    const RECORD: &str = "a record of a run";
    let mut json = JsonReader::new(input, source)?;
    let is_array = json.peek()? == Some(b'[');
    if is_array {
        json.input.consume(1);
    }
    let mut key = Vec::new();
    let mut record = JsonRecord::default();
    // Columns of the names of the previous record.
    let mut known: Option<(Vec<String>, RunColumns)> = None;
    let mut is_first = true;
    loop {
        let is_end = match json.peek()? {
            None => !is_array,
            Some(byte) => is_array && byte == b']',
        };
        if is_end {
            break;
        }
        if is_array && !is_first {
            json.expect(b',', "a comma or the end of the array")?;
        }
        json.expect(b'{', RECORD)?;
        is_first = false;
        let line = json.line;
        json.record(&mut key, &mut record)?;
        let columns = match &known {
            Some((names, columns)) if *names == record.names => *columns,
            _ => {
                let columns = RunColumns::find(&record.names);
                let columns = columns.map_err(|error| error.at(source, line))?;
                if known.is_none() && columns.is_rank {
                    warnings.push(line, NAMED_RANKS);
                }
                known = Some((record.names.clone(), columns));
                columns
            }
        };
        let (query, doc) = (
            record.id(columns.query, source, line)?,
            record.id(columns.doc, source, line)?,
        );
        let name = &record.names[columns.value];
        let score = columns.score(record.text(columns.value), name, source, line, warnings)?;
        each(RunRecord {
            line,
            query: &query,
            doc: &doc,
            score,
            tag: match columns.tag.map(|tag| &record.values[tag]) {
                Some(JsonValue::Text(tag) | JsonValue::Number(tag)) => tag.as_str(),
                _ => "",
            },
        })?;
    }
    if is_array {
        json.expect(b']', "the end of the array")?;
    }
    json.end()?;
    Ok(json.line)
}

/// Members of a record.
#[derive(Default)]
struct JsonRecord {
    names: Vec<String>,
    values: Vec<JsonValue>,
}

/// Value of a record.
enum JsonValue {
    Text(String),
    /// A number, as written.
    Number(String),
    /// Description of another value.
    Other(&'static str),
}

impl JsonRecord {
    /// Text of a member, or its description.
    fn text(&self, member: usize) -> &str {
        match &self.values[member] {
            JsonValue::Text(text) | JsonValue::Number(text) => text,
            JsonValue::Other(found) => found,
        }
    }

    /// Id: a text, or an integer, also written as `1.0`.
    fn id(&self, member: usize, source: &str, line: u64) -> Result<Cow<'_, str>, TrecReadError> {
        let found = match &self.values[member] {
            JsonValue::Text(id) if !id.is_empty() => return Ok(Cow::Borrowed(id)),
            JsonValue::Text(_) => "an empty string",
            JsonValue::Number(id) if id.bytes().all(|digit| digit.is_ascii_digit()) => {
                return Ok(Cow::Borrowed(id));
            }
            JsonValue::Number(number) => match parse_whole(number) {
                Some(id) => return Ok(Cow::Owned(id.to_string())),
                None => number.as_str(),
            },
            JsonValue::Other(found) => *found,
        };
        let expected = format!("an id in the field {:?}", self.names[member]);
        Err(field_error(source, line, expected, found))
    }
}

impl<R: Read> JsonReader<'_, R> {
    /// Reads the rest of an object after its brace into `record`. `key` is a buffer.
    fn record(&mut self, key: &mut Vec<u8>, record: &mut JsonRecord) -> Result<(), TrecReadError> {
        record.names.clear();
        record.values.clear();
        let mut is_first = true;
        while self.next_key(&mut is_first, key, "the name of a field")? {
            record.names.push(self.text(key)?.to_owned());
            record.values.push(self.value(key)?);
        }
        Ok(())
    }

    /// Reads a value. `out` is a buffer.
    fn value(&mut self, out: &mut Vec<u8>) -> Result<JsonValue, TrecReadError> {
        out.clear();
        Ok(match self.peek()? {
            Some(b'"') => {
                self.input.consume(1);
                self.string(out)?;
                JsonValue::Text(self.text(out)?.to_owned())
            }
            Some(b'{') => self.nested(out, "an object")?,
            Some(b'[') => self.nested(out, "an array")?,
            Some(b't') => self.word("true")?,
            Some(b'f') => self.word("false")?,
            Some(b'n') => self.word("null")?,
            _ => {
                self.number(out)?;
                JsonValue::Number(self.text(out)?.to_owned())
            }
        })
    }

    /// Skips an object or array, described by `found`.
    fn nested(
        &mut self,
        out: &mut Vec<u8>,
        found: &'static str,
    ) -> Result<JsonValue, TrecReadError> {
        let mut depth = 0_u64;
        loop {
            let Some(byte) = self.peek()? else {
                return Err(self.unexpected("the end of the value"));
            };
            self.input.consume(1);
            match byte {
                b'"' => {
                    out.clear();
                    self.string(out)?;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' if depth == 1 => return Ok(JsonValue::Other(found)),
                b'}' | b']' => depth -= 1,
                _ => {}
            }
        }
    }

    /// Reads a word, which is the value.
    fn word(&mut self, word: &'static str) -> Result<JsonValue, TrecReadError> {
        for byte in word.bytes() {
            if self.byte()? != Some(byte) {
                return Err(self.unexpected(word));
            }
            self.input.consume(1);
        }
        Ok(JsonValue::Other(word))
    }
}
