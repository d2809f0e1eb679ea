//! Documents and queries as Parquet files (feature `parquet`, on by default).
//!
//! A row is a document. Columns have the names of [`FieldNames::detect`], in upper or
//! lower case; every other column is an attribute.
//!
//! | type of a column | value |
//! |---|---|
//! | string, enum, JSON | text |
//! | integer, floating-point number, boolean | number or truth value; NaN counts as null |
//! | date, timestamp | text of ISO 8601: `2017-03-01`, `2017-03-01T12:00:00Z` |
//! | decimal | text |
//! | list, struct, map with text keys | list or map |
//! | binary data, list of floating-point numbers | not read: images and embeddings |
//!
//! Null cells are omitted. Errors name the row, from 1. Files are uncompressed or compressed with
//! Snappy, gzip, LZ4 or brotli, and with the feature `parquet-zstd` with zstd. Rows are read one
//! at a time by the record API of the crate parquet, which panics on some damaged pages; the panic
//! is caught and reported as a damaged file.
//!
//! ```no_run
//! use ir_core::Document;
//! use ir_data::parquet::ParquetReader;
//! let mut docs = ParquetReader::open("corpus-00000-of-00001.parquet")?;
//! let mut doc = Document::default();
//! while docs.read_into(&mut doc)? {
//!     println!("{}: {}", doc.id, doc.title);
//! }
//! # Ok::<(), ir_data::DataError>(())
//! ```

mod value;

use std::any::Any;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ir_core::{AttributeValue, Corpus, CorpusError, DocReader, Document, Qrels, Query};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::reader::RowIter;
use parquet::schema::types::{Type, TypePtr};

use crate::collection::{collect_documents, query_from_document};
use crate::duplicates::DuplicateFinder;
use crate::error::{DataError, Location, name_of, read_error};
use crate::json::{FieldNames, GivenNames, RecordKind};
use crate::judgments::QrelsOfRecords;
use crate::row::{check_id, set_field};
use value::{Unit, attribute_value, is_list_of_floats, is_readable, unit_of};

/// Rows of a Parquet file as named values.
pub(crate) struct Rows {
    rows: RowIter<'static>,
    pub(crate) source: Arc<str>,
    columns: Vec<Column>,
    /// Columns that are not read.
    skipped: Vec<String>,
    len: u64,
    /// Number of rows that were read.
    pub(crate) row: u64,
}

/// Column that is read.
struct Column {
    name: String,
    /// Unit of integers that are timestamps.
    unit: Option<Unit>,
    is_list_of_floats: bool,
}

impl std::fmt::Debug for Rows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct("Rows");
        debug.field("source", &self.source).field("row", &self.row);
        debug.finish_non_exhaustive()
    }
}

impl Rows {
    /// Opens a file. `is_wanted` selects columns among those that can be read.
    pub(crate) fn open(path: &Path, is_wanted: impl Fn(&Type) -> bool) -> Result<Self, DataError> {
        let file = File::open(path).map_err(read_error(path))?;
        let source: Arc<str> = name_of(path).into();
        caught(&source, || {
            let reader = SerializedFileReader::new(file)?;
            let metadata = reader.metadata().file_metadata();
            let (schema, len) = (metadata.schema(), metadata.num_rows());
            let (read, skipped): (Vec<TypePtr>, Vec<TypePtr>) = schema
                .get_fields()
                .iter()
                .cloned()
                .partition(|column| is_wanted(column));
            let skipped = skipped.iter().map(|column| column.name().to_owned());
            let columns = read.iter().map(|column| Column {
                name: column.name().to_owned(),
                unit: unit_of(column),
                is_list_of_floats: is_list_of_floats(column),
            });
            let (columns, skipped) = (columns.collect(), skipped.collect());
            let schema = Type::group_type_builder(schema.name()).with_fields(read);
            let schema = schema.build()?;
            let rows = RowIter::from_file_into(Box::new(reader)).project(Some(schema))?;
            Ok(Self {
                rows,
                source: Arc::clone(&source),
                columns,
                skipped,
                len: u64::try_from(len).unwrap_or(0),
                row: 0,
            })
        })
    }

    /// Names of the columns that are read.
    pub(crate) fn names(&self) -> Vec<&str> {
        let names = self.columns.iter().map(|column| column.name.as_str());
        names.collect()
    }

    /// Reads the next row; calls `set` with column and value of every cell that is not null.
    pub(crate) fn read(
        &mut self,
        mut set: impl FnMut(&str, AttributeValue, Location<'_>) -> Result<(), DataError>,
    ) -> Result<bool, DataError> {
        let Self { rows, source, .. } = self;
        let Some(row) = caught(source, || rows.next().transpose())? else {
            return Ok(false);
        };
        self.row += 1;
        let at = Location::new(&self.source, self.row);
        for (column, (_, field)) in self.columns.iter().zip(row.into_columns()) {
            if let Some(value) = attribute_value(field, column.unit) {
                set(&column.name, value, at)?;
            }
        }
        Ok(true)
    }
}

/// Calls a function of the Parquet library, which panics on some damaged pages.
fn caught<T>(source: &str, call: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, DataError> {
    let error = match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(read)) => return Ok(read),
        Ok(Err(error)) => error.to_string(),
        Err(panic) => panic_message(&*panic).to_owned(),
    };
    // The message may contain a long value.
    let mut found: String = error.chars().take(200).collect();
    if found.contains("compile time: zstd") {
        found.push_str("; the feature \"parquet-zstd\" reads zstd");
    }
    Err(DataError::Parquet {
        path: source.to_owned(),
        found,
    })
}

