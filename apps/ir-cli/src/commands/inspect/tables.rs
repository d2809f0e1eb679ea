//! Names of columns and tables that show what a file is.

use std::fs;
use std::io::BufRead as _;
use std::path::Path;

use anyhow::Result;
use ir_data::{
    ColumnarFormat, DataError, FieldNames, GivenNames, LineReader, RecordKind, columnar,
};
use serde_json::Value;

/// Kind of a file with tasks.
pub(super) const EXPERIMENT: &str = "experiment file";
/// Kind of a file with systems and without tasks.
const SYSTEM: &str = "system file";
/// Maximum size of a file that is parsed as TOML.
const MAX_TOML_BYTES: u64 = 16 << 20;

/// Columns of a run as PyTerrier, ir_datasets and ranx name them, in lower case and with hyphens.
const RUN_COLUMNS: [(&str, &[&str]); 4] = [
    ("query", &["qid", "query-id", "q-id"]),
    ("document", &["docno", "doc-id", "docid", "corpus-id"]),
    ("rank", &["rank"]),
    ("score", &["score"]),
];

/// What a column of a run is read as.
fn role(column: &str) -> Option<&'static str> {
    let column = column.to_lowercase().replace('_', "-");
    let mut columns = RUN_COLUMNS.iter();
    let found = columns.find(|(_, names)| names.contains(&column.as_str()));
    found.map(|(role, _)| *role)
}

/// Columns of a run and their roles, if they are a query, a document and `value`, and none is the
/// text of a document.
pub(super) fn fields_of_run(columns: &[String], value: &str) -> Option<Vec<(String, String)>> {
    let has = |wanted| columns.iter().any(|column| role(column) == Some(wanted));
    let is_text = |column: &String| {
        let mut texts = RecordKind::Document.text_names();
        texts.any(|name| name.eq_ignore_ascii_case(column))
    };
    if !["query", "document", value].into_iter().all(has) || columns.iter().any(is_text) {
        return None;
    }
    let fields = columns.iter().map(|column| {
        let role = role(column).unwrap_or("other column");
        (column.clone(), role.to_owned())
    });
    Some(fields.collect())
}

/// Returns `true` if the error of judgments is a grade with decimals: a score of a run.
pub(super) fn is_fraction(error: &anyhow::Error) -> bool {
    match error.root_cause().downcast_ref() {
        Some(DataError::Syntax { found, .. }) => {
            found.parse::<i64>().is_err() && found.trim().parse::<f64>().is_ok()
        }
        _ => false,
    }
}

/// Format of a run.
pub(super) fn run_format(file: &str) -> Result<&'static str> {
    let mut run = ir_data::open(file)?;
    Ok(match run.fill_buf()?.trim_ascii_start() {
        [b'{', ..] => "JSON of ranx or pytrec_eval",
        _ => "TREC run",
    })
}

/// Names of the columns of a table: a Parquet or Arrow file, or a first line with names between
/// tabs, commas or semicolons. Other files have none.
pub(super) fn columns(file: &Path) -> Result<Vec<String>> {
    if ColumnarFormat::detect(file)?.is_some() {
        return Ok(columnar::columns(file)?.read);
    }
    let mut lines = LineReader::new(ir_data::open(file)?, &file.display().to_string());
    // The reader of the format reports a line that cannot be read.
    let line = lines.read().ok().flatten();
    let header = line.map_or("", |line| line.text);
    let separator = ['\t', ',', ';'].into_iter().find(|it| header.contains(*it));
    let names = separator.into_iter().flat_map(|it| header.split(it));
    Ok(names
        .map(|name| name.trim().trim_matches('"').to_owned())
        .collect())
}

/// Columns of the queries in a Parquet or Arrow file.
pub(super) fn query_fields(file: &Path, names: &GivenNames) -> Result<FieldNames> {
    let columns = columns(file)?.into_iter().map(|name| (name, Value::Null));
    let record = Value::Object(columns.collect()).to_string();
    let name = file.display().to_string();
    let fields = FieldNames::detect_with(&record, RecordKind::Query, names, &name, 1)?;
    Ok(fields)
}

/// Kind of a TOML file with tasks or systems; `None` for other files.
pub(super) fn kind_of_toml(file: &Path) -> Option<&'static str> {
    if fs::metadata(file).ok()?.len() > MAX_TOML_BYTES {
        return None;
    }
    let table: toml::Table = fs::read_to_string(file).ok()?.parse().ok()?;
    let has = |name| table.get(name).is_some_and(toml::Value::is_array);
    if has("tasks") {
        return Some(EXPERIMENT);
    }
    has("systems").then_some(SYSTEM)
}
