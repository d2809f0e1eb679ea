//! Results of an experiment: tables, pages, JSON and runs.

use std::path::PathBuf;

use ir_core::Run;
use ir_core::trec::{TrecWriteError, write_run};
use ir_eval::{Measure, PageError};
use ir_system::ScoreFormatName;
use serde::Serialize;

use crate::classification::ClassificationResults;
use crate::file::{Experiment, OutputFormat};
use crate::file_name::{file_name, run_tag};
use crate::tables::{TableFormat, accuracies, costs_table, overlap_table, task_table};
use crate::task_results::{TaskResults, heading};

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
            text.push_str(&costs_table(task, TableFormat::Text));
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
            text.push_str(&costs_table(task, TableFormat::Markdown));
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
            text.push_str(&costs_table(task, format));
        }
        text.push_str(&accuracies(&self.classifications, format));
        text
    }

    /// Returns everything in full precision, with per-query values, as JSON.
    ///
    /// # Errors
    /// Returns [`ResultsError::Json`] if serialization fails.
    pub fn to_json(&self) -> Result<String, ResultsError> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// Returns the files of an output folder in the given formats.
    ///
    /// # Errors
    /// Returns an error if an id cannot be written in a TREC file, or a page cannot be computed.
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
                        for (run, format) in task.runs.iter().zip(&task.formats) {
                            let (path, content) = trec_file(run, *format)?;
                            add(folder.join(path), content);
                        }
                    }
                }
            }
        }
        Ok(files)
    }
}

/// Name and content of the TREC file of a run.
fn trec_file(run: &Run, format: ScoreFormatName) -> Result<(String, Vec<u8>), ResultsError> {
    let mut content = Vec::new();
    let tag = run_tag(&run.tag);
    let renamed = (tag != run.tag).then(|| {
        let mut renamed = run.clone();
        renamed.tag = tag;
        renamed
    });
    let written = write_run(renamed.as_ref().unwrap_or(run), format.into(), &mut content);
    written.map_err(|source| ResultsError::Run {
        system: run.tag.clone(),
        source,
    })?;
    Ok((format!("{}.trec", file_name(&run.tag)), content))
}
