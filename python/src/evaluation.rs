//! Evaluation of runs and comparison of systems.

use std::path::PathBuf;

use ir_core::trec::HeaderLine;
use ir_eval::compare::Comparison as CoreComparison;
use ir_eval::{Evaluator, Measure, Report as CoreReport, Rules, RunFileOptions};
use ir_experiment::ComparisonEntry;
use numpy::PyArray1;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::de::DeserializeOwned;

use crate::error::{invalid, raise};
use crate::judgments::Qrels;
use crate::run::Run;
use crate::work::interruptible;

/// Values of a run: means, and values per query. `irrs.evaluate` makes it.
///
/// `report["nDCG@10"]` is a mean. Measures have the names of `report.measures`, and the names of
/// ir_measures and trec_eval are accepted.
#[pyclass(frozen, module = "irrs", from_py_object)]
#[derive(Debug, Clone)]
pub(crate) struct Report(CoreReport);

/// Parses JSON that the Python files of the package have written.
pub(crate) fn from_json<T: DeserializeOwned>(name: &str, json: &str) -> PyResult<T> {
    serde_json::from_str(json).map_err(|error| {
        let text = error.to_string();
        // The position is in the JSON, which no user has seen.
        let text = text.split(" at line ").next().unwrap_or_default();
        invalid(format!("{name}: {text}"))
    })
}

fn parse_measure(name: &str) -> PyResult<Measure> {
    name.parse().map_err(raise)
}

fn parse_rules(rules: Option<&str>) -> PyResult<Rules> {
    match rules {
        None => Ok(Rules::default()),
        Some("trec_eval-10") => Ok(Rules::TREC_EVAL_10),
        Some("trec_eval-9.0.8") => Ok(Rules::TREC_EVAL_9_0_8),
        Some("trec_eval-9.0.4" | "pytrec_eval") => Ok(Rules::TREC_EVAL_9_0_4),
        Some(json) if json.starts_with('{') => from_json("rules", json),
        Some(other) => Err(invalid(format!(
            "rules: expected a dictionary, or one of trec_eval-10, trec_eval-9.0.8, trec_eval-9.0.4, pytrec_eval, found \
             {other:?}"
        ))),
    }
}

fn parse_measures(names: &[String]) -> PyResult<Vec<Measure>> {
    names.iter().map(|name| parse_measure(name)).collect()
}

/// Returns the canonical name of a measure. Raises IrError for an unknown one.
#[pyfunction]
pub(crate) fn measure_name(name: &str) -> PyResult<String> {
    Ok(parse_measure(name)?.to_string())
}

/// Evaluates a run; `irrs.evaluate` describes the parameters.
#[pyfunction]
#[pyo3(signature = (qrels, run, measures, rules = None))]
pub(crate) fn evaluate_run(
    py: Python<'_>,
    qrels: &Qrels,
    run: &Run,
    measures: Vec<String>,
    rules: Option<&str>,
) -> PyResult<Report> {
    let (measures, rules) = (parse_measures(&measures)?, parse_rules(rules)?);
    let report = interruptible(py, None, None, |_| {
        let evaluator =
            Evaluator::with_rules(qrels.judgments(), &measures, rules).map_err(raise)?;
        evaluator
            .evaluate_lists(run.tag(), run.lists())
            .map_err(raise)
    })?;
    Ok(Report(report))
}

/// Evaluates a run file; `irrs.evaluate` describes the parameters.
#[pyfunction]
#[pyo3(signature = (qrels, path, measures, rules = None))]
pub(crate) fn evaluate_file(
    py: Python<'_>,
    qrels: &Qrels,
    path: PathBuf,
    measures: Vec<String>,
    rules: Option<&str>,
) -> PyResult<Report> {
    let (measures, rules) = (parse_measures(&measures)?, parse_rules(rules)?);
    interruptible(py, None, None, |task| {
        let evaluator =
            Evaluator::with_rules(qrels.judgments(), &measures, rules).map_err(raise)?;
        if ir_data::is_plain(&path).map_err(raise)? {
            let read = evaluator.evaluate_file(&path, RunFileOptions::default());
            let read = read.map_err(raise)?;
            task.warn_all(&read.warnings);
            return Ok(Report(read.data));
        }
        let read = ir_data::read_run(&path, HeaderLine::AsData).map_err(raise)?;
        task.warn_all(&read.warnings);
        evaluator.evaluate(&read.data).map_err(raise).map(Report)
    })
}

#[pymethods]
impl Report {
    /// Restores a pickled report.
    #[staticmethod]
    fn from_json(json: &str) -> PyResult<Self> {
        from_json("report", json).map(Self)
    }

    /// Returns everything as JSON: rules, measures, values per query.
    fn to_json(&self) -> PyResult<String> {
        serde_json::to_string(&self.0).map_err(raise)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        let restore = py.get_type::<Self>().getattr("from_json")?;
        Ok((restore, (self.to_json()?,)))
    }

    /// Returns the report with another name of the run, which tables and comparisons show.
    fn with_name(&self, name: &str) -> Self {
        Self(self.0.clone().with_run_name(name))
    }

    /// Name of the run.
    #[getter]
    fn name(&self) -> &str {
        self.0.run()
    }

    /// Names of the measures.
    #[getter]
    fn measures(&self) -> Vec<String> {
        self.0.measures().iter().map(Measure::to_string).collect()
    }

