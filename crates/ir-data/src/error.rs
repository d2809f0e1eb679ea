//! What can be wrong with a file of data.

use std::fmt;
use std::io;
use std::path::Path;

use ir_core::trec::{TrecError, WriteError};
use ir_core::{CorpusError, ExampleFault};

use crate::Compression;

/// Why a collection's file could not be read or written.
///
/// `path` is the file, or whatever name the caller gave to the source; `line` counts from 1.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// The file could not be opened or read.
    #[error("{path}: could not be read")]
    Read {
        /// The file.
        path: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The file could not be read beyond a line.
    #[error("{path}:{line}: could not be read from here on")]
    ReadOn {
        /// The file.
        path: String,
        /// The first line that could not be read whole.
        line: u64,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Compressed data that ends too early.
    #[error("{path}:{line}: expected more {compression} data, found the end of the file")]
    Truncated {
        /// The file.
        path: String,
        /// The first line that could not be read whole.
        line: u64,
        /// The form of compression.
        compression: Compression,
    },
    /// Compressed data that does not decompress, or not to what its checksum says.
    #[error("{path}:{line}: expected {compression} data, found it damaged ({found})")]
    Damaged {
        /// The file.
        path: String,
        /// The first line that could not be read whole.
        line: u64,
        /// The form of compression.
        compression: Compression,
        /// What the decoder met.
        found: String,
    },
    /// A folder stands where a file should.
    #[error("{path}: expected a file, found a folder")]
    Folder {
        /// The path.
        path: String,
    },
    /// The file could not be written; nothing is left of it.
    #[error("{path}: could not be written")]
    Write {
        /// The file.
        path: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A value that the format cannot hold; nothing is left of the file.
    #[error("{path}:{line}: expected {expected}, found {found:?}")]
    Unwritable {
        /// The file.
        path: String,
        /// The line that was to be written.
        line: u64,
        /// What the format can hold.
        expected: &'static str,
        /// The value, or its beginning.
        found: String,
    },
    /// A line beyond the limit.
    #[error("{path}:{line}: expected at most {limit} bytes in a line, found more")]
    LineTooLong {
        /// The file.
        path: String,
        /// The line.
        line: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// A line that is no UTF-8 text.
    #[error("{path}:{line}: expected UTF-8 text, found {found}")]
    NotText {
        /// The file.
        path: String,
        /// The line.
        line: u64,
        /// What there is instead.
        found: NotText,
    },
    /// A line that is not JSON.
    #[error("{path}:{line}: expected JSON, found a fault at column {column} ({found})")]
    Json {
        /// The file.
        path: String,
        /// The line.
        line: u64,
        /// The byte in the line, from 1.
        column: u64,
        /// What the parser met.
        found: String,
    },
    /// A value of the wrong kind.
    #[error("{path}:{line}: expected {expected} in {field}, found {found}")]
    Kind {
        /// The file.
        path: String,
        /// The line.
        line: u64,
        /// The field, or "the line".
        field: String,
        /// The kind that belongs there.
        expected: &'static str,
        /// The kind that stands there.
        found: &'static str,
    },
    /// A field that must be there and is not.
    #[error("{path}:{line}: expected a field {field:?}, found none")]
    MissingField {
        /// The file.
        path: String,
        /// The line.
        line: u64,
        /// The field.
        field: String,
    },
    /// A field that occurs twice in one record.
    #[error("{path}:{line}: expected one field {field:?}, found two")]
    RepeatedField {
        /// The file.
        path: String,
        /// The line.
        line: u64,
        /// The field.
        field: String,
    },
    /// An id that occurs twice.
    #[error("{path}:{line}: expected a new id, found {id:?}, which is that of line {first}")]
    RepeatedId {
        /// The file.
        path: String,
        /// The line of the second occurrence.
        line: u64,
        /// The id.
        id: String,
        /// The line of the first occurrence.
        first: u64,
    },
    /// A query and document that are judged twice.
    #[error(
        "{path}:{line}: expected a new pair, found query {query:?} and document {doc:?} of line {first}"
    )]
    RepeatedJudgment {
        /// The file.
        path: String,
        /// The line of the second occurrence.
        line: u64,
        /// The query.
        query: String,
        /// The document.
        doc: String,
        /// The line of the first occurrence.
        first: u64,
    },
    /// Too few columns, or too many.
    #[error("{path}:{line}: expected {expected} columns, found {found}")]
    Columns {
        /// The file.
        path: String,
        /// The line.
        line: u64,
        /// How many there should be.
        expected: u64,
        /// How many there are.
        found: u64,
    },
    /// Too few columns, or too many, where some may be missing.
    #[error("{path}:{line}: expected {} columns, found {found}", Span(*least, *most))]
    ColumnRange {
        /// The file.
        path: String,
        /// The line.
        line: u64,
        /// How many there are at least.
        least: u64,
        /// How many there are at most.
        most: u64,
        /// How many there are.
        found: u64,
    },
    /// A line that does not follow the format.
    #[error("{path}:{line}: expected {expected}, found {found:?}")]
    Syntax {
        /// The file.
        path: String,
        /// The line.
        line: u64,
        /// What belongs there.
        expected: &'static str,
        /// What stands there, or its beginning.
        found: String,
    },
    /// A text that answers a query and does not.
    #[error(
        "{path}:{line}: expected other texts in {negative} than in {positive}, found {found:?} in both"
    )]
    PositiveIsNegative {
        /// The file.
        path: String,
        /// The line.
        line: u64,
        /// The field of the positive.
        positive: String,
        /// The field of the negative.
        negative: String,
        /// The id of the text, or its beginning.
        found: String,
    },
    /// A training example from which one cannot learn.
    #[error("{path}:{line}: {fault}")]
    Example {
        /// The file.
        path: String,
        /// The line.
        line: u64,
        /// Why.
        fault: ExampleFault,
    },
    /// A judged query from which one cannot learn.
    #[error("{path}, query {query:?}: {fault}")]
    JudgedExample {
        /// The collection and the split.
        path: String,
        /// The query.
        query: String,
        /// Why.
        fault: ExampleFault,
    },
    /// An id that the collection does not have.
    #[error("{path}:{line}: expected the id of a document in {field}, found {found:?}")]
    UnknownId {
        /// The file.
        path: String,
        /// The line.
        line: u64,
        /// The field.
        field: String,
        /// The id.
        found: String,
    },
    /// A judged document that the collection does not have.
    #[error("{path}, query {query:?}: expected judged documents of the collection, found {doc:?}")]
    UnknownDocument {
        /// The collection and the split.
        path: String,
        /// The query.
        query: String,
        /// The document.
        doc: String,
    },
    /// Another number of things than the collection has.
    #[error("{path}: expected {expected} {what}, found {found}")]
    Count {
        /// The file, or the collection.
        path: String,
        /// Documents, queries, judgments.
        what: &'static str,
        /// How many there should be.
        expected: u64,
        /// How many there are.
        found: u64,
    },
    /// A file without anything in it, where something must be.
    #[error("{path}: expected {expected}, found none")]
    Empty {
        /// The file.
        path: String,
        /// What belongs there.
        expected: &'static str,
    },
    /// A file of another size than the catalogue states: an incomplete copy or another version.
    #[error(
        "{path}: expected {expected} bytes, found {found}: an incomplete copy, or another version"
    )]
    Size {
        /// The file.
        path: String,
        /// The size in bytes that the catalogue states.
        expected: u64,
        /// The size in bytes of the file.
        found: u64,
    },
    /// A file with other content than the catalogue states.
    #[error("{path}: expected SHA-256 {expected}, found {found}")]
    Sha256 {
        /// The file.
        path: String,
        /// The hash that the catalogue states, in hexadecimal digits.
        expected: String,
        /// The hash of the file.
        found: String,
    },
    /// A file of a collection that is not where it should be.
    #[error("{path}: expected a file of the collection {collection:?}, found none; {advice}")]
    MissingFile {
        /// Where it should be.
        path: String,
        /// The collection.
        collection: String,
        /// Where it can be had.
        advice: String,
    },
    /// A collection of the catalogue was asked for and no data folder is known.
    #[error(
        "expected {variable} to name the folder that holds {collection}, found it unset (`ir datasets where {collection}` says which files belong there)"
    )]
    NoDataFolder {
        /// The collection.
        collection: String,
        /// The variable: `IR_DATA`.
        variable: &'static str,
    },
    /// A name that is neither in the catalogue nor a folder.
    #[error("expected a folder or one of {}, found {name:?}", known.join(", "))]
    UnknownCollection {
        /// The name.
        name: String,
        /// The names that the catalogue has.
        known: Vec<String>,
    },
    /// A split that the collection does not have.
    #[error("expected a split of {collection:?} ({}), found {split:?}", known.join(", "))]
    UnknownSplit {
        /// The collection.
        collection: String,
        /// What was asked for.
        split: String,
        /// The splits that it has.
        known: Vec<String>,
    },
    /// Queries that are judged, but whose text is not there.
    #[error(
        "{path}: expected the text of every judged query, found {missing} without, first {query:?}"
    )]
    JudgedQueryMissing {
        /// The file with the queries.
        path: String,
        /// How many are missing.
        missing: u64,
        /// The first of them, in byte order.
        query: String,
    },
    /// A run or qrels with an id or a score that its file cannot hold.
    #[error("{path}: could not be written")]
    WriteTrec {
        /// The file.
        path: String,
        /// Which, and why.
        #[source]
        source: WriteError,
    },
    /// The caller's [`Progress`](ir_core::Progress) asked to stop.
    #[error("cancelled")]
    Cancelled,
    /// A collection that could not be read; the cause is in it.
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    /// A TREC file that could not be read; the cause is in it.
    #[error(transparent)]
    Trec(#[from] TrecError),
}

