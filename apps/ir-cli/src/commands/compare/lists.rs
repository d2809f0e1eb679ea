//! Lists of all runs for single queries, side by side (`--query`).

use std::io::{self, Write};

use anyhow::Result;
use ir_core::{Judgments, Run};
use ir_eval::runs::{RankedDocument, SideBySide};
use ir_eval::{JudgmentStatus, Rules};

use super::Args;
use super::topics::code;
use crate::shared::console::bail_usage;
use crate::shared::format::{counted, table_with_text};
use crate::shared::suggest::did_you_mean;
use crate::shared::systems::EvaluatedRun;

/// The lists of each query of `--query`.
pub(super) fn side_by_side(
    args: &Args,
    qrels: &dyn Judgments,
    rules: Rules,
    systems: &[EvaluatedRun],
) -> Result<Vec<SideBySide>> {
    let runs = systems.iter();
    let runs = runs.filter_map(|system| Some((system.name(), system.list.as_ref()?)));
    let runs: Vec<(&str, &Run)> = runs.collect();
    let lists = |query: &String| match SideBySide::new(
        qrels,
        &rules,
        &runs,
        query,
        args.query_depth,
    ) {
        Some(lists) => Ok(lists),
        None => bail_usage!(
            "--query {query}: expected a query of the judgments or of a run, found none with this id{}",
            did_you_mean(query, qrels.queries())
        ),
    };
    args.query.iter().map(lists).collect()
}

/// Rows of a table: rank, then a cell for each list.
fn rows(query: &SideBySide, name: fn(&str) -> String) -> Vec<Vec<String>> {
    let head = query.lists.iter().map(|list| name(&list.system));
    let mut rows = vec![["rank".to_owned()].into_iter().chain(head).collect()];
    let ranks = query.lists.iter().map(|list| list.documents.len());
    for rank in 0..ranks.max().unwrap_or_default() {
        let cells = query.lists.iter().map(|list| {
            let document = list.documents.get(rank);
            document.map_or_else(String::new, |document| cell(document, name))
        });
        rows.push([(rank + 1).to_string()].into_iter().chain(cells).collect());
    }
    rows
}

/// Document with its grade; `*` marks a relevant one.
fn cell(document: &RankedDocument, name: fn(&str) -> String) -> String {
    let mark = if document.relevant { "* " } else { "" };
    let grade = match document.judged {
        JudgmentStatus::Grade(grade) => format!(" ({grade})"),
        JudgmentStatus::Unjudged | JudgmentStatus::Unpooled => String::new(),
    };
    format!("{mark}{}{grade}", name(&document.doc))
}

/// Relevant documents in no list, joined by commas.
fn missed(query: &SideBySide, name: fn(&str) -> String) -> String {
    let documents = query.missed.iter().map(|document| cell(document, name));
    documents.collect::<Vec<_>>().join(", ")
}

fn relevant(query: &SideBySide) -> String {
    counted(query.relevant as u64, "relevant document")
}

/// Writes a table for each query.
pub(super) fn write(lists: &[SideBySide], out: &mut dyn Write) -> io::Result<()> {
    for query in lists {
        writeln!(out, "\n{}: {}\n", query.query, relevant(query))?;
        writeln!(out, "{}", table_with_text(rows(query, str::to_owned), 0))?;
        if !query.missed.is_empty() {
            writeln!(out, "\nin no list: {}", missed(query, str::to_owned))?;
        }
    }
    Ok(())
}

/// Writes a table of Markdown for each query.
pub(super) fn write_markdown(lists: &[SideBySide], out: &mut dyn Write) -> io::Result<()> {
    for query in lists {
        writeln!(out, "\n{}: {}\n", code(&query.query), relevant(query))?;
        for (at, row) in rows(query, code).iter().enumerate() {
            // A pipe ends a cell also within a code span.
            let row: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
            writeln!(out, "| {} |", row.join(" | "))?;
            if at == 0 {
                writeln!(out, "| ---: |{}", " --- |".repeat(row.len() - 1))?;
            }
        }
        if !query.missed.is_empty() {
            writeln!(out, "\nIn no list: {}", missed(query, code))?;
        }
    }
    Ok(())
}
