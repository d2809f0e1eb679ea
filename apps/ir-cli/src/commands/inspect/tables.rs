//! Names of columns and tables that show what a file is.

use std::fs;
use std::path::Path;

use anyhow::Result;
use ir_core::trec::run_fields;
use ir_data::{
    ColumnarFormat, DataError, FieldNames, FileKind, GivenNames, LineReader, RecordKind,
    TextEncoding, columnar, sgml,
};
use ir_system::read_text;
use serde_json::Value;

use crate::shared::console::bail_usage;
use crate::shared::format::counted;
use crate::shared::options::is_utf8_file;

/// Kind of a file with tasks.
pub(super) const EXPERIMENT: &str = "experiment file";
/// Kind of a file with systems and without tasks.
const SYSTEM: &str = "system file";
/// Maximum size of a file that is parsed as TOML.
const MAX_TOML_BYTES: u64 = 16 << 20;

/// Columns of a run and what they are read as; `None` for columns of no run, or with a text of
/// documents.
pub(super) fn fields_of_run(columns: &[String]) -> Option<Vec<(String, String)>> {
    let is_text = |column: &String| {
        let mut texts = RecordKind::Document.text_names();
        texts.any(|name| name.eq_ignore_ascii_case(column))
    };
    let fields = run_fields(columns).filter(|_| !columns.iter().any(is_text))?;
    let fields = fields.into_iter().map(str::to_owned);
    Some(columns.iter().cloned().zip(fields).collect())
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

/// What a file is that `--encoding` does not apply to; `None` for other files.
pub(super) fn utf8_format(kind: FileKind, file: &Path) -> Option<&'static str> {
    match kind {
        FileKind::Judgments => Some("judgments"),
        FileKind::Run => Some("a run"),
        FileKind::Vectors(format) => Some(format),
        FileKind::Documents | FileKind::Queries => {
            is_utf8_file(file).then_some("UTF-8 by its format")
        }
        FileKind::Unclear(_) => None,
    }
}

/// Rejects an `--encoding` of a file that it does not apply to.
pub(super) fn check_encoding(encoding: TextEncoding, name: &str, found: &str) -> Result<()> {
    if encoding != TextEncoding::Utf8 {
        bail_usage!(
            "--encoding: expected TREC, SMART, CSV or TSV files, topics, XML records or notes, found {name} ({found})"
        );
    }
    Ok(())
}

/// Columns of the queries in a Parquet or Arrow file.
pub(super) fn query_fields(file: &Path, names: &GivenNames) -> Result<FieldNames> {
    let columns = columns(file)?.into_iter().map(|name| (name, Value::Null));
    let record = Value::Object(columns.collect()).to_string();
    let name = file.display().to_string();
    let fields = FieldNames::detect_with(&record, RecordKind::Query, names, &name, 1)?;
    Ok(fields)
}

/// Note of the elements of a TREC file that are not read; `None` if all are read.
pub(super) fn skipped_elements(
    file: &Path,
    encoding: TextEncoding,
    kind: RecordKind,
) -> Result<Option<String>> {
    let unit = match kind {
        RecordKind::Document => "document",
        RecordKind::Query => "topic",
    };
    let found = sgml::skipped_elements(file, encoding, kind)?;
    let found = found
        .iter()
        .map(|(name, count)| format!("{name} ({})", counted(*count, unit)));
    let found: Vec<String> = found.collect();
    Ok((!found.is_empty()).then(|| format!("skipped: {}", found.join(", "))))
}

/// What shows a format of [`FileKind::judgment_format`].
pub(super) fn reason_of_judgments(format: &str) -> &'static str {
    match format {
        "JSON" => "the first character is { or [, and the objects have grades",
        "pairs" => "the lines have two columns, a query and a document",
        "BEIR qrels" => "the first line is the header query-id, corpus-id, score",
        "BEIR qrels: table with a header line" => {
            "the first line has names of a query, a document and a grade"
        }
        "Cranfield, CISI and CACM" => {
            "the lines have three integers with codes, or two integers and two zeros"
        }
        "TREC qrels" => "the lines have four columns, the last an integer",
        _ => "the columns are a query, a document and a grade",
    }
}

/// Kind of a TOML file with tasks or systems; `None` for other files.
pub(super) fn kind_of_toml(file: &Path) -> Option<&'static str> {
    if fs::metadata(file).ok()?.len() > MAX_TOML_BYTES {
        return None;
    }
    let table: toml::Table = read_text(file).ok()?.parse().ok()?;
    let has = |name| table.get(name).is_some_and(toml::Value::is_array);
    if has("tasks") {
        return Some(EXPERIMENT);
    }
    has("systems").then_some(SYSTEM)
}