/// What stands in a file instead of UTF-8 text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotText {
    /// The mark at the head of a file in UTF-16.
    Utf16,
    /// A NUL byte, as binary files and UTF-16 have.
    Nul {
        /// The byte in the line, from 1.
        column: u64,
    },
    /// Bytes that are not UTF-8.
    Invalid {
        /// The byte in the line, from 1.
        column: u64,
    },
}

impl fmt::Display for NotText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Utf16 => write!(f, "the byte order mark of UTF-16"),
            Self::Nul { column } => write!(f, "a NUL byte at column {column}"),
            Self::Invalid { column } => write!(f, "other bytes at column {column}"),
        }
    }
}

impl DataError {
    /// Whether the file is there but incomplete or altered: cut short, damaged, of another size.
    #[must_use]
    pub fn is_corrupt(&self) -> bool {
        if let Self::Corpus(error) = self {
            let reason = error.reason().downcast_ref::<Self>();
            return reason.is_some_and(Self::is_corrupt);
        }
        matches!(
            self,
            Self::Truncated { .. }
                | Self::Damaged { .. }
                | Self::Empty { .. }
                | Self::Size { .. }
                | Self::Sha256 { .. }
                | Self::Count { .. }
        )
    }

    /// Whether data is missing that can be put in place: a file, the data folder.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        match self {
            Self::MissingFile { .. } | Self::NoDataFolder { .. } => true,
            Self::Read { source, .. } => source.kind() == io::ErrorKind::NotFound,
            _ => false,
        }
    }
}

impl From<DataError> for CorpusError {
    fn from(error: DataError) -> Self {
        Self::new(error)
    }
}

/// The name of a file in messages.
pub(crate) fn name_of(path: &Path) -> String {
    path.display().to_string()
}

/// A range of numbers in a message: `2 to 3`, or `2` alone.
struct Span(u64, u64);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(least, most) = self;
        if least == most {
            write!(f, "{least}")
        } else {
            write!(f, "{least} to {most}")
        }
    }
}

/// The beginning of a text for a message.
pub(crate) fn excerpt(text: &str) -> String {
    const MOST: usize = 60;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
