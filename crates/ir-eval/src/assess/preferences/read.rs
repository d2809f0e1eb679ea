//! Reading.

use std::io::BufRead;

use ir_core::trec::{ColumnReader, Parsed, TrecWarnings, parse_number};

use super::{PreferenceError, Preferences};

/// Reads preferences in trec_eval's format `prefs`: query, group, subgroup, document, level, in
/// five columns. `source` names the file in errors. Blank lines and lines that begin with `#` are
/// skipped.
///
/// # Errors
/// When a line has other columns, a level is NaN, or the file cannot be read.
pub fn read(input: impl BufRead, source: &str) -> Result<Parsed<Preferences>, PreferenceError> {
    let mut rows = ColumnReader::new(input, source);
    let mut levels = Levels::new(source);
    while let Some((line, [query, group, subgroup, doc, text])) = rows.next_row("5")? {
        levels.insert(line, [query, group, subgroup, doc], text)?;
    }
    Ok(levels.finish())
}

/// Reads qrels as preferences, trec_eval's format `qrels_prefs`: query, group, document, level.
/// The second column, which qrels ignore, is the group; it has one subgroup.
///
/// # Errors
/// When a line has other columns, a level is NaN, or the file cannot be read.
pub fn read_qrels(
    input: impl BufRead,
    source: &str,
) -> Result<Parsed<Preferences>, PreferenceError> {
    let mut rows = ColumnReader::new(input, source);
    let mut levels = Levels::new(source);
    while let Some((line, [query, group, doc, text])) = rows.next_row("4")? {
        levels.insert(line, [query, group, "0", doc], text)?;
    }
    Ok(levels.finish())
}

struct Levels<'a> {
    source: &'a str,
    odd: TrecWarnings,
    data: Preferences,
}

impl<'a> Levels<'a> {
    fn new(source: &'a str) -> Self {
        Self {
            source,
            odd: TrecWarnings::new(source),
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
            let what = format!("the level {text:?} is no parse_number and was read as {level}");
            self.odd.push(line, what);
        }
        self.data.insert(query, group, subgroup, doc, level);
        Ok(())
    }

    fn finish(self) -> Parsed<Preferences> {
        Parsed {
            data: self.data,
            warnings: self.odd.finish(),
        }
    }
}
