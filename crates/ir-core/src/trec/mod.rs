//! TREC run and qrels files, parsed as trec_eval parses them.
//!
//! | file | columns, separated by ASCII white space |
//! |---|---|
//! | run | query id, iteration (ignored), document id, rank (ignored), score, tag, more (ignored) |
//! | run of MS MARCO | query id, document id, rank; the score is 1 / rank |
//! | qrels | query id, iteration (ignored), document id, grade |
//! | qrels of a stratified sample | query id, iteration (ignored), document id, stratum, grade |
//! | qrels of a diversity task | query id, subtopic, document id, grade |
//!
//! Runs and qrels in JSON, as of ranx and pytrec_eval, are detected by their first characters: an
//! object of query ids with an object of document ids and scores or grades each, in one line or
//! many. Such a run has no tag. A key that repeats is an error, as is a value of another type.
//!
//! Runs with names of columns are tables, with a header line between commas, semicolons, tabs or
//! white space, and JSON records, one per line or in an array. Columns are in any order, and others
//! are ignored. Cells between commas, semicolons or tabs may be in double quotes.
//!
//! | column | names, in any case, with `_`, `-` or without |
//! |---|---|
//! | query | [`QUERY_ID_NAMES`] |
//! | document | [`DOCUMENT_ID_NAMES`] |
//! | score | `score`; `scores`, `similarity`; without it `rank`, with the score 1 / rank |
//! | tag, optional | `tag`; `run-tag`; `run`; `run-id` |
//!
//! Names before a semicolon take precedence; two of one kind are an error, as is a score that is no
//! number. A header line of TREC's six columns in their order between tabs, or of six or more
//! columns between spaces, is data.
//!
//! trec_eval is lenient: text in the score column is read as 0, so a header line becomes a document
//! `DocID` of the query `QueryID`. The readers do the same ([`HeaderLine::AsData`]) and report a
//! [`TrecWarning`], as for infinite and hexadecimal scores. [`HeaderLine::Skip`] drops a header
//! line; a run of MS MARCO with a header line of other names is an error otherwise. A byte-order
//! mark at the start is skipped. Lines end with LF or CRLF. Parquet and Arrow files are errors.
//!
//! Input that makes an evaluation meaningless is an error: a missing column, a NaN score, a
//! document that repeats within a query, a fifth column in qrels, lines that end with CR. The
//! writers return a [`TrecWriteError`] for ids and scores that could not be read back.
//!
//! ```
//! use ir_core::trec::{self, HeaderLine};
//! let text = "q1 0 d1 2\nq1 0 d2 0\n";
//! let qrels = trec::read_qrels(text.as_bytes(), "qrels.txt", HeaderLine::AsData)?;
//! assert_eq!(qrels.data.grade("q1", "d1"), Some(2));
//!
//! let text = "q1 Q0 d1 1\n";
//! let error = trec::read_run(text.as_bytes(), "run.txt", HeaderLine::AsData).unwrap_err();
//! assert_eq!(error.to_string(), "run.txt:1: expected at least 6 columns, found 4");
//! # Ok::<(), trec::TrecReadError>(())
//! ```

mod columnar;
mod columns;
mod json;
mod json_records;
mod number;
mod query_numbers;
mod read;
mod read_extended;
mod run_columns;
mod scan;
mod split;
mod table;
mod write;

use std::fmt;
use std::io;

pub use columns::ColumnReader;
pub use number::{parse_integer, parse_number, parse_whole};
pub use read::{RunLine, RunSummary, read_qrels, read_run, scan_run};
pub use read_extended::{read_stratified_qrels, read_subtopic_qrels};
pub use run_columns::{DOCUMENT_ID_NAMES, QUERY_ID_NAMES, is_column_name, run_fields};
pub use split::{RunChunk, split_run};
pub use write::{ScoreFormat, write_qrels, write_run, write_stratified_qrels};

/// Maximum length of a line in bytes. Bounds memory for files without line breaks.
pub const MAX_LINE: u64 = 1 << 20;

