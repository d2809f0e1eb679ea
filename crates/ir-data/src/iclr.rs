//! Papers of the ICLR dataset (berenslab/iclr-dataset), from its Parquet files. The feature
//! `parquet` has this module.
//!
//! One row is a submission:
//!
//! | column | type | may be empty or null |
//! |---|---|---|
//! | `year` | integer | no |
//! | `id`, `title`, `abstract` | text | no |
//! | `authors` | text, names separated by commas | yes |
//! | `author_ids` | text; from version 25v2 on | yes, or not there |
//! | `decision` | text | yes |
//! | `scores` | list of integers | yes |
//! | `keywords` | list of texts | yes |
//! | `labels` | text: the class, or `unlabeled` | no |
//!
//! Columns are found by name; others (the index that pandas adds) are not read. Files are plain or
//! compressed by Snappy, which is what pandas does unasked. The vectors of the dataset are `.npy`
//! files, for which there is `ir_knn::npy`.

use std::error::Error;
use std::fs::File;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use ir_core::{Document, name};
use parquet::basic::{ConvertedType, Repetition, Type as PhysicalType};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::reader::RowIter;
use parquet::record::{Field, Row};
use parquet::schema::types::Type;

use crate::error::name_of;

/// A submission to ICLR.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Paper {
    /// The year of the conference.
    pub year: i32,
    /// The id of its page on OpenReview.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Its abstract.
    pub text: String,
    /// The names of the authors, separated by commas.
    pub authors: String,
    /// Their ids; empty where the file has none.
    pub author_ids: String,
    /// What became of it; "Acc" begins the accepted ones.
    pub decision: String,
    /// The scores of its reviewers.
    pub scores: Vec<i64>,
    /// The keywords that its authors chose, in their order.
    pub keywords: Vec<String>,
    /// Its class, or `unlabeled`.
    pub label: String,
}

/// With the year as an attribute.
impl From<Paper> for Document {
    fn from(paper: Paper) -> Self {
        Document::new(paper.id)
            .with_title(paper.title)
            .with_text(paper.text)
            .with(name::YEAR, i64::from(paper.year))
    }
}

/// All papers of a file, in its order.
///
/// ```no_run
/// let papers = ir_data::iclr::read("iclr24v2.parquet")?;
/// let labelled = papers.iter().filter(|paper| paper.label != "unlabeled");
/// println!("{} of {} papers have a label", labelled.count(), papers.len());
/// # Ok::<(), ir_data::iclr::IclrError>(())
/// ```
///
/// # Errors
/// When the file cannot be read, is no Parquet file, is damaged, or lacks a column; when a column
/// is of another type, or a cell holds nothing that must hold something. All name file, column and, where
/// there is one, row.
pub fn read(path: impl AsRef<Path>) -> Result<Vec<Paper>, IclrError> {
    let path = path.as_ref();
    let name = name_of(path);
    let file = File::open(path).map_err(|source| IclrError::Open {
        path: name.clone(),
        source,
    })?;
    // The library checks its input by errors and, in damaged pages, by assertions.
    let papers = catch_unwind(AssertUnwindSafe(|| read_all(&name, file)));
    papers.unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<String>().map(String::as_str);
        let said = said.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(IclrError::Parquet {
            path: name.clone(),
            source: said.unwrap_or("damaged").into(),
        })
    })
}

fn read_all(path: &str, file: File) -> Result<Vec<Paper>, IclrError> {
    let damaged = |source: ParquetError| IclrError::Parquet {
        path: path.to_owned(),
        source: source.into(),
    };
    let file = SerializedFileReader::new(file).map_err(damaged)?;
    let wanted = columns(path, file.metadata().file_metadata().schema())?;
    let mut papers = Vec::new();
    for group in 0..file.num_row_groups() {
        let group = file.get_row_group(group).map_err(damaged)?;
        let rows = RowIter::from_row_group(Some(wanted.clone()), &*group).map_err(damaged)?;
        for row in rows {
            let row_number = papers.len() as u64;
            let cells = Cells {
                path,
                row: row_number,
            };
            papers.push(cells.paper(row.map_err(damaged)?)?);
        }
    }
    Ok(papers)
}

/// What a column holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Integer,
    Text,
    Integers,
    Texts,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Integer => "integers",
            Self::Text => "texts",
            Self::Integers => "lists of integers",
            Self::Texts => "lists of texts",
        }
    }
}

const AUTHOR_IDS: &str = "author_ids";

const COLUMNS: [(&str, Kind); 10] = [
    ("year", Kind::Integer),
    ("id", Kind::Text),
    ("title", Kind::Text),
    ("abstract", Kind::Text),
    ("authors", Kind::Text),
    (AUTHOR_IDS, Kind::Text),
    ("decision", Kind::Text),
    ("scores", Kind::Integers),
    ("keywords", Kind::Texts),
    ("labels", Kind::Text),
];

