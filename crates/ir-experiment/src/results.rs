//! Results of an experiment: tables, pages, JSON and runs.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ir_core::trec::{ScoreFormat, TrecWriteError, write_run};
use ir_core::{Qrels, Run};
use ir_eval::{Comparison, ComparisonPage, Measure, PageError, Report, SystemPage};
use ir_system::ContentHash;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::classification::ClassificationResults;
use crate::file::{Experiment, OutputFormat};
use crate::overlap::RankingOverlap;
use crate::selection::SelectionResult;
use crate::tables::{TableFormat, accuracies, overlap_table, task_table};

/// Number of wins and losses of each pair of systems on a page.
const PAGE_QUERIES: usize = 10;

/// Number of queries without hits that are named below a table.
const NAMED_QUERIES: usize = 5;

/// Results of an experiment.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ExperimentResults {
    /// Title of the experiment.
    pub title: String,
    /// Description of the experiment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Results of the tasks, in order.
    pub tasks: Vec<TaskResults>,
    /// Accuracies of the classifications, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classifications: Vec<ClassificationResults>,
}

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
    /// Selected points of the grids.
    pub selections: Vec<SelectionResult>,
    /// Runs of the systems, with exact scores.
    pub runs: Vec<Run>,
    /// Judgments of the test queries.
    pub qrels: Qrels,
}

/// File of the results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultFile {
    /// Path below the output folder.
    pub path: PathBuf,
    /// Bytes of the file.
    pub content: Vec<u8>,
}