/// Handling of a first line with text in a numeric column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HeaderLine {
    /// Data with score or grade 0, as in trec_eval. Three columns with a `rank` and other unknown
    /// names are an error.
    #[default]
    AsData,
    /// Skip it as a header.
    Skip,
}

/// Parsed file with its warnings.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed<T> {
    /// Parsed run or qrels.
    pub data: T,
    /// Input that trec_eval accepts silently, in line order. At most [`TrecWarnings::MAX`]; the
    /// last one states how many more there are.
    pub warnings: Vec<TrecWarning>,
}

/// Warning about a line that is valid but probably unintended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrecWarning {
    /// Name of the file.
    pub source: String,
    /// Line number, from 1.
    pub line: u64,
    /// Description of the problem.
    pub message: String,
}

impl fmt::Display for TrecWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.source, self.line, self.message)
    }
}

/// Warnings about one file; beyond [`TrecWarnings::MAX`] they are only counted.
///
/// ```
/// use ir_core::trec::TrecWarnings;
/// let mut warnings = TrecWarnings::new("run.txt");
/// warnings.push(3, "the score \"3,5\" was read as 3");
/// assert_eq!(warnings.finish()[0].to_string(), "run.txt:3: the score \"3,5\" was read as 3");
/// ```
#[derive(Debug, Clone)]
pub struct TrecWarnings {
    source: String,
    list: Vec<TrecWarning>,
    all: u64,
}

impl TrecWarnings {
    /// Maximum number of warnings listed.
    pub const MAX: usize = 20;

    /// Creates an empty list for the file `source`.
    #[must_use]
    pub fn new(source: impl Into<String>) -> Self {
        Self {
            source: source.into(),
            list: Vec::new(),
            all: 0,
        }
    }

    /// Adds a warning about a line, numbered from 1.
    pub fn push(&mut self, line: u64, message: impl Into<String>) {
        self.all += 1;
        if self.list.len() < Self::MAX {
            self.list.push(TrecWarning {
                source: self.source.clone(),
                line,
                message: message.into(),
            });
        } else if let Some(last) = self.list.last_mut() {
            last.line = line;
            self.set_remaining();
        }
    }

    /// Appends warnings about the lines after the first `lines`.
    pub fn append(&mut self, next: Self, lines: u64) {
        let all = self.all + next.all;
        for warning in next.list {
            self.push(lines + warning.line, warning.message);
        }
        self.all = all;
        self.set_remaining();
    }

    /// Turns the last warning into a count of the warnings beyond the maximum.
    fn set_remaining(&mut self) {
        let more = (self.all + 1).saturating_sub(Self::MAX as u64);
        if more > 1
            && let Some(last) = self.list.last_mut()
        {
            last.message = format!("and {more} more of these lines");
        }
    }

    /// Returns the warnings in order.
    #[must_use]
    pub fn finish(self) -> Vec<TrecWarning> {
        self.list
    }
}

