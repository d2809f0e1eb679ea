//! Documents, queries, judgments and vectors in Parquet and Arrow files (features `parquet`, on by
//! default, and `arrow`).
//!
//! A row is a document. Columns have the names of [`FieldNames::detect`], in upper or
//! lower case; every other column is an attribute.
//!
//! | type of a column | value |
//! |---|---|
//! | string, enum, JSON, category | text |
//! | integer, floating-point number, boolean | number or truth value; NaN counts as null |
//! | date, timestamp | text of ISO 8601: `2017-03-01`, `2017-03-01T12:00:00Z` |
//! | duration | text of ISO 8601 in seconds: `PT90.5S` |
//! | decimal | text |
//! | list, struct, map with text keys | list or map |
//! | binary data | text in columns of ids, titles, texts and judgments; otherwise not read |
//! | list of floating-point numbers | not read: embeddings |
//! | time of day, interval | not read |
//!
//! Parquet has no type for durations: they are integers, unless the metadata of pandas names them.
//!
//! Null cells are omitted. Ids are texts or integers, also as numbers such as 1008.0. An index of
//! pandas that is a range is no column. Errors name the row, from 1. The libraries panic on some
//! damaged files; the panic is caught and reported as a damaged file.
//!
//! - **Parquet** files are uncompressed or compressed with Snappy, gzip, LZ4 or brotli, and with
//!   the feature `columnar-zstd` with zstd. Rows are read by the record API of the crate parquet; a
//!   page is in memory as a whole, at most 2 GiB.
//! - **Arrow** files (Feather) and streams, such as `Dataset.save_to_disk` of the library datasets
//!   writes, are uncompressed or compressed with LZ4, and with the feature `columnar-zstd` with
//!   zstd. A batch of rows is in memory as a whole.
//!
//! ```no_run
//! use ir_core::Document;
//! use ir_data::columnar::ColumnarReader;
//! let mut docs = ColumnarReader::open("corpus-00000-of-00001.parquet")?;
//! let mut doc = Document::default();
//! while docs.read_into(&mut doc)? {
//!     println!("{}: {}", doc.id, doc.title);
//! }
//! # Ok::<(), ir_data::DataError>(())
//! ```

#[cfg(feature = "arrow")]
mod arrow;
mod cells;
mod pandas;
#[cfg(feature = "parquet")]
mod parquet;
mod rows;
#[cfg(any(feature = "arrow", feature = "parquet"))]
mod values;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ir_core::{AttributeValue, Corpus, CorpusError, DocReader, Document, Qrels, Query};

use crate::collection::{collect_documents, query_from_document};
use crate::duplicates::DuplicateFinder;
use crate::error::{DataError, Location};
use crate::json::{FieldNames, GivenNames, RecordKind, id_of};
use crate::judgments::{DOCUMENT, GRADE, QUERY, QrelsOfRecords, are_pairs};
use crate::row::{check_id, set_field};
use cells::Column;
use pandas::PandasIndex;
pub(crate) use rows::Rows;

/// Reader of documents in a Parquet or Arrow file.
#[derive(Debug)]
pub struct ColumnarReader {
    rows: Rows,
    fields: FieldNames,
    seen: DuplicateFinder,
}

impl ColumnarReader {
    /// Opens a file of documents.
    ///
    /// # Errors
    /// The file cannot be read, is damaged, or has no columns for id and text.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, DataError> {
        Self::open_with(path, RecordKind::Document, &GivenNames::default())
    }

    /// Opens a file of documents or queries. Given names replace the detected ones.
    ///
    /// # Errors
    /// The file cannot be read, is damaged, or has no columns for id and text.
    pub fn open_with(
        path: impl AsRef<Path>,
        kind: RecordKind,
        given: &GivenNames,
    ) -> Result<Self, DataError> {
        let path = path.as_ref();
        let mut rows =
            Rows::open_columns(path, |column| column.has_values() || column.is_binary())?;
        let fields = field_names(&rows, kind, given)?;
        if rows.columns().iter().any(Column::is_binary) {
            let has_values = |name: &str| {
                let mut columns = rows.columns().iter();
                columns.any(|column| column.has_values() && column.name == name)
            };
            let is_field = |name: &str| {
                let names = [Some(&fields.id), fields.title.as_ref(), Some(&fields.text)];
                names.into_iter().flatten().any(|field| field == name) && !has_values(name)
            };
            rows = Rows::open_columns(path, |column| {
                column.has_values() || (column.is_binary() && is_field(&column.name))
            })?;
        }
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

    /// Number of rows, if the file says it: Arrow files do not.
    #[must_use]
    pub fn len_hint(&self) -> Option<u64> {
        self.rows.len()
    }

    /// Columns that are not read: binary data, lists of floating-point numbers, times of day. The
    /// id, the title and the text may be binary.
    #[must_use]
    pub fn skipped_columns(&self) -> &[String] {
        self.rows.skipped()
    }

    pub(crate) fn fields(&self) -> &FieldNames {
        &self.fields
    }

    pub(crate) fn columns(&self) -> Vec<&str> {
        self.rows.names()
    }
}

