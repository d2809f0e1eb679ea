//! Vector indexes over arrays of numpy.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use ir_core::{DocIds, DocNum, Retriever, VectorSimilarity};
use ir_knn::{EfSearch, FlatIndex as CoreFlatIndex, HnswConfig, HnswIndex as CoreHnswIndex};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::closable::Closable;
use crate::error::raise;
use crate::filter::{DocFilter, filter_of};
use crate::ids::{choice, id_text};
use crate::search::Searcher;
use crate::work::interruptible;

/// Values of an array that owns C-contiguous float32, kept alive by a reference.
struct SharedArray {
    _array: Py<PyArray2<f32>>,
    data: *const f32,
    len: usize,
}

// SAFETY: `data` points into the array that `_array` keeps alive; it is only read.
// `irrs._inputs.shared_vectors` has made the array read-only.
unsafe impl Send for SharedArray {}
// SAFETY: as above; reads of several threads do not conflict.
unsafe impl Sync for SharedArray {}

impl AsRef<[f32]> for SharedArray {
    fn as_ref(&self) -> &[f32] {
        // SAFETY: `SharedArray::new` took address and length of a C-contiguous array of float32,
        // which `_array` keeps alive. An array with references from here cannot be resized, and its
        // owner made it read-only.
        unsafe { std::slice::from_raw_parts(self.data, self.len) }
    }
}

impl SharedArray {
    fn new(array: &Bound<'_, PyArray2<f32>>) -> Option<Self> {
        let values = array.try_readonly().ok()?;
        let values = values.as_slice().ok()?;
        if values.is_empty() {
            return None;
        }
        Some(Self {
            data: values.as_ptr(),
            len: values.len(),
            _array: array.clone().unbind(),
        })
    }
}

/// Names of the similarities.
const SIMILARITIES: [(&str, VectorSimilarity); 5] = [
    ("cosine", VectorSimilarity::Cosine),
    ("inner-product", VectorSimilarity::InnerProduct),
    ("dot", VectorSimilarity::InnerProduct),
    ("euclidean", VectorSimilarity::Euclidean),
    ("l2", VectorSimilarity::Euclidean),
];

fn name_of(similarity: VectorSimilarity) -> &'static str {
    let found = SIMILARITIES.iter().find(|(_, known)| *known == similarity);
    found.map_or("", |(name, _)| name)
}

/// Ids of the rows: those given, or "0", "1", ...
fn ids_of(ids: Option<&Bound<'_, PyAny>>, rows: usize) -> PyResult<DocIds> {
    let mut all = DocIds::new();
    match ids {
        None => {
            for row in 0..rows {
                all.push(&row.to_string()).map_err(raise)?;
            }
        }
        Some(ids) => {
            for id in ids.try_iter()? {
                let id = id?;
                all.push(&id_text(&id, "ids")?).map_err(raise)?;
            }
        }
    }
    Ok(all)
}

