//! Documents and queries as CSV or TSV with a header line and quoted cells (RFC 4180).
//!
//! The header names id, title and text as [`FieldNames::detect`] says, in upper or lower case, so
//! that the columns may be in any order. DPR's passages (`id`, `text`, `title`), CORD-19's
//! metadata (`cord_uid`, `title`, `abstract`) and tables saved by spreadsheets are such files.
//!
//! - Cells are separated by tabs, commas or semicolons, whichever makes the header have an id and
//!   a text.
//! - A cell that starts with `"` ends at the next `"`; it may contain separators and line ends, and
//!   `""` for `"`. A line end in a cell is `\n`. Other text behind the last `"` is an error, since
//!   the first one may be part of the text. A cell that starts otherwise may contain `"`.
//! - An unpaired `"` at the start of a cell may join rows. [`Corpus::skipped`] counts rows of
//!   tab-separated tables that have a line inside a quoted cell with as many tabs as the header.
//! - Every other column is a string attribute; empty cells and columns without a name are omitted.
//! - Lines end with `\n` or `\r\n`; a `\r` between names of the header is an error. Blank lines
//!   between rows are skipped, and so is a line such as `sep=;` before the header.
//! - A row with another number of cells than the header, an empty id, a repeated id and two columns
//!   of one name are errors. CORD-19 has several rows for some papers: of the rows with the same
//!   `cord_uid` the first is read, and [`Corpus::skipped`] counts the others.
//!
//! ```
//! use ir_core::Document;
//! use ir_data::csv::CsvReader;
//! let text = "title,id,abstract,year\nTea,d1,\"Green, \"\"black\"\"\nand white tea\",2017\n";
//! let mut docs = CsvReader::new(text.as_bytes(), "docs.csv")?;
//! let mut doc = Document::default();
//! assert!(docs.read_into(&mut doc)?);
//! assert_eq!((doc.id.as_str(), doc.title.as_str()), ("d1", "Tea"));
//! assert_eq!(doc.text, "Green, \"black\"\nand white tea");
//! assert_eq!(doc.attributes.text("year"), Some("2017"));
//! # Ok::<(), ir_data::DataError>(())
//! ```

use std::io::BufRead;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use csv_core::{ReadRecordResult, Reader, ReaderBuilder, Terminator};
use ir_core::{Corpus, CorpusError, DocReader, Document, Query, Skipped};

use crate::collection::{collect_documents, query_from_document};
use crate::duplicates::DuplicateFinder;
use crate::error::{DataError, Location, name_of};
use crate::head::is_separator_line;
use crate::json::{FieldNames, GivenNames, RecordKind};
use crate::lines::{LineReader, check_line_end};
use crate::row::{check_id, set_field};
use crate::text_encoding::TextEncoding;

/// Separators of cells, in the order in which they are tried.
const SEPARATORS: [u8; 3] = [b'\t', b',', b';'];

/// Name of the column of ids in the table of CORD-19, which has several rows for some papers.
const CORD_19_ID: &str = "cord_uid";

/// Reader of documents as CSV or TSV with a header line.
#[derive(Debug)]
pub struct CsvReader<R> {
    rows: Rows<R>,
    fields: FieldNames,
    columns: Vec<String>,
    seen: DuplicateFinder,
    /// Number of skipped rows with the id of an earlier one.
    repeated: u64,
    /// Number of rows with a line inside a quoted cell that may be another row.
    joined: u64,
}

impl<R: BufRead> CsvReader<R> {
    /// Reads the header of documents from `reader`; `source` names it in errors.
    ///
    /// # Errors
    /// The source cannot be read, or the first line is not a [header](self).
    pub fn new(reader: R, source: &str) -> Result<Self, DataError> {
        Self::with_names(reader, source, RecordKind::Document, &GivenNames::default())
    }

    /// Reads the header of documents or queries. Given names replace the detected ones.
    ///
    /// # Errors
    /// The source cannot be read, or the first line is not a [header](self) with the given names.
    pub fn with_names(
        reader: R,
        source: &str,
        kind: RecordKind,
        given: &GivenNames,
    ) -> Result<Self, DataError> {
        let mut lines = LineReader::new(reader, source);
        let header = loop {
            match lines.read()? {
                None => {
                    return Err(DataError::Empty {
                        path: source.to_owned(),
                        expected: "a header line with the names of columns",
                    });
                }
                Some(line) if line.text.trim_ascii().is_empty() => {}
                Some(line) if is_separator_line(line.text.as_bytes()) => {}
                Some(line) => break line.text.to_owned(),
            }
        };
        let at = Location::new(source, lines.number);
        let header = Header::parse(&header, kind, given, at)?;
        Ok(Self {
            rows: Rows::new(lines, header.separator),
            fields: header.fields,
            columns: header.columns,
            seen: DuplicateFinder::default(),
            repeated: 0,
            joined: 0,
        })
    }

