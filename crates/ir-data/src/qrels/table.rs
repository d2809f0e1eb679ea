//! Judgments in a table with a header line, as data frames are saved.

use std::io::BufRead;

use ir_core::Qrels;
use ir_core::trec::parse_whole;

use crate::csv::{Rows, header_cells};
use crate::error::{DataError, Location};
use crate::judgments::{
    DOCUMENT, GRADE, JudgmentField, QUERY, QrelsOfRecords, are_names, are_pairs,
};
use crate::lines::LineReader;

/// Separator of a header line that names a query, a document and a grade, or a query and a document
/// alone; `None` for other lines.
/// Four columns between tabs in the order of TREC (query, iteration, document, grade) are judgments
/// of TREC, where the caller decides on a header.
pub(crate) fn separator(line: &str) -> Option<u8> {
    [b'\t', b',', b';'].into_iter().find(|&separator| {
        let names = line.split(char::from(separator));
        let names = names.map(|name| name.trim().trim_matches('"'));
        let names: Vec<&str> = names.collect();
        let is_trec = match names[..] {
            [query, iteration, document, grade] if separator == b'\t' => {
                let roles = [QUERY, DOCUMENT, GRADE];
                QUERY.is(query)
                    && DOCUMENT.is(document)
                    && GRADE.is(grade)
                    && !roles.iter().any(|role| role.is(iteration))
            }
            _ => false,
        };
        are_names(names.iter().copied()) && !is_trec
    })
}

/// Names of a header line.
fn names(line: &str) -> Vec<&str> {
    let names = line.split([' ', '\t', ',', ';']);
    let names = names.map(|name| name.trim().trim_matches('"'));
    names.filter(|name| !name.is_empty()).collect()
}

/// Returns `true` for a header line of three or more names that is neither in the order of TREC nor
/// one of judgments: a run, names between spaces, or names with two of query, document and grade.
pub(crate) fn is_other(line: &str) -> bool {
    let names = names(line);
    let [query, document, grade] = [QUERY, DOCUMENT, GRADE].map(|field| field.is_among(&names));
    let is_trec =
        matches!(names[..], [query, _, document, _] if QUERY.is(query) && DOCUMENT.is(document));
    // Four names with a document and a grade are TREC's, too.
    let is_partial = names.len() == 3 || line.contains([',', ';']);
    let is_table = (query && document) || (is_partial && grade && (query || document));
    names.len() > 2 && is_table && !is_trec
}

/// Error of a header line that [is not one of judgments](is_other).
pub(super) fn other_error(header: &str, at: Location<'_>) -> DataError {
    let names = names(header);
    let mut fields = [QUERY, DOCUMENT, GRADE].into_iter();
    match fields.find(|field| !field.is_among(&names)) {
        Some(field) => field.missing(&names, at),
        None => at.syntax(NO_JUDGMENTS, header),
    }
}

/// Expected names in the error of a run, or of names between spaces.
const NO_JUDGMENTS: &str =
    "the names of a query, a document and a grade between tabs, commas or semicolons";

/// Reads the rows below a header line with this separator, which lines without names may precede.
pub(super) fn read(reader: impl BufRead, source: &str, separator: u8) -> Result<Qrels, DataError> {
    let mut lines = LineReader::new(reader, source);
    let mut header = String::new();
    while self::separator(&header) != Some(separator) {
        match lines.read()? {
            Some(line) => header.replace_range(.., line.text.trim_end_matches('\r')),
            None => return QrelsOfRecords::default().finish(source),
        }
    }
    let at = Location::new(source, lines.number);
    let names = header_cells(&header, separator, at)?;
    let position = |role: JudgmentField| role.position(names.iter().map(String::as_str), at);
    let [query, document] = [position(QUERY)?, position(DOCUMENT)?];
    let score = if are_pairs(&names) {
        None
    } else {
        Some(position(GRADE)?)
    };
    let mut rows = Rows::new(lines, separator);
    let mut qrels = QrelsOfRecords::default();
    while let Some(line) = rows.read()? {
        let at = Location::new(source, line);
        if rows.len() != names.len() {
            return Err(at.columns(names.len()..=names.len(), rows.len()));
        }
        let cells: Vec<&str> = rows.cells().collect();
        if let Some(id) = [query, document]
            .into_iter()
            .find(|&id| cells[id].is_empty())
        {
            return Err(at.wrong_type(&names[id], "an id", "an empty string"));
        }
        let grade = score.map_or("1", |score| cells[score]);
        let grade =
            parse_whole(grade.trim()).ok_or_else(|| at.syntax("an integer as grade", grade))?;
        qrels.insert(cells[query], cells[document], grade, at)?;
    }
    qrels.finish(source)
}