/// Names of id, title and text among the columns. Binary ones count if the others are not enough,
/// so that an image is no text.
fn field_names(rows: &Rows, kind: RecordKind, given: &GivenNames) -> Result<FieldNames, DataError> {
    let at = Location::new(&rows.source, 1);
    let of_names = |names: &[&str]| FieldNames::of_columns(names, kind, given, at);
    let columns = rows.columns().iter().filter(|column| !column.is_binary());
    let values: Vec<&str> = columns.map(|column| column.name.as_str()).collect();
    let names = rows.names();
    let mut fields = of_names(&values)
        .or_else(|_| of_names(&names))
        .map_err(|error| with_index(error, rows.index(), &names, kind, given))?;
    // A title may be binary beside other columns.
    if let Some(title) = &mut fields.title
        && !values.contains(&title.as_str())
        && let Some(name) = names
            .iter()
            .find(|name| name.eq_ignore_ascii_case(title.as_str()))
    {
        *title = (*name).to_owned();
    }
    Ok(fields)
}

/// Adds the index of pandas to the error of a file without a column of ids.
fn with_index(
    error: DataError,
    index: Option<PandasIndex>,
    names: &[&str],
    kind: RecordKind,
    given: &GivenNames,
) -> DataError {
    let is_column = |name: &str| names.iter().any(|column| column.eq_ignore_ascii_case(name));
    let has_id = match &given.id {
        Some(id) => is_column(id),
        None => kind.id_names().any(is_column),
    };
    match index {
        Some(index) if !has_id => DataError::PandasIndex {
            error: Box::new(error),
            advice: index.advice(),
        },
        _ => error,
    }
}

impl DocReader for ColumnarReader {
    fn read(&mut self, doc: &mut Document) -> Result<bool, CorpusError> {
        Ok(self.read_into(doc)?)
    }
}

/// Corpus in a Parquet or Arrow file. Every reader opens the file again.
#[derive(Debug, Clone)]
pub struct ColumnarCorpus {
    path: PathBuf,
    given: GivenNames,
}