    /// Reads the next document into `doc`; `false` at the end.
    ///
    /// # Errors
    /// The source cannot be read, or a row does not follow the [format](self).
    pub fn read_into(&mut self, doc: &mut Document) -> Result<bool, DataError> {
        while let Some(line) = self.read_row(doc)? {
            let Err(error) = self
                .seen
                .add_id(&doc.id, Location::new(&self.rows.source, line))
            else {
                return Ok(true);
            };
            if !self.fields.id.eq_ignore_ascii_case(CORD_19_ID) {
                return Err(error);
            }
            self.repeated += 1;
        }
        Ok(false)
    }

    /// Reads the next row and returns its line.
    fn read_row(&mut self, doc: &mut Document) -> Result<Option<u64>, DataError> {
        let Some(line) = self.rows.read()? else {
            return Ok(None);
        };
        let source = Arc::clone(&self.rows.source);
        let at = Location::new(&source, line);
        if self.rows.len() != self.columns.len() {
            let expected = self.columns.len();
            return Err(at.columns(expected..=expected, self.rows.len()));
        }
        // Commas and semicolons are frequent in texts.
        let tabs = (self.columns.len() - 1).max(1);
        self.joined += u64::from(self.rows.separator == b'\t' && self.rows.inner >= tabs);
        doc.clear();
        for (name, cell) in self.columns.iter().zip(self.rows.cells()) {
            if !cell.is_empty() && !name.is_empty() {
                set_field(doc, &self.fields, name, cell.into(), at)?;
            }
        }
        check_id(doc, &self.fields, at)?;
        Ok(Some(line))
    }
}

impl<R: BufRead + Send> DocReader for CsvReader<R> {
    fn read(&mut self, doc: &mut Document) -> Result<bool, CorpusError> {
        Ok(self.read_into(doc)?)
    }
}

/// Names and separator of a header line.
#[derive(Debug)]
pub(crate) struct Header {
    separator: u8,
    /// Names of the columns in the order of the file.
    pub(crate) columns: Vec<String>,
    pub(crate) fields: FieldNames,
}

impl Header {
    /// Parses a first line. The error is of the separator with which it has most columns.
    pub(crate) fn parse(
        line: &str,
        kind: RecordKind,
        given: &GivenNames,
        at: Location<'_>,
    ) -> Result<Self, DataError> {
        let line = line.strip_suffix('\r').unwrap_or(line);
        let unquoted: String = line.split('"').step_by(2).collect();
        let line_end = check_line_end(&unquoted, at);
        let mut failed: Option<(usize, DataError)> = None;
        for separator in SEPARATORS {
            let columns = match header_cells(line, separator, at) {
                Ok(columns) if columns.is_empty() => continue,
                Ok(columns) => columns,
                // The quotes are invalid with this separator.
                Err(error) => {
                    let count = line.split(char::from(separator)).count();
                    if failed.as_ref().is_none_or(|(most, _)| count > *most) {
                        failed = Some((count, error));
                    }
                    continue;
                }
            };
            let names: Vec<&str> = columns.iter().map(String::as_str).collect();
            match FieldNames::of_columns(&names, kind, given, at) {
                Ok(mut fields) => {
                    line_end?;
                    fields.metadata = None;
                    return Ok(Self {
                        separator,
                        columns,
                        fields,
                    });
                }
                Err(error) if failed.as_ref().is_none_or(|(most, _)| names.len() > *most) => {
                    failed = Some((names.len(), error));
                }
                Err(_) => {}
            }
        }
        if !given.is_empty() {
            line_end?;
        }
        let missing = || at.syntax("a header line with the names of columns", line);
        Err(failed.map_or_else(missing, |(_, error)| error))
    }

    /// Separator of cells, as a word.
    pub(crate) fn separator(&self) -> &'static str {
        match self.separator {
            b'\t' => "tab",
            b',' => "comma",
            _ => "semicolon",
        }
    }
}

