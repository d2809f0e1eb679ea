//! Table in the layout of the paper's Table 1, and details of single queries.

use anyhow::{Context, Result};
use ir_bm25::Index;
use ir_core::{Qrels, Query, Run};
use ir_eval::compare::{Bootstrap, Comparison, ComparisonConfig, PairwiseTest};
use ir_eval::{Measure, Report};

use crate::task::TimeFilter;

/// Row of the paper's Table 1: system, then mean and standard deviation of P@5, R@5, MAP, MRR, ×
/// 100.
pub type PaperRow = (&'static str, [(f64, f64); 4]);

/// Viswanathan et al., ACL 2023, Table 1, queries in full sentences.
pub const PAPER_SENTENCES: [PaperRow; 4] = [
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
pub const PAPER_KEYPHRASES: [PaperRow; 4] = [
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

pub const NOTE_SIGNIFICANCE: &str = "\
* significantly different from BM25 with the same filter (paired t-test, Holm's correction over the
systems, p <= .05)";

pub const NOTE_REAL: &str = "\
Means × 100 ± bootstrap standard deviation: 1,000 samples, each the distinct topics among half as
many draws as there are topics, as in the paper's script (about a quarter wider than a textbook
bootstrap). The published filter applies the paper's post-filtering to 25 hits; the exact filter
returns the top 5 of the datasets that are old enough. kNN has 597 training queries, all that could
be reconstructed; the paper has 17,495.";

pub const NOTE_BUNDLED: &str = "\
Means × 100 ± bootstrap standard deviation, on the small bundled collection of invented datasets. The
paper's rows show the layout and are not comparable. Set IR_DATA to a folder with the real collection
(see `ir datasets where datafinder`) to reproduce the paper.";

/// Scores of a system with one of the time filters.
pub struct SystemRow {
    pub filter: TimeFilter,
    pub run: Run,
    pub report: Report,
}

/// Table and notes as text.
#[derive(Default)]
pub struct Table {
    pub text: String,
}

impl Table {
    pub fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    /// Prints one row per system and filter, with marks of significance.
    pub fn systems(&mut self, form: &str, rows: &[SystemRow]) -> Result<()> {
        let columns = ["P@5", "R@5", "MAP", "MRR"].map(|name| format!("{name:>13} "));
        self.line(&format!("{form:<40}{}", columns.concat()));
        self.line(&"-".repeat(95));
        // Every system beside BM25 with the same filter.
        let compare = |filter: TimeFilter| -> Result<Comparison> {
            let rows = rows.iter().filter(|row| row.filter == filter);
            let reports: Vec<Report> = rows.map(|row| row.report.clone()).collect();
            Ok(Comparison::new(&reports, &ComparisonConfig::default())?)
        };
        let (unfiltered, exact) = (compare(TimeFilter::None)?, compare(TimeFilter::Exact)?);
        for row in rows {
            let tests: &[PairwiseTest] = match row.filter {
                TimeFilter::None => &unfiltered.pairwise_tests,
                TimeFilter::Published => &[],
                TimeFilter::Exact => &exact.pairwise_tests,
            };
            let name = format!("{}, {}", row.run.tag, row.filter.label());
            let mut cells = String::new();
            for &measure in row.report.measures() {
                let mean = row.report.summary(measure);
                let mean = mean.context("the report lacks the measure")?;
                let estimate = Bootstrap::DATAFINDER.estimate(&row.report, measure)?;
                let significant = tests.iter().any(|test| {
                    test.significant && test.measure == measure && test.system == row.run.tag
                });
                cells += &cell(100.0 * mean, 100.0 * estimate.standard_error);
                cells.push(if significant { '*' } else { ' ' });
            }
            self.line(&format!("{name:<40}{cells}"));
        }
        Ok(())
    }

    pub fn paper(&mut self, rows: &[PaperRow], comparable: bool) {
        for (system, values) in rows {
            let cells = values.iter().map(|&(mean, sd)| cell(mean, sd) + " ");
            let cells: String = cells.collect();
            let other = if comparable { "" } else { " (other data)" };
            self.line(&format!(
                "{:<40}{cells}",
                format!("  paper: {system}{other}")
            ));
        }
        self.line("");
    }

    /// Prints the queries with the lowest and the highest average precision.
    pub fn worst_and_best(
        &mut self,
        SystemRow { run, report, .. }: &SystemRow,
        queries: &[Query],
        qrels: &Qrels,
        index: &Index,
    ) -> Result<()> {
        let value = |query: &Query| report.value(&query.id, Measure::AP).unwrap_or(0.0);
        let relevant = |query: &Query| qrels.get(&query.id).map_or(0, |judged| judged.len());
        // Ties: the query with the most relevant datasets.
        let order = |a: &&Query, b: &&Query| value(a).total_cmp(&value(b));
        let most = |a: &&Query, b: &&Query| relevant(a).cmp(&relevant(b));
        let worst = queries.iter().min_by(|a, b| order(a, b).then(most(b, a)));
        let best = queries.iter().max_by(|a, b| order(a, b).then(most(a, b)));
        for (label, query) in [("worst", worst), ("best", best)] {
            let Some(query) = query else { continue };
            self.line(&format!(
                "\n{label} query of {} (full sentences, exact time filter): AP {:.3}",
                run.tag,
                value(query)
            ));
            let year = query
                .attributes
                .year()
                .map_or("year unknown".into(), |y| y.to_string());
            self.line(&format!("  \"{}\" ({year})", query.text.trim()));
            let found = run.get(&query.id).unwrap_or_default();
            for (rank, scored) in (1..).zip(found) {
                let hit = describe(index, &scored.doc)?;
                let grade = qrels.grade(&query.id, &scored.doc).unwrap_or(0);
                let mark = if grade > 0 { "relevant" } else { "" };
                self.line(&format!("  {rank}. {:>6.3}  {mark:<9} {hit}", scored.score));
            }
            let listed = |doc: &str| found.iter().any(|scored| scored.doc == doc);
            let judged = qrels.get(&query.id).into_iter().flatten();
            let missed = judged.filter(|(doc, grade)| *grade > 0 && !listed(doc));
            for (doc, _) in missed.take(5) {
                self.line(&format!("  missed: {}", describe(index, doc)?));
            }
        }
        Ok(())
    }
}

fn cell(mean: f64, deviation: f64) -> String {
    format!("{:>13}", format!("{mean:.1} ± {deviation:.1}"))
}

/// Name, year and start of the description of a dataset.
fn describe(index: &Index, id: &str) -> Result<String> {
    let Some(doc) = index.ids().get(id) else {
        return Ok(format!("{id} (not in the collection)"));
    };
    let year = index
        .years()
        .get(doc)
        .map_or("----".into(), |year| year.to_string());
    let text = index.document(doc)?.text;
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let start: String = words.chars().take(60).collect();
    Ok(format!("{id} ({year}): {start} ..."))
}
