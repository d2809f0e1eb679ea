//! Runs from dictionaries, columns and files, and rank fusion.

use std::collections::HashMap;
use std::path::PathBuf;

use ir_core::Run as CoreRun;
use ir_core::fusion::{Fusion, ScoreCombination, ScoreNormalization, fuse_weighted_runs};
use ir_core::trec::{HeaderLine, ScoreFormat};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyList};

use crate::error::{invalid, raise};
use crate::ids::{choice, expected, id_text};
use crate::judgments::check_lengths;
use crate::work::interruptible;

/// Ranked lists of a system by query id.
#[pyclass(frozen, module = "irrs")]
#[derive(Debug, Clone, Default)]
pub(crate) struct Run {
    tag: String,
    queries: Vec<QueryList>,
    /// Ids of all documents, one after the other.
    docs: String,
    /// End of each id in `docs`, and its score.
    scored: Vec<(usize, f64)>,
}

/// List of a query: rows of `scored`.
#[derive(Debug, Clone)]
struct QueryList {
    query: String,
    rows: std::ops::Range<usize>,
}

impl Run {
    fn start(&mut self, query: &str) {
        let row = self.scored.len();
        self.queries.push(QueryList {
            query: query.to_owned(),
            rows: row..row,
        });
    }

    /// Appends a document to the last list.
    fn push(&mut self, doc: &str, score: f64) {
        self.docs.push_str(doc);
        self.scored.push((self.docs.len(), score));
        if let Some(last) = self.queries.last_mut() {
            last.rows.end = self.scored.len();
        }
    }

    fn check_queries(&self) -> PyResult<()> {
        let mut ids: Vec<&str> = self.queries.iter().map(|it| it.query.as_str()).collect();
        ids.sort_unstable();
        match ids.windows(2).find(|pair| pair[0] == pair[1]) {
            None => Ok(()),
            Some(pair) => Err(invalid(format!(
                "run: query {:?}: expected one list, found two",
                pair[0]
            ))),
        }
    }

    pub(crate) fn tag(&self) -> &str {
        &self.tag
    }

    /// Lists in their order, each with documents and scores.
    pub(crate) fn lists(&self) -> impl Iterator<Item = (&str, impl Iterator<Item = (&str, f64)>)> {
        self.queries.iter().map(|list| {
            let docs = list.rows.clone().map(|row| {
                let start = row.checked_sub(1).map_or(0, |before| self.scored[before].0);
                let (end, score) = self.scored[row];
                (&self.docs[start..end], score)
            });
            (list.query.as_str(), docs)
        })
    }

    fn to_core(&self) -> CoreRun {
        let mut run = CoreRun::new(&self.tag);
        for (query, docs) in self.lists() {
            for (doc, score) in docs {
                run.push(query, doc, score);
            }
        }
        run
    }

    fn from_core(run: &CoreRun) -> Self {
        let mut packed = Self {
            tag: run.tag.clone(),
            ..Self::default()
        };
        for (query, list) in run.iter() {
            packed.start(query);
            for scored in list {
                packed.push(&scored.doc, scored.score);
            }
        }
        packed
    }
}

#[pymethods]
impl Run {
    /// Builds a run of a dictionary from query ids to dictionaries from document ids to scores.
    #[staticmethod]
    #[pyo3(signature = (lists, tag = ""))]
    fn from_dict(lists: &Bound<'_, PyDict>, tag: &str) -> PyResult<Self> {
        let mut run = Self {
            tag: tag.to_owned(),
            ..Self::default()
        };
        for (query, list) in lists.iter() {
            let query = id_text(&query, "run: query id")?;
            let Ok(list) = list.cast::<PyDict>() else {
                let name = format!("run: query {query:?}");
                return Err(expected(
                    &name,
                    "a dictionary from document ids to scores",
                    &list,
                ));
            };
            run.start(&query);
            for (doc, score) in list.iter() {
                let doc = id_text(&doc, "run: document id")?;
                run.push(&doc, score_of(&score, &query, &doc)?);
            }
        }
        run.check_queries()?;
        Ok(run)
    }

    /// Builds a run of columns: query ids, document ids, scores. Rows of a query may be anywhere.
    #[staticmethod]
    #[pyo3(signature = (queries, docs, scores, tag = ""))]
    fn from_columns(
        queries: &Bound<'_, PyList>,
        docs: &Bound<'_, PyList>,
        scores: &Bound<'_, PyList>,
        tag: &str,
    ) -> PyResult<Self> {
        check_lengths(queries, docs, scores)?;
        let mut numbers: HashMap<String, usize> = HashMap::new();
        let mut rows: Vec<(String, Vec<usize>)> = Vec::new();
        for (row, query) in queries.iter().enumerate() {
            let query = id_text(&query, "run: query id")?;
            let number = match numbers.get(&*query) {
                Some(number) => *number,
                None => {
                    let number = rows.len();
                    numbers.insert(query.clone().into_owned(), number);
                    rows.push((query.into_owned(), Vec::new()));
                    number
                }
            };
            rows[number].1.push(row);
        }
        let mut run = Self {
            tag: tag.to_owned(),
            ..Self::default()
        };
        for (query, rows) in &rows {
            run.start(query);
            for row in rows {
                let doc = docs.get_item(*row)?;
                let doc = id_text(&doc, "run: document id")?;
                run.push(&doc, score_of(&scores.get_item(*row)?, query, &doc)?);
            }
        }
        Ok(run)
    }

