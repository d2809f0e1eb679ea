//! Judgments in a table with a header line, as data frames are saved.

use std::io::BufRead;
use std::sync::Arc;

use ir_core::trec::parse_whole;
use ir_core::{AttributeValue, Qrels};

use crate::csv::Rows;
use crate::error::{DataError, Location};
use crate::judgments::{QrelsOfRecords, are_names, is_grade};
use crate::lines::LineReader;

/// Separator of a header line that names a query, a document and a grade; `None` for other lines.
/// Four columns between tabs are judgments of TREC, where the caller decides on a header.
pub(crate) fn separator(line: &str) -> Option<u8> {
    [b'\t', b',', b';'].into_iter().find(|&separator| {
        let names = line.split(char::from(separator));
        let names = names.map(|name| name.trim().trim_matches('"'));
        let is_trec = separator == b'\t' && names.clone().count() == 4;
        are_names(names) && !is_trec
    })
}

/// Reads the rows below a header line.
pub(super) fn read(reader: impl BufRead, source: &str, separator: u8) -> Result<Qrels, DataError> {
    let mut rows = Rows::new(LineReader::new(reader, source), separator);
    let mut names: Vec<String> = Vec::new();
    let mut qrels = QrelsOfRecords::default();
    while let Some(line) = rows.read()? {
        let source = Arc::clone(&rows.source);
        let at = Location::new(&source, line);
        if names.is_empty() {
            names = rows.cells().map(str::to_owned).collect();
            continue;
        }
        if rows.len() != names.len() {
            return Err(at.columns(names.len()..=names.len(), rows.len()));
        }
        let mut members = Vec::with_capacity(names.len());
        for (name, cell) in names.iter().zip(rows.cells()) {
            let value = if is_grade(name) {
                let grade = parse_whole(cell.trim());
                AttributeValue::Int(grade.ok_or_else(|| at.syntax("an integer as grade", cell))?)
            } else {
                AttributeValue::Text(cell.to_owned())
            };
            members.push((name.clone(), value));
        }
        qrels.add(&members, at)?;
    }
    qrels.finish(source)
}
