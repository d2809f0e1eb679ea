//! Relevance judgments from dictionaries, columns and files.

use std::path::PathBuf;

use ir_core::trec::{self, HeaderLine};
use ir_core::{Grade, Judgments, Qrels as PlainQrels, StratifiedQrels, SubtopicQrels};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyList};

use crate::error::{invalid, raise};
use crate::ids::{expected, id_text};
use crate::work::interruptible;

/// Relevance judgments of queries. `irrs.evaluate` makes them of dictionaries, data frames and
/// files; build them once to evaluate many runs.
#[pyclass(frozen, module = "irrs")]
#[derive(Debug)]
pub(crate) struct Qrels(AnyQrels);

#[derive(Debug)]
enum AnyQrels {
    Plain(PlainQrels),
    Subtopics(SubtopicQrels),
    Strata(StratifiedQrels),
}

impl Qrels {
    pub(crate) fn judgments(&self) -> &dyn Judgments {
        match &self.0 {
            AnyQrels::Plain(qrels) => qrels,
            AnyQrels::Subtopics(qrels) => qrels,
            AnyQrels::Strata(qrels) => qrels,
        }
    }

    /// Judgments without subtopics and strata.
    pub(crate) fn plain(&self) -> &PlainQrels {
        match &self.0 {
            AnyQrels::Plain(qrels) => qrels,
            AnyQrels::Subtopics(qrels) => qrels.qrels(),
            AnyQrels::Strata(qrels) => qrels.qrels(),
        }
    }
}

#[pymethods]
impl Qrels {
    /// Builds judgments of a dictionary from query ids to dictionaries from document ids to grades.
    #[staticmethod]
    fn from_dict(judgments: &Bound<'_, PyDict>) -> PyResult<Self> {
        let mut qrels = PlainQrels::new();
        for (query, judged) in judgments.iter() {
            let query = id_text(&query, "qrels: query id")?;
            let Ok(judged) = judged.cast::<PyDict>() else {
                let name = format!("qrels: query {query:?}");
                return Err(expected(
                    &name,
                    "a dictionary from document ids to grades",
                    &judged,
                ));
            };
            for (doc, grade) in judged.iter() {
                let doc = id_text(&doc, "qrels: document id")?;
                let grade = grade_of(&grade, &query, &doc)?;
                if qrels.insert(&query, &doc, grade).is_some() {
                    return Err(repeated(&query, &doc));
                }
            }
        }
        Ok(Self(AnyQrels::Plain(qrels)))
    }

    /// Builds judgments of columns: query ids, document ids, grades and, for diversity measures,
    /// subtopics.
    #[staticmethod]
    #[pyo3(signature = (queries, docs, grades, subtopics = None))]
    fn from_columns(
        queries: &Bound<'_, PyList>,
        docs: &Bound<'_, PyList>,
        grades: &Bound<'_, PyList>,
        subtopics: Option<&Bound<'_, PyList>>,
    ) -> PyResult<Self> {
        check_lengths(queries, docs, grades)?;
        let mut plain = PlainQrels::new();
        let mut with_subtopics = SubtopicQrels::new();
        for (n, query) in queries.iter().enumerate() {
            let query = id_text(&query, "qrels: query id")?;
            let doc = docs.get_item(n)?;
            let doc = id_text(&doc, "qrels: document id")?;
            let grade = grade_of(&grades.get_item(n)?, &query, &doc)?;
            let found = match subtopics {
                None => plain.insert(&query, &doc, grade),
                Some(subtopics) => {
                    let subtopic = subtopics.get_item(n)?;
                    let subtopic = id_text(&subtopic, "qrels: subtopic")?;
                    with_subtopics.insert(&query, &subtopic, &doc, grade)
                }
            };
            if found.is_some() {
                return Err(repeated(&query, &doc));
            }
        }
        Ok(Self(match subtopics {
            None => AnyQrels::Plain(plain),
            Some(_) => AnyQrels::Subtopics(with_subtopics),
        }))
    }

    /// Reads a file in TREC, BEIR or JSON format, possibly compressed. `kind` is "grades",
    /// "subtopics" or "strata".
    #[staticmethod]
    #[pyo3(signature = (path, kind = "grades"))]
    fn from_file(py: Python<'_>, path: PathBuf, kind: &str) -> PyResult<Self> {
        let header = HeaderLine::AsData;
        let source = path.display().to_string();
        let qrels = interruptible(py, None, None, |task| match kind {
            "grades" => {
                let read = ir_data::read_qrels_any(&path, header).map_err(raise)?;
                task.warn_all(&read.warnings);
                Ok(AnyQrels::Plain(read.data))
            }
            "subtopics" => {
                let file = ir_data::open(&path).map_err(raise)?;
                let read = trec::read_subtopic_qrels(file, &source, header).map_err(raise)?;
                task.warn_all(&read.warnings);
                Ok(AnyQrels::Subtopics(read.data))
            }
            "strata" => {
                let file = ir_data::open(&path).map_err(raise)?;
                let read = trec::read_stratified_qrels(file, &source, header).map_err(raise)?;
                task.warn_all(&read.warnings);
                Ok(AnyQrels::Strata(read.data))
            }
            other => Err(invalid(format!(
                "kind: expected one of grades, subtopics, strata, found {other:?}"
            ))),
        })?;
        Ok(Self(qrels))
    }

    /// Returns the judgments as a dictionary of dictionaries.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        for (query, judged) in self.plain().iter() {
            let grades = PyDict::new(py);
            for (doc, grade) in judged.iter() {
                grades.set_item(doc, grade)?;
            }
            all.set_item(query, grades)?;
        }
        Ok(all)
    }

    /// Number of queries with judgments.
    fn __len__(&self) -> usize {
        self.plain().len()
    }

    fn __repr__(&self) -> String {
        let (queries, judgments) = (self.plain().len(), self.plain().judgments());
        format!("Qrels({queries} queries, {judgments} judgments)")
    }
}

/// Grade: an integer, or a number without fraction, as pandas makes of integers beside missing
/// values.
fn grade_of(grade: &Bound<'_, PyAny>, query: &str, doc: &str) -> PyResult<Grade> {
    if !grade.is_instance_of::<PyBool>() {
        if let Ok(grade) = grade.extract::<Grade>() {
            return Ok(grade);
        }
        let number = grade.cast::<PyFloat>().ok().map(|number| number.value());
        if let Some(number) = number.filter(|it| it.fract() == 0.0 && it.abs() < 1e15) {
            return Ok(number as Grade);
        }
    }
    let name = format!("qrels: query {query:?}, document {doc:?}");
    Err(expected(&name, "an integer as grade", grade))
}

fn repeated(query: &str, doc: &str) -> PyErr {
    invalid(format!(
        "qrels: query {query:?}: document {doc:?} is judged twice"
    ))
}

/// Checks that columns have the same length.
pub(crate) fn check_lengths(
    queries: &Bound<'_, PyList>,
    docs: &Bound<'_, PyList>,
    values: &Bound<'_, PyList>,
) -> PyResult<()> {
    let (expected, found) = (queries.len(), [docs.len(), values.len()]);
    match found.into_iter().find(|found| *found != expected) {
        None => Ok(()),
        Some(found) => Err(invalid(format!(
            "expected columns of {expected} rows, found {found}"
        ))),
    }
}