/// Error writing the results of an experiment.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum ResultsError {
    /// A run that cannot be written as TREC file.
    #[error("run of {system:?}")]
    Run {
        system: String,
        #[source]
        source: TrecWriteError,
    },
    /// The plots of a page cannot be computed.
    #[error(transparent)]
    Page(#[from] PageError),
    /// A value cannot be serialized.
    #[error("JSON")]
    Json(#[from] serde_json::Error),
}

impl Serialize for TaskResults {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("TaskResults", 8)?;
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
    fn page(&self, title: &str) -> Result<Option<String>, PageError> {
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
    fn notes(&self) -> Vec<String> {
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

impl ExperimentResults {
    pub(crate) fn new(
        experiment: &Experiment,
        tasks: Vec<TaskResults>,
        classifications: Vec<ClassificationResults>,
    ) -> Self {
        Self {
            title: experiment.title(),
            description: experiment.description.clone(),
            tasks,
            classifications,
        }
    }

    /// Returns the results of a task.
    #[must_use]
    pub fn task(&self, name: &str) -> Option<&TaskResults> {
        self.tasks.iter().find(|task| task.name == name)
    }

    /// Returns the value of a measure of a system.
    #[must_use]
    pub fn value(&self, task: &str, system: &str, measure: Measure) -> Option<f64> {
        self.task(task)?.value(system, measure)
    }

    /// Writes the tables of all tasks as text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = format!("{}\n", self.title);
        for task in &self.tasks {
            text.push_str(&format!("\n{}\n\n", heading(task)));
            text.push_str(&task_table(task, TableFormat::Text));
            text.push_str(&overlap_table(task, TableFormat::Text));
            for note in task.notes() {
                text.push_str(&format!("{note}\n"));
            }
        }
        text.push_str(&accuracies(&self.classifications, TableFormat::Text));
        text
    }

    /// Returns the accuracies of a classification.
    #[must_use]
    pub fn classification(&self, name: &str) -> Option<&ClassificationResults> {
        self.classifications.iter().find(|found| found.name == name)
    }

    /// Writes the tables of all tasks as Markdown.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        let mut text = format!("# {}\n", self.title);
        if let Some(description) = &self.description {
            text.push_str(&format!("\n{}\n", description.trim()));
        }
        for task in &self.tasks {
            text.push_str(&format!("\n## {}\n\n", heading(task)));
            text.push_str(&task_table(task, TableFormat::Markdown));
            text.push_str(&overlap_table(task, TableFormat::Markdown));
            for note in task.notes() {
                text.push_str(&format!("\n{note}\n"));
            }
        }
        text.push_str(&accuracies(&self.classifications, TableFormat::Markdown));
        text
    }

    /// Writes the tables of all tasks as LaTeX.
    #[must_use]
    pub fn to_latex(&self) -> String {
        let mut text = String::new();
        let format = TableFormat::Latex { title: &self.title };
        for task in &self.tasks {
            text.push_str(&format!("% {}: {}\n", self.title, heading(task)));
            for note in task.notes() {
                text.push_str(&format!("% {}\n", note.replace(char::is_control, " ")));
            }
            text.push_str(&task_table(task, format));
            text.push_str(&overlap_table(task, format));
        }
        text.push_str(&accuracies(&self.classifications, format));
        text
    }

    /// Returns everything in full precision, with per-query values, as JSON.
    ///
    /// # Errors
    /// [`ResultsError::Json`].
    pub fn to_json(&self) -> Result<String, ResultsError> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// Returns the files of an output folder in the given formats.
    ///
    /// # Errors
    /// An id cannot be written in a TREC file, or a page cannot be computed.
    pub fn files(&self, formats: &[OutputFormat]) -> Result<Vec<ResultFile>, ResultsError> {
        let mut files = Vec::new();
        let mut add = |path: PathBuf, content: Vec<u8>| files.push(ResultFile { path, content });
        for format in formats {
            match format {
                OutputFormat::Text => add("table.txt".into(), self.to_text().into()),
                OutputFormat::Markdown => add("table.md".into(), self.to_markdown().into()),
                OutputFormat::Latex => add("table.tex".into(), self.to_latex().into()),
                OutputFormat::Json => add("results.json".into(), self.to_json()?.into()),
                OutputFormat::Html => {
                    for task in &self.tasks {
                        let title = format!("{}: {}", self.title, task.name);
                        if let Some(page) = task.page(&title)? {
                            let path = format!("{}.html", file_name(&task.name));
                            add(path.into(), page.into());
                        }
                    }
                }
                OutputFormat::Runs => {
                    for task in &self.tasks {
                        let folder = PathBuf::from("runs").join(file_name(&task.name));
                        for run in &task.runs {
                            let (path, content) = trec_file(run)?;
                            add(folder.join(path), content);
                        }
                    }
                }
            }
        }
        Ok(files)
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

/// Name and content of the TREC file of a run.
fn trec_file(run: &Run) -> Result<(String, Vec<u8>), ResultsError> {
    let name = file_name(&run.tag);
    let mut content = Vec::new();
    let mut tagged = run.clone();
    tagged.tag.clone_from(&name);
    let written = write_run(&tagged, ScoreFormat::Exact, &mut content);
    written.map_err(|source| ResultsError::Run {
        system: run.tag.clone(),
        source,
    })?;
    Ok((format!("{name}.trec"), content))
}

pub(crate) fn heading(task: &TaskResults) -> String {
    let (name, documents, queries) = (&task.name, task.documents, task.queries);
    match documents {
        0 => format!("{name}: {queries} queries"),
        _ => format!("{name}: {documents} documents, {queries} queries"),
    }
}

/// Portable file name of a system or task, in lower case. A name that becomes empty is replaced by
/// its hash.
pub(crate) fn file_name(name: &str) -> String {
    let mut portable = portable_file_name(name).to_ascii_lowercase();
    if portable.is_empty() {
        let mut hash = ContentHash::default();
        hash.text(name);
        portable = hash.finish()[..8].to_owned();
    }
    portable
}

/// Converts a title to a portable file name of at most 100 bytes: ASCII letters and digits, `.`,
/// `=` and `_`; other characters become `-`. Empty if there are none.
///
/// ```
/// use ir_experiment::portable_file_name;
/// assert_eq!(portable_file_name("nDCG@10: a/b against ../c"), "nDCG-10-a-b-against-..-c");
/// assert_eq!(portable_file_name("../../etc"), "etc");
/// ```
#[must_use]
pub fn portable_file_name(title: &str) -> String {
    let mut name = String::new();
    for c in title.chars() {
        match c {
            c if c.is_ascii_alphanumeric() || matches!(c, '.' | '=' | '_') => name.push(c),
            _ if name.ends_with('-') || name.is_empty() => {}
            _ => name.push('-'),
        }
        if name.len() >= 100 {
            break;
        }
    }
    name.trim_matches(|c| c == '-' || c == '.').to_owned()
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

    #[test]
    fn names_become_names_of_files() {
        assert_eq!(portable_file_name("検索"), "");
        assert_eq!(portable_file_name(&"x".repeat(500)).len(), 100);
        assert_eq!(file_name("BM25 (k1 = 0.9)"), "bm25-k1-=-0.9");
        assert_eq!(file_name("検索").len(), 8);
        assert_ne!(file_name("検索"), file_name("推薦"));
    }
}
