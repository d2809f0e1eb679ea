//! Errors of readers, writers and the catalog.

use std::borrow::Cow;
use std::io;
use std::ops::RangeInclusive;
use std::path::Path;

use ir_core::training::InvalidExample;
use ir_core::trec::{TrecReadError, TrecWriteError};
use ir_core::{CorpusError, excerpt};

use crate::compression_format::{Compression, unpacking};

/// Error reading or writing a file of a collection.
///
/// `path` is the file, or the name that the caller gave to the source; `line` counts from 1.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum DataError {
    /// The file cannot be opened or read.
    #[error("{path}: cannot read")]
    Read {
        path: String,
        #[source]
        source: io::Error,
    },
    /// The file cannot be read beyond a line.
    #[error("{path}:{line}: cannot read from this line on")]
    ReadLine {
        path: String,
        line: u64,
        #[source]
        source: io::Error,
    },
    /// Compressed data ends too early. `line` is the first incomplete line.
    #[error("{path}:{line}: expected more {compression} data, found the end of the file")]
    Truncated {
        path: String,
        line: u64,
        compression: Compression,
    },
    /// Compressed data is corrupt or does not match its checksum. `line` is the first line that
    /// cannot be read; `found` is the decoder's message.
    #[error("{path}:{line}: expected {compression} data, found it corrupt ({found})")]
    Corrupt {
        path: String,
        line: u64,
        compression: Compression,
        found: String,
    },
    /// The file is an archive, or compressed in a format that is not read.
    #[error(
        "{path}: expected uncompressed, gzip or zstd data, found {found} ({})",
        unpacking(found)
    )]
    UnsupportedCompression { path: String, found: &'static str },
    /// The path of a file names a directory.
    #[error("{path}: expected a file, found a directory")]
    Directory { path: String },
    /// The file cannot be written. No partial file remains.
    #[error("{path}: cannot write")]
    Write {
        path: String,
        #[source]
        source: io::Error,
    },
    /// The format cannot represent a value. No partial file remains.
    #[error("{path}:{line}: expected {expected}, found {found:?}")]
    Unwritable {
        path: String,
        line: u64,
        expected: &'static str,
        found: String,
    },
    /// A line exceeds the length limit in bytes.
    #[error("{path}:{line}: expected at most {limit} bytes in a line, found more")]
    LineTooLong { path: String, line: u64, limit: u64 },
    /// Text follows a CR in a line, as in files of old programs of the Macintosh.
    #[error("{path}:{line}: expected lines ended by LF or CRLF, found CR")]
    LineEnd { path: String, line: u64 },
    /// A line is not UTF-8 text.
    #[error("{path}:{line}: expected UTF-8 text, found {found}")]
    InvalidText {
        path: String,
        line: u64,
        found: InvalidText,
    },
    /// A line is not valid JSON. `column` is a byte position from 1; `found` is the parser's
    /// message.
    #[error("{path}:{line}: expected JSON, found an error at column {column} ({found})")]
    Json {
        path: String,
        line: u64,
        column: u64,
        found: String,
    },
    /// A Parquet or Arrow file is damaged, or compressed in a way that is not read. `found` is the
    /// message of the library that reads it.
    #[error("{path}: expected valid {format}, found an error ({found})")]
    Columnar {
        path: String,
        format: &'static str,
        found: String,
    },
    /// A file has another format. `found` is that format.
    #[error("{path}: expected {expected}, found {found}")]
    OtherFormat {
        path: String,
        expected: &'static str,
        found: String,
    },
    /// A field with a JSON text, inside a record, is not valid JSON. `column` is a byte position
    /// from 1; `found` is the parser's message.
    #[error(
        "{path}:{line}: record {record:?}: expected JSON in {field}, found an error at column {column} ({found})"
    )]
    InnerJson {
        path: String,
        line: u64,
        record: String,
        field: &'static str,
        column: u64,
        found: String,
    },
    /// A value has the wrong type.
    #[error("{path}:{line}: expected {expected} in {field}, found {found}")]
    WrongType {
        path: String,
        line: u64,
        field: String,
        expected: &'static str,
        found: Cow<'static, str>,
    },
    /// A required field is missing. `found` are the fields of a training example, or of a record
    /// without a [given name](crate::GivenNames), of which the message has up to ten; otherwise it
    /// is empty.
    #[error(
        "{path}:{line}: expected a field {field:?}, found {}",
        quoted_or_none(found)
    )]
    MissingField {
        path: String,
        line: u64,
        field: String,
        found: Vec<String>,
    },
    /// A record has no field with a name of the id or text, or several. `expected` lists the names;
    /// `found` are the fields of the record, or the several ones. The message has up to ten.
    #[error("{path}:{line}: expected {expected}, found {}", quoted_or_none(found))]
    FieldNames {
        path: String,
        line: u64,
        expected: String,
        found: Vec<String>,
    },
    /// A file of pandas has an index of the rows and no column of ids. `advice` is the call of
    /// pandas that writes the index as a column.
    #[error("{error} ({advice})")]
    PandasIndex {
        error: Box<DataError>,
        advice: &'static str,
    },
    /// A field occurs twice in one record. `place` ends the message: it names the object of the
    /// record with one of the two, or is empty.
    #[error("{path}:{line}: expected one field {field:?}, found two{place}")]
    RepeatedField {
        path: String,
        line: u64,
        field: String,
        place: String,
    },
    /// An id occurs twice. `first` is the line of the first occurrence.
    #[error("{path}:{line}: expected a unique id, found {id:?}, which is also on line {first}")]
    RepeatedId {
        path: String,
        line: u64,
        id: String,
        first: u64,
    },
    /// A file has an id that a file before it has.
    #[error("{path}: expected ids that no earlier file has, found {id:?} again")]
    IdOfEarlierFile { path: String, id: String },
    /// A pair of query and document is judged twice. `first` is the line of the first judgment.
    #[error(
        "{path}:{line}: expected one judgment per pair, found query {query:?} and document {doc:?} of line {first} again"
    )]
    RepeatedJudgment {
        path: String,
        line: u64,
        query: String,
        doc: String,
        first: u64,
    },
    /// A line has the wrong number of columns: `min` and `max` differ if columns are optional.
    #[error("{path}:{line}: expected {} columns, found {found}", column_counts(*min, *max))]
    Columns {
        path: String,
        line: u64,
        min: u64,
        max: u64,
        found: u64,
    },
    /// The first line of a file without names of columns has the wrong number of columns. `guess`
    /// ends the message with another format of the line, or is empty.
    #[error("{error} (read as TSV: id, tab, text{guess})")]
    TsvColumns {
        error: Box<DataError>,
        guess: &'static str,
    },
    /// A line does not follow the format.
    #[error("{path}:{line}: expected {expected}, found {found:?}")]
    Syntax {
        path: String,
        line: u64,
        expected: &'static str,
        found: String,
    },
    /// A text is both a positive and a negative of a training example. `positive` and `negative`
    /// are fields; `found` is the id of the text or an excerpt.
    #[error(
        "{path}:{line}: expected different texts in {negative} and {positive}, found {found:?} in both"
    )]
    PositiveIsNegative {
        path: String,
        line: u64,
        positive: String,
        negative: String,
        found: String,
    },
    /// A training example is invalid.
    #[error("{path}:{line}: {fault}")]
    Example {
        path: String,
        line: u64,
        fault: InvalidExample,
    },
    /// A judged query is not a valid training example. `path` is the collection and the split.
    #[error("{path}, query {query:?}: {fault}")]
    JudgedExample {
        path: String,
        query: String,
        fault: InvalidExample,
    },
    /// A training example refers to a document that the collection does not have.
    #[error("{path}:{line}: expected the id of a document in {field}, found {found:?}")]
    UnknownId {
        path: String,
        line: u64,
        field: String,
        found: String,
    },
    /// A judged document is not in the collection. `path` is the collection and the split.
    #[error("{path}, query {query:?}: expected judged documents of the collection, found {doc:?}")]
    UnknownDocument {
        path: String,
        query: String,
        doc: String,
    },
    /// A count differs from the catalog's. `items` is documents, queries or judgments.
    #[error("{path}: expected {expected} {items}, found {found}")]
    Count {
        path: String,
        items: &'static str,
        expected: u64,
        found: u64,
    },
    /// A file is empty.
    #[error("{path}: expected {expected}, found none")]
    Empty {
        path: String,
        expected: &'static str,
    },
    /// The size of a file differs from the catalog's: an incomplete copy or another version.
    #[error(
        "{path}: expected {expected} bytes, found {found}: an incomplete copy or another version"
    )]
    Size {
        path: String,
        expected: u64,
        found: u64,
    },
    /// The content of a file differs from the catalog's.
    #[error("{path}: expected SHA-256 {expected}, found {found}")]
    Sha256 {
        path: String,
        expected: String,
        found: String,
    },
    /// A file of a collection is missing. `advice` says where to get it.
    #[error("{path}: expected a file of the collection {collection:?}, found none; {advice}")]
    MissingFile {
        path: String,
        collection: String,
        advice: String,
    },
    /// A folder has two files with the same content, such as documents.
    #[error("{path}: expected one file of {expected} in the folder, found also {first}")]
    SeveralFiles {
        path: String,
        first: String,
        expected: &'static str,
    },
    /// A numbered part of a file is missing or extra. `first` is the part with the lowest number.
    #[error("{path}: expected one of {count} parts, as {first} is, found {found}")]
    NumberedPart {
        path: String,
        count: usize,
        first: String,
        found: String,
    },
    /// Two files of a folder have different judgments of a split. `query` is the first with others.
    #[error(
        "{path}: expected the judgments of {first}, found others of query {query:?} (remove one of the files)"
    )]
    DifferentJudgments {
        path: String,
        first: String,
        query: String,
    },
    /// Documents of a collection are missing beside its topics and judgments. `expected` lists the
    /// names of their file or folder.
    #[error(
        "{path}: expected the documents of {collection} beside its topics ({}), found none; topics and judgments alone are enough for `ir eval` and `--queries`",
        expected.join(", ")
    )]
    MissingDocuments {
        path: String,
        collection: String,
        expected: &'static [&'static str],
    },
    /// The environment variable with the data folder is not set.
    #[error(
        "expected {variable} to name the folder with {collection}, found it unset (`ir datasets where {collection}` lists the files)"
    )]
    NoDataFolder {
        collection: String,
        variable: &'static str,
    },
    /// A name is neither in the catalog nor a folder.
    #[error("expected a folder or one of {}, found {name:?}", known.join(", "))]
    UnknownCollection { name: String, known: Vec<String> },
    /// A catalog entry lists files without a collection of documents and queries.
    #[error(
        "expected a collection of documents, found {name:?}, which has none (`ir datasets where {name}` lists its files)"
    )]
    NotACollection { name: String },
    /// The collection has no such split.
    #[error(
        "expected a split of {collection:?} ({}), found {split:?}",
        list_or_none(known)
    )]
    UnknownSplit {
        collection: String,
        split: String,
        known: Vec<String>,
    },
    /// No document has a field of a template. `known` lists fields that documents have.
    #[error(
        "expected fields of the documents ({}) in the template {template:?}, found {field:?}",
        list_or_none(known).escape_debug()
    )]
    TemplateField {
        template: String,
        field: String,
        known: Vec<String>,
    },
    /// Judged queries have no text. `query` is the first of them in byte order.
    #[error(
        "{path}: expected a text for every judged query, found {missing} queries without, the first is {query:?}"
    )]
    JudgedQueryMissing {
        path: String,
        missing: u64,
        query: String,
    },
    /// A run or qrels contain an id or a score that the file format cannot represent.
    #[error("{path}: cannot write")]
    WriteTrec {
        path: String,
        #[source]
        source: TrecWriteError,
    },
    /// The caller's [`Progress`](ir_core::Progress) canceled the operation.
    #[error("canceled")]
    Canceled,
    /// A corpus cannot be read.
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    /// A TREC file cannot be read.
    #[error(transparent)]
    Trec(#[from] TrecReadError),
}