/// The schema of the columns that are read.
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
        if kind_of(found) != Some(kind) {
            return Err(IclrError::ColumnType {
                path: path.to_owned(),
                column: name,
                expected: kind.name(),
                found: described(found),
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

/// What a column holds, if it is one of the kinds that papers are made of.
fn kind_of(column: &Type) -> Option<Kind> {
    let info = column.get_basic_info();
    let repeated = info.has_repetition() && info.repetition() == Repetition::REPEATED;
    if column.is_primitive() {
        let kind = match (column.get_physical_type(), info.converted_type()) {
            (PhysicalType::BYTE_ARRAY, ConvertedType::UTF8) => Kind::Text,
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
            ) => Kind::Integer,
            _ => return None,
        };
        return (!repeated).then_some(kind);
    }
    // A list is a group of one repeated group of one element.
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
    match kind_of(element)? {
        Kind::Integer => Some(Kind::Integers),
        Kind::Text => Some(Kind::Texts),
        Kind::Integers | Kind::Texts => None,
    }
}

/// A type in a few words.
fn described(column: &Type) -> String {
    match kind_of(column) {
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

/// One row, to be made a paper.
struct Cells<'a> {
    path: &'a str,
    row: u64,
}

impl Cells<'_> {
    fn paper(&self, row: Row) -> Result<Paper, IclrError> {
        let mut paper = Paper::default();
        for (column, field) in row.into_columns() {
            // `columns` has let no other through.
            let Some(&(column, _)) = COLUMNS.iter().find(|(name, _)| *name == column) else {
                continue;
            };
            match column {
                "year" => {
                    let year = self.integer(column, &field)?;
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
                "keywords" => {
                    let keyword =
                        |cells: &Self, column, field: &Field| cells.text(column, field.clone());
                    paper.keywords = self.list(column, field, keyword)?;
                }
                _ => paper.label = self.text(column, field)?,
            }
        }
        Ok(paper)
    }

    fn integer(&self, column: &'static str, field: &Field) -> Result<i64, IclrError> {
        Ok(match *field {
            Field::Byte(value) => value.into(),
            Field::Short(value) => value.into(),
            Field::Int(value) => value.into(),
            Field::Long(value) => value,
            Field::UByte(value) => value.into(),
            Field::UShort(value) => value.into(),
            Field::UInt(value) => value.into(),
            _ => return Err(self.wrong(column, "an integer", kind(field))),
        })
    }

    fn text(&self, column: &'static str, field: Field) -> Result<String, IclrError> {
        match field {
            Field::Str(text) => Ok(text),
            other => Err(self.wrong(column, "a text", kind(&other))),
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
        item: impl Fn(&Self, &'static str, &Field) -> Result<T, IclrError>,
    ) -> Result<Vec<T>, IclrError> {
        match field {
            Field::Null => Ok(Vec::new()),
            Field::ListInternal(list) => {
                let items = list.elements().iter();
                items.map(|field| item(self, column, field)).collect()
            }
            other => Err(self.wrong(column, "a list", kind(&other))),
        }
    }

    fn wrong(&self, column: &'static str, expected: &'static str, found: String) -> IclrError {
        IclrError::Cell {
            path: self.path.to_owned(),
            row: self.row,
            column,
            expected,
            found,
        }
    }
}

/// What a cell holds, in a few words.
fn kind(field: &Field) -> String {
    match field {
        Field::Null => "nothing (null)".to_owned(),
        other => other.to_string().chars().take(40).collect(),
    }
}

/// Why papers could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IclrError {
    /// The file could not be opened.
    #[error("{path}: could not be opened")]
    Open {
        /// The file.
        path: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It is no Parquet file, is damaged, or compressed in a way that is not known here.
    #[error("{path}: expected a Parquet file, plain or compressed by Snappy")]
    Parquet {
        /// The file.
        path: String,
        /// What was found.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// A column is not there.
    #[error("{path}: expected a column {column:?}, found {}", found.join(", "))]
    NoColumn {
        /// The file.
        path: String,
        /// The column.
        column: &'static str,
        /// The columns that are there.
        found: Vec<String>,
    },
    /// A column holds something else.
    #[error("{path}: expected {expected} in the column {column:?}, found {found}")]
    ColumnType {
        /// The file.
        path: String,
        /// The column.
        column: &'static str,
        /// What it should hold.
        expected: &'static str,
        /// What it holds.
        found: String,
    },
    /// A cell holds nothing, or what cannot be.
    #[error("{path}: row {row}: expected {expected} in the column {column:?}, found {found}")]
    Cell {
        /// The file.
        path: String,
        /// The row, from 0.
        row: u64,
        /// The column.
        column: &'static str,
        /// What it should hold.
        expected: &'static str,
        /// What it holds.
        found: String,
    },
}
