//! Header lines of runs, and runs as tables.

use std::borrow::Cow;

use super::json::is_json_column;
use super::number::c_number;
use super::run_columns::{RunColumns, RunColumnsError, field_error};
use super::scan::TrecLine;
use super::{HeaderLine, TrecReadError, TrecWarnings, columns};
use crate::characters::excerpt;

/// Columns of a run, for errors.
pub(super) const RUN: &str = "a run of six columns (query, Q0, document, rank, score, tag)";

/// First line of a run.
#[derive(Debug)]
pub(super) enum FirstLine {
    Data,
    /// Header line to skip.
    Skipped,
    /// Separator of the columns, as spreadsheets write it before the header line.
    Separator,
    /// Header line of a table.
    Table(RunTable),
}

/// Returns `true` for `sep=;`, as spreadsheets write it.
pub(super) fn is_separator_line(text: &str) -> bool {
    matches!(text.trim(), "sep=" | "sep=," | "sep=;")
}

/// Returns what the first line of a run is. The header of a run of MS MARCO with unknown names is
/// an error unless it is skipped. A header line of six columns in the order of TREC is data. A file
/// with CR is one line, an error.
pub(super) fn first_line(
    line: &TrecLine<'_, 6>,
    source: &str,
    header: HeaderLine,
) -> Result<FirstLine, TrecReadError> {
    line.check_end(source)?;
    if is_separator_line(line.text()) {
        return Ok(FirstLine::Separator);
    }
    let table = RunTable::from_header(line.text());
    if let Some(table) = table.map_err(|error| error.at(source, line.number))? {
        return Ok(FirstLine::Table(table));
    }
    let names = [line.field(0), line.field(1), line.field(2)];
    if line.columns != 3 || c_number(names[2]).is_some() || is_json_column(names[0]) {
        return Ok(FirstLine::Data);
    }
    if header == HeaderLine::AsData && names[2].eq_ignore_ascii_case("rank") {
        return Err(TrecReadError::RankHeader {
            path: source.to_owned(),
            line: line.number,
            found: excerpt(&names.join(" ")),
        });
    }
    Ok(match header {
        HeaderLine::AsData => FirstLine::Data,
        HeaderLine::Skip => FirstLine::Skipped,
    })
}

/// Run as a table: a header line with names, and rows of as many cells.
#[derive(Debug)]
pub(super) struct RunTable {
    /// Separator of the cells; a space is any white space.
    separator: char,
    names: Vec<String>,
    columns: RunColumns,
}

/// Row of a [`RunTable`].
#[derive(Debug)]
pub(super) struct RunRow<'t> {
    pub(super) query: Cow<'t, str>,
    pub(super) doc: Cow<'t, str>,
    pub(super) score: f64,
    /// Empty in a table without tags.
    pub(super) tag: Cow<'t, str>,
}

impl RunTable {
    /// Table with this header line, between commas, semicolons, tabs or white space; `None` for
    /// other lines. Two columns of one kind are an error.
    pub(super) fn from_header(text: &str) -> Result<Option<Self>, RunColumnsError> {
        let fields: Vec<&str> = columns(text).collect();
        let is_number = |text: &&str| c_number(text).is_some();
        let is_json = fields.first().is_some_and(|first| is_json_column(first));
        if is_json || fields.get(4).is_some_and(is_number) {
            return Ok(None);
        }
        for separator in [',', ';', '\t', ' '] {
            if separator == ' ' && fields.len() >= 6 {
                continue;
            }
            let Some(names) = cells(text, separator) else {
                continue;
            };
            let names: Vec<String> = names.into_iter().map(Cow::into_owned).collect();
            match RunColumns::find(&names) {
                Err(RunColumnsError::Missing(_)) => {}
                Err(error) => return Err(error),
                Ok(columns) if separator == '\t' && columns.are_in_order(&names) => {
                    return Ok(None);
                }
                Ok(columns) => {
                    return Ok(Some(Self {
                        separator,
                        names,
                        columns,
                    }));
                }
            }
        }
        Ok(None)
    }

    /// Returns `true` if the table has ranks and no scores.
    pub(super) fn has_ranks(&self) -> bool {
        self.columns.is_rank
    }

    /// Splits a row into its cells and checks them. An error names the line and the field.
    pub(super) fn row<'t>(
        &self,
        line: &TrecLine<'t, 6>,
        source: &str,
        warnings: &mut TrecWarnings,
    ) -> Result<RunRow<'t>, TrecReadError> {
        let error =
            |expected: String, found: &str| Err(field_error(source, line.number, expected, found));
        let Some(mut cells) = cells(line.text(), self.separator) else {
            let expected = "a quote at the end of a cell with a quote at its start".to_owned();
            return error(expected, "none");
        };
        let (width, found) = (self.names.len(), cells.len());
        if found != width {
            let expected = format!("{width} cells, as in the header line");
            return error(expected, &found.to_string());
        }
        for id in [self.columns.query, self.columns.doc] {
            if cells[id].is_empty() {
                let expected = format!("an id in the field {:?}", self.names[id]);
                return error(expected, "an empty cell");
            }
        }
        let value = self.columns.value;
        let name = &self.names[value];
        let score = (self.columns).score(&cells[value], name, source, line.number, warnings)?;
        let mut take = |column: usize| std::mem::take(&mut cells[column]);
        Ok(RunRow {
            query: take(self.columns.query),
            doc: take(self.columns.doc),
            score,
            tag: self.columns.tag.map(take).unwrap_or_default(),
        })
    }
}

/// Cells of a line, without white space around them. Between other separators than white space,
/// cells may be in double quotes, which are written twice inside; `None` if a quote has no end.
fn cells(text: &str, separator: char) -> Option<Vec<Cow<'_, str>>> {
    if separator == ' ' {
        return Some(columns(text).map(Cow::Borrowed).collect());
    }
    let mut cells = Vec::new();
    let mut rest = text;
    loop {
        let (cell, after) = match rest.trim_start_matches(' ').strip_prefix('"') {
            None => match rest.split_once(separator) {
                Some((cell, after)) => (Cow::Borrowed(cell.trim()), Some(after)),
                None => (Cow::Borrowed(rest.trim()), None),
            },
            Some(inner) => {
                let (cell, after) = quoted(inner)?;
                match after.trim_start_matches(' ').strip_prefix(separator) {
                    Some(after) => (cell, Some(after)),
                    None if after.trim().is_empty() => (cell, None),
                    None => return None,
                }
            }
        };
        cells.push(cell);
        match after {
            Some(after) => rest = after,
            None => return Some(cells),
        }
    }
}

/// Cell after its first quote, and the text after its last one.
fn quoted(mut rest: &str) -> Option<(Cow<'_, str>, &str)> {
    let mut cell = Cow::Borrowed("");
    loop {
        let (part, after) = rest.split_once('"')?;
        cell += part;
        let Some(next) = after.strip_prefix('"') else {
            return Some((cell, after));
        };
        cell += "\"";
        rest = next;
    }
}
