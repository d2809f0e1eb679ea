//! Readers of preference files.

use std::io::BufRead;

use ir_core::trec::{ColumnReader, Parsed, TrecWarnings, parse_number};

use super::{PreferenceError, Preferences};

/// Reads trec_eval's format `prefs`: query, group, subgroup, document, level. Blank lines and lines
/// that start with `#` are skipped. `source` appears in errors.
///
/// # Errors
/// When a line has a different number of columns, a level is NaN, or reading fails.
pub fn read(input: impl BufRead, source: &str) -> Result<Parsed<Preferences>, PreferenceError> {
    read_lines(input, source, "5", |columns: [&str; 5]| columns)
}

/// Reads trec_eval's format `qrels_prefs`: query, group, document, level. Each group has one
/// subgroup.
///
/// # Errors
/// When a line has a different number of columns, a level is NaN, or reading fails.
pub fn read_qrels(
    input: impl BufRead,
    source: &str,
) -> Result<Parsed<Preferences>, PreferenceError> {
    read_lines(
        input,
        source,
        "4",
        |[query, group, doc, level]: [&str; 4]| [query, group, "0", doc, level],
    )
}

/// Reads lines of `N` columns, from which `split` takes query, group, subgroup, document and level.
fn read_lines<const N: usize>(
    input: impl BufRead,
    source: &str,
    expected: &'static str,
    split: impl for<'l> Fn([&'l str; N]) -> [&'l str; 5],
) -> Result<Parsed<Preferences>, PreferenceError> {
    let mut rows = ColumnReader::new(input, source);
    let mut warnings = TrecWarnings::new(source);
    let mut data = Preferences::new();
    while let Some((line, columns)) = rows.next_row::<N>(expected)? {
        let [query, group, subgroup, doc, text] = split(columns);
        let level = parse_number(text).unwrap_or(0.0);
        if level.is_nan() {
            let path = source.to_owned();
            return Err(PreferenceError::Level { path, line });
        }
        if text.parse::<f64>().is_err() {
            let message = format!("the level {text:?} is not a number and was read as {level}");
            warnings.push(line, message);
        }
        data.insert(query, group, subgroup, doc, level);
    }
    Ok(Parsed {
        data,
        warnings: warnings.finish(),
    })
}
