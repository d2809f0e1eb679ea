//! Inspection of judgments and of runs: grades, counts, first lines, and the reason of the format.

use std::collections::BTreeMap;

use anyhow::Result;
use ir_core::trec::HeaderLine;
use ir_data::FileKind;
use serde_json::json;

use super::{Args, Inspection, tables};
use crate::shared::console::Console;
use crate::shared::format::grouped;
use crate::shared::input::{self, QrelsArgument};

/// Format of a run with names of columns.
const RUN_TABLE: &str = "table with names of columns";

pub(super) fn of_judgments(name: &str, args: &Args, console: &Console) -> Result<Inspection> {
    let read = input::qrels(name, QrelsArgument::First, HeaderLine::AsData, console)?;
    let mut grades = BTreeMap::<i64, u64>::new();
    let mut first = Vec::new();
    for (query, judged) in read.iter() {
        for (doc, grade) in judged {
            *grades.entry(grade).or_default() += 1;
            if first.len() < args.records {
                first.push(json!({"query": query, "document": doc, "grade": grade}));
            }
        }
    }
    let grades = grades
        .iter()
        .map(|(grade, count)| format!("{grade}: {}", grouped(*count)));
    let grades = grades.collect::<Vec<_>>().join(", ");
    let format = FileKind::judgment_format(name)?;
    Ok(Inspection {
        kind: "judgments",
        format: format.to_owned(),
        reason: tables::reason_of_judgments(format).to_owned(),
        counts: vec![
            ("queries", read.len() as u64),
            ("judgments", read.judgments() as u64),
        ],
        fields: vec![("grades".to_owned(), grades)],
        first,
        ..Inspection::default()
    })
}

/// A run, in a table with these columns and what they are read as.
pub(super) fn of_run(
    name: &str,
    fields: Vec<(String, String)>,
    args: &Args,
    console: &Console,
) -> Result<Inspection> {
    let read = input::run(name, HeaderLine::AsData, console)?;
    let is_header = |(name, role): &(String, String)| role == "query" && read.get(name).is_some();
    // The header line of six columns in the order of TREC is data.
    let is_table = !fields.is_empty() && !fields.iter().any(is_header);
    let (mut results, mut first) = (0, Vec::new());
    for (query, ranking) in read.iter() {
        results += ranking.len() as u64;
        for (rank, hit) in ranking.iter().enumerate() {
            if first.len() < args.records {
                first.push(json!({
                    "query": query, "document": hit.doc, "rank": rank + 1, "score": hit.score
                }));
            }
        }
    }
    let is_json = FileKind::judgment_format(name)? == "JSON";
    let (format, reason) = match (is_table, is_json) {
        (true, _) => (
            RUN_TABLE,
            "the names of a query, a document and a rank or a score",
        ),
        (false, true) => (
            "JSON",
            "an object with an object of scores for each query, or the names of records",
        ),
        (false, false) => ("TREC run", "the number and the content of the columns"),
    };
    Ok(Inspection {
        kind: "run",
        format: format.to_owned(),
        reason: reason.to_owned(),
        fields: if is_table { fields } else { Vec::new() },
        counts: vec![("queries", read.len() as u64), ("results", results)],
        first,
        ..Inspection::default()
    })
}

/// A run in Parquet or Arrow, which is not read.
pub(super) fn of_columnar_run(fields: Vec<(String, String)>) -> Inspection {
    Inspection {
        kind: "run",
        format: RUN_TABLE.to_owned(),
        reason: "columns with a query, a document and a rank or a score".to_owned(),
        fields,
        notes: vec![
            "a run in Parquet or Arrow is not read; write these columns as CSV or JSON lines"
                .to_owned(),
        ],
        ..Inspection::default()
    }
}
