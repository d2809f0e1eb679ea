//! Qrels of any format.

mod smart;
pub(crate) mod table;

use std::io::{BufRead, Cursor, Read};
use std::path::Path;

use ir_core::Qrels;
use ir_core::trec::{self, ColumnReader, HeaderLine, Parsed, TrecWarnings};

use crate::beir_layout::files_of_splits;
use crate::columnar;
use crate::compression::open;
use crate::duplicates::DuplicateFinder;
use crate::error::{DataError, Location, name_of};
use crate::head::ColumnarFormat;
use crate::judgments::{self, DOCUMENT, QUERY};
use crate::lines::{at_line, check_line_end};

pub use smart::{
    CranfieldGrades, CranfieldSourceDocument, read_cisi_judgments, read_cranfield_judgments,
};

/// Reads a qrels file in TREC, BEIR, Cranfield or CISI format, by its first 4 KiB. Blank lines,
/// comments (`#`) and a line such as `sep=;` may precede the first line:
///
/// - BEIR: the first line is a header of two or three tab-separated columns, which others may
///   follow, or a JSON object with a field `query-id`. JSON records may also be in one array.
/// - Table: the first line names a query ([`trec::QUERY_ID_NAMES`]), a document
///   ([`trec::DOCUMENT_ID_NAMES`]) and a grade (`score`, `relevance`, `label`, `grade`, `rel`) in
///   any order, between commas, semicolons or tabs, or a query and a document alone, beside an
///   index of pandas: all grades are 1. Other columns are ignored; with a `rank`, it is a run,
///   which [`trec::read_run`] reads. Two columns of one kind are an error. Four columns between
///   tabs in the order of TREC are TREC format.
/// - Cranfield: every line has two numbers and a code from 1 to 4 or -1, separated by spaces, and
///   every query has one code -1. A file named `cranqrel`, possibly with `.gz` or `.zst`, has
///   codes, and a warning says so. Another file is an error: it may have grades, which increase.
/// - CISI and CACM (`CISI.REL`, `qrels.text`): every line has two numbers, the second not 0, and
///   two zeros. A warning names the format.
/// - Two columns: every line has a query id and a document id. All grades are 1; a warning says so,
///   unless the first line is a header, such as `qid docno`.
/// - Parquet and Arrow, of a file: [`columnar::read_qrels`].
/// - TREC: otherwise, also in JSON.
///
/// # Errors
/// Returns the error of [`trec::read_qrels`](ir_core::trec::read_qrels),
/// [`beir::read_qrels`](crate::beir::read_qrels),
/// [`beir::read_jsonl_qrels`](crate::beir::read_jsonl_qrels),
/// [`read_cranfield_judgments`](crate::smart::read_cranfield_judgments) or
/// [`read_cisi_judgments`](crate::smart::read_cisi_judgments), by the format, or
/// [`DataError::Read`] if the file cannot be opened.
pub fn read_qrels_any(
    path: impl AsRef<Path>,
    header: HeaderLine,
) -> Result<Parsed<Qrels>, DataError> {
    let path = path.as_ref();
    if ColumnarFormat::detect(path)?.is_some() {
        return Ok(Parsed {
            data: columnar::read_qrels(&[path])?,
            warnings: Vec::new(),
        });
    }
    parse_qrels_any(open(path)?, &name_of(path), header)
}

/// Reads the judgments of a split of a [BEIR folder](crate::beir), possibly without corpus, as
/// [`read_qrels_any`] does. Returns `None` if there is no file of the split.
///
/// # Errors
/// A file cannot be read, or two files of the split have different judgments.
pub fn read_split_qrels(
    folder: impl AsRef<Path>,
    split: &str,
    header: HeaderLine,
) -> Result<Option<Parsed<Qrels>>, DataError> {
    let files = files_of_splits(folder.as_ref())?;
    let Some(files) = files.get(split) else {
        return Ok(None);
    };
    let read = files.read(|path| {
        let parsed = read_qrels_any(path, header)?;
        Ok((parsed.data, parsed.warnings))
    })?;
    Ok(read.map(|(data, warnings)| Parsed { data, warnings }))
}

