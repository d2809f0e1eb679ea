//! The table in the layout of the paper's Table 1, and a look at single queries.

use anyhow::{Context, Result};
use ir::core::{Qrels, Query, Run};
use ir::eval::{Bootstrap, Measure, Report};

/// A row of the paper's Table 1: system, then mean and deviation of P@5, R@5, MAP, MRR, × 100.
pub(crate) type PaperRow = (&'static str, [(f64, f64); 4]);

/// Viswanathan et al., ACL 2023, Table 1, queries in full sentences.
pub(crate) const PAPER_SENTENCES: [PaperRow; 4] = [
    ("BM25", [(4.7, 0.1), (11.6, 1.7), (8.0, 1.3), (14.5, 2.0)]),
    (
        "kNN (TF-IDF)",
        [(5.5, 0.6), (12.3, 1.6), (7.8, 1.1), (15.5, 2.0)],
    ),
    (
        "kNN (BERT)",
        [(7.1, 0.7), (14.2, 1.5), (9.7, 1.2), (21.3, 2.3)],
    ),
    (
        "bi-encoder",
        [(16.0, 1.1), (31.2, 2.2), (23.4, 1.9), (42.6, 2.7)],
    ),
];

/// Viswanathan et al., ACL 2023, Table 1, keyphrase queries.
pub(crate) const PAPER_KEYPHRASES: [PaperRow; 4] = [
    ("BM25", [(6.6, 0.5), (15.3, 1.1), (11.4, 0.8), (19.9, 1.5)]),
    (
        "kNN (TF-IDF)",
        [(2.7, 0.4), (5.9, 1.1), (3.3, 0.7), (8.2, 1.6)],
    ),
    (
        "kNN (BERT)",
        [(2.8, 0.4), (5.8, 1.1), (3.3, 1.1), (7.3, 1.3)],
    ),
    (
        "bi-encoder",
        [(16.5, 1.0), (32.4, 2.2), (23.3, 1.8), (42.3, 2.6)],
    ),
];

pub(crate) const NOTE_REAL: &str = "\
Means × 100 ± bootstrap deviation: 1,000 samples, each the distinct topics among half as many
draws as there are topics, as the paper's script samples (about a quarter wider than a textbook
bootstrap). The published filter takes the paper's 25 raw hits and its stop rule; the exact one
returns the five best datasets that are old enough.";

pub(crate) const NOTE_BUNDLED: &str = "\
Means × 100 ± bootstrap deviation. This is the small bundled collection of invented datasets; the
paper's rows are shown for the layout and are not comparable. Set IR_DATA to a folder that holds
the real collection (`ir datasets` says how it must look) to reproduce the paper.";

pub(crate) fn head(form: &str) {
    let column = |name: &str| format!("{name:>12}");
    let columns: String = ["P@5", "R@5", "MAP", "MRR"].map(column).concat();
    println!("{form:<34}{columns}");
    println!("{}", "-".repeat(82));
}

pub(crate) fn row(system: &str, filter: &str, report: &Report, measures: &[Measure]) -> Result<()> {
    let mut cells = String::new();
    for &measure in measures {
        let mean = report
            .summary(measure)
            .context("a measure that was asked for")?;
        let spread = Bootstrap::DATAFINDER.deviation(report, measure)?;
        cells += &cell(100.0 * mean, 100.0 * spread.deviation);
    }
    println!("{:<34}{cells}", format!("{system}, {filter}"));
    Ok(())
}

pub(crate) fn paper(rows: &[PaperRow], comparable: bool) {
    for (system, values) in rows {
        let cells: String = values.iter().map(|&(mean, sd)| cell(mean, sd)).collect();
        let other = if comparable { "" } else { " (other data)" };
        println!("{:<34}{cells}", format!("  paper: {system}{other}"));
    }
}

fn cell(mean: f64, deviation: f64) -> String {
    format!("{:>12}", format!("{mean:.1} ± {deviation:.1}"))
}

/// What the figures hide: the query that went worst and the one that went best.
pub(crate) fn worst_and_best(run: &Run, report: &Report, queries: &[Query], qrels: &Qrels) {
    let value = |query: &&Query| report.value(&query.id, Measure::AP).unwrap_or(0.0);
    let relevant = |query: &Query| qrels.get(&query.id).map_or(0, |judged| judged.len());
    // Among equals the one with most relevant datasets says most.
    let by_value = |a: &&Query, b: &&Query| value(a).total_cmp(&value(b));
    let worst = queries
        .iter()
        .min_by(|a, b| by_value(a, b).then(relevant(b).cmp(&relevant(a))));
    let best = queries
        .iter()
        .max_by(|a, b| by_value(a, b).then(relevant(a).cmp(&relevant(b))));
    for (what, query) in [("worst", worst), ("best", best)] {
        let Some(query) = query else { continue };
        println!("\n{what} query of {}: AP {:.3}", run.tag, value(&query));
        println!("  {}", query.text.trim());
        let year = query
            .attributes
            .year()
            .map_or("unknown".to_owned(), |year| year.to_string());
        println!("  year: {year}");
        let found = run.get(&query.id).unwrap_or_default();
        for (rank, scored) in (1..).zip(found) {
            let grade = qrels.grade(&query.id, &scored.doc).unwrap_or(0);
            let mark = if grade > 0 { "relevant" } else { "" };
            println!("  {rank}. {:<40} {:>8.3}  {mark}", scored.doc, scored.score);
        }
        let listed = |doc: &str| found.iter().any(|scored| scored.doc == doc);
        let judged = qrels.get(&query.id).into_iter().flatten();
        let missed: Vec<&str> = judged
            .filter(|(doc, grade)| **grade > 0 && !listed(doc))
            .map(|(doc, _)| doc.as_str())
            .collect();
        if !missed.is_empty() {
            println!("  missed: {}", missed.join(", "));
        }
    }
}
