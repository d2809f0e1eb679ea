//! Columns of a run with names: tables with a header line, and records in JSON.

use super::number::parse_whole;
use super::{TrecReadError, TrecWarnings};
use crate::characters::excerpt;

/// Warning about a run with ranks in place of scores.
pub(super) const NAMED_RANKS: &str =
    "read as a run with ranks and without scores; the score is 1 / rank";

/// Names of a column with query ids, in runs and judgments of PyTerrier, ir_measures, ir_datasets,
/// ranx and others, for [`is_column_name`]. Names of the first group that occurs are the column.
/// PyTerrier has texts in `query` beside `qid`.
pub const QUERY_ID_NAMES: [&[&str]; 3] = [
    &["qid", "queryid"],
    &["queryno", "topic", "topicid", "topicno"],
    &["query"],
];
/// Names of a column with document ids, as [`QUERY_ID_NAMES`]. PyTerrier has numbers of documents
/// in `docid` beside `docno`.
pub const DOCUMENT_ID_NAMES: [&[&str]; 3] = [
    &["docno"],
    &["corpusid", "did", "docid", "documentid", "passageid", "pid"],
    &["doc", "document"],
];

/// Returns `true` if a name of a column is in one of the groups, which have lower case and neither
/// `_`, `-` nor spaces.
///
/// ```
/// use ir_core::trec::{DOCUMENT_ID_NAMES, is_column_name};
/// assert!(is_column_name(&DOCUMENT_ID_NAMES, "Passage_ID"));
/// assert!(!is_column_name(&DOCUMENT_ID_NAMES, "passage"));
/// ```
#[must_use]
pub fn is_column_name(groups: &[&[&str]], name: &str) -> bool {
    groups.iter().any(|group| is_in(group, name))
}

/// Column of a run.
#[derive(Debug, Clone, Copy)]
struct RunColumn {
    /// Role of the column, for users.
    role: &'static str,
    /// Content and name of the column, for errors.
    expected: &'static str,
    /// Groups of names, as [`QUERY_ID_NAMES`].
    names: &'static [&'static [&'static str]],
}

const QUERY: RunColumn = RunColumn {
    role: "query",
    expected: "field with a query id, such as \"qid\"",
    names: &QUERY_ID_NAMES,
};
const DOCUMENT: RunColumn = RunColumn {
    role: "document",
    expected: "field with a document id, such as \"docno\"",
    names: &DOCUMENT_ID_NAMES,
};
const SCORE: RunColumn = RunColumn {
    role: "score",
    expected: "field with a score, such as \"score\"",
    names: &[&["score"], &["scores", "similarity"]],
};
const RANK: RunColumn = RunColumn {
    role: "rank",
    expected: "field with a score or a rank, such as \"score\"",
    names: &[&["rank"]],
};
const TAG: RunColumn = RunColumn {
    role: "tag",
    expected: "field with a tag",
    names: &[&["tag"], &["runtag"], &["run"], &["runid"]],
};

/// Returns `true` if a name is one of a group, up to case, `_`, `-` and spaces.
fn is_in(group: &[&str], name: &str) -> bool {
    let letters = name.chars().filter(|sign| sign.is_alphanumeric());
    let plain = letters.collect::<String>().to_ascii_lowercase();
    group.contains(&plain.as_str())
}

impl RunColumn {
    /// Returns `true` if a name is one of the column.
    fn is(self, name: &str) -> bool {
        is_column_name(self.names, name)
    }

    /// Position of the column among names; `None` without one.
    fn position(self, names: &[impl AsRef<str>]) -> Result<Option<usize>, RunColumnsError> {
        for group in self.names {
            let numbered = (0..).zip(names);
            let mut found = numbered.filter(|(_, name)| is_in(group, name.as_ref()));
            if let Some((position, first)) = found.next() {
                let others: Vec<&str> = found.map(|(_, name)| name.as_ref()).collect();
                if others.is_empty() {
                    return Ok(Some(position));
                }
                let found = format!("{}, {}", first.as_ref(), others.join(", "));
                return Err(RunColumnsError::Repeated(self.expected, found));
            }
        }
        Ok(None)
    }

