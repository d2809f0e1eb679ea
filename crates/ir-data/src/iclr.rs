//! Papers of the ICLR dataset (berenslab/iclr-dataset) from its Parquet files (feature `parquet`).
//!
//! A row is a submission:
//!
//! | column | type | empty or null |
//! |---|---|---|
//! | `year` | integer | no |
//! | `id`, `title`, `abstract` | text | no |
//! | `authors` | text, comma-separated names | yes |
//! | `author_ids` | string; from version 25v2 on | yes, or absent |
//! | `decision` | text | yes |
//! | `scores` | list of integers | yes |
//! | `keywords` | list of strings | yes |
//! | `labels` | text: the class, or `unlabeled` | no |
//!
//! Columns are identified by name; other columns, such as the index that pandas adds, are ignored.
//! Files are compressed as [`parquet`](crate::parquet) says. The embeddings of the dataset are
//! `.npy` files; `ir_knn` reads them.
//!
//! Rows are read by the record API of the crate parquet; columns as Arrow would add the arrow
//! crates. The crate panics on some damaged pages; the panic is caught and reported as a damaged
//! file.

use std::error::Error;
use std::fs::File;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use crate::attribute;
use ir_core::Document;
use parquet::basic::{ConvertedType, Repetition, Type as PhysicalType};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::reader::RowIter;
use parquet::record::{Field, Row};
use parquet::schema::types::Type;

use crate::error::name_of;
use crate::parquet::panic_message;

/// Row of the dataset: a submission to ICLR.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Paper {
    /// Year of the conference.
    pub year: i32,
    /// Id of the submission on OpenReview.
    pub id: String,
    /// Title of the paper.
    pub title: String,
    /// Abstract of the paper.
    pub text: String,
    /// Names of the authors, comma-separated.
    pub authors: String,
    /// OpenReview ids of the authors; empty if the file has none.
    pub author_ids: String,
    /// Decision; accepted papers start with "Acc".
    pub decision: String,
    /// Scores of the reviewers.
    pub scores: Vec<i64>,
    /// Keywords of the authors in order.
    pub keywords: Vec<String>,
    /// Class, or `unlabeled`.
    pub class: String,
}

/// Converts a paper into a document with title, abstract and the attribute `year`.
impl From<Paper> for Document {
    fn from(paper: Paper) -> Self {
        Document::new(paper.id)
            .with_title(paper.title)
            .with_text(paper.text)
            .with(attribute::YEAR, i64::from(paper.year))
    }
}

/// Reads all papers of a file in file order.
///
/// ```no_run
/// let papers = ir_data::iclr::read("iclr24v2.parquet")?;
/// let labeled = papers.iter().filter(|paper| paper.class != "unlabeled");
/// println!("{} of {} papers have a class", labeled.count(), papers.len());
/// # Ok::<(), ir_data::iclr::IclrError>(())
/// ```
///
/// # Errors
/// The file cannot be read, is not a valid Parquet file, lacks a column or has one of another type,
/// or a required cell is null. Errors name the file, the column and the row.
pub fn read(path: impl AsRef<Path>) -> Result<Vec<Paper>, IclrError> {
    let path = path.as_ref();
    let name = name_of(path);
    let file = File::open(path).map_err(|source| IclrError::Open {
        path: name.clone(),
        source,
    })?;
    // The Parquet library panics on some corrupt pages.
    let papers = catch_unwind(AssertUnwindSafe(|| read_all(&name, file)));
    papers.unwrap_or_else(|panic| {
        Err(IclrError::Parquet {
            path: name.clone(),
            source: panic_message(&*panic).into(),
        })
    })
}

fn read_all(path: &str, file: File) -> Result<Vec<Paper>, IclrError> {
    let corrupt = |source: ParquetError| IclrError::Parquet {
        path: path.to_owned(),
        source: source.into(),
    };
    let file = SerializedFileReader::new(file).map_err(corrupt)?;
    let wanted = columns(path, file.metadata().file_metadata().schema())?;
    let mut papers = Vec::new();
    for group in 0..file.num_row_groups() {
        let group = file.get_row_group(group).map_err(corrupt)?;
        let rows = RowIter::from_row_group(Some(wanted.clone()), &*group).map_err(corrupt)?;
        for row in rows {
            let row_number = papers.len() as u64;
            let reader = RowReader { path, row_number };
            papers.push(reader.paper(row.map_err(corrupt)?)?);
        }
    }
    Ok(papers)
}

