//! Test queries and training queries.

use std::io::BufRead;

use ir_core::{Qrels, Query, Value, name};
use serde_json::value::RawValue;

use crate::datafinder::underscored;
use crate::record::{LinesOf, json_error, kind_of, object};
use crate::seen::Seen;
use crate::{DataError, Lines};

/// The attribute that holds the id by which published qrels and runs call a query: its text,
/// [`underscored`].
pub const PUBLISHED_ID: &str = "published_id";

/// The datasets that answer a query, by name.
pub type Positives = Vec<String>;

/// A query and the datasets that answer it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TestQuery {
    /// The query. Its text is the full sentence, the attribute `keyphrase_query` the other form;
    /// all other fields are attributes, an empty one is absent.
    pub query: Query,
    /// The names of the datasets that answer it; there may be none.
    pub positives: Positives,
}

impl TestQuery {
    /// The judgments of queries: grade 1 for each positive, by [`underscored`] name. A query
    /// without positives is not in them.
    #[must_use]
    pub fn qrels(queries: &[Self]) -> Qrels {
        let mut qrels = Qrels::new();
        for TestQuery { query, positives } in queries {
            for name in positives {
                qrels.insert(&query.id, &underscored(name), 1);
            }
        }
        qrels
    }
}

/// Reads test queries, as JSON lines or as one JSON array; both forms are published.
///
/// A query gets the id `prefix` and its row, counted from 0 and written with at least three
/// digits, unless it has a field `id`. The attribute [`PUBLISHED_ID`] is the id that published
/// qrels and runs use.
///
/// ```
/// use ir_data::datafinder::{PUBLISHED_ID, read_test_queries};
/// let text = "{\"query\": \"Parse trees\", \"documents\": [\"Penn Treebank\"], \"year\": 2017}";
/// let queries = read_test_queries(text.as_bytes(), "test.jsonl", "t")?;
/// assert_eq!(queries[0].query.id, "t000");
/// assert_eq!(queries[0].query.attributes.text(PUBLISHED_ID), Some("Parse_trees"));
/// assert_eq!(queries[0].positives, ["Penn Treebank"]);
/// # Ok::<(), ir_data::DataError>(())
/// ```
///
/// # Errors
/// When the source cannot be read, a record is no JSON object, has no `query` or no list of texts
/// `documents`, or two queries have the same id.
pub fn read_test_queries(
    reader: impl BufRead,
    source: &str,
    prefix: &str,
) -> Result<Vec<TestQuery>, DataError> {
    read(reader, source, prefix, &TEST)
}

/// Reads training queries: `query`, `keyphrase_query`, and `positives` where they are labelled.
///
/// A query gets the id `prefix` and its field `n` (its place in the published list), or else its
/// row, counted from 0.
///
/// # Errors
/// As [`read_test_queries`].
pub fn read_training_queries(
    reader: impl BufRead,
    source: &str,
    prefix: &str,
) -> Result<Vec<TestQuery>, DataError> {
    read(reader, source, prefix, &TRAINING)
}

/// What the two kinds of files have not in common.
struct Form {
    /// The least digits of a row in an id.
    digits: usize,
    /// The field with the datasets that answer the query.
    answers: &'static str,
    required: bool,
}

const TEST: Form = Form {
    digits: 3,
    answers: "documents",
    required: true,
};

const TRAINING: Form = Form {
    digits: 0,
    answers: "positives",
    required: false,
};

fn read(
    reader: impl BufRead,
    source: &str,
    prefix: &str,
    form: &Form,
) -> Result<Vec<TestQuery>, DataError> {
    let mut lines = Lines::new(reader, source);
    let mut queries = Queries {
        source,
        prefix,
        form,
        list: Vec::new(),
        seen: Seen::default(),
    };
    while let Some(line) = lines.read()? {
        if queries.list.is_empty() && line.text.trim_ascii_start().starts_with('[') {
            // The blank lines before it are part of the text, so that places are right.
            let mut text = "\n".repeat(line.number as usize - 1);
            text.push_str(line.text);
            while let Some(line) = lines.read()? {
                text.push('\n');
                text.push_str(line.text);
            }
            queries.array(&text)?;
        } else if !line.text.trim_ascii().is_empty() {
            queries.row(line.text, line.number)?;
        }
    }
    Ok(queries.list)
}

struct Queries<'a> {
    source: &'a str,
    prefix: &'a str,
    form: &'a Form,
    list: Vec<TestQuery>,
    seen: Seen,
}

impl Queries<'_> {
    fn array(&mut self, text: &str) -> Result<(), DataError> {
        let rows: Vec<&RawValue> =
            serde_json::from_str(text).map_err(|error| json_error(&error, self.source, 1))?;
        let mut lines = LinesOf::new(text);
        for row in rows {
            self.row(row.get(), lines.line(row))?;
        }
        Ok(())
    }

    fn row(&mut self, text: &str, line: u64) -> Result<(), DataError> {
        let path = || self.source.to_owned();
        let kind = |field: &str, expected, found| DataError::Kind {
            path: path(),
            line,
            field: field.to_owned(),
            expected,
            found,
        };
        let missing = |field: &str| DataError::MissingField {
            path: path(),
            line,
            field: field.to_owned(),
        };
        let mut members = object(text, self.source, line)?;
        let sentence = match members.remove("query") {
            Some(Value::Text(text)) => text,
            Some(other) => return Err(kind("query", "a text", kind_of(&other))),
            None => return Err(missing("query")),
        };
        let answers = self.form.answers;
        let positives = match members.remove(answers) {
            Some(Value::List(values)) => values
                .into_iter()
                .map(|value| match value {
                    Value::Text(name) => Ok(name),
                    other => Err(kind(answers, "a list of texts", kind_of(&other))),
                })
                .collect::<Result<Positives, _>>()?,
            Some(other) => return Err(kind(answers, "a list of texts", kind_of(&other))),
            None if self.form.required => return Err(missing(answers)),
            None => Positives::new(),
        };
        let row = self.list.len();
        let (prefix, digits) = (self.prefix, self.form.digits);
        let id = match (members.remove("id"), members.get("n")) {
            (Some(Value::Text(id)), _) => id,
            (Some(other), _) => return Err(kind("id", "a text", kind_of(&other))),
            (None, Some(Value::Int(n))) => format!("{prefix}{n}"),
            (None, _) => format!("{prefix}{row:0digits$}"),
        };
        self.seen.new_id(&id, self.source, line)?;
        members.retain(|name, value| match value {
            Value::Text(text) => !text.is_empty(),
            // MAKG writes the year 0 where it knows none.
            Value::Int(0) => name != name::YEAR,
            _ => true,
        });
        let published = underscored(&sentence);
        let mut query = Query::new(id, sentence).with(PUBLISHED_ID, published);
        for (name, value) in members {
            query.attributes.set(name, value);
        }
        self.list.push(TestQuery { query, positives });
        Ok(())
    }
}