    fn required(self, names: &[impl AsRef<str>]) -> Result<usize, RunColumnsError> {
        let found = self.position(names)?;
        found.ok_or(RunColumnsError::Missing(self.expected))
    }
}

/// Error of the names of a run's columns.
#[derive(Debug)]
pub(super) enum RunColumnsError {
    /// A column is missing.
    Missing(&'static str),
    /// Two columns have names of one group.
    Repeated(&'static str, String),
}

impl RunColumnsError {
    /// Error of the line that has the names.
    pub(super) fn at(self, source: &str, line: u64) -> TrecReadError {
        let (expected, found) = match self {
            Self::Missing(expected) => (format!("a {expected}"), "none".to_owned()),
            Self::Repeated(expected, found) => (format!("one {expected}"), found),
        };
        field_error(source, line, expected, found)
    }
}

pub(super) fn field_error(
    source: &str,
    line: u64,
    expected: impl Into<String>,
    found: impl Into<String>,
) -> TrecReadError {
    TrecReadError::Field {
        path: source.to_owned(),
        line,
        expected: expected.into(),
        found: found.into(),
    }
}

/// Positions of the columns of a run.
#[derive(Debug, Clone, Copy)]
pub(super) struct RunColumns {
    pub(super) query: usize,
    pub(super) doc: usize,
    /// Column with scores, or with ranks.
    pub(super) value: usize,
    /// If `true`, there are ranks and no scores.
    pub(super) is_rank: bool,
    pub(super) tag: Option<usize>,
}

impl RunColumns {
    /// Finds the columns by their names, in any order. Other columns are ignored.
    pub(super) fn find(names: &[impl AsRef<str>]) -> Result<Self, RunColumnsError> {
        let (query, doc) = (QUERY.required(names)?, DOCUMENT.required(names)?);
        let score = SCORE.position(names)?;
        Ok(Self {
            query,
            doc,
            value: match score {
                Some(score) => score,
                None => RANK.required(names)?,
            },
            is_rank: score.is_none(),
            tag: TAG.position(names)?,
        })
    }

    /// Returns `true` if the columns with these names are in the order of TREC: query, iteration,
    /// document, rank, score and tag.
    pub(super) fn are_in_order(&self, names: &[String]) -> bool {
        let is_other = |name: &String| ![QUERY, DOCUMENT].iter().any(|column| column.is(name));
        names.len() >= 6
            && (self.query, self.doc, self.value) == (0, 2, 4)
            && names.get(1).is_some_and(is_other)
    }

    /// Score of a value of the field `name`. The score of a rank is 1 / rank.
    pub(super) fn score(
        &self,
        text: &str,
        name: &str,
        source: &str,
        line: u64,
        warnings: &mut TrecWarnings,
    ) -> Result<f64, TrecReadError> {
        let error = |expected: &str| {
            let expected = format!("{expected} in the field {name:?}");
            field_error(source, line, expected, format!("{:?}", excerpt(text)))
        };
        if self.is_rank {
            let rank = parse_whole(text).and_then(|rank| u32::try_from(rank).ok());
            let rank = rank.filter(|rank| *rank > 0);
            let rank = rank.ok_or_else(|| error("a rank (an integer of at least 1)"))?;
            return Ok(1.0 / f64::from(rank));
        }
        let score: f64 = text.parse().map_err(|_| error("a number"))?;
        if score.is_nan() {
            let path = source.to_owned();
            return Err(TrecReadError::NanScore { path, line });
        }
        if score.is_infinite() {
            warnings.push(line, format!("the score {text:?} counts as infinite"));
        }
        Ok(score)
    }
}

/// What each column of a run with these names is read as: `query`, `document`, `score`, `rank`,
/// `tag` or `not read`. `None` if a query, a document, or both a score and a rank are missing.
///
/// ```
/// use ir_core::trec::run_fields;
/// let fields = run_fields(&["qid", "docid", "docno", "rank", "score"]);
/// assert_eq!(fields.unwrap(), ["query", "not read", "document", "not read", "score"]);
/// assert!(run_fields(&["id", "text"]).is_none());
/// ```
#[must_use]
pub fn run_fields(names: &[impl AsRef<str>]) -> Option<Vec<&'static str>> {
    let found = RunColumns::find(names).ok()?;
    let value = if found.is_rank { RANK } else { SCORE };
    let read = [
        (Some(found.query), QUERY),
        (Some(found.doc), DOCUMENT),
        (Some(found.value), value),
        (found.tag, TAG),
    ];
    let mut fields = vec!["not read"; names.len()];
    for (position, column) in read {
        if let Some(field) = position.and_then(|position| fields.get_mut(position)) {
            *field = column.role;
        }
    }
    Some(fields)
}