/// Type of a column.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ColumnType {
    Integer,
    Text,
    Integers,
    Strings,
}

impl ColumnType {
    fn name(self) -> &'static str {
        match self {
            Self::Integer => "integers",
            Self::Text => "strings",
            Self::Integers => "lists of integers",
            Self::Strings => "lists of strings",
        }
    }
}

const AUTHOR_IDS: &str = "author_ids";

const COLUMNS: [(&str, ColumnType); 10] = [
    ("year", ColumnType::Integer),
    ("id", ColumnType::Text),
    ("title", ColumnType::Text),
    ("abstract", ColumnType::Text),
    ("authors", ColumnType::Text),
    (AUTHOR_IDS, ColumnType::Text),
    ("decision", ColumnType::Text),
    ("scores", ColumnType::Integers),
    ("keywords", ColumnType::Strings),
    ("labels", ColumnType::Text),
];

/// Schema of the columns to read.
fn columns(path: &str, schema: &Type) -> Result<Type, IclrError> {
    let mut wanted = Vec::new();
    for (name, kind) in COLUMNS {
        let found = schema.get_fields().iter().find(|f| f.name() == name);
        let Some(found) = found else {
            if name == AUTHOR_IDS {
                continue;
            }
            let fields = schema.get_fields().iter();
            return Err(IclrError::NoColumn {
                path: path.to_owned(),
                column: name,
                found: fields.map(|field| field.name().to_owned()).collect(),
            });
        };
        if column_type(found) != Some(kind) {
            return Err(IclrError::ColumnType {
                path: path.to_owned(),
                column: name,
                expected: kind.name(),
                found: describe(found),
            });
        }
        wanted.push(found.clone());
    }
    let wanted = Type::group_type_builder(schema.name()).with_fields(wanted);
    wanted.build().map_err(|source| IclrError::Parquet {
        path: path.to_owned(),
        source: source.into(),
    })
}

/// Type of a column; `None` if no field of a paper has such a type.
fn column_type(column: &Type) -> Option<ColumnType> {
    let info = column.get_basic_info();
    let repeated = info.has_repetition() && info.repetition() == Repetition::REPEATED;
    if column.is_primitive() {
        let kind = match (column.get_physical_type(), info.converted_type()) {
            (PhysicalType::BYTE_ARRAY, ConvertedType::UTF8) => ColumnType::Text,
            (
                PhysicalType::INT32 | PhysicalType::INT64,
                ConvertedType::NONE
                | ConvertedType::INT_8
                | ConvertedType::INT_16
                | ConvertedType::INT_32
                | ConvertedType::INT_64
                | ConvertedType::UINT_8
                | ConvertedType::UINT_16
                | ConvertedType::UINT_32,
            ) => ColumnType::Integer,
            _ => return None,
        };
        return (!repeated).then_some(kind);
    }
    // A list is a group with one repeated group with one element.
    let [items] = column.get_fields() else {
        return None;
    };
    if info.converted_type() != ConvertedType::LIST || repeated || !items.is_group() {
        return None;
    }
    let items_info = items.get_basic_info();
    let [element] = items.get_fields() else {
        return None;
    };
    if !items_info.has_repetition() || items_info.repetition() != Repetition::REPEATED {
        return None;
    }
    match column_type(element)? {
        ColumnType::Integer => Some(ColumnType::Integers),
        ColumnType::Text => Some(ColumnType::Strings),
        ColumnType::Integers | ColumnType::Strings => None,
    }
}

/// Description of a column's type for a message.
fn describe(column: &Type) -> String {
    match column_type(column) {
        Some(kind) => kind.name().to_owned(),
        None if column.is_primitive() => {
            let converted = column.get_basic_info().converted_type();
            match (column.get_physical_type(), converted) {
                (physical, ConvertedType::NONE) => physical.to_string(),
                (physical, converted) => format!("{physical} ({converted})"),
            }
        }
        None => "another group of columns".to_owned(),
    }
}

