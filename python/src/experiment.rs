//! Experiments of TOML files.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use ir_core::store::AtomicFile;
use ir_eval::Measure;
use ir_experiment::{
    Cache, Experiment, ExperimentResults as CoreResults, OutputFormat, Registry, Runner,
};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;

use crate::error::raise;
use crate::evaluation::from_json;
use crate::work::interruptible;

/// Results of an experiment: tables, and values by task, system and measure.
#[pyclass(frozen, module = "irrs")]
#[derive(Debug)]
pub(crate) struct ExperimentResults(CoreResults);

/// Runs an experiment; `irrs.run_experiment` describes the parameters.
#[pyfunction]
#[pyo3(signature = (path, text, cache, threads, progress))]
pub(crate) fn run_experiment(
    py: Python<'_>,
    path: Option<PathBuf>,
    text: Option<String>,
    cache: Option<PathBuf>,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<ExperimentResults> {
    interruptible(py, threads, progress, move |task| {
        let experiment = match (path, text) {
            (Some(path), _) => Experiment::open(path).map_err(raise)?,
            (None, text) => Experiment::from_toml(&text.unwrap_or_default()).map_err(raise)?,
        };
        let cache = match cache {
            Some(folder) => Cache::new(folder),
            None => Cache::temporary().map_err(raise)?,
        };
        let registry = Registry::default();
        let results = Runner::new(&cache, &registry).run(&experiment, task);
        Ok(ExperimentResults(results.map_err(raise)?))
    })
}

#[pymethods]
impl ExperimentResults {
    /// Returns the value of a measure of a system.
    fn value(&self, task: &str, system: &str, measure: &str) -> PyResult<f64> {
        let parsed: Measure = measure.parse().map_err(raise)?;
        let value = self.0.value(task, system, parsed);
        value.ok_or_else(|| PyKeyError::new_err(format!("{task}: {system}: {measure}")))
    }

    /// Names of the tasks.
    #[getter]
    fn tasks(&self) -> Vec<&str> {
        self.0.tasks.iter().map(|task| task.name.as_str()).collect()
    }

    /// Returns the tables as text.
    fn to_text(&self) -> String {
        self.0.to_text()
    }

    /// Returns the tables as Markdown.
    fn to_markdown(&self) -> String {
        self.0.to_markdown()
    }

    /// Returns the tables as LaTeX.
    fn to_latex(&self) -> String {
        self.0.to_latex()
    }

    /// Returns everything in full precision, with values per query, as JSON.
    fn to_json(&self) -> PyResult<String> {
        self.0.to_json().map_err(raise)
    }

    /// Writes files to a folder, in formats of text, markdown, latex, json, html, runs.
    #[pyo3(signature = (folder, formats))]
    fn save(
        &self,
        py: Python<'_>,
        folder: PathBuf,
        formats: Vec<String>,
    ) -> PyResult<Vec<PathBuf>> {
        let formats = formats.iter().map(|name| {
            let json = serde_json::to_string(name).map_err(raise)?;
            from_json("formats", &json)
        });
        let formats: Vec<OutputFormat> = formats.collect::<PyResult<_>>()?;
        interruptible(py, None, None, |_| {
            let mut paths = Vec::new();
            for file in self.0.files(&formats).map_err(raise)? {
                let path = folder.join(file.path);
                if let Some(parent) = path.parent() {
                    fs::create_dir_all(parent).map_err(raise)?;
                }
                let mut output = AtomicFile::create(&path).map_err(raise)?;
                output.write_all(&file.content).map_err(raise)?;
                output.commit().map_err(raise)?;
                paths.push(path);
            }
            Ok(paths)
        })
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let tables = py.import("irrs._tables")?;
        tables
            .call_method1("comparison_html", (self.to_text(),))?
            .extract()
    }

    fn __str__(&self) -> String {
        self.0.to_text()
    }
}