/// Content of a file that is not UTF-8 text. Columns are byte positions from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum InvalidText {
    /// Byte order mark of UTF-16.
    #[error("the byte order mark of UTF-16")]
    Utf16,
    /// NUL byte, as in binary files and UTF-16.
    #[error("a NUL byte at column {column}")]
    Nul { column: u64 },
    /// Bytes that are not UTF-8.
    #[error("invalid bytes at column {column}")]
    Invalid { column: u64 },
}

impl DataError {
    /// Returns `true` if the file exists but is incomplete or altered: truncated, corrupt or of
    /// another size.
    #[must_use]
    pub fn is_corrupt(&self) -> bool {
        if let Self::Corpus(error) = self {
            let reason = error.reason().downcast_ref::<Self>();
            return reason.is_some_and(Self::is_corrupt);
        }
        matches!(
            self,
            Self::Truncated { .. }
                | Self::Corrupt { .. }
                | Self::Empty { .. }
                | Self::Size { .. }
                | Self::Sha256 { .. }
                | Self::Count { .. }
        )
    }

    /// Returns `true` if no field or column has a name of an id or of a text, or several have, so
    /// that [`GivenNames`](crate::GivenNames) help.
    #[must_use]
    pub fn lacks_names(&self) -> bool {
        match self {
            Self::FieldNames { .. } | Self::PandasIndex { .. } => true,
            Self::TsvColumns { guess, .. } => *guess == NO_NAMES,
            _ => false,
        }
    }

