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
    let mut rows = ColumnReader::new(input, source);
    let mut builder = PreferenceBuilder::new(source);
    while let Some((line, [query, group, subgroup, doc, text])) = rows.next_row("5")? {
        builder.insert(line, [query, group, subgroup, doc], text)?;
    }
    Ok(builder.finish())
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
    let mut rows = ColumnReader::new(input, source);
    let mut builder = PreferenceBuilder::new(source);
    while let Some((line, [query, group, doc, text])) = rows.next_row("4")? {
        builder.insert(line, [query, group, "0", doc], text)?;
    }
    Ok(builder.finish())
}

struct PreferenceBuilder<'a> {
    source: &'a str,
    warnings: TrecWarnings,
    data: Preferences,
}

impl<'a> PreferenceBuilder<'a> {
    fn new(source: &'a str) -> Self {
        Self {
            source,
            warnings: TrecWarnings::new(source),
            data: Preferences::new(),
        }
    }

    fn insert(
        &mut self,
        line: u64,
        [query, group, subgroup, doc]: [&str; 4],
        text: &str,
    ) -> Result<(), PreferenceError> {
        let level = parse_number(text);
        if level.is_some_and(f64::is_nan) {
            return Err(PreferenceError::Level {
                path: self.source.to_owned(),
                line,
            });
        }
        let level = level.unwrap_or(0.0);
        if text.parse::<f64>().is_err() {
            let message = format!("the level {text:?} is not a number and was read as {level}");
            self.warnings.push(line, message);
        }
        self.data.insert(query, group, subgroup, doc, level);
        Ok(())
    }

    fn finish(self) -> Parsed<Preferences> {
        Parsed {
            data: self.data,
            warnings: self.warnings.finish(),
        }
    }
}