/// Reads qrels from a reader as [`read_qrels_any`] does. `source` is the name of the file.
///
/// # Errors
/// Returns the error of the reader of the format, as [`read_qrels_any`] does.
pub fn parse_qrels_any(
    reader: impl BufRead,
    source: &str,
    header: HeaderLine,
) -> Result<Parsed<Qrels>, DataError> {
    let name = Path::new(source).file_name().unwrap_or_default();
    let name = name.to_string_lossy().to_ascii_lowercase();
    let may_have_codes = matches!(&*name, "cranqrel" | "cranqrel.gz" | "cranqrel.zst");
    parse_judgments(reader, source, header, may_have_codes)
}

/// Reads the judgments of a folder in SMART format. Those in the shape of Cranfield's have codes.
pub(crate) fn parse_smart_judgments(
    reader: impl BufRead,
    source: &str,
) -> Result<Parsed<Qrels>, DataError> {
    parse_judgments(reader, source, HeaderLine::AsData, true)
}

fn parse_judgments(
    mut reader: impl BufRead,
    source: &str,
    header: HeaderLine,
    may_have_codes: bool,
) -> Result<Parsed<Qrels>, DataError> {
    let mut head = Vec::new();
    let read = reader.by_ref().take(HEAD).read_to_end(&mut head);
    read.map_err(|error| {
        let lines = head.iter().filter(|&&byte| byte == b'\n').count() as u64;
        at_line(error, source, lines + 1)
    })?;
    let format = detect_format(&head);
    if !matches!(format, QrelsFormat::Trec | QrelsFormat::BeirJsonl) {
        let first = head.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let first = String::from_utf8_lossy(first);
        check_line_end(&first, Location::new(source, 1))?;
    }
    let reader = Cursor::new(head).chain(reader);
    let mut warnings = TrecWarnings::new(source);
    let data = match format {
        QrelsFormat::Codes(line, row) if !may_have_codes => {
            return Err(Location::new(source, line).syntax(NO_CODES, &row));
        }
        QrelsFormat::Trec => return Ok(trec::read_qrels(reader, source, header)?),
        QrelsFormat::Pairs => return read_pairs(reader, source),
        QrelsFormat::Beir => judgments::read_qrels(reader, source)?,
        QrelsFormat::BeirJsonl => judgments::read_jsonl_qrels(reader, source)?,
        QrelsFormat::Table(separator) => table::read(reader, source, separator)?,
        QrelsFormat::Codes(line, _) => {
            warnings.push(line, CRANFIELD);
            let (grades, document) = Default::default();
            read_cranfield_judgments(reader, source, grades, document)?
        }
        QrelsFormat::OtherTable(line, header) => {
            return Err(table::other_error(&header, Location::new(source, line)));
        }
        QrelsFormat::Cisi(line) => {
            warnings.push(line, CISI);
            read_cisi_judgments(reader, source)?
        }
    };
    let warnings = warnings.finish();
    Ok(Parsed { data, warnings })
}

/// Warning about codes of Cranfield.
const CRANFIELD: &str =
    "read as codes of Cranfield: 1, 2, 3 and 4 are the grades 4, 3, 2 and 1, and -1 is the grade 1";

/// Expected columns in the error of three columns that are codes or grades.
const NO_CODES: &str = "the columns `query 0 document grade`, or codes of Cranfield (1 to 4 are the \
                        grades 4 to 1) in a file named cranqrel";

/// Warning about judgments of CISI or CACM.
const CISI: &str = "read as judgments of CISI or CACM, without a grade; every grade is 1";

/// Number of bytes by which the format of qrels is detected.
const HEAD: u64 = 1 << 12;

/// Format with what its reader has to know. Lines are the first ones with a judgment.
#[derive(Debug, Clone, PartialEq, Eq)]
enum QrelsFormat {
    Trec,
    Pairs,
    Beir,
    BeirJsonl,
    /// With the separator of cells.
    Table(u8),
    /// Codes of Cranfield, or grades with a -1 per query: line and row.
    Codes(u64, String),
    Cisi(u64),
    /// Header line of another table.
    OtherTable(u64, String),
}

/// Name of the format of qrels for messages, by the start of the file.
pub(crate) fn format_name(head: &[u8]) -> &'static str {
    match detect_format(&head[..head.len().min(HEAD as usize)]) {
        QrelsFormat::Pairs => "pairs",
        QrelsFormat::Beir => "BEIR qrels",
        QrelsFormat::Table(_) => "BEIR qrels: table with a header line",
        QrelsFormat::Codes(..) | QrelsFormat::Cisi(_) => "Cranfield, CISI and CACM",
        QrelsFormat::Trec | QrelsFormat::BeirJsonl | QrelsFormat::OtherTable(..) => "TREC qrels",
    }
}

