use std::collections::HashSet;
use std::io::BufRead;

use crate::attribute;
use ir_core::{AttributeValue, Qrels, Query};

use crate::datafinder::underscored;
use crate::duplicates::DuplicateFinder;
use crate::error::{DataError, Location};
use crate::json::{for_each_record, parse_object, type_name};

/// Name of the attribute with the query id of the published qrels and runs: the [`underscored`]
/// query text.
pub const PUBLISHED_ID: &str = "published_id";

/// Id prefix of training queries.
pub(crate) const TRAINING_PREFIX: &str = "train-";

/// Query with its relevant datasets.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct DatasetQuery {
    /// Query. Its text is the full sentence; the attribute `keyphrase_query` is the keyphrase form.
    /// All other non-empty fields are attributes.
    pub query: Query,
    /// Names of the relevant datasets; possibly none.
    pub positives: Vec<String>,
}

impl DatasetQuery {
    /// Judgments of queries: grade 1 for every positive by [`underscored`] name. Queries without
    /// positives are omitted.
    #[must_use]
    pub fn qrels(queries: &[Self]) -> Qrels {
        let mut qrels = Qrels::new();
        for DatasetQuery { query, positives } in queries {
            for name in positives {
                qrels.insert(&query.id, &underscored(name), 1);
            }
        }
        qrels
    }
}

/// Reads test queries as JSON lines or a JSON array; both are published.
///
/// The id of a query is its field `id` or else `prefix` and its row number from 0 with at least
/// three digits. The attribute [`PUBLISHED_ID`] is the id in the published qrels and runs.
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
/// The source cannot be read, a record is not a JSON object with a string `query` and an array of
/// strings `documents`, or an id is not unique.
pub fn read_test_queries(
    reader: impl BufRead,
    source: &str,
    prefix: &str,
) -> Result<Vec<DatasetQuery>, DataError> {
    let format = QueryFileFormat {
        digits: 3,
        answers: "documents",
        required: true,
    };
    read(reader, source, prefix, &format)
}

/// Reads training queries: `query`, `keyphrase_query` and, if labeled, `positives`.
///
/// The id of a query is `prefix` and its field `n` (the index in the published list) or else its
/// row number from 0.
///
/// # Errors
/// The source cannot be read, a record is not a JSON object with a string `query`, `positives` is
/// not an array of strings, or an id is not unique.
pub fn read_training_queries(
    reader: impl BufRead,
    source: &str,
    prefix: &str,
) -> Result<Vec<DatasetQuery>, DataError> {
    let format = QueryFileFormat {
        digits: 0,
        answers: "positives",
        required: false,
    };
    read(reader, source, prefix, &format)
}

/// Splits training queries into queries that differ from all test queries, and the others.
/// Texts are compared without leading and trailing white space.
///
/// ```
/// use ir_data::datafinder::{read_training_queries, without_test_queries};
/// let text = "{\"query\": \"Parse trees\"}\n{\"query\": \"Images \"}\n";
/// let training = read_training_queries(text.as_bytes(), "train.jsonl", "train-")?;
/// let (kept, equal) = without_test_queries(training, ["Images"]);
/// assert_eq!((kept[0].query.id.as_str(), equal[0].query.id.as_str()), ("train-0", "train-1"));
/// # Ok::<(), ir_data::DataError>(())
/// ```
pub fn without_test_queries<'a>(
    training: Vec<DatasetQuery>,
    test: impl IntoIterator<Item = &'a str>,
) -> (Vec<DatasetQuery>, Vec<DatasetQuery>) {
    let test: HashSet<&str> = test.into_iter().map(str::trim).collect();
    let is_other = |row: &DatasetQuery| !test.contains(row.query.text.trim());
    training.into_iter().partition(is_other)
}

/// Differences between test and training files.
struct QueryFileFormat {
    /// Minimum number of digits of a row number in an id.
    digits: usize,
    /// Field with the relevant datasets.
    answers: &'static str,
    required: bool,
}

fn read(
    reader: impl BufRead,
    source: &str,
    prefix: &str,
    format: &QueryFileFormat,
) -> Result<Vec<DatasetQuery>, DataError> {
    let mut queries = QueryFileReader {
        source,
        prefix,
        format,
        list: Vec::new(),
        seen: DuplicateFinder::default(),
    };
    for_each_record(reader, source, |text, line| queries.row(text, line))?;
    Ok(queries.list)
}

struct QueryFileReader<'a> {
    source: &'a str,
    prefix: &'a str,
    format: &'a QueryFileFormat,
    list: Vec<DatasetQuery>,
    seen: DuplicateFinder,
}

impl QueryFileReader<'_> {
    fn row(&mut self, text: &str, line: u64) -> Result<(), DataError> {
        let at = Location::new(self.source, line);
        let mut members = parse_object(text, at)?;
        let sentence = match members.remove("query") {
            Some(AttributeValue::Text(text)) => text,
            Some(other) => return Err(at.wrong_type("query", "a string", type_name(&other))),
            None => return Err(at.missing_field("query")),
        };
        let answers = self.format.answers;
        let no_strings = |found: AttributeValue| {
            at.wrong_type(answers, "an array of strings", type_name(&found))
        };
        let positives = match members.remove(answers) {
            Some(AttributeValue::List(values)) => values
                .into_iter()
                .map(|value| match value {
                    AttributeValue::Text(name) => Ok(name),
                    other => Err(no_strings(other)),
                })
                .collect::<Result<Vec<String>, _>>()?,
            Some(other) => return Err(no_strings(other)),
            None if self.format.required => return Err(at.missing_field(answers)),
            None => Vec::new(),
        };
        let row = self.list.len();
        let (prefix, digits) = (self.prefix, self.format.digits);
        let id = match (members.remove("id"), members.get("n")) {
            (Some(AttributeValue::Text(id)), _) => id,
            (Some(other), _) => return Err(at.wrong_type("id", "a string", type_name(&other))),
            (None, Some(AttributeValue::Int(n))) => format!("{prefix}{n}"),
            (None, _) => format!("{prefix}{row:0digits$}"),
        };
        self.seen.add_id(&id, at)?;
        members.retain(|name, value| match value {
            AttributeValue::Text(text) => !text.is_empty(),
            // MAKG writes year 0 for unknown.
            AttributeValue::Int(0) => name != attribute::YEAR,
            _ => true,
        });
        let published = underscored(&sentence);
        let mut query = Query::new(id, sentence).with(PUBLISHED_ID, published);
        for (name, value) in members {
            query.attributes.set(name, value);
        }
        self.list.push(DatasetQuery { query, positives });
        Ok(())
    }
}
