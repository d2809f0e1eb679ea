//! Papers of the ICLR dataset (berenslab/iclr-dataset) from its Parquet files.
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
//! Files are read as [`columnar`](crate::columnar) says. The embeddings of the dataset are `.npy`
//! files; `ir_knn` reads them.

use std::path::Path;
use std::sync::Arc;

use ir_core::{AttributeValue, Document};

use crate::attribute;
use crate::columnar::Rows;
use crate::error::{DataError, Location};
use crate::json::type_name;

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

/// Columns, and whether a row must have a value.
const COLUMNS: [(&str, bool); 10] = [
    ("year", true),
    ("id", true),
    ("title", true),
    ("abstract", true),
    ("authors", false),
    (AUTHOR_IDS, false),
    ("decision", false),
    ("scores", false),
    ("keywords", false),
    ("labels", true),
];

/// Column that older versions lack.
const AUTHOR_IDS: &str = "author_ids";

/// Reads all papers of a file in file order.
///
/// ```no_run
/// let papers = ir_data::iclr::read("iclr24v2.parquet")?;
/// let labeled = papers.iter().filter(|paper| paper.class != "unlabeled");
/// println!("{} of {} papers have a class", labeled.count(), papers.len());
/// # Ok::<(), ir_data::DataError>(())
/// ```
///
/// # Errors
/// The file cannot be read, is damaged, lacks a column, or a cell has a value of another type or is
/// null where a value is required. Errors name the file, the row, from 1, and the column.
pub fn read(path: impl AsRef<Path>) -> Result<Vec<Paper>, DataError> {
    let path = path.as_ref();
    let is_read = |name: &str| COLUMNS.iter().any(|(column, _)| *column == name);
    let mut rows = Rows::open_named(path, is_read)?;
    let source = Arc::clone(&rows.source);
    let names = rows.names();
    let mut columns = COLUMNS.iter().map(|(name, _)| *name);
    if let Some(missing) = columns.find(|name| *name != AUTHOR_IDS && !names.contains(name)) {
        let all = Rows::open(path)?;
        if all.skipped().iter().any(|name| name == missing) {
            let expected = match missing {
                "scores" => "a list of integers",
                "keywords" => "a list of strings",
                "year" => "an integer",
                _ => "a string",
            };
            let found = "a column of vectors, bytes or another type that is not read";
            let at = Location::new(&source, 1);
            return Err(at.wrong_type(format!("{missing:?}"), expected, found));
        }
        return Err(DataError::FieldNames {
            path: source.to_string(),
            line: 1,
            expected: format!("a column {missing:?}"),
            found: all.names().into_iter().map(str::to_owned).collect(),
        });
    }
    let mut papers = Vec::new();
    loop {
        let mut paper = Paper::default();
        let mut found = Vec::new();
        let set = |name: &str, value, at: Location<'_>| {
            found.extend(COLUMNS.iter().position(|(column, _)| *column == name));
            set_field(&mut paper, name, value, at)
        };
        if !rows.read(set)? {
            return Ok(papers);
        }
        let mut columns = COLUMNS.iter().enumerate();
        let is_missing = |(position, (_, required)): &(usize, &(&str, bool))| {
            *required && !found.contains(position)
        };
        if let Some((_, (missing, _))) = columns.find(is_missing) {
            let at = Location::new(&source, rows.row);
            return Err(at.wrong_type(format!("{missing:?}"), "a value", "null"));
        }
        papers.push(paper);
    }
}

/// Sets the field of a column.
fn set_field(
    paper: &mut Paper,
    column: &str,
    value: AttributeValue,
    at: Location<'_>,
) -> Result<(), DataError> {
    let wrong = |expected, found: &AttributeValue| {
        at.wrong_type(format!("{column:?}"), expected, type_name(found))
    };
    let integer = |value| match value {
        AttributeValue::Int(number) => Ok(number),
        other => Err(wrong("an integer", &other)),
    };
    let text = |value| match value {
        AttributeValue::Text(text) => Ok(text),
        other => Err(wrong("a string", &other)),
    };
    let list = |value| match value {
        AttributeValue::List(values) => Ok(values),
        other => Err(wrong("a list", &other)),
    };
    match column {
        "year" => {
            let year = integer(value)?;
            let wrong = |_| at.wrong_type(format!("{column:?}"), "a year", year.to_string());
            paper.year = i32::try_from(year).map_err(wrong)?;
        }
        "id" => paper.id = text(value)?,
        "title" => paper.title = text(value)?,
        "abstract" => paper.text = text(value)?,
        "authors" => paper.authors = text(value)?,
        AUTHOR_IDS => paper.author_ids = text(value)?,
        "decision" => paper.decision = text(value)?,
        "scores" => {
            paper.scores = list(value)?
                .into_iter()
                .map(integer)
                .collect::<Result<_, _>>()?;
        }
        "keywords" => {
            paper.keywords = list(value)?
                .into_iter()
                .map(text)
                .collect::<Result<_, _>>()?;
        }
        "labels" => paper.class = text(value)?,
        // Other columns, such as the index of pandas.
        _ => {}
    }
    Ok(())
}