    /// Ids of the queries that count, in ascending order.
    #[getter]
    fn queries(&self) -> Vec<&str> {
        self.0.queries().iter().map(|it| it.query()).collect()
    }

    /// Ids of the queries with judgments but without results.
    #[getter]
    fn missing(&self) -> Vec<&str> {
        self.0.missing().collect()
    }

    /// Ids of the queries with results but without judgments, which never count.
    #[getter]
    fn unjudged(&self) -> Vec<&str> {
        self.0.unjudged().collect()
    }

    /// Evaluation rules, in words.
    #[getter]
    fn rules(&self) -> String {
        self.0.rules().to_string()
    }

    /// Dictionary from measures to their means; sums for counts, geometric means for GMAP.
    #[getter]
    fn mean<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let means = PyDict::new(py);
        for &measure in self.0.measures() {
            means.set_item(measure.to_string(), self.0.summary(measure))?;
        }
        Ok(means)
    }

    /// Dictionary from query ids to dictionaries from measures to values, as pytrec_eval returns.
    #[getter]
    fn per_query<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let names = self.measures();
        let all = PyDict::new(py);
        for query in self.0.queries() {
            let values = PyDict::new(py);
            for (name, value) in names.iter().zip(query.values()) {
                values.set_item(name, value)?;
            }
            all.set_item(query.query(), values)?;
        }
        Ok(all)
    }

    /// Returns the values of a measure, float64 of shape [queries], in the order of `queries`.
    fn values<'py>(&self, py: Python<'py>, measure: &str) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let values = self.0.values(parse_measure(measure)?);
        let values = values.ok_or_else(|| PyKeyError::new_err(self.unknown(measure)))?;
        Ok(PyArray1::from_iter(py, values))
    }

    /// Returns a pandas data frame: one row per query, one column per measure.
    fn to_pandas<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let tables = py.import("irrs._tables")?;
        tables.call_method1("report_frame", (self.per_query(py)?,))
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let tables = py.import("irrs._tables")?;
        let html =
            tables.call_method1("report_html", (self.name(), self.mean(py)?, self.rules()))?;
        html.extract()
    }

    fn __getitem__(&self, measure: &str) -> PyResult<f64> {
        let mean = self.0.summary(parse_measure(measure)?);
        mean.ok_or_else(|| PyKeyError::new_err(self.unknown(measure)))
    }

    fn __len__(&self) -> usize {
        self.0.measures().len()
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        let means = self.0.measures().iter();
        let means: Vec<String> = means
            .map(|&measure| {
                format!(
                    "{measure}: {:.4}",
                    self.0.summary(measure).unwrap_or(f64::NAN)
                )
            })
            .collect();
        format!("Report({:?}, {})", self.0.run(), means.join(", "))
    }
}

impl Report {
    fn unknown(&self, measure: &str) -> String {
        format!(
            "expected one of {}, found {measure:?}",
            self.measures().join(", ")
        )
    }
}

/// Comparison of systems: scores with confidence intervals, significance tests, effect sizes.
/// `irrs.compare` makes it.
#[pyclass(frozen, module = "irrs")]
#[derive(Debug)]
pub(crate) struct Comparison(CoreComparison);

/// Compares reports of the same judgments; `config` is JSON of the keys of `[comparison]` in
/// experiment files.
#[pyfunction]
#[pyo3(signature = (reports, config, progress = None))]
pub(crate) fn compare_reports(
    py: Python<'_>,
    reports: Vec<Report>,
    config: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<Comparison> {
    let config = from_json::<ComparisonEntry>("comparison", config)?.config();
    config.check_samples().map_err(raise)?;
    let reports: Vec<CoreReport> = reports.into_iter().map(|report| report.0).collect();
    let comparison = interruptible(py, None, progress, |task| {
        CoreComparison::with_progress(&reports, &config, task).map_err(raise)
    })?;
    Ok(Comparison(comparison))
}

#[pymethods]
impl Comparison {
    /// Restores a pickled comparison.
    #[staticmethod]
    fn from_json(json: &str) -> PyResult<Self> {
        from_json("comparison", json).map(Self)
    }

    /// Returns everything as JSON: configuration, measures, queries, systems with values per query,
    /// tests.
    fn to_json(&self) -> PyResult<String> {
        serde_json::to_string(&self.0).map_err(raise)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        let restore = py.get_type::<Self>().getattr("from_json")?;
        Ok((restore, (self.to_json()?,)))
    }

    /// Returns the tables as text.
    fn to_text(&self) -> String {
        self.0.to_text()
    }

    /// Returns the table as Markdown.
    fn to_markdown(&self) -> String {
        self.0.to_markdown()
    }

    /// Returns the table as LaTeX.
    fn to_latex(&self) -> String {
        self.0.to_latex()
    }

    /// Returns a pandas data frame of the tests: one row per pair of systems and measure.
    fn to_pandas<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let tables = py.import("irrs._tables")?;
        tables.call_method1("comparison_frame", (self.to_json()?,))
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let tables = py.import("irrs._tables")?;
        tables
            .call_method1("comparison_html", (self.to_text(),))?
            .extract()
    }

    /// Returns the value of a measure of a system.
    fn score(&self, system: &str, measure: &str) -> PyResult<f64> {
        let found = self.0.score(system, parse_measure(measure)?);
        let found = found.ok_or_else(|| PyKeyError::new_err(format!("{system}: {measure}")))?;
        Ok(found.value)
    }

    fn __str__(&self) -> String {
        self.0.to_text()
    }
}