    /// Returns `true` if a file or the data folder is missing.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        match self {
            Self::MissingFile { .. }
            | Self::MissingDocuments { .. }
            | Self::NoDataFolder { .. } => true,
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

/// Name of a file in messages.
pub(crate) fn name_of(path: &Path) -> String {
    path.display().to_string()
}

/// Converts the error of opening or reading a file.
pub(crate) fn read_error(path: &Path) -> impl Fn(io::Error) -> DataError + '_ {
    |source| DataError::Read {
        path: name_of(path),
        source,
    }
}

/// Converts the error of creating or writing a file.
pub(crate) fn write_error(path: &Path) -> impl Fn(io::Error) -> DataError + '_ {
    |source| DataError::Write {
        path: name_of(path),
        source,
    }
}

/// Returns an error unless a count is the expected one.
pub(crate) fn check_count(
    path: &str,
    items: &'static str,
    expected: u64,
    found: u64,
) -> Result<(), DataError> {
    if expected == found {
        return Ok(());
    }
    Err(DataError::Count {
        path: path.to_owned(),
        items,
        expected,
        found,
    })
}

/// Position of an error: file, or name of the source, and line from 1.
#[derive(Clone, Copy)]
pub(crate) struct Location<'a> {
    pub(crate) path: &'a str,
    pub(crate) line: u64,
}

