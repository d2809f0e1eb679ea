//! Learned sparse vectors as JSON lines: weights by token.
//!
//! Pyserini, BMP and Seismic have a record per document or query, where `contents` or other fields
//! may stand beside the vector:
//!
//! ```
//! use ir_data::SparseVectorReader;
//! let lines = "{\"id\": \"7\", \"vector\": {\"tea\": 1.5, \"green\": 0.25}}\n\
//!              {\"id\": 8, \"contents\": \"Milk\", \"vector\": {}}\n";
//! let mut vectors = SparseVectorReader::new(lines.as_bytes(), "splade.jsonl");
//! let first = vectors.read()?.ok_or("no vector")?;
//! assert_eq!(first.id, "7");
//! assert_eq!(first.weights, [("tea".to_owned(), 1.5), ("green".to_owned(), 0.25)]);
//! assert_eq!(vectors.read()?.map(|vector| vector.id), Some("8".to_owned()));
//! assert_eq!(vectors.read()?, None);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fmt;
use std::io::BufRead;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;

use crate::duplicates::DuplicateFinder;
use crate::error::{DataError, Location};
use crate::json::json_error;
use crate::lines::LineReader;

/// Name of the format for [`FileKind::Vectors`](crate::FileKind::Vectors).
pub const SPARSE_VECTORS: &str = "JSON lines of sparse vectors";

/// Sparse vector of a document or query.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SparseVectorRecord {
    /// Id of the document or query.
    pub id: String,
    /// Tokens, each once, and their weights, which are finite and at least 0, in the order of the
    /// file.
    pub weights: Vec<(String, f32)>,
    /// Line of the record from 1.
    pub line: u64,
}

/// Reader of sparse vectors. Blank lines are skipped.
#[derive(Debug)]
pub struct SparseVectorReader<R> {
    lines: LineReader<R>,
    seen: DuplicateFinder,
}

/// Fields of a record that are read.
#[derive(Deserialize)]
struct Record {
    #[serde(alias = "_id", alias = "docid")]
    id: Option<Value>,
    vector: Option<Members>,
}

/// Members of an object, repeated ones included.
struct Members(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct MembersVisitor;

        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        input.deserialize_map(MembersVisitor)
    }
}

impl<R: BufRead> SparseVectorReader<R> {
    /// Reads from `reader`; `source` names it in errors.
    pub fn new(reader: R, source: &str) -> Self {
        Self {
            lines: LineReader::new(reader, source),
            seen: DuplicateFinder::default(),
        }
    }

    /// Reads the next vector; [`None`] at the end.
    ///
    /// # Errors
    /// Returns [`DataError`] with the line if it is no JSON object, id or vector is missing, an id
    /// or a token occurs twice, or a weight is not a number, negative or infinite.
    pub fn read(&mut self) -> Result<Option<SparseVectorRecord>, DataError> {
        let source = self.lines.source();
        while let Some(line) = self.lines.read()? {
            if line.text.trim().is_empty() {
                continue;
            }
            let at = Location::new(&source, line.number);
            let record = parse(line.text, at)?;
            self.seen.add_id(&record.id, at)?;
            return Ok(Some(record));
        }
        Ok(None)
    }
}

