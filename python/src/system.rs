//! Systems of the registry of `ir-system`, opened on an index.

use std::sync::Arc;

use ir_core::{DocIds, DocNum, Query, Search};
use ir_experiment::{Cache, Registry, SharedRetriever, SystemSpec};
use ir_system::{IndexData, Resources};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::error::raise;
use crate::evaluation::from_json;
use crate::filter::{DocFilter, filter_of};
use crate::index::{Index, OpenIndex};
use crate::search::Searcher;
use crate::work::{detached, interruptible};

/// Text retriever with its ids, shared with results.
#[derive(Clone)]
pub(crate) struct TextRetriever {
    retriever: SharedRetriever,
    ids: Arc<DocIds>,
}

impl std::fmt::Debug for TextRetriever {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TextRetriever")
            .field("documents", &self.ids.len())
            .finish_non_exhaustive()
    }
}

impl TextRetriever {
    pub(crate) fn new(retriever: SharedRetriever) -> Self {
        let ids = Arc::new(retriever.ids().clone());
        Self { retriever, ids }
    }

    pub(crate) fn inner(&self) -> &SharedRetriever {
        &self.retriever
    }

    /// Text of the explanation of a score.
    pub(crate) fn explain(
        &self,
        py: Python<'_>,
        query: &str,
        doc: DocNum,
    ) -> PyResult<Option<String>> {
        let all = Search::top(self.ids.len());
        let explanation = detached(py, || self.retriever.explain(query, doc, &all))?;
        Ok(explanation.map_err(raise)?.map(|it| it.to_string()))
    }
}

/// Searches one text, or several queries.
pub(crate) fn single_or_batch<'py>(
    py: Python<'py>,
    retriever: &TextRetriever,
    queries: &Bound<'py, PyAny>,
    k: usize,
    filter: Option<DocFilter>,
) -> PyResult<Bound<'py, PyAny>> {
    let searcher = Searcher {
        retriever: &*retriever.retriever,
        ids: &retriever.ids,
        k,
        filter,
    };
    if let Ok(text) = queries.cast::<PyString>() {
        return searcher.one(py, text.to_str()?);
    }
    let inputs = py
        .import("irrs._inputs")?
        .call_method1("queries", (queries,))?;
    let (names, texts): (Vec<String>, Vec<String>) = inputs.extract()?;
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    searcher.all(py, names, &texts)
}

/// Returns names and descriptions of the types of systems.
#[pyfunction]
pub(crate) fn system_types() -> Vec<(String, String)> {
    let registry = Registry::default();
    let types = registry.types();
    types
        .map(|it| (it.name().to_owned(), it.description().to_owned()))
        .collect()
}

/// Returns the JSON Schema of the parameters of a type, with the definitions that it refers to.
#[pyfunction]
pub(crate) fn system_schema(kind: &str) -> PyResult<Option<String>> {
    let registry = Registry::default();
    let Some(found) = registry.types().find(|it| it.name() == kind) else {
        return Ok(None);
    };
    let mut generator = schemars::SchemaGenerator::default();
    let mut schema = found.schema(&mut generator).to_value();
    let definitions = generator.take_definitions(true);
    if let Some(schema) = schema.as_object_mut() {
        schema.insert("$defs".to_owned(), definitions.into());
    }
    serde_json::to_string(&schema).map(Some).map_err(raise)
}

/// Parses a specification, and checks all that needs no data.
fn parse(spec: &str) -> PyResult<SystemSpec> {
    let spec: SystemSpec = from_json("system", spec)?;
    spec.validate(&Registry::default()).map_err(raise)?;
    Ok(spec)
}

/// Checks the parameters of a system and its parts, JSON with the keys of a system file. Returns
/// the file's text.
#[pyfunction]
pub(crate) fn check_system(spec: &str) -> PyResult<String> {
    parse(spec)?.to_toml().map_err(raise)
}

/// System that is open on an index. `System.open` makes it; `search` has the parameters of
/// `Index.search`.
#[pyclass(frozen, module = "irrs")]
#[derive(Debug)]
pub(crate) struct Retriever {
    retriever: TextRetriever,
    index: Arc<OpenIndex>,
    spec: String,
    max_hits: Option<usize>,
    /// Cache of models and vectors, a temporary folder unless the user named one.
    _resources: std::sync::Mutex<Resources>,
}

impl Retriever {
    pub(crate) fn shared(&self) -> &SharedRetriever {
        self.retriever.inner()
    }

    pub(crate) fn index(&self) -> &OpenIndex {
        &self.index
    }
}

#[pymethods]
impl Retriever {
    /// Opens a system, JSON with the keys of a system file, on an index.
    #[new]
    #[pyo3(signature = (spec, index, cache = None, threads = None, progress = None))]
    fn new(
        py: Python<'_>,
        spec: String,
        index: PyRef<'_, Index>,
        cache: Option<std::path::PathBuf>,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let parsed = parse(&spec)?;
        let open = index.get()?;
        interruptible(py, threads, progress, move |task| {
            let registry = Registry::default();
            let max_hits = parsed.max_hits(&registry).map_err(raise)?;
            let queries: Vec<Query> = Vec::new();
            let data = IndexData::new("index", open.index.clone(), queries);
            let cache = match cache {
                Some(folder) => Cache::new(folder),
                None => Cache::temporary().map_err(raise)?,
            };
            let mut resources = Resources::new(cache);
            let system = parsed
                .open_on(&registry, &data, &mut resources, task)
                .map_err(raise)?;
            Ok(Self {
                retriever: TextRetriever::new(system.retriever),
                index: open,
                spec,
                max_hits,
                _resources: std::sync::Mutex::new(resources),
            })
        })
    }

    /// Searches one query or several, with the parameters of `Index.search`.
    #[pyo3(signature = (queries, k = 10, filter = None))]
    fn search<'py>(
        &self,
        py: Python<'py>,
        queries: &Bound<'py, PyAny>,
        k: usize,
        filter: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let filter = filter.map(|it| filter_of(it, &self.retriever.ids, Some(&self.index.index)));
        single_or_batch(py, &self.retriever, queries, k, filter.transpose()?)
    }

    /// Maximum number of hits: the depth of a reranking; None without one.
    #[getter]
    fn max_hits(&self) -> Option<usize> {
        self.max_hits
    }

    fn __repr__(&self) -> String {
        format!(
            "Retriever({}, {} documents)",
            self.spec,
            self.retriever.ids.len()
        )
    }
}