/// Message of a panic of the Parquet library.
pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let message = panic.downcast_ref::<String>().map(String::as_str);
    let message = message.or_else(|| panic.downcast_ref::<&str>().copied());
    message.unwrap_or("corrupt")
}

/// Reader of documents in a Parquet file.
#[derive(Debug)]
pub struct ParquetReader {
    rows: Rows,
    fields: FieldNames,
    seen: DuplicateFinder,
}

impl ParquetReader {
    /// Opens a file of documents.
    ///
    /// # Errors
    /// The file cannot be read, is not a valid Parquet file, or has no columns for id and text.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, DataError> {
        Self::open_with(path, RecordKind::Document, &GivenNames::default())
    }

    /// Opens a file of documents or queries. Given names replace the detected ones.
    ///
    /// # Errors
    /// As [`ParquetReader::open`].
    pub fn open_with(
        path: impl AsRef<Path>,
        kind: RecordKind,
        given: &GivenNames,
    ) -> Result<Self, DataError> {
        let rows = Rows::open(path.as_ref(), is_readable)?;
        let at = Location::new(&rows.source, 1);
        let fields = FieldNames::of_columns(&rows.names(), kind, given, at)?;
        Ok(Self {
            fields,
            rows,
            seen: DuplicateFinder::default(),
        })
    }

    /// Reads the next document into `doc`; `false` at the end.
    ///
    /// # Errors
    /// The file cannot be read, or a row does not follow the [format](self).
    pub fn read_into(&mut self, doc: &mut Document) -> Result<bool, DataError> {
        doc.clear();
        let fields = &self.fields;
        let set = |name: &str, value, at: Location<'_>| set_field(doc, fields, name, value, at);
        if !self.rows.read(set)? {
            return Ok(false);
        }
        let at = Location::new(&self.rows.source, self.rows.row);
        check_id(doc, fields, at)?;
        self.seen.add_id(&doc.id, at)?;
        Ok(true)
    }

    /// Number of rows of the file.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.rows.len
    }

    /// Returns `true` if the file has no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.len == 0
    }

    /// Columns that are not read: binary data and lists of floating-point numbers.
    #[must_use]
    pub fn skipped_columns(&self) -> &[String] {
        &self.rows.skipped
    }

    pub(crate) fn fields(&self) -> &FieldNames {
        &self.fields
    }

    pub(crate) fn columns(&self) -> Vec<&str> {
        self.rows.names()
    }
}

impl DocReader for ParquetReader {
    fn read(&mut self, doc: &mut Document) -> Result<bool, CorpusError> {
        Ok(self.read_into(doc)?)
    }
}

/// Corpus in a Parquet file. Every reader opens the file again.
#[derive(Debug, Clone)]
pub struct ParquetCorpus {
    path: PathBuf,
    given: GivenNames,
}

impl ParquetCorpus {
    /// Creates a corpus from a file.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            given: GivenNames::default(),
        }
    }

    /// Names of columns that replace the detected ones.
    #[must_use]
    pub fn with_names(mut self, given: GivenNames) -> Self {
        self.given = given;
        self
    }
}

impl Corpus for ParquetCorpus {
    fn open(&self) -> Result<Box<dyn DocReader + '_>, CorpusError> {
        let kind = RecordKind::Document;
        Ok(Box::new(ParquetReader::open_with(
            &self.path,
            kind,
            &self.given,
        )?))
    }
}

/// Columns of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Columns {
    /// Names of the columns that documents and queries have.
    pub read: Vec<String>,
    /// If `true`, a column has lists of floating-point numbers.
    pub has_vectors: bool,
}

/// Reads the names of the columns of a file.
///
/// # Errors
/// The file cannot be read or is not a valid Parquet file.
pub fn columns(path: impl AsRef<Path>) -> Result<Columns, DataError> {
    let rows = Rows::open(path.as_ref(), |column| {
        is_list_of_floats(column) || is_readable(column)
    })?;
    let (lists, read): (Vec<&Column>, Vec<&Column>) = rows
        .columns
        .iter()
        .partition(|column| column.is_list_of_floats);
    Ok(Columns {
        read: read.iter().map(|column| column.name.clone()).collect(),
        has_vectors: !lists.is_empty(),
    })
}

