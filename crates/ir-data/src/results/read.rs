use std::collections::HashMap;
use std::io::BufRead;
use std::str::FromStr;

use ir_core::AttributeValue;

use crate::error::{DataError, Location};
use crate::json::{for_each_record, parse_object, type_name};
use crate::lines::LineReader;

/// Results of one search, best first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultList {
    /// Query id, or query text.
    pub query: String,
    /// Name of the search, if a query has several; otherwise empty.
    pub search: String,
    /// Names or URLs of the results.
    pub results: Vec<String>,
    /// Line of the first result, from 1.
    pub line: u64,
}

/// Column of a file of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ResultColumn {
    /// Query id, or query text. Required.
    Query,
    /// Name of the search, if a query has several. Default: one search per query.
    Search,
    /// Rank, an integer ≥ 0. Results are sorted by rank; equal ranks keep their order. Default:
    /// line order.
    Rank,
    /// Name or URL of the result. Required.
    Result,
    /// Column that is not read.
    Ignored,
}

impl FromStr for ResultColumn {
    type Err = String;

    /// Parses `query`, `search`, `rank`, `result` or `-`.
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "query" => Ok(Self::Query),
            "search" => Ok(Self::Search),
            "rank" => Ok(Self::Rank),
            "result" => Ok(Self::Result),
            "-" => Ok(Self::Ignored),
            _ => Err(format!(
                "expected query, search, rank, result or -, found {text:?}"
            )),
        }
    }
}

/// Reads tab-separated results. Lists are in the order of their first lines. Blank lines are
/// skipped.
///
/// # Errors
/// The source cannot be read; a line has another number of columns, a blank query or result, or a
/// rank that is not an integer ≥ 0; `columns` lacks [`ResultColumn::Query`] or
/// [`ResultColumn::Result`] or repeats a column ([`DataError::Syntax`] on line 0).
pub fn read_results_tsv(
    reader: impl BufRead,
    source: &str,
    columns: &[ResultColumn],
) -> Result<Vec<ResultList>, DataError> {
    let at = Location::new(source, 0);
    let position = |column| columns.iter().position(|it| *it == column);
    for column in [
        ResultColumn::Query,
        ResultColumn::Search,
        ResultColumn::Rank,
        ResultColumn::Result,
    ] {
        if columns.iter().filter(|it| **it == column).count() > 1 {
            let found = format!("{column:?} twice");
            return Err(at.syntax("each column at most once", &found));
        }
    }
    let (Some(query), Some(result)) = (
        position(ResultColumn::Query),
        position(ResultColumn::Result),
    ) else {
        let found = format!("{columns:?}");
        return Err(at.syntax("the columns query and result", &found));
    };
    let (search, rank) = (position(ResultColumn::Search), position(ResultColumn::Rank));
    let mut lines = LineReader::new(reader, source);
    let mut lists: Vec<(ResultList, Vec<u64>)> = Vec::new();
    let mut known: HashMap<(String, String), usize> = HashMap::new();
    while let Some(line) = lines.read()? {
        if line.text.trim().is_empty() {
            continue;
        }
        let at = Location::new(source, line.number);
        let cells: Vec<&str> = line.text.split('\t').map(str::trim).collect();
        if cells.len() != columns.len() {
            return Err(at.columns(columns.len()..=columns.len(), cells.len()));
        }
        for (cell, expected) in [(query, "a query"), (result, "a name or URL")] {
            if cells[cell].is_empty() {
                return Err(at.syntax(expected, ""));
            }
        }
        let rank = rank.map(|rank| {
            let expected = "a rank, an integer >= 0";
            let number = cells[rank].parse();
            number.map_err(|_| at.syntax(expected, cells[rank]))
        });
        let rank: u64 = rank.transpose()?.unwrap_or(0);
        let search = search.map_or("", |search| cells[search]);
        let key = (cells[query].to_owned(), search.to_owned());
        let n = *known.entry(key).or_insert_with(|| {
            let list = ResultList {
                query: cells[query].to_owned(),
                search: search.to_owned(),
                results: Vec::new(),
                line: line.number,
            };
            lists.push((list, Vec::new()));
            lists.len() - 1
        });
        let (list, ranks) = &mut lists[n];
        list.results.push(cells[result].to_owned());
        ranks.push(rank);
    }
    let sorted = lists.into_iter().map(|(mut list, ranks)| {
        let mut order: Vec<usize> = (0..ranks.len()).collect();
        order.sort_by_key(|&n| ranks[n]);
        let results = &mut list.results;
        list.results = order
            .iter()
            .map(|&n| std::mem::take(&mut results[n]))
            .collect();
        list
    });
    Ok(sorted.collect())
}

