//! Records of a JSON file: one per line, or the elements of an array.

use std::io::BufRead;

use serde_json::value::RawValue;

use super::value::{JsonLineNumbers, json_error};
use crate::error::{DataError, Location};
use crate::lines::LineReader;

/// Calls `read` with the text and line number of every record: JSON lines, or the elements of one
/// JSON array. Blank lines are skipped.
pub(crate) fn for_each_record(
    reader: impl BufRead,
    source: &str,
    mut read: impl FnMut(&str, u64) -> Result<(), DataError>,
) -> Result<(), DataError> {
    let mut lines = LineReader::new(reader, source);
    let mut is_first = true;
    while let Some(line) = lines.read()? {
        if line.text.trim_ascii().is_empty() {
            continue;
        }
        if !is_first || !line.text.trim_ascii_start().starts_with('[') {
            is_first = false;
            read(line.text, line.number)?;
            continue;
        }
        // Preceding blank lines are kept for the line numbers of errors.
        let mut text = "\n".repeat(line.number as usize - 1);
        text.push_str(line.text);
        while let Some(line) = lines.read()? {
            text.push('\n');
            text.push_str(line.text);
        }
        let records: Vec<&RawValue> = serde_json::from_str(&text)
            .map_err(|error| json_error(&error, Location::new(source, 1)))?;
        let mut numbers = JsonLineNumbers::new(&text);
        for record in records {
            read(record.get(), numbers.line(record))?;
        }
    }
    Ok(())
}
