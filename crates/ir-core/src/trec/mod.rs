//! TREC runs and qrels, read exactly as trec_eval reads them.
//!
//! | file | columns, separated by any ASCII white space |
//! |---|---|
//! | run | query id, iteration (ignored), document id, rank (ignored), score, tag, anything else (ignored) |
//! | qrels | query id, iteration (ignored), document id, grade |
//! | qrels of a stratified sample | query id, iteration (ignored), document id, stratum, grade |
//! | qrels of a diversity task | query id, subtopic, document id, grade |
//!
//! trec_eval is lenient: text in the score column is 0, so a header line becomes a document
//! called `DocID` of the query `QueryID`. Reading does the same ([`HeaderLine::AsData`]) and says so in
//! [`Parsed::warnings`], as it does of infinite and hexadecimal scores; [`HeaderLine::Skip`] drops a
//! header line instead. What would make an
//! evaluation meaningless is an error: a missing column, a NaN score, a document that repeats
//! within a query, a fifth column in qrels. What could not be read back is not written: a
//! [`TrecWriteError`] names it.
//!
//! ```
//! use ir_core::trec::{self, HeaderLine};
//! let qrels = trec::read_qrels("q1 0 d1 2\nq1 0 d2 0\n".as_bytes(), "qrels.txt", HeaderLine::AsData)?;
//! assert_eq!(qrels.data.grade("q1", "d1"), Some(2));
//!
//! let error = trec::read_run("q1 Q0 d1 1\n".as_bytes(), "run.txt", HeaderLine::AsData).unwrap_err();
//! assert_eq!(error.to_string(), "run.txt:1: expected at least 6 columns, found 4");
//! # Ok::<(), trec::TrecReadError>(())
//! ```

mod read_extended;
mod number;
mod split;
mod read;
mod columns;
mod scan;
mod write;

use std::fmt;
use std::io;

pub use read_extended::{read_stratified_qrels, read_subtopic_qrels};
pub use split::{RunChunk, split_run};
pub use read::{RunLine, RunSummary, read_qrels, read_run, scan_run};
pub use columns::{ColumnReader, parse_integer, parse_number};
pub use write::{ScoreFormat, write_qrels, write_run, write_stratified_qrels};

/// The longest line that is read, in bytes. No real run comes near it; a file without line ends
/// is not read into memory whole.
pub const MAX_LINE: u64 = 1 << 20;

/// What a first line with a text where a number belongs is taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HeaderLine {
    /// For data, as trec_eval does: a document with score or grade 0.
    #[default]
    AsData,
    /// For a header, which is dropped.
    Skip,
}

/// What was read, and what was odd about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed<T> {
    /// The run or qrels.
    pub data: T,
    /// What trec_eval passes over in silence, in the order of the lines. At most
    /// [`TrecWarnings::MAX`] of them; the last one says how many more there were.
    pub warnings: Vec<TrecWarning>,
}

/// Something in a file that is legal and probably not meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrecWarning {
    /// The file.
    pub source: String,
    /// The line, from 1.
    pub line: u64,
    /// What is odd.
    pub what: String,
}

impl fmt::Display for TrecWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.source, self.line, self.what)
    }
}

/// Collects what is odd about one file; of more than [`TrecWarnings::MAX`], the number.
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
    /// The most that are listed.
    pub const MAX: usize = 20;

    /// None so far; `source` names the file.
    #[must_use]
    pub fn new(source: impl Into<String>) -> Self {
        Self {
            source: source.into(),
            list: Vec::new(),
            all: 0,
        }
    }

    /// Notes something about a line, counted from 1.
    pub fn push(&mut self, line: u64, what: impl Into<String>) {
        self.all += 1;
        if self.list.len() < Self::MAX {
            self.list.push(TrecWarning {
                source: self.source.clone(),
                line,
                what: what.into(),
            });
        } else if let Some(last) = self.list.last_mut() {
            last.line = line;
            self.say_how_many();
        }
    }

    /// Appends what was noted about the lines behind the first `lines`.
    pub fn append(&mut self, next: Self, lines: u64) {
        let all = self.all + next.all;
        for odd in next.list {
            self.push(lines + odd.line, odd.what);
        }
        self.all = all;
        self.say_how_many();
    }

    /// Where there are too many, the last one tells the number.
    fn say_how_many(&mut self) {
        let more = (self.all + 1).saturating_sub(Self::MAX as u64);
        if more > 1
            && let Some(last) = self.list.last_mut()
        {
            last.what = format!("and {more} more of these lines");
        }
    }

    /// What was noted, in its order.
    #[must_use]
    pub fn finish(self) -> Vec<TrecWarning> {
        self.list
    }
}