/// Error reading a run or qrels file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum TrecReadError {
    /// I/O error, such as truncated compressed data.
    #[error("{path}:{line}: cannot read")]
    Io {
        path: String,
        line: u64,
        #[source]
        cause: io::Error,
    },
    /// Wrong number of columns.
    #[error("{path}:{line}: expected {expected} columns, found {found}")]
    Columns {
        path: String,
        line: u64,
        expected: &'static str,
        found: usize,
    },
    /// Wrong number of columns in a line with commas.
    #[error(
        "{path}:{line}: expected {expected} columns, found {found} with commas (columns are between \
         white space; a table with commas has a header line, such as qid,docno,score)"
    )]
    Commas {
        path: String,
        line: u64,
        expected: &'static str,
        found: usize,
    },
    /// The file is JSON, in a format without JSON.
    #[error("{path}: expected lines of {expected} columns, found JSON")]
    Json {
        path: String,
        expected: &'static str,
    },
    /// A table or a record lacks a column of a run, or a row has no valid value of one.
    #[error("{path}:{line}: expected {expected}, found {found}")]
    Field {
        path: String,
        line: u64,
        expected: String,
        found: String,
    },
    /// The file is Parquet or Arrow, by its first bytes.
    #[error(
        "{path}: expected {expected}, found {found}; write each row as a line of these columns, with \
         white space between them"
    )]
    Columnar {
        path: String,
        expected: &'static str,
        found: &'static str,
    },
    /// Invalid JSON, or a value of the wrong type.
    #[error("{path}:{line}: expected {expected} in JSON, found {found}")]
    JsonValue {
        path: String,
        line: u64,
        expected: &'static str,
        found: String,
    },
    /// A query repeats in JSON.
    #[error("{path}:{line}: query {query:?} is already in line {first}")]
    RepeatedQuery {
        path: String,
        line: u64,
        query: String,
        first: u64,
    },
    /// A score is NaN.
    #[error("{path}:{line}: expected a score, found NaN")]
    NanScore { path: String, line: u64 },
    /// The third column of a run of MS MARCO is not a rank.
    #[error("{path}:{line}: expected a rank (an integer of at least 1), found {found:?}")]
    Rank {
        path: String,
        line: u64,
        found: String,
    },
    /// A run of MS MARCO starts with a header line. `found` are its columns.
    #[error(
        "{path}:{line}: expected a query, a document and a rank, found the header line {found:?} \
         (--skip-header skips it; in an experiment file, header = true)"
    )]
    RankHeader {
        path: String,
        line: u64,
        found: String,
    },
    /// A document repeats within a query.
    #[error("{path}:{line}: document {doc:?} of query {query:?} is already in line {first}")]
    Repeated {
        path: String,
        line: u64,
        query: String,
        doc: String,
        first: u64,
    },
    /// A document repeats within a subtopic.
    #[error(
        "{path}:{line}: document {doc:?} of query {query:?}, subtopic {subtopic:?} \
         is already in line {first}"
    )]
    RepeatedSubtopic {
        path: String,
        line: u64,
        query: String,
        subtopic: String,
        doc: String,
        first: u64,
    },
    /// Text follows a CR in a line, as in files of old programs of the Macintosh.
    #[error("{path}:{line}: expected lines ended by LF or CRLF, found CR")]
    LineEnd { path: String, line: u64 },
    /// A line contains NUL bytes or invalid UTF-8.
    #[error("{path}:{line}: expected UTF-8 text, found {found}")]
    Encoding {
        path: String,
        line: u64,
        found: &'static str,
    },
    /// A line exceeds [`MAX_LINE`].
    #[error("{path}:{line}: expected a line of at most {limit} bytes, found a longer one")]
    LongLine { path: String, line: u64, limit: u64 },
}

/// Error writing a run or qrels file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum TrecWriteError {
    /// I/O error while writing.
    #[error("cannot write")]
    Io(#[from] io::Error),
    /// An id could not be read back.
    ///
    /// - `field`: `query id`, `document id`, `tag` or `stratum`.
    /// - `expected`: `that is not empty`, `without white space`, `without NUL bytes`, or, of a
    ///   query id, `that does not begin with #`.
    #[error("expected a {field} {expected}, found {found:?}")]
    Id {
        field: &'static str,
        expected: &'static str,
        found: String,
        query: Option<String>,
    },
    /// A score is NaN, or not representable in the [`ScoreFormat`].
    #[error("query {query:?}, document {doc:?}: expected {expected}, found {found}")]
    Score {
        query: String,
        doc: String,
        expected: &'static str,
        found: f64,
    },
}

/// ASCII white space, as C's `isspace`.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// Returns an error if text follows a CR in a line: CR would be white space between its columns.
fn check_line_end(text: &str, path: &str, line: u64) -> Result<(), TrecReadError> {
    match text.split_once('\r') {
        Some((_, after)) if !after.bytes().all(is_space) => Err(TrecReadError::LineEnd {
            path: path.to_owned(),
            line,
        }),
        _ => Ok(()),
    }
}

fn columns(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| c.is_ascii() && is_space(c as u8))
        .filter(|field| !field.is_empty())
}

#[cfg(test)]
mod json_tests;
#[cfg(test)]
mod table_tests;
#[cfg(test)]
mod tests;
