//! Qrels of any format.

mod smart;

use std::io::{BufRead, Cursor, Read};
use std::path::Path;

use ir_core::Qrels;
use ir_core::trec::{self, HeaderLine, Parsed};

use crate::beir;
use crate::compression::open;
use crate::error::{DataError, name_of};
use crate::lines::at_line;

pub use smart::{
    CranfieldGrades, CranfieldSourceDocument, read_cisi_judgments, read_cranfield_judgments,
};

/// Reads a qrels file in TREC, BEIR, Cranfield or CISI format, by its first 4 KiB:
///
/// - BEIR: the first line is a header of three tab-separated columns, which others may follow.
/// - Cranfield (`cranqrel`): every line has two numbers and a code from 1 to 4 or -1, without tabs,
///   and every query has one code -1.
/// - CISI and CACM (`CISI.REL`, `qrels.text`): every line has two numbers, the second not 0, and
///   two zeros.
/// - TREC: otherwise.
///
/// # Errors
/// Returns the error of [`trec::read_qrels`](ir_core::trec::read_qrels), [`beir::read_qrels`],
/// [`read_cranfield_judgments`](crate::smart::read_cranfield_judgments) or
/// [`read_cisi_judgments`](crate::smart::read_cisi_judgments), by the format, or
/// [`DataError::Read`] if the file cannot be opened.
pub fn read_qrels_any(
    path: impl AsRef<Path>,
    header: HeaderLine,
) -> Result<Parsed<Qrels>, DataError> {
    let path = path.as_ref();
    parse_qrels_any(open(path)?, &name_of(path), header)
}

/// Reads qrels from a reader as [`read_qrels_any`] does.
///
/// # Errors
/// Returns the error of the reader of the format, as [`read_qrels_any`] does.
pub fn parse_qrels_any(
    mut reader: impl BufRead,
    source: &str,
    header: HeaderLine,
) -> Result<Parsed<Qrels>, DataError> {
    let mut head = Vec::new();
    let read = reader.by_ref().take(HEAD).read_to_end(&mut head);
    read.map_err(|error| {
        let lines = head.iter().filter(|&&byte| byte == b'\n').count() as u64;
        at_line(error, source, lines + 1)
    })?;
    let format = detect_format(&head);
    let reader = Cursor::new(head).chain(reader);
    let data = match format {
        QrelsFormat::Trec => return Ok(trec::read_qrels(reader, source, header)?),
        QrelsFormat::Beir => beir::read_qrels(reader, source)?,
        QrelsFormat::Cranfield => {
            let (grades, document) = Default::default();
            read_cranfield_judgments(reader, source, grades, document)?
        }
        QrelsFormat::Cisi => read_cisi_judgments(reader, source)?,
    };
    Ok(Parsed {
        data,
        warnings: Vec::new(),
    })
}

/// Number of bytes by which the format of qrels is detected.
const HEAD: u64 = 1 << 12;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum QrelsFormat {
    Trec,
    Beir,
    Cranfield,
    Cisi,
}

fn detect_format(head: &[u8]) -> QrelsFormat {
    let text = String::from_utf8_lossy(head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head));
    let first = text.lines().next().unwrap_or_default();
    if beir::is_header(first.split_ascii_whitespace()) {
        return QrelsFormat::Beir;
    }
    // The last line may be incomplete.
    let lines = match text.rsplit_once('\n') {
        Some((lines, _)) if head.len() as u64 == HEAD => lines,
        _ => &text,
    };
    let rows = lines
        .lines()
        .map(|line| line.split_ascii_whitespace().collect());
    let rows: Vec<Vec<&str>> = rows.filter(|row: &Vec<_>| !row.is_empty()).collect();
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_cranfield = |row: &Vec<&str>| {
        matches!(row[..], [query, doc, "-1" | "1" | "2" | "3" | "4"]
            if is_number(query) && is_number(doc))
    };
    let is_cisi = |row: &Vec<&str>| {
        matches!(row[..], [query, doc, "0", "0" | "0.000000"]
            if is_number(query) && is_number(doc) && doc.contains(|digit| digit != '0'))
    };
    // Every query of Cranfield has one document with the code -1, and its columns are separated by
    // spaces; the last query may be incomplete.
    let mut sources = rows.iter().filter(|row| row.len() == 3 && row[2] == "-1");
    let mut queries = rows.iter().map(|row| row[0]).collect::<Vec<_>>();
    queries.dedup();
    let has_sources = queries[..queries.len().saturating_sub(1)]
        .iter()
        .all(|query| sources.next().is_some_and(|row| row[0] == *query));
    let is_complete = has_sources && sources.count() <= 1;
    let is_tab_separated = lines
        .trim()
        .lines()
        .all(|line| line.trim().split('\t').count() == 3);
    if rows.iter().all(is_cranfield)
        && !is_tab_separated
        && is_complete
        && rows.iter().any(|row| row[2] == "-1")
    {
        QrelsFormat::Cranfield
    } else if !rows.is_empty() && rows.iter().all(is_cisi) {
        QrelsFormat::Cisi
    } else if first.split('\t').count() == 3 && first.split_ascii_whitespace().count() == 3 {
        // BEIR format without a header, which its reader reports.
        QrelsFormat::Beir
    } else {
        QrelsFormat::Trec
    }
}
