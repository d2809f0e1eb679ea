//! Kind of a file: documents, queries, judgments, runs or vectors.

use std::io::Read;
use std::path::Path;

use crate::columnar;
use crate::compression::open;
use crate::error::{DataError, read_error};
use crate::head::{ColumnarFormat, vector_format};
use crate::json::RecordKind;
use crate::judgments;
use crate::qrels::table;

/// Number of bytes by which the kind of a file is detected.
const HEAD: u64 = 1 << 16;

/// What a file has, by its start. Formats that documents and queries share count as documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// Documents with id, title and text.
    Documents,
    /// Queries with id and text, or topics.
    Queries,
    /// Judgments: grades of documents by query.
    Judgments,
    /// Run: ranked documents by query.
    Run,
    /// Vectors, and their format.
    Vectors(&'static str),
}

impl FileKind {
    /// Detects the kind of a file, possibly compressed:
    ///
    /// | start | kind |
    /// |---|---|
    /// | six columns, of which rank and score are numbers | run |
    /// | header of BEIR, JSON with `query-id`, or four columns that end in an integer | judgments |
    /// | JSON object of objects of integers; of other numbers | judgments; run |
    /// | an element other than `<DOC>`, JSON or columns with the names of queries only | queries |
    /// | vector index, NumPy array, JSON, Parquet or Arrow with vectors and without texts | vectors |
    /// | otherwise | documents |
    ///
    /// ```
    /// use ir_data::FileKind;
    /// let path = std::env::temp_dir().join(format!("ir-data-kind-{}", std::process::id()));
    /// std::fs::write(&path, "q1 Q0 d1 1 2.5 bm25\n")?;
    /// assert_eq!(FileKind::detect(&path)?, FileKind::Run);
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn detect(path: impl AsRef<Path>) -> Result<Self, DataError> {
        let path = path.as_ref();
        if let Some(format) = ColumnarFormat::detect(path)? {
            return of_columnar(path, format);
        }
        let mut head = Vec::new();
        let read = open(path)?.take(HEAD).read_to_end(&mut head);
        read.map_err(read_error(path))?;
        if let Some(format) = vector_format(head.split(|&byte| byte == b'\n').next().unwrap_or(&[]))
        {
            return Ok(Self::Vectors(format));
        }
        let head = String::from_utf8_lossy(&head);
        let head = head.strip_prefix('\u{feff}').unwrap_or(&head).trim_start();
        Ok(match head.chars().next() {
            Some('{' | '[') => of_json(head),
            Some('<') => of_markup(head),
            _ => of_columns(head.lines().next().unwrap_or_default()),
        })
    }
}

fn of_markup(head: &str) -> FileKind {
    let has = |name: &str| {
        let mut tags = head
            .split('<')
            .filter_map(|rest| rest.get(..name.len() + 1));
        tags.any(|tag| {
            tag[..name.len()].eq_ignore_ascii_case(name) && !tag.ends_with(char::is_alphanumeric)
        })
    };
    let is_queries = ["top", "topic", "parameters"].iter().any(|name| has(name));
    if is_queries && !has("DOC") {
        FileKind::Queries
    } else {
        FileKind::Documents
    }
}

fn of_columns(line: &str) -> FileKind {
    let columns: Vec<&str> = line.split_whitespace().collect();
    if judgments::is_header(columns.iter().copied()) || table::separator(line).is_some() {
        return FileKind::Judgments;
    }
    let is_integer = |text: &str| text.parse::<i64>().is_ok();
    match columns[..] {
        [_, _, _, rank, score, _] if is_integer(rank) && score.parse::<f64>().is_ok() => {
            FileKind::Run
        }
        [_, iteration, _, grade] if is_integer(grade) && iteration.len() <= 2 => {
            FileKind::Judgments
        }
        _ => {
            let cells = line
                .split(['\t', ',', ';'])
                .map(|cell| cell.trim().trim_matches('"'));
            let has = |name: &str| cells.clone().any(|cell| cell.eq_ignore_ascii_case(name));
            of_names(has)
        }
    }
}

/// Kind of records with fields of these names.
fn of_names(has: impl Fn(&str) -> bool) -> FileKind {
    let document = RecordKind::Document;
    let is_document = document.id_names().any(&has) && document.text_names().any(&has);
    let query = RecordKind::Query;
    let is_query = query.id_names().any(&has) && query.text_names().any(&has);
    if is_query && !is_document {
        FileKind::Queries
    } else {
        FileKind::Documents
    }
}