fn parse(text: &str, at: Location<'_>) -> Result<SparseVectorRecord, DataError> {
    if !text.trim_start().starts_with('{') {
        return Err(at.wrong_type("the line", "an object", "another value"));
    }
    let record: Record = serde_json::from_str(text).map_err(|error| json_error(&error, at))?;
    let id = match record.id {
        Some(Value::String(id)) => id,
        Some(Value::Number(id)) if !id.is_f64() => id.to_string(),
        Some(_) => return Err(at.wrong_type("id", "a string or an integer", "another value")),
        None => return Err(at.missing_field("id")),
    };
    let Some(Members(members)) = record.vector else {
        return Err(at.missing_field("vector"));
    };
    let mut weights = Vec::with_capacity(members.len());
    for (token, value) in members {
        let Some(number) = value.as_f64() else {
            let field = format!("vector, token {token:?}");
            return Err(at.wrong_type(field, "a number", "another value"));
        };
        let weight = number as f32;
        if !weight.is_finite() || weight < 0.0 {
            let found = format!("{number:?} of token {token}");
            return Err(at.syntax("finite weights of at least 0", &found));
        }
        weights.push((token, weight));
    }
    let mut tokens: Vec<&str> = weights.iter().map(|(token, _)| token.as_str()).collect();
    tokens.sort_unstable();
    if let Some(pair) = tokens.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(at.repeated_field(pair[0]));
    }
    Ok(SparseVectorRecord {
        id,
        weights,
        line: at.line,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<SparseVectorRecord>, DataError> {
        let mut reader = SparseVectorReader::new(text.as_bytes(), "x.jsonl");
        let mut records = Vec::new();
        while let Some(record) = reader.read()? {
            records.push(record);
        }
        Ok(records)
    }

    #[test]
    fn records_of_three_programs_are_read() {
        let lines = "{\"id\": 0, \"content\": \"tea\", \"vector\": {\"tea\": 2, \"##in\": 0.5}}\n\
                     \r\n\
                     {\"docid\": \"d\", \"contents\": \"\", \"vector\": {\"z\": 0.0, \"a\": 1e-3}}\r\n";
        let records = read(lines).unwrap();
        let found: Vec<_> = records.iter().map(|it| (&*it.id, it.line)).collect();
        assert_eq!(found, [("0", 1), ("d", 3)]);
        assert_eq!(
            records[0].weights,
            [("tea".into(), 2.0), ("##in".into(), 0.5)]
        );
        assert_eq!(records[1].weights, [("z".into(), 0.0), ("a".into(), 1e-3)]);
        assert_eq!(read("").unwrap(), []);
    }

    #[test]
    fn invalid_records_are_errors_with_their_line() {
        for (line, expected) in [
            (
                "{\"id\": \"d\", \"vector\": {\"a\": -1}}",
                "expected finite weights of at least 0, found \"-1.0 of token a\"",
            ),
            (
                "{\"id\": \"d\", \"vector\": {\"a\": 1e39}}",
                "expected finite weights of at least 0, found \"1e39 of token a\"",
            ),
            (
                "{\"id\": \"d\", \"vector\": {\"a\": 1e999}}",
                "expected JSON, found an error at column",
            ),
            (
                "{\"id\": \"d\", \"vector\": {\"a\": NaN}}",
                "expected JSON, found an error at column",
            ),
            (
                "{\"id\": \"d\", \"vector\": {\"a\": 1, \"b\": 2, \"a\": 1}}",
                "expected one field \"a\", found two",
            ),
            (
                "{\"id\": \"d\", \"vector\": {\"a\": \"1\"}}",
                "expected a number in vector, token \"a\", found another value",
            ),
            (
                "{\"id\": \"d\", \"vector\": [1, 2]}",
                "expected an object, found a list",
            ),
            ("{\"id\": \"d\"}", "expected a field \"vector\", found none"),
            ("{\"vector\": {}}", "expected a field \"id\", found none"),
            (
                "{\"id\": 1.5, \"vector\": {}}",
                "expected a string or an integer in id, found another value",
            ),
            (
                "{\"id\": \"c\", \"vector\": {}}",
                "expected a unique id, found \"c\", which is also on line 1",
            ),
            (
                "[\"d\", {}]",
                "expected an object in the line, found another value",
            ),
        ] {
            let error = read(&format!("{{\"id\": \"c\", \"vector\": {{}}}}\n{line}\n"));
            let error = error.unwrap_err().to_string();
            assert!(error.starts_with("x.jsonl:2: "), "{error}");
            assert!(error.contains(expected), "expected {expected:?} in {error}");
        }
    }
}
