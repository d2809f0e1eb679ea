//! Results of a task.

use std::collections::BTreeMap;

use ir_core::{Qrels, Run};
use ir_eval::compare::Comparison;
use ir_eval::{ComparisonPage, Measure, PageError, Report, SystemPage};
use ir_system::ScoreFormatName;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::costs::SystemCosts;
use crate::overlap::RankingOverlap;
use crate::selection::SelectionResult;

/// Number of wins and losses of each pair of systems on a page.
const PAGE_QUERIES: usize = 10;

/// Number of queries without hits that are named below a table.
const NAMED_QUERIES: usize = 5;

/// Results of a task.
///
/// Serialized with the comparison, or with the scores of the only system.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TaskResults {
    /// Name of the task.
    pub name: String,
    /// Number of documents of the collection.
    pub documents: usize,
    /// Number of test queries.
    pub queries: usize,
    /// Measures of the experiment.
    pub measures: Vec<Measure>,
    /// Reports of the systems, in the order of the table.
    pub reports: Vec<Report>,
    /// Comparison of the systems; `None` if there is only one.
    pub comparison: Option<Comparison>,
    /// Agreement of the rankings of the systems; empty without
    /// [`overlap_depth`](crate::ComparisonEntry::overlap_depth).
    pub overlaps: Vec<RankingOverlap>,
    /// Costs of the systems; empty without [`costs`](crate::OutputEntry::costs). Runs of the type
    /// `run` have none, nor have systems with a point of a grid for each query.
    pub costs: Vec<SystemCosts>,
    /// Selected points of the grids.
    pub selections: Vec<SelectionResult>,
    /// Runs of the systems, with exact scores; empty after
    /// [`Runner::without_runs`](crate::Runner::without_runs).
    pub runs: Vec<Run>,
    /// Score format of the TREC file of each run.
    pub(crate) formats: Vec<ScoreFormatName>,
    /// Judgments of the test queries.
    pub qrels: Qrels,
}

impl Serialize for TaskResults {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("TaskResults", 9)?;
        fields.serialize_field("name", &self.name)?;
        fields.serialize_field("documents", &self.documents)?;
        fields.serialize_field("queries", &self.queries)?;
        match &self.comparison {
            Some(comparison) => fields.serialize_field("comparison", comparison)?,
            None => {
                let report = self.reports.first();
                let scores: BTreeMap<String, Option<f64>> = (self.measures.iter())
                    .map(|m| (m.to_string(), report.and_then(|it| it.summary(*m))))
                    .collect();
                fields.serialize_field("system", &report.map(Report::run))?;
                fields.serialize_field("scores", &scores)?;
                let missing: Vec<&str> = report.into_iter().flat_map(Report::missing).collect();
                fields.serialize_field("queries_without_hits", &missing)?;
            }
        }
        if !self.overlaps.is_empty() {
            fields.serialize_field("overlaps", &self.overlaps)?;
        }
        if !self.costs.is_empty() {
            fields.serialize_field("costs", &self.costs)?;
        }
        fields.serialize_field("selections", &self.selections)?;
        fields.end()
    }
}

impl TaskResults {
    /// Returns the value of a measure of a system.
    #[must_use]
    pub fn value(&self, system: &str, measure: Measure) -> Option<f64> {
        let mut reports = self.reports.iter();
        reports
            .find(|report| report.run() == system)?
            .summary(measure)
    }

    /// Page with plots: of the comparison, or of the only system.
    pub(crate) fn page(&self, title: &str) -> Result<Option<String>, PageError> {
        let (qrels, queries) = (&self.qrels, PAGE_QUERIES);
        if let Some(comparison) = &self.comparison {
            let runs: Vec<&Run> = self.runs.iter().collect();
            let page = ComparisonPage::from_runs(title, comparison, qrels, &runs, queries)?;
            return Ok(Some(page.to_html()));
        }
        let (Some(report), Some(run)) = (self.reports.first(), self.runs.first()) else {
            return Ok(None);
        };
        let page = SystemPage::from_run(title, report, qrels, run, queries)?;
        Ok(Some(page.to_html()))
    }

    /// Selected points, and queries without hits.
    pub(crate) fn notes(&self) -> Vec<String> {
        let selections = self.selections.iter().map(SelectionResult::describe);
        let mut notes: Vec<String> = selections.collect();
        notes.extend(self.without_hits());
        notes
    }

    /// Says for how many of the judged queries each system has no hits, and names the first ones.
    fn without_hits(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for report in &self.reports {
            let missing: Vec<&str> = report.missing().collect();
            if missing.is_empty() {
                continue;
            }
            lines.push(format!("{}: {}", report.run(), without_hits(&missing)));
        }
        lines
    }
}

/// Number of queries without hits, and the names of the first ones.
fn without_hits(queries: &[&str]) -> String {
    let named = &queries[..queries.len().min(NAMED_QUERIES)];
    let mut names = named.join(", ");
    match queries.len() - named.len() {
        0 => {}
        1 => names.push_str(" and 1 other"),
        others => names.push_str(&format!(" and {others} others")),
    }
    match queries.len() {
        1 => format!("1 judged query without hits: {names}"),
        count => format!("{count} judged queries without hits: {names}"),
    }
}

pub(crate) fn heading(task: &TaskResults) -> String {
    let (name, documents, queries) = (&task.name, task.documents, task.queries);
    match documents {
        0 => format!("{name}: {queries} queries"),
        _ => format!("{name}: {documents} documents, {queries} queries"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_without_hits_are_counted() {
        assert_eq!(without_hits(&["q1"]), "1 judged query without hits: q1");
        let many = ["a", "b", "c", "d", "e", "f", "g"];
        assert_eq!(
            without_hits(&many),
            "7 judged queries without hits: a, b, c, d, e and 2 others"
        );
        assert!(without_hits(&many[..6]).ends_with("d, e and 1 other"));
        assert!(without_hits(&many[..5]).ends_with(": a, b, c, d, e"));
    }
}