/// Builds a flat index of an array, without a copy if the array can be shared.
fn flat(
    py: Python<'_>,
    vectors: &Bound<'_, PyAny>,
    ids: Option<&Bound<'_, PyAny>>,
    similarity: &str,
) -> PyResult<CoreFlatIndex> {
    let similarity = choice("similarity", similarity, &SIMILARITIES)?;
    let inputs = py
        .import("irrs._inputs")?
        .call_method1("shared_vectors", (vectors,))?;
    let (array, is_shared): (Bound<'_, PyArray2<f32>>, bool) = inputs.extract()?;
    let [rows, dim] = [array.shape()[0], array.shape()[1]];
    let ids = ids_of(ids, rows)?;
    let shared = if is_shared {
        SharedArray::new(&array)
    } else {
        None
    };
    match shared {
        Some(shared) => interruptible(py, None, None, move |_| {
            CoreFlatIndex::from_shared(ids, dim, Arc::new(shared), similarity).map_err(raise)
        }),
        None => {
            let values = array.to_vec().map_err(raise)?;
            interruptible(py, None, None, move |_| {
                CoreFlatIndex::from_row_major(ids, dim, values, similarity).map_err(raise)
            })
        }
    }
}

/// Searches one vector of shape [dim], or several of shape [queries, dim].
fn search_vectors<'py, R: Retriever<Query = [f32]>>(
    py: Python<'py>,
    retriever: &R,
    ids: &Arc<DocIds>,
    queries: &Bound<'py, PyAny>,
    k: usize,
    filter: Option<DocFilter>,
) -> PyResult<Bound<'py, PyAny>> {
    let inputs = py
        .import("irrs._inputs")?
        .call_method1("query_vectors", (queries,))?;
    let (array, is_single): (PyReadonlyArray2<'_, f32>, bool) = inputs.extract()?;
    let [rows, dim] = [array.shape()[0], array.shape()[1]];
    let values = array.as_slice().map_err(raise)?;
    let searcher = Searcher {
        retriever,
        ids,
        k,
        filter,
    };
    if is_single {
        return searcher.one(py, values);
    }
    let names = (0..rows).map(|row| row.to_string()).collect();
    let queries: Vec<&[f32]> = values.chunks_exact(dim.max(1)).collect();
    searcher.all(py, names, &queries)
}

/// Index with its ids, shared with results.
#[derive(Debug)]
struct Open<T> {
    index: T,
    ids: Arc<DocIds>,
}

impl<T> Open<T> {
    fn closable(index: T, ids: &DocIds, path: Option<PathBuf>) -> Closable<Self> {
        let ids = Arc::new(ids.clone());
        Closable::new(Self { index, ids }, path)
    }
}

/// Exact nearest neighbors of vectors.
///
/// An array of C-contiguous float32 that owns its memory is not copied: the index shares it and
/// makes it read-only. Do not write through views that were made before. Other arrays are converted
/// to a copy.
///
/// Parameters
/// ----------
/// vectors : numpy.ndarray of shape [documents, dim]
/// ids : iterable of str, optional
///     Default: "0", "1", ...
/// similarity : str
///     "cosine", "inner-product" or "dot", "euclidean" or "l2". Scores of Euclidean distances are
///     negative and squared.
/// codes : bool
///     Add 8-bit codes, a quarter of the size of the vectors, by which single searches become
///     several times faster. Results do not change.
///
/// Examples
/// --------
/// >>> import numpy as np
/// >>> vectors = np.array([[0, 1], [1, 0], [0.7, 0.7]], dtype=np.float32)
/// >>> index = irrs.FlatIndex(vectors, ids=["north", "east", "north-east"])
/// >>> index.search([0.1, 0.9], k=2).ids
/// ['north', 'north-east']
/// >>> index.search(vectors, k=1).docs
/// array([[0],
///        [1],
///        [2]])
#[pyclass(frozen, module = "irrs")]
#[derive(Debug)]
pub(crate) struct FlatIndex(Closable<Open<CoreFlatIndex>>);

impl FlatIndex {
    fn wrap(index: CoreFlatIndex, path: Option<PathBuf>) -> Self {
        let ids = index.ids().clone();
        Self(Open::closable(index, &ids, path))
    }
}

#[pymethods]
impl FlatIndex {
    #[new]
    #[pyo3(signature = (vectors, ids = None, *, similarity = "cosine", codes = false))]
    fn new(
        py: Python<'_>,
        vectors: &Bound<'_, PyAny>,
        ids: Option<&Bound<'_, PyAny>>,
        similarity: &str,
        codes: bool,
    ) -> PyResult<Self> {
        let mut index = flat(py, vectors, ids, similarity)?;
        if codes {
            index = interruptible(py, None, None, move |_| Ok(index.with_codes()))?;
        }
        Ok(Self::wrap(index, None))
    }