/// Reads all queries of a file. A title becomes the attribute `title`.
///
/// # Errors
/// The file cannot be read, is not a valid Parquet file, or a row does not follow the
/// [format](self).
pub fn read_queries(path: impl AsRef<Path>, given: &GivenNames) -> Result<Vec<Query>, DataError> {
    let mut docs = ParquetReader::open_with(path, RecordKind::Query, given)?;
    let docs = collect_documents(|doc| docs.read_into(doc))?;
    Ok(docs.into_iter().map(query_from_document).collect())
}

/// Reads the judgments of one or several files: the columns `query-id` and `corpus-id`, strings or
/// integers, and `score`, as [`read_jsonl_qrels`](crate::beir::read_jsonl_qrels) reads them from
/// JSON. Other columns are ignored.
///
/// # Errors
/// The file cannot be read, is not a valid Parquet file or has no rows, a column is missing or of
/// another type, or a pair is judged twice.
pub fn read_qrels(paths: &[impl AsRef<Path>]) -> Result<Qrels, DataError> {
    let mut qrels = QrelsOfRecords::default();
    let mut last = String::new();
    for path in paths {
        let mut rows = Rows::open(path.as_ref(), is_readable)?;
        let source = Arc::clone(&rows.source);
        last = source.as_ref().to_owned();
        loop {
            let mut members = Vec::new();
            let set = |name: &str, value, _: Location<'_>| {
                members.push((name.to_owned(), value));
                Ok(())
            };
            if !rows.read(set)? {
                break;
            }
            qrels.add(&members, Location::new(&source, rows.row))?;
        }
    }
    qrels.finish(&last)
}

/// Ids and vectors of a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Vectors {
    /// Ids of the rows.
    pub ids: Vec<String>,
    /// Number of values of a vector.
    pub dimension: usize,
    /// Vectors one after the other.
    pub values: Vec<f32>,
}

/// Reads the vectors of a file: an id column as in [`FieldNames::detect`], and the only column of
/// lists of floating-point numbers, or of several the one named `vector`, `embedding`,
/// `embeddings`, `emb` or `values`.
///
/// # Errors
/// The file cannot be read or is not a valid Parquet file, has no such column, a vector is null,
/// has a null value or another dimension than the first, or an id is missing.
pub fn read_vectors(path: impl AsRef<Path>) -> Result<Vectors, DataError> {
    const NAMES: [&str; 5] = ["vector", "embedding", "embeddings", "emb", "values"];
    let path = path.as_ref();
    let rows = Rows::open(path, |column| {
        is_list_of_floats(column) || is_readable(column)
    })?;
    let at = Location::new(&rows.source, 1);
    let columns = rows.names();
    let missing = |expected: &str| DataError::FieldNames {
        path: at.path.to_owned(),
        line: at.line,
        expected: expected.to_owned(),
        found: columns.iter().map(|&name| name.to_owned()).collect(),
    };
    let kinds = [RecordKind::Document, RecordKind::Query];
    let mut accepted = kinds.iter().flat_map(|kind| kind.id_names());
    let id = accepted.find_map(|accepted| {
        let mut columns = columns.iter();
        columns.find(|column| column.eq_ignore_ascii_case(accepted))
    });
    let id = *id.ok_or_else(|| missing("a column with ids, such as \"id\""))?;
    let lists = rows
        .columns
        .iter()
        .filter(|column| column.is_list_of_floats);
    let lists: Vec<&str> = lists.map(|column| column.name.as_str()).collect();
    let is_named = |list: &&&str| NAMES.iter().any(|name| list.eq_ignore_ascii_case(name));
    let list = match lists[..] {
        [list] => list,
        _ => lists.iter().find(is_named).ok_or_else(|| {
            missing("one column with lists of floating-point numbers, or one named \"vector\"")
        })?,
    };
    let mut rows = Rows::open(path, |column| [id, list].contains(&column.name()))?;
    let mut vectors = Vectors::default();
    loop {
        let (mut found_id, mut found) = (None, None);
        let set = |name: &str, value, at: Location<'_>| {
            if name == id {
                found_id = Some(match value {
                    AttributeValue::Text(id) if !id.is_empty() => id,
                    AttributeValue::Int(id) => id.to_string(),
                    _ => return Err(at.wrong_type(name, "an id", "another value")),
                });
            } else if let AttributeValue::List(values) = value {
                found = Some(values);
            }
            Ok(())
        };
        if !rows.read(set)? {
            return Ok(vectors);
        }
        let at = Location::new(&rows.source, rows.row);
        let (Some(id), Some(values)) = (found_id, found) else {
            return Err(at.wrong_type("the row", "an id and a vector", "null"));
        };
        if vectors.ids.is_empty() {
            vectors.dimension = values.len();
        }
        let before = vectors.values.len();
        vectors
            .values
            .extend(values.iter().filter_map(|value| match value {
                AttributeValue::Float(value) => Some(*value as f32),
                AttributeValue::Int(value) => Some(*value as f32),
                _ => None,
            }));
        let found = vectors.values.len() - before;
        if found != vectors.dimension {
            return Err(at.columns(vectors.dimension..=vectors.dimension, found));
        }
        vectors.ids.push(id);
    }
}