/// Reads results as JSON lines or a JSON array: objects with `query`, an optional `search`, and
/// `results`, an array of strings or of objects with `url` or `name`. Of an object with both, the
/// URL is the result unless no document has it: they are alternatives of one result, which
/// [`DocNames`](super::DocNames) tries in this order.
///
/// # Errors
/// The source cannot be read, or an object does not follow the format.
pub fn read_results_json(reader: impl BufRead, source: &str) -> Result<Vec<ResultList>, DataError> {
    let mut lists = Vec::new();
    for_each_record(reader, source, |text, line| {
        lists.push(json_list(text, Location::new(source, line))?);
        Ok(())
    })?;
    Ok(lists)
}

fn json_list(text: &str, at: Location<'_>) -> Result<ResultList, DataError> {
    let mut members = parse_object(text, at)?;
    let mut string = |name: &str| match members.remove(name) {
        Some(AttributeValue::Text(text)) => Ok(Some(text.trim().to_owned())),
        Some(AttributeValue::Int(number)) => Ok(Some(number.to_string())),
        Some(other) => Err(at.wrong_type(name, "a string", type_name(&other))),
        None => Ok(None),
    };
    let query = string("query")?.filter(|text| !text.is_empty());
    let query = query.ok_or_else(|| at.missing_field("query"))?;
    let search = string("search")?.unwrap_or_default();
    let results = match members.remove("results") {
        Some(AttributeValue::List(values)) => values,
        Some(other) => return Err(at.wrong_type("results", "an array", type_name(&other))),
        None => return Err(at.missing_field("results")),
    };
    let results = results.into_iter().enumerate().map(|(n, value)| {
        let field = format!("results[{n}]");
        match value {
            AttributeValue::Text(text) if !text.trim().is_empty() => Ok(text.trim().to_owned()),
            AttributeValue::Text(text) => Err(at.syntax("a name or URL", &text)),
            AttributeValue::Map(mut members) => {
                let parts = ["url", "name"].map(|name| (name, members.remove(name)));
                let mut texts = Vec::new();
                for (name, value) in parts {
                    match value {
                        Some(AttributeValue::Text(text)) if !text.trim().is_empty() => {
                            texts.push(text.trim().to_owned());
                        }
                        Some(AttributeValue::Text(_)) | None => {}
                        Some(other) => {
                            let field = format!("{field}.{name}");
                            return Err(at.wrong_type(field, "a string", type_name(&other)));
                        }
                    }
                }
                if texts.is_empty() {
                    return Err(at.wrong_type(field, "name or url", "neither"));
                }
                Ok(texts.join("\t"))
            }
            other => Err(at.wrong_type(field, "a string or an object", type_name(&other))),
        }
    });
    Ok(ResultList {
        query,
        search,
        results: results.collect::<Result<_, _>>()?,
        line: at.line,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [ResultColumn; 4] = [
        ResultColumn::Query,
        ResultColumn::Search,
        ResultColumn::Rank,
        ResultColumn::Result,
    ];

    fn list(query: &str, search: &str, results: &[&str], line: u64) -> ResultList {
        ResultList {
            query: query.to_owned(),
            search: search.to_owned(),
            results: results.iter().map(|&it| it.to_owned()).collect(),
            line,
        }
    }

    #[test]
    fn lists_in_columns() {
        let text = "q2\ts\t2\tB b\r\n\nq1\ts\t1\tC\nq2\ts\t1\tA\nq2\tt\t1\tD\nq2\ts\t1\tE\n";
        let lists = read_results_tsv(text.as_bytes(), "x", &COLUMNS).unwrap();
        assert_eq!(
            lists,
            [
                list("q2", "s", &["A", "E", "B b"], 1),
                list("q1", "s", &["C"], 3),
                list("q2", "t", &["D"], 5)
            ]
        );
        let columns = [
            ResultColumn::Result,
            ResultColumn::Ignored,
            ResultColumn::Query,
        ];
        let lists = read_results_tsv("B\tx\tq\nA\ty\tq".as_bytes(), "x", &columns).unwrap();
        assert_eq!(lists, [list("q", "", &["B", "A"], 1)]);
    }

    #[test]
    fn invalid_columns() {
        let error = |text: &str, columns: &[ResultColumn]| {
            let error = read_results_tsv(text.as_bytes(), "x.tsv", columns);
            error.unwrap_err().to_string()
        };
        for (text, expected) in [
            ("q\ts\t1\n", "x.tsv:1: expected 4 columns, found 3"),
            ("q\ts\t1\ta\tb", "x.tsv:1: expected 4 columns, found 5"),
            (
                "q\ts\t1\ta\nq\ts\tone\tb",
                "x.tsv:2: expected a rank, an integer >= 0, found \"one\"",
            ),
            ("q\ts\t-1\ta", "found \"-1\""),
            ("\ts\t1\ta", "x.tsv:1: expected a query, found \"\""),
            ("q\ts\t1\t ", "x.tsv:1: expected a name or URL"),
        ] {
            let found = error(text, &COLUMNS);
            assert!(found.contains(expected), "{found}");
        }
        assert!(error("", &[ResultColumn::Query]).contains("query and result"));
        let twice = [
            ResultColumn::Query,
            ResultColumn::Result,
            ResultColumn::Query,
        ];
        assert!(error("", &twice).contains("Query twice"));
        for (name, column) in ["query", "search", "rank", "result"].iter().zip(COLUMNS) {
            assert_eq!(name.parse(), Ok(column));
        }
        assert_eq!("-".parse(), Ok(ResultColumn::Ignored));
        assert!("url".parse::<ResultColumn>().is_err());
    }

    #[test]
    fn lists_in_json() {
        let objects = [
            r#"{"query": "q1", "results": ["A", {"name": "B"}, {"url": "http://c", "name": "C", "x": 1}]}"#,
            r#"{"query": 2, "search": "s", "results": []}"#,
        ];
        let expected = [
            list("q1", "", &["A", "B", "http://c\tC"], 1),
            list("2", "s", &[], 2),
        ];
        let lines = objects.join("\n");
        let array = format!("[{}]", objects.join(",\n"));
        for text in [lines, array] {
            let lists = read_results_json(text.as_bytes(), "x").unwrap();
            assert_eq!(lists, expected);
        }
        for (text, expected) in [
            (r#"{"results": []}"#, "x:1: expected a field \"query\""),
            ("\n{\"query\": \"q\"}", "x:2: expected a field \"results\""),
            (
                r#"{"query": "q", "results": [1]}"#,
                "expected a string or an object in results[0], found a number",
            ),
            (
                r#"{"query": "q", "results": ["a", {}]}"#,
                "x:1: expected name or url in results[1], found neither",
            ),
            (
                r#"{"query": "q", "results": [{"url": 3}]}"#,
                "a string in results[0].url",
            ),
            (r#"{"query": "q", "results": "a"}"#, "an array in results"),
            ("[1]", "expected an object"),
            ("{", "expected JSON"),
        ] {
            let error = read_results_json(text.as_bytes(), "x")
                .unwrap_err()
                .to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