    /// Opens a saved index; the file is mapped into memory.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let index = interruptible(py, None, None, |_| {
            CoreFlatIndex::open(&path).map_err(raise)
        })?;
        Ok(Self::wrap(index, Some(path)))
    }

    /// Searches one vector of shape [dim], which returns Hits, or several of shape [queries, dim],
    /// which return Results. `filter` is an iterable of ids or a Boolean array of shape
    /// [documents].
    #[pyo3(signature = (queries, k = 10, filter = None))]
    fn search<'py>(
        &self,
        py: Python<'py>,
        queries: &Bound<'py, PyAny>,
        k: usize,
        filter: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let open = self.0.get()?;
        let filter = filter
            .map(|filter| filter_of(filter, &open.ids, None))
            .transpose()?;
        search_vectors(py, &open.index, &open.ids, queries, k, filter)
    }

    /// Writes the index to a file by an atomic write.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let open = self.0.get()?;
        interruptible(py, None, None, |_| open.index.save(&path).map_err(raise))
    }

    /// Returns the vector of a document, float32 of shape [dim].
    fn vector<'py>(
        &self,
        py: Python<'py>,
        id: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray1<f32>>> {
        let open = self.0.get()?;
        let doc = number_of(&open.ids, id)?;
        Ok(PyArray1::from_slice(py, open.index.vector(doc)))
    }

    /// Ids of the vectors, a list of strings.
    #[getter]
    fn ids(&self) -> PyResult<Vec<String>> {
        Ok(self.0.get()?.ids.iter().map(str::to_owned).collect())
    }

    /// Dimension of the vectors.
    #[getter]
    fn dim(&self) -> PyResult<usize> {
        Ok(self.0.get()?.index.dim())
    }

    /// Name of the similarity.
    #[getter]
    fn similarity(&self) -> PyResult<&'static str> {
        Ok(name_of(self.0.get()?.index.similarity()))
    }

    /// Closes the index, and releases its array.
    fn close(&self) {
        self.0.close();
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, _error: &Bound<'_, PyTuple>) {
        self.close();
    }

    fn __len__(&self) -> PyResult<usize> {
        Ok(self.0.get()?.ids.len())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (PathBuf,))> {
        let path = self.0.path_to_pickle()?;
        Ok((py.get_type::<Self>().getattr("open")?, (path,)))
    }

    fn __repr__(&self) -> String {
        self.0.get().map_or_else(
            |_| "FlatIndex(closed)".to_owned(),
            |open| {
                let similarity = name_of(open.index.similarity());
                format!(
                    "FlatIndex({} x {}, {similarity})",
                    open.ids.len(),
                    open.index.dim()
                )
            },
        )
    }
}

fn number_of(ids: &DocIds, id: &Bound<'_, PyAny>) -> PyResult<DocNum> {
    let id = id_text(id, "id")?;
    ids.get(&id)
        .ok_or_else(|| PyKeyError::new_err(id.into_owned()))
}

/// Approximate nearest neighbors by a graph (HNSW).
///
/// Parameters
/// ----------
/// vectors, ids, similarity
///     As for `FlatIndex`.
/// m : int
///     Number of neighbors per node and layer.
/// ef_construction : int
///     Beam width while the graph is built.
/// ef_search : int
///     Beam width of searches; wider is slower and more exact.
/// seed : int
///     Random seed of the layers.
///
/// Examples
/// --------
/// >>> import numpy as np
/// >>> vectors = np.random.default_rng(0).normal(size=(200, 8)).astype(np.float32)
/// >>> index = irrs.HnswIndex(vectors)
/// >>> index.search(vectors[7], k=1).ids
/// ['7']
#[pyclass(frozen, module = "irrs")]
#[derive(Debug)]
pub(crate) struct HnswIndex {
    open: Closable<Open<CoreHnswIndex>>,
    ef_search: Mutex<usize>,
}

impl HnswIndex {
    fn wrap(index: CoreHnswIndex, path: Option<PathBuf>, ef_search: usize) -> Self {
        let ids = index.ids().clone();
        Self {
            open: Open::closable(index, &ids, path),
            ef_search: Mutex::new(ef_search),
        }
    }
}