/// Cells of a header line, without white space around them.
pub(crate) fn header_cells(
    line: &str,
    separator: u8,
    at: Location<'_>,
) -> Result<Vec<String>, DataError> {
    let mut lines = LineReader::new(line.as_bytes(), at.path);
    lines.number = at.line.saturating_sub(1);
    let mut rows = Rows::new(lines, separator);
    rows.read()?;
    let cells = rows.cells().map(|cell| cell.trim().to_owned());
    Ok(cells.collect())
}

/// Follows the quotes of a line of cells. `open` is the line on which the quoted cell starts that
/// the line continues. Returns the line of the quoted cell that the next line continues.
fn follow_quotes(
    text: &str,
    at: Location<'_>,
    separator: u8,
    mut open: Option<u64>,
) -> Result<Option<u64>, DataError> {
    let bytes = text.as_bytes();
    let find = |from: usize, wanted: u8| {
        let found = bytes[from..].iter().position(|&byte| byte == wanted);
        found.map(|n| from + n)
    };
    let mut from = 0;
    loop {
        if let Some(start) = open {
            let Some(end) = find(from, b'"') else {
                return Ok(open);
            };
            match bytes.get(end + 1) {
                None => return Ok(None),
                Some(b'"') => {}
                Some(&next) if next == separator => open = None,
                Some(_) => {
                    let expected = "a separator or line end after the quoted cell that starts on this line (write `\"` inside a quoted cell twice)";
                    return Err(Location::new(at.path, start).syntax(expected, &text[end + 1..]));
                }
            }
            from = end + 2;
        } else if bytes.get(from) == Some(&b'"') {
            open = Some(at.line);
            from += 1;
        } else {
            match find(from, separator) {
                Some(end) => from = end + 1,
                None => return Ok(None),
            }
        }
    }
}

/// Parser of rows, with the cells of the last one.
pub(crate) struct Rows<R> {
    lines: LineReader<R>,
    pub(crate) source: Arc<str>,
    parser: Reader,
    separator: u8,
    /// Cells one after the other, with free space at the end.
    cells: Vec<u8>,
    /// Ends of the cells, with free space at the end.
    ends: Vec<usize>,
    count: usize,
    /// Maximum number of separators in a line of the last row that continues a quoted cell and has
    /// a separator in the cell.
    inner: usize,
}

impl<R> std::fmt::Debug for Rows<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rows")
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}

impl<R: BufRead> Rows<R> {
    pub(crate) fn new(lines: LineReader<R>, separator: u8) -> Self {
        let mut parser = ReaderBuilder::new();
        parser.delimiter(separator);
        parser.terminator(Terminator::Any(b'\n'));
        Self {
            source: lines.source(),
            lines,
            parser: parser.build(),
            separator,
            cells: vec![0; 1 << 10],
            ends: vec![0; 1 << 5],
            count: 0,
            inner: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Cells of the last row.
    pub(crate) fn cells(&self) -> impl Iterator<Item = &str> {
        let ends = &self.ends[..self.count];
        let starts = [0].into_iter().chain(ends.iter().copied());
        // Lines are UTF-8, and cells end at ASCII characters.
        let cell = |(start, &end)| std::str::from_utf8(&self.cells[start..end]).unwrap_or_default();
        starts.zip(ends).map(cell)
    }

    /// Reads the next row and returns its first line; `None` at the end.
    pub(crate) fn read(&mut self) -> Result<Option<u64>, DataError> {
        let mut first = None;
        // Line of the quoted cell that is not closed.
        let mut open = None;
        let (mut cells, mut ends) = (0, 0);
        self.inner = 0;
        loop {
            let Some(line) = self.lines.read()? else {
                let Some(line) = open.or(first) else {
                    return Ok(None);
                };
                let at = Location::new(&self.source, line);
                let expected =
                    "`\"` at the end of a quoted cell (write `\"` inside a quoted cell twice)";
                return Err(at.syntax(expected, "the end of the file"));
            };
            let text = line.text.strip_suffix('\r').unwrap_or(line.text);
            if first.is_none() && text.is_empty() {
                continue;
            }
            let start = *first.get_or_insert(line.number);
            if open.is_some() {
                let count = |text: &str| text.bytes().filter(|&b| b == self.separator).count();
                if text.split('"').next().map_or(0, count) > 0 {
                    self.inner = self.inner.max(count(text));
                }
            }
            if open.is_some() || text.as_bytes().contains(&b'"') {
                let at = Location::new(&self.source, line.number);
                open = follow_quotes(text, at, self.separator, open)?;
            }
            for mut input in [text.as_bytes(), b"\n"] {
                while !input.is_empty() {
                    let (result, read, wrote, ended) = self.parser.read_record(
                        input,
                        &mut self.cells[cells..],
                        &mut self.ends[ends..],
                    );
                    input = &input[read..];
                    cells += wrote;
                    ends += ended;
                    match result {
                        ReadRecordResult::InputEmpty => {}
                        ReadRecordResult::OutputFull => {
                            let size = self.cells.len();
                            self.cells.resize(2 * size, 0);
                        }
                        ReadRecordResult::OutputEndsFull => {
                            let size = self.ends.len();
                            self.ends.resize(2 * size, 0);
                        }
                        ReadRecordResult::Record | ReadRecordResult::End => {
                            self.count = ends;
                            return Ok(Some(start));
                        }
                    }
                }
            }
            if cells as u64 > self.lines.limit {
                return Err(DataError::LineTooLong {
                    path: self.source.as_ref().to_owned(),
                    line: start,
                    limit: self.lines.limit,
                });
            }
        }
    }
}

/// Corpus in a CSV file, possibly compressed. Every reader opens the file again.
#[derive(Debug, Clone)]
pub struct CsvCorpus {
    path: PathBuf,
    given: GivenNames,
    encoding: TextEncoding,
    repeated: Arc<AtomicU64>,
    joined: Arc<AtomicU64>,
}

impl CsvCorpus {
    /// Creates a corpus from a file.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            given: GivenNames::default(),
            encoding: TextEncoding::Utf8,
            repeated: Arc::default(),
            joined: Arc::default(),
        }
    }