impl<'a> Location<'a> {
    pub(crate) fn new(path: &'a str, line: u64) -> Self {
        Self { path, line }
    }

    /// Error of a value that does not follow the format; the message has an excerpt of it.
    pub(crate) fn syntax(self, expected: &'static str, found: &str) -> DataError {
        DataError::Syntax {
            path: self.path.to_owned(),
            line: self.line,
            expected,
            found: excerpt(found),
        }
    }

    pub(crate) fn columns(self, expected: RangeInclusive<usize>, found: usize) -> DataError {
        DataError::Columns {
            path: self.path.to_owned(),
            line: self.line,
            min: *expected.start() as u64,
            max: *expected.end() as u64,
            found: found as u64,
        }
    }

    pub(crate) fn missing_field(self, field: &str) -> DataError {
        self.missing_field_beside(field, Vec::new())
    }

    /// Error of a record without a field, which has the fields `found`.
    pub(crate) fn missing_field_beside(self, field: &str, found: Vec<String>) -> DataError {
        DataError::MissingField {
            path: self.path.to_owned(),
            line: self.line,
            field: field.to_owned(),
            found,
        }
    }

    pub(crate) fn repeated_field(self, field: &str) -> DataError {
        DataError::RepeatedField {
            path: self.path.to_owned(),
            line: self.line,
            field: field.to_owned(),
            place: String::new(),
        }
    }

    pub(crate) fn wrong_type(
        self,
        field: impl Into<String>,
        expected: &'static str,
        found: impl Into<Cow<'static, str>>,
    ) -> DataError {
        DataError::WrongType {
            path: self.path.to_owned(),
            line: self.line,
            field: field.into(),
            expected,
            found: found.into(),
        }
    }

    /// Error of a pair that is judged on line `first` already.
    pub(crate) fn repeated_judgment(self, query: &str, doc: &str, first: u64) -> DataError {
        DataError::RepeatedJudgment {
            path: self.path.to_owned(),
            line: self.line,
            query: query.to_owned(),
            doc: doc.to_owned(),
            first,
        }
    }
}

/// Range of column counts in a message: `2 to 3` or `2`.
fn column_counts(min: u64, max: u64) -> String {
    if min == max {
        return min.to_string();
    }
    format!("{min} to {max}")
}

/// End of a hint for a first line with several cells between commas or semicolons.
pub(crate) const NO_NAMES: &str = "; a CSV file has names of an id and a text in its first line, such as id,title,text: found none";

/// Known names in a message: up to ten, and the number of the others.
fn quoted_or_none(names: &[String]) -> String {
    const MOST: usize = 10;
    let shown = names.iter().take(MOST).map(|name| format!("{name:?}"));
    let list = list_or_none(&shown.collect::<Vec<_>>());
    match names.len() {
        count if count > MOST => format!("{list} and {} more", count - MOST),
        _ => list,
    }
}

fn list_or_none(names: &[String]) -> String {
    match names {
        [] => "none".to_owned(),
        names => names.join(", "),
    }
}