fn detect_format(head: &[u8]) -> QrelsFormat {
    let text = String::from_utf8_lossy(head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head));
    let is_first =
        |line: &str| !judgments::is_before_header(line) || table::separator(line).is_some();
    let mut numbered = (1..).zip(text.lines());
    let (number, first) = numbered.find(|(_, line)| is_first(line)).unwrap_or((1, ""));
    if judgments::is_header(first.split('\t')) {
        return QrelsFormat::Beir;
    }
    let is_object = first.trim_start().starts_with('{');
    if is_array(&text) || (is_object && judgments::is_jsonl_judgment(first)) {
        return QrelsFormat::BeirJsonl;
    }
    if let Some(separator) = table::separator(first) {
        return QrelsFormat::Table(separator);
    }
    // Between spaces, which the reader of BEIR's format reports.
    if judgments::is_header(first.split_ascii_whitespace()) {
        return QrelsFormat::Beir;
    }
    if table::is_other(first) {
        return QrelsFormat::OtherTable(number, first.trim().to_owned());
    }
    // The last line may be incomplete.
    let lines = match text.rsplit_once('\n') {
        Some((lines, _)) if head.len() as u64 == HEAD => lines,
        _ => &text,
    };
    let rows = lines.lines().filter(|line| !line.starts_with('#'));
    let rows = rows.map(|line| line.split_ascii_whitespace().collect());
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
    let is_tab_separated = lines
        .trim()
        .lines()
        .all(|line| line.trim().split('\t').count() == 3);
    if rows.iter().all(is_cranfield) && !is_tab_separated && has_source_documents(&rows) {
        QrelsFormat::Codes(number, first.trim().to_owned())
    } else if !rows.is_empty() && rows.iter().all(is_cisi) {
        QrelsFormat::Cisi(number)
    } else if !rows.is_empty() && rows.iter().all(|row| row.len() == 2) {
        QrelsFormat::Pairs
    } else if first.split('\t').count() == 3 && first.split_ascii_whitespace().count() == 3 {
        // BEIR format without a header, which its reader reports.
        QrelsFormat::Beir
    } else {
        QrelsFormat::Trec
    }
}

/// Returns `true` if a text is the start of a JSON array of objects, or an empty array. A query id
/// may start with a bracket, too.
fn is_array(text: &str) -> bool {
    let inner = text.trim_start().strip_prefix('[').map(str::trim);
    inner.is_some_and(|inner| inner.starts_with('{') || inner == "]")
}

/// Returns `true` if every query has one document with Cranfield's code -1. The last query may be
/// incomplete.
fn has_source_documents(rows: &[Vec<&str>]) -> bool {
    let queries = rows.chunk_by(|a, b| a[0] == b[0]);
    let counts = queries.map(|rows| rows.iter().filter(|row| row[2] == "-1").count());
    let counts: Vec<usize> = counts.collect();
    counts.split_last().is_some_and(|(last, before)| {
        before.iter().all(|&count| count == 1) && *last <= 1 && counts.contains(&1)
    })
}

/// Reads lines of a query id and a document id. All grades are 1. The names of a header line may be
/// in any order.
fn read_pairs(reader: impl BufRead, source: &str) -> Result<Parsed<Qrels>, DataError> {
    let mut rows = ColumnReader::new(reader, source);
    let mut qrels = Qrels::new();
    let mut seen = DuplicateFinder::default();
    let mut warnings = TrecWarnings::new(source);
    let (mut is_first, mut is_reversed) = (true, false);
    while let Some((line, [one, two])) = rows.next_row("2")? {
        if std::mem::take(&mut is_first) {
            is_reversed = DOCUMENT.is(one) && QUERY.is(two);
            if is_reversed || (QUERY.is(one) && DOCUMENT.is(two)) {
                continue;
            }
            warnings.push(line, PAIRS);
        }
        let [query, doc] = if is_reversed { [two, one] } else { [one, two] };
        if let Some(first) = seen.add(&[query, doc], line) {
            return Err(Location::new(source, line).repeated_judgment(query, doc, first));
        }
        qrels.insert(query, doc, 1);
    }
    let (data, warnings) = (qrels, warnings.finish());
    Ok(Parsed { data, warnings })
}

/// Warning about judgments without grades.
const PAIRS: &str = "read as query and document, without a grade; every grade is 1 (the output of \
                     `ir pool` has no grades before documents are judged)";