    /// Names of columns that replace the detected ones.
    #[must_use]
    pub fn with_names(mut self, given: GivenNames) -> Self {
        self.given = given;
        self
    }

    /// Sets the character encoding. Default: UTF-8.
    #[must_use]
    pub fn with_encoding(mut self, encoding: TextEncoding) -> Self {
        self.encoding = encoding;
        self
    }
}

impl Corpus for CsvCorpus {
    fn open(&self) -> Result<Box<dyn DocReader + '_>, CorpusError> {
        let reader = self.encoding.open(&self.path)?;
        let source = name_of(&self.path);
        let kind = RecordKind::Document;
        Ok(Box::new(CsvCorpusReader {
            rows: CsvReader::with_names(reader, &source, kind, &self.given)?,
            corpus: self,
        }))
    }

    fn skipped(&self) -> Skipped {
        Skipped {
            repeated_ids: self.repeated.load(Ordering::Relaxed),
            joined_rows: self.joined.load(Ordering::Relaxed),
            ..Skipped::default()
        }
    }
}

struct CsvCorpusReader<'a, R> {
    rows: CsvReader<R>,
    corpus: &'a CsvCorpus,
}

impl<R: BufRead + Send> DocReader for CsvCorpusReader<'_, R> {
    fn read(&mut self, doc: &mut Document) -> Result<bool, CorpusError> {
        let is_read = self.rows.read_into(doc)?;
        if !is_read {
            let CsvCorpus {
                repeated, joined, ..
            } = self.corpus;
            repeated.fetch_max(self.rows.repeated, Ordering::Relaxed);
            joined.fetch_max(self.rows.joined, Ordering::Relaxed);
        }
        Ok(is_read)
    }
}

/// Reads all queries; `source` names the reader in errors. A title becomes the attribute `title`.
///
/// ```
/// let text = "qid;query\n1;\"tea; green\"\n";
/// let queries = ir_data::csv::read_queries(text.as_bytes(), "queries.csv", &Default::default())?;
/// assert_eq!(queries[0].text, "tea; green");
/// # Ok::<(), ir_data::DataError>(())
/// ```
///
/// # Errors
/// The source cannot be read, or a line does not follow the [format](self).
pub fn read_queries(
    reader: impl BufRead,
    source: &str,
    given: &GivenNames,
) -> Result<Vec<Query>, DataError> {
    let mut docs = CsvReader::with_names(reader, source, RecordKind::Query, given)?;
    let docs = collect_documents(|doc| docs.read_into(doc))?;
    Ok(docs.into_iter().map(query_from_document).collect())
}