    /// Reads a run file in TREC format, possibly compressed.
    #[staticmethod]
    fn from_file(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        interruptible(py, None, None, |task| {
            let read = ir_data::read_run(&path, HeaderLine::AsData).map_err(raise)?;
            task.warn_all(&read.warnings);
            Ok(Self::from_core(&read.data))
        })
    }

    /// Writes the run in TREC format; a name that ends in .gz or .zst is compressed.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        interruptible(py, None, None, |_| {
            ir_data::write_run(&path, &self.to_core(), ScoreFormat::Exact).map_err(raise)
        })
    }

    /// Returns the run as a dictionary of dictionaries.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        for (query, docs) in self.lists() {
            let scores = PyDict::new(py);
            for (doc, score) in docs {
                scores.set_item(doc, score)?;
            }
            all.set_item(query, scores)?;
        }
        Ok(all)
    }

    /// Returns the run with another name of the system.
    fn with_name(&self, name: &str) -> Self {
        Self {
            tag: name.to_owned(),
            ..self.clone()
        }
    }

    /// Name of the system.
    #[getter]
    fn name(&self) -> &str {
        &self.tag
    }

    /// Number of queries with a list.
    fn __len__(&self) -> usize {
        self.queries.len()
    }

    fn __repr__(&self) -> String {
        format!(
            "Run({:?}, {} queries, {} results)",
            self.tag,
            self.queries.len(),
            self.scored.len()
        )
    }
}

fn score_of(score: &Bound<'_, PyAny>, query: &str, doc: &str) -> PyResult<f64> {
    if let Ok(score) = score.cast_exact::<PyFloat>() {
        return Ok(score.value());
    }
    if !score.is_instance_of::<PyBool>()
        && let Ok(score) = score.extract::<f64>()
    {
        return Ok(score);
    }
    let name = format!("run: query {query:?}, document {doc:?}");
    Err(expected(&name, "a number as score", score))
}

/// Fuses runs; `irrs.fuse` describes the parameters.
#[pyfunction]
#[pyo3(signature = (runs, method, normalization, weights, k, depth, tag))]
#[allow(clippy::too_many_arguments, reason = "parameters of irrs.fuse")]
pub(crate) fn fuse_runs(
    py: Python<'_>,
    runs: Vec<Py<Run>>,
    method: &str,
    normalization: Option<&str>,
    weights: Option<Vec<f64>>,
    k: Option<f64>,
    depth: Option<usize>,
    tag: &str,
) -> PyResult<Run> {
    let fusion = fusion(method, normalization, k)?;
    let weights = weights.unwrap_or_else(|| vec![1.0; runs.len()]);
    interruptible(py, None, None, |task| {
        let runs: Vec<CoreRun> = runs.iter().map(|run| run.get().to_core()).collect();
        let mut fused = fuse_weighted_runs(tag, &runs, &weights, fusion, task).map_err(raise)?;
        if let Some(depth) = depth {
            fused.truncate(depth);
        }
        Ok(Run::from_core(&fused))
    })
}

/// Methods by their names, as in `ir fuse`.
const METHODS: [(&str, Fusion); 8] = [
    ("rrf", Fusion::RRF),
    ("combsum", Fusion::COMB_SUM),
    ("combmnz", Fusion::COMB_MNZ),
    ("combanz", min_max(ScoreCombination::Anz)),
    ("combmax", min_max(ScoreCombination::Max)),
    ("combmin", min_max(ScoreCombination::Min)),
    ("combmed", min_max(ScoreCombination::Med)),
    ("borda", Fusion::BORDA),
];

const fn min_max(combination: ScoreCombination) -> Fusion {
    Fusion {
        normalization: ScoreNormalization::MinMax,
        combination,
    }
}

const NORMALIZATIONS: [(&str, ScoreNormalization); 4] = [
    ("min-max", ScoreNormalization::MinMax),
    ("z-score", ScoreNormalization::ZScore),
    ("sum", ScoreNormalization::Sum),
    ("none", ScoreNormalization::None),
];

fn fusion(method: &str, normalization: Option<&str>, k: Option<f64>) -> PyResult<Fusion> {
    let mut fusion = choice("method", method, &METHODS)?;
    if let Some(k) = k {
        if method != "rrf" {
            return Err(invalid(format!(
                "k: expected the method rrf, found {method:?}, which has no constant"
            )));
        }
        fusion.combination = ScoreCombination::Rrf { k };
    }
    if let Some(normalization) = normalization {
        if !method.starts_with("comb") {
            return Err(invalid(format!(
                "normalization: expected a comb method, found {method:?}, which uses ranks only"
            )));
        }
        fusion.normalization = choice("normalization", normalization, &NORMALIZATIONS)?;
    }
    Ok(fusion)
}
