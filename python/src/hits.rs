//! Results of searches, as sequences and arrays.

use std::sync::Arc;

use ir_core::{DocIds, Ranking};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};

/// Hits of one query, best first: a sequence of pairs of id and score.
///
/// Attributes `ids`, `scores` (float32, [hits]) and `docs` (uint32 document numbers, [hits]).
#[pyclass(frozen, sequence, module = "irrs")]
#[derive(Debug)]
pub(crate) struct Hits {
    pub(crate) ranking: Ranking,
    pub(crate) ids: Arc<DocIds>,
}

#[pymethods]
impl Hits {
    /// Document ids, a list of strings.
    #[getter]
    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(
            py,
            self.ranking.hits().iter().map(|hit| self.ids.id(hit.doc)),
        )
    }

    /// Scores, float32 of shape [hits].
    #[getter]
    fn scores<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f32>> {
        PyArray1::from_iter(py, self.ranking.iter().map(|hit| hit.score))
    }

    /// Document numbers, uint32 of shape [hits].
    #[getter]
    fn docs<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        PyArray1::from_iter(py, self.ranking.iter().map(|hit| hit.doc.get()))
    }

    /// Returns a dictionary from ids to scores, best first.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let scores = PyDict::new(py);
        for hit in &self.ranking {
            scores.set_item(self.ids.id(hit.doc), hit.score)?;
        }
        Ok(scores)
    }

    fn __len__(&self) -> usize {
        self.ranking.len()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, rank: isize) -> PyResult<Bound<'py, PyTuple>> {
        let hit = self.ranking.hits()[position(rank, self.ranking.len())?];
        (self.ids.id(hit.doc), hit.score).into_pyobject(py)
    }

    fn __repr__(&self) -> String {
        let shown = self.ranking.iter().take(3);
        let shown: Vec<String> = shown
            .map(|hit| format!("({:?}, {:.4})", self.ids.id(hit.doc), hit.score))
            .collect();
        let more = if self.ranking.len() > 3 { ", ..." } else { "" };
        format!(
            "Hits([{}{more}], len={})",
            shown.join(", "),
            self.ranking.len()
        )
    }
}

/// Index from the start, of one that may be negative.
fn position(index: isize, len: usize) -> PyResult<usize> {
    let from_start = if index < 0 {
        index + len as isize
    } else {
        index
    };
    let found = usize::try_from(from_start)
        .ok()
        .filter(|index| *index < len);
    found.ok_or_else(|| {
        PyIndexError::new_err(format!("expected an index below {len}, found {index}"))
    })
}

/// Hits of several queries: a sequence of `Hits`, and arrays over all queries.
#[pyclass(frozen, sequence, module = "irrs")]
#[derive(Debug)]
pub(crate) struct Results {
    pub(crate) rankings: Vec<Ranking>,
    pub(crate) ids: Arc<DocIds>,
    pub(crate) queries: Vec<String>,
    pub(crate) k: usize,
}

impl Results {
    /// Values of all hits, row by row, padded at the end of short rows.
    fn padded<T: Clone>(&self, pad: T, value: impl Fn(ir_core::Hit) -> T) -> Vec<T> {
        let columns = self.columns();
        let mut all = vec![pad; self.rankings.len() * columns];
        for (row, ranking) in all.chunks_exact_mut(columns.max(1)).zip(&self.rankings) {
            for (cell, hit) in row.iter_mut().zip(ranking) {
                *cell = value(*hit);
            }
        }
        all
    }

    /// Number of columns of the arrays: the length of the longest list.
    fn columns(&self) -> usize {
        let longest = self.rankings.iter().map(Ranking::len).max();
        longest.unwrap_or(0)
    }
}

#[pymethods]
impl Results {
    /// Ids of the queries: the keys of a dictionary, the column `qid` of a data frame, otherwise
    /// "0", "1", ...
    #[getter]
    fn queries(&self) -> Vec<&str> {
        self.queries.iter().map(String::as_str).collect()
    }

    /// Document ids, a list of lists.
    #[getter]
    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let lists = self
            .rankings
            .iter()
            .map(|ranking| PyList::new(py, ranking.iter().map(|hit| self.ids.id(hit.doc))));
        let lists: Vec<Bound<'py, PyList>> = lists.collect::<PyResult<_>>()?;
        PyList::new(py, lists)
    }

    /// Scores, float32 of shape [queries, length of the longest list]; -inf where a list is
    /// shorter.
    #[getter]
    fn scores<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let all = self.padded(f32::NEG_INFINITY, |hit| hit.score);
        all.into_pyarray(py)
            .reshape([self.rankings.len(), self.columns()])
    }

    /// Document numbers, int64 of shape [queries, length of the longest list]; -1 where a list is
    /// shorter.
    #[getter]
    fn docs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i64>>> {
        let all = self.padded(-1, |hit| i64::from(hit.doc.get()));
        all.into_pyarray(py)
            .reshape([self.rankings.len(), self.columns()])
    }

    /// Returns the run as a dictionary from query ids to dictionaries from document ids to scores,
    /// for `irrs.evaluate`, pytrec_eval and ranx.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        for (query, ranking) in self.queries.iter().zip(&self.rankings) {
            let scores = PyDict::new(py);
            for hit in ranking {
                scores.set_item(self.ids.id(hit.doc), hit.score)?;
            }
            all.set_item(query, scores)?;
        }
        Ok(all)
    }

    /// Returns columns qid, docno, score, rank (from 0), as lists.
    fn to_columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (qid, docno) = (PyList::empty(py), PyList::empty(py));
        let (mut scores, mut ranks) = (Vec::new(), Vec::new());
        for (query, ranking) in self.queries.iter().zip(&self.rankings) {
            let query = PyString::new(py, query);
            for (rank, hit) in (0_i64..).zip(ranking) {
                qid.append(&query)?;
                docno.append(self.ids.id(hit.doc))?;
                scores.push(f64::from(hit.score));
                ranks.push(rank);
            }
        }
        let columns = PyDict::new(py);
        columns.set_item("qid", qid)?;
        columns.set_item("docno", docno)?;
        columns.set_item("score", scores.into_pyarray(py))?;
        columns.set_item("rank", ranks.into_pyarray(py))?;
        Ok(columns)
    }

    /// Returns a pandas data frame with the columns qid, docno, score, rank (from 0), as in
    /// PyTerrier.
    fn to_pandas<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let pandas = py.import("pandas")?;
        pandas.call_method1("DataFrame", (self.to_columns(py)?,))
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let table = py.import("irrs._tables")?;
        table
            .call_method1("results_html", (self.to_columns(py)?,))?
            .extract()
    }

    fn __len__(&self) -> usize {
        self.rankings.len()
    }

    fn __getitem__(&self, query: isize) -> PyResult<Hits> {
        let ranking = &self.rankings[position(query, self.rankings.len())?];
        Ok(Hits {
            ranking: ranking.clone(),
            ids: self.ids.clone(),
        })
    }

    fn __repr__(&self) -> String {
        format!("Results({} queries, k={})", self.rankings.len(), self.k)
    }
}