fn of_json(head: &str) -> FileKind {
    let record = head.trim_start_matches('[').trim_start();
    if judgments::is_jsonl_judgment(record.lines().next().unwrap_or_default()) {
        return FileKind::Judgments;
    }
    // An object of objects: {"q1": {"d1": 1.
    let members = record.strip_prefix('{').map(str::trim_start);
    let inner = members
        .and_then(after_name)
        .and_then(|rest| rest.strip_prefix('{'));
    if let Some(value) = inner.map(str::trim_start).and_then(after_name) {
        let end = value.find([',', '}', ' ', '\n']).unwrap_or(value.len());
        return match &value[..end] {
            number if number.parse::<i64>().is_ok() => FileKind::Judgments,
            number if number.parse::<f64>().is_ok() => FileKind::Run,
            _ => FileKind::Documents,
        };
    }
    let mut values = serde_json::Deserializer::from_str(record).into_iter();
    let members: serde_json::Map<String, serde_json::Value> = match values.next() {
        Some(Ok(members)) => members,
        _ => return FileKind::Documents,
    };
    let has = |name: &str| members.contains_key(name);
    let is_vector = ["vector", "embedding", "values"].iter().any(|name| {
        let value = members.get(*name);
        value.is_some_and(serde_json::Value::is_array)
    });
    let is_text = RecordKind::Document.text_names().any(has);
    if is_vector && !is_text {
        return FileKind::Vectors("JSON lines of vectors");
    }
    // DataFinder's queries have no id.
    if has("query") && has("documents") {
        return FileKind::Queries;
    }
    of_names(has)
}

/// Text after a name of a member and its colon.
fn after_name(text: &str) -> Option<&str> {
    let rest = text.strip_prefix('"')?;
    let mut escaped = false;
    let end = rest.find(|c: char| {
        let is_end = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        is_end
    })?;
    let rest = rest[end + 1..].trim_start();
    Some(rest.strip_prefix(':')?.trim_start())
}

fn of_columnar(path: &Path, format: ColumnarFormat) -> Result<FileKind, DataError> {
    let columns = columnar::columns(path)?;
    let has = |name: &str| {
        columns
            .read
            .iter()
            .any(|column| column.eq_ignore_ascii_case(name))
    };
    let is_text = RecordKind::Document.text_names().any(has);
    if judgments::are_names(columns.read.iter().map(String::as_str)) {
        return Ok(FileKind::Judgments);
    }
    if columns.has_vectors && !is_text {
        return Ok(FileKind::Vectors(format.name()));
    }
    Ok(of_names(has))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds() {
        use FileKind::{Documents, Judgments, Queries, Run, Vectors};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        for (text, expected) in [
            ("q1 Q0 d1 1 2.5 bm25\n", Run),
            ("q1\t0\td1\t1\n", Judgments),
            ("query-id\tcorpus-id\tscore\nq\td\t1\n", Judgments),
            ("\u{feff}Query_ID\tcorpus_id\tscore\n", Judgments),
            (
                r#"{"query-id": "q", "corpus-id": "d", "score": 1}"#,
                Judgments,
            ),
            (r#"{"q\"1": {"d1": 1}}"#, Judgments),
            (r#"{ "q1" : { "d1" : 1.5, "d2": 1}}"#, Run),
            (
                r#"{"_id": "d", "metadata": {"year": 2}, "text": ""}"#,
                Documents,
            ),
            (
                r#"{"metadata": {"title": "x"}, "_id": "d", "text": ""}"#,
                Documents,
            ),
            (r#"[{"id": "d", "contents": ""}]"#, Documents),
            (r#"{"qid": 1, "query": ""}"#, Queries),
            (r#"{"query": "", "documents": []}"#, Queries),
            (
                r#"{"id": 1, "vector": [0.5]}"#,
                Vectors("JSON lines of vectors"),
            ),
            ("\n<DOC>\n<DOCNO>", Documents),
            (
                "<?xml version='1.0'?>\n<topics>\n<topic number='1'>",
                Queries,
            ),
            ("<top>\n<num>", Queries),
            ("<parameters>", Queries),
            ("qid,query\n1,tea\n", Queries),
            ("id\ttext\ttitle\n", Documents),
            ("d1\tgreen tea\n", Documents),
            ("", Documents),
        ] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(FileKind::detect(&path).unwrap(), expected, "{text}");
        }
    }
}