impl ColumnarCorpus {
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

impl Corpus for ColumnarCorpus {
    fn open(&self) -> Result<Box<dyn DocReader + '_>, CorpusError> {
        let kind = RecordKind::Document;
        Ok(Box::new(ColumnarReader::open_with(
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
/// The file cannot be read or is damaged.
pub fn columns(path: impl AsRef<Path>) -> Result<Columns, DataError> {
    let rows = Rows::open_columns(path.as_ref(), |column| {
        column.has_vectors() || column.has_values() || (column.is_binary() && is_text(&column.name))
    })?;
    let (lists, read): (Vec<&Column>, Vec<&Column>) = rows
        .columns()
        .iter()
        .partition(|column| column.has_vectors());
    Ok(Columns {
        read: read.iter().map(|column| column.name.clone()).collect(),
        has_vectors: !lists.is_empty(),
    })
}

/// Returns `true` for a name by which a binary column has texts: an id, a text or a judgment.
/// `document` beside an id may be binary.
fn is_text(name: &str) -> bool {
    let kinds = [RecordKind::Document, RecordKind::Query].into_iter();
    let mut names = kinds.flat_map(|kind| kind.id_names().chain(kind.text_names()));
    names.any(|known| known.eq_ignore_ascii_case(name))
        || [QUERY, DOCUMENT, GRADE]
            .iter()
            .any(|field| field.is_among(&["id", name]))
}

/// Reads all queries of a file. A title becomes the attribute `title`.
///
/// # Errors
/// The file cannot be read, is damaged, or a row does not follow the
/// [format](self).
pub fn read_queries(path: impl AsRef<Path>, given: &GivenNames) -> Result<Vec<Query>, DataError> {
    let mut docs = ColumnarReader::open_with(path, RecordKind::Query, given)?;
    let docs = collect_documents(|doc| docs.read_into(doc))?;
    Ok(docs.into_iter().map(query_from_document).collect())
}

/// Reads the judgments of one or several files: the columns `query-id` and `corpus-id`, strings or
/// integers, and `score`, as [`read_jsonl_qrels`](crate::beir::read_jsonl_qrels) reads them from
/// JSON. Other columns are ignored. Without a grade and other columns, every grade is 1.
///
/// # Errors
/// The file cannot be read, is damaged or has no rows, a column is missing or of
/// another type, or a pair is judged twice.
pub fn read_qrels(paths: &[impl AsRef<Path>]) -> Result<Qrels, DataError> {
    let mut qrels = QrelsOfRecords::default();
    let mut last = String::new();
    for path in paths {
        let fields = [QUERY, DOCUMENT, GRADE];
        let is_field = |name: &str| fields.iter().any(|field| field.is(name));
        let mut rows = Rows::open_named(path.as_ref(), is_field)?;
        let source = Arc::clone(&rows.source);
        last = source.as_ref().to_owned();
        let names: Vec<String> = rows.names().into_iter().map(str::to_owned).collect();
        qrels.are_pairs = are_pairs(&[&names[..], rows.skipped()].concat());
        if names.is_empty() {
            QUERY.position(std::iter::empty(), Location::new(&source, 1))?;
        }
        loop {
            let mut members = Vec::with_capacity(names.len());
            let set = |name: &str, value, _: Location<'_>| {
                let name = names.iter().find(|known| *known == name);
                members.extend(name.map(|name| (name, value)));
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

/// Names of a column or field with a vector, in lower case.
pub const VECTOR_NAMES: [&str; 5] = ["vector", "embedding", "embeddings", "emb", "values"];

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

/// Returns the names of a column or field with the id of a vector, in order of precedence: of
/// documents, then of queries.
pub fn vector_id_names() -> impl Iterator<Item = &'static str> {
    let kinds = [RecordKind::Document, RecordKind::Query];
    kinds.into_iter().flat_map(RecordKind::id_names)
}

/// Column with the ids of vectors.
fn id_column<'a>(columns: &[&'a str]) -> Option<&'a str> {
    vector_id_names().find_map(|accepted| {
        let mut columns = columns.iter().copied();
        columns.find(|column| column.eq_ignore_ascii_case(accepted))
    })
}

/// Reads the vectors of a file: an id column as in [`FieldNames::detect`], and the only column of
/// lists of floating-point numbers, or of several the one with one of the [`VECTOR_NAMES`].
///
/// # Errors
/// The file cannot be read or is damaged, has no such column, a vector is null,
/// has a null value or another dimension than the first, or an id is missing.
pub fn read_vectors(path: impl AsRef<Path>) -> Result<Vectors, DataError> {
    let path = path.as_ref();
    let rows = Rows::open_columns(path, |column| {
        column.has_vectors() || column.has_values() || column.is_binary()
    })?;
    let at = Location::new(&rows.source, 1);
    let missing = |expected: &str| DataError::FieldNames {
        path: at.path.to_owned(),
        line: at.line,
        expected: expected.to_owned(),
        found: rows.names().into_iter().map(str::to_owned).collect(),
    };
    let names = |is_binary: bool| -> Vec<&str> {
        let columns = rows.columns().iter();
        let columns = columns.filter(|column| column.is_binary() == is_binary);
        columns.map(|column| column.name.as_str()).collect()
    };
    let columns = names(false);
    let id = id_column(&columns).or_else(|| id_column(&names(true)));
    let id = id.ok_or_else(|| missing("a column with ids, such as \"id\""))?;
    let lists = rows.columns().iter().filter(|column| column.has_vectors());
    let lists: Vec<&str> = lists.map(|column| column.name.as_str()).collect();
    let is_named = |list: &&&str| {
        let mut names = VECTOR_NAMES.into_iter();
        names.any(|name| list.eq_ignore_ascii_case(name))
    };
    // Lists of integers need the name of a vector.
    let list =
        match lists[..] {
            [list] => list,
            _ => lists.iter().chain(&columns).find(is_named).ok_or_else(|| {
                missing("one column with lists of numbers, or one named \"vector\"")
            })?,
        };
    let mut rows = Rows::open_columns(path, |column| [id, list].contains(&&*column.name))?;
    let mut vectors = Vectors::default();
    loop {
        let (mut found_id, mut found) = (None, None);
        let set = |name: &str, value, at: Location<'_>| {
            if name == id {
                let id = id_of(value).map_err(|found| at.wrong_type(name, "an id", found))?;
                if id.is_empty() {
                    return Err(at.wrong_type(name, "an id", "an empty cell"));
                }
                found_id = Some(id);
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
            let found = format!(
                "{found} numbers, the first vector has {}",
                vectors.dimension
            );
            return Err(at.wrong_type(list, "vectors of one length without null and NaN", found));
        }
        vectors.ids.push(id);
    }
}