#[pymethods]
impl HnswIndex {
    #[new]
    #[pyo3(signature = (vectors, ids = None, *, similarity = "cosine", m = 16, ef_construction = 200, ef_search = 64, seed = 0, threads = None, progress = None))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments")]
    fn new(
        py: Python<'_>,
        vectors: &Bound<'_, PyAny>,
        ids: Option<&Bound<'_, PyAny>>,
        similarity: &str,
        m: usize,
        ef_construction: usize,
        ef_search: usize,
        seed: u64,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let flat = flat(py, vectors, ids, similarity)?;
        let config = HnswConfig::default()
            .with_m(m)
            .with_ef_construction(ef_construction)
            .with_seed(seed);
        let index = interruptible(py, threads, progress, move |task| {
            CoreHnswIndex::build(flat, &config, task).map_err(raise)
        })?;
        Ok(Self::wrap(index, None, ef_search))
    }

    /// Opens a saved index; the file is mapped into memory.
    #[staticmethod]
    #[pyo3(signature = (path, ef_search = 64))]
    fn open(py: Python<'_>, path: PathBuf, ef_search: usize) -> PyResult<Self> {
        let index = interruptible(py, None, None, |_| {
            CoreHnswIndex::open(&path).map_err(raise)
        })?;
        Ok(Self::wrap(index, Some(path), ef_search))
    }

    /// Searches one vector of shape [dim], which returns Hits, or several of shape [queries, dim],
    /// which return Results.
    #[pyo3(signature = (queries, k = 10, filter = None))]
    fn search<'py>(
        &self,
        py: Python<'py>,
        queries: &Bound<'py, PyAny>,
        k: usize,
        filter: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let open = self.open.get()?;
        let filter = filter
            .map(|filter| filter_of(filter, &open.ids, None))
            .transpose()?;
        let searcher = open.index.searcher(EfSearch(self.ef_search()));
        search_vectors(py, &searcher, &open.ids, queries, k, filter)
    }

    /// Beam width of searches.
    #[getter]
    fn ef_search(&self) -> usize {
        *self
            .ef_search
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    #[setter]
    fn set_ef_search(&self, width: usize) {
        *self
            .ef_search
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = width;
    }

    /// Writes the index to a file by an atomic write.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let open = self.open.get()?;
        interruptible(py, None, None, |_| open.index.save(&path).map_err(raise))
    }

    /// Ids of the vectors, a list of strings.
    #[getter]
    fn ids(&self) -> PyResult<Vec<String>> {
        Ok(self.open.get()?.ids.iter().map(str::to_owned).collect())
    }

    /// Dimension of the vectors.
    #[getter]
    fn dim(&self) -> PyResult<usize> {
        Ok(self.open.get()?.index.flat().dim())
    }

    /// Name of the similarity.
    #[getter]
    fn similarity(&self) -> PyResult<&'static str> {
        Ok(name_of(self.open.get()?.index.flat().similarity()))
    }

    /// Closes the index, and releases its array.
    fn close(&self) {
        self.open.close();
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, _error: &Bound<'_, PyTuple>) {
        self.close();
    }

    fn __len__(&self) -> PyResult<usize> {
        Ok(self.open.get()?.ids.len())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (PathBuf, usize))> {
        let path = self.open.path_to_pickle()?;
        Ok((
            py.get_type::<Self>().getattr("open")?,
            (path, self.ef_search()),
        ))
    }

    fn __repr__(&self) -> String {
        self.open.get().map_or_else(
            |_| "HnswIndex(closed)".to_owned(),
            |open| {
                let flat = open.index.flat();
                format!(
                    "HnswIndex({} x {}, {})",
                    open.ids.len(),
                    flat.dim(),
                    name_of(flat.similarity())
                )
            },
        )
    }
}