/// Why a run or qrels could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrecReadError {
    /// The file could not be read: truncated compression, a failing disk.
    #[error("{path}:{line}: could not be read")]
    Io {
        /// The file.
        path: String,
        /// The line, from 1.
        line: u64,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// Too few columns, or too many.
    #[error("{path}:{line}: expected {expected} columns, found {found}")]
    Columns {
        /// The file.
        path: String,
        /// The line, from 1.
        line: u64,
        /// How many there should be.
        expected: &'static str,
        /// How many there are.
        found: usize,
    },
    /// A score that is not a number.
    #[error("{path}:{line}: expected a score, found NaN")]
    NanScore {
        /// The file.
        path: String,
        /// The line, from 1.
        line: u64,
    },
    /// A document that repeats within a query.
    #[error("{path}:{line}: document {doc:?} of query {query:?} stands in line {first} already")]
    Repeated {
        /// The file.
        path: String,
        /// The line of the second occurrence, from 1.
        line: u64,
        /// The query.
        query: String,
        /// The document.
        doc: String,
        /// The line of the first occurrence.
        first: u64,
    },
    /// A document that repeats within a subtopic.
    #[error(
        "{path}:{line}: document {doc:?} of query {query:?}, subtopic {subtopic:?} \
         stands in line {first} already"
    )]
    RepeatedSubtopic {
        /// The file.
        path: String,
        /// The line of the second occurrence, from 1.
        line: u64,
        /// The query.
        query: String,
        /// The subtopic.
        subtopic: String,
        /// The document.
        doc: String,
        /// The line of the first occurrence.
        first: u64,
    },
    /// A line that is no text: NUL bytes, or not UTF-8.
    #[error("{path}:{line}: expected UTF-8 text, found {found}")]
    Encoding {
        /// The file.
        path: String,
        /// The line, from 1.
        line: u64,
        /// What there is instead.
        found: &'static str,
    },
    /// A line beyond [`MAX_LINE`].
    #[error("{path}:{line}: expected a line of at most {limit} bytes, found a longer one")]
    LongLine {
        /// The file.
        path: String,
        /// The line, from 1.
        line: u64,
        /// The limit.
        limit: u64,
    },
}

/// A part of a line that is an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum IdField {
    /// The id of a query.
    Query,
    /// The id of a document.
    Document,
    /// The name of the system.
    Tag,
    /// The label of a stratum.
    Stratum,
}

impl fmt::Display for IdField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Query => "query id",
            Self::Document => "document id",
            Self::Tag => "tag",
            Self::Stratum => "stratum",
        })
    }
}

/// Why an id cannot be written: it would be read back as something else, or not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum IdFault {
    /// It is empty.
    Empty,
    /// It has white space in it, which separates columns.
    WhiteSpace,
    /// It has a NUL byte in it, which ends a text in C.
    Nul,
    /// It stands at the head of a line and begins with `#`, as a comment does.
    Comment,
}

impl fmt::Display for IdFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "that is not empty",
            Self::WhiteSpace => "without white space",
            Self::Nul => "without NUL bytes",
            Self::Comment => "that does not begin with #",
        })
    }
}

/// Why a run or qrels could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrecWriteError {
    /// The output took no more: a full disk, a closed pipe.
    #[error("could not be written")]
    Io(#[from] io::Error),
    /// An id that could not be read back.
    #[error("expected a {field} {fault}, found {found:?}")]
    Id {
        /// Which kind of id.
        field: IdField,
        /// What is wrong with it.
        fault: IdFault,
        /// The id.
        found: String,
        /// The query whose line it would stand in; `None` for a tag.
        query: Option<String>,
    },
    /// A score that is NaN, or that [`ScoreFormat`] cannot write so that the order survives.
    #[error("query {query:?}, document {doc:?}: expected {expected}, found {found}")]
    Score {
        /// The query.
        query: String,
        /// The document.
        doc: String,
        /// What can be written.
        expected: &'static str,
        /// The score.
        found: f64,
    },
}

/// White space as C's `isspace` has it.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

fn columns(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| c.is_ascii() && is_space(c as u8))
        .filter(|field| !field.is_empty())
}

#[cfg(test)]
mod tests;