/// Position and conversion of a row.
struct RowReader<'a> {
    path: &'a str,
    row_number: u64,
}

impl RowReader<'_> {
    fn paper(&self, row: Row) -> Result<Paper, IclrError> {
        let mut paper = Paper::default();
        for (column, field) in row.into_columns() {
            let Some(&(column, _)) = COLUMNS.iter().find(|(name, _)| *name == column) else {
                continue;
            };
            match column {
                "year" => {
                    let year = self.integer(column, field)?;
                    let wrong = |_| self.wrong(column, "a year", year.to_string());
                    paper.year = i32::try_from(year).map_err(wrong)?;
                }
                "id" => paper.id = self.text(column, field)?,
                "title" => paper.title = self.text(column, field)?,
                "abstract" => paper.text = self.text(column, field)?,
                "authors" => paper.authors = self.text_or_none(column, field)?,
                AUTHOR_IDS => paper.author_ids = self.text_or_none(column, field)?,
                "decision" => paper.decision = self.text_or_none(column, field)?,
                "scores" => paper.scores = self.list(column, field, Self::integer)?,
                "keywords" => paper.keywords = self.list(column, field, Self::text)?,
                _ => paper.class = self.text(column, field)?,
            }
        }
        Ok(paper)
    }

    fn integer(&self, column: &'static str, field: Field) -> Result<i64, IclrError> {
        Ok(match field {
            Field::Byte(value) => value.into(),
            Field::Short(value) => value.into(),
            Field::Int(value) => value.into(),
            Field::Long(value) => value,
            Field::UByte(value) => value.into(),
            Field::UShort(value) => value.into(),
            Field::UInt(value) => value.into(),
            other => return Err(self.wrong(column, "an integer", describe_cell(&other))),
        })
    }

    fn text(&self, column: &'static str, field: Field) -> Result<String, IclrError> {
        match field {
            Field::Str(text) => Ok(text),
            other => Err(self.wrong(column, "a string", describe_cell(&other))),
        }
    }

    fn text_or_none(&self, column: &'static str, field: Field) -> Result<String, IclrError> {
        match field {
            Field::Null => Ok(String::new()),
            field => self.text(column, field),
        }
    }

    fn list<T>(
        &self,
        column: &'static str,
        field: Field,
        item: impl Fn(&Self, &'static str, Field) -> Result<T, IclrError>,
    ) -> Result<Vec<T>, IclrError> {
        match field {
            Field::Null => Ok(Vec::new()),
            Field::ListInternal(list) => {
                let items = list.elements().iter();
                items
                    .map(|field| item(self, column, field.clone()))
                    .collect()
            }
            other => Err(self.wrong(column, "a list", describe_cell(&other))),
        }
    }

    fn wrong(&self, column: &'static str, expected: &'static str, found: String) -> IclrError {
        IclrError::Cell {
            path: self.path.to_owned(),
            row: self.row_number,
            column,
            expected,
            found,
        }
    }
}

/// Description of a cell for a message.
fn describe_cell(field: &Field) -> String {
    match field {
        Field::Null => "null".to_owned(),
        other => other.to_string().chars().take(40).collect(),
    }
}

/// Error reading papers from a Parquet file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum IclrError {
    /// The file cannot be opened.
    #[error("{path}: cannot open")]
    Open {
        path: String,
        #[source]
        source: io::Error,
    },
    /// The file is not a Parquet file, is corrupt or uses an unsupported compression.
    #[error("{path}: expected a Parquet file")]
    Parquet {
        path: String,
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// A column is missing. `found` lists the existing columns.
    #[error("{path}: expected a column {column:?}, found {}", found.join(", "))]
    NoColumn {
        path: String,
        column: &'static str,
        found: Vec<String>,
    },
    /// A column has the wrong type.
    #[error("{path}: expected {expected} in the column {column:?}, found {found}")]
    ColumnType {
        path: String,
        column: &'static str,
        expected: &'static str,
        found: String,
    },
    /// A cell is null or out of range. Rows count from 0.
    #[error("{path}: row {row}: expected {expected} in the column {column:?}, found {found}")]
    Cell {
        path: String,
        row: u64,
        column: &'static str,
        expected: &'static str,
        found: String,
    },
}
